//! Catalog procedures for ODBC and JDBC about keys, parameters, privileges and the server.

use super::{TextProcedure, run};
use crate::procedure::SystemProcedure;

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_fkeys", id: 0, run: |a, cx| run(&FOREIGN_KEYS, a, cx) },
    SystemProcedure { name: "sp_sproc_columns", id: 0, run: |a, cx| run(&PARAMETERS, a, cx) },
    SystemProcedure {
        name: "sp_sproc_columns_100",
        id: 0,
        run: |a, cx| run(&PARAMETERS_100, a, cx),
    },
    SystemProcedure { name: "sp_special_columns", id: 0, run: |a, cx| run(&SPECIAL, a, cx) },
    SystemProcedure { name: "sp_special_columns_100", id: 0, run: |a, cx| run(&SPECIAL, a, cx) },
    SystemProcedure { name: "sp_table_privileges", id: 0, run: |a, cx| run(&TABLE_RIGHTS, a, cx) },
    SystemProcedure {
        name: "sp_column_privileges",
        id: 0,
        run: |a, cx| run(&COLUMN_RIGHTS, a, cx),
    },
    SystemProcedure { name: "sp_server_info", id: 0, run: |a, cx| run(&SERVER_INFO, a, cx) },
];

static FOREIGN_KEYS: TextProcedure = TextProcedure {
    name: "sp_fkeys",
    parameters: &[
        ("@pktable_name", "nvarchar(128)"),
        ("@pktable_owner", "nvarchar(128)"),
        ("@pktable_qualifier", "nvarchar(128)"),
        ("@fktable_name", "nvarchar(128)"),
        ("@fktable_owner", "nvarchar(128)"),
        ("@fktable_qualifier", "nvarchar(128)"),
    ],
    text: "
SELECT DB_NAME() AS PKTABLE_QUALIFIER, OBJECT_SCHEMA_NAME(f.referenced_object_id) AS PKTABLE_OWNER,
    OBJECT_NAME(f.referenced_object_id) AS PKTABLE_NAME, COL_NAME(c.referenced_object_id, c.referenced_column_id) AS PKCOLUMN_NAME,
    DB_NAME() AS FKTABLE_QUALIFIER, OBJECT_SCHEMA_NAME(f.parent_object_id) AS FKTABLE_OWNER,
    OBJECT_NAME(f.parent_object_id) AS FKTABLE_NAME, COL_NAME(c.parent_object_id, c.parent_column_id) AS FKCOLUMN_NAME,
    CAST(c.constraint_column_id AS smallint) AS KEY_SEQ,
    CAST(CASE f.update_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE f.update_referential_action END AS smallint) AS UPDATE_RULE,
    CAST(CASE f.delete_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE f.delete_referential_action END AS smallint) AS DELETE_RULE,
    f.name AS FK_NAME,
    (SELECT i.name FROM sys.indexes AS i WHERE i.object_id = f.referenced_object_id AND i.index_id = f.key_index_id) AS PK_NAME,
    CAST(7 AS smallint) AS DEFERRABILITY
FROM sys.foreign_keys AS f JOIN sys.foreign_key_columns AS c ON c.constraint_object_id = f.object_id
WHERE (@pktable_name IS NULL OR OBJECT_NAME(f.referenced_object_id) = @pktable_name)
    AND (@pktable_owner IS NULL OR OBJECT_SCHEMA_NAME(f.referenced_object_id) = @pktable_owner)
    AND (@pktable_qualifier IS NULL OR @pktable_qualifier = DB_NAME())
    AND (@fktable_name IS NULL OR OBJECT_NAME(f.parent_object_id) = @fktable_name)
    AND (@fktable_owner IS NULL OR OBJECT_SCHEMA_NAME(f.parent_object_id) = @fktable_owner)
    AND (@fktable_qualifier IS NULL OR @fktable_qualifier = DB_NAME())
ORDER BY CASE WHEN @pktable_name IS NULL THEN 3 ELSE 0 END, 5, 6, 7, 12, 9",
};

