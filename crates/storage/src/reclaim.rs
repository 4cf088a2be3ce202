//! Deferred freeing: what is unlinked is freed when no thread can still be looking at it.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::table::Table;
use crate::txstate::TxState;
use crate::version::Version;

/// Proof that this thread is inside a storage call: what it reads from shared pointers stays valid
/// until the guard drops.
pub(crate) struct Guard(());

/// Enters.
pub(crate) fn pin() -> Guard {
    Guard(())
}

impl Guard {
    /// Frees a version that has just been made unreachable.
    ///
    /// # Safety
    /// No one can reach `version` who pins after this call, and it is retired once.
    pub(crate) unsafe fn retire_version(&self, version: NonNull<Version>) {
        // Until `sos::epoch` is there nothing is freed.
        let _ = version;
    }

    /// Gives back a count on a transaction's state.
    pub(crate) fn retire_state(&self, state: Arc<TxState>) {
        let _ = Arc::into_raw(state);
    }

    /// Gives back a count on a table.
    pub(crate) fn retire_table(&self, table: Arc<Table>) {
        let _ = Arc::into_raw(table);
    }
}

/// A value that is replaced as a whole and read without a lock.
pub(crate) struct Published<T> {
    current: crate::sync::AtomicPtr<T>,
}

impl<T> Published<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { current: crate::sync::AtomicPtr::new(Box::into_raw(Box::new(value))) }
    }

    pub(crate) fn load<'g>(&'g self, _guard: &'g Guard) -> &'g T {
        // SAFETY: made by `Box::into_raw`; a replaced one is not freed before the guard drops.
        unsafe { &*self.current.load(crate::sync::Ordering::Acquire) }
    }

    pub(crate) fn replace(&self, value: T) {
        let new = Box::into_raw(Box::new(value));
        self.current.swap(new, crate::sync::Ordering::AcqRel);
    }
}
