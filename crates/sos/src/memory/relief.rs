//! `Relief`: a request that is refused memory asks the collectors for a pass and waits until one
//! that began afterwards has ended.
//!
//! ```text
//!   asks          asked + 1 = ticket ──► wakes the collector ──► waits until answered >= ticket
//!   collector     reads asked ──► a pass: frees what it finds ──► answered = what it read
//! ```
//! The pass that answers a request sees everything that was garbage when the request asked, because
//! a collector reads the number before it searches. So if there is still no room, no garbage was
//! left, or other transactions still need it.
//!
//! Checked by `tests/loom_memory.rs`, with mutants that must fail.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::sync::{AtomicU64, Ordering};

/// The orderings of a [`Relief`]; other than [`Proven`] only in tests that must fail.
pub trait ReliefOrders {
    /// The ordering of the addition that asks.
    const ASK: Ordering;
    /// The ordering of the load that begins a pass.
    const BEGIN: Ordering;
    /// The ordering of the operation that answers.
    const ANSWER: Ordering;
    /// The ordering of the load that finds an answer.
    const ANSWERED: Ordering;
    /// Whether a pass reads which tickets it answers before it searches.
    const READS_FIRST: bool;
}

impl ReliefOrders for Proven {
    // Release: pairs with BEGIN: the pass sees the garbage.
    const ASK: Ordering = Ordering::Release;
    // Acquire: pairs with ASK.
    const BEGIN: Ordering = Ordering::Acquire;
    // Release: pairs with ANSWERED: a waiting request sees what was freed.
    const ANSWER: Ordering = Ordering::Release;
    // Acquire: pairs with ANSWER.
    const ANSWERED: Ordering = Ordering::Acquire;
    const READS_FIRST: bool = true;
}

/// The last ticket given out, and the last one answered.
#[derive(Debug)]
pub struct Relief<O = Proven> {
    asked: AtomicU64,
    answered: AtomicU64,
    orders: PhantomData<O>,
}

impl<O: ReliefOrders> Relief<O> {
    /// Makes one without open tickets.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self { asked: AtomicU64::new(0), answered: AtomicU64::new(0), orders: PhantomData }
    }

    /// Makes one without open tickets.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { asked: AtomicU64::new(0), answered: AtomicU64::new(0), orders: PhantomData }
    }

    /// Asks for a pass; returns a ticket for [`Relief::is_answered`].
    pub fn ask(&self) -> u64 {
        self.asked.fetch_add(1, O::ASK) + 1
    }

    /// Returns whether a pass that began after this ticket was given out has ended.
    pub fn is_answered(&self, ticket: u64) -> bool {
        self.answered.load(O::ANSWERED) >= ticket
    }

    /// Returns whether a ticket is open.
    pub fn is_asked(&self) -> bool {
        // Relaxed: a hint; a thread that asks wakes the collector afterwards.
        self.asked.load(Ordering::Relaxed) > self.answered.load(Ordering::Relaxed)
    }

    /// Runs a pass, and answers all tickets given out before it began.
    pub fn pass<R>(&self, run: impl FnOnce() -> R) -> R {
        let read = || self.asked.load(O::BEGIN);
        let first = O::READS_FIRST.then(read);
        let done = run();
        self.answered.fetch_max(first.unwrap_or_else(read), O::ANSWER);
        done
    }
}

#[cfg(any(loom, shuttle))]
impl<O: ReliefOrders> Default for Relief<O> {
    fn default() -> Self {
        Self::new()
    }
}
