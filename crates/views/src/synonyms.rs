//! `sys.synonyms`: synonyms and the names that they stand for.

use types::Value;

use ::catalog::Object;
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape, text,
};
use metadata::objects::{ObjectRow, of_kind, type_description};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(ObjectRow, String)>] = &[
    col("name", SYSNAME, |r| text(&r.0.name)),
    col("object_id", INT, |r| int(r.0.id)),
    opt("principal_id", INT, |_| Value::Null),
    col("schema_id", INT, |r| int(r.0.schema_id)),
    col("parent_object_id", INT, |r| int(r.0.parent_id)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", r.0.code))),
    opt("type_desc", nv(60), |r| text(type_description(r.0.code))),
    col("create_date", DATETIME, |r| r.0.created.clone()),
    col("modify_date", DATETIME, |r| r.0.modified.clone()),
    col("is_ms_shipped", BIT, |r| bit(r.0.system)),
    col("is_published", BIT, |_| bit(false)),
    col("is_schema_published", BIT, |_| bit(false)),
    opt("base_object_name", nv(1035), |r| text(&r.1)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "synonyms",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

fn items(scope: &Scope<'_>) -> Vec<(ObjectRow, String)> {
    let synonyms = of_kind(scope.session, scope.database, &["SN"]).into_iter();
    let row = |object: ObjectRow| match scope.database.object_by_id(object.id) {
        Some(Object::Synonym(synonym)) => Some((object, synonym.target.to_string())),
        _ => None,
    };
    synonyms.filter_map(row).collect()
}
