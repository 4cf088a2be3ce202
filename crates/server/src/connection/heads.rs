//! `Heads`: a cache of parameter heads, the bytes before parameter values in recent calls.
//!
//! One cache per worker, indexed by the parameter's position: the connections of a worker mostly
//! call the same procedures. A head is replaced only after several misses in a row, so that two
//! procedures called alternately do not evict each other.

use engine::session::RpcParameter;
use tds::ParameterHead;
use types::Value;

/// Parameter positions that have an entry.
const PLACES_MAX: usize = 32;
/// Misses in a row after which an entry is replaced.
const MISSES_MAX: u8 = 8;

/// The parameter heads of a worker.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    known: Vec<Known>,
}

/// A cached head, with its decoded name.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) head: ParameterHead,
    name: String,
    misses: u8,
}

impl Heads {
    /// Returns the head at a position.
    #[inline]
    pub(super) fn get(&mut self, place: usize) -> Option<&mut Known> {
        self.known.get_mut(place)
    }

    /// Returns whether a position that has missed should learn the new head.
    pub(super) fn wants(&self, place: usize) -> bool {
        match self.known.get(place) {
            Some(known) => known.misses >= MISSES_MAX,
            None => place < PLACES_MAX && place == self.known.len(),
        }
    }

    /// Counts a miss at a position.
    pub(super) fn miss(&mut self, place: usize) {
        if let Some(known) = self.known.get_mut(place) {
            known.misses = known.misses.saturating_add(1);
        }
    }

    /// Stores the head at a position, with its decoded name.
    pub(super) fn learn(&mut self, place: usize, head: ParameterHead, name: &str) {
        let known = Known { head, name: name.to_owned(), misses: 0 };
        match self.known.get_mut(place) {
            Some(place) => *place = known,
            None => self.known.push(known),
        }
    }
}

impl Known {
    /// Fills a slot from the head, with the value that follows it.
    #[inline]
    pub(super) fn fill(&mut self, slot: &mut RpcParameter, value: Value) {
        self.misses = 0;
        // The previous call may have replaced the name.
        if slot.name != self.name {
            slot.name.clone_from(&self.name);
        }
        slot.ty = self.head.column_type();
        slot.output = self.head.is_output();
        slot.default = false;
        slot.table = None;
        slot.value = value;
    }
}
