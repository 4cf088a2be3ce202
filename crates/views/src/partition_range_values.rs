//! `sys.partition_range_values`: the boundary values of partition functions, in ascending order.

use std::sync::Arc;

use types::Value;

use ::catalog::PartitionFunction;
use metadata::column::{Column, INT, VARIANT, col, int, opt, rows, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(Arc<PartitionFunction>, usize)>] = &[
    col("function_id", INT, |r| int(r.0.id)),
    col("boundary_id", INT, |r| int(r.1 + 1)),
    col("parameter_id", INT, |_| int(1)),
    opt("value", VARIANT, value),
];

fn value((function, place): &(Arc<PartitionFunction>, usize)) -> Value {
    match function.values.get(*place) {
        None | Some(Value::Null) => Value::Null,
        // The parameter is a sql_variant itself.
        Some(value @ Value::Variant(_)) => value.clone(),
        Some(value) => Value::Variant(Box::new((value.clone(), function.ty))),
    }
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "partition_range_values",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let of = |function: &Arc<PartitionFunction>| {
        let function = Arc::clone(function);
        (0..function.values.len()).map(move |place| (Arc::clone(&function), place))
    };
    rows(COLUMNS, scope.database.partition_functions.values().flat_map(of))
}
