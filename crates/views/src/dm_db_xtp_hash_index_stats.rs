//! `sys.dm_db_xtp_hash_index_stats`: buckets and chain lengths of hash indexes. Reading the view
//! walks all chains.

use storage::IndexStatistics;

use metadata::column::{BIGINT, Column, INT, big, col, int, rows, shape};
use metadata::types::{IndexRow, index_rows};
use metadata::{Rows, Scope, SystemView};

struct Row {
    index: IndexRow,
    found: IndexStatistics,
}

impl Row {
    /// Returns the average number of entries in a non-empty bucket.
    fn chain_average(&self) -> u64 {
        let filled = self.found.buckets.saturating_sub(self.found.buckets_empty);
        self.found.entries.checked_div(filled).unwrap_or(0)
    }
}

const COLUMNS: &[Column<Row>] = &[
    col("object_id", INT, |r| int(r.index.table.id)),
    // The table's number in storage, which every rebuild changes.
    col("xtp_object_id", BIGINT, |r| big(r.index.table.rows.data.id().0)),
    col("index_id", INT, |r| int(r.index.index().map_or(0, |i| i.id))),
    col("total_bucket_count", BIGINT, |r| big(r.found.buckets)),
    col("empty_bucket_count", BIGINT, |r| big(r.found.buckets_empty)),
    col("avg_chain_length", BIGINT, |r| big(r.chain_average())),
    col("max_chain_length", BIGINT, |r| big(r.found.chain_max)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_xtp_hash_index_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let indexes = index_rows(scope.session, scope.database).into_iter();
    let hash = indexes.filter(|row| row.kind().0 == 7 && row.table.memory_optimized);
    let row = |index: IndexRow| {
        let id = index.index()?.storage_id();
        let found = index.table.rows.data.index_statistics(id)?;
        Some(Row { index, found })
    };
    rows(COLUMNS, hash.filter_map(row))
}
