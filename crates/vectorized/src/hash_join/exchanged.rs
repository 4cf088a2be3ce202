//! Exchanged strategy: a hash join with a small left input puts the left rows into the hash table
//! and looks up the right rows.
//!
//! ```text
//! left ──► table ──keys──► restriction of right ──► right looked up, left marked ──► left by mark
//! ```
//! A semi or anti join returns its left rows at the end, in input order. An outer join returns
//! pairs as the right rows come, and left rows without a match at the end; it is exchanged only
//! where the order is not visible. If there are more left rows than [`Keeping::ROWS_MAX`], the
//! right input is read in the middle of the left one, and the remaining left rows stream.

use sos::ledger::{self, Label};
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::{Result, Value};

use super::built::{Built, encode};
use super::keeping::Keeping;
use super::left_first::is_left_small;
use super::probe::{Pairs, Probe, row_at};
use super::{HashJoin, is_safe};
use crate::interner::Unknown;
use crate::kernel::Kernel;
use crate::keys::{KeyRows, Keys};
use crate::store::Store;
use crate::table::{KeyTable, NONE};
use crate::{Flow, Receive, Rows, stream};
use executor::grant::Charge;
use executor::{Cx, fault};
use plan::expr::Expr;
use plan::query::{Join, JoinKind};

/// Returns true if a join should exchange its inputs.
pub(super) fn is_exchanged(join: &Join, keys: &[(Expr, Expr)]) -> bool {
    let is_possible = match join.kind {
        JoinKind::Semi | JoinKind::Anti => true,
        JoinKind::Left | JoinKind::Full => join.any_order,
        // The optimizer has made the smaller input the right one.
        JoinKind::Inner => false,
    };
    is_possible && !keys.is_empty() && is_safe(join, keys) && is_left_small(join)
}

/// The left rows in a hash table, and their marks.
struct Exchanged {
    kind: JoinKind,
    keys: Keys,
    table: Built,
    key_rows: KeyRows,
    /// The key numbers of a batch, or the first left rows with those keys.
    found: Vec<u32>,
    /// For each left row, whether a right row has matched it. A semi or anti join without ON marks
    /// one row per key.
    marks: Vec<bool>,
    /// Number of keys without a mark, for a semi or anti join without ON.
    unmarked: usize,
    /// FULL: for each row of a right batch, whether a left row has matched it.
    matched: Vec<bool>,
    /// Positions of the right columns in the input batches.
    places: Vec<usize>,
    pairs: Pairs,
    /// The batch of joined rows.
    out: Batch,
    /// Its share of the query's memory grant.
    charge: Charge,
}

impl<'p> HashJoin<'p> {
    /// Runs the join with the inputs exchanged.
    pub(super) fn run_exchanged(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let table = Exchanged::new(self, cx);
        let (ran, kept) = self.keep_left(table, cx, rows, receive);
        let Self { left, right, right_keys, probe, keys, .. } = self;
        let Some(mut table) = kept else {
            return match ran {
                Ok(Flow::More) if probe.kind == JoinKind::Full => {
                    probe.give_unmatched(left.layout().len(), cx, rows, receive)
                }
                ran => ran,
            };
        };
        table.finish()?;
        if table.table.store.len > 0 || table.kind == JoinKind::Full {
            if table.kind != JoinKind::Full {
                let columns = keys.iter().map(|(_, right)| right);
                let restrictions = table.table.restrictions(&table.keys, columns);
                for restriction in &restrictions {
                    table.charge.add(restriction.keys.memory())?;
                    right.restrict(restriction);
                }
            }
            let flow = right.run(cx, rows, &mut |cx, rows, batch| {
                table.look_up((&mut *probe, &mut *right_keys), batch, cx, rows, receive)
            })?;
            if flow == Flow::Enough && !table.is_half() {
                return Ok(flow);
            }
        }
        let flow = table.give_rest(probe, cx, rows, receive)?;
        if flow == Flow::Enough { Ok(flow) } else { ran }
    }
}

impl<'p> Keeping<'p> for Exchanged {
    const ROWS_MAX: usize = if cfg!(debug_assertions) { 24 } else { 1 << 24 };

    fn rows(&self) -> usize {
        self.table.next.len()
    }

    fn keep(&mut self, probe: &mut Probe<'p>, batch: &Batch, cx: &mut Cx<'_>) -> Result<()> {
        let _label = ledger::labelled(Label::Join);
        let key_rows = &mut self.key_rows;
        encode(&mut self.keys, &mut probe.left_keys, batch, Unknown::Add, key_rows, cx)?;
        self.found.clear();
        self.table.numbers.insert_all(&key_rows.words, key_rows.rows, &mut self.found);
        // A left row without key is kept as unmatched, except in a semi join.
        let keeps_all = self.kind != JoinKind::Semi;
        self.table.add(batch, &self.found, &self.key_rows.without, keeps_all);
        self.charge.set(self.keys.memory() + self.table.memory())
    }

