//! `sys.foreign_keys`: FOREIGN KEY constraints.

use types::Value;

use ::catalog::{ForeignKeyDef, ReferenceAction};
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, TINYINT, ascii, bit, ch, col, int, nv, opt, rows, shape,
    text,
};
use metadata::objects::{ObjectRow, of_kind, referenced_key, tables, type_description};
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
    opt("referenced_object_id", INT, |r| int(r.foreign.referenced)),
    opt("key_index_id", INT, |r| r.key_index.map_or(Value::Null, Value::Int)),
    col("is_disabled", BIT, |r| bit(!r.foreign.enabled)),
    col("is_not_for_replication", BIT, |r| bit(r.foreign.not_for_replication)),
    col("is_not_trusted", BIT, |r| bit(!r.foreign.trusted)),
    opt("delete_referential_action", TINYINT, |r| Value::TinyInt(action(r.foreign.on_delete).0)),
    opt("delete_referential_action_desc", nv(60), |r| text(action(r.foreign.on_delete).1)),
    opt("update_referential_action", TINYINT, |r| Value::TinyInt(action(r.foreign.on_update).0)),
    opt("update_referential_action_desc", nv(60), |r| text(action(r.foreign.on_update).1)),
    col("is_system_named", BIT, |r| bit(r.foreign.system_named)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "foreign_keys",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    object: ObjectRow,
    foreign: ForeignKeyDef,
    key_index: Option<i32>,
}

fn action(action: ReferenceAction) -> (u8, &'static str) {
    match action {
        ReferenceAction::NoAction => (0, "NO_ACTION"),
        ReferenceAction::Cascade => (1, "CASCADE"),
        ReferenceAction::SetNull => (2, "SET_NULL"),
        ReferenceAction::SetDefault => (3, "SET_DEFAULT"),
    }
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let tables = tables(scope.session, scope.database);
    let keys = of_kind(scope.session, scope.database, &["F"]).into_iter();
    let row = |object: ObjectRow| {
        let table = tables.iter().find(|t| t.id == object.parent_id)?;
        let foreign = table.foreign_keys.iter().find(|f| f.id == object.id)?.clone();
        let target = tables.iter().find(|t| t.id == foreign.referenced);
        let key_index = target.and_then(|t| referenced_key(t, &foreign)).map(|i| i.id);
        Some(Row { object, foreign, key_index })
    };
    keys.filter_map(row).collect()
}
