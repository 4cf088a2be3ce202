//! `Heads`: what calls seen lately send before the values of their parameters.
//!
//! One set per worker, by the parameter's place: the connections of a worker mostly call the same
//! procedures. A head gives way to another only after it has been missed some times in a row, so that two
//! procedures that are called in turn do not push each other out.

use engine::session::RpcParameter;
use tds::ParameterHead;
use types::Value;

/// Places that have a head.
const PLACES_MAX: usize = 32;
/// Misses in a row after which a place learns another head.
const MISSES_MAX: u8 = 8;

/// The heads of a worker.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    known: Vec<Known>,
}

/// A head, and what it comes to.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) head: ParameterHead,
    name: String,
    misses: u8,
}

impl Heads {
    /// Returns the head of a place.
    #[inline]
    pub(super) fn get(&mut self, place: usize) -> Option<&mut Known> {
        self.known.get_mut(place)
    }

    /// Returns whether a place that does not know the head that comes shall learn it.
    pub(super) fn wants(&self, place: usize) -> bool {
        match self.known.get(place) {
            Some(known) => known.misses >= MISSES_MAX,
            None => place < PLACES_MAX && place == self.known.len(),
        }
    }

    /// Notes that a place has met another head than the one it knows.
    pub(super) fn miss(&mut self, place: usize) {
        if let Some(known) = self.known.get_mut(place) {
            known.misses = known.misses.saturating_add(1);
        }
    }

    /// Learns the head of a place, and the name that it comes to.
    pub(super) fn learn(&mut self, place: usize, head: ParameterHead, name: &str) {
        let known = Known { head, name: name.to_owned(), misses: 0 };
        match self.known.get_mut(place) {
            Some(place) => *place = known,
            None => self.known.push(known),
        }
    }
}

impl Known {
    /// Fills a slot with what the head says, and with the value behind it.
    #[inline]
    pub(super) fn fill(&mut self, slot: &mut RpcParameter, value: Value) {
        self.misses = 0;
        // Who ran the call before may have taken the name.
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
