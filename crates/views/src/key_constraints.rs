//! `sys.key_constraints`: PRIMARY KEY and UNIQUE constraints.

use types::Value;

use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape, text,
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
    opt("unique_index_id", INT, |r| int(r.index)),
    opt("is_system_named", BIT, |r| bit(r.system_named)),
    opt("is_enforced", BIT, |_| bit(true)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "key_constraints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    object: ObjectRow,
    index: i32,
    system_named: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let tables = tables_and_types(scope.session, scope.database);
    let keys = of_kind(scope.session, scope.database, &["PK", "UQ"]).into_iter();
    let row = |object: ObjectRow| {
        let table = tables.iter().find(|t| t.id == object.parent_id)?;
        let index = table.indexes.iter().find(|i| i.constraint_id == object.id)?;
        Some(Row { index: index.id, system_named: index.system_named, object })
    };
    keys.filter_map(row).collect()
}
