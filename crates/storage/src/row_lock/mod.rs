//! Row locks: shared, update and exclusive locks on rows, key ranges and whole tables, by which
//! REPEATABLE READ, SERIALIZABLE and table hints keep writers out. Such a lock is called a *hold*
//! here, to tell it from the named locks of `lock/`.
//!
//! ```text
//!            first transaction that holds something          no holder for a while
//!  Closed ─────────────────► Opening ─────────────► Open ──────────────────────────► Closed
//!   writers do not look       until the pins of      writers link, then look here,
//!                             its time have ended    and take back what is in a hold
//! ```
//! A row that is written belongs to the transaction that wrote it (`transaction/write.rs`). The
//! book of a table has what the chain of versions cannot say: which transactions *read*. A reader
//! enters its hold first and then looks for versions that are not committed; a writer links its
//! version first and then looks for holds. Both look under the book's lock, so one of them sees the
//! other. A writer that began before the book was opened does not look: the transaction that opens
//! it waits for the pins of that time, as for a gate (`store/gate.rs`). So a table without holds
//! costs a writer one branch on a word that it reads anyway, and a reader nothing.
//!
//! A transaction that waits for a hold waits for the end of its holder, as for a row.
//!
//! The holds are in ordered maps, which grow and shrink by nodes of eleven entries: a table that
//! doubles would keep all others spinning while a million holds are copied, and would take its
//! memory at once. What is done under the lock is bounded by the depth of a tree, however many rows
//! and transactions there are; only a request for a range, where another transaction has holds of a
//! kind that conflicts, looks at the ranges that it meets.
//!
//! This folder does not know transactions, isolation levels or waiting: `transaction/row_locks.rs`
//! takes the holds. Start with [`LockBook`]; `range.rs` finds the key ranges that contain a key,
//! `holders.rs` has the holds on one thing, `users.rs` counts what each transaction holds, `queue.rs`
//! has the writers that wait.

mod holders;
mod queue;
mod range;
mod show;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod users;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::index::{Index, with_buffer};
use crate::primitives::{SpinClass, SpinLock, booked};
use crate::row_lock::holders::Holders;
use crate::row_lock::queue::{Queue, Queued};
use crate::row_lock::range::Ranges;
use crate::row_lock::users::{User, Users};
use crate::spec::{Bounds, IndexId, RowId, RowImage};
use crate::version::{Blocker, LockWait, TxState};
pub(crate) use range::KeyRange;
pub use show::{HeldThing, HoldRow};

/// The mode of a hold: what it prevents other transactions from doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// S, RangeS-S: no other transaction may change what is held.
    Shared,
    /// U, RangeS-U: as `Shared`, and no other may hold it in this mode.
    Update,
    /// X, RangeX-X: as `Shared`, and no other may hold it in any mode.
    Exclusive,
}

impl Hold {
    /// All modes, the weakest first.
    const ALL: [Self; 3] = [Self::Shared, Self::Update, Self::Exclusive];

    /// The place of the mode in [`Self::ALL`].
    const fn index(self) -> usize {
        match self {
            Self::Shared => 0,
            Self::Update => 1,
            Self::Exclusive => 2,
        }
    }

    /// Returns the weakest mode in which no other transaction may hold the same thing; nor may it in
    /// a stronger one.
    const fn minds(self) -> Self {
        match self {
            Self::Shared => Self::Exclusive,
            Self::Update => Self::Update,
            Self::Exclusive => Self::Shared,
        }
    }
}

/// What a hold is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Row(RowId),
    Range(KeyRange),
    Table,
}

/// A hold of one transaction. Holds are in the order of their modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub(crate) hold: Hold,
    /// The state of the transaction, which removes the hold before it releases the state.
    pub(crate) state: *const TxState,
}

impl Held {
    fn is_of(&self, state: *const TxState) -> bool {
        std::ptr::eq(self.state, state)
    }
}

/// A change of a row, as a writer looks it up in the book.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The row; `None` for a new one.
    pub(crate) row: Option<RowId>,
    /// The row before the change; `None` for a new one.
    pub(crate) before: Option<RowImage<'a>>,
    /// The row after the change; `None` if it is deleted or only claimed.
    pub(crate) after: Option<RowImage<'a>>,
    /// The weakest mode that conflicts with the change: `Update` for a claim.
    pub(crate) minds: Hold,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Closed,
    Opening,
    Open,
}

