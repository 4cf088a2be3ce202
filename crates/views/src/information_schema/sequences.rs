//! `INFORMATION_SCHEMA.SEQUENCES`: sequences.

use std::sync::Arc;

use types::Value;

use ::catalog::{Object, SequenceDef};
use metadata::column::{
    BIT, Column, INT, SMALLINT, SYSNAME, TINYINT, VARIANT, bit, col, int, opt, rows, shape, small,
    text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(String, Arc<SequenceDef>)>] = &[
    opt("SEQUENCE_CATALOG", SYSNAME, |r| text(&r.0)),
    col("SEQUENCE_SCHEMA", SYSNAME, |r| text(&r.1.schema)),
    col("SEQUENCE_NAME", SYSNAME, |r| text(&r.1.name)),
    opt("DATA_TYPE", SYSNAME, |r| text(r.1.data_type.name())),
    col("NUMERIC_PRECISION", TINYINT, |r| Value::TinyInt(r.1.data_type.precision())),
    opt("NUMERIC_PRECISION_RADIX", SMALLINT, |_| small(10)),
    opt("NUMERIC_SCALE", INT, |r| int(r.1.data_type.scale())),
    opt("START_VALUE", VARIANT, |r| r.1.variant(r.1.start)),
    opt("MINIMUM_VALUE", VARIANT, |r| r.1.variant(r.1.minimum)),
    opt("MAXIMUM_VALUE", VARIANT, |r| r.1.variant(r.1.maximum)),
    opt("INCREMENT", VARIANT, |r| r.1.variant(r.1.increment)),
    opt("CYCLE_OPTION", BIT, |r| bit(r.1.cycle)),
    // A sequence keeps the base type of an alias type.
    opt("DECLARED_DATA_TYPE", SYSNAME, |r| text(r.1.data_type.name())),
    opt("DECLARED_NUMERIC_PRECISION", TINYINT, |r| Value::TinyInt(r.1.data_type.precision())),
    opt("DECLARED_NUMERIC_SCALE", TINYINT, |r| Value::TinyInt(r.1.data_type.scale())),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "SEQUENCES",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let sequences = scope.database.objects.values().filter_map(|object| match object {
        Object::Sequence(sequence) => Some((scope.database.name.clone(), Arc::clone(sequence))),
        _ => None,
    });
    rows(COLUMNS, sequences)
}
