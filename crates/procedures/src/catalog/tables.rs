//! Catalog procedures about tables, columns, keys and procedures, which ODBC and JDBC call.

use super::{TextProcedure, run};
use crate::procedure::SystemProcedure;

/// The collations of a table's columns, which bulk copy clients ask for.
static TABLE_COLLATIONS: TextProcedure = TextProcedure {
    name: "sp_tablecollations_100",
    parameters: &[("@object", "nvarchar(4000)")],
    text: "
SELECT CAST(c.column_id AS smallint) AS colid, c.name AS name,
    CAST(COLLATIONPROPERTY(c.collation_name, 'TDSCollation') AS binary(5)) AS tds_collation_100,
    c.collation_name AS collation_100
FROM sys.all_columns AS c WHERE c.object_id = OBJECT_ID(@object) ORDER BY c.column_id",
};

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_tablecollations_100",
        id: 0,
        run: |a, cx| run(&TABLE_COLLATIONS, a, cx),
    },
    SystemProcedure { name: "sp_tables", id: 0, run: |a, cx| run(&TABLES, a, cx) },
    SystemProcedure { name: "sp_columns", id: 0, run: |a, cx| run(&COLUMNS, a, cx) },
    SystemProcedure { name: "sp_columns_100", id: 0, run: |a, cx| run(&COLUMNS_100, a, cx) },
    SystemProcedure { name: "sp_pkeys", id: 0, run: |a, cx| run(&PKEYS, a, cx) },
    SystemProcedure { name: "sp_statistics", id: 0, run: |a, cx| run(&STATISTICS, a, cx) },
    SystemProcedure { name: "sp_statistics_100", id: 0, run: |a, cx| run(&STATISTICS, a, cx) },
    SystemProcedure {
        name: "sp_stored_procedures",
        id: 0,
        run: |a, cx| run(&PROCEDURE_LIST, a, cx),
    },
];

static TABLES: TextProcedure = TextProcedure {
    name: "sp_tables",
    parameters: &[
        ("@table_name", "nvarchar(384)"),
        ("@table_owner", "nvarchar(384)"),
        ("@table_qualifier", "nvarchar(128)"),
        ("@table_type", "varchar(100)"),
        ("@fUsePattern", "bit"),
    ],
    text: "
IF @table_qualifier = '%' AND @table_owner = '' AND @table_name = ''
    SELECT name AS TABLE_QUALIFIER, CAST(NULL AS sysname) AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME,
        CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.databases ORDER BY 1
ELSE IF @table_qualifier = '' AND @table_owner = '%' AND @table_name = ''
    SELECT CAST(NULL AS sysname) AS TABLE_QUALIFIER, name AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME,
        CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.schemas ORDER BY 2
ELSE IF @table_qualifier = '' AND @table_owner = '' AND @table_name = '' AND @table_type = '%'
    SELECT CAST(NULL AS sysname) AS TABLE_QUALIFIER, CAST(NULL AS sysname) AS TABLE_OWNER,
        CAST(NULL AS sysname) AS TABLE_NAME, CAST(k.kind AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM (VALUES ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) AS k (kind) ORDER BY 4
ELSE
SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME,
    CAST(CASE o.type WHEN 'U' THEN 'TABLE' ELSE 'VIEW' END AS varchar(32)) AS TABLE_TYPE,
    CAST(NULL AS varchar(254)) AS REMARKS
FROM sys.all_objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.type IN ('U', 'V')
    AND (@table_qualifier IS NULL OR @table_qualifier = '' OR @table_qualifier = DB_NAME())
    AND (@table_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND o.name LIKE @table_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND o.name = @table_name))
    AND (@table_owner IS NULL OR @table_owner = '' OR (ISNULL(@fUsePattern, 1) = 1 AND s.name LIKE @table_owner ESCAPE '\\')
        OR (@fUsePattern = 0 AND s.name = @table_owner))
    AND (@table_type IS NULL OR @table_type = ''
        OR CHARINDEX(CASE o.type WHEN 'U' THEN '''TABLE''' ELSE '''VIEW''' END, @table_type) > 0)
ORDER BY 4, 1, 2, 3",
};

