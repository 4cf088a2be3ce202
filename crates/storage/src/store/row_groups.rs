//! `ColumnStore`: the row groups of a table, as rows of three tables of storage's own.
//!
//! ```text
//!  Table ── heap: the delta store, rows as in any table
//!        └─ ColumnStore ── groups:  (group) with its segments as blobs; a row is published as one pointer
//!                       ├─ deleted: (group, row), unique: the delete bitmap
//!                       └─ shown:   (group, row), the first of each part that the tuple mover has moved
//! ```
//!
//! So a row group is visible from the commit of its transaction on, never in part, to the snapshots
//! that see that commit; and two transactions that delete a compressed row compete for a key, as
//! for any other. A compressed row that is changed is inserted into the delta store first
//! ([`Transaction::take_compressed`](crate::Transaction::take_compressed)); nothing changes a
//! segment.

use types::ColumnType;

use crate::primitives::{AtomicU64, SpinClass, SpinLock};
use crate::row_group::{GROUP_BYTES, PLACE_BYTES};
use crate::spec::{
    IndexId, IndexKind, IndexSpec, RowImage, TableId, TableKind, TableSpec, Uniqueness,
};
use crate::store::Table;

/// The only index of each of these tables.
pub(crate) const BY_KEY: IndexId = IndexId(1);

/// The row groups of a table with a clustered columnstore.
pub struct ColumnStore {
    pub(crate) columns: Vec<ColumnType>,
    pub(crate) groups: Table,
    pub(crate) deleted: Table,
    pub(crate) shown: Table,
    pub(crate) next: AtomicU64,
    mover: SpinLock<MoverState>,
}

/// The tuple mover's state for one table.
#[derive(Clone, Copy, Debug, Default)]
struct MoverState {
    /// Whether a move is in progress.
    is_busy: bool,
    /// Whether a move may have been interrupted: some group may have rows that are not shown.
    is_unsettled: bool,
    /// When the delta store was first seen full, in milliseconds of the machine's clock.
    full_since_ms: Option<u64>,
}

/// The exclusive right to move rows of a table.
pub struct Mover<'t>(&'t ColumnStore);

impl Drop for Mover<'_> {
    fn drop(&mut self) {
        let mut state = self.0.mover.lock();
        *state = MoverState { is_unsettled: state.is_unsettled, ..MoverState::default() };
    }
}

impl ColumnStore {
    /// Makes the tables; they have the same id as the table that they belong to.
    pub(crate) fn new(columns: Vec<ColumnType>, part: impl Fn(u8, TableSpec) -> Table) -> Self {
        let by_first = |bytes: usize| TableSpec {
            // Replaced by the id of the table that this belongs to.
            id: TableId(0),
            kind: TableKind::Ordinary,
            indexes: vec![IndexSpec {
                id: BY_KEY,
                kind: IndexKind::Range,
                uniqueness: Uniqueness::Unique,
                extractor: Box::new(move |row: RowImage<'_>, key: &mut Vec<u8>| {
                    key.extend_from_slice(&row.bytes[..bytes]);
                }),
            }],
            columns: None,
            durable: None,
        };
        let groups = part(1, by_first(GROUP_BYTES));
        let deleted = part(2, by_first(PLACE_BYTES));
        let shown = part(3, by_first(PLACE_BYTES));
        let mover = SpinLock::new(SpinClass::XtpTransaction, MoverState::default());
        let next = AtomicU64::new(0);
        Self { columns, groups, deleted, shown, next, mover }
    }

    /// Takes the right to move rows; `None` while another thread has it.
    pub fn try_move(&self) -> Option<Mover<'_>> {
        let mut state = self.mover.lock();
        (!std::mem::replace(&mut state.is_busy, true)).then_some(Mover(self))
    }

    /// Returns whether a move may have been interrupted.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.mover.lock().is_unsettled
    }

    pub(crate) fn note_unsettled(&self) {
        self.mover.lock().is_unsettled = true;
    }

    pub(crate) fn note_settled(&self) {
        self.mover.lock().is_unsettled = false;
    }

    /// Records whether the delta store is full; returns for how long it has been, in milliseconds.
    pub fn note_full(&self, is_full: bool, now_ms: u64) -> Option<u64> {
        let mut state = self.mover.lock();
        let since = is_full.then(|| state.full_since_ms.unwrap_or(now_ms));
        state.full_since_ms = since;
        since.map(|since| now_ms.saturating_sub(since))
    }

    /// Returns the types of the table's columns.
    pub fn columns(&self) -> &[ColumnType] {
        &self.columns
    }

    pub(crate) fn parts(&self) -> [&Table; 3] {
        [&self.groups, &self.deleted, &self.shown]
    }
}
