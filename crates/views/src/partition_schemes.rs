//! `sys.partition_schemes`: the partition schemes of a database.

use std::sync::Arc;

use ::catalog::PartitionScheme;
use metadata::column::{
    BIT, Column, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Arc<PartitionScheme>>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("data_space_id", INT, |r| int(r.id)),
    col("type", ch(2), |_| ascii("PS")),
    opt("type_desc", nv(60), |_| text("PARTITION_SCHEME")),
    opt("is_default", BIT, |_| bit(false)),
    opt("is_system", BIT, |_| bit(false)),
    col("function_id", INT, |r| int(r.function)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "partition_schemes",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.partition_schemes.values().cloned())
}
