//! `LockBook`: the holds on rows and ranges of keys of one table, by which REPEATABLE READ, SERIALIZABLE and table
//! locks keep writers out.
//!
//! ```text
//!            first transaction that holds something          no holder for a while
//!  Closed ─────────────────► Opening ─────────────► Open ──────────────────────────► Closed
//!   writers do not look       until the pins of      writers link, then look here,
//!                             its time have ended    and take back what is in a hold
//! ```
//! A row that is written belongs to who wrote it (`write.rs`); what is here is what the chain of versions cannot
//! say: who *reads*. A reader enters its hold first and then looks for versions that are not committed; a writer
//! links its version first and then looks for holds. Both look under the book's lock, so one of them sees the
//! other. A writer that began before the book was opened does not look: the opener waits for the pins of that
//! time, as for a gate (`gate.rs`). So a table on which nobody holds anything costs a writer one branch on a word
//! that it reads anyway, and a reader nothing.
//!
//! Who waits for a hold waits for the end of the transaction that has it, as for a row.

mod range;
mod show;

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::index::Index;
use crate::index::key::with_buffer;
use crate::primitives::clerk::booked;
use crate::primitives::sync::{SpinClass, SpinLock};
use crate::row_lock::range::Ranges;
use crate::spec::bounds::Bounds;
use crate::spec::definition::IndexId;
use crate::spec::row::{RowId, RowImage};
use crate::version::blocker::{Blocker, LockWait};
use crate::version::state::TxState;
pub(crate) use range::KeyRange;
pub use show::{HeldThing, HoldRow};

/// What a hold keeps others from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Changing what is held: S, RangeS-S.
    Shared,
    /// Also from holding it so: U, RangeS-U.
    Update,
    /// Also from holding it at all: X, RangeX-X.
    Exclusive,
}

impl Hold {
    /// Tells whether two transactions may hold the same thing so.
    const fn goes_with(self, other: Self) -> bool {
        matches!((self, other), (Self::Shared, Self::Shared | Self::Update))
            || matches!((self, other), (Self::Update, Self::Shared))
    }
}

/// What a hold is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Row(RowId),
    Range(KeyRange),
    Table,
}

/// A hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Of the transaction, which gives the hold back before it gives up its state.
    pub(crate) state: *const TxState,
    pub(crate) hold: Hold,
}

impl Held {
    fn is_of(&self, state: *const TxState) -> bool {
        std::ptr::eq(self.state, state)
    }
}

/// What a writer does to a row.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The row, unless it is new.
    pub(crate) row: Option<RowId>,
    /// What it was.
    pub(crate) before: Option<RowImage<'a>>,
    /// What it will be.
    pub(crate) after: Option<RowImage<'a>>,
    /// Holds that are in the way of it: a claim minds those that are no readers'.
    pub(crate) minds: Hold,
}

/// A writer that waits for a hold: new readers let it go first.
struct Queued {
    state: *const TxState,
    row: Option<RowId>,
    keys: Vec<(IndexId, Box<[u8]>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Closed,
    Opening,
    Open,
}

/// Looks of writers at a book that nobody uses after which it is closed.
const IDLE_LOOKS_MAX: u32 = if cfg!(test) { 4 } else { 1024 };

#[derive(Default)]
struct Book {
    stage: Stage,
    /// Transactions that hold something or are about to.
    users: u32,
    idle_looks: u32,
    rows: HashMap<RowId, SmallVec<[Held; 1]>, foldhash::fast::FixedState>,
    ranges: Ranges,
    whole: SmallVec<[Held; 1]>,
    queued: Vec<Queued>,
}

// SAFETY: the pointers are to states whose owners take them out before they give the states up.
unsafe impl Send for Book {}

/// The holds on a table.
pub(crate) struct LockBook {
    /// Made when it is opened first.
    book: SpinLock<Option<Box<Book>>>,
}

impl Default for LockBook {
    fn default() -> Self {
        Self { book: SpinLock::new(SpinClass::LockHash, None) }
    }
}

/// What became of a request for a hold.
pub(crate) enum Asked {
    /// The transaction has it already, or more.
    Had,
    /// It is entered.
    Entered,
    /// Somebody is in the way.
    Behind(Blocker),
}

impl Book {
    /// Returns the holds on a place that may be in the way of another.
    fn holds_on(&self, place: &Place, each: &mut dyn FnMut(&Held)) {
        self.whole.iter().for_each(&mut *each);
        match place {
            Place::Row(row) => self.rows.get(row).into_iter().flatten().for_each(each),
            Place::Range(range) => self.ranges.overlapping(range.index, range.bounds(), each),
            Place::Table => {
                self.rows.values().flatten().for_each(&mut *each);
                self.ranges.all(each);
            }
        }
    }

