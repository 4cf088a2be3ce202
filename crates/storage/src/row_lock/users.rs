//! `Users`: the transactions that use a book, and how many holds each has in each mode.
//!
//! The counts answer most questions without a look at the holds: two transactions that only read
//! do not conflict, however many rows they hold.
//!
//! The first few transactions are in a short array, which takes no memory when one enters. Others
//! are in trees: an array of ten thousand would be moved, under the book's lock, for each that enters.

use std::collections::{BTreeMap, BTreeSet};

use crate::row_lock::{Held, Hold};
use crate::version::TxState;

/// Transactions that are in the array.
const FEW: usize = if cfg!(test) { 2 } else { 16 };

/// A number of holds for each mode.
type Counts = [usize; Hold::ALL.len()];

/// The transactions that use a book.
#[derive(Default)]
pub(super) struct Users {
    /// At most [`FEW`], in the order of the addresses. Most often there is one.
    few: Vec<(*const TxState, Counts)>,
    others: Others,
    all: Counts,
}

/// The transactions that entered while there were a few.
#[derive(Default)]
struct Others {
    counts: BTreeMap<*const TxState, Counts>,
    /// For each mode, those of them that have a hold of it.
    holders: [BTreeSet<*const TxState>; Hold::ALL.len()],
}

/// The place of a transaction among the users, while no other enters or leaves.
#[derive(Clone, Copy)]
pub(super) enum User {
    Few(usize),
    Other(*const TxState),
}

impl Users {
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.others.counts.is_empty()
    }

    fn search(&self, state: *const TxState) -> Result<usize, usize> {
        match self.few.as_slice() {
            [(only, _)] if std::ptr::eq(*only, state) => Ok(0),
            few => few.binary_search_by_key(&state, |(other, _)| *other),
        }
    }

    pub(super) fn enter(&mut self, state: *const TxState) {
        match self.search(state) {
            Ok(_) => {}
            Err(_) if self.others.counts.contains_key(&state) => {}
            Err(place) if self.few.len() < FEW => self.few.insert(place, (state, [0; 3])),
            Err(_) => {
                self.others.counts.insert(state, [0; 3]);
            }
        }
    }

    /// Removes a transaction that holds nothing any more.
    pub(super) fn leave(&mut self, state: *const TxState) {
        let counts = match self.search(state) {
            Ok(place) => Some(self.few.remove(place).1),
            Err(_) => self.others.counts.remove(&state),
        };
        debug_assert!(counts.is_none_or(|counts| counts == [0; 3]), "all holds are removed before");
    }

    /// Forgets the holds of a transaction if no other one uses the book; returns whether it has.
    pub(super) fn take_only(&mut self, state: *const TxState) -> bool {
        let Some(user) = self.find(state) else { return false };
        if self.few.len() + self.others.counts.len() != 1 {
            return false;
        }
        match user {
            User::Few(place) => self.few[place].1 = [0; 3],
            User::Other(state) => {
                self.others = Others::default();
                self.others.counts.insert(state, [0; 3]);
            }
        }
        self.all = [0; 3];
        true
    }

    /// Returns the transaction that has entered with this state.
    pub(super) fn find(&self, state: *const TxState) -> Option<User> {
        match self.search(state) {
            Ok(place) => Some(User::Few(place)),
            Err(_) => self.others.counts.contains_key(&state).then_some(User::Other(state)),
        }
    }

    fn counts_of(&self, user: User) -> Counts {
        match user {
            User::Few(place) => self.few[place].1,
            User::Other(state) => self.others.counts[&state],
        }
    }

    /// Counts a hold that has been entered.
    pub(super) fn add(&mut self, user: User, hold: Hold) {
        self.all[hold.index()] += 1;
        match user {
            User::Few(place) => self.few[place].1[hold.index()] += 1,
            User::Other(state) => self.others.add(state, hold),
        }
    }

    /// Counts a hold that has been removed.
    pub(super) fn remove(&mut self, held: Held) {
        self.all[held.hold.index()] -= 1;
        match self.find(held.state).expect("who holds has entered") {
            User::Few(place) => self.few[place].1[held.hold.index()] -= 1,
            User::Other(_) => self.others.remove(held),
        }
    }

    /// Returns whether a transaction has a hold of a mode that is at least `hold`.
    pub(super) fn has(&self, user: User, hold: Hold) -> bool {
        self.counts_of(user)[hold.index()..].iter().any(|count| *count > 0)
    }

    /// Returns whether another transaction than `me` has a hold of a mode that is at least `weakest`.
    pub(super) fn others_have(&self, me: Option<User>, weakest: Hold) -> bool {
        let own = me.map_or([0; 3], |user| self.counts_of(user));
        (weakest.index()..Hold::ALL.len()).any(|hold| self.all[hold] > own[hold])
    }

    /// Finds another transaction than `me`, that `is_wanted`, with a hold of a mode that is at least
    /// `weakest`.
    pub(super) fn find_other(
        &self,
        me: *const TxState,
        weakest: Hold,
        is_wanted: impl Fn(*const TxState) -> bool,
    ) -> Option<*const TxState> {
        let has = |counts: &Counts| counts[weakest.index()..].iter().any(|count| *count > 0);
        let few = self.few.iter().filter(|(_, counts)| has(counts)).map(|(state, _)| *state);
        let others = self.others.holders[weakest.index()..].iter().flatten().copied();
        few.chain(others).find(|state| !std::ptr::eq(*state, me) && is_wanted(*state))
    }
}

impl Others {
    fn add(&mut self, state: *const TxState, hold: Hold) {
        let counts = self.counts.get_mut(&state).expect("it has entered");
        counts[hold.index()] += 1;
        if counts[hold.index()] == 1 {
            self.holders[hold.index()].insert(state);
        }
    }

    fn remove(&mut self, held: Held) {
        let counts = self.counts.get_mut(&held.state).expect("it has entered");
        counts[held.hold.index()] -= 1;
        if counts[held.hold.index()] == 0 {
            self.holders[held.hold.index()].remove(&held.state);
        }
    }
}
