//! `sys.dm_db_index_operational_stats`: one row per partition, with what storage has counted of its rows or
//! entries since the index was created or the server has started.
//!
//! A count of events that never happen here is 0. NULL is what is not counted: of a partition of
//! several, since all rows of a table are in one place; of columnstore indexes; and of the nodes of
//! heaps and hash indexes, which have no pages.
//!
//! A deleted row is a ghost until no snapshot needs it, as in SQL Server, so `leaf_delete_count`,
//! which counts rows that are never ghosts, is 0.

use metadata::column::{BIGINT, Column, INT, SMALLINT, big, col, int, opt, rows, shape, small};
use metadata::partitions::{PartitionRow, asked_partitions};
use metadata::{Rows, Scope, SystemView};
use storage::{Growth, Operations};
use types::Value;

const NS_PER_MS: u64 = 1_000_000;

/// A partition and what was counted of it.
struct CountedPartition {
    database: i16,
    partition: PartitionRow,
    operations: Option<Operations>,
}

impl CountedPartition {
    fn of((database, partition): (i16, PartitionRow)) -> Self {
        let operations = operations(&partition);
        Self { database, partition, operations }
    }

    fn count(&self, of: fn(&Operations) -> u64) -> Value {
        self.operations.as_ref().map_or(Value::Null, |operations| big(of(operations)))
    }

    fn growth(&self, of: fn(&Growth) -> u64) -> Value {
        let growth = self.operations.and_then(|operations| operations.growth);
        growth.map_or(Value::Null, |growth| big(of(&growth)))
    }

    /// A heap has no nodes above its rows.
    fn nonleaf(&self, of: fn(&Growth) -> u64) -> Value {
        if self.partition.index.id() == 0 { big(0) } else { self.growth(of) }
    }
}

fn operations(partition: &PartitionRow) -> Option<Operations> {
    let index = &partition.index;
    if partition.is_one_of_many() || index.column_index().is_some() {
        return None;
    }
    let rows = &index.table.rows.data;
    match (index.index(), rows.columnstore()) {
        (None, Some(_)) => None,
        (None, None) => Some(rows.row_operations(None)),
        (Some(found), _) if found.clustered => Some(rows.row_operations(Some(found.storage_id()))),
        (Some(found), _) => rows.entry_operations(found.storage_id()),
    }
}

const COLUMNS: &[Column<CountedPartition>] = &[
    col("database_id", SMALLINT, |r| small(r.database)),
    col("object_id", INT, |r| int(r.partition.index.table.id)),
    col("index_id", INT, |r| int(r.partition.index.id())),
    col("partition_number", INT, |r| int(r.partition.number)),
    col("hobt_id", BIGINT, |r| big(r.partition.id())),
    opt("leaf_insert_count", BIGINT, |r| r.count(|of| of.inserts)),
    col("leaf_delete_count", BIGINT, |_| big(0)),
    opt("leaf_update_count", BIGINT, |r| r.count(|of| of.updates)),
    opt("leaf_ghost_count", BIGINT, |r| r.count(|of| of.ghosts)),
    opt("nonleaf_insert_count", BIGINT, |r| r.nonleaf(|of| of.separators)),
    opt("nonleaf_delete_count", BIGINT, |r| r.nonleaf(|of| of.removed)),
    col("nonleaf_update_count", BIGINT, |_| big(0)),
    opt("leaf_allocation_count", BIGINT, |r| r.growth(|of| of.leaves)),
    opt("nonleaf_allocation_count", BIGINT, |r| r.nonleaf(|of| of.inner)),
    col("leaf_page_merge_count", BIGINT, |_| big(0)),
    col("nonleaf_page_merge_count", BIGINT, |_| big(0)),
    opt("range_scan_count", BIGINT, |r| r.count(|of| of.range_scans)),
    opt("singleton_lookup_count", BIGINT, |r| r.count(|of| of.lookups)),
    col("forwarded_fetch_count", BIGINT, |_| big(0)),
    col("lob_fetch_in_pages", BIGINT, |_| big(0)),
    col("lob_fetch_in_bytes", BIGINT, |_| big(0)),
    col("lob_orphan_create_count", BIGINT, |_| big(0)),
    col("lob_orphan_insert_count", BIGINT, |_| big(0)),
    col("row_overflow_fetch_in_pages", BIGINT, |_| big(0)),
    col("row_overflow_fetch_in_bytes", BIGINT, |_| big(0)),
    col("column_value_push_off_row_count", BIGINT, |_| big(0)),
    col("column_value_pull_in_row_count", BIGINT, |_| big(0)),
    opt("row_lock_count", BIGINT, |r| r.count(|of| of.row_locks)),
    opt("row_lock_wait_count", BIGINT, |r| r.count(|of| of.row_lock_waits)),
    opt("row_lock_wait_in_ms", BIGINT, |r| r.count(|of| of.row_lock_wait_ns / NS_PER_MS)),
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
    rows(COLUMNS, asked_partitions(scope)?.into_iter().map(CountedPartition::of))
}
