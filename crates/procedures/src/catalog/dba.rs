//! Procedures that administrators' scripts call: the server's log, files and drives, statistics,
//! dependencies, alias types; and the registry, which Linux does not have.

use sos::sys::{make_folder, path_facts};
use types::{Error, Msg, Value};

use super::{TextProcedure, run};
use crate::procedure::{SystemProcedure, check_sysadmin, text};
use ::executor::Cx;
use interpreter::{Argument, Stop};
use metadata::folder_walk::off_scheduler;

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_addtype", id: 0, run: |a, cx| run(&ADD_TYPE, a, cx) },
    SystemProcedure { name: "sp_depends", id: 0, run: |a, cx| run(&DEPENDS, a, cx) },
    SystemProcedure { name: "sp_droptype", id: 0, run: |a, cx| run(&DROP_TYPE, a, cx) },
    SystemProcedure { name: "sp_helpstats", id: 0, run: |a, cx| run(&STATISTICS, a, cx) },
    SystemProcedure { name: "sp_readerrorlog", id: 0, run: |a, cx| for_sysadmin(&READ_LOG, a, cx) },
    SystemProcedure { name: "xp_create_subdir", id: 0, run: create_folder },
    SystemProcedure { name: "xp_fileexist", id: 0, run: file_exists },
    SystemProcedure { name: "xp_fixeddrives", id: 0, run: |a, cx| run(&DRIVES, a, cx) },
    SystemProcedure { name: "xp_instance_regread", id: 0, run: read_registry },
    SystemProcedure {
        name: "xp_readerrorlog",
        id: 0,
        run: |a, cx| for_sysadmin(&XP_READ_LOG, a, cx),
    },
    SystemProcedure { name: "xp_regread", id: 0, run: read_registry },
];

/// Runs a procedure that shows files or the log of the server, as members of sysadmin may.
fn for_sysadmin(
    procedure: &TextProcedure,
    arguments: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    check_sysadmin(cx)?;
    run(procedure, arguments, cx)
}

/// Log 0 is the current one, which alone is kept; type 2 is the Agent's log.
static READ_LOG: TextProcedure = TextProcedure {
    name: "sp_readerrorlog",
    parameters: &[
        ("@p1", "int"),
        ("@p2", "int"),
        ("@p3", "nvarchar(4000)"),
        ("@p4", "nvarchar(4000)"),
    ],
    text: "
SELECT log_date AS LogDate, process_info AS ProcessInfo, text AS Text FROM sys.dm_os_error_log
WHERE ISNULL(@p1, 0) = 0 AND ISNULL(@p2, 1) = 1 AND (@p3 IS NULL OR CHARINDEX(@p3, text) > 0) AND (@p4 IS NULL OR CHARINDEX(@p4, text) > 0)
ORDER BY line",
};

static XP_READ_LOG: TextProcedure = TextProcedure {
    name: "xp_readerrorlog",
    parameters: &[
        ("@log", "int"),
        ("@type", "int"),
        ("@text1", "nvarchar(4000)"),
        ("@text2", "nvarchar(4000)"),
        ("@start", "datetime"),
        ("@end", "datetime"),
        ("@order", "nvarchar(10)"),
    ],
    text: "
SELECT log_date AS LogDate, process_info AS ProcessInfo, text AS Text FROM sys.dm_os_error_log
WHERE ISNULL(@log, 0) = 0 AND ISNULL(@type, 1) = 1 AND (@text1 IS NULL OR CHARINDEX(@text1, text) > 0) AND (@text2 IS NULL OR CHARINDEX(@text2, text) > 0)
    AND (@start IS NULL OR log_date >= @start) AND (@end IS NULL OR log_date <= @end)
ORDER BY CASE WHEN @order = N'desc' THEN -line ELSE line END",
};

static FILE: TextProcedure = TextProcedure {
    name: "xp_fileexist",
    parameters: &[("@filename", "nvarchar(512)")],
    text: "
SELECT CAST(file_exists AS int) AS [File Exists], CAST(file_is_a_directory AS int) AS [File is a Directory],
    CAST(parent_directory_exists AS int) AS [Parent Directory Exists] FROM sys.dm_os_file_exists(@filename)",
};

/// `xp_fileexist path [, @exists OUTPUT]`.
fn file_exists(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_sysadmin(cx)?;
    let Some(path) = text(arguments, 0, "@filename", cx)? else {
        return Err(Msg::ParameterNotSupplied("xp_fileexist", "@filename").into());
    };
    match arguments {
        [_, output] => {
            let found = off_scheduler(|| path_facts(&path)).is_some_and(|found| !found.is_folder);
            output.value = Value::Int(i32::from(found));
            output.ty = crate::procedure::int_type();
            Ok(0)
        }
        [_] => run(&FILE, arguments, cx),
        _ => Err(Msg::TooManyArguments("xp_fileexist").into()),
    }
}

