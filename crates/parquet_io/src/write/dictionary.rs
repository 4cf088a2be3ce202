//! The different values of a chunk, as long as they are few.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Different values that a dictionary holds.
const ENTRIES_MAX: usize = if cfg!(test) { 16 } else { 1 << 16 };
/// Bytes of them.
const BYTES_MAX: usize = 1 << 20;
/// What the index takes for a value besides its bytes, about.
const ENTRY_BYTES: usize = 20;

/// The dictionary of a chunk that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Dictionary {
    /// The values as the encoding PLAIN has them.
    bytes: Vec<u8>,
    starts: Vec<usize>,
    /// Places by the hash of their values, which are in `bytes`.
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The place of the value that was looked up last: values come in runs.
    last: u32,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It was there before.
    Known(u32),
    /// It has been added.
    New(u32),
    /// It is new, and there is no more room.
    None,
}

impl Dictionary {
    /// Returns the place of a value, given as PLAIN has it.
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

    /// Returns the value at a place.
    pub(super) fn value(&self, place: u32) -> &[u8] {
        slice(&self.bytes, &self.starts, place)
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns all values, one behind the other.
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
