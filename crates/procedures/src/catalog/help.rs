//! sp_help and related procedures: describe an object, its indexes and its constraints.

use types::{Error, Msg, Value};

use super::{TextProcedure, run};
use crate::procedure::{SystemProcedure, text};
use ::catalog::TableDef;
use ::catalog::name::Name;
use ::executor::Cx;
use interpreter::{Argument, Stop};
use metadata::objects::{ObjectRow, find_object};
use tsql::parse_object_name;

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_help", id: 0, run: help },
    SystemProcedure { name: "sp_helpindex", id: 0, run: help_index },
    SystemProcedure { name: "sp_helpconstraint", id: 0, run: help_constraint },
    SystemProcedure { name: "sp_lock", id: 0, run: |a, cx| run(&LOCK, a, cx) },
    SystemProcedure { name: "sp_recompile", id: 0, run: recompile },
    SystemProcedure { name: "sp_spaceused", id: 0, run: space_used },
];

/// Finds the object that an argument names, in the current database.
///
/// # Errors
/// 15009 if it does not exist, 15250 for one in another database.
pub(super) fn object(name: &str, cx: &Cx<'_>) -> Result<ObjectRow, Stop> {
    let session = &cx.session;
    let database = session.catalog.database(&session.identity.database);
    let parsed = parse_object_name(name).ok();
    let place = parsed.as_ref().and_then(|name| name.database.as_deref());
    if place.is_some_and(|place| !Name::same(place, &session.identity.database)) {
        return Err(Msg::NotCurrentDatabase.into());
    }
    let found = database.zip(parsed).and_then(|(database, name)| {
        find_object(session, &session.sees(database), name.schema.as_deref(), &name.object)
    });
    found.ok_or_else(|| Msg::ObjectInvalidIn(name, &session.identity.database).into())
}

/// As [`object`], for an object that the session may alter.
///
/// # Errors
/// 15165 for one that it may not alter or see, 15250 for one in another database.
pub(super) fn object_to_alter(name: &str, cx: &Cx<'_>) -> Result<ObjectRow, Stop> {
    const NOT_FOUND: i32 = 15_009;
    match object(name, cx) {
        Ok(row) if may_alter(&row, cx) => return Ok(row),
        Err(Stop::Error(error)) if error.number != NOT_FOUND => return Err(error.into()),
        Ok(_) | Err(_) => {}
    }
    Err(Msg::ObjectOrPermission(name).into())
}

/// Returns true if the session may alter an object, or the table of a constraint or trigger.
pub(super) fn may_alter(row: &ObjectRow, cx: &Cx<'_>) -> bool {
    let Some(database) = cx.session.catalog.database(&cx.session.identity.database) else {
        return true;
    };
    let id = if row.parent_id == 0 { row.id } else { row.parent_id };
    let object = database.object_by_id(id);
    object.is_none_or(|object| cx.session.identity.rights.alters(database, object))
}

pub(super) fn say(number: i32, text: &str, cx: &mut Cx<'_>) -> Result<i32, Stop> {
    cx.sink.message(&Error::custom(number, 0, 1, text))?;
    Ok(0)
}

fn help(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(name) = text(arguments, 0, "@objname", cx)?.filter(|name| !name.is_empty()) else {
        return run(&HELP_ALL, arguments, cx);
    };
    let object = object(&name, cx)?;
    match object.code {
        "U" => {
            run(&HELP_TABLE, arguments, cx)?;
            help_index(arguments, cx)?;
            constraints(&object, arguments, cx)
        }
        "V" | "TF" | "IF" => run(&HELP_VIEW, arguments, cx),
        _ => run(&HELP_MODULE, arguments, cx),
    }
}

fn help_index(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let name = text(arguments, 0, "@objname", cx)?.unwrap_or_default();
    let object = object(&name, cx)?;
    if table_of(&object, cx).is_none_or(|table| table.all_indexes().next().is_none()) {
        let text = format!(
            "The object '{name}' does not have any indexes, or you do not have permissions."
        );
        return say(15_472, &text, cx);
    }
    run(&HELP_INDEX, &mut arguments[..1], cx)
}

fn help_constraint(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let name = text(arguments, 0, "@objname", cx)?.unwrap_or_default();
    let object = object(&name, cx)?;
    run(&HELP_NAME, &mut arguments[..1], cx)?;
    constraints(&object, arguments, cx)
}

