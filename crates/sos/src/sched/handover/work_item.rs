//! `WorkItem`: a piece of work that a helper thread may run and its sender may revoke, never both;
//! and `Running`, a count by which the sender knows that no helper runs one of its items.
//!
//! | state   | next                                                           |
//! |---------|----------------------------------------------------------------|
//! | waiting | taken by the thread that runs it, or revoked by its sender     |
//! | taken   | final: the sender waits until `Running` is zero                |
//! | revoked | final: what the item refers to may have been freed             |
//!
//! A helper counts itself in `Running` before it takes the item: so a sender that finds an item
//! taken also finds its helper counted.

use crate::sync::{AtomicU32, Ordering};

const WAITING: u32 = 0;
const TAKEN: u32 = 1;
const REVOKED: u32 = 2;

/// The memory orderings of a work item. A type parameter, so that models can weaken them.
pub trait WorkItemOrders {
    /// Whether a helper counts itself before it takes the item.
    const COUNTS_FIRST: bool;
    /// A failed revocation: pairs with the Release of taking the item, which publishes the count.
    const REVOKE_FAILED: Ordering;
    /// The end of a run: pairs with the Acquire in [`Running::is_over`].
    const DONE: Ordering;
}

/// The orderings that the model proves sufficient.
#[derive(Debug)]
pub struct ProvenOrders;

impl WorkItemOrders for ProvenOrders {
    const COUNTS_FIRST: bool = true;
    const REVOKE_FAILED: Ordering = Ordering::Acquire;
    const DONE: Ordering = Ordering::Release;
}

/// The number of helpers that are in work items of one sender.
#[derive(Debug)]
pub struct Running(AtomicU32);

impl Default for Running {
    fn default() -> Self {
        Self(AtomicU32::new(0))
    }
}

impl Running {
    /// Returns whether no helper runs. Once every item is revoked or taken, none will begin.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    fn begin(&self) {
        // Relaxed: taking the item, which follows, publishes it.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The state of one piece of work between its sender and the thread that may run it.
#[derive(Debug)]
pub struct WorkItem(AtomicU32);

impl Default for WorkItem {
    fn default() -> Self {
        Self(AtomicU32::new(WAITING))
    }
}

impl WorkItem {
    /// Runs the work, unless the item has been revoked.
    pub fn run<O: WorkItemOrders>(&self, running: &Running, work: impl FnOnce()) {
        if O::COUNTS_FIRST {
            running.begin();
        }
        // Release: pairs with `REVOKE_FAILED`. Acquire: what the work refers to was made before the
        // item was sent.
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

    /// Revokes the item, unless a helper has taken it.
    pub fn revoke<O: WorkItemOrders>(&self) {
        // Failure means that the item is taken or already revoked; the sender does the same for
        // both.
        let _ = self.0.compare_exchange(WAITING, REVOKED, Ordering::AcqRel, O::REVOKE_FAILED);
    }
}
