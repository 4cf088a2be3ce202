//! `sys.allocation_units`: the memory of each index as one allocation unit, in pages of 8 KB.

use types::Value;

use metadata::column::{BIGINT, Column, INT, TINYINT, big, col, int, nv, opt, rows, shape, text};
use metadata::partitions::{PartitionRow, partition_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<PartitionRow>] = &[
    col("allocation_unit_id", BIGINT, |r| big(r.id())),
    col("type", TINYINT, |_| Value::TinyInt(1)),
    opt("type_desc", nv(60), |_| text("IN_ROW_DATA")),
    col("container_id", BIGINT, |r| big(r.id())),
    col("data_space_id", INT, |r| int(r.filegroup())),
    col("total_pages", BIGINT, |r| big(r.pages().reserved)),
    col("used_pages", BIGINT, |r| big(r.pages().used)),
    col("data_pages", BIGINT, |r| big(r.pages().data)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "allocation_units",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, partition_rows(scope.session, scope.database))
}
