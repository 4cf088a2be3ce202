//! `Queue`: a bounded queue of values from many producers to one consumer. A producer waits for
//! room, the consumer for the next value, both under one address of a parking lot.
//!
//! | thread   | waits while         | wakes the others after                |
//! |----------|---------------------|---------------------------------------|
//! | producer | [`Queue::is_full`]  | [`Queue::push`], each time            |
//! | consumer | [`Queue::is_empty`] | [`Queue::pop`], if the queue was full |
//!
//! Producers check for room before they push, without a lock over both steps, so that the queue may
//! exceed its limit by a few values. The queue itself does not wait: its callers wait through a
//! crew's bell ([`crate::sched::Crew`]), or in a model through a lot.

use std::collections::VecDeque;
use std::marker::PhantomData;

use crate::lock::{Proven, SpinClass, SpinLock};
use crate::sync::{AtomicUsize, Ordering};

/// The order of a [`Queue`]'s steps; other than [`Proven`] only in tests that must fail.
pub trait QueueOrders {
    /// Whether taking a value and reading whether the queue was full is one atomic step.
    const LOOKS_AT_ONCE: bool;
}

impl QueueOrders for Proven {
    // A consumer that checks before it takes may miss the value that fills the queue, and the
    // producer that waits for room is never woken.
    const LOOKS_AT_ONCE: bool = true;
}

/// A bounded queue from many producers to one consumer.
#[derive(Debug)]
pub struct Queue<T, O = Proven> {
    values: SpinLock<VecDeque<T>>,
    len: AtomicUsize,
    len_max: usize,
    orders: PhantomData<O>,
}

impl<T, O: QueueOrders> Queue<T, O> {
    /// Makes an empty queue that is full with `len_max` values.
    #[must_use]
    pub fn new(class: SpinClass, len_max: usize) -> Self {
        Self {
            values: SpinLock::new(class, VecDeque::new()),
            len: AtomicUsize::new(0),
            len_max,
            orders: PhantomData,
        }
    }

    /// Whether a producer has to wait.
    pub fn is_full(&self) -> bool {
        // SeqCst, here and below: the thread that changes it wakes the waiters under the lot's
        // lock.
        self.len.load(Ordering::SeqCst) >= self.len_max
    }

    /// Whether the consumer has to wait.
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::SeqCst) == 0
    }

    /// Appends a value at the end.
    pub fn push(&self, value: T) {
        let mut values = self.values.lock();
        values.push_back(value);
        self.len.store(values.len(), Ordering::SeqCst);
    }

    /// Takes the oldest value; also returns whether the queue was full, so that producers may wait.
    pub fn pop(&self) -> Option<(T, bool)> {
        let (is_empty, seemed_full) = (self.is_empty(), !O::LOOKS_AT_ONCE && self.is_full());
        if is_empty {
            return None;
        }
        let mut values = self.values.lock();
        let was_full = if O::LOOKS_AT_ONCE { values.len() >= self.len_max } else { seemed_full };
        let value = values.pop_front();
        self.len.store(values.len(), Ordering::SeqCst);
        value.map(|value| (value, was_full))
    }
}
