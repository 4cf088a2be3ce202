//! `sys.objects`: the objects that users created in a database.

use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, or_null, rows, shape,
    text,
};
use metadata::objects::{ObjectRow, objects, type_description};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<ObjectRow>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("object_id", INT, |r| int(r.id)),
    opt("principal_id", INT, |r| or_null(r.owner, int)),
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

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "objects", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, objects(scope.session, scope.database))
}