/// The SQL expression for ODBC's type number of a column or parameter `c`.
macro_rules! data_type {
    () => {
        "
    CAST(CASE WHEN c.system_type_id IS NULL THEN NULL ELSE CASE c.system_type_id
        WHEN 98 THEN -150 WHEN 36 THEN -11 WHEN 99 THEN -10 WHEN 241 THEN -152 WHEN 231 THEN -9
        WHEN 239 THEN -8 WHEN 104 THEN -7 WHEN 48 THEN -6 WHEN 127 THEN -5 WHEN 34 THEN -4
        WHEN 165 THEN -3 WHEN 173 THEN -2 WHEN 189 THEN -2 WHEN 35 THEN -1 WHEN 175 THEN 1
        WHEN 108 THEN 2 WHEN 106 THEN 3 WHEN 60 THEN 3 WHEN 122 THEN 3 WHEN 56 THEN 4 WHEN 52 THEN 5
        WHEN 62 THEN 6 WHEN 59 THEN 7 WHEN 167 THEN 12 WHEN 243 THEN -153
        WHEN 40 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN 91 ELSE -9 END
        WHEN 41 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN -154 ELSE -9 END
        WHEN 43 THEN CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN -155 ELSE -9 END
        ELSE CASE ISNULL(@ODBCVer, 2) WHEN 3 THEN 93 ELSE 11 END
        END END AS smallint)"
    };
}

/// The SQL expressions for precision, length, scale and radix of a column or parameter `c`.
macro_rules! measures {
    () => {
        "
    CAST(CASE WHEN c.system_type_id IN (231, 239) AND c.max_length > 0 THEN c.max_length / 2
        WHEN c.system_type_id IN (35, 34) THEN 2147483647 WHEN c.system_type_id = 99 THEN 1073741823
        WHEN c.system_type_id = 36 THEN 36 WHEN c.max_length = -1 THEN 0
        WHEN c.precision > 0 THEN c.precision ELSE c.max_length END AS int) AS [PRECISION],
    CAST(CASE WHEN c.system_type_id IN (35, 34) THEN 2147483647 WHEN c.system_type_id = 99 THEN 2147483646
        WHEN c.max_length = -1 THEN 0 WHEN c.system_type_id IN (106, 108) THEN c.precision + 2
        WHEN c.system_type_id IN (61, 58, 42) THEN 16 ELSE c.max_length END AS int) AS LENGTH,
    CAST(CASE WHEN c.system_type_id IN (106, 108, 60, 122, 41, 42, 43, 61, 58, 48, 52, 56, 127) THEN c.scale END AS smallint) AS SCALE"
    };
}

const SPROC_PARAMETERS: &[(&str, &str)] = &[
    ("@procedure_name", "nvarchar(390)"),
    ("@procedure_owner", "nvarchar(384)"),
    ("@procedure_qualifier", "nvarchar(128)"),
    ("@column_name", "nvarchar(384)"),
    ("@ODBCVer", "int"),
    ("@fUsePattern", "bit"),
];