/// The columns that `sp_columns` and `sp_columns_100` share, from `sys.all_columns`.
macro_rules! columns_text {
    ($more:literal) => {
        concat!(
            "
SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, c.name AS COLUMN_NAME,
    CAST(CASE c.system_type_id
        WHEN 98 THEN -150 WHEN 36 THEN -11 WHEN 99 THEN -10 WHEN 241 THEN -152 WHEN 231 THEN -9
        WHEN 239 THEN -8 WHEN 104 THEN -7 WHEN 48 THEN -6 WHEN 127 THEN -5 WHEN 34 THEN -4
        WHEN 165 THEN -3 WHEN 173 THEN -2 WHEN 189 THEN -2 WHEN 35 THEN -1 WHEN 175 THEN 1
        WHEN 108 THEN 2 WHEN 106 THEN 3 WHEN 60 THEN 3 WHEN 122 THEN 3 WHEN 56 THEN 4 WHEN 52 THEN 5
        WHEN 62 THEN 6 WHEN 59 THEN 7 WHEN 167 THEN 12
        WHEN 40 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN 91 ELSE -9 END
        WHEN 41 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN -154 ELSE -9 END
        WHEN 43 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN -155 ELSE -9 END
        WHEN 42 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN 93 ELSE -9 END
        WHEN 61 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN 93 ELSE 11 END
        WHEN 58 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN 93 ELSE 11 END
        END AS smallint) AS DATA_TYPE,
    CAST(TYPE_NAME(c.user_type_id) + CASE WHEN c.is_identity = 1 THEN N' identity' ELSE N'' END AS nvarchar(128)) AS TYPE_NAME,
    CAST(CASE WHEN c.system_type_id IN (231, 239) AND c.max_length > 0 THEN c.max_length / 2
        WHEN c.system_type_id IN (35, 34) THEN 2147483647 WHEN c.system_type_id = 99 THEN 1073741823
        WHEN c.system_type_id = 36 THEN 36 WHEN c.max_length = -1 THEN 0
        WHEN c.precision > 0 THEN c.precision ELSE c.max_length END AS int) AS [PRECISION],
    CAST(CASE WHEN c.system_type_id IN (35, 34) THEN 2147483647 WHEN c.system_type_id = 99 THEN 2147483646
        WHEN c.max_length = -1 THEN 0 WHEN c.system_type_id IN (106, 108) THEN c.precision + 2
        WHEN c.system_type_id IN (61, 58, 42) THEN 16
        ELSE c.max_length END AS int) AS LENGTH,
    CAST(CASE WHEN c.system_type_id IN (106, 108, 60, 122, 41, 42, 43, 61, 58, 48, 52, 56, 127) THEN c.scale END AS smallint) AS SCALE,
    CAST(CASE WHEN c.system_type_id IN (62, 59) THEN 2
        WHEN c.system_type_id IN (106, 108, 60, 122, 48, 52, 56, 127) THEN 10 END AS smallint) AS RADIX,
    CAST(c.is_nullable AS smallint) AS NULLABLE,
    CAST(NULL AS varchar(254)) AS REMARKS,
    CAST(d.definition AS nvarchar(4000)) AS COLUMN_DEF,
    CAST(CASE c.system_type_id
        WHEN 98 THEN -150 WHEN 36 THEN -11 WHEN 99 THEN -10 WHEN 241 THEN -152 WHEN 231 THEN -9
        WHEN 239 THEN -8 WHEN 104 THEN -7 WHEN 48 THEN -6 WHEN 127 THEN -5 WHEN 34 THEN -4
        WHEN 165 THEN -3 WHEN 173 THEN -2 WHEN 189 THEN -2 WHEN 35 THEN -1 WHEN 175 THEN 1
        WHEN 108 THEN 2 WHEN 106 THEN 3 WHEN 60 THEN 3 WHEN 122 THEN 3 WHEN 56 THEN 4 WHEN 52 THEN 5
        WHEN 62 THEN 6 WHEN 59 THEN 7 WHEN 167 THEN 12 WHEN 41 THEN -154 WHEN 43 THEN -155
        ELSE 9 END AS smallint) AS SQL_DATA_TYPE,
    CAST(CASE c.system_type_id WHEN 40 THEN 1 WHEN 42 THEN 3 WHEN 61 THEN 3 WHEN 58 THEN 3 END AS smallint) AS SQL_DATETIME_SUB,
    CAST(CASE WHEN c.system_type_id IN (35, 34) THEN 2147483647 WHEN c.system_type_id = 99 THEN 2147483646
        WHEN c.system_type_id IN (231, 239, 167, 175, 165, 173, 189) THEN CASE c.max_length WHEN -1 THEN 0 ELSE c.max_length END
        END AS int) AS CHAR_OCTET_LENGTH,
    CAST(c.column_id AS int) AS ORDINAL_POSITION,
    CAST(CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END AS varchar(254)) AS IS_NULLABLE,",
            $more,
            "
    CAST(CASE c.system_type_id
        WHEN 34 THEN 34 WHEN 35 THEN 35 WHEN 36 THEN 37 WHEN 48 THEN CASE c.is_nullable WHEN 1 THEN 38 ELSE 48 END
        WHEN 52 THEN CASE c.is_nullable WHEN 1 THEN 38 ELSE 52 END WHEN 56 THEN CASE c.is_nullable WHEN 1 THEN 38 ELSE 56 END
        WHEN 127 THEN CASE c.is_nullable WHEN 1 THEN 108 ELSE 63 END
        WHEN 104 THEN 50 WHEN 62 THEN 109 WHEN 59 THEN 109 WHEN 60 THEN 110 WHEN 122 THEN 110 WHEN 61 THEN 111 WHEN 58 THEN 111
        WHEN 106 THEN 106 WHEN 231 THEN 39 WHEN 239 THEN 39 WHEN 167 THEN 39 WHEN 175 THEN 39 WHEN 165 THEN 37 WHEN 173 THEN 37
        WHEN 189 THEN 45 WHEN 99 THEN 35 ELSE 0 END AS tinyint) AS SS_DATA_TYPE
FROM sys.all_columns AS c JOIN sys.all_objects AS o ON o.object_id = c.object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE (@table_qualifier IS NULL OR @table_qualifier = DB_NAME())
    AND (@table_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND o.name LIKE @table_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND o.name = @table_name))
    AND (@table_owner IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND s.name LIKE @table_owner ESCAPE '\\')
        OR (@fUsePattern = 0 AND s.name = @table_owner))
    AND (@column_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND c.name LIKE @column_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND c.name = @column_name))
