//! Atomics, latches and ledger labels, all from `sos`: the model checkers replace them there.

#[cfg(shuttle)]
pub(crate) use no_ledger::{Label, label, labelled, measured};
#[cfg(not(shuttle))]
pub(crate) use sos::ledger::{Label, label, labelled, measured};
pub(crate) use sos::lock::{SpinClass, SpinLock};
pub(crate) use sos::sync::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, CachePadded, Ordering,
};

/// Lets an injected delay pass before a lock is released, if another session waits for it.
#[inline]
pub(crate) fn delay_release(is_waited_for: impl FnOnce() -> bool) {
    #[cfg(not(any(loom, shuttle)))]
    {
        use sos::inject::{Point, is_at, pass};
        if is_at(Point::Locks) && is_waited_for() {
            pass(Point::Locks);
        }
    }
    #[cfg(any(loom, shuttle))]
    let _ = is_waited_for;
}

/// Makes the next check of the quantum read the clock.
#[inline]
pub(crate) fn check_quantum_soon() {
    #[cfg(not(any(loom, shuttle)))]
    sos::sched::check_quantum_soon();
}

/// Lets another request run if this one has held its scheduler for a quantum.
#[inline]
pub(crate) fn yield_if_quantum_due() {
    #[cfg(not(any(loom, shuttle)))]
    sos::sched::yield_if_quantum_due();
}

/// Lets another request run, as [`yield_if_quantum_due`], and reads the clock to find out: for loops
/// that call it after more work than a few rows are.
#[inline]
pub(crate) fn let_others_run() {
    check_quantum_soon();
    yield_if_quantum_due();
}

/// Prefetches the cache line of an address, which need not be valid: nothing is read or written.
#[inline]
pub(crate) fn prefetch(place: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch of an address that is not mapped does nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

/// Stand-ins for the ledger's labels, which a model checker does not have.
#[cfg(shuttle)]
mod no_ledger {
    #[derive(Clone, Copy)]
    pub(crate) enum Label {
        Index,
        Row,
        Commit,
        Collect,
        Versions,
        IndexMaintenance,
    }

    pub(crate) fn label(_: Label) {}

    #[must_use]
    pub(crate) struct LabelGuard;

    pub(crate) fn labelled(_: Label) -> LabelGuard {
        LabelGuard
    }

    pub(crate) fn measured(_: Label) -> LabelGuard {
        LabelGuard
    }
}
