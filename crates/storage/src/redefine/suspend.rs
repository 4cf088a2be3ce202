//! Suspending an index: what a transaction does with an index that it drops, until it ends.
//!
//! ```text
//! suspend_index ──► suspended ──┬── resume_index       the transaction was rolled back
//!                               └── remove_suspended   it was committed
//! ```
//!
//! A suspended index gets the entries of new rows, so that it is complete when it is resumed. It is not found by its
//! id, which another index may have by then, and refuses no duplicates. Those that the transaction adds are gone when
//! the index is resumed, since the rows are rolled back first. The caller has closed the table to other writers.

use std::sync::Arc;

use crate::index::Index;
use crate::primitives::pin;
use crate::spec::IndexId;
use crate::store::Table;

/// An index that [`Table::suspend_index`] has suspended.
#[must_use = "the index gets entries until it is resumed or removed"]
pub struct SuspendedIndex(Arc<Index>);

impl Table {
    /// Suspends an index; `None` if the table has none with this id.
    pub fn suspend_index(&self, index: IndexId) -> Option<SuspendedIndex> {
        let guard = pin();
        let found = Arc::clone(self.find_index(index, &guard)?);
        // Plans that are made from now on do not know that an update changes a key of it.
        self.change_indexes(|set| set.distrusting());
        found.set_suspended(true);
        Some(SuspendedIndex(found))
    }

    /// Resumes an index that was suspended.
    pub fn resume_index(&self, index: &SuspendedIndex) {
        index.0.set_suspended(false);
    }

    /// Removes an index that was suspended.
    pub fn remove_suspended(&self, index: &SuspendedIndex) {
        self.remove_index(&index.0);
    }
}
