//! Probes a hash table: joins the batches of the left side with the stored right rows.

use std::sync::Arc;

use sos::ledger::{self, Label};
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::{Result, Value};

use super::built::{Built, encode};
use crate::interner::Unknown;
use crate::kernel::Kernel;
use crate::keys::{KeyRows, Keys};
use crate::table::NONE;
use crate::{Flow, Receive, Rows, Stage, only};
use executor::{Cx, fault};
use plan::query::JoinKind;

/// The probe side of a hash join.
pub(super) struct Probe<'p> {
    pub(super) kind: JoinKind,
    pub(super) left_keys: Vec<Kernel<'p>>,
    pub(super) on: Option<Kernel<'p>>,
    /// For each left column, whether an operator above reads it; otherwise it is not copied.
    pub(super) left_wanted: Vec<bool>,
    pub(super) keys: Keys,
    pub(super) table: Arc<Built>,
    /// FULL: for each right row, whether a left row has matched it.
    pub(super) matched: Vec<bool>,
    pub(super) scratch: Scratch,
}

/// Buffers for the current batch, reused for the next one.
#[derive(Default)]
pub(super) struct Scratch {
    /// For each selected row, the first row of its chain.
    found: Vec<u32>,
    key_rows: KeyRows,
    /// Right columns to be added beside a left batch, while they are not part of one.
    beside: Vec<Vector>,
    /// The batch of joined rows.
    out: Batch,
    pairs: Pairs,
}

/// Left and right row numbers of joined rows. A pair without right row has the number of the row of
/// NULLs.
#[derive(Default)]
pub(super) struct Pairs {
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
}

impl<'p> Stage<'p> for Probe<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        let _label = ledger::labelled(Label::Join);
        let key_rows = &mut self.scratch.key_rows;
        encode(&mut self.keys, &mut self.left_keys, batch, Unknown::Skip, key_rows, cx)?;
        self.table.find(&self.scratch.key_rows, &mut self.scratch.found);
        Ok(())
    }

    fn give(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let is_half = matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        if self.on.is_some() {
            return self.give_tested(batch, cx, rows, receive);
        }
        if is_half {
            return self.give_half(batch, cx, rows, receive);
        }
        // With few rows selected in a batch, copying them is cheaper than passing the batch on with
        // gaps.
        let is_dense = batch.selection.len() * 4 > batch.rows();
        if self.table.is_unique && self.kind != JoinKind::Full && is_dense {
            return self.give_beside(batch, cx, rows, receive);
        }
        self.give_pairs(batch, cx, rows, receive)
    }
}

impl<'p> Probe<'p> {
    /// Semi and anti joins without ON: passes on the left rows with a match, or those without.
    fn give_half(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let wanted = self.kind == JoinKind::Semi;
        narrow(batch, &self.scratch.found, |found| (found != NONE) == wanted);
        if batch.selection.is_empty() { Ok(Flow::More) } else { receive(cx, rows, batch) }
    }

    /// Adds the columns of the matching right row beside each left row.
    fn give_beside(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let label = ledger::labelled(Label::Join);
        let null_row = self.table.null_row();
        let right = &mut self.scratch.pairs.right;
        right.clear();
        right.resize(batch.rows(), 0);
        for (row, found) in batch.selection.iter().zip(&self.scratch.found) {
            right[row] = if *found == NONE { null_row } else { *found };
        }
        if self.kind == JoinKind::Inner {
            narrow(batch, &self.scratch.found, |found| found != NONE);
            if batch.selection.is_empty() {
                return Ok(Flow::More);
            }
            // Other rows are not selected: any row will do, but a NULL would make the columns
            // nullable.
            right.iter_mut().filter(|row| **row == null_row).for_each(|row| *row = 0);
        }
        let left_columns = batch.columns.len();
        if self.scratch.beside.is_empty() {
            self.scratch.beside.extend(self.table.forms());
        }
        for (mut column, from) in self.scratch.beside.drain(..).zip(&self.table.store.columns) {
            column.clear();
            column.take(from, right);
            batch.columns.push(column);
        }
        drop(label);
        let flow = receive(cx, rows, batch);
        self.scratch.beside.extend(batch.columns.drain(left_columns..));
        flow
    }