macro_rules! parameters_text {
    ($more:literal) => {
        concat!(
        "
SELECT DB_NAME() AS PROCEDURE_QUALIFIER, s.name AS PROCEDURE_OWNER, 
    CAST(o.name + CASE WHEN o.type IN ('P', 'PC', 'X') THEN N';1' ELSE N';0' END AS nvarchar(134)) AS PROCEDURE_NAME,
    c.name AS COLUMN_NAME, CAST(CASE WHEN c.name = '@TABLE_RETURN_VALUE' THEN 3 WHEN c.parameter_id = 0 THEN 5 WHEN c.is_output = 1 THEN 2 ELSE 1 END AS smallint) AS COLUMN_TYPE,",
        data_type!(),
        " AS DATA_TYPE, CAST(COALESCE(TYPE_NAME(c.user_type_id), TYPE_NAME(c.system_type_id), N'table') AS nvarchar(128)) AS TYPE_NAME,",
        measures!(),
        ",
    CAST(CASE WHEN c.system_type_id IN (62, 59) THEN 2
        WHEN c.system_type_id IN (106, 108, 60, 122, 48, 52, 56, 127) THEN 10 END AS smallint) AS RADIX,
    CAST(CASE c.parameter_id WHEN 0 THEN 0 ELSE 1 END AS smallint) AS NULLABLE, CAST(NULL AS varchar(254)) AS REMARKS,
    CAST(NULL AS nvarchar(4000)) AS COLUMN_DEF,",
        data_type!(),
        " AS SQL_DATA_TYPE,
    CAST(CASE c.system_type_id WHEN 40 THEN 1 WHEN 42 THEN 3 WHEN 61 THEN 3 WHEN 58 THEN 3 END AS smallint) AS SQL_DATETIME_SUB,
    CAST(CASE WHEN c.system_type_id IN (231, 239, 167, 175, 165, 173) THEN CASE c.max_length WHEN -1 THEN 0 ELSE c.max_length END END AS int) AS CHAR_OCTET_LENGTH,
    CAST(c.parameter_id AS int) AS ORDINAL_POSITION,
    CAST(CASE c.parameter_id WHEN 0 THEN 'NO' ELSE 'YES' END AS varchar(254)) AS IS_NULLABLE,",
        $more,
        "
    CAST(CASE c.system_type_id
        WHEN 34 THEN 34 WHEN 35 THEN 35 WHEN 36 THEN 37 WHEN 48 THEN 38 WHEN 52 THEN 38 WHEN 56 THEN 38 WHEN 127 THEN 108
        WHEN 104 THEN 50 WHEN 62 THEN 109 WHEN 59 THEN 109 WHEN 60 THEN 110 WHEN 122 THEN 110 WHEN 61 THEN 111 WHEN 58 THEN 111
        WHEN 106 THEN 106 WHEN 108 THEN 108 WHEN 231 THEN 39 WHEN 239 THEN 39 WHEN 167 THEN 39 WHEN 175 THEN 39
        WHEN 165 THEN 37 WHEN 173 THEN 37 ELSE 0 END AS tinyint) AS SS_DATA_TYPE
FROM (
    SELECT object_id, CASE parameter_id WHEN 0 THEN N'@RETURN_VALUE' ELSE name END AS name, parameter_id, system_type_id,
        user_type_id, max_length, precision, scale, is_output FROM sys.all_parameters
    UNION ALL
    SELECT object_id, N'@RETURN_VALUE', 0, 56, 56, 4, 10, 0, 1 FROM sys.procedures
    UNION ALL
    SELECT object_id, N'@TABLE_RETURN_VALUE', 0, NULL, NULL, 0, 0, NULL, 0 FROM sys.objects WHERE type IN ('IF', 'TF', 'FT')) AS c
    JOIN sys.all_objects AS o ON o.object_id = c.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE (@procedure_qualifier IS NULL OR @procedure_qualifier = DB_NAME())
    AND (@procedure_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND o.name LIKE @procedure_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND o.name = @procedure_name))
    AND (@procedure_owner IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND s.name LIKE @procedure_owner ESCAPE '\\')
        OR (@fUsePattern = 0 AND s.name = @procedure_owner))
    AND (@column_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND c.name LIKE @column_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND c.name = @column_name))
ORDER BY 1, 2, 3, c.parameter_id"
        )
    };
}

static PARAMETERS: TextProcedure = TextProcedure {
    name: "sp_sproc_columns",
    parameters: SPROC_PARAMETERS,
    text: parameters_text!(""),
};