    fn give_back(
        &self,
        probe: &mut Probe<'p>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        self.give_kept(|_| true, cx, rows, &mut |cx, rows, batch| {
            stream(probe, batch, cx, rows, receive)
        })
    }
}

impl Exchanged {
    fn new(join: &HashJoin<'_>, cx: &Cx<'_>) -> Self {
        let (layout, probe) = (join.left.layout(), &join.probe);
        let mut table = Built::new(Store::new(layout, &layout.iter().copied().collect()));
        let keys = probe.keys.clone();
        table.numbers = KeyTable::new(keys.width());
        Self {
            kind: probe.kind,
            keys,
            table,
            key_rows: KeyRows::default(),
            found: Vec::new(),
            marks: Vec::new(),
            unmarked: 0,
            matched: Vec::new(),
            places: probe.table.store.places().to_vec(),
            pairs: Pairs::default(),
            out: Batch::default(),
            charge: cx.session.accounting.grant.charge(0),
        }
    }

    fn is_half(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Passes on the wanted left rows, in order of their numbers.
    fn give_kept<'p>(
        &self,
        is_wanted: impl Fn(usize) -> bool,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let numbers = (0..self.table.null_row()).filter(|row| is_wanted(*row as usize));
        self.table.store.give(&numbers.collect::<Vec<_>>(), cx, rows, receive)
    }

    /// Finishes the hash table after the last left row.
    fn finish(&mut self) -> Result<()> {
        self.table.finish();
        self.marks = vec![false; self.table.store.len];
        // A key with NULLs may have a number but no rows.
        self.table.heads.resize(self.table.numbers.len(), NONE);
        self.unmarked = self.table.heads.iter().filter(|head| **head != NONE).count();
        self.charge.set(self.keys.memory() + self.table.memory() + self.marks.len())
    }

