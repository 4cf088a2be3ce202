//! `KeyWalk`: the rows under many keys of a range index, some at a time: for joins, whose left rows each
//! find several.
//!
//! ```text
//! keys    k0  k1  k2  k3 ..           a key is a whole one, or the first columns of one
//!             └── place, after: behind that entry of k1 the walk goes on
//! ```
//! As in `lookup.rs`, what a key at a time pays for each is paid once for many, and the versions of some rows
//! are asked for before the first is looked at. A walk holds no borrow between two calls.

use smallvec::SmallVec;
use types::Bytes;
use types::batch::BATCH_ROWS;

use crate::access::lookup::KeyList;
use crate::index::key::has_key;
use crate::index::{Finger, Index};
use crate::primitives::epoch::{Guard, pin};
use crate::spec::bounds::Bounds;
use crate::spec::definition::IndexId;
use crate::spec::error::Result;
use crate::spec::options::Read;
use crate::spec::row::{RowId, RowImage};
use crate::store::table::Table;
use crate::transaction::Transaction;
use crate::version::head::{RowHead, prefetch_version};
use crate::version::layout::Version;
use crate::version::visibility::{Sight, View, visible_fast};

/// How far the search for the rows under the keys of a list has come.
#[derive(Debug)]
pub struct KeyWalk {
    /// The key that is next, or under way.
    place: usize,
    /// The keys before this one are walked.
    end: usize,
    /// The entry of the key under way behind which it goes on.
    after: Option<(Bytes, RowId)>,
    /// Entries of the key under way that were read.
    read: usize,
    /// Entries of one key that are read at most.
    each_max: usize,
    /// The keys that had more entries, and where they go on.
    unfinished: Vec<(usize, Bytes, RowId)>,
    /// Whether a transaction that has to has noted what it reads.
    is_noted: bool,
}

impl KeyWalk {
    /// Begins a walk over all keys of a list that leaves a key when it has read so many of its entries.
    pub fn new(keys: &KeyList, each_max: usize) -> Self {
        Self {
            place: 0,
            end: keys.len(),
            after: None,
            read: 0,
            each_max: each_max.max(1),
            unfinished: Vec::new(),
            is_noted: false,
        }
    }

    /// Tells whether it has come to the end.
    pub const fn is_done(&self) -> bool {
        self.place >= self.end
    }

    /// Returns, by the places of their keys, walks over what this one has left of them.
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

/// Entries found before the first of them is looked at.
const AHEAD: usize = if cfg!(test) { 5 } else { 64 };
/// Rows whose versions are on their way from memory while one is looked at.
const PREFETCHED: usize = 12;

/// An entry whose row has not been looked at.
struct Entry<'t, 'g> {
    place: usize,
    key: &'g [u8],
    head: &'t RowHead,
}

/// The same, kept while no epoch is pinned.
type Kept<'t> = (usize, Bytes, &'t RowHead);

impl<'t> Entry<'t, '_> {
    fn to_kept(&self) -> Kept<'t> {
        (self.place, Bytes::copy_from(self.key), self.head)
    }
}

impl Transaction {
    /// Appends rows under the keys of a list, each with its key's place, in the order of the keys and under
    /// each in that of the index: a batch of them and a few more, or what there is up to the end of the
    /// walk. The images are valid as long as the borrow.
    ///
    /// # Errors
    /// As [`crate::access::scan::Scan::next`]; the rows before are in `found`.
    ///
    /// # Panics
    /// If the index is none by range.
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
        let from = self.view_of(table, read);
        let index = self.index_of(table, id)?;
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

    /// Looks at some rows without waiting; from the first one that is undecided on they go to `rest`.
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
                    // SAFETY: as in `Transaction::see`: the version is visible to a snapshot whose slot is
                    // held, or the transaction's own, so it stays as long as the borrow.
                    let version: &'t Version = unsafe { &*std::ptr::from_ref(version) };
                    let image = version.image();
                    // The note is read after the version: see `Transaction::look`.
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

/// Shows the next entries of a walk, [`AHEAD`] of them and those of a leaf more, and moves it behind them.
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
        // The last entry for which there was room, if there was one more.
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
