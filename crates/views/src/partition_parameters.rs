//! `sys.partition_parameters`: the parameters of partition functions. Each function has one.

use std::sync::Arc;

use types::Value;

use ::catalog::PartitionFunction;
use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, TINYINT, col, int, opt, rows, shape, small, text,
};
use metadata::{Rows, Scope, SystemView};

/// `system_type_id` and `user_type_id` of `numeric`.
const NUMERIC: u8 = 108;

const COLUMNS: &[Column<Arc<PartitionFunction>>] = &[
    col("function_id", INT, |r| int(r.id)),
    col("parameter_id", INT, |_| int(1)),
    col("system_type_id", TINYINT, |r| Value::TinyInt(system_type_id(r))),
    col("max_length", SMALLINT, |r| small(r.ty.data_type.max_length())),
    col("precision", TINYINT, |r| Value::TinyInt(r.ty.data_type.precision())),
    col("scale", TINYINT, |r| Value::TinyInt(r.ty.data_type.scale())),
    opt("collation_name", SYSNAME, |r| match r.ty.data_type.is_string() {
        true => text(&r.ty.collation.name()),
        false => Value::Null,
    }),
    col("user_type_id", INT, |r| match r.numeric {
        true => int(NUMERIC),
        false => int(r.ty.data_type.user_type_id()),
    }),
];

fn system_type_id(function: &PartitionFunction) -> u8 {
    if function.numeric { NUMERIC } else { function.ty.data_type.system_type_id() }
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "partition_parameters",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.partition_functions.values().cloned())
}
