//! `KeyWalk`: finds the rows under many keys of a range index, a batch at a time: for joins whose
//! left rows each match several rows.
//!
//! ```text
//! keys    k0  k1  k2  k3 ..           a key is a whole one, or the first columns of one
//!             └── place, after: the walk continues behind that entry of k1
//! ```
//! As in `lookup.rs`, the cost of preparing a lookup is paid once for many keys, and the versions
//! of some rows are prefetched before the first is read. A walk borrows nothing between two calls.

use smallvec::SmallVec;
use types::Bytes;
use types::batch::BATCH_ROWS;

use crate::access::KeyList;
use crate::index::{Finger, Index, has_key};
use crate::primitives::{Guard, pin};
use crate::spec::{Bounds, IndexId, Read, Result, RowId, RowImage};
use crate::store::Table;
use crate::transaction::Transaction;
use crate::version::{RowHead, Sight, Version, View, prefetch_version, visible_fast};

/// The progress of a walk over the keys of a list.
#[derive(Debug)]
pub struct KeyWalk {
    /// The index of the current key in the list.
    place: usize,
    /// The index behind the last key of this walk.
    end: usize,
    /// The entry of the current key behind which the walk continues.
    after: Option<(Bytes, RowId)>,
    /// Entries of the current key that were read.
    read: usize,
    /// The largest number of entries to read of one key.
    each_max: usize,
    /// The keys that had more entries, and the entry behind which each continues.
    unfinished: Vec<(usize, Bytes, RowId)>,
    /// Whether the transaction, if it validates its reads, has recorded this one.
    is_noted: bool,
    /// Whether its keys have been counted as seeks.
    is_counted: bool,
}

impl KeyWalk {
    /// Starts a walk over all keys of a list. Of each key it reads at most `each_max` entries.
    pub fn new(keys: &KeyList, each_max: usize) -> Self {
        Self {
            place: 0,
            end: keys.len(),
            after: None,
            read: 0,
            each_max: each_max.max(1),
            unfinished: Vec::new(),
            is_noted: false,
            is_counted: false,
        }
    }

    /// Returns whether all keys have been walked.
    pub const fn is_done(&self) -> bool {
        self.place >= self.end
    }

    /// Returns walks over the entries that were left out, each with the place of its key.
    pub fn unfinished(self) -> impl Iterator<Item = (usize, Self)> {
        self.unfinished.into_iter().map(|(place, key, id)| {
            let rest = Self {
                place,
                end: place + 1,
                after: Some((key, id)),
                read: 0,
                each_max: usize::MAX,
                unfinished: Vec::new(),
                is_noted: true,
                is_counted: true,
            };
            (place, rest)
        })
    }

    fn next_key(&mut self) {
        self.place += 1;
        self.after = None;
        self.read = 0;
    }
}

/// Entries that are found before the first of them is read.
const AHEAD: usize = if cfg!(test) { 5 } else { 64 };
/// Rows whose versions are being prefetched while one is read.
const PREFETCHED: usize = 12;

/// An entry whose row has not been read yet.
struct Entry<'t, 'g> {
    place: usize,
    key: &'g [u8],
    head: &'t RowHead,
}

/// An entry that is kept while no epoch is pinned.
type Kept<'t> = (usize, Bytes, &'t RowHead);

impl<'t> Entry<'t, '_> {
    fn to_kept(&self) -> Kept<'t> {
        (self.place, Bytes::copy_from(self.key), self.head)
    }
}

