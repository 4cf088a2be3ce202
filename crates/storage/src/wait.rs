//! Waiting for another transaction to end, and finding out when that would never happen.

use std::mem::ManuallyDrop;
use std::sync::Arc;

#[cfg(not(any(loom, shuttle)))]
pub use sos::park::Cancel;

/// Stands in for `sos::park::Cancel` under a model checker.
#[cfg(any(loom, shuttle))]
#[derive(Debug)]
pub struct Cancel(());

use crate::chain::share;
use crate::error::{Error, Result};
use crate::head::RowHead;
use crate::lock::wait_for_row;
use crate::reclaim::{pin, retire_arc};
use crate::store::Shared;
use crate::sync::Ordering;
use crate::transaction::SessionTag;
use crate::txstate::TxState;
use crate::version::Version;

/// How long a wait may take.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) cancel: Option<Arc<Cancel>>,
    pub(crate) session: SessionTag,
}

impl Default for Patience {
    fn default() -> Self {
        Self { timeout_ms: None, cancel: None, session: SessionTag::NONE }
    }
}

/// What is waited for, as the ledger books it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockWait {
    Shared,
    Update,
    Exclusive,
    RangeShared,
    RangeUpdate,
    RangeExclusive,
    /// A new row, where somebody holds the range.
    RangeInsert,
}

impl LockWait {
    #[cfg(not(any(loom, shuttle)))]
    const fn wait_type(self) -> sos::wait::WaitType {
        use sos::wait::WaitType;
        match self {
            Self::Shared => WaitType::LockShared,
            Self::Update => WaitType::LockUpdate,
            Self::Exclusive => WaitType::LockExclusive,
            Self::RangeShared => WaitType::LockRangeShared,
            Self::RangeUpdate => WaitType::LockRangeUpdate,
            Self::RangeExclusive => WaitType::LockRangeExclusive,
            Self::RangeInsert => WaitType::LockRangeInsert,
        }
    }
}

/// A transaction that is in the way. Counts on its state.
pub(crate) struct Blocker {
    state: ManuallyDrop<Arc<TxState>>,
    undos: u32,
    /// Whether it is a hold that is in the way, and no version.
    is_hold: bool,
    wait: LockWait,
}

impl Blocker {
    /// Notes that `state` owns the row whose newest version was `top`.
    pub(crate) fn new(state: &TxState, head: &RowHead, top: *mut Version) -> Self {
        let undos = state.undos.load(Ordering::SeqCst);
        // If the owner has taken its version back before `undos` was read, nobody would say so again:
        // a number that has passed makes the wait end at once.
        let undos = if head.latest() == top { undos } else { undos.wrapping_sub(1) };
        let state = ManuallyDrop::new(share(state));
        Self { state, undos, is_hold: false, wait: LockWait::Exclusive }
    }

    /// Notes that `state`, which is in a book whose lock the caller has, holds something there or queues for it.
    pub(crate) fn of_hold(state: &TxState, wait: LockWait) -> Self {
        let undos = state.taken_back(true);
        Self { state: ManuallyDrop::new(share(state)), undos, is_hold: true, wait }
    }

    /// The same, booked as another wait.
    pub(crate) fn booked_as(self, wait: LockWait) -> Self {
        let mut blocker = self;
        blocker.wait = wait;
        blocker
    }

    /// The session that it belongs to; 0 if to none.
    pub(crate) fn session(&self) -> u32 {
        self.state.session
    }

    /// The address under which to wait for it.
    pub(crate) fn key(&self) -> usize {
        self.state.key()
    }

    pub(crate) fn is_in_the_way(&self) -> bool {
        !self.state.status().is_final() && self.state.taken_back(self.is_hold) == self.undos
    }
}

impl Clone for Blocker {
    fn clone(&self) -> Self {
        let Self { undos, is_hold, wait, .. } = *self;
        Self { state: ManuallyDrop::new(share(&self.state)), undos, is_hold, wait }
    }
}

impl std::fmt::Debug for Blocker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocker").field("session", &self.session()).finish_non_exhaustive()
    }
}

impl Drop for Blocker {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let state = unsafe { ManuallyDrop::take(&mut self.state) };
        retire_arc(&pin(), state);
    }
}

/// Waits until `other` has ended or has taken back what was in the way. `waiter` is the transaction
/// that waits, if others may wait for it.
///
/// The caller holds no pin, so that memory is reclaimed meanwhile.
pub(crate) fn wait_for(
    shared: &Shared,
    waiter: Option<&TxState>,
    other: Blocker,
    patience: &Patience,
) -> Result<()> {
    if patience.session.number != 0 && other.session() != 0 {
        // The lock manager sees more: its deadlocks may go through locks and rows.
        let tag = patience.session;
        return wait_for_row(&shared.locks, tag, &other, |is_victim| {
            block(&other, patience, is_victim)
        });
    }
    let Some(waiter) = waiter else { return block(&other, patience, &|| false) };
    waiter.waits_for_hold.store(other.is_hold, Ordering::SeqCst);
    waiter.waiting_undos.store(other.undos, Ordering::SeqCst);
    waiter.waiting_for.store(Arc::as_ptr(&other.state).cast_mut(), Ordering::SeqCst);
    let result = if closes_circle(waiter) {
        Err(Error::Deadlock)
    } else {
        block(&other, patience, &|| false)
    };
    waiter.waiting_for.store(std::ptr::null_mut(), Ordering::SeqCst);
    result
}

/// Waits; `is_victim` says that it must end because the wait closes a circle.
#[cfg(not(any(loom, shuttle)))]
fn block(other: &Blocker, patience: &Patience, is_victim: &dyn Fn() -> bool) -> Result<()> {
    let state = &*other.state;
    state.waiters.fetch_add(1, Ordering::SeqCst);
    let result = park_behind(other, patience, is_victim);
    state.waiters.fetch_sub(1, Ordering::SeqCst);
    result
}

