//! `INFORMATION_SCHEMA.COLUMNS`: columns of tables and views.

use types::Value;

use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, TINYINT, ascii, col, int, nv, opt, rows, shape, text, vc,
};
use metadata::objects::{ColumnRow, character_set, collation_name, columns_of_tables_and_views};
use metadata::type_facts::{character_length, datetime_precision, numeric_facts, octet_length};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("TABLE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("TABLE_SCHEMA", SYSNAME, |r| text(&r.column.schema)),
    col("TABLE_NAME", SYSNAME, |r| text(&r.column.table)),
    opt("COLUMN_NAME", SYSNAME, |r| text(&r.column.name)),
    opt("ORDINAL_POSITION", INT, |r| int(r.column.id)),
    opt("COLUMN_DEFAULT", nv(4000), default_text),
    opt("IS_NULLABLE", vc(3), |r| ascii(if r.column.ty.nullable { "YES" } else { "NO" })),
    opt("DATA_TYPE", SYSNAME, |r| text(r.column.type_name())),
    opt("CHARACTER_MAXIMUM_LENGTH", INT, |r| {
        character_length(&r.column.ty.data_type).map_or(Value::Null, Value::Int)
    }),
    opt("CHARACTER_OCTET_LENGTH", INT, |r| {
        octet_length(&r.column.ty.data_type).map_or(Value::Null, Value::Int)
    }),
    opt("NUMERIC_PRECISION", TINYINT, |r| {
        numeric_facts(&r.column.ty.data_type).map_or(Value::Null, |f| Value::TinyInt(f.0))
    }),
    opt("NUMERIC_PRECISION_RADIX", SMALLINT, |r| {
        numeric_facts(&r.column.ty.data_type).map_or(Value::Null, |f| Value::SmallInt(f.1))
    }),
    opt("NUMERIC_SCALE", INT, |r| {
        numeric_facts(&r.column.ty.data_type).and_then(|f| f.2).map_or(Value::Null, Value::Int)
    }),
    opt("DATETIME_PRECISION", SMALLINT, |r| {
        datetime_precision(&r.column.ty.data_type).map_or(Value::Null, Value::SmallInt)
    }),
    opt("CHARACTER_SET_CATALOG", SYSNAME, |_| Value::Null),
    opt("CHARACTER_SET_SCHEMA", SYSNAME, |_| Value::Null),
    opt("CHARACTER_SET_NAME", SYSNAME, |r| character_set(&r.column.ty)),
    opt("COLLATION_CATALOG", SYSNAME, |_| Value::Null),
    opt("COLLATION_SCHEMA", SYSNAME, |_| Value::Null),
    opt("COLLATION_NAME", SYSNAME, |r| collation_name(&r.column.ty)),
    opt("DOMAIN_CATALOG", SYSNAME, |r| {
        if r.column.alias.is_some() { text(&r.catalog) } else { Value::Null }
    }),
    opt("DOMAIN_SCHEMA", SYSNAME, |r| r.column.alias.as_ref().map_or(Value::Null, |a| text(&a.0))),
    opt("DOMAIN_NAME", SYSNAME, |r| r.column.alias.as_ref().map_or(Value::Null, |a| text(&a.1))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "COLUMNS",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    catalog: String,
    column: ColumnRow,
    /// Whether the reader may see the column, and not its default.
    withheld: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let catalog = &scope.database.name;
    let columns = columns_of_tables_and_views(scope).into_iter();
    let withheld = |column: &ColumnRow| scope.database.withheld.contains(&column.object_id);
    let row = |column| Row { catalog: catalog.clone(), withheld: withheld(&column), column };
    columns.map(row).collect()
}

fn default_text(row: &Row) -> Value {
    let definition = row.column.definition.as_ref().filter(|_| !row.withheld);
    let default = definition.and_then(|d| d.default.as_ref());
    default.map_or(Value::Null, |d| text(&d.text.text))
}