/// Adds the columns of `SQLProcedureColumns` that name a parameter's table type.
static PARAMETERS_100: TextProcedure = TextProcedure {
    name: "sp_sproc_columns_100",
    parameters: SPROC_PARAMETERS,
    text: parameters_text!(
        "
    CAST(CASE c.system_type_id WHEN 243 THEN DB_NAME() END AS nvarchar(128)) AS SS_TYPE_CATALOG_NAME,
    CAST((SELECT SCHEMA_NAME(y.schema_id) FROM sys.types AS y WHERE y.user_type_id = c.user_type_id AND y.is_table_type = 1)
        AS nvarchar(128)) AS SS_TYPE_SCHEMA_NAME,
    CAST(NULL AS nvarchar(128)) AS SS_UDT_CATALOG_NAME, CAST(NULL AS nvarchar(128)) AS SS_UDT_SCHEMA_NAME,
    CAST(NULL AS nvarchar(4000)) AS SS_UDT_ASSEMBLY_TYPE_NAME,
    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_SCHEMA_NAME,
    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_NAME,"
    ),
};

/// The columns that identify a row, or that the server updates automatically.
static SPECIAL: TextProcedure = TextProcedure {
    name: "sp_special_columns",
    parameters: &[
        ("@table_name", "nvarchar(390)"),
        ("@table_owner", "nvarchar(384)"),
        ("@qualifier", "nvarchar(128)"),
        ("@col_type", "char(1)"),
        ("@scope", "char(1)"),
        ("@nullable", "char(1)"),
        ("@ODBCVer", "int"),
    ],
    text: concat!(
        "
DECLARE @table int = OBJECT_ID(CASE WHEN @table_owner IS NULL THEN QUOTENAME(@table_name) ELSE QUOTENAME(@table_owner) + N'.' + QUOTENAME(@table_name) END)
DECLARE @index int = (SELECT TOP (1) i.index_id FROM sys.indexes AS i WHERE i.object_id = @table AND i.is_unique = 1
    AND (ISNULL(@nullable, 'U') = 'U' OR NOT EXISTS (SELECT * FROM sys.index_columns AS k
        JOIN sys.columns AS n ON n.object_id = k.object_id AND n.column_id = k.column_id
        WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0 AND n.is_nullable = 1))
    ORDER BY i.is_primary_key DESC, i.index_id)
SELECT CAST(CASE ISNULL(@col_type, 'R') WHEN 'V' THEN NULL ELSE CASE ISNULL(@scope, 'T') WHEN 'C' THEN 0 ELSE 1 END END AS smallint) AS SCOPE,
    c.name AS COLUMN_NAME,",
        data_type!(),
        " AS DATA_TYPE, CAST(TYPE_NAME(c.user_type_id) + CASE c.is_identity WHEN 1 THEN N' identity' ELSE N'' END AS nvarchar(128)) AS TYPE_NAME,",
        measures!(),
        ",
    CAST(1 AS smallint) AS PSEUDO_COLUMN
FROM sys.columns AS c LEFT JOIN sys.index_columns AS k ON k.object_id = c.object_id AND k.column_id = c.column_id
    AND k.index_id = @index AND k.key_ordinal > 0
WHERE c.object_id = @table AND (@qualifier IS NULL OR @qualifier = DB_NAME())
    AND ((ISNULL(@col_type, 'R') <> 'V' AND k.key_ordinal IS NOT NULL) OR (@col_type = 'V' AND c.system_type_id = 189))
ORDER BY k.key_ordinal"
    ),
};