fn constraints(
    object: &ObjectRow,
    arguments: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    let any = table_of(object, cx).is_some_and(|table| table.constraint_names().next().is_some());
    if any {
        run(&HELP_CONSTRAINT, &mut arguments[..1], cx)?;
    } else {
        let text = format!(
            "No constraints are defined on object '{}', or you do not have permissions.",
            object.name
        );
        say(15_469, &text, cx)?;
    }
    run(&HELP_REFERENCES, &mut arguments[..1], cx)
}

fn table_of(object: &ObjectRow, cx: &Cx<'_>) -> Option<std::sync::Arc<TableDef>> {
    let database = cx.session.catalog.database(&cx.session.identity.database)?;
    database.table_by_id(object.id).cloned()
}

/// sp_recompile: invalidates all plans, not only those of the named object.
fn recompile(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let name = text(arguments, 0, "@objname", cx)?.unwrap_or_default();
    object_to_alter(&name, cx)?;
    cx.session.change_catalog(|_| Ok(()))?;
    cx.session.refresh_catalog();
    let text = format!("Object '{name}' was successfully marked for recompilation.");
    say(15_070, &text, cx)
}

/// sp_spaceused for a table: rows and bytes. No pages are reserved without being used.
fn space_used(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(name) = text(arguments, 0, "@objname", cx)?.filter(|name| !name.is_empty()) else {
        return run(&DATABASE_SPACE, arguments, cx);
    };
    let object = object(&name, cx)?;
    let Some(table) = table_of(&object, cx) else {
        return Err(Msg::NotSupported("sp_spaceused of what is no table").into());
    };
    let memory = table.rows.data.memory();
    let kilobytes = |bytes: u64| Value::nvarchar(&format!("{} KB", bytes.div_ceil(1_024)));
    let reserved = memory.allocated_rows_bytes + memory.allocated_indexes_bytes;
    let unused = reserved.saturating_sub(memory.used_rows_bytes + memory.used_indexes_bytes);
    let values = [
        Value::nvarchar(&object.name),
        Value::nvarchar(&format!("{:<20}", table.rows.data.row_count())),
        kilobytes(reserved),
        kilobytes(memory.used_rows_bytes),
        kilobytes(memory.used_indexes_bytes),
        kilobytes(unused),
    ];
    let ty = cx.session.text_type();
    let mut given: Vec<Argument> = values
        .into_iter()
        .map(|value| Argument {
            name: String::new(),
            ty,
            value,
            output: false,
            default: false,
            table: None,
            cursor: None,
        })
        .collect();
    run(&SPACE_USED, &mut given, cx)
}

const OBJECT: &[(&str, &str)] = &[("@objname", "nvarchar(776)")];

static SPACE_USED: TextProcedure = TextProcedure {
    name: "sp_spaceused",
    parameters: &[
        ("@name", "nvarchar(128)"),
        ("@rows", "char(20)"),
        ("@reserved", "varchar(18)"),
        ("@data", "varchar(18)"),
        ("@indexes", "varchar(18)"),
        ("@unused", "varchar(18)"),
    ],
    text: "
SELECT @name AS name, @rows AS rows, @reserved AS reserved, @data AS data, @indexes AS index_size, @unused AS unused",
};