    fn ask(&mut self, place: &Place, mine: Held, is_first: bool) -> Asked {
        if self.has(place, mine) {
            return Asked::Had;
        }
        let mut other: Option<*const TxState> = None;
        self.holds_on(place, &mut |held| {
            if !held.is_of(mine.state) && !held.hold.goes_with(mine.hold) && is_live(held.state) {
                other = other.or(Some(held.state));
            }
        });
        if other.is_none() && is_first {
            let waits = self
                .queued
                .iter()
                .find(|queued| !std::ptr::eq(queued.state, mine.state) && queued.is_at(place));
            other = waits.map(|queued| queued.state);
        }
        if let Some(state) = other {
            // SAFETY: whoever is in the book is alive, and this is under its lock.
            let state = unsafe { &*state };
            return Asked::Behind(Blocker::of_hold(state, wait_for(place, mine.hold)));
        }
        booked(|| match place {
            Place::Row(row) => self.rows.entry(*row).or_default().push(mine),
            Place::Range(range) => self.ranges.add(range, mine),
            Place::Table => self.whole.push(mine),
        });
        Asked::Entered
    }

    fn has(&self, place: &Place, mine: Held) -> bool {
        let covers = |held: &Held| held.is_of(mine.state) && held.hold >= mine.hold;
        self.whole.iter().any(covers)
            || match place {
                Place::Row(row) => self.rows.get(row).into_iter().flatten().any(covers),
                Place::Range(range) => self.ranges.at(range).iter().any(covers),
                Place::Table => false,
            }
    }

    fn remove(&mut self, place: &Place, state: *const TxState) {
        match place {
            Place::Row(row) => {
                if let Some(held) = self.rows.get_mut(row) {
                    held.retain(|held| !held.is_of(state));
                    if held.is_empty() {
                        self.rows.remove(row);
                    }
                }
            }
            Place::Range(range) => self.ranges.remove(range, state),
            Place::Table => self.whole.retain(|held| !held.is_of(state)),
        }
    }

