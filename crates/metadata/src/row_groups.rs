//! Row groups of columnstore indexes, as their views read them: what is committed.

use std::sync::Arc;

use storage::columnstore::{GROUP_ROWS_MAX, Trim};
use storage::{Read, TransactionOptions};

use crate::types::{IndexRow, index_rows};
use crate::view::Scope;
use ::catalog::TableDef;

/// What a row group is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// A delta store that takes rows.
    Open = 1,
    /// A delta store that is full.
    Closed = 2,
    /// Segments.
    Compressed = 3,
}

impl GroupState {
    /// Returns its name, as SQL Server has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closed => "CLOSED",
            Self::Compressed => "COMPRESSED",
        }
    }
}

/// A row group.
pub struct GroupRow {
    /// Its index.
    pub index: IndexRow,
    /// Its number.
    pub id: u64,
    /// What it is in.
    pub state: GroupState,
    /// Rows, deleted ones included.
    pub rows: u64,
    /// Rows that are deleted.
    pub deleted: u64,
    /// Bytes of its segments.
    pub bytes: u64,
    /// Why it was closed, if it is compressed.
    pub trim: Option<Trim>,
}

/// Returns the row groups of a database's tables.
///
/// # Errors
/// As reading the tables.
pub fn group_rows(scope: &Scope<'_>) -> types::Result<Vec<GroupRow>> {
    let mut rows = Vec::new();
    for index in index_rows(scope.session, scope.database) {
        if index.is_column_index {
            add_index(&index, &mut rows);
        } else if index.table.columnstore.is_some() {
            let table = Arc::clone(&index.table);
            let read = add_table(&table, &index, scope, &mut rows);
            read.map_err(|_| types::Error::from(types::Msg::OutOfMemory))?;
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
    // One delta store takes all rows.
    add_delta(index, data.delta_rows(), next, rows);
    Ok(())
}

/// Adds the groups of a nonclustered index, and the rows that are in none: those are read where they are.
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

/// Adds rows that are not compressed: as many groups as they would be compressed to.
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
