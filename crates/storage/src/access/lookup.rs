//! Looking up rows by key: one, or a batch of keys of a unique index for joins.
//!
//! A single lookup costs a check of the snapshot, the set of indexes and the epoch, and a descent
//! from the root. For a batch the first three are paid once, and a key that is in the same leaf as
//! the one before is searched there. The versions of a few rows are prefetched before the first is
//! read.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use crate::index::{Finger, Index, has_key};
use crate::primitives::pin;
use crate::spec::{Bounds, IndexId, Read, Result, RowImage};
use crate::store::Table;
use crate::transaction::{RowRef, Transaction};
use crate::version::{RowHead, Sight, Version, View, prefetch_version, visible_fast};

/// Keys in one buffer, one behind the other.
#[derive(Debug, Default)]
pub struct KeyList {
    bytes: Vec<u8>,
    /// The end of each key in `bytes`.
    ends: Vec<usize>,
}

impl KeyList {
    /// Drops all keys and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the number of keys in the list.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the list has no keys.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds the key that `write` appends to the buffer.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Returns the key at a place of the list.
    ///
    /// # Panics
    /// If there is no such key.
    pub fn get(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[place]]
    }
}

/// Keys whose rows are found before the first of these is read.
const AHEAD: usize = if cfg!(test) { 3 } else { 16 };

/// The index, and the view of the transaction.
#[derive(Clone, Copy)]
struct Source<'t> {
    index: &'t Index,
    view: View,
}

impl Transaction {
    /// Appends the visible row of each key, with the key's place, in the order of the keys. `index`
    /// must be unique and the keys whole. The images are valid as long as the borrow.
    ///
    /// # Errors
    /// As [`Transaction::get`]; the rows of the keys before the failing one are in `found`.
    pub fn get_images<'t>(
        &'t self,
        (table, id): (&'t Table, IndexId),
        keys: &KeyList,
        read: Read,
        found: &mut Vec<(u32, RowImage<'t>)>,
    ) -> Result<()> {
        if self.remembers(table, read) {
            return (0..keys.len())
                .try_for_each(|place| self.get_one((table, id, 1), keys, place, read, found));
        }
        let (view, _) = self.noted_view(table, read);
        let index = self.index_of(table, id)?;
        index.count_seeks(keys.len() as u64);
        let source = Source { index, view };
        let mut first = 0;
        while first < keys.len() {
            let end = keys.len().min(first + AHEAD);
            let mut next = first;
            while next < end {
                next = self.get_some(&source, keys, next..end, found);
                if next < end {
                    // Its visibility depends on another transaction: `get_one` waits for that.
                    self.get_one((table, id, 0), keys, next, read, found)?;
                    next += 1;
                }
            }
            first = end;
        }
        Ok(())
    }

    fn get_one<'t>(
        &'t self,
        at: (&'t Table, IndexId, u64),
        keys: &KeyList,
        place: usize,
        read: Read,
        found: &mut Vec<(u32, RowImage<'t>)>,
    ) -> Result<()> {
        if let Some(row) = self.get_counted(at, keys.get(place), read)? {
            found.push((number(place), row.image()));
        }
        Ok(())
    }

    /// Looks up a few keys without waiting; returns the place of the first undecided, or the end.
    fn get_some<'t>(
        &'t self,
        source: &Source<'t>,
        keys: &KeyList,
        places: std::ops::Range<usize>,
        found: &mut Vec<(u32, RowImage<'t>)>,
    ) -> usize {
        let end = places.end;
        let guard = pin();
        let mut heads: SmallVec<[(usize, &RowHead); AHEAD]> = SmallVec::new();
        let mut finger = Finger::default();
        for place in places {
            source.index.find_near(keys.get(place), &guard, &mut finger, |head| {
                prefetch_version(head);
                heads.push((place, head));
                std::ops::ControlFlow::Continue(())
            });
        }
        let view = View { me: self.me(), ..source.view };
        let mut done = None;
        for (place, head) in heads {
            if done == Some(place) {
                continue;
            }
            match visible_fast(head, view, self.clock(), &guard) {
                Sight::Row(version) => {
                    // SAFETY: as in `Transaction::see`: the version is visible to a snapshot whose
                    // slot is held, or the transaction's own, so it stays as long as the borrow.
                    let version: &'t Version = unsafe { &*std::ptr::from_ref(version) };
                    let image = version.image();
                    let key = keys.get(place);
                    // The mark is read after the version: see `is_under` in
                    // `transaction/read_row.rs`.
                    let verified = source.index.is_verified_by_reader(head);
                    if !verified || has_key(source.index, image, key) {
                        found.push((number(place), image));
                        done = Some(place);
                    }
                }
                Sight::Nothing => {}
                Sight::Undecided(_) | Sight::Dirty => return place,
            }
        }
        end
    }
}

/// A batch has at most 2^16 keys.
fn number(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 keys")
}

impl Transaction {
    /// Returns the visible row with this whole key; the first one if the index is not unique.
    pub fn get<'t>(
        &'t self,
        table: &'t Table,
        index: IndexId,
        key: &[u8],
        read: Read,
    ) -> Result<Option<RowRef<'t>>> {
        self.get_counted((table, index, 1), key, read)
    }

    /// Gets a row as [`Self::get`], and counts `seeks` look-ups: none, if the caller has counted it.
    fn get_counted<'t>(
        &'t self,
        (table, index, seeks): (&'t Table, IndexId, u64),
        key: &[u8],
        read: Read,
    ) -> Result<Option<RowRef<'t>>> {
        self.hold_range(table, Some(index), Bounds::prefix(key), read)?;
        let from = self.view_of(table, read);
        self.note_range(table, Some(index), Bounds::prefix(key), read.isolation);
        let index = self.index_of(table, index)?;
        index.count_seeks(seeks);
        let mut heads: SmallVec<[&'t RowHead; 4]> = SmallVec::new();
        // Reading a row may wait, which is not allowed while pinned.
        index.find(key, &pin(), |head| {
            heads.push(head);
            ControlFlow::Continue(())
        });
        for head in heads {
            let row = self.look((table, head), from, Some((index, key)), read)?;
            if let Some(found) = row {
                self.note_found(table, from.0.lost, Some(found.version));
                return Ok(row);
            }
        }
        self.note_found(table, from.0.lost, None);
        Ok(None)
    }
}