/// `xp_create_subdir path`: makes the folder and its missing parents.
fn create_folder(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_sysadmin(cx)?;
    let Some(path) = text(arguments, 0, "@path", cx)? else {
        return Err(Msg::ParameterNotSupplied("xp_create_subdir", "@path").into());
    };
    off_scheduler(|| make_folder(&path)).map_err(|error| {
        let text = format!("xp_create_subdir() returned error: {error}.");
        Stop::from(Error::custom(22_048, 16, 1, &text))
    })?;
    Ok(0)
}

static DRIVES: TextProcedure = TextProcedure {
    name: "xp_fixeddrives",
    parameters: &[],
    text: "SELECT fixed_drive_path AS drive, CAST(free_space_in_bytes / 1048576 AS int) AS [MB free] FROM sys.dm_os_enumerate_fixed_drives",
};

/// `xp_regread root, key, value [, @output OUTPUT [, 'no_output']]`. There is no registry: the
/// values that tools ask for and the server knows are answered, any other one is not there.
fn read_registry(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_sysadmin(cx)?;
    let name = text(arguments, 2, "@value_name", cx)?.unwrap_or_default();
    let found = registry(&name);
    let output = arguments.iter_mut().find(|argument| argument.output);
    match (found, output) {
        (found, Some(output)) => {
            let (value, is_number) =
                found.map_or((Value::Null, false), |f| (f.value(), f.is_number()));
            if is_number {
                output.ty = crate::procedure::int_type();
            }
            output.value = value;
            Ok(0)
        }
        (Some(found), None) => {
            let value = |name: &str, value: Value, ty| Argument {
                name: name.to_owned(),
                ty,
                value,
                output: false,
                default: false,
                table: None,
                cursor: None,
            };
            let text_type = types::value::ColumnType::nullable(types::DataType::NVarChar(
                types::Length::Limited(4_000),
            ));
            let ty = if found.is_number() { crate::procedure::int_type() } else { text_type };
            let mut values = [
                value("@name", Value::nvarchar(&name), text_type),
                value("@data", found.value(), ty),
            ];
            let shown = if found.is_number() { &NUMBER } else { &TEXT };
            run(shown, &mut values, cx)
        }
        (None, None) => {
            let told =
                "RegQueryValueEx() returned error 2, 'The system cannot find the file specified.'";
            cx.sink.message(&Error::custom(22_001, 1, 1, told))?;
            Ok(0)
        }
    }
}

/// A value of the registry of SQL Server for Windows.
enum Registry {
    Number(i32),
    Text(&'static str),
}

impl Registry {
    fn value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Int(*number),
            Self::Text(text) => Value::nvarchar(text),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }
}

fn registry(name: &str) -> Option<Registry> {
    match name.to_ascii_lowercase().as_str() {
        // 2: logins of SQL Server are accepted.
        "loginmode" => Some(Registry::Number(2)),
        // 2: failed logins are written to the log.
        "auditlevel" => Some(Registry::Number(2)),
        "objectname" => Some(Registry::Text("clearway")),
        _ => None,
    }
}

static NUMBER: TextProcedure = TextProcedure {
    name: "xp_regread",
    parameters: &[("@name", "nvarchar(4000)"), ("@data", "int")],
    text: "SELECT @name AS [Value], @data AS [Data]",
};

static TEXT: TextProcedure = TextProcedure {
    name: "xp_regread",
    parameters: &[("@name", "nvarchar(4000)"), ("@data", "nvarchar(4000)")],
    text: "SELECT @name AS [Value], @data AS [Data]",
};

/// `sp_addtype name, 'type(n)' [, 'NULL' | 'NOT NULL' | 'NONULL' [, owner]]`. The type's own
/// parentheses are all that may follow its name.
static ADD_TYPE: TextProcedure = TextProcedure {
    name: "sp_addtype",
    parameters: &[
        ("@typename", "sysname"),
        ("@phystype", "nvarchar(128)"),
        ("@nulltype", "varchar(8)"),
        ("@owner", "sysname"),
    ],
    text: "
DECLARE @open int = CHARINDEX(N'(', @phystype), @text nvarchar(max)
DECLARE @base nvarchar(128) = RTRIM(CASE WHEN @open = 0 THEN @phystype ELSE LEFT(@phystype, @open - 1) END)
DECLARE @rest nvarchar(128) = CASE WHEN @open = 0 THEN N'' ELSE SUBSTRING(@phystype, @open, 128) END
IF NOT EXISTS (SELECT * FROM sys.types WHERE name = @base AND is_user_defined = 0) OR @rest LIKE N'%[^0-9max(), ]%' OR @rest LIKE N'%)%[^ ]'
BEGIN
    RAISERROR('The data type ''%s'' does not exist or you do not have permission.', 16, 1, @phystype)
    RETURN
END
IF @nulltype IS NOT NULL AND UPPER(@nulltype) NOT IN ('NULL', 'NOT NULL', 'NONULL')
BEGIN
    RAISERROR('The null type ''%s'' is not NULL, NOT NULL or NONULL.', 16, 1, @nulltype)
    RETURN
END
SET @text = N'CREATE TYPE ' + CASE WHEN @owner IS NULL THEN N'' ELSE QUOTENAME(@owner) + N'.' END + QUOTENAME(@typename) + N' FROM ' + QUOTENAME(@base) + @rest
    + CASE UPPER(@nulltype) WHEN 'NULL' THEN N' NULL' WHEN 'NOT NULL' THEN N' NOT NULL' WHEN 'NONULL' THEN N' NOT NULL' ELSE N'' END
EXEC (@text)",
};

