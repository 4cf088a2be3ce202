//! `Users`: the transactions that use a book, and how many holds each has in each mode.
//!
//! The counts answer most questions without a look at the holds: two transactions that only read
//! do not conflict, however many rows they hold.

use crate::row_lock::{Held, Hold};
use crate::version::TxState;

/// A number of holds for each mode.
type Counts = [usize; Hold::ALL.len()];

/// The transactions that use a book.
#[derive(Default)]
pub(super) struct Users {
    /// In the order of the addresses. There are as many as sessions have the table in use, and most
    /// often one.
    list: Vec<(*const TxState, Counts)>,
    all: Counts,
}

/// The place of a transaction in the list, while no other enters or leaves.
#[derive(Clone, Copy)]
pub(super) struct User(usize);

impl Users {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn search(&self, state: *const TxState) -> Result<usize, usize> {
        match self.list.as_slice() {
            [(only, _)] if std::ptr::eq(*only, state) => Ok(0),
            list => list.binary_search_by_key(&state, |(other, _)| *other),
        }
    }

    pub(super) fn enter(&mut self, state: *const TxState) {
        if let Err(place) = self.search(state) {
            self.list.insert(place, (state, Counts::default()));
        }
    }

    /// Removes a transaction that holds nothing any more.
    pub(super) fn leave(&mut self, state: *const TxState) {
        if let Ok(place) = self.search(state) {
            let (_, counts) = self.list.remove(place);
            debug_assert_eq!(counts, Counts::default(), "all holds are removed before");
        }
    }

    /// Forgets the holds of a transaction if no other one uses the book; returns whether it has.
    pub(super) fn take_only(&mut self, state: *const TxState) -> bool {
        let [(only, counts)] = self.list.as_mut_slice() else { return false };
        if !std::ptr::eq(*only, state) {
            return false;
        }
        (*counts, self.all) = Default::default();
        true
    }

    /// Returns the transaction that has entered with this state.
    pub(super) fn find(&self, state: *const TxState) -> Option<User> {
        self.search(state).ok().map(User)
    }

    /// Counts a hold that has been entered.
    pub(super) fn add(&mut self, user: User, hold: Hold) {
        self.list[user.0].1[hold.index()] += 1;
        self.all[hold.index()] += 1;
    }

    /// Counts a hold that has been removed.
    pub(super) fn remove(&mut self, held: Held) {
        let user = self.find(held.state).expect("who holds has entered");
        self.list[user.0].1[held.hold.index()] -= 1;
        self.all[held.hold.index()] -= 1;
    }

    /// Returns whether a transaction has a hold of a mode that is at least `hold`.
    pub(super) fn has(&self, user: User, hold: Hold) -> bool {
        self.list[user.0].1[hold.index()..].iter().any(|count| *count > 0)
    }

    /// Returns whether another transaction than `me` has a hold of one of these modes.
    pub(super) fn others_have(&self, me: Option<User>, minds: impl Fn(Hold) -> bool) -> bool {
        let own = me.map_or(Counts::default(), |user| self.list[user.0].1);
        Hold::ALL.iter().any(|hold| self.all[hold.index()] > own[hold.index()] && minds(*hold))
    }

    /// Finds another transaction, that `is_wanted`, with a hold of one of these modes.
    pub(super) fn find_other(
        &self,
        me: User,
        minds: impl Fn(Hold) -> bool,
        is_wanted: impl Fn(*const TxState) -> bool,
    ) -> Option<*const TxState> {
        let has = |counts: &Counts| Hold::ALL.iter().any(|h| counts[h.index()] > 0 && minds(*h));
        let mut others = self.list.iter().enumerate().filter(|(place, _)| *place != me.0);
        let found = others.find(|(_, (state, counts))| has(counts) && is_wanted(*state));
        found.map(|(_, (state, _))| *state)
    }
}