ORDER BY 1, 2, 3, c.column_id"
        )
    };
}

static COLUMNS: TextProcedure =
    TextProcedure { name: "sp_columns", parameters: COLUMN_PARAMETERS, text: columns_text!("") };

static COLUMNS_100: TextProcedure = TextProcedure {
    name: "sp_columns_100",
    parameters: COLUMN_PARAMETERS,
    text: columns_text!(
        "
    CAST(c.is_sparse AS smallint) AS SS_IS_SPARSE, CAST(0 AS smallint) AS SS_IS_COLUMN_SET,
    CAST(c.is_computed AS smallint) AS SS_IS_COMPUTED, CAST(c.is_identity AS smallint) AS SS_IS_IDENTITY,
    CAST(NULL AS nvarchar(128)) AS SS_UDT_CATALOG_NAME, CAST(NULL AS nvarchar(128)) AS SS_UDT_SCHEMA_NAME,
    CAST(NULL AS nvarchar(4000)) AS SS_UDT_ASSEMBLY_TYPE_NAME,
    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_SCHEMA_NAME,
    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_NAME,"
    ),
};

const COLUMN_PARAMETERS: &[(&str, &str)] = &[
    ("@table_name", "nvarchar(384)"),
    ("@table_owner", "nvarchar(384)"),
    ("@table_qualifier", "nvarchar(128)"),
    ("@column_name", "nvarchar(384)"),
    ("@NameScope", "int"),
    ("@ODBCVer", "int"),
    ("@fUsePattern", "bit"),
];

static PKEYS: TextProcedure = TextProcedure {
    name: "sp_pkeys",
    parameters: &[
        ("@table_name", "nvarchar(128)"),
        ("@table_owner", "nvarchar(128)"),
        ("@table_qualifier", "nvarchar(128)"),
    ],
    text: "
SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, t.name AS TABLE_NAME, c.name AS COLUMN_NAME,
    CAST(ic.key_ordinal AS smallint) AS KEY_SEQ, i.name AS PK_NAME
FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    JOIN sys.indexes AS i ON i.object_id = t.object_id
    JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
    JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.is_primary_key = 1 AND t.name = @table_name AND (@table_owner IS NULL OR s.name = @table_owner)
    AND (@table_qualifier IS NULL OR @table_qualifier = DB_NAME())
ORDER BY 1, 2, 3, 5",
};

