//! `sys.default_constraints`: DEFAULT constraints and their definitions.

use types::Value;

use ::catalog::DefaultDef;
use metadata::column::{
    BIT, Column, DATETIME, INT, NVMAX, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape,
    text,
};
use metadata::objects::{ObjectRow, of_kind, tables_and_types, type_description};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.object.name)),
    col("object_id", INT, |r| int(r.object.id)),
    opt("principal_id", INT, |_| Value::Null),
    col("schema_id", INT, |r| int(r.object.schema_id)),
    col("parent_object_id", INT, |r| int(r.object.parent_id)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", r.object.code))),
    opt("type_desc", nv(60), |r| text(type_description(r.object.code))),
    col("create_date", DATETIME, |r| r.object.created.clone()),
    col("modify_date", DATETIME, |r| r.object.modified.clone()),
    col("is_ms_shipped", BIT, |r| bit(r.object.system)),
    col("is_published", BIT, |_| bit(false)),
    col("is_schema_published", BIT, |_| bit(false)),
    col("parent_column_id", INT, |r| int(r.column)),
    opt("definition", NVMAX, |r| if r.withheld { Value::Null } else { text(&r.default.text.text) }),
    col("is_system_named", BIT, |r| bit(r.default.system_named)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "default_constraints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    object: ObjectRow,
    column: i32,
    default: DefaultDef,
    /// Whether the reader may see the constraint, and not its expression.
    withheld: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let tables = tables_and_types(scope.session, scope.database);
    let defaults = of_kind(scope.session, scope.database, &["D"]).into_iter();
    let row = |object: ObjectRow| {
        let table = tables.iter().find(|t| t.id == object.parent_id)?;
        let mut columns = (1..).zip(&table.columns);
        let (column, default) = columns.find_map(|(n, c)| {
            c.default.as_ref().filter(|d| d.id == object.id).map(|d| (n, d.clone()))
        })?;
        let withheld = scope.database.withheld.contains(&table.id);
        Some(Row { object, column, default, withheld })
    };
    defaults.filter_map(row).collect()
}
