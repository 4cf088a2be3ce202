//! Atomics, latches and ledger labels, all from `sos`: the model checkers replace them there.

#[cfg(shuttle)]
pub(crate) use no_ledger::{Label, label, labelled};
#[cfg(not(shuttle))]
pub(crate) use sos::ledger::{Label, label, labelled};
pub(crate) use sos::lock::{SpinClass, SpinLock};
pub(crate) use sos::sync::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, CachePadded, Ordering,
};

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
    }

    pub(crate) fn label(_: Label) {}

    #[must_use]
    pub(crate) struct LabelGuard;

    pub(crate) fn labelled(_: Label) -> LabelGuard {
        LabelGuard
    }
}
