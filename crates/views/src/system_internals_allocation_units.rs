//! `sys.system_internals_allocation_units`: as `sys.allocation_units`, with page addresses, which
//! are NULL here.

use types::Value;

use metadata::column::{
    BIGINT, Column, SMALLINT, TINYINT, big, bin, col, nv, opt, rows, shape, small, text, unknown,
};
use metadata::partitions::{PartitionRow, partition_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<PartitionRow>] = &[
    col("allocation_unit_id", BIGINT, |r| big(r.id())),
    col("type", TINYINT, |_| Value::TinyInt(1)),
    opt("type_desc", nv(60), |_| text("IN_ROW_DATA")),
    col("container_id", BIGINT, |r| big(r.id())),
    col("filegroup_id", SMALLINT, |r| small(r.filegroup())),
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
    rows(COLUMNS, partition_rows(scope.session, scope.database))
}
