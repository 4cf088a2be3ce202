//! `sys.system_objects`: the system's objects, which are its views and table functions.

use types::Value;

use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape, text,
};
use metadata::objects::{ObjectRow, type_description};
use metadata::system_objects::system_objects;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<ObjectRow>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("object_id", INT, |r| int(r.id)),
    opt("principal_id", INT, |_| Value::Null),
    col("schema_id", INT, |r| int(r.schema_id)),
    col("parent_object_id", INT, |r| int(r.parent_id)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", r.code))),
    opt("type_desc", nv(60), |r| text(type_description(r.code))),
    col("create_date", DATETIME, |r| r.created.clone()),
    col("modify_date", DATETIME, |r| r.modified.clone()),
    col("is_ms_shipped", BIT, |r| bit(r.system)),
    col("is_published", BIT, |_| bit(false)),
    col("is_schema_published", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "system_objects",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, system_objects(scope.session))
}
