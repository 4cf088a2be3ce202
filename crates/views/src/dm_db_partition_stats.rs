//! `sys.dm_db_partition_stats`: rows and memory of each partition, in pages of 8 KB.
//!
//! Rows count for the heap or the clustered index. Values that SQL Server stores off row are in the
//! row here.

use metadata::column::{BIGINT, Column, INT, big, col, int, rows, shape};
use metadata::partitions::{PartitionRow, partition_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<PartitionRow>] = &[
    col("partition_id", BIGINT, |r| big(r.id())),
    col("object_id", INT, |r| int(r.index.table.id)),
    col("index_id", INT, |r| int(r.index.id())),
    col("partition_number", INT, |r| int(r.number)),
    col("in_row_data_page_count", BIGINT, |r| big(r.pages().data)),
    col("in_row_used_page_count", BIGINT, |r| big(r.pages().used)),
    col("in_row_reserved_page_count", BIGINT, |r| big(r.pages().reserved)),
    col("lob_used_page_count", BIGINT, |_| big(0)),
    col("lob_reserved_page_count", BIGINT, |_| big(0)),
    col("row_overflow_used_page_count", BIGINT, |_| big(0)),
    col("row_overflow_reserved_page_count", BIGINT, |_| big(0)),
    col("used_page_count", BIGINT, |r| big(r.pages().used)),
    col("reserved_page_count", BIGINT, |r| big(r.pages().reserved)),
    col("row_count", BIGINT, |r| big(r.rows())),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_partition_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, partition_rows(scope.session, scope.database))
}
