//! `sys.system_internals_allocation_units`: as `sys.allocation_units`, with page addresses, which
//! are NULL here.

use types::Value;

use super::partitions::partition_id;
use metadata::column::{
    BIGINT, Column, SMALLINT, TINYINT, big, bin, col, nv, opt, rows, shape, small, text, unknown,
};
use metadata::types::{IndexRow, index_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<IndexRow>] = &[
    col("allocation_unit_id", BIGINT, |r| big(partition_id(r))),
    col("type", TINYINT, |_| Value::TinyInt(1)),
    opt("type_desc", nv(60), |_| text("IN_ROW_DATA")),
    col("container_id", BIGINT, |r| big(partition_id(r))),
    col("filegroup_id", SMALLINT, |r| small(i32::from(!r.table.memory_optimized))),
    col("total_pages", BIGINT, |r| big(r.pages().reserved)),
    col("used_pages", BIGINT, |r| big(r.pages().used)),
    col("data_pages", BIGINT, |r| big(r.pages().data)),
    unknown("first_page", bin(6)),
    unknown("root_page", bin(6)),
    unknown("first_iam_page", bin(6)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "system_internals_allocation_units",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, index_rows(scope.session, scope.database))
}