static SERVER_INFO: TextProcedure = TextProcedure {
    name: "sp_server_info",
    parameters: &[("@attribute_id", "int")],
    text: "
SELECT a.id AS attribute_id, CAST(a.name AS varchar(60)) AS attribute_name, CAST(a.value AS varchar(255)) AS attribute_value
FROM (VALUES
    (1, 'DBMS_NAME', 'Microsoft SQL Server'),
    (2, 'DBMS_VER', 'Microsoft SQL Server ' + CAST(SERVERPROPERTY('ProductVersion') AS varchar(40))),
    (10, 'OWNER_TERM', 'owner'), (11, 'TABLE_TERM', 'table'), (12, 'MAX_OWNER_NAME_LENGTH', '128'),
    (13, 'TABLE_LENGTH', '128'), (14, 'MAX_QUAL_LENGTH', '128'), (15, 'COLUMN_LENGTH', '128'),
    (16, 'IDENTIFIER_CASE', 'MIXED'), (17, 'TX_ISOLATION', '2'),
    (18, 'COLLATION_SEQ', 'collation=' + CAST(SERVERPROPERTY('Collation') AS varchar(128))),
    (19, 'SAVEPOINT_SUPPORT', 'Y'), (20, 'MULTI_RESULT_SETS', 'Y'), (22, 'ACCESSIBLE_TABLES', 'Y'),
    (100, 'USERID_LENGTH', '128'), (101, 'QUALIFIER_TERM', 'database'), (102, 'NAMED_TRANSACTIONS', 'Y'),
    (103, 'SPROC_AS_LANGUAGE', 'Y'), (104, 'ACCESSIBLE_SPROC', 'Y'), (105, 'MAX_INDEX_COLS', '32'),
    (106, 'RENAME_TABLE', 'Y'), (107, 'RENAME_COLUMN', 'Y'), (108, 'DROP_COLUMN', 'Y'),
    (109, 'INCREASE_COLUMN_LENGTH', 'Y'), (110, 'DDL_IN_TRANSACTION', 'Y'), (111, 'DESCENDING_INDEXES', 'Y'),
    (112, 'SP_RENAME', 'Y'), (113, 'REMOTE_SPROC', 'N'),
    (500, 'SYS_SPROC_VERSION', CAST(SERVERPROPERTY('ProductVersion') AS varchar(40)))
) AS a (id, name, value)
WHERE @attribute_id IS NULL OR a.id = @attribute_id ORDER BY a.id",
};

/// The privileges on tables: those of the owner.
static TABLE_RIGHTS: TextProcedure = TextProcedure {
    name: "sp_table_privileges",
    parameters: &[
        ("@table_name", "nvarchar(384)"),
        ("@table_owner", "nvarchar(384)"),
        ("@table_qualifier", "nvarchar(128)"),
        ("@fUsePattern", "bit"),
    ],
    text: "
SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME,
    USER_NAME(s.principal_id) AS GRANTOR, USER_NAME(s.principal_id) AS GRANTEE,
    CAST(p.name AS varchar(32)) AS PRIVILEGE, CAST('YES' AS varchar(3)) AS IS_GRANTABLE
FROM sys.all_objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    CROSS JOIN (VALUES ('DELETE'), ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS p (name)
WHERE o.type IN ('U', 'V')
    AND (@table_qualifier IS NULL OR @table_qualifier = '' OR @table_qualifier = DB_NAME())
    AND (@table_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND o.name LIKE @table_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND o.name = @table_name))
    AND (@table_owner IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND s.name LIKE @table_owner ESCAPE '\\')
        OR (@fUsePattern = 0 AND s.name = @table_owner))
ORDER BY 1, 2, 3, 6",
};

/// The privileges on columns: those of the owner.
static COLUMN_RIGHTS: TextProcedure = TextProcedure {
    name: "sp_column_privileges",
    parameters: &[
        ("@table_name", "nvarchar(128)"),
        ("@table_owner", "nvarchar(128)"),
        ("@table_qualifier", "nvarchar(128)"),
        ("@column_name", "nvarchar(384)"),
    ],
    text: "
SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, c.name AS COLUMN_NAME,
    USER_NAME(s.principal_id) AS GRANTOR, USER_NAME(s.principal_id) AS GRANTEE,
    CAST(p.name AS varchar(32)) AS PRIVILEGE, CAST('YES' AS varchar(3)) AS IS_GRANTABLE
FROM sys.all_objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.all_columns AS c ON c.object_id = o.object_id
    CROSS JOIN (VALUES ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS p (name)
WHERE o.type IN ('U', 'V') AND o.name = @table_name
    AND (@table_qualifier IS NULL OR @table_qualifier = '' OR @table_qualifier = DB_NAME())
    AND (@table_owner IS NULL OR s.name = @table_owner)
    AND (@column_name IS NULL OR c.name LIKE @column_name ESCAPE '\\')
ORDER BY 1, 2, 3, 4, 7",
};
