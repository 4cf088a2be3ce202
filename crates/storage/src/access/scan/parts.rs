//! `Parts`: distributes the parts of a table's heap among several scans.
//!
//! A part is a segment of up to some thousands of heads. A scan that has read one takes the next,
//! so a slow scan does not delay the others.

use std::sync::Arc;

use crate::access::Scan;
use crate::primitives::{AtomicBool, Ordering, SpinClass, SpinLock};
use crate::version::{HeadRun, HeapPosition};

/// The rest of a heap that several scans share.
pub struct Parts {
    next: SpinLock<HeapPosition>,
    /// Whether one of the scans counts for all.
    is_counted: AtomicBool,
}

impl Default for Parts {
    fn default() -> Self {
        let next = SpinLock::new(SpinClass::XtpTransaction, HeapPosition::default());
        Self { next, is_counted: AtomicBool::new(false) }
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl<'t> Scan<'t> {
    /// Makes a heap scan read only those parts of the heap that it takes.
    pub fn share(&mut self, parts: &Arc<Parts>) {
        if self.index.is_none() {
            self.parts = Some(Arc::clone(parts));
            // Relaxed: whichever scan comes first counts, and orders nothing by it.
            if parts.is_counted.swap(true, Ordering::Relaxed) {
                self.to_count = None;
            }
            self.position.heap = HeapPosition::BEYOND;
        }
    }

    /// Takes the next run of heads of the heap; `None` at the end.
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