/// sp_spaceused for the database: the memory of all tables.
static DATABASE_SPACE: TextProcedure = TextProcedure {
    name: "sp_spaceused",
    parameters: &[
        ("@objname", "nvarchar(776)"),
        ("@updateusage", "varchar(5)"),
        ("@mode", "varchar(11)"),
        ("@oneresultset", "bit"),
        ("@include_total_xtp_storage", "bit"),
    ],
    text: "
DECLARE @reserved bigint, @used bigint, @data bigint
SELECT @reserved = ISNULL(SUM(a.total_pages), 0) * 8, @used = ISNULL(SUM(a.used_pages), 0) * 8,
    @data = ISNULL(SUM(CASE WHEN p.index_id < 2 THEN a.data_pages ELSE 0 END), 0) * 8
FROM sys.allocation_units AS a JOIN sys.partitions AS p ON p.partition_id = a.container_id
DECLARE @size varchar(18) = CAST(CAST(@reserved / 1024.0 AS decimal(15, 2)) AS varchar(15)) + ' MB'
IF @oneresultset = 1
    SELECT DB_NAME() AS database_name, @size AS database_size, CAST('0.00 MB' AS varchar(18)) AS [unallocated space],
        CAST(CAST(@reserved AS varchar(15)) + ' KB' AS varchar(18)) AS reserved, CAST(CAST(@data AS varchar(15)) + ' KB' AS varchar(18)) AS data,
        CAST(CAST(@used - @data AS varchar(15)) + ' KB' AS varchar(18)) AS index_size,
        CAST(CAST(@reserved - @used AS varchar(15)) + ' KB' AS varchar(18)) AS unused
ELSE
BEGIN
    SELECT DB_NAME() AS database_name, @size AS database_size, CAST('0.00 MB' AS varchar(18)) AS [unallocated space]
    SELECT CAST(CAST(@reserved AS varchar(15)) + ' KB' AS varchar(18)) AS reserved, CAST(CAST(@data AS varchar(15)) + ' KB' AS varchar(18)) AS data,
        CAST(CAST(@used - @data AS varchar(15)) + ' KB' AS varchar(18)) AS index_size,
        CAST(CAST(@reserved - @used AS varchar(15)) + ' KB' AS varchar(18)) AS unused
END",
};

