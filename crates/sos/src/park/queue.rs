//! `Queue`: values on their way from many threads to one. Only so many are in it at once; who puts one waits for
//! room, who takes them waits for the next, both under one address of a parking lot.
//!
//! | who | waits while | wakes after |
//! |---|---|---|
//! | puts   | [`Queue::is_full`]  | [`Queue::push`]: each time |
//! | takes  | [`Queue::is_empty`] | [`Queue::pop`], if the queue was full |
//!
//! Those who put look for room before they push, one by one, so that a few more values than the limit may be
//! there. It has no waiting of its own: a crew has its bell ([`crate::sched::Crew`]), a model its lot.

use std::collections::VecDeque;
use std::marker::PhantomData;

use crate::lock::{Proven, SpinClass, SpinLock};
use crate::sync::{AtomicUsize, Ordering};

/// What a [`Queue`] does in which order; other than [`Proven`] only in tests that must fail.
pub trait QueueOrders {
    /// Whether who takes a value finds out in the same moment if the queue was full.
    const LOOKS_AT_ONCE: bool;
}

impl QueueOrders for Proven {
    // Who looks before it takes may miss the one value that has filled the queue, and the thread behind that
    // value waits for good.
    const LOOKS_AT_ONCE: bool = true;
}

/// Values on their way.
#[derive(Debug)]
pub struct Queue<T, O = Proven> {
    values: SpinLock<VecDeque<T>>,
    len: AtomicUsize,
    len_max: usize,
    orders: PhantomData<O>,
}

impl<T, O: QueueOrders> Queue<T, O> {
    /// Makes an empty queue, which is full with so many values.
    #[must_use]
    pub fn new(class: SpinClass, len_max: usize) -> Self {
        Self {
            values: SpinLock::new(class, VecDeque::new()),
            len: AtomicUsize::new(0),
            len_max,
            orders: PhantomData,
        }
    }

    /// Whether who puts values has to wait.
    pub fn is_full(&self) -> bool {
        // SeqCst, here and below: who has changed it wakes those that wait, under the lot's lock.
        self.len.load(Ordering::SeqCst) >= self.len_max
    }

    /// Whether who takes values has to wait.
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::SeqCst) == 0
    }

    /// Puts a value behind the others.
    pub fn push(&self, value: T) {
        let mut values = self.values.lock();
        values.push_back(value);
        self.len.store(values.len(), Ordering::SeqCst);
    }

    /// Takes the oldest value; tells whether the queue was full, and others may wait for room.
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
