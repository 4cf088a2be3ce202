//! `Board`: an immutable value that threads look at from anywhere, in the midst of an allocation or of
//! another thread's lock; who replaces it waits until nobody looks at the old one.
//!
//! A [`super::Domain`] of its own, because the process's has bags and destructors, which must not run
//! there. A look costs a fence and two stores to a line of the thread's own; it takes no lock, allocates
//! nothing and waits for nobody.

use std::ptr;

use super::domain::{Domain, EpochOrders, Slot};
use crate::lock::Proven;
use crate::sync::{Arc, AtomicPtr, Ordering};

/// A value that is replaced as a whole and looked at in sections.
#[derive(Debug)]
pub struct Board<T, O = Proven> {
    domain: Domain<O>,
    current: AtomicPtr<T>,
}

/// Ends the section, after a panic too.
struct Section<'a, O: EpochOrders>(&'a Domain<O>, &'a Slot);

impl<O: EpochOrders> Drop for Section<'_, O> {
    #[inline]
    fn drop(&mut self) {
        self.0.offline(self.1);
    }
}

impl<T: Send + Sync, O: EpochOrders> Board<T, O> {
    /// Shows a first value.
    #[must_use]
    pub fn new(value: T) -> Self {
        let current = AtomicPtr::new(Box::into_raw(Box::new(value)));
        Self { domain: Domain::new(), current }
    }

    /// Takes a thread in: the place from which it looks. Allocates.
    #[must_use]
    pub fn join(&self) -> Arc<Slot> {
        self.domain.join()
    }

    /// Lets a thread go.
    pub fn part(&self, slot: &Arc<Slot>) {
        self.domain.part(slot);
    }

    /// Looks at the current value. `slot` is the calling thread's own, and not in use further up its
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

    /// Shows another value and waits until nobody looks at the one before, which it returns. `rest`
    /// lets time pass between two checks. `slot` is the calling thread's own, not in use.
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
        // SAFETY: the swap took the only shared pointer to it, and every section that could have read
        // that has ended.
        unsafe { Box::from_raw(before) }
    }
}

impl<T, O> Drop for Board<T, O> {
    fn drop(&mut self) {
        let current = self.current.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: exclusive access: nobody looks, and `new` or `replace` made it from a box.
        drop(unsafe { Box::from_raw(current) });
    }
}