impl Transaction {
    /// Appends rows under the keys of a list, each with its key's place, in the order of the keys
    /// and under each key in index order. Appends a batch of them and a few more, or all up to the
    /// end of the walk. The images are valid as long as the borrow.
    ///
    /// # Errors
    /// As [`crate::Scan::next`]; the rows before the failing one are in `found`.
    ///
    /// # Panics
    /// If the index is not a range index.
    pub fn walk_images<'t>(
        &'t self,
        (table, id): (&'t Table, IndexId),
        keys: &KeyList,
        read: Read,
        walk: &mut KeyWalk,
        found: &mut Vec<(u32, RowImage<'t>)>,
    ) -> Result<()> {
        let remembers = self.remembers(table, read);
        let mut rest: Vec<Kept<'t>> = Vec::new();
        if remembers && !std::mem::replace(&mut walk.is_noted, true) {
            for place in walk.place..walk.end {
                self.hold_range(table, Some(id), Bounds::prefix(keys.get(place)), read)?;
                self.note_range(table, Some(id), Bounds::prefix(keys.get(place)), read.isolation);
            }
        }
        let from = self.noted_view(table, read);
        let index = self.index_of(table, id)?;
        if !std::mem::replace(&mut walk.is_counted, true) {
            index.counts.count_scans((walk.end - walk.place) as u64);
        }
        while !walk.is_done() && found.len() < BATCH_ROWS {
            if remembers {
                read_ahead(index, keys, walk, &pin(), |entry| rest.push(entry.to_kept()));
            } else {
                self.walk_some((index, from.0), keys, walk, found, &mut rest);
            }
            for (place, key, head) in rest.drain(..) {
                let row = self.look((table, head), from, Some((index, &key)), read)?;
                found.extend(row.map(|row| (number(place), row.image())));
            }
        }
        Ok(())
    }

    /// Reads some rows without waiting; from the first undecided one on they go to `rest`.
    fn walk_some<'t>(
        &'t self,
        (index, view): (&'t Index, View),
        keys: &KeyList,
        walk: &mut KeyWalk,
        found: &mut Vec<(u32, RowImage<'t>)>,
        rest: &mut Vec<Kept<'t>>,
    ) {
        let guard = pin();
        let mut ahead: SmallVec<[Entry<'_, '_>; AHEAD]> = SmallVec::new();
        read_ahead(index, keys, walk, &guard, |entry| ahead.push(entry));
        let view = View { me: self.me(), ..view };
        ahead.iter().take(PREFETCHED).for_each(|entry| prefetch_version(entry.head));
        for (number_ahead, entry) in ahead.iter().enumerate() {
            if let Some(later) = ahead.get(number_ahead + PREFETCHED) {
                prefetch_version(later.head);
            }
            match visible_fast(entry.head, view, self.clock(), &guard) {
                Sight::Row(version) => {
                    // SAFETY: as in `Transaction::see`: the version is visible to a snapshot whose
                    // slot is held, or the transaction's own, so it stays as long as the borrow.
                    let version: &'t Version = unsafe { &*std::ptr::from_ref(version) };
                    let image = version.image();
                    // The mark is read after the version: see `is_under` in
                    // `transaction/read_row.rs`.
                    let verified = index.is_verified_by_reader(entry.head);
                    if !verified || has_key(index, image, entry.key) {
                        found.push((number(entry.place), image));
                    }
                }
                Sight::Nothing => {}
                Sight::Undecided(_) | Sight::Dirty => {
                    return rest.extend(ahead[number_ahead..].iter().map(Entry::to_kept));
                }
            }
        }
    }
}

/// Shows the next entries of a walk, at least [`AHEAD`] of them, and advances it behind them.
fn read_ahead<'t, 'g>(
    index: &'t Index,
    keys: &KeyList,
    walk: &mut KeyWalk,
    guard: &'g Guard,
    mut show: impl FnMut(Entry<'t, 'g>),
) where
    't: 'g,
{
    let mut finger = Finger::default();
    let mut shown = 0;
    while !walk.is_done() && shown < AHEAD {
        let place = walk.place;
        let room = walk.each_max - walk.read;
        let from = walk.after.as_ref().map(|(key, id)| (&**key, *id));
        // The last entry that fits, if there is one more.
        let mut cut: Option<(&'g [u8], RowId)> = None;
        let (mut taken, mut last) = (0, None);
        let rest = index.find_under((keys.get(place), from), guard, &mut finger, |key, head| {
            if taken == room {
                cut = cut.or(last);
                return;
            }
            taken += 1;
            last = Some((key, head.id()));
            show(Entry { place, key, head });
        });
        shown += taken;
        walk.read += taken;
        match cut.or(rest) {
            None => walk.next_key(),
            Some((key, id)) if walk.read == walk.each_max => {
                walk.unfinished.push((place, Bytes::copy_from(key), id));
                walk.next_key();
            }
            Some((key, id)) => walk.after = Some((Bytes::copy_from(key), id)),
        }
    }
}

/// A batch has at most 2^16 keys.
fn number(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 keys")
}