/// Checks by writers after which a book that no transaction uses is closed.
const IDLE_LOOKS_MAX: u32 = if cfg!(test) { 4 } else { 1024 };

/// What is done with the holds on each thing that is met; [`ControlFlow::Break`] ends the search.
type Each<'a> = &'a mut dyn FnMut(&Holders) -> ControlFlow<()>;

/// Holds that are removed while the lock is held.
const REMOVED_AT_ONCE: usize = if cfg!(test) { 2 } else { 64 };

#[derive(Default)]
struct Book {
    stage: Stage,
    /// Transactions that hold something or are about to.
    users: Users,
    idle_looks: u32,
    rows: BTreeMap<RowId, Holders>,
    ranges: Ranges,
    whole: Holders,
    /// The writers that wait for a hold. New readers wait behind them.
    queue: Queue,
}

// SAFETY: the pointers are to states whose owners remove them before they release the states.
unsafe impl Send for Book {}

/// The holds on the rows and key ranges of one table.
pub(crate) struct LockBook {
    /// Allocated when the book is first opened.
    book: SpinLock<Option<Box<Book>>>,
}

impl Default for LockBook {
    fn default() -> Self {
        Self { book: SpinLock::new(SpinClass::LockHash, None) }
    }
}

/// The result of a request for a hold.
pub(crate) enum Asked {
    /// The transaction has this hold already, or a stronger one.
    Had,
    /// The hold is entered in the book.
    Entered,
    /// Another transaction's hold conflicts, or it waits first.
    Behind(Blocker),
}

impl Book {
    /// Finds another transaction whose hold conflicts with one in this mode.
    fn in_conflict(&self, place: &Place, (user, mine): (User, Held)) -> Option<*const TxState> {
        let weakest = mine.hold.minds();
        if !self.users.others_have(Some(user), weakest) {
            return None;
        }
        let find = |holders: &Holders| holders.find_other(mine.state, weakest, is_live);
        let in_range = |range: &KeyRange| {
            let mut other = None;
            let _ = self.ranges.overlapping(range.index, range.bounds(), &mut |holders| {
                other = find(holders);
                break_if(other.is_some())
            });
            other
        };
        match place {
            Place::Table => self.users.find_other(mine.state, weakest, is_live),
            Place::Row(row) => find(&self.whole).or_else(|| self.rows.get(row).and_then(find)),
            Place::Range(range) => find(&self.whole).or_else(|| in_range(range)),
        }
    }

    fn ask(&mut self, place: &Place, mine: Held, is_first: bool) -> Asked {
        let user = self.users.find(mine.state).expect("who asks has entered");
        if let Place::Row(row) = place {
            return self.ask_row(*row, (user, mine), is_first);
        }
        if self.users.has(user, mine.hold) && self.has(place, mine) {
            return Asked::Had;
        }
        let other = self.in_conflict(place, (user, mine));
        if let Some(state) = other.or_else(|| first_in(&self.queue, place, mine, is_first)) {
            return behind(state, place, mine);
        }
        booked(|| match place {
            Place::Row(_) => unreachable!("it has a way of its own"),
            Place::Range(range) => self.ranges.add(range, mine),
            Place::Table => self.whole.push(mine),
        });
        self.users.add(user, mine.hold);
        Asked::Entered
    }

    /// As [`Self::ask`], for a row, which is looked up once.
    fn ask_row(&mut self, row: RowId, (user, mine): (User, Held), is_first: bool) -> Asked {
        let entry = self.rows.entry(row);
        let there = match &entry {
            Entry::Occupied(entry) => entry.get(),
            Entry::Vacant(_) => &Holders::Nothing,
        };
        let both = [&self.whole, there];
        if both.iter().any(|holders| holders.covers(mine.state, mine.hold)) {
            return Asked::Had;
        }
        let weakest = mine.hold.minds();
        let mut other = None;
        if self.users.others_have(Some(user), weakest) {
            other =
                both.iter().find_map(|holders| holders.find_other(mine.state, weakest, is_live));
        }
        let place = Place::Row(row);
        if let Some(state) = other.or_else(|| first_in(&self.queue, &place, mine, is_first)) {
            return behind(state, &place, mine);
        }
        booked(|| match entry {
            Entry::Vacant(entry) => {
                entry.insert(Holders::One(mine));
            }
            Entry::Occupied(mut entry) => entry.get_mut().push(mine),
        });
        self.users.add(user, mine.hold);
        Asked::Entered
    }

