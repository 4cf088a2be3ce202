//! `Collected`: the latest change of each row of a log, collected by the thread that reads the log,
//! or by others that each have a share of the rows.
//!
//! ```text
//! reader   decodes a group, in the order of its timestamps ─► chunks of changes, by share ─┐
//! keepers  ◄── each its chunks, in order: one change for each row ─► pieces, sorted ◄──────┘
//! ```
//!
//! A row belongs to one share, so its changes stay in their order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use log::EncodedColumns;
use sos::ledger::Accounts;
use sos::lock::{SpinClass, SpinLock};
use sos::sync::Arc;
use sos::thread;

use crate::replay::Change;

/// Rows of a piece of work when changes of the log are applied.
const PIECE_ROWS: usize = 1 << 14;
/// Changes that a keeper is sent at once.
const CHUNK_CHANGES: usize = if cfg!(test) { 3 } else { 1 << 10 };
/// Chunks that may wait for a keeper.
const CHUNKS_MAX: usize = 64;
/// Most keepers: more than one thread decodes for.
const KEEPERS_MAX: usize = 4;

/// The rows of one table number (`images::table_number`).
type Rows = HashMap<u64, Change, foldhash::fast::FixedState>;

/// Changes of some rows of a table number, by rising row id.
pub(crate) type Piece = (u32, Vec<(u64, Change)>);

/// A change of a row of a table number.
type RowChange = (u32, u64, Change);

/// The latest change of each row.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The share of this thread: all rows, or none if there are keepers.
    own: Share,
    keepers: Vec<Keeper>,
}

/// The rows that one thread collects.
#[derive(Debug, Default)]
struct Share {
    rows: HashMap<u32, Rows>,
    merged: EncodedColumns,
}

/// A thread with a share of the rows.
#[derive(Debug)]
struct Keeper {
    chunks: SyncSender<Vec<RowChange>>,
    filling: Vec<RowChange>,
    thread: JoinHandle<()>,
    /// What the thread leaves at its end; `None` until then.
    pieces: Arc<SpinLock<Option<Vec<Piece>>>>,
}

impl Collected {
    /// Spreads the rows over other threads, whose time is in `accounts`, if there is more than one for
    /// the whole recovery.
    ///
    /// # Errors
    /// The system has refused a thread.
    pub(crate) fn spread(threads: usize, accounts: &Arc<Accounts>) -> Result<Self, String> {
        let keepers = threads.saturating_sub(1).min(KEEPERS_MAX);
        let keepers: std::io::Result<_> = (0..keepers).map(|_| Keeper::start(accounts)).collect();
        let keepers = keepers.map_err(|error| format!("a thread of the recovery: {error}"))?;
        Ok(Self { own: Share::default(), keepers })
    }

    /// Adds a later change of a row.
    pub(crate) fn add(&mut self, table: u32, row: u64, later: Change) {
        let keepers = self.keepers.len();
        // The rows of a piece are in one share, and neighbours of a table are in several.
        let share = (row / PIECE_ROWS as u64 + u64::from(table)).checked_rem(keepers as u64);
        match share.and_then(|share| usize::try_from(share).ok()) {
            Some(share) => self.keepers[share].add((table, row, later)),
            None => self.own.add((table, row, later)),
        }
    }

    /// Returns all changes, in pieces.
    ///
    /// # Errors
    /// A keeper has panicked.
    pub(crate) fn finish(self) -> Result<Vec<Piece>, String> {
        let mut pieces = self.own.into_pieces();
        for keeper in self.keepers {
            pieces.extend(keeper.finish()?);
        }
        Ok(pieces)
    }
}

impl Keeper {
    fn start(accounts: &Arc<Accounts>) -> std::io::Result<Self> {
        let (chunks, received) = sync_channel(CHUNKS_MAX);
        let pieces = Arc::new(SpinLock::new(SpinClass::ServerOther, None));
        let left = Arc::clone(&pieces);
        let body = move || {
            let collected = Share::collect(&received);
            *left.lock() = Some(collected);
        };
        let thread = thread::spawn(accounts, "recovery", body)?;
        Ok(Self { chunks, filling: Vec::new(), thread, pieces })
    }

