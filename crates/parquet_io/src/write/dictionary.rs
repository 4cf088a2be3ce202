//! The different values of a chunk, as long as they are few.

use std::collections::HashMap;

/// Different values that a dictionary holds.
const ENTRIES_MAX: usize = if cfg!(test) { 16 } else { 1 << 16 };
/// Bytes of them.
const BYTES_MAX: usize = 1 << 20;
/// What the index takes for a value besides its bytes, about.
const ENTRY_BYTES: usize = 64;

/// The dictionary of a chunk that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Dictionary {
    /// The values as the encoding PLAIN has them.
    bytes: Vec<u8>,
    starts: Vec<usize>,
    places: HashMap<Box<[u8]>, u32>,
}

impl Dictionary {
    /// Returns the place of a value, given as PLAIN has it; `None` if it is new and there is no more room.
    pub(super) fn place(&mut self, value: &[u8]) -> Option<u32> {
        if let Some(place) = self.places.get(value) {
            return Some(*place);
        }
        if self.starts.len() >= ENTRIES_MAX || self.bytes.len() + value.len() > BYTES_MAX {
            return None;
        }
        let place = u32::try_from(self.starts.len()).ok()?;
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(value);
        self.places.insert(value.into(), place);
        Some(place)
    }

    /// Returns the value at a place.
    pub(super) fn value(&self, place: u32) -> &[u8] {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let end = self.starts.get(place + 1).copied().unwrap_or(self.bytes.len());
        &self.bytes[self.starts[place]..end]
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns all values, one behind the other.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn memory(&self) -> usize {
        2 * self.bytes.len() + self.starts.len() * ENTRY_BYTES
    }
}
