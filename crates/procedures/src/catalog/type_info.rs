//! sp_datatype_info: the data types, as ODBC describes them.

use super::{TextProcedure, run};
use crate::procedure::SystemProcedure;

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_datatype_info", id: 0, run: |a, cx| run(&DATATYPE_INFO, a, cx) },
    SystemProcedure {
        name: "sp_datatype_info_100",
        id: 0,
        run: |a, cx| run(&DATATYPE_INFO, a, cx),
    },
];

/// ODBC 2 has other type numbers for dates and times than ODBC 3.
static DATATYPE_INFO: TextProcedure = TextProcedure {
    name: "sp_datatype_info",
    parameters: &[("@data_type", "int"), ("@ODBCVer", "tinyint")],
    text: "
SELECT CAST(t.n AS nvarchar(128)) AS TYPE_NAME,
    CAST(CASE WHEN ISNULL(@ODBCVer, 2) < 3 AND t.d BETWEEN 91 AND 93 THEN t.d - 82 ELSE t.d END AS smallint) AS DATA_TYPE,
    CAST(t.p AS int) AS [PRECISION],
    CAST(t.pre AS varchar(32)) AS LITERAL_PREFIX,
    CAST(t.suf AS varchar(32)) AS LITERAL_SUFFIX,
    CAST(t.par AS varchar(32)) AS CREATE_PARAMS,
    CAST(1 AS smallint) AS NULLABLE,
    CAST(0 AS smallint) AS CASE_SENSITIVE,
    CAST(t.sea AS smallint) AS SEARCHABLE,
    CAST(t.uns AS smallint) AS UNSIGNED_ATTRIBUTE,
    CAST(t.mon AS smallint) AS MONEY,
    CAST(t.inc AS smallint) AS AUTO_INCREMENT,
    CAST(t.n AS nvarchar(128)) AS LOCAL_TYPE_NAME,
    CAST(t.mi AS smallint) AS MINIMUM_SCALE,
    CAST(t.ma AS smallint) AS MAXIMUM_SCALE,
    CAST(CASE WHEN t.sub IS NULL THEN t.d ELSE 9 END AS smallint) AS SQL_DATA_TYPE,
    CAST(t.sub AS smallint) AS SQL_DATETIME_SUB,
    CAST(t.rad AS int) AS NUM_PREC_RADIX,
    CAST(NULL AS smallint) AS INTERVAL_PRECISION,
    CAST(t.u AS smallint) AS USERTYPE
FROM (VALUES
    ('sql_variant', -150, 8000, NULL, NULL, NULL, 2, NULL, 0, NULL, 0, 0, NULL, 10, 0),
    ('uniqueidentifier', -11, 36, '''', '''', NULL, 2, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0),
    ('ntext', -10, 1073741823, 'N''', '''', NULL, 1, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0),
    ('xml', -152, 0, 'N''', '''', NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0),
    ('nvarchar', -9, 4000, 'N''', '''', 'max length', 3, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0),
    ('sysname', -9, 128, 'N''', '''', NULL, 3, NULL, 0, NULL, NULL, NULL, NULL, NULL, 18),
    ('nchar', -8, 4000, 'N''', '''', 'length', 3, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0),
    ('bit', -7, 1, NULL, NULL, NULL, 2, NULL, 0, NULL, 0, 0, NULL, NULL, 16),
    ('tinyint', -6, 3, NULL, NULL, NULL, 2, 1, 0, 0, 0, 0, NULL, 10, 5),
    ('bigint', -5, 19, NULL, NULL, NULL, 2, 0, 0, 0, 0, 0, NULL, 10, 0),
    ('image', -4, 2147483647, '0x', NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 20),
    ('varbinary', -3, 8000, '0x', NULL, 'max length', 2, NULL, 0, NULL, NULL, NULL, NULL, NULL, 4),
    ('binary', -2, 8000, '0x', NULL, 'length', 2, NULL, 0, NULL, NULL, NULL, NULL, NULL, 3),
    ('timestamp', -2, 8, '0x', NULL, NULL, 2, NULL, 0, NULL, NULL, NULL, NULL, NULL, 80),
    ('text', -1, 2147483647, '''', '''', NULL, 1, NULL, 0, NULL, NULL, NULL, NULL, NULL, 19),
    ('char', 1, 8000, '''', '''', 'length', 3, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1),
    ('numeric', 2, 38, NULL, NULL, 'precision,scale', 2, 0, 0, 0, 0, 38, NULL, 10, 10),
    ('decimal', 3, 38, NULL, NULL, 'precision,scale', 2, 0, 0, 0, 0, 38, NULL, 10, 24),
    ('money', 3, 19, '$', NULL, NULL, 2, 0, 1, 0, 4, 4, NULL, 10, 11),
    ('smallmoney', 3, 10, '$', NULL, NULL, 2, 0, 1, 0, 4, 4, NULL, 10, 21),
    ('int', 4, 10, NULL, NULL, NULL, 2, 0, 0, 0, 0, 0, NULL, 10, 7),
    ('smallint', 5, 5, NULL, NULL, NULL, 2, 0, 0, 0, 0, 0, NULL, 10, 6),
    ('float', 6, 53, NULL, NULL, NULL, 2, 0, 0, 0, NULL, NULL, NULL, 2, 8),
    ('real', 7, 24, NULL, NULL, NULL, 2, 0, 0, 0, NULL, NULL, NULL, 2, 23),
    ('varchar', 12, 8000, '''', '''', 'max length', 3, NULL, 0, NULL, NULL, NULL, NULL, NULL, 2),
    ('date', 91, 10, '''', '''', NULL, 3, NULL, 0, NULL, 0, 0, 1, NULL, 0),
    ('time', -154, 16, '''', '''', 'scale', 3, NULL, 0, NULL, 0, 7, NULL, NULL, 0),
    ('datetimeoffset', -155, 34, '''', '''', 'scale', 3, NULL, 0, NULL, 0, 7, NULL, NULL, 0),
    ('datetime2', 93, 27, '''', '''', 'scale', 3, NULL, 0, NULL, 0, 7, 3, NULL, 0),
    ('datetime', 93, 23, '''', '''', NULL, 3, NULL, 0, NULL, 3, 3, 3, NULL, 12),
    ('smalldatetime', 93, 16, '''', '''', NULL, 3, NULL, 0, NULL, 0, 0, 3, NULL, 22)
) AS t (n, d, p, pre, suf, par, sea, uns, mon, inc, mi, ma, sub, rad, u)
WHERE ISNULL(@data_type, 0) = 0
    OR @data_type = CASE WHEN ISNULL(@ODBCVer, 2) < 3 AND t.d BETWEEN 91 AND 93 THEN t.d - 82 ELSE t.d END
ORDER BY 2, t.u, 1",
};