    /// Makes a pair for each match.
    fn give_pairs(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let is_inner = self.kind == JoinKind::Inner;
        let null_row = self.table.null_row();
        self.scratch.pairs.clear();
        if self.table.is_unique && self.kind != JoinKind::Full {
            return self.give_single_pairs(batch, cx, rows, receive);
        }
        for place in 0..self.scratch.found.len() {
            let row = row_at(&batch.selection, place);
            let mut next = self.scratch.found[place];
            if next == NONE && !is_inner {
                self.scratch.pairs.push(row, null_row);
            }
            while next != NONE {
                if let Some(matched) = self.matched.get_mut(next as usize) {
                    *matched = true;
                }
                self.scratch.pairs.push(row, next);
                next = self.table.next[next as usize];
                if self.scratch.pairs.left.len() == BATCH_ROWS
                    && self.flush(batch, cx, rows, receive)? == Flow::Enough
                {
                    return Ok(Flow::Enough);
                }
            }
            if self.scratch.pairs.left.len() >= BATCH_ROWS
                && self.flush(batch, cx, rows, receive)? == Flow::Enough
            {
                return Ok(Flow::Enough);
            }
        }
        self.flush(batch, cx, rows, receive)
    }

    /// As [`Self::give_pairs`], where no key has two rows: reads no chain.
    fn give_single_pairs(
        &mut self,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let null_row = self.table.null_row();
        for first in (0..self.scratch.found.len()).step_by(BATCH_ROWS) {
            let end = self.scratch.found.len().min(first + BATCH_ROWS);
            let places = (first..end).zip(&self.scratch.found[first..end]);
            if self.kind == JoinKind::Inner {
                let matching = places.filter(|(_, found)| **found != NONE);
                matching.for_each(|(place, found)| {
                    self.scratch.pairs.push(row_at(&batch.selection, place), *found);
                });
            } else {
                places.for_each(|(place, found)| {
                    let right = if *found == NONE { null_row } else { *found };
                    self.scratch.pairs.push(row_at(&batch.selection, place), right);
                });
            }
            if self.flush(batch, cx, rows, receive)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// Passes the pairs on.
    fn flush(
        &mut self,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.scratch.pairs.left.is_empty() {
            return Ok(Flow::More);
        }
        fault::batch_passed(cx)?;
        self.join(batch);
        self.scratch.pairs.clear();
        receive(cx, rows, &mut self.scratch.out)
    }

    /// Copies both sides of the pairs into the output.
    fn join(&mut self, batch: &Batch) {
        let _label = ledger::labelled(Label::Join);
        let left = self.left_wanted.len();
        if self.scratch.out.columns.is_empty() {
            let forms = batch.columns.iter().take(left);
            self.scratch
                .out
                .columns
                .extend(forms.map(|column| Vector::of_type(column.data_type())));
            self.scratch.out.columns.extend(self.table.forms());
        }
        self.scratch.out.clear();
        let (to_left, to_right) = self.scratch.out.columns.split_at_mut(left);
        for ((to, from), wanted) in to_left.iter_mut().zip(&batch.columns).zip(&self.left_wanted) {
            if *wanted {
                to.take(from, &self.scratch.pairs.left);
            } else {
                to.set_constant(Value::Null, self.scratch.pairs.left.len());
            }
        }
        for (to, from) in to_right.iter_mut().zip(&self.table.store.columns) {
            to.take(from, &self.scratch.pairs.right);
        }
        self.scratch.out.set_rows(self.scratch.pairs.left.len());
    }

    /// With ON: makes each left row's pairs, then its pair without right row, and tests them.
    fn give_tested(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let selection = std::mem::take(&mut batch.selection);
        let mut test = Test { matched: false, kept: Selection::default(), is_half: false };
        test.is_half = matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        test.kept.clear();
        self.scratch.pairs.clear();
        let tested = self.test_all(&selection, &mut test, batch, cx, rows, receive);
        if test.is_half && !matches!(tested, Ok(Flow::Enough)) {
            batch.selection = test.kept;
            if !batch.selection.is_empty() && receive(cx, rows, batch)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        tested
    }

    /// Makes the pairs of the selected rows, and tests them in parts.
    #[expect(clippy::too_many_arguments, reason = "a batch, what is known of it and where it goes")]
    fn test_all(
        &mut self,
        selection: &Selection,
        test: &mut Test,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let null_row = self.table.null_row();
        let mut flow = Flow::More;
        for (place, row) in selection.iter().enumerate() {
            let mut next = self.scratch.found[place];
            while flow == Flow::More && next != NONE {
                self.scratch.pairs.push(row, next);
                next = self.table.next[next as usize];
                if self.scratch.pairs.left.len() >= BATCH_ROWS {
                    flow = self.flush_tested(test, batch, cx, rows, receive)?;
                }
            }
            self.scratch.pairs.push(row, null_row);
            if flow == Flow::More && self.scratch.pairs.left.len() >= BATCH_ROWS {
                flow = self.flush_tested(test, batch, cx, rows, receive)?;
            }
            if flow == Flow::Enough {
                return Ok(flow);
            }
        }
        self.flush_tested(test, batch, cx, rows, receive)
    }

    /// Tests the pairs and passes on those that satisfy ON; for a semi or anti join only marks left
    /// rows.
    fn flush_tested(
        &mut self,
        test: &mut Test,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.scratch.pairs.left.is_empty() {
            return Ok(Flow::More);
        }
        fault::batch_passed(cx)?;
        self.join(batch);
        let all = std::mem::take(&mut self.scratch.pairs);
        let tested = self.holds(&all, cx);
        let mut live = Selection::default();
        live.clear();
        // Pairs before the failing one are passed on.
        let known = all.left.iter().zip(&all.right).take(tested.0.len());
        for (place, (left, right)) in known.enumerate() {
            let is_pair = *right != self.table.null_row();
            if is_pair && tested.0[place] {
                if let Some(matched) = self.matched.get_mut(*right as usize) {
                    *matched = true;
                }
                let is_first = !std::mem::replace(&mut test.matched, true);
                if test.is_half && is_first && self.kind == JoinKind::Semi {
                    test.kept.push(*left as usize);
                }
                if !test.is_half {
                    live.push(place);
                }
            } else if !is_pair {
                let was_matched = std::mem::replace(&mut test.matched, false);
                match self.kind {
                    JoinKind::Anti if !was_matched => test.kept.push(*left as usize),
                    JoinKind::Left | JoinKind::Full if !was_matched => live.push(place),
                    _ => {}
                }
            }
        }
        self.scratch.pairs = all;
        self.scratch.pairs.clear();
        self.scratch.out.selection = live;
        let flow = if self.scratch.out.selection.is_empty() {
            Flow::More
        } else {
            receive(cx, rows, &mut self.scratch.out)?
        };
        match tested.1 {
            Some(error) if flow == Flow::More => Err(error),
            _ => Ok(flow),
        }
    }

    /// Returns for which pairs ON is true, up to the first one that fails, and its error.
    fn holds(&mut self, pairs: &Pairs, cx: &mut Cx<'_>) -> (Vec<bool>, Option<types::Error>) {
        let null_row = self.table.null_row();
        let count = pairs.left.len();
        let mut holds = vec![false; count];
        let Some(on) = &mut self.on else { return (vec![true; count], None) };
        let mut candidates = Selection::default();
        candidates.filter(&Selection::all(count), |place| pairs.right[place] != null_row);
        let mut found = Selection::default();
        let whole = on.select(&self.scratch.out, &candidates, cx, &mut found);
        let Err(error) = whole else {
            found.for_each(|place| holds[place] = true);
            return (holds, None);
        };
        if cx.fault.is_some() || cx.interrupted.is_some() {
            return (Vec::new(), Some(error));
        }
        for place in candidates.iter() {
            if let Err(error) = on.select(&self.scratch.out, &only(place), cx, &mut found) {
                holds.truncate(place);
                return (holds, Some(error));
            }
            holds[place] = !found.is_empty();
        }
        (holds, None)
    }

    /// FULL: passes on the right rows that no left row has matched.
    pub(super) fn give_unmatched(
        &mut self,
        left: usize,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let unmatched: Vec<u32> =
            (0..self.table.null_row()).filter(|row| !self.matched[*row as usize]).collect();
        self.scratch.out.columns.clear();
        self.scratch.out.columns.extend((0..left).map(|_| Vector::empty()));
        self.scratch.out.columns.extend(self.table.forms());
        for part in unmatched.chunks(BATCH_ROWS) {
            fault::batch_passed(cx)?;
            self.scratch.out.clear();
            let (to_left, to_right) = self.scratch.out.columns.split_at_mut(left);
            to_left.iter_mut().for_each(|to| to.set_constant(Value::Null, part.len()));
            for (to, from) in to_right.iter_mut().zip(&self.table.store.columns) {
                to.take(from, part);
            }
            self.scratch.out.set_rows(part.len());
            if receive(cx, rows, &mut self.scratch.out)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}

/// State of testing pairs, carried from one part to the next.
struct Test {
    /// Whether the current left row has had a match.
    matched: bool,
    /// Left rows of a semi or anti join that are passed on.
    kept: Selection,
    is_half: bool,
}

impl Pairs {
    fn push(&mut self, left: usize, right: u32) {
        // A batch has at most 2^16 rows.
        self.left.push(u32::try_from(left).unwrap_or(u32::MAX));
        self.right.push(right);
    }

    pub(super) fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }
}

/// Narrows a selection to the rows for whose number `keep` returns true; `numbers` is by position
/// in the selection.
fn narrow(batch: &mut Batch, numbers: &[u32], keep: impl Fn(u32) -> bool) {
    let mut kept = Selection::default();
    let mut place = 0;
    kept.filter(&batch.selection, |_| {
        place += 1;
        keep(numbers[place - 1])
    });
    batch.selection = kept;
}

/// Returns the row at a position of a selection.
pub(super) fn row_at(selection: &Selection, place: usize) -> usize {
    selection.list().map_or(place, |rows| usize::from(rows[place]))
}