/// The first row is about the table itself; page counts are NULL.
static STATISTICS: TextProcedure = TextProcedure {
    name: "sp_statistics",
    parameters: &[
        ("@table_name", "nvarchar(128)"),
        ("@table_owner", "nvarchar(128)"),
        ("@table_qualifier", "nvarchar(128)"),
        ("@index_name", "nvarchar(128)"),
        ("@is_unique", "char(1)"),
        ("@accuracy", "char(1)"),
    ],
    text: "
SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, t.name AS TABLE_NAME,
    CAST(NULL AS smallint) AS NON_UNIQUE, CAST(NULL AS nvarchar(128)) AS INDEX_QUALIFIER,
    CAST(NULL AS nvarchar(128)) AS INDEX_NAME, CAST(0 AS smallint) AS TYPE,
    CAST(NULL AS smallint) AS SEQ_IN_INDEX, CAST(NULL AS nvarchar(128)) AS COLUMN_NAME,
    CAST(NULL AS char(1)) AS COLLATION, CAST(NULL AS int) AS CARDINALITY, CAST(NULL AS int) AS PAGES,
    CAST(NULL AS varchar(128)) AS FILTER_CONDITION
FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE t.name = @table_name AND (@table_owner IS NULL OR s.name = @table_owner)
    AND (@table_qualifier IS NULL OR @table_qualifier = DB_NAME())
UNION ALL
SELECT DB_NAME(), s.name, t.name, CAST(1 - i.is_unique AS smallint), t.name, i.name,
    CAST(CASE i.type WHEN 1 THEN 1 WHEN 7 THEN 2 ELSE 3 END AS smallint), CAST(ic.key_ordinal AS smallint), c.name,
    CAST(CASE ic.is_descending_key WHEN 1 THEN 'D' ELSE 'A' END AS char(1)), NULL, NULL, NULL
FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    JOIN sys.indexes AS i ON i.object_id = t.object_id
    JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
    JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ic.key_ordinal > 0 AND t.name = @table_name AND (@table_owner IS NULL OR s.name = @table_owner)
    AND (@table_qualifier IS NULL OR @table_qualifier = DB_NAME())
    AND (@index_name IS NULL OR i.name LIKE @index_name) AND (ISNULL(@is_unique, 'N') <> 'Y' OR i.is_unique = 1)
ORDER BY 4, 7, 6, 8",
};

/// Procedures, with names that end in `;1`, and functions, with `;0`.
static PROCEDURE_LIST: TextProcedure = TextProcedure {
    name: "sp_stored_procedures",
    parameters: &[
        ("@sp_name", "nvarchar(390)"),
        ("@sp_owner", "nvarchar(384)"),
        ("@sp_qualifier", "nvarchar(128)"),
        ("@fUsePattern", "bit"),
    ],
    text: "
SELECT DB_NAME() AS PROCEDURE_QUALIFIER, s.name AS PROCEDURE_OWNER, 
    CAST(p.name + CASE WHEN p.type IN ('P', 'PC', 'X') THEN N';1' ELSE N';0' END AS nvarchar(134)) AS PROCEDURE_NAME,
    CAST(-1 AS int) AS NUM_INPUT_PARAMS, CAST(-1 AS int) AS NUM_OUTPUT_PARAMS, CAST(-1 AS int) AS NUM_RESULT_SETS,
    CAST(NULL AS varchar(254)) AS REMARKS, CAST(2 AS smallint) AS PROCEDURE_TYPE
FROM sys.objects AS p JOIN sys.schemas AS s ON s.schema_id = p.schema_id
WHERE p.type IN ('P', 'PC', 'X', 'FN', 'IF', 'TF', 'FS', 'FT') AND (@sp_qualifier IS NULL OR @sp_qualifier = DB_NAME())
    AND (@sp_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND p.name LIKE @sp_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND p.name = @sp_name))
    AND (@sp_owner IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND s.name LIKE @sp_owner ESCAPE '\\')
        OR (@fUsePattern = 0 AND s.name = @sp_owner))
ORDER BY 1, 2, 3",
};