static HELP_ALL: TextProcedure = TextProcedure {
    name: "sp_help",
    parameters: OBJECT,
    text: "
SELECT o.name AS Name, CAST(USER_NAME(1) AS nvarchar(128)) AS Owner,
    CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS Object_type
FROM sys.all_objects AS o ORDER BY o.is_ms_shipped, 3 DESC, 1
SELECT t.name AS User_type, TYPE_NAME(t.system_type_id) AS Storage_type, t.max_length AS Length,
    CAST(t.precision AS int) AS Prec, CAST(t.scale AS int) AS Scale,
    CAST(CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable,
    CAST('none' AS sysname) AS Default_name, CAST('none' AS sysname) AS Rule_name, t.collation_name AS Collation
FROM sys.types AS t WHERE t.is_user_defined = 1 ORDER BY t.name",
};

static HELP_NAME: TextProcedure = TextProcedure {
    name: "sp_helpconstraint",
    parameters: OBJECT,
    text: "SELECT @objname AS [Object Name]",
};

/// Name and columns, for tables, views and functions.
macro_rules! help_columns {
    () => {
        "
SELECT o.name AS Name, CAST(USER_NAME(1) AS nvarchar(128)) AS Owner,
    CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS Type, o.create_date AS Created_datetime
FROM sys.all_objects AS o WHERE o.object_id = OBJECT_ID(@objname)
SELECT c.name AS Column_name, TYPE_NAME(c.user_type_id) AS Type,
    CAST(CASE c.is_computed WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Computed,
    CAST(c.max_length AS int) AS Length,
    CAST(CASE WHEN c.system_type_id IN (48, 52, 56, 127, 106, 108, 62, 59, 60, 122, 40, 41, 42, 43, 61, 58)
        THEN CONVERT(varchar(5), c.precision) ELSE '     ' END AS char(5)) AS Prec,
    CAST(CASE WHEN c.system_type_id IN (48, 52, 56, 127, 106, 108, 60, 122, 41, 42, 43)
        THEN CONVERT(varchar(5), c.scale) ELSE '     ' END AS char(5)) AS Scale,
    CAST(CASE c.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable,
    CAST(CASE WHEN c.system_type_id IN (165, 173, 167, 175, 231, 239) THEN 'no' ELSE '(n/a)' END AS varchar(35)) AS TrimTrailingBlanks,
    CAST(CASE WHEN c.system_type_id IN (173, 175, 239) THEN CASE c.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END
        ELSE '(n/a)' END AS varchar(35)) AS FixedLenNullInSource,
    c.collation_name AS Collation
FROM sys.all_columns AS c WHERE c.object_id = OBJECT_ID(@objname) ORDER BY c.column_id"
    };
}

static HELP_TABLE: TextProcedure = TextProcedure {
    name: "sp_help",
    parameters: OBJECT,
    text: concat!(
        help_columns!(),
        "
IF EXISTS (SELECT * FROM sys.identity_columns WHERE object_id = OBJECT_ID(@objname))
    SELECT name AS [Identity], CAST(seed_value AS numeric(38, 0)) AS Seed,
        CAST(increment_value AS numeric(38, 0)) AS Increment, CAST(is_not_for_replication AS int) AS [Not For Replication]
    FROM sys.identity_columns WHERE object_id = OBJECT_ID(@objname)
ELSE
    SELECT CAST('No identity column defined.' AS nvarchar(128)) AS [Identity], CAST(NULL AS numeric(38, 0)) AS Seed,
        CAST(NULL AS numeric(38, 0)) AS Increment, CAST(NULL AS int) AS [Not For Replication]
SELECT ISNULL((SELECT name FROM sys.columns WHERE object_id = OBJECT_ID(@objname) AND is_rowguidcol = 1),
    N'No rowguidcol column defined.') AS [RowGuidCol]
SELECT CAST(ISNULL((SELECT d.name FROM sys.indexes AS i JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id
    WHERE i.object_id = OBJECT_ID(@objname) AND i.index_id < 2), 'PRIMARY') AS nvarchar(128)) AS Data_located_on_filegroup"
    ),
};

static HELP_VIEW: TextProcedure =
    TextProcedure { name: "sp_help", parameters: OBJECT, text: help_columns!() };

static HELP_MODULE: TextProcedure = TextProcedure {
    name: "sp_help",
    parameters: OBJECT,
    text: "
SELECT o.name AS Name, CAST(USER_NAME(1) AS nvarchar(128)) AS Owner,
    CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS Type, o.create_date AS Created_datetime
FROM sys.all_objects AS o WHERE o.object_id = OBJECT_ID(@objname)
IF EXISTS (SELECT * FROM sys.all_parameters WHERE object_id = OBJECT_ID(@objname))
    SELECT p.name AS Parameter_name, TYPE_NAME(p.user_type_id) AS Type, CAST(p.max_length AS int) AS Length,
        CAST(p.precision AS int) AS Prec, CAST(p.scale AS int) AS Scale, p.parameter_id AS Param_order
    FROM sys.all_parameters AS p WHERE p.object_id = OBJECT_ID(@objname) ORDER BY p.parameter_id",
};

static HELP_INDEX: TextProcedure = TextProcedure {
    name: "sp_helpindex",
    parameters: OBJECT,
    text: "
SELECT i.name AS index_name,
    CAST(CASE i.type WHEN 1 THEN 'clustered' WHEN 7 THEN 'nonclustered hash' ELSE 'nonclustered' END
        + CASE i.ignore_dup_key WHEN 1 THEN ', ignore duplicate keys' ELSE '' END
        + CASE i.is_unique WHEN 1 THEN ', unique' ELSE '' END
        + CASE i.is_primary_key WHEN 1 THEN ', primary key' ELSE '' END
        + CASE i.is_unique_constraint WHEN 1 THEN ', unique key' ELSE '' END
        + ' located on ' + ISNULL((SELECT d.name FROM sys.data_spaces AS d WHERE d.data_space_id = i.data_space_id), 'PRIMARY')
        AS varchar(210)) AS index_description,
    CAST((SELECT STRING_AGG(c.name + CASE k.is_descending_key WHEN 1 THEN N'(-)' ELSE N'' END, N', ')
            WITHIN GROUP (ORDER BY k.key_ordinal)
        FROM sys.index_columns AS k JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
        WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0) AS nvarchar(2126)) AS index_keys
FROM sys.indexes AS i WHERE i.object_id = OBJECT_ID(@objname) AND i.index_id > 0 ORDER BY i.name",
};

static HELP_CONSTRAINT: TextProcedure = TextProcedure {
    name: "sp_helpconstraint",
    parameters: OBJECT,
    text: "
SELECT x.constraint_type, x.constraint_name, x.delete_action, x.update_action, x.status_enabled,
    x.status_for_replication, x.constraint_keys
FROM (
    SELECT CAST('CHECK ' + CASE c.parent_column_id WHEN 0 THEN 'Table Level' ELSE 'on column ' + COL_NAME(c.parent_object_id, c.parent_column_id) END AS nvarchar(146)) AS constraint_type,
        c.name AS constraint_name, CAST('(n/a)' AS nvarchar(9)) AS delete_action, CAST('(n/a)' AS nvarchar(9)) AS update_action,
        CAST(CASE c.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END AS varchar(8)) AS status_enabled,
        CAST('Is_For_Replication' AS varchar(19)) AS status_for_replication, CAST(c.definition AS nvarchar(2126)) AS constraint_keys
    FROM sys.check_constraints AS c WHERE c.parent_object_id = OBJECT_ID(@objname)
    UNION ALL
    SELECT 'DEFAULT on column ' + COL_NAME(d.parent_object_id, d.parent_column_id), d.name, '(n/a)', '(n/a)', '(n/a)', '(n/a)', d.definition
    FROM sys.default_constraints AS d WHERE d.parent_object_id = OBJECT_ID(@objname)
    UNION ALL
    SELECT CASE k.type WHEN 'PK' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END + CASE i.type WHEN 1 THEN ' (clustered)' ELSE ' (non-clustered)' END,
        k.name, '(n/a)', '(n/a)', '(n/a)', '(n/a)',
        (SELECT STRING_AGG(c.name, N', ') WITHIN GROUP (ORDER BY n.key_ordinal) FROM sys.index_columns AS n
            JOIN sys.columns AS c ON c.object_id = n.object_id AND c.column_id = n.column_id
            WHERE n.object_id = i.object_id AND n.index_id = i.index_id AND n.key_ordinal > 0)
    FROM sys.key_constraints AS k JOIN sys.indexes AS i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id
    WHERE k.parent_object_id = OBJECT_ID(@objname)
    UNION ALL
    SELECT 'FOREIGN KEY', f.name, REPLACE(f.delete_referential_action_desc, '_', ' '),
        REPLACE(f.update_referential_action_desc, '_', ' '), CASE f.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END, 'Is_For_Replication',
        (SELECT STRING_AGG(COL_NAME(n.parent_object_id, n.parent_column_id), N', ') WITHIN GROUP (ORDER BY n.constraint_column_id)
            FROM sys.foreign_key_columns AS n WHERE n.constraint_object_id = f.object_id)
        + N' REFERENCES ' + DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(f.referenced_object_id) + N'.' + OBJECT_NAME(f.referenced_object_id) + N' ('
        + (SELECT STRING_AGG(COL_NAME(n.referenced_object_id, n.referenced_column_id), N', ') WITHIN GROUP (ORDER BY n.constraint_column_id)
            FROM sys.foreign_key_columns AS n WHERE n.constraint_object_id = f.object_id) + N')'
    FROM sys.foreign_keys AS f WHERE f.parent_object_id = OBJECT_ID(@objname)
) AS x ORDER BY 1, 2",
};

static HELP_REFERENCES: TextProcedure = TextProcedure {
    name: "sp_helpconstraint",
    parameters: OBJECT,
    text: "
IF EXISTS (SELECT * FROM sys.foreign_keys WHERE referenced_object_id = OBJECT_ID(@objname))
    SELECT CAST(DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(f.parent_object_id) + N'.' + OBJECT_NAME(f.parent_object_id)
        + N': ' + f.name AS nvarchar(516)) AS [Table is referenced by foreign key]
    FROM sys.foreign_keys AS f WHERE f.referenced_object_id = OBJECT_ID(@objname) ORDER BY 1
ELSE
    PRINT 'No foreign keys reference table ''' + @objname + ''', or you do not have permissions on referencing tables.'",
};

static LOCK: TextProcedure = TextProcedure {
    name: "sp_lock",
    parameters: &[("@spid1", "int"), ("@spid2", "int")],
    text: "
SELECT CAST(l.request_session_id AS smallint) AS spid, CAST(l.resource_database_id AS smallint) AS dbid,
    CAST(l.resource_associated_entity_id AS int) AS ObjId, CAST(0 AS smallint) AS IndId,
    CAST(CASE l.resource_type WHEN 'OBJECT' THEN 'TAB' ELSE 'APP' END AS nchar(4)) AS Type,
    CAST(l.resource_description AS nchar(32)) AS Resource, CAST(l.request_mode AS nvarchar(8)) AS Mode,
    CAST(CASE l.request_status WHEN 'CONVERT' THEN 'CNVT' ELSE l.request_status END AS nvarchar(5)) AS Status
FROM sys.dm_tran_locks AS l
WHERE @spid1 IS NULL OR l.request_session_id IN (@spid1, @spid2) ORDER BY 1",
};