    /// Looks up a batch of the right input.
    fn look_up<'p>(
        &mut self,
        (probe, right_keys): (&mut Probe<'p>, &mut [Kernel<'_>]),
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let label = ledger::labelled(Label::Join);
        encode(&mut self.keys, right_keys, batch, Unknown::Skip, &mut self.key_rows, cx)?;
        self.table.find(&self.key_rows, &mut self.found);
        if self.is_half() && probe.on.is_none() {
            return Ok(self.mark_keys());
        }
        if self.table.is_unique && probe.on.is_none() {
            let found = self.found.iter().filter(|row| **row != NONE).count();
            // With few matches in a batch, copying them is cheaper than passing the batch on with
            // gaps.
            if self.kind == JoinKind::Left && found * 4 > batch.rows() {
                drop(label);
                return self.give_beside(probe, batch, cx, rows, receive);
            }
        }
        drop(label);
        self.give_pairs(probe, batch, cx, rows, receive)
    }

    /// Semi and anti joins without ON: marks one row of each key found. `Enough` when all keys have
    /// a mark.
    fn mark_keys(&mut self) -> Flow {
        for head in self.found.iter().filter(|head| **head != NONE) {
            let mark = &mut self.marks[*head as usize];
            self.unmarked -= usize::from(!*mark);
            *mark = true;
        }
        if self.unmarked == 0 { Flow::Enough } else { Flow::More }
    }

    /// Adds the columns of the matching left row beside each right row.
    fn give_beside<'p>(
        &mut self,
        probe: &Probe<'_>,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let label = ledger::labelled(Label::Join);
        self.lay_out(batch);
        self.out.clear();
        let left = &mut self.pairs.left;
        left.clear();
        // Rows without a match are not selected, so any row will do.
        left.resize(batch.rows(), 0);
        let mut place = 0;
        let (found, marks) = (&self.found, &mut self.marks);
        let mut kept = Selection::default();
        kept.filter(&batch.selection, |row| {
            let head = found[place];
            place += 1;
            if head != NONE {
                left[row] = head;
                marks[head as usize] = true;
            }
            head != NONE
        });
        self.take_left(probe, batch.rows());
        let first = probe.left_wanted.len();
        let swap = |out: &mut Batch, batch: &mut Batch, places: &[usize]| {
            for (to, place) in out.columns[first..].iter_mut().zip(places) {
                std::mem::swap(to, &mut batch.columns[*place]);
            }
        };
        swap(&mut self.out, batch, &self.places);
        self.out.set_rows(batch.rows());
        self.out.selection = kept;
        drop(label);
        let flow = receive(cx, rows, &mut self.out);
        swap(&mut self.out, batch, &self.places);
        flow
    }

    /// Makes the output's empty columns, before the first rows.
    fn lay_out(&mut self, batch: &Batch) {
        if self.out.columns.is_empty() {
            let form = |place: &usize| Vector::of_type(batch.columns[*place].data_type());
            self.out.columns.extend(self.table.forms());
            self.out.columns.extend(self.places.iter().map(form));
        }
    }

    /// Copies the left columns of the pairs that an operator above reads.
    fn take_left(&mut self, probe: &Probe<'_>, count: usize) {
        let columns = self.out.columns.iter_mut().zip(&self.table.store.columns);
        for ((to, from), wanted) in columns.zip(&probe.left_wanted) {
            if *wanted {
                to.take(from, &self.pairs.left);
            } else {
                to.set_constant(Value::Null, count);
            }
        }
    }

    /// Makes a pair for each match, and tests the pairs.
    fn give_pairs<'p>(
        &mut self,
        probe: &mut Probe<'p>,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        self.pairs.clear();
        self.matched.clear();
        if self.kind == JoinKind::Full {
            self.matched.resize(batch.rows(), false);
        }
        let is_half = self.is_half();
        for place in 0..self.found.len() {
            let row = row_at(&batch.selection, place);
            let mut next = self.found[place];
            while next != NONE {
                let left = next as usize;
                // One match is enough for a semi or anti join.
                if !(is_half && self.marks[left]) {
                    self.pairs.left.push(next);
                    self.pairs.right.push(u32::try_from(row).unwrap_or(u32::MAX));
                }
                next = self.table.next[left];
                if self.pairs.left.len() >= BATCH_ROWS
                    && self.flush(probe, batch, cx, rows, receive)? == Flow::Enough
                {
                    return Ok(Flow::Enough);
                }
            }
        }
        if self.flush(probe, batch, cx, rows, receive)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
        if self.kind != JoinKind::Full {
            return Ok(Flow::More);
        }
        let null_row = self.table.null_row();
        for row in batch.selection.iter().filter(|row| !self.matched[*row]) {
            self.pairs.left.push(null_row);
            self.pairs.right.push(u32::try_from(row).unwrap_or(u32::MAX));
        }
        self.join(probe, batch);
        self.pass_on(cx, rows, receive)
    }

    /// Copies both sides of the pairs into the output.
    fn join(&mut self, probe: &Probe<'_>, batch: &Batch) {
        let _label = ledger::labelled(Label::Join);
        self.lay_out(batch);
        self.out.clear();
        let count = self.pairs.left.len();
        self.take_left(probe, count);
        let right = self.out.columns[probe.left_wanted.len()..].iter_mut();
        for (to, place) in right.zip(&self.places) {
            to.take(&batch.columns[*place], &self.pairs.right);
        }
        self.out.set_rows(count);
    }

    /// Passes the joined rows on.
    fn pass_on<'p>(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        self.pairs.clear();
        if self.out.selection.is_empty() {
            return Ok(Flow::More);
        }
        receive(cx, rows, &mut self.out)
    }

    /// Tests the pairs, marks the matched rows, and passes the pairs of an outer join on.
    fn flush<'p>(
        &mut self,
        probe: &mut Probe<'p>,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.pairs.left.is_empty() {
            return Ok(Flow::More);
        }
        fault::batch_passed(cx)?;
        self.join(probe, batch);
        let mut live = std::mem::take(&mut self.out.selection);
        if let Some(on) = &mut probe.on {
            let all = std::mem::take(&mut live);
            on.select(&self.out, &all, cx, &mut live)?;
        }
        for pair in live.iter() {
            self.marks[self.pairs.left[pair] as usize] = true;
            if let Some(matched) = self.matched.get_mut(self.pairs.right[pair] as usize) {
                *matched = true;
            }
        }
        if self.is_half() {
            self.pairs.clear();
            return Ok(Flow::More);
        }
        self.out.selection = live;
        self.pass_on(cx, rows, receive)
    }

    /// Passes on the left rows that are due after all right rows were read.
    fn give_rest<'p>(
        &mut self,
        probe: &Probe<'_>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.is_half() {
            if probe.on.is_none() {
                self.mark_chains();
            }
            let wanted = self.kind == JoinKind::Semi;
            return self.give_kept(|row| self.marks[row] == wanted, cx, rows, receive);
        }
        let mut missing: Vec<Vector> = self.places.iter().map(|_| Vector::empty()).collect();
        self.give_kept(|row| !self.marks[row], cx, rows, &mut |cx, rows, batch| {
            let left = batch.columns.len();
            missing.iter_mut().for_each(|to| to.set_constant(Value::Null, batch.rows()));
            batch.columns.append(&mut missing);
            let flow = receive(cx, rows, batch);
            missing.extend(batch.columns.drain(left..));
            flow
        })
    }

    /// Marks all rows of the keys that have a mark.
    fn mark_chains(&mut self) {
        for head in self.table.heads.iter().filter(|head| **head != NONE) {
            if !self.marks[*head as usize] {
                continue;
            }
            let mut next = *head;
            while next != NONE {
                self.marks[next as usize] = true;
                next = self.table.next[next as usize];
            }
        }
    }
}
