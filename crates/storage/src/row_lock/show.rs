//! The holds on all tables, as rows for `sys.dm_tran_locks`.

use std::ops::Bound;

use crate::row_lock::{Book, Held, Hold, KeyRange, LockBook, Queued};
use crate::spec::{IndexId, RowId, TableId};

/// A hold, or a writer that waits for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRow {
    /// The id of the table.
    pub table: TableId,
    /// The session id; 0 for none.
    pub session: u32,
    /// The thing that is held or waited for.
    pub what: HeldThing,
    /// The mode; [`Hold::Exclusive`] for a writer that waits.
    pub hold: Hold,
    /// Whether this is a writer that waits.
    pub is_waiting: bool,
    /// The address under which waiters for its transaction park.
    pub address: usize,
}

/// The thing that a hold is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldThing {
    /// The table as a whole.
    Table,
    /// A row of the table.
    Row(RowId),
    /// A key range of an index. The number identifies the range among those of the index.
    Range(IndexId, u64),
    /// The place where a new row is to be inserted.
    Place,
}

/// Rows or ranges that are listed while the lock is held.
const LISTED_AT_ONCE: usize = if cfg!(test) { 2 } else { 64 };

impl LockBook {
    /// Appends the holds on the table of this book, and the writers that wait for them. The lock
    /// is released in between: what is entered or removed in between may be left out.
    pub(crate) fn show(&self, table: TableId, rows: &mut Vec<HoldRow>) {
        self.look(|book| book.show_table(table, rows));
        let mut last_row = None;
        while let Some(last) = self.look(|book| book.show_rows(table, last_row, rows)).flatten() {
            last_row = Some(last);
            // Not under the lock, where it would move the whole list.
            rows.reserve(2 * LISTED_AT_ONCE);
        }
        let mut last = None;
        while let Some(next) =
            self.look(|book| book.show_ranges(table, last.as_ref(), rows)).flatten()
        {
            last = Some(next);
            rows.reserve(2 * LISTED_AT_ONCE);
        }
    }

    /// Runs `look` under the lock, which is released when this returns; `None` if the book is closed.
    fn look<R>(&self, look: impl FnOnce(&Book) -> R) -> Option<R> {
        self.book.lock().as_deref().map(look)
    }
}

impl Book {
    fn show_table(&self, table: TableId, rows: &mut Vec<HoldRow>) {
        rows.extend(self.whole.iter().map(|held| row_of(table, HeldThing::Table, held)));
        rows.extend(self.queued.iter().map(|queued| queued.show(table)));
    }

    /// Appends the holds on some rows behind `last`, and returns the last of these rows.
    fn show_rows(
        &self,
        table: TableId,
        last: Option<RowId>,
        rows: &mut Vec<HoldRow>,
    ) -> Option<RowId> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        let mut shown = None;
        for (row, holders) in self.rows.range((from, Bound::Unbounded)).take(LISTED_AT_ONCE) {
            rows.extend(holders.iter().map(|held| row_of(table, HeldThing::Row(*row), held)));
            shown = Some(*row);
        }
        shown
    }

    /// As [`Self::show_rows`], for ranges.
    fn show_ranges(
        &self,
        table: TableId,
        last: Option<&KeyRange>,
        rows: &mut Vec<HoldRow>,
    ) -> Option<KeyRange> {
        let mut shown = None;
        for (range, holders) in self.ranges.behind(last).take(LISTED_AT_ONCE) {
            let what = HeldThing::Range(range.index, number_of(&range));
            rows.extend(holders.iter().map(|held| row_of(table, what, held)));
            shown = Some(range);
        }
        shown
    }
}

impl Queued {
    fn show(&self, table: TableId) -> HoldRow {
        let what = self.row.map_or(HeldThing::Place, HeldThing::Row);
        let held = Held { state: self.state, hold: Hold::Exclusive };
        HoldRow { is_waiting: true, ..row_of(table, what, &held) }
    }
}

fn row_of(table: TableId, what: HeldThing, held: &Held) -> HoldRow {
    // SAFETY: a transaction in the book is alive; the caller holds the book's lock.
    let state = unsafe { &*held.state };
    let (session, hold, address) = (state.session, held.hold, state.key());
    HoldRow { table, session, what, hold, is_waiting: false, address }
}

/// Returns the FNV-1a hash of the bounds.
fn number_of(range: &KeyRange) -> u64 {
    let bounds = range.bounds();
    let mut number = 0xcbf2_9ce4_8422_2325_u64;
    for bound in [bounds.lower, bounds.upper] {
        let (sign, key): (u8, &[u8]) = match bound {
            std::ops::Bound::Unbounded => (0, &[]),
            std::ops::Bound::Included(key) => (1, key),
            std::ops::Bound::Excluded(key) => (2, key),
        };
        for byte in std::iter::once(&sign).chain(key) {
            number = (number ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    number
}
