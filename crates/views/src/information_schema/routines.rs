//! `INFORMATION_SCHEMA.ROUTINES`: procedures and functions.

use types::Value;

use metadata::column::{
    BIGINT, Column, DATETIME, INT, SMALLINT, SYSNAME, TINYINT, col, nv, opt, rows, shape, small,
    text,
};
use metadata::objects::{ObjectRow, definition, objects};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("SPECIFIC_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("SPECIFIC_SCHEMA", SYSNAME, |r| text(&r.object.schema)),
    col("SPECIFIC_NAME", SYSNAME, |r| text(&r.object.name)),
    opt("ROUTINE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("ROUTINE_SCHEMA", SYSNAME, |r| text(&r.object.schema)),
    col("ROUTINE_NAME", SYSNAME, |r| text(&r.object.name)),
    opt("ROUTINE_TYPE", nv(20), |r| {
        text(if r.object.code == "P" { "PROCEDURE" } else { "FUNCTION" })
    }),
    opt("MODULE_CATALOG", SYSNAME, |_| Value::Null),
    opt("MODULE_SCHEMA", SYSNAME, |_| Value::Null),
    opt("MODULE_NAME", SYSNAME, |_| Value::Null),
    opt("UDT_CATALOG", SYSNAME, |_| Value::Null),
    opt("UDT_SCHEMA", SYSNAME, |_| Value::Null),
    opt("UDT_NAME", SYSNAME, |_| Value::Null),
    opt("DATA_TYPE", SYSNAME, |_| Value::Null),
    opt("CHARACTER_MAXIMUM_LENGTH", INT, |_| Value::Null),
    opt("CHARACTER_OCTET_LENGTH", INT, |_| Value::Null),
    opt("COLLATION_CATALOG", SYSNAME, |_| Value::Null),
    opt("COLLATION_SCHEMA", SYSNAME, |_| Value::Null),
    opt("COLLATION_NAME", SYSNAME, |_| Value::Null),
    opt("CHARACTER_SET_CATALOG", SYSNAME, |_| Value::Null),
    opt("CHARACTER_SET_SCHEMA", SYSNAME, |_| Value::Null),
    opt("CHARACTER_SET_NAME", SYSNAME, |_| Value::Null),
    opt("NUMERIC_PRECISION", TINYINT, |_| Value::Null),
    opt("NUMERIC_PRECISION_RADIX", SMALLINT, |_| Value::Null),
    opt("NUMERIC_SCALE", SMALLINT, |_| Value::Null),
    opt("DATETIME_PRECISION", SMALLINT, |_| Value::Null),
    opt("INTERVAL_TYPE", nv(30), |_| Value::Null),
    opt("INTERVAL_PRECISION", SMALLINT, |_| Value::Null),
    opt("TYPE_UDT_CATALOG", SYSNAME, |_| Value::Null),
    opt("TYPE_UDT_SCHEMA", SYSNAME, |_| Value::Null),
    opt("TYPE_UDT_NAME", SYSNAME, |_| Value::Null),
    opt("SCOPE_CATALOG", SYSNAME, |_| Value::Null),
    opt("SCOPE_SCHEMA", SYSNAME, |_| Value::Null),
    opt("SCOPE_NAME", SYSNAME, |_| Value::Null),
    opt("MAXIMUM_CARDINALITY", BIGINT, |_| Value::Null),
    opt("DTD_IDENTIFIER", SYSNAME, |_| Value::Null),
    opt("ROUTINE_BODY", nv(30), |_| text("SQL")),
    opt("ROUTINE_DEFINITION", nv(4000), |r| r.definition.as_deref().map_or(Value::Null, text)),
    opt("EXTERNAL_NAME", SYSNAME, |_| Value::Null),
    opt("EXTERNAL_LANGUAGE", nv(30), |_| Value::Null),
    opt("PARAMETER_STYLE", nv(30), |_| Value::Null),
    opt("IS_DETERMINISTIC", nv(10), |_| text("NO")),
    opt("SQL_DATA_ACCESS", nv(30), |r| {
        text(if r.object.code == "P" { "MODIFIES" } else { "READS" })
    }),
    opt("IS_NULL_CALL", nv(10), |_| Value::Null),
    opt("SQL_PATH", SYSNAME, |_| Value::Null),
    opt("SCHEMA_LEVEL_ROUTINE", nv(10), |_| text("YES")),
    opt("MAX_DYNAMIC_RESULT_SETS", SMALLINT, |r| small(if r.object.code == "P" { -1 } else { 0 })),
    opt("IS_USER_DEFINED_CAST", nv(10), |_| text("NO")),
    opt("IS_IMPLICITLY_INVOCABLE", nv(10), |_| text("NO")),
    col("CREATED", DATETIME, |r| r.object.created.clone()),
    col("LAST_ALTERED", DATETIME, |r| r.object.modified.clone()),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "ROUTINES",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    catalog: String,
    object: ObjectRow,
    definition: Option<String>,
}

/// ROUTINE_DEFINITION contains this many characters at most.
const DEFINITION_MAX: usize = 4_000;

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let routines = objects(scope.session, scope.database).into_iter();
    let row = |object: ObjectRow| {
        let text = definition(scope.database, object.id);
        let definition = text.map(|text| text.chars().take(DEFINITION_MAX).collect());
        Row { catalog: scope.database.name.clone(), object, definition }
    };
    routines.filter(|o| matches!(o.code, "P" | "FN" | "IF" | "TF")).map(row).collect()
}