    /// Finds a hold that a change is in.
    fn in_the_way(
        &self,
        me: *const TxState,
        indexes: &[Arc<Index>],
        change: Change<'_>,
    ) -> Option<*const TxState> {
        let mut found: Option<*const TxState> = None;
        let mut mind = |held: &Held| {
            if held.hold >= change.minds && !held.is_of(me) && is_live(held.state) {
                found = found.or(Some(held.state));
            }
        };
        self.whole.iter().for_each(&mut mind);
        let row = change.row.and_then(|row| self.rows.get(&row));
        row.into_iter().flatten().for_each(&mut mind);
        if !self.ranges.is_empty() {
            each_key(indexes, change, &mut |index, key| {
                self.ranges.overlapping(index, Bounds::prefix(key), &mut mind);
            });
        }
        found
    }
}

/// Runs `each` on the keys that a change takes or gives.
fn each_key(indexes: &[Arc<Index>], change: Change<'_>, each: &mut dyn FnMut(IndexId, &[u8])) {
    for index in indexes {
        for image in change.before.into_iter().chain(change.after) {
            with_buffer(|key| {
                index.extractor.key(image, key);
                // A row that the index leaves out has no key there.
                if !key.is_empty() {
                    each(index.id, key);
                }
            });
        }
    }
}

impl Queued {
    fn is_at(&self, place: &Place) -> bool {
        match place {
            Place::Row(row) => self.row == Some(*row),
            Place::Range(range) => self
                .keys
                .iter()
                .any(|(index, key)| *index == range.index && range.bounds().contains(key)),
            Place::Table => true,
        }
    }
}

/// How a wait for a hold is booked.
const fn wait_for(place: &Place, hold: Hold) -> LockWait {
    match (place, hold) {
        (Place::Range(_), Hold::Shared) => LockWait::RangeShared,
        (Place::Range(_), Hold::Update) => LockWait::RangeUpdate,
        (Place::Range(_), Hold::Exclusive) => LockWait::RangeExclusive,
        (Place::Row(_) | Place::Table, Hold::Shared) => LockWait::Shared,
        (Place::Row(_) | Place::Table, Hold::Update) => LockWait::Update,
        (Place::Row(_) | Place::Table, Hold::Exclusive) => LockWait::Exclusive,
    }
}

fn is_live(state: *const TxState) -> bool {
    // SAFETY: whoever is in the book is alive; the callers have its lock.
    !unsafe { &*state }.status().is_final()
}

impl LockBook {
    /// Notes one more transaction that uses the book of a table, and opens it; tells whether the caller must wait for
    /// the pins of this time, and then call [`Self::settle`]. `open` makes writers look here from now on.
    pub(crate) fn enter(&self, open: impl FnOnce()) -> bool {
        let mut book = self.book.lock();
        let book = book.get_or_insert_with(|| booked(Box::default));
        book.users += 1;
        book.idle_looks = 0;
        if book.stage == Stage::Closed {
            book.stage = Stage::Opening;
            // Under the lock, so that who closes it does not come in between.
            open();
        }
        book.stage != Stage::Open
    }

    pub(crate) fn settle(&self) {
        if let Some(book) = self.book.lock().as_mut() {
            book.stage = Stage::Open;
        }
    }

    pub(crate) fn ask(&self, place: &Place, mine: Held, is_first: bool) -> Asked {
        let mut book = self.book.lock();
        let book = book.as_mut().expect("who asks has entered");
        book.ask(place, mine, is_first)
    }

    pub(crate) fn remove(&self, place: &Place, state: *const TxState) {
        if let Some(book) = self.book.lock().as_mut() {
            book.remove(place, state);
        }
    }

    /// Takes out all that a transaction that ends holds.
    pub(crate) fn leave<'a>(&self, state: *const TxState, places: impl Iterator<Item = &'a Place>) {
        if let Some(book) = self.book.lock().as_mut() {
            places.for_each(|place| book.remove(place, state));
            book.users -= 1;
        }
    }

    /// Finds who holds what a change that has just been linked is in; then the writer is queued, and readers that
    /// come later let it go first. `indexes` are those of the writer's pin; `close` makes later writers not look, as
    /// `open` of [`Self::enter`] made them look.
    #[cold]
    pub(crate) fn in_the_way(
        &self,
        me: *const TxState,
        (indexes, close): (&[Arc<Index>], &dyn Fn()),
        change: Change<'_>,
    ) -> Option<Blocker> {
        let mut book = self.book.lock();
        let book = book.as_mut()?;
        if book.users == 0 {
            book.idle_looks += 1;
            if book.idle_looks >= IDLE_LOOKS_MAX {
                book.stage = Stage::Closed;
                close();
            }
            return None;
        }
        let state = book.in_the_way(me, indexes, change)?;
        let wait = match (change.row, change.minds) {
            (None, _) => LockWait::RangeInsert,
            (Some(_), Hold::Shared) => LockWait::Exclusive,
            (Some(_), _) => LockWait::Update,
        };
        let mut keys = Vec::new();
        each_key(indexes, change, &mut |index, key| keys.push((index, Box::from(key))));
        booked(|| book.queued.push(Queued { state: me, row: change.row, keys }));
        // SAFETY: whoever is in the book is alive, and this is under its lock.
        Some(Blocker::of_hold(unsafe { &*state }, wait))
    }

    pub(crate) fn unqueue(&self, me: *const TxState) {
        if let Some(book) = self.book.lock().as_mut() {
            book.queued.retain(|queued| !std::ptr::eq(queued.state, me));
        }
    }
}
