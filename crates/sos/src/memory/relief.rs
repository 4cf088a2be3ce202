//! `Relief`: who is refused memory asks those who free it, and waits until one has been through.
//!
//! ```text
//!   asks          asked + 1 = ticket ──► wakes the collector ──► waits until answered >= ticket
//!   collector     reads asked ──► a pass: frees what it finds ──► answered = what it read
//! ```
//! What was garbage before somebody asked is seen by the pass that answers him: a collector reads
//! the number before it looks. So who finds no more room then knows that nothing was left, or that
//! others still need it.
//!
//! Held by `tests/loom_memory.rs`, with mutants that must fail.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::sync::{AtomicU64, Ordering};

/// The orderings of a [`Relief`]; other than [`Proven`] only in tests that must fail.
pub trait ReliefOrders {
    /// Of the addition with which one asks.
    const ASK: Ordering;
    /// Of the load with which a pass begins.
    const BEGIN: Ordering;
    /// Of the operation that answers.
    const ANSWER: Ordering;
    /// Of the load that finds an answer.
    const ANSWERED: Ordering;
    /// Whether a pass reads whom it answers before it looks.
    const READS_FIRST: bool;
}

impl ReliefOrders for Proven {
    // Release: pairs with BEGIN: the pass sees the garbage.
    const ASK: Ordering = Ordering::Release;
    // Acquire: pairs with ASK.
    const BEGIN: Ordering = Ordering::Acquire;
    // Release: pairs with ANSWERED: who waits sees what was freed.
    const ANSWER: Ordering = Ordering::Release;
    // Acquire: pairs with ANSWER.
    const ANSWERED: Ordering = Ordering::Acquire;
    const READS_FIRST: bool = true;
}

/// Numbers of those who ask, and up to which they are answered.
#[derive(Debug)]
pub struct Relief<O = Proven> {
    asked: AtomicU64,
    answered: AtomicU64,
    orders: PhantomData<O>,
}

impl<O: ReliefOrders> Relief<O> {
    /// Makes one that nobody has asked.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self { asked: AtomicU64::new(0), answered: AtomicU64::new(0), orders: PhantomData }
    }

    /// Makes one that nobody has asked.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { asked: AtomicU64::new(0), answered: AtomicU64::new(0), orders: PhantomData }
    }

    /// Asks; returns the number under which one is answered.
    pub fn ask(&self) -> u64 {
        self.asked.fetch_add(1, O::ASK) + 1
    }

    /// Tells whether a pass that began after this number was given out has ended.
    pub fn is_answered(&self, ticket: u64) -> bool {
        self.answered.load(O::ANSWERED) >= ticket
    }

    /// Tells whether somebody waits for an answer.
    pub fn is_asked(&self) -> bool {
        // Relaxed: a hint; who asks wakes the collector afterwards.
        self.asked.load(Ordering::Relaxed) > self.answered.load(Ordering::Relaxed)
    }

    /// Runs a pass, and answers whoever had asked when it began.
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
