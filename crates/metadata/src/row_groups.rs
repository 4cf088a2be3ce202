//! Row groups of columnstore indexes, as the columnstore views show them: committed rows only.

use std::sync::Arc;

use storage::columnstore::{GROUP_ROWS_MAX, Trim};
use storage::{Read, TransactionOptions};

use crate::types::{IndexRow, index_rows};
use crate::view::Scope;
use ::catalog::TableDef;

/// `state` of a row group, with SQL Server's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// OPEN: a delta store that takes rows.
    Open = 1,
    /// CLOSED: a full delta store.
    Closed = 2,
    /// COMPRESSED: encoded as column segments.
    Compressed = 3,
}

impl GroupState {
    /// Returns `state_desc`, such as `COMPRESSED`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closed => "CLOSED",
            Self::Compressed => "COMPRESSED",
        }
    }
}

/// A row group: a row of `sys.column_store_row_groups`.
pub struct GroupRow {
    /// The index that the group belongs to.
    pub index: IndexRow,
    /// `row_group_id`, unique in its index.
    pub id: u64,
    /// OPEN, CLOSED or COMPRESSED.
    pub state: GroupState,
    /// `total_rows`, deleted ones included.
    pub rows: u64,
    /// `deleted_rows`: rows marked as deleted.
    pub deleted: u64,
    /// `size_in_bytes` of its segments; 0 for a delta store.
    pub bytes: u64,
    /// `trim_reason`: why a compressed group has fewer rows than the maximum.
    pub trim: Option<Trim>,
}

/// Returns the row groups of a database's tables.
///
/// # Errors
/// The errors of reading the tables.
pub fn group_rows(scope: &Scope<'_>) -> types::Result<Vec<GroupRow>> {
    let mut rows = Vec::new();
    for index in index_rows(scope.session, scope.database) {
        if index.is_column_index {
            add_index(&index, &mut rows);
        } else if index.table.columnstore.is_some() {
            let table = Arc::clone(&index.table);
            let read = add_table(&table, &index, scope, &mut rows);
            read.map_err(|error| scope.session.storage_error(&error))?;
        }
    }
    Ok(rows)
}

fn add_table(
    table: &TableDef,
    index: &IndexRow,
    scope: &Scope<'_>,
    rows: &mut Vec<GroupRow>,
) -> storage::Result<()> {
    let store = &scope.session.instance.store;
    let reader = store.begin(TransactionOptions::STATEMENT);
    let data = &table.rows.data;
    let mut next = 0;
    for group in reader.row_groups(data, Read::COMMITTED)? {
        let deleted = reader.deleted_rows(data, group.id(), Read::COMMITTED)?.len();
        let bytes = (0..group.columns()).map(|column| group.segment(column).memory());
        rows.push(GroupRow {
            index: index.clone(),
            id: group.id(),
            state: GroupState::Compressed,
            rows: count(group.rows()),
            deleted: count(deleted),
            bytes: count(bytes.sum()),
            trim: Some(group.trim()),
        });
        next = group.id() + 1;
    }
    // A clustered index has one delta store.
    add_delta(index, data.delta_rows(), next, rows);
    Ok(())
}

/// Adds the groups of a nonclustered columnstore index, and its delta store: the table's rows that
/// are in no group yet.
fn add_index(index: &IndexRow, rows: &mut Vec<GroupRow>) {
    let data = &index.table.rows.data;
    let is_current = index.column_index().is_some_and(|i| data.has_column_index(i.storage_id));
    let groups = data.column_groups().filter(|_| is_current).unwrap_or_default();
    let (mut loose, mut next) = (data.row_count(), 0);
    for group in groups {
        loose = loose.saturating_sub(count(group.clean));
        next = group.id + 1;
        rows.push(GroupRow {
            index: index.clone(),
            id: group.id,
            state: GroupState::Compressed,
            rows: count(group.rows),
            deleted: count(group.rows - group.clean),
            bytes: count(group.bytes),
            trim: Some(group.trim),
        });
    }
    add_delta(index, loose, next, rows);
}

/// Adds uncompressed rows as delta stores, split as they would be compressed.
fn add_delta(index: &IndexRow, mut left: u64, mut next: u64, rows: &mut Vec<GroupRow>) {
    while left > 0 {
        let own = left.min(count(GROUP_ROWS_MAX));
        let state = if own < count(GROUP_ROWS_MAX) { GroupState::Open } else { GroupState::Closed };
        let (index, id) = (index.clone(), next);
        rows.push(GroupRow { index, id, state, rows: own, deleted: 0, bytes: 0, trim: None });
        left -= own;
        next += 1;
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
