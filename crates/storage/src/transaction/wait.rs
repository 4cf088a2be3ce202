//! Waiting for another transaction, and detecting deadlocks among those without a session.

use std::sync::Arc;

use crate::lock::{LockManager, wait_for_row};
use crate::primitives::{Cancel, Ordering, pin};
use crate::spec::{Error, Result, SessionTag, TransactionOptions};
use crate::version::{Blocker, TxState};

/// The limits of a wait: timeout, cancellation, and the session that waits.
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

/// Waits until `other` has ended or has taken back what was in the way. `waiter` is the waiting
/// transaction, if other transactions can wait for it.
///
/// The caller holds no pin, so memory can be reclaimed during the wait.
pub(crate) fn wait_for(
    locks: &LockManager,
    waiter: Option<&TxState>,
    other: Blocker,
    patience: &Patience,
) -> Result<()> {
    if patience.session.number != 0 && other.session() != 0 {
        // The lock manager detects deadlocks that go through named locks as well as rows.
        let tag = patience.session;
        return wait_for_row(locks, tag, &other, |is_victim| block(&other, patience, is_victim));
    }
    let Some(waiter) = waiter else { return block(&other, patience, &|| false) };
    waiter.waits_for_hold.store(other.is_hold, Ordering::SeqCst);
    waiter.waiting_undos.store(other.undos, Ordering::SeqCst);
    waiter.waiting_for.store(Arc::as_ptr(&other.state).cast_mut(), Ordering::SeqCst);
    let result = if closes_cycle(waiter) {
        Err(Error::Deadlock)
    } else {
        block(&other, patience, &|| false)
    };
    waiter.waiting_for.store(std::ptr::null_mut(), Ordering::SeqCst);
    result
}

/// Waits; `is_victim` returns whether the wait must end because it closes a cycle.
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

    use crate::version::Pace;

    // A brief transaction ends at once, so even the shortest timeout does not apply to it.
    let timeout_ms = patience.timeout_ms.filter(|_| other.state.pace == Pace::Any);
    let timeout = timeout_ms.map(|ms| Duration::from_millis(ms.into()));
    let deadline_ns = timeout.map(sos::clock::deadline_ns);
    let _blame = sched::blame(sched::Blocker::Work(other.session()));
    // The key is shared, so a wakeup may be for another reason: then it waits on.
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
    // A model waits until the owner ends; it has no timeout.
    assert!(patience.cancel.is_none() && patience.timeout_ms.is_none() && !is_victim());
    while other.is_in_the_way() {
        sos::sync::spin_hint();
    }
    Ok(())
}

/// Walks the wait-for graph from `waiter`; every transaction waits for at most one.
///
/// If several transactions close a cycle at once, each publishes what it waits for before it walks,
/// so at least one of them sees the whole cycle.
fn closes_cycle(waiter: &TxState) -> bool {
    let _guard = pin();
    let mut current: *const TxState = waiter;
    for _ in 0..WAITS_MAX {
        // SAFETY: a waiter counts on the transaction that it waits for, and counts are dropped
        // through `epoch`, so under the guard each state read from `waiting_for` is alive.
        let state = unsafe { &*current };
        let next = state.waiting_for.load(Ordering::SeqCst);
        let undos = state.waiting_undos.load(Ordering::SeqCst);
        let is_hold = state.waits_for_hold.load(Ordering::SeqCst);
        // SAFETY: as above.
        let Some(other) = (unsafe { next.as_ref() }) else { return false };
        if other.taken_back(is_hold) != undos {
            // The wait is about to end.
            return false;
        }
        if std::ptr::eq(next, waiter) {
            return true;
        }
        current = next;
    }
    // A cycle without this waiter is detected by its own members.
    false
}

/// The largest number of waits that are followed.
const WAITS_MAX: u32 = 10_000;

/// Reserves memory that a transaction needs to be able to roll back.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn ask_for_reserve(bytes: usize) -> Result<()> {
    sos::memory::reserve_for(bytes).map_err(|_| Error::OutOfMemory)
}

/// Reserves nothing: a model has enough memory.
#[cfg(any(loom, shuttle))]
pub(crate) fn ask_for_reserve(_: usize) -> Result<()> {
    Ok(())
}

impl TransactionOptions {
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            timeout_ms: self.lock_timeout_ms,
            cancel: self.cancel.clone(),
            session: self.session,
        }
    }
}