    fn add(&mut self, change: RowChange) {
        self.filling.push(change);
        if self.filling.len() >= CHUNK_CHANGES {
            let full = mem::replace(&mut self.filling, Vec::with_capacity(CHUNK_CHANGES));
            self.send(full);
        }
    }

    fn send(&self, chunk: Vec<RowChange>) {
        // A keeper that has panicked takes none, which `finish` reports.
        let _ = self.chunks.send(chunk);
    }

    fn finish(mut self) -> Result<Vec<Piece>, String> {
        let rest = mem::take(&mut self.filling);
        self.send(rest);
        drop(self.chunks);
        // The pieces say whether it has come to its end.
        let _ = self.thread.join();
        let pieces = self.pieces.lock().take();
        pieces.ok_or_else(|| "a thread of the recovery panicked".to_owned())
    }
}

impl Share {
    /// Collects what arrives, until the sender has gone.
    fn collect(received: &Receiver<Vec<RowChange>>) -> Vec<Piece> {
        let mut share = Self::default();
        for chunk in received {
            chunk.into_iter().for_each(|change| share.add(change));
        }
        share.into_pieces()
    }

    fn add(&mut self, (table, row, later): RowChange) {
        match self.rows.entry(table).or_default().entry(row) {
            Entry::Vacant(place) => {
                place.insert(later);
            }
            Entry::Occupied(mut place) => place.get_mut().add(later, &mut self.merged),
        }
    }

    /// Cuts the changes of each table number into pieces for several threads, each in the order of
    /// its rows, which are near one another in memory.
    fn into_pieces(self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (number, rows) in self.rows {
            let mut rows: Vec<(u64, Change)> = rows.into_iter().collect();
            rows.sort_unstable_by_key(|(row, _)| *row);
            while rows.len() > PIECE_ROWS {
                let rest = rows.split_off(rows.len() - PIECE_ROWS);
                pieces.push((number, rest));
            }
            pieces.push((number, rows));
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sos::ledger::SourceChoice;

    use super::*;
    use crate::replay::RowColumns;

    fn part(ordinal: u32, value: u8) -> Change {
        let mut encoded = EncodedColumns::default();
        encoded.push(ordinal, Some(&[value]));
        Change::Part(RowColumns::from_encoded(encoded.get()))
    }

    /// The changes of 50 rows in 7 shares of row ids, each row ten times, and the last one counts.
    fn collect(mut collected: Collected) -> BTreeMap<(u32, u64), Change> {
        for value in 0..10 {
            for row in 0..50 {
                let table = u32::try_from(row % 3).unwrap();
                let at = row % 7 * PIECE_ROWS as u64 + row;
                if value == 0 {
                    collected.add(table, at, Change::Gone);
                }
                let change = part(u32::from(value % 2), value);
                collected.add(table, at, if row % 2 == 0 { change } else { Change::Gone });
            }
        }
        let mut found = BTreeMap::new();
        for (table, rows) in collected.finish().unwrap() {
            assert!(rows.is_sorted_by_key(|(row, _)| *row) && rows.len() <= PIECE_ROWS);
            for (row, change) in rows {
                assert_eq!(found.insert((table, row), change), None, "a row is in one piece");
            }
        }
        found
    }

    #[test]
    fn several_threads_collect_what_one_does() {
        let accounts = Arc::new(Accounts::new(SourceChoice::Auto));
        let collect = |threads| collect(Collected::spread(threads, &accounts).unwrap());
        let alone = collect(1);
        assert_eq!(alone.len(), 50);
        for threads in 2..7 {
            assert_eq!(collect(threads), alone, "{threads} threads");
        }
    }
}
