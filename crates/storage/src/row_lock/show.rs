//! The holds on all tables, as rows for `sys.dm_tran_locks`.

use std::ops::Bound;

use crate::row_lock::{Book, Held, Hold, KeyRange, LockBook};
use crate::spec::{IndexId, RowId, TableId};
use crate::version::TxState;

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

/// Holds that are listed while the lock is held.
const LISTED_AT_ONCE: usize = if cfg!(test) { 2 } else { 64 };

impl LockBook {
    /// Appends the holds on the table of this book, and the writers that wait for them. The lock
    /// is released in between: what is entered or removed in between may be left out.
    pub(crate) fn show(&self, table: TableId, rows: &mut Vec<HoldRow>) {
        self.show_in_parts(rows, |book, last, rows| book.show_table(table, last, rows));
        self.show_in_parts(rows, |book, last, rows| book.show_queue(table, last, rows));
        self.show_in_parts(rows, |book, last, rows| book.show_rows(table, last, rows));
        self.show_in_parts(rows, |book, last, rows| book.show_ranges(table, last, rows));
    }

    /// Runs `show` under the lock until it returns `None`: it appends some holds behind the last one of
    /// the time before, and returns the place of the last one now.
    fn show_in_parts<P>(
        &self,
        rows: &mut Vec<HoldRow>,
        show: impl Fn(&Book, Option<P>, &mut Vec<HoldRow>) -> Option<P>,
    ) {
        let mut last = None;
        loop {
            // Not under the lock, where it would move the whole list.
            rows.reserve(LISTED_AT_ONCE);
            let book = self.book.lock();
            let Some(book) = book.as_deref() else { return };
            last = show(book, last, rows);
            if last.is_none() {
                return;
            }
        }
    }
}

impl Book {
    fn show_table(
        &self,
        table: TableId,
        last: Option<Held>,
        rows: &mut Vec<HoldRow>,
    ) -> Option<Held> {
        let shown = self.whole.behind(last).take(LISTED_AT_ONCE);
        shown.inspect(|held| rows.push(row_of(table, HeldThing::Table, held))).last()
    }

    fn show_queue(
        &self,
        table: TableId,
        last: Option<*const TxState>,
        rows: &mut Vec<HoldRow>,
    ) -> Option<*const TxState> {
        let mut shown = None;
        for (state, queued) in self.queue.behind(last).take(LISTED_AT_ONCE) {
            let what = queued.row.map_or(HeldThing::Place, HeldThing::Row);
            let held = Held { state, hold: Hold::Exclusive };
            rows.push(HoldRow { is_waiting: true, ..row_of(table, what, &held) });
            shown = Some(state);
        }
        shown
    }

    fn show_rows(
        &self,
        table: TableId,
        last: Option<(RowId, Held)>,
        rows: &mut Vec<HoldRow>,
    ) -> Option<(RowId, Held)> {
        let from = last.map_or(Bound::Unbounded, |(row, _)| Bound::Included(row));
        let holds = self.rows.range((from, Bound::Unbounded)).flat_map(|(row, holders)| {
            let last = last.filter(|(at, _)| at == row).map(|(_, held)| held);
            holders.behind(last).map(|held| (*row, held))
        });
        let mut shown = None;
        for (row, held) in holds.take(LISTED_AT_ONCE) {
            rows.push(row_of(table, HeldThing::Row(row), &held));
            shown = Some((row, held));
        }
        shown
    }

    fn show_ranges(
        &self,
        table: TableId,
        last: Option<(KeyRange, Held)>,
        rows: &mut Vec<HoldRow>,
    ) -> Option<(KeyRange, Held)> {
        let first = last.as_ref().map(|(range, _)| range);
        let (mut shown, mut count) = (None, 0);
        for (range, holders) in self.ranges.starting_at(first) {
            let what = HeldThing::Range(range.index, number_of(&range));
            let last = last.as_ref().filter(|(at, _)| *at == range).map(|(_, held)| *held);
            let holds = holders.behind(last).take(LISTED_AT_ONCE - count);
            let holds = holds.inspect(|held| rows.push(row_of(table, what, held)));
            count += holds.inspect(|held| shown = Some(*held)).count();
            if count == LISTED_AT_ONCE {
                return shown.map(|held| (range, held));
            }
        }
        None
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
