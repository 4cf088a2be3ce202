//! The dictionary of a chunk: its distinct values, as long as they are few.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The largest number of entries.
const ENTRIES_MAX: usize = if cfg!(test) { 16 } else { 1 << 16 };
/// The largest size of all entries, in bytes.
const BYTES_MAX: usize = 1 << 20;
/// The approximate index memory per entry, in bytes.
const ENTRY_BYTES: usize = 20;

/// The dictionary of a chunk that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Dictionary {
    /// The values, in PLAIN encoding.
    bytes: Vec<u8>,
    starts: Vec<usize>,
    /// Indexes by the hash of their values, which are in `bytes`.
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The index of the value that was looked up last: equal values often come in runs.
    last: u32,
}

/// The result of a dictionary lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The value was there before, at this index.
    Known(u32),
    /// The value was added, at this index.
    New(u32),
    /// The value is new, and the dictionary is full.
    None,
}

impl Dictionary {
    /// Returns the index of a value in PLAIN encoding.
    pub(super) fn place(&mut self, value: &[u8]) -> Place {
        if !self.starts.is_empty() && self.value(self.last) == value {
            return Place::Known(self.last);
        }
        let hash = self.hasher.hash_one(value);
        let found = self.places.find(hash, |place| self.value(*place) == value);
        if let Some(place) = found.copied() {
            self.last = place;
            return Place::Known(place);
        }
        if self.starts.len() >= ENTRIES_MAX || self.bytes.len() + value.len() > BYTES_MAX {
            return Place::None;
        }
        let Ok(place) = u32::try_from(self.starts.len()) else { return Place::None };
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(value);
        let Self { bytes, starts, places, hasher, .. } = self;
        places.insert_unique(hash, place, |place| hasher.hash_one(slice(bytes, starts, *place)));
        self.last = place;
        Place::New(place)
    }

    /// Returns the value at an index.
    pub(super) fn value(&self, place: u32) -> &[u8] {
        slice(&self.bytes, &self.starts, place)
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns all values in PLAIN encoding.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + self.starts.len() * ENTRY_BYTES
    }
}

fn slice<'b>(bytes: &'b [u8], starts: &[usize], place: u32) -> &'b [u8] {
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    let end = starts.get(place + 1).copied().unwrap_or(bytes.len());
    &bytes[starts[place]..end]
}
