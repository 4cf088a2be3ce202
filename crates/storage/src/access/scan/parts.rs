//! `Parts`: hands the heap of a table out in parts, each to one of several scans.
//!
//! A part is a segment of heads: up to some thousands of rows. Who has walked one asks for the next, so that a
//! scan that is held up holds nobody else up.

use std::sync::Arc;

use crate::access::scan::Scan;
use crate::primitives::sync::{SpinClass, SpinLock};
use crate::version::heap::{HeadRun, HeapPosition};

/// What is left of a heap that several scans walk.
pub struct Parts {
    next: SpinLock<HeapPosition>,
}

impl Default for Parts {
    fn default() -> Self {
        Self { next: SpinLock::new(SpinClass::XtpTransaction, HeapPosition::default()) }
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl<'t> Scan<'t> {
    /// Walks only those parts of the heap that it gets. A scan in the order of an index has none.
    pub fn share(&mut self, parts: &Arc<Parts>) {
        if self.index.is_none() {
            self.parts = Some(Arc::clone(parts));
            self.position.heap = HeapPosition::BEYOND;
        }
    }

    /// Takes the next heads of the heap; `None` at the end.
    pub(super) fn next_run(&mut self, heads_max: usize) -> Option<HeadRun<'t>> {
        let heap = &self.table.heap;
        let Some(parts) = &self.parts else { return heap.run(&mut self.position.heap, heads_max) };
        loop {
            if let Some(run) = heap.run_in_segment(&mut self.position.heap, heads_max) {
                return Some(run);
            }
            self.position.heap = heap.take_segment(&mut parts.next.lock())?;
        }
    }
}
