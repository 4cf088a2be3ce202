//! Segments of columnstore indexes, as `sys.column_store_segments` shows them: committed rows only.

use std::sync::Arc;

use storage::columnstore::{ColumnView, Encoding, RowGroup, Zone};
use storage::{Read, TransactionOptions};

use crate::types::{IndexRow, index_rows};
use crate::view::Scope;

/// A segment, one column of a row group: a row of `sys.column_store_segments`.
pub struct SegmentRow {
    /// The index that the segment belongs to.
    pub index: IndexRow,
    /// `column_id` of the segment, from 1.
    pub column: usize,
    /// `segment_id`: number of the row group.
    pub group: u64,
    /// How the segment's values are encoded.
    pub encoding: Encoding,
    /// `row_count`, deleted rows included.
    pub rows: usize,
    /// Number of rows that are NULL.
    pub nulls: usize,
    /// Number of entries of its dictionary; 0 without one.
    pub entries: usize,
    /// The least and the greatest encoded value, where encoded values sort as the values do.
    pub zone: Option<Zone>,
    /// `on_disk_size`: size in memory, in bytes.
    pub bytes: usize,
}

impl SegmentRow {
    /// Returns `encoding_type`, SQL Server's number of the encoding.
    pub const fn encoding_type(&self) -> i32 {
        match self.encoding {
            Encoding::Constant | Encoding::RunLength | Encoding::Packed => 1,
            Encoding::NumberDictionary => 2,
            Encoding::StringDictionary => 3,
            Encoding::Strings => 5,
        }
    }
}

/// Returns the segments of a database's tables.
///
/// # Errors
/// The errors of reading the tables.
pub fn segment_rows(scope: &Scope<'_>) -> types::Result<Vec<SegmentRow>> {
    let mut rows = Vec::new();
    for index in index_rows(scope.session, scope.database) {
        if index.is_column_index || index.table.columnstore.is_some() {
            let read = add_table(&index, scope, &mut rows);
            read.map_err(|error| scope.session.storage_error(&error))?;
        }
    }
    Ok(rows)
}

fn add_table(
    index: &IndexRow,
    scope: &Scope<'_>,
    rows: &mut Vec<SegmentRow>,
) -> storage::Result<()> {
    let table = Arc::clone(&index.table);
    let reader = scope.session.instance.store.begin(TransactionOptions::STATEMENT);
    let (data, isolation) = (&table.rows.data, Read::COMMITTED.isolation);
    let groups: Vec<RowGroup<'_>> = match index.column_index() {
        Some(own) => {
            let view = reader.column_view(data, own.storage_id, isolation);
            view.into_iter().flat_map(ColumnView::groups).collect()
        }
        None => reader.row_groups(data, Read::COMMITTED)?,
    };
    for group in groups {
        rows.extend((0..group.columns()).map(|column| {
            let segment = group.segment(column);
            SegmentRow {
                index: index.clone(),
                column: column + 1,
                group: group.id(),
                encoding: segment.encoding(),
                rows: segment.rows(),
                nulls: segment.nulls(),
                entries: segment.dictionary_entries(),
                zone: segment.zone(),
                bytes: segment.memory(),
            }
        }));
    }
    Ok(())
}