static DROP_TYPE: TextProcedure = TextProcedure {
    name: "sp_droptype",
    parameters: &[("@typename", "sysname")],
    text: "DECLARE @text nvarchar(max) = N'DROP TYPE ' + QUOTENAME(@typename) EXEC (@text)",
};

/// `sp_depends object`: what the object names, and what names it.
static DEPENDS: TextProcedure = TextProcedure {
    name: "sp_depends",
    parameters: &[("@objname", "nvarchar(776)")],
    text: "
DECLARE @id int = OBJECT_ID(@objname), @found bit = 0
IF @id IS NULL
BEGIN
    DECLARE @database nvarchar(128) = DB_NAME()
    RAISERROR(15009, -1, -1, @objname, @database)
    RETURN
END
IF EXISTS (SELECT * FROM sys.sql_expression_dependencies WHERE referencing_id = @id AND referencing_minor_id = 0 AND referenced_id IS NOT NULL AND referenced_class = 1)
BEGIN
    SET @found = 1
    RAISERROR('In the current database, the specified object references the following:', 0, 1)
    SELECT DISTINCT OBJECT_SCHEMA_NAME(d.referenced_id) + N'.' + o.name AS name, CASE RTRIM(o.type) WHEN 'P' THEN 'stored procedure' WHEN 'FN' THEN 'scalar function' WHEN 'IF' THEN 'inline function'
        WHEN 'TF' THEN 'table function' WHEN 'TR' THEN 'trigger' ELSE LOWER(REPLACE(o.type_desc, '_', ' ')) END AS type
    FROM sys.sql_expression_dependencies AS d JOIN sys.objects AS o ON o.object_id = d.referenced_id
    WHERE d.referencing_id = @id AND d.referencing_minor_id = 0 AND d.referenced_class = 1
END
IF EXISTS (SELECT * FROM sys.sql_expression_dependencies WHERE referenced_id = @id AND referenced_class = 1 AND referencing_id <> @id)
BEGIN
    SET @found = 1
    RAISERROR('In the current database, the specified object is referenced by the following:', 0, 1)
    SELECT DISTINCT OBJECT_SCHEMA_NAME(d.referencing_id) + N'.' + o.name AS name, CASE RTRIM(o.type) WHEN 'P' THEN 'stored procedure' WHEN 'FN' THEN 'scalar function' WHEN 'IF' THEN 'inline function'
        WHEN 'TF' THEN 'table function' WHEN 'TR' THEN 'trigger' ELSE LOWER(REPLACE(o.type_desc, '_', ' ')) END AS type
    FROM sys.sql_expression_dependencies AS d JOIN sys.objects AS o ON o.object_id = d.referencing_id
    WHERE d.referenced_id = @id AND d.referenced_class = 1 AND d.referencing_id <> @id
END
IF @found = 0
    RAISERROR('Object does not reference any object, and no objects reference it.', 0, 1)",
};

/// `sp_helpstats table [, 'STATS' | 'ALL']`.
static STATISTICS: TextProcedure = TextProcedure {
    name: "sp_helpstats",
    parameters: &[("@objname", "nvarchar(776)"), ("@results", "nvarchar(5)")],
    text: "
DECLARE @id int = OBJECT_ID(@objname)
IF @id IS NULL
BEGIN
    DECLARE @database nvarchar(128) = DB_NAME()
    RAISERROR(15009, -1, -1, @objname, @database)
    RETURN
END
SELECT s.name AS statistics_name, (SELECT STRING_AGG(COL_NAME(c.object_id, c.column_id), N', ') WITHIN GROUP (ORDER BY c.stats_column_id)
    FROM sys.stats_columns AS c WHERE c.object_id = s.object_id AND c.stats_id = s.stats_id) AS statistics_keys
FROM sys.stats AS s WHERE s.object_id = @id AND (UPPER(@results) = N'ALL' OR s.user_created = 1 OR s.auto_created = 1)",
};