    fn has(&self, place: &Place, mine: Held) -> bool {
        let covers = |holders: &Holders| holders.covers(mine.state, mine.hold);
        covers(&self.whole)
            || match place {
                Place::Row(row) => self.rows.get(row).is_some_and(covers),
                Place::Range(range) => self.ranges.at(range).is_some_and(covers),
                Place::Table => false,
            }
    }

    /// Removes the holds of a transaction on a place that are in one of these modes.
    fn remove(&mut self, place: &Place, state: *const TxState, modes: &[Hold]) {
        let users = &mut self.users;
        let mut remove = |holders: &mut Holders| {
            for hold in modes {
                let held = Held { state, hold: *hold };
                if holders.remove(held) {
                    users.remove(held);
                }
            }
        };
        match place {
            Place::Row(row) => {
                let Entry::Occupied(mut entry) = self.rows.entry(*row) else { return };
                remove(entry.get_mut());
                if entry.get().is_empty() {
                    entry.remove();
                }
            }
            Place::Range(range) => self.ranges.change(range, remove),
            Place::Table => remove(&mut self.whole),
        }
    }

    /// Finds a hold that conflicts with a change.
    fn in_the_way(
        &self,
        me: *const TxState,
        indexes: &[Arc<Index>],
        change: Change<'_>,
    ) -> Option<*const TxState> {
        if !self.users.others_have(self.users.find(me), change.minds) {
            return None;
        }
        let find = |holders: &Holders| holders.find_other(me, change.minds, is_live);
        let row = change.row.and_then(|row| self.rows.get(&row));
        let mut found = find(&self.whole).or_else(|| row.and_then(find));
        if found.is_none() && !self.ranges.is_empty() {
            each_key(indexes, change, &mut |index, key| {
                if found.is_none() {
                    let _ = self.ranges.overlapping(index, Bounds::prefix(key), &mut |holders| {
                        found = find(holders);
                        break_if(found.is_some())
                    });
                }
            });
        }
        found
    }
}

const fn break_if(is_over: bool) -> ControlFlow<()> {
    if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Finds a writer that waits at a place, and so comes before a transaction that holds nothing yet.
fn first_in(queue: &Queue, place: &Place, mine: Held, is_first: bool) -> Option<*const TxState> {
    if is_first { queue.find_other(place, mine.state) } else { None }
}

fn behind(state: *const TxState, place: &Place, mine: Held) -> Asked {
    // SAFETY: a transaction in the book is alive, and this is under its lock.
    let state = unsafe { &*state };
    Asked::Behind(Blocker::of_hold(state, wait_for(place, mine.hold)))
}

/// All holds of a book, which nothing leads to any more.
pub(crate) struct Taken {
    rows: BTreeMap<RowId, Holders>,
    ranges: Ranges,
}

impl Taken {
    /// Frees the holds, and pauses in between.
    pub(crate) fn free(self, pause: &dyn Fn()) {
        let rows = self.rows.into_values().map(drop);
        for (number, ()) in rows.chain(self.ranges.into_holders().map(drop)).enumerate() {
            if number % FREED_AT_ONCE == FREED_AT_ONCE - 1 {
                pause();
            }
        }
    }
}

/// Holds that are freed between two pauses.
const FREED_AT_ONCE: usize = 1_024;

/// Holds up to which a transaction removes them one by one, so that the memory of few stays for the
/// next transaction.
const FEW: usize = if cfg!(test) { 2 } else { 16 };

/// Runs `each` on the keys that a change adds or removes.
fn each_key(indexes: &[Arc<Index>], change: Change<'_>, each: &mut dyn FnMut(IndexId, &[u8])) {
    for index in indexes {
        for image in change.before.into_iter().chain(change.after) {
            with_buffer(|key| {
                index.extractor.key(image, key);
                // A row that a filtered index does not contain has no key there.
                if !key.is_empty() {
                    each(index.id, key);
                }
            });
        }
    }
}

/// The wait type of a wait for a hold.
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
    // SAFETY: a transaction in the book is alive; the callers hold the book's lock.
    !unsafe { &*state }.status().is_final()
}

