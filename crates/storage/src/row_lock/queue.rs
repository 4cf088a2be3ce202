//! `Queue`: the writers that wait for holds of a table, found by the row or key that they wait at.
//!
//! A transaction that asks for its first lock waits behind them, so each such request searches here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::row_lock::{KeyRange, Place};
use crate::spec::{IndexId, RowId};
use crate::version::TxState;

/// The state of the transaction of a writer.
type Writer = *const TxState;
/// A key that a writer adds or removes.
type Key = (IndexId, Box<[u8]>);

/// The writers that wait.
#[derive(Default)]
pub(super) struct Queue {
    writers: BTreeMap<Writer, Queued>,
    by_row: BTreeSet<(RowId, Writer)>,
    by_key: BTreeMap<Key, BTreeSet<Writer>>,
}

/// What a writer waits at.
pub(super) struct Queued {
    /// The row; `None` for a new one.
    pub(super) row: Option<RowId>,
    pub(super) keys: Vec<Key>,
}

impl Queue {
    /// Adds a writer. It waits for one change at a time: an earlier one is forgotten.
    pub(super) fn push(&mut self, writer: Writer, queued: Queued) {
        self.remove(writer);
        self.by_row.extend(queued.row.map(|row| (row, writer)));
        for key in &queued.keys {
            self.by_key.entry(key.clone()).or_default().insert(writer);
        }
        self.writers.insert(writer, queued);
    }

    /// Removes a writer, if it is there.
    pub(super) fn remove(&mut self, writer: Writer) {
        let Some(queued) = self.writers.remove(&writer) else { return };
        if let Some(row) = queued.row {
            self.by_row.remove(&(row, writer));
        }
        for key in queued.keys {
            // A key that a change leaves as it is was removed with the row's first one.
            let Some(writers) = self.by_key.get_mut(&key) else { continue };
            writers.remove(&writer);
            if writers.is_empty() {
                self.by_key.remove(&key);
            }
        }
    }

    /// Finds another writer than `me` that waits at a place.
    pub(super) fn find_other(&self, place: &Place, me: Writer) -> Option<Writer> {
        let is_other = |writer: &&Writer| !std::ptr::eq(**writer, me);
        match place {
            Place::Table => self.writers.keys().find(is_other).copied(),
            Place::Row(row) => {
                let there = self.by_row.range((*row, std::ptr::null())..);
                let mut there = there.take_while(|(at, _)| at == row).map(|(_, writer)| writer);
                there.find(is_other).copied()
            }
            Place::Range(range) => self.find_in(range, is_other),
        }
    }

    fn find_in(&self, range: &KeyRange, is_other: impl Fn(&&Writer) -> bool) -> Option<Writer> {
        let bounds = range.bounds();
        let first = match bounds.lower {
            Bound::Unbounded => Some(Box::default()),
            Bound::Included(lower) => Some(Box::from(lower)),
            // Each key that starts with it is excluded.
            Bound::Excluded(lower) => behind(lower),
        };
        let from = (range.index, first?);
        let inside = self
            .by_key
            .range(from..)
            .take_while(|((index, key), _)| *index == range.index && bounds.contains(key));
        inside.flat_map(|(_, writers)| writers).find(is_other).copied()
    }

    /// Returns the writers behind `last`, or all, in the order of their addresses.
    pub(super) fn behind(&self, last: Option<Writer>) -> impl Iterator<Item = (Writer, &Queued)> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        self.writers.range((from, Bound::Unbounded)).map(|(writer, queued)| (*writer, queued))
    }
}

/// Returns the first key that is behind all which start with `prefix`; `None` if there is none.
fn behind(prefix: &[u8]) -> Option<Box<[u8]>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut key = Box::<[u8]>::from(&prefix[..=last]);
    key[last] += 1;
    Some(key)
}
