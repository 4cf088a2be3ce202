//! `Errand`: a piece of work that one thread may run and another one may take back, never both; and
//! `Running`, by which the latter knows that nobody is at it any more.
//!
//! | state   | next                                                        |
//! |---------|-------------------------------------------------------------|
//! | waiting | taken by who runs it, or revoked by who has sent it         |
//! | taken   | stays: who has sent it waits until nobody runs              |
//! | revoked | stays: what it refers to may be gone                        |
//!
//! Who runs errands counts itself first and takes then: so a sender that finds one taken finds it counted.

use crate::sync::{AtomicU32, Ordering};

const WAITING: u32 = 0;
const TAKEN: u32 = 1;
const REVOKED: u32 = 2;

/// The orderings of an errand, for models.
pub trait ErrandOrders {
    /// Whether who runs counts itself before it takes.
    const COUNTS_FIRST: bool;
    /// Failing to revoke: pairs with the Release of taking, behind which the count is.
    const REVOKE_FAILED: Ordering;
    /// The end of a run: pairs with the Acquire in [`Running::is_over`].
    const DONE: Ordering;
}

/// The orderings that hold.
#[derive(Debug)]
pub struct ProvenErrand;

impl ErrandOrders for ProvenErrand {
    const COUNTS_FIRST: bool = true;
    const REVOKE_FAILED: Ordering = Ordering::Acquire;
    const DONE: Ordering = Ordering::Release;
}

/// How many are at the errands of one sender.
#[derive(Debug)]
pub struct Running(AtomicU32);

impl Default for Running {
    fn default() -> Self {
        Self(AtomicU32::new(0))
    }
}

impl Running {
    /// Tells whether nobody runs. Once all errands are revoked or taken, nobody will begin.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    fn begin(&self) {
        // Relaxed: it is published by the taking behind it.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A piece of work between two threads.
#[derive(Debug)]
pub struct Errand(AtomicU32);

impl Default for Errand {
    fn default() -> Self {
        Self(AtomicU32::new(WAITING))
    }
}

impl Errand {
    /// Runs the work, unless it has been revoked.
    pub fn run<O: ErrandOrders>(&self, running: &Running, work: impl FnOnce()) {
        if O::COUNTS_FIRST {
            running.begin();
        }
        // Release: pairs with `REVOKE_FAILED`. Acquire: what the work refers to was made before it was sent.
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let taken = self.0.compare_exchange(WAITING, TAKEN, order.0, order.1).is_ok();
        if !O::COUNTS_FIRST {
            running.begin();
        }
        if taken {
            work();
        }
        running.0.fetch_sub(1, O::DONE);
    }

    /// Revokes it, unless somebody has taken it.
    pub fn revoke<O: ErrandOrders>(&self) {
        // Who fails finds it taken, or revoked before: there is nothing more to learn.
        let _ = self.0.compare_exchange(WAITING, REVOKED, Ordering::AcqRel, O::REVOKE_FAILED);
    }
}