impl LockBook {
    /// Counts one more transaction that uses the book, and opens it if it is closed. Returns
    /// whether the caller must wait for the pins of this time and then call [`Self::settle`].
    /// `open` makes writers look here from now on.
    pub(crate) fn enter(&self, state: *const TxState, open: impl FnOnce()) -> bool {
        let mut book = self.book.lock();
        let book = book.get_or_insert_with(|| booked(Box::default));
        booked(|| book.users.enter(state));
        book.idle_looks = 0;
        if book.stage == Stage::Closed {
            book.stage = Stage::Opening;
            // Under the lock, so that closing the book cannot come in between.
            open();
        }
        book.stage != Stage::Open
    }

    pub(crate) fn settle(&self) {
        if let Some(book) = self.book.lock().as_mut() {
            book.stage = Stage::Open;
        }
    }

    /// Asks for a hold.
    pub(crate) fn ask(&self, place: &Place, mine: Held, is_first: bool) -> Asked {
        let mut book = self.book.lock();
        let book = book.as_mut().expect("who asks has entered");
        book.ask(place, mine, is_first)
    }

    /// Removes one hold, and leaves those that the transaction has there in other modes.
    pub(crate) fn withdraw(&self, place: &Place, mine: Held) {
        if let Some(book) = self.book.lock().as_mut() {
            book.remove(place, mine.state, &[mine.hold]);
        }
    }

    /// Removes the holds of a transaction on these places, and pauses the lock in between, so that
    /// others that want it spin for a few of them.
    pub(crate) fn remove_all(&self, places: &[Place], state: *const TxState) {
        for places in places.chunks(REMOVED_AT_ONCE) {
            if let Some(book) = self.book.lock().as_mut() {
                places.iter().for_each(|place| book.remove(place, state, &Hold::ALL));
            }
        }
    }

    /// Removes the holds of a transaction if they are few, and ends its use of the book; else returns
    /// `false`, and nothing is done.
    pub(crate) fn end_few(&self, places: &[Place], state: *const TxState) -> bool {
        if places.len() > FEW {
            return false;
        }
        if let Some(book) = self.book.lock().as_mut() {
            places.iter().for_each(|place| book.remove(place, state, &Hold::ALL));
            book.users.leave(state);
        }
        true
    }

    /// Takes out all holds at once if they are those of this transaction alone.
    pub(crate) fn take_all(&self, state: *const TxState) -> Option<Taken> {
        let mut book = self.book.lock();
        let book = book.as_mut()?;
        if !book.users.take_only(state) {
            return None;
        }
        book.whole = Holders::Nothing;
        let (rows, ranges) = (std::mem::take(&mut book.rows), std::mem::take(&mut book.ranges));
        Some(Taken { rows, ranges })
    }

    /// Ends the use of the book by a transaction that holds nothing any more.
    pub(crate) fn leave(&self, state: *const TxState) {
        if let Some(book) = self.book.lock().as_mut() {
            book.users.leave(state);
        }
    }

    /// Finds a transaction whose hold conflicts with a change that has just been linked. The writer
    /// is then queued, and readers that come later wait behind it. `indexes` are those of the
    /// writer's pin; `close` makes later writers stop looking here, the reverse of `open` in
    /// [`Self::enter`].
    #[cold]
    pub(crate) fn in_the_way(
        &self,
        me: *const TxState,
        (indexes, close): (&[Arc<Index>], &dyn Fn()),
        change: Change<'_>,
    ) -> Option<Blocker> {
        let mut book = self.book.lock();
        let book = book.as_mut()?;
        if book.users.is_empty() {
            book.idle_looks += 1;
            if book.idle_looks >= IDLE_LOOKS_MAX {
                book.stage = Stage::Closed;
                (book.rows, book.ranges) = Default::default();
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
        booked(|| book.queue.push(me, Queued { row: change.row, keys }));
        // SAFETY: a transaction in the book is alive, and this is under its lock.
        Some(Blocker::of_hold(unsafe { &*state }, wait))
    }

    pub(crate) fn unqueue(&self, me: *const TxState) {
        if let Some(book) = self.book.lock().as_mut() {
            book.queue.remove(me);
        }
    }
}
