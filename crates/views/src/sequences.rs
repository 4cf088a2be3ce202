//! `sys.sequences`: sequences, their options and current values.

use std::sync::Arc;

use types::Value;

use ::catalog::{Object, SequenceCache, SequenceDef};
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, TINYINT, VARIANT, ascii, bit, ch, col, int, nv, opt, rows,
    shape, text,
};
use metadata::objects::{ObjectRow, of_kind, type_description};
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
    opt("start_value", VARIANT, |r| r.sequence.variant(r.sequence.start)),
    opt("increment", VARIANT, |r| r.sequence.variant(r.sequence.increment)),
    opt("minimum_value", VARIANT, |r| r.sequence.variant(r.sequence.minimum)),
    opt("maximum_value", VARIANT, |r| r.sequence.variant(r.sequence.maximum)),
    opt("is_cycling", BIT, |r| bit(r.sequence.cycle)),
    opt("is_cached", BIT, |r| bit(r.sequence.cache != SequenceCache::Off)),
    opt("cache_size", INT, |r| match r.sequence.cache {
        SequenceCache::Numbers(size) => int(size),
        SequenceCache::Default | SequenceCache::Off => Value::Null,
    }),
    col("system_type_id", TINYINT, |r| Value::TinyInt(r.sequence.data_type.system_type_id())),
    col("user_type_id", INT, |r| int(r.sequence.data_type.user_type_id())),
    col("precision", TINYINT, |r| Value::TinyInt(r.sequence.data_type.precision())),
    opt("scale", TINYINT, |r| Value::TinyInt(r.sequence.data_type.scale())),
    opt("current_value", VARIANT, |r| {
        r.sequence.variant(r.sequence.last().unwrap_or(r.sequence.start))
    }),
    col("is_exhausted", BIT, |r| bit(r.sequence.is_exhausted())),
    opt("last_used_value", VARIANT, |r| {
        r.sequence.last().map_or(Value::Null, |last| r.sequence.variant(last))
    }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "sequences",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    object: ObjectRow,
    sequence: Arc<SequenceDef>,
}

fn read(scope: &Scope<'_>) -> Rows {
    let objects = of_kind(scope.session, scope.database, &["SO"]).into_iter();
    let row = |object: ObjectRow| match scope.database.object(&object.schema, &object.name) {
        Some(Object::Sequence(sequence)) => Some(Row { object, sequence: Arc::clone(sequence) }),
        _ => None,
    };
    rows(COLUMNS, objects.filter_map(row))
}
