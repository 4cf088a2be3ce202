//! `Board`: an immutable value that threads may read from anywhere, even inside the allocator or
//! under a lock; a thread that replaces it waits until no thread reads the old one.
//!
//! It has its own [`super::Domain`], because the process's domain has bags and destructors,
//! which must not run there. A read costs a fence and two stores to the thread's own cache line; it
//! takes no lock, allocates nothing and does not wait.

use std::ptr;

use super::domain::{Domain, EpochOrders, Slot};
use crate::lock::Proven;
use crate::sync::{Arc, AtomicPtr, Ordering};

/// A value that is replaced as a whole and read in read-side sections.
#[derive(Debug)]
pub struct Board<T, O = Proven> {
    domain: Domain<O>,
    current: AtomicPtr<T>,
}

/// Ends the read-side section when dropped, also after a panic.
struct Section<'a, O: EpochOrders>(&'a Domain<O>, &'a Slot);

impl<O: EpochOrders> Drop for Section<'_, O> {
    #[inline]
    fn drop(&mut self) {
        self.0.offline(self.1);
    }
}

impl<T: Send + Sync, O: EpochOrders> Board<T, O> {
    /// Makes a board with its first value.
    #[must_use]
    pub fn new(value: T) -> Self {
        let current = AtomicPtr::new(Box::into_raw(Box::new(value)));
        Self { domain: Domain::new(), current }
    }

    /// Registers the calling thread and returns the slot by which it reads. Allocates.
    #[must_use]
    pub fn join(&self) -> Arc<Slot> {
        self.domain.join()
    }

    /// Removes a thread's slot.
    pub fn part(&self, slot: &Arc<Slot>) {
        self.domain.part(slot);
    }

    /// Reads the current value. `slot` is that of the calling thread, and not in use further up its
    /// stack.
    #[inline]
    pub fn look<R>(&self, slot: &Slot, run: impl FnOnce(&T) -> R) -> R {
        self.domain.online(slot);
        let _section = Section(&self.domain, slot);
        // Acquire: pairs with the Release half of the swap in `replace`.
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: it comes from a box that `replace` hands on only after this section has ended.
        run(unsafe { &*current })
    }

    /// Publishes another value, waits until no thread reads the one before, and returns that.
    /// `rest` lets time pass between two checks. `slot` is that of the calling thread, and not in
    /// use.
    pub fn replace(&self, slot: &Slot, value: T, mut rest: impl FnMut()) -> Box<T> {
        let next = Box::into_raw(Box::new(value));
        self.domain.online(slot);
        // AcqRel: publishes `next`, and sees what the publisher of the old one wrote.
        let before = self.current.swap(next, Ordering::AcqRel);
        let tag = self.domain.tag(slot);
        self.domain.offline(slot);
        while !self.domain.is_free(tag) {
            if !self.domain.advance() {
                rest();
            }
        }
        // SAFETY: the swap took the only shared pointer to it, and every section that could have
        // read that has ended.
        unsafe { Box::from_raw(before) }
    }
}

impl<T, O> Drop for Board<T, O> {
    fn drop(&mut self) {
        let current = self.current.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: exclusive access: no thread reads, and `new` or `replace` made it from a box.
        drop(unsafe { Box::from_raw(current) });
    }
}