#[cfg(not(any(loom, shuttle)))]
fn park_behind(other: &Blocker, patience: &Patience, is_victim: &dyn Fn() -> bool) -> Result<()> {
    use sos::park::{Wake, park};
    use sos::sched;
    use std::time::Duration;

    use crate::txstate::Pace;

    // No timeout is so short that it would end before what is over at once.
    let timeout_ms = patience.timeout_ms.filter(|_| other.state.pace == Pace::Any);
    let timeout = timeout_ms.map(|ms| Duration::from_millis(ms.into()));
    let deadline_ns = timeout.map(sos::clock::deadline_ns);
    let _blame = sched::blame(sched::Blocker::Work(other.session()));
    // Woken for another reason that shares the key, it waits on.
    while other.is_in_the_way() {
        if is_victim() {
            return Err(Error::Deadlock);
        }
        let left = deadline_ns
            .map(|end| Duration::from_nanos(end.saturating_sub(sos::clock::monotonic_ns())));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Error::LockTimeout);
        }
        let cancel = patience.cancel.as_deref();
        let must_wait = || other.is_in_the_way() && !is_victim();
        match park(other.state.key(), other.wait.wait_type(), must_wait, left, cancel) {
            Wake::Signalled => {}
            Wake::TimedOut => return Err(Error::LockTimeout),
            Wake::Cancelled => return Err(Error::Cancelled),
        }
    }
    Ok(())
}

#[cfg(any(loom, shuttle))]
fn block(other: &Blocker, patience: &Patience, is_victim: &dyn Fn() -> bool) -> Result<()> {
    // A model's waits have no end but the owner's.
    assert!(patience.cancel.is_none() && patience.timeout_ms.is_none() && !is_victim());
    while other.is_in_the_way() {
        sos::sync::spin_hint();
    }
    Ok(())
}

/// Tells the waiters that `owner` has taken writes back, though it has not ended.
pub(crate) fn announce_undo(owner: &TxState) {
    owner.undos.fetch_add(1, Ordering::SeqCst);
    wake_waiters(owner);
}

/// Tells the waiters that `owner` has taken back a hold, or has left a queue, though it has not ended.
pub(crate) fn announce_withdrawal(owner: &TxState) {
    owner.withdrawals.fetch_add(1, Ordering::SeqCst);
    wake_waiters(owner);
}

/// Wakes whoever waits for `ended`, which is final or has announced an undo.
pub(crate) fn wake_waiters(ended: &TxState) {
    // SeqCst: pairs with the increment in `block`. Either this sees the waiter, or the waiter sees the
    // change that was stored before.
    if ended.waiters.load(Ordering::SeqCst) != 0 {
        #[cfg(not(any(loom, shuttle)))]
        sos::park::unpark_all(ended.key());
    }
}

/// Follows who waits for whom from `waiter`; every transaction waits for at most one.
///
/// Of several that close one circle at once, each stores whom it waits for before it follows the
/// chain, so at least one of them sees the whole circle.
fn closes_circle(waiter: &TxState) -> bool {
    let _guard = pin();
    let mut current: *const TxState = waiter;
    for _ in 0..CIRCLE_MAX {
        // SAFETY: a waiter holds a count on whom it waits for, and counts are given back through
        // `reclaim`, so under the guard each state read from `waiting_for` is alive.
        let state = unsafe { &*current };
        let next = state.waiting_for.load(Ordering::SeqCst);
        let undos = state.waiting_undos.load(Ordering::SeqCst);
        let is_hold = state.waits_for_hold.load(Ordering::SeqCst);
        // SAFETY: as above.
        let Some(other) = (unsafe { next.as_ref() }) else { return false };
        if other.taken_back(is_hold) != undos {
            // It is about to wake up.
            return false;
        }
        if std::ptr::eq(next, waiter) {
            return true;
        }
        current = next;
    }
    // A circle without this waiter is for its own members to find.
    false
}

/// The longest chain of waiters that is followed.
const CIRCLE_MAX: u32 = 10_000;

/// Tells whether requests are refused memory.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn is_memory_short() -> bool {
    sos::memory::check().is_err()
}

/// Waits until there is room, of which the collector may have to make some. The caller holds no pin, so that what was
/// unlinked can be freed.
///
/// # Errors
/// [`Error::OutOfMemory`] where there is none; [`Error::Cancelled`].
#[cfg(not(any(loom, shuttle)))]
#[cold]
pub(crate) fn wait_for_memory(patience: &Patience) -> Result<()> {
    use sos::memory::NoRoom;
    match sos::memory::wait_for_room(0, patience.cancel.as_deref()) {
        Ok(()) => Ok(()),
        Err(NoRoom::OverLimit) => Err(Error::OutOfMemory),
        Err(NoRoom::Cancelled) => Err(Error::Cancelled),
    }
}

/// Asks for memory without which a transaction could not go on to undo what it does.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn ask_for_reserve(bytes: usize) -> Result<()> {
    sos::memory::reserve_for(bytes).map_err(|_| Error::OutOfMemory)
}

/// See above.
#[cfg(any(loom, shuttle))]
pub(crate) fn ask_for_reserve(_: usize) -> Result<()> {
    Ok(())
}

/// A model has memory enough, but where it says that it has not: then whoever may wait does.
#[cfg(any(loom, shuttle))]
pub(crate) fn is_memory_short() -> bool {
    false
}

/// See above.
#[cfg(any(loom, shuttle))]
pub(crate) fn wait_for_memory(_: &Patience) -> Result<()> {
    Ok(())
}
