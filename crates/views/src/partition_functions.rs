//! `sys.partition_functions`: the partition functions of a database.

use std::sync::Arc;

use ::catalog::PartitionFunction;
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Arc<PartitionFunction>>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("function_id", INT, |r| int(r.id)),
    col("type", ch(2), |_| ascii("R ")),
    opt("type_desc", nv(60), |_| text("RANGE")),
    col("fanout", INT, |r| int(r.fanout())),
    col("boundary_value_on_right", BIT, |r| bit(r.right)),
    col("is_system", BIT, |_| bit(false)),
    col("create_date", DATETIME, |r| r.created.clone()),
    col("modify_date", DATETIME, |r| r.modified.clone()),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "partition_functions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.partition_functions.values().cloned())
}
