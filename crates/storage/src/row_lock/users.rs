//! `Users`: the transactions that use a book, and how many holds each has in each mode.
//!
//! The counts answer most questions without a look at the holds: two transactions that only read
//! do not conflict, however many rows they hold.

use std::collections::BTreeMap;

use crate::row_lock::{Held, Hold};
use crate::version::TxState;

/// A number of holds for each mode.
type Counts = [usize; Hold::ALL.len()];

/// The transactions that use a book.
#[derive(Default)]
pub(super) struct Users {
    by_state: BTreeMap<*const TxState, Counts>,
    all: Counts,
}

impl Users {
    pub(super) fn is_empty(&self) -> bool {
        self.by_state.is_empty()
    }

    pub(super) fn enter(&mut self, state: *const TxState) {
        self.by_state.entry(state).or_default();
    }

    /// Removes a transaction that holds nothing any more.
    pub(super) fn leave(&mut self, state: *const TxState) {
        let counts = self.by_state.remove(&state);
        debug_assert_eq!(counts, Some(Counts::default()), "all holds are removed before");
    }

    /// Counts a hold that has been entered.
    pub(super) fn add(&mut self, held: Held) {
        let counts = self.by_state.get_mut(&held.state).expect("who holds has entered");
        counts[held.hold.index()] += 1;
        self.all[held.hold.index()] += 1;
    }

    /// Counts a hold that has been removed.
    pub(super) fn remove(&mut self, held: Held) {
        let counts = self.by_state.get_mut(&held.state).expect("who holds has entered");
        counts[held.hold.index()] -= 1;
        self.all[held.hold.index()] -= 1;
    }

    /// Returns whether a transaction has a hold of a mode that is at least `hold`.
    pub(super) fn has(&self, state: *const TxState, hold: Hold) -> bool {
        self.of(state)[hold.index()..].iter().any(|count| *count > 0)
    }

    /// Returns whether any other transaction has a hold of one of these modes.
    pub(super) fn others_have(&self, me: *const TxState, minds: impl Fn(Hold) -> bool) -> bool {
        let own = self.of(me);
        Hold::ALL.iter().any(|hold| self.all[hold.index()] > own[hold.index()] && minds(*hold))
    }

    /// Finds another transaction, that `is_wanted`, with a hold of one of these modes.
    pub(super) fn find_other(
        &self,
        me: *const TxState,
        minds: impl Fn(Hold) -> bool,
        is_wanted: impl Fn(*const TxState) -> bool,
    ) -> Option<*const TxState> {
        let has = |counts: &Counts| Hold::ALL.iter().any(|h| counts[h.index()] > 0 && minds(*h));
        let mut others = self.by_state.iter().filter(|(state, _)| !std::ptr::eq(**state, me));
        others.find(|(state, counts)| has(counts) && is_wanted(**state)).map(|(state, _)| *state)
    }

    fn of(&self, state: *const TxState) -> Counts {
        self.by_state.get(&state).copied().unwrap_or_default()
    }
}
