//! Reading many rows per call: for statements that read whole tables and change nothing.
//!
//! Row by row, each row costs a pin of the epoch, a borrow of the transaction and a call. Here they
//! are paid once for the heads read ahead, and the loads of versions overlap.

use crate::access::Scan;
use crate::index::{Index, has_key};
use crate::primitives::pin;
use crate::spec::{Result, RowImage};
use crate::version::{HeadRun, RowHead, Sight, Version, View, prefetch_version, visible_fast};

impl<'t> Scan<'t> {
    /// Appends the next rows to `images` until it has `images_max` of them; appends nothing only at
    /// the end. The images are valid as long as the borrow of the transaction.
    ///
    /// # Errors
    /// As [`Scan::next`]; the rows before the failing one are in `images`.
    pub fn next_images(&mut self, images: &mut Vec<RowImage<'t>>, images_max: usize) -> Result<()> {
        if self.transaction.remembers(self.table, self.position.read) {
            while images.len() < images_max
                && let Some(row) = self.next()?
            {
                images.push(row.image());
            }
            return Ok(());
        }
        let mut is_first = true;
        while images.len() < images_max {
            // The caller counts the rows that it gets; of those that are not visible it knows nothing.
            if !std::mem::take(&mut is_first) {
                self.transaction.pause()?;
            }
            if self.batch.is_empty() {
                if self.position.is_done || self.is_last {
                    return Ok(());
                }
                if self.index.is_some() || self.see_heap(images, images_max) {
                    self.fill();
                }
                continue;
            }
            if self.see(images, images_max) {
                // Its visibility depends on another transaction's outcome: `next` waits for that.
                let Some(row) = self.next()? else { return Ok(()) };
                images.push(row.image());
            }
        }
        Ok(())
    }

    /// Appends the next rows in heap order; returns `true` before a row that is undecided.
    fn see_heap(&mut self, images: &mut Vec<RowImage<'t>>, images_max: usize) -> bool {
        self.count();
        let Some(run) = self.next_run(images_max - images.len()) else {
            self.position.is_done = true;
            return false;
        };
        let Some(passed) = self.passed else {
            return self.see_run(run, 0..run.len(), images);
        };
        let first = run.head(0).id().0;
        let end = first + run.len() as u64;
        let place = |id: u64| usize::try_from(id - first).expect("a run is small");
        let mut next = first;
        while let Some(loose) = passed.loose(next, end) {
            if self.see_run(run, place(loose.start)..place(loose.end), images) {
                return true;
            }
            next = loose.end;
        }
        false
    }

    /// Appends the rows of a part of a run, like `see_heap`.
    fn see_run(
        &mut self,
        run: HeadRun<'t>,
        part: std::ops::Range<usize>,
        images: &mut Vec<RowImage<'t>>,
    ) -> bool {
        let view = View { me: self.transaction.me(), ..self.view };
        let clock = self.transaction.clock();
        let guard = pin();
        part.clone().take(AHEAD).for_each(|next| prefetch_version(run.head(next)));
        for number in part.clone() {
            if number + AHEAD < part.end {
                prefetch_version(run.head(number + AHEAD));
            }
            match visible_fast(run.head(number), view, clock, &guard) {
                Sight::Row(version) => {
                    // SAFETY: as in `see`.
                    let version: &'t Version = unsafe { &*std::ptr::from_ref(version) };
                    images.push(version.image());
                }
                Sight::Nothing => {}
                Sight::Undecided(_) | Sight::Dirty => {
                    self.position.heap.step_back(run.len() - number);
                    return true;
                }
            }
        }
        false
    }

    /// Appends the visible ones of the rows read ahead. Returns `true` at a row whose visibility is
    /// undecided; that one is read next.
    fn see(&mut self, images: &mut Vec<RowImage<'t>>, images_max: usize) -> bool {
        let view = View { me: self.transaction.me(), ..self.view };
        let clock = self.transaction.clock();
        let guard = pin();
        let mut seen = 0;
        let mut undecided = false;
        for (key, head) in &self.batch {
            if images.len() == images_max {
                break;
            }
            let version = match visible_fast(head, view, clock, &guard) {
                Sight::Row(version) => version,
                Sight::Nothing => {
                    seen += 1;
                    continue;
                }
                Sight::Undecided(_) | Sight::Dirty => {
                    undecided = true;
                    break;
                }
            };
            seen += 1;
            // SAFETY: as in `Transaction::see`: the version is visible to a snapshot whose slot is
            // held, or the transaction's own, so it stays as long as the borrow.
            let version: &'t Version = unsafe { &*std::ptr::from_ref(version) };
            let image = version.image();
            if self
                .index
                .zip(key.as_deref())
                .is_none_or(|(index, key)| is_under(index, head, image, key))
            {
                images.push(image);
            }
        }
        if let Some((Some(key), head)) = self.batch.drain(..seen).next_back() {
            self.position.after = Some((key, head.id()));
        }
        undecided
    }
}

/// Rows whose versions are being prefetched while one is read.
const AHEAD: usize = 12;

/// Returns whether a row has the key under which an index led to it.
fn is_under(index: &Index, head: &RowHead, image: RowImage<'_>, key: &[u8]) -> bool {
    // The mark is read after the version: a writer that changes the key sets it before.
    !index.is_verified_by_reader(head) || has_key(index, image, key)
}
