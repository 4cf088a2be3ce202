//! `Holders`: the holds on one thing, found by mode and by transaction.
//!
//! There is most often one. A row that all transactions read with REPEATABLE READ has as many as there
//! are transactions: each enters and leaves under the book's lock, so neither may look at the others.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::row_lock::{Held, Hold};
use crate::version::TxState;

/// The holds on one thing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Holders {
    #[default]
    Nothing,
    One(Held),
    /// In the order of the modes. It stays, even for one hold, until there is none.
    #[expect(clippy::box_collection, reason = "a row lock has one hold most often, and 16 bytes")]
    Several(Box<BTreeSet<Held>>),
}

/// Each row lock has one of these in the book.
const _: () = assert!(size_of::<Holders>() == size_of::<Held>(), "the variants share the mode");

/// The first hold of a mode in the order of the holds.
const fn first_of(hold: Hold) -> Held {
    Held { state: std::ptr::null(), hold }
}

impl Holders {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::Nothing
    }

    /// Adds a hold that is not there yet.
    pub(super) fn push(&mut self, held: Held) {
        *self = match std::mem::take(self) {
            Self::Nothing => Self::One(held),
            Self::One(one) => Self::Several(Box::new(BTreeSet::from([one, held]))),
            Self::Several(mut all) => {
                all.insert(held);
                Self::Several(all)
            }
        };
    }

    /// Removes a hold; returns whether it was there.
    pub(super) fn remove(&mut self, held: Held) -> bool {
        let (was_there, is_left) = match self {
            Self::Nothing => return false,
            Self::One(one) => (*one == held, *one != held),
            Self::Several(all) => (all.remove(&held), !all.is_empty()),
        };
        if !is_left {
            *self = Self::Nothing;
        }
        was_there
    }

    /// Returns whether a transaction has a hold of a mode that is at least `hold`.
    pub(super) fn covers(&self, state: *const TxState, hold: Hold) -> bool {
        match self {
            Self::Nothing => false,
            Self::One(one) => one.is_of(state) && one.hold >= hold,
            Self::Several(all) => Hold::ALL[hold.index()..]
                .iter()
                .any(|hold| all.contains(&Held { state, hold: *hold })),
        }
    }

    /// Finds another transaction than `me`, that `is_wanted`, with a hold of a mode that is at least
    /// `weakest`.
    pub(super) fn find_other(
        &self,
        me: *const TxState,
        weakest: Hold,
        is_wanted: impl Fn(*const TxState) -> bool,
    ) -> Option<*const TxState> {
        let is_other = |held: &Held| !held.is_of(me) && is_wanted(held.state);
        let found = match self {
            Self::Nothing => None,
            Self::One(one) => Some(one).filter(|one| one.hold >= weakest && is_other(one)),
            Self::Several(all) => all.range(first_of(weakest)..).find(|held| is_other(held)),
        };
        found.map(|held| held.state)
    }

    /// Returns the holds behind `last`, or all, in their order.
    pub(super) fn behind(&self, last: Option<Held>) -> impl Iterator<Item = Held> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        let (one, several) = match self {
            Self::Nothing => (None, None),
            Self::One(one) => (Some(*one).filter(|one| last.is_none_or(|last| *one > last)), None),
            Self::Several(all) => (None, Some(all.range((from, Bound::Unbounded)).copied())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}
