//! `sys.dm_db_index_operational_stats`: one row per partition. A count of events that never happen here
//! is 0; a count that is not kept per index is NULL.

use metadata::column::{BIGINT, Column, INT, SMALLINT, big, col, int, rows, shape, small, unknown};
use metadata::partitions::{PartitionRow, asked_partitions};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, PartitionRow)>] = &[
    col("database_id", SMALLINT, |r| small(r.0)),
    col("object_id", INT, |r| int(r.1.index.table.id)),
    col("index_id", INT, |r| int(r.1.index.id())),
    col("partition_number", INT, |r| int(r.1.number)),
    col("hobt_id", BIGINT, |r| big(r.1.id())),
    unknown("leaf_insert_count", BIGINT),
    unknown("leaf_delete_count", BIGINT),
    unknown("leaf_update_count", BIGINT),
    unknown("leaf_ghost_count", BIGINT),
    unknown("nonleaf_insert_count", BIGINT),
    unknown("nonleaf_delete_count", BIGINT),
    unknown("nonleaf_update_count", BIGINT),
    unknown("leaf_allocation_count", BIGINT),
    unknown("nonleaf_allocation_count", BIGINT),
    unknown("leaf_page_merge_count", BIGINT),
    unknown("nonleaf_page_merge_count", BIGINT),
    unknown("range_scan_count", BIGINT),
    unknown("singleton_lookup_count", BIGINT),
    col("forwarded_fetch_count", BIGINT, |_| big(0)),
    col("lob_fetch_in_pages", BIGINT, |_| big(0)),
    col("lob_fetch_in_bytes", BIGINT, |_| big(0)),
    col("lob_orphan_create_count", BIGINT, |_| big(0)),
    col("lob_orphan_insert_count", BIGINT, |_| big(0)),
    col("row_overflow_fetch_in_pages", BIGINT, |_| big(0)),
    col("row_overflow_fetch_in_bytes", BIGINT, |_| big(0)),
    col("column_value_push_off_row_count", BIGINT, |_| big(0)),
    col("column_value_pull_in_row_count", BIGINT, |_| big(0)),
    col("row_lock_count", BIGINT, |_| big(0)),
    unknown("row_lock_wait_count", BIGINT),
    unknown("row_lock_wait_in_ms", BIGINT),
    col("page_lock_count", BIGINT, |_| big(0)),
    col("page_lock_wait_count", BIGINT, |_| big(0)),
    col("page_lock_wait_in_ms", BIGINT, |_| big(0)),
    col("index_lock_promotion_attempt_count", BIGINT, |_| big(0)),
    col("index_lock_promotion_count", BIGINT, |_| big(0)),
    col("page_latch_wait_count", BIGINT, |_| big(0)),
    col("page_latch_wait_in_ms", BIGINT, |_| big(0)),
    col("page_io_latch_wait_count", BIGINT, |_| big(0)),
    col("page_io_latch_wait_in_ms", BIGINT, |_| big(0)),
    col("tree_page_latch_wait_count", BIGINT, |_| big(0)),
    col("tree_page_latch_wait_in_ms", BIGINT, |_| big(0)),
    col("tree_page_io_latch_wait_count", BIGINT, |_| big(0)),
    col("tree_page_io_latch_wait_in_ms", BIGINT, |_| big(0)),
    col("page_compression_attempt_count", BIGINT, |_| big(0)),
    col("page_compression_success_count", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_index_operational_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 4,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, asked_partitions(scope)?)
}
