//! Hash joins: the right input is kept in columns behind a table of its keys; each batch of the left
//! one is looked up as a whole.
//!
//! ```text
//! key ── KeyTable ──► number ── heads ──► last row with it ── next ──► the row before ──► ..
//! ```
//! Where every key has one row, the left batch stays where it is, its selection narrows, and the right
//! columns are laid beside it. Else pairs are made, and both sides copied. With ON, or for unmatched
//! left rows, a pair without right row stands behind the pairs of each left row: it lives if none
//! of them did, so that rows come in the order of row mode.
//!
//! That is the course of most joins; `exchanged.rs` and `left_first.rs` have those of a small left input.

mod exchanged;
mod left_first;

use std::sync::Arc;

use sos::ledger::{self, Label};
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::value::ColumnType;
use types::{Result, Value};

use super::interner::Unknown;
use super::kernel::{Kernel, cannot_fail};
use super::keys::{KeyRows, Keys, NullKeys};
use super::parallel::Tables;
use super::restrict::{KeyFilter, Restriction, is_restrictable};
use super::store::Store;
use super::table::{KeyTable, NONE};
use super::{Flow, Input, Operator, Receive, Rows, Stage, compile, only, stream, with};
use crate::exec::grant::Charge;
use crate::exec::{Cx, fault};
use crate::plan::expr::{Expr, ExprKind, Register};
use crate::plan::query::{Join, JoinKind};
use crate::plan::walk::Registers;

/// Which input is read first, and which is kept in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// The right one is read into the table, the left one looked up.
    RightFirst,
    /// The left one is kept aside and narrows the right one, which is read into the table.
    LeftAside,
    /// The left one is read into the table, the right one looked up.
    Exchanged,
}

/// Returns the course of a hash join.
pub(crate) fn course(join: &Join, keys: &[(Expr, Expr)]) -> Course {
    if exchanged::is_exchanged(join, keys) {
        return Course::Exchanged;
    }
    if left_first::is_left_first(join, keys) { Course::LeftAside } else { Course::RightFirst }
}

/// A hash join.
pub(super) struct HashJoin<'p> {
    join: &'p Join,
    left: Input<'p>,
    right: Input<'p>,
    layout: Vec<Register>,
    keys: &'p [(Expr, Expr)],
    /// Whether keys and ON have values for every row.
    is_safe: bool,
    right_keys: Vec<Kernel<'p>>,
    probe: Probe<'p>,
    /// Whether the right input has been read.
    is_built: bool,
    course: Course,
}

/// A table that is built, for other workers.
pub(super) struct Published {
    keys: Keys,
    built: Arc<Built>,
    /// What it says of the left input.
    restrictions: Vec<Restriction>,
}

impl<'p> HashJoin<'p> {
    pub(super) fn new(join: &'p Join, keys: &'p [(Expr, Expr)], needed: &Registers) -> Self {
        let wanted = with(needed, &join.on);
        let left = compile(&join.left, &with(&wanted, keys.iter().map(|k| &k.0)));
        let right = compile(&join.right, &with(&wanted, keys.iter().map(|k| &k.1)));
        let store = Store::new(right.layout(), &wanted);
        let is_half = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        let both: Vec<Register> = left.layout().iter().chain(&store.layout).copied().collect();
        let layout = if is_half { left.layout().to_vec() } else { both.clone() };
        let kernels = |side: fn(&(Expr, Expr)) -> &Expr, layout: &[Register]| {
            keys.iter().map(|pair| Kernel::new(side(pair), layout)).collect::<Vec<_>>()
        };
        let types: Vec<ColumnType> = keys.iter().map(|(left, _)| left.ty).collect();
        let probe = Probe {
            kind: join.kind,
            left_keys: kernels(|pair| &pair.0, left.layout()),
            on: join.on.as_ref().map(|on| Kernel::new(on, &both)),
            left_wanted: left.layout().iter().map(|r| wanted.contains(*r)).collect(),
            keys: Keys::new(&types, NullKeys::Nothing),
            table: Arc::new(Built::new(store)),
            matched: Vec::new(),
            found: Vec::new(),
            key_rows: KeyRows::default(),
            beside: Vec::new(),
            out: Batch::default(),
            pairs: Pairs::default(),
        };
        let right_keys = kernels(|pair| &pair.1, right.layout());
        let is_safe = is_safe(join, keys);
        let course = course(join, keys);
        let is_built = false;
        Self { join, left, right, layout, keys, is_safe, right_keys, probe, is_built, course }
    }

    /// Finds out which left rows have a match, where only those matter.
    fn restrictions(&self) -> Vec<Restriction> {
        let is_possible = matches!(self.probe.kind, JoinKind::Inner | JoinKind::Semi)
            && self.keys.iter().all(|(left, _)| cannot_fail(left));
        if !is_possible {
            return Vec::new();
        }
        self.probe.table.restrictions(&self.probe.keys, self.keys.iter().map(|(left, _)| left))
    }

    /// Takes over a table that another worker has built, or builds one; tells the left input about it.
    fn prepare(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>) -> Result<Vec<Restriction>> {
        let restrictions = match cx.parallel.table_of(self.join) {
            Some(published) => {
                self.probe.keys = published.keys.clone();
                self.probe.table = Arc::clone(&published.built);
                self.is_built = true;
                published.restrictions.clone()
            }
            None => {
                build((&mut self.right, &mut self.right_keys), &mut self.probe, cx, rows)?;
                self.is_built = true;
                let restrictions = self.restrictions();
                let filters =
                    restrictions.iter().map(|restriction| restriction.keys.memory()).sum();
                let table = Arc::get_mut(&mut self.probe.table);
                if let Some(charge) = table.and_then(|table| table.charge.as_mut()) {
                    charge.add(filters)?;
                }
                restrictions
            }
        };
        restrictions.iter().for_each(|restriction| self.left.restrict(restriction));
        Ok(restrictions)
    }
}

/// Tells whether the keys and ON have values for every row.
fn is_safe(join: &Join, keys: &[(Expr, Expr)]) -> bool {
    keys.iter().all(|(left, right)| cannot_fail(left) && cannot_fail(right))
        && join.on.as_ref().is_none_or(cannot_fail)
}

/// Reads the right input into the table.
fn build<'p>(
    (right, right_keys): (&mut Input<'p>, &mut [Kernel<'p>]),
    probe: &mut Probe<'p>,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
) -> Result<()> {
    let keeps_all = probe.kind == JoinKind::Full;
    let keys = &mut probe.keys;
    let table = Arc::get_mut(&mut probe.table).expect("nobody else has a table that is not built");
    table.numbers = KeyTable::new(keys.width());
    let mut key_rows = KeyRows::default();
    let mut numbers = Vec::new();
    let mut charge = cx.session.grant.charge(0);
    right.run(cx, rows, &mut |cx, _, batch| {
        let _label = ledger::labelled(Label::Join);
        let mut vectors = Vec::with_capacity(right_keys.len());
        for kernel in &mut *right_keys {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        keys.encode(&vectors, &batch.selection, Unknown::Add, &mut key_rows);
        numbers.clear();
        table.numbers.insert_all(&key_rows.words, key_rows.rows, &mut numbers);
        table.add(batch, &numbers, &key_rows.without, keeps_all);
        charge.set(keys.memory() + table.memory())?;
        Ok(Flow::More)
    })?;
    table.finish();
    charge.set(keys.memory() + table.memory())?;
    table.charge = Some(charge);
    probe.matched = vec![false; if keeps_all { probe.table.store.len } else { 0 }];
    Ok(())
}

impl<'p> Operator<'p> for HashJoin<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn restrict(&mut self, restriction: &Restriction) {
        if !self.is_safe || self.probe.kind == JoinKind::Full {
            return;
        }
        if self.left.layout().contains(&restriction.register) {
            self.left.restrict(restriction);
        } else if self.probe.kind == JoinKind::Inner {
            self.right.restrict(restriction);
        }
    }

    fn open(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>, tables: &mut Tables) -> Result<()> {
        if !self.is_built {
            let restrictions = self.prepare(cx, rows)?;
            let published = Published {
                keys: self.probe.keys.clone(),
                built: Arc::clone(&self.probe.table),
                restrictions,
            };
            tables.push((std::ptr::from_ref(self.join).addr(), Arc::new(published)));
        }
        self.left.open(cx, rows, tables)
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if !self.is_built {
            let is_shared = cx.parallel.table_of(self.join).is_some();
            match self.course {
                Course::Exchanged if !is_shared => return self.run_exchanged(cx, rows, receive),
                Course::LeftAside if !is_shared => return self.run_left_first(cx, rows, receive),
                Course::Exchanged | Course::LeftAside | Course::RightFirst => {}
            }
            self.prepare(cx, rows)?;
        }
        let Self { left, probe, .. } = self;
        let flow =
            left.run(cx, rows, &mut |cx, rows, batch| stream(probe, batch, cx, rows, receive))?;
        if flow == Flow::Enough || probe.kind != JoinKind::Full {
            return Ok(flow);
        }
        probe.give_unmatched(left.layout().len(), cx, rows, receive)
    }
}

/// The rows of the side that is kept. Once it is built, nobody changes it.
struct Built {
    numbers: KeyTable,
    /// By key: the last row with it.
    heads: Vec<u32>,
    /// By row: the one before it with the same key.
    next: Vec<u32>,
    is_unique: bool,
    /// The rows; behind the last one a row of NULLs.
    store: Store,
    /// What it takes of the query's memory, as long as it stands.
    charge: Option<Charge>,
}

impl Built {
    fn new(store: Store) -> Self {
        Self {
            numbers: KeyTable::new(0),
            heads: Vec::new(),
            next: Vec::new(),
            is_unique: true,
            store,
            charge: None,
        }
    }

    /// Adds the rows of a batch, whose keys have these numbers; those `without` key go nowhere.
    fn add(&mut self, batch: &Batch, numbers: &[u32], without: &[usize], keeps_all: bool) {
        self.heads.resize(self.numbers.len(), NONE);
        let mut without = without.iter().copied().peekable();
        let mut kept = Selection::default();
        kept.clear();
        for (place, (row, number)) in batch.selection.iter().zip(numbers).enumerate() {
            let is_whole = without.next_if_eq(&place).is_none();
            if !is_whole && !keeps_all {
                continue;
            }
            kept.push(row);
            let this = u32::try_from(self.next.len()).expect("a join keeps fewer than 2^32 rows");
            if !is_whole {
                self.next.push(NONE);
                continue;
            }
            let last = std::mem::replace(&mut self.heads[*number as usize], this);
            self.is_unique &= last == NONE;
            self.next.push(last);
        }
        self.store.push(batch, &kept);
    }

    fn finish(&mut self) {
        if self.store.columns.is_empty() {
            self.store.columns = self.store.layout.iter().map(|_| Vector::empty()).collect();
        }
        self.store.columns.iter_mut().for_each(Vector::push_null);
    }

    /// Makes what the keys kept say of those columns of the other side that they are equal to.
    fn restrictions<'e>(
        &self,
        keys: &Keys,
        others: impl Iterator<Item = &'e Expr>,
    ) -> Vec<Restriction> {
        let mut found = Vec::new();
        for (column, other) in others.enumerate() {
            let ExprKind::Column(register) = other.kind else { continue };
            if !is_restrictable(&other.ty.data_type) {
                continue;
            }
            let words = self.numbers.words().iter().skip(keys.place(column));
            let words = words.step_by(keys.width()).copied();
            if let Some(keys) = KeyFilter::new(words) {
                found.push(Restriction { register, keys: Arc::new(keys) });
            }
        }
        found
    }

    /// Makes empty vectors of the form of the columns kept.
    fn forms(&self) -> impl Iterator<Item = Vector> {
        self.store.columns.iter().map(|column| Vector::of_type(column.data_type()))
    }

    fn memory(&self) -> usize {
        let links = self.heads.len() + self.next.len();
        self.numbers.memory() + self.store.memory() + links * size_of::<u32>()
    }

    /// The number of the row of NULLs.
    fn null_row(&self) -> u32 {
        u32::try_from(self.store.len).unwrap_or(NONE)
    }
}

/// What happens to the batches of the left side.
struct Probe<'p> {
    kind: JoinKind,
    left_keys: Vec<Kernel<'p>>,
    on: Option<Kernel<'p>>,
    /// Whether somebody above reads a left column: else it is not copied.
    left_wanted: Vec<bool>,
    keys: Keys,
    table: Arc<Built>,
    /// FULL: by right row, whether a left row has matched it.
    matched: Vec<bool>,
    /// By selected row of the batch: the first row of its chain.
    found: Vec<u32>,
    key_rows: KeyRows,
    /// Right columns that are laid beside a left batch, while they are not.
    beside: Vec<Vector>,
    /// Joined rows.
    out: Batch,
    pairs: Pairs,
}

/// Left and right rows of joined ones. A pair without right row has the row of NULLs.
#[derive(Default)]
struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

impl<'p> Stage<'p> for Probe<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        let _label = ledger::labelled(Label::Join);
        let mut vectors = Vec::with_capacity(self.left_keys.len());
        for kernel in &mut self.left_keys {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        let table = &self.table;
        self.keys.encode(&vectors, &batch.selection, Unknown::Skip, &mut self.key_rows);
        self.found.clear();
        let rows = &self.key_rows;
        table.numbers.find_all(&rows.words, rows.rows, &mut self.found);
        rows.without.iter().for_each(|place| self.found[*place] = NONE);
        for number in &mut self.found {
            // NONE is beyond all keys.
            *number = table.heads.get(*number as usize).copied().unwrap_or(NONE);
        }
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
        // With few rows left of a batch it is cheaper to copy them than to lay holes beside them.
        let is_dense = batch.selection.len() * 4 > batch.rows();
        if self.table.is_unique && self.kind != JoinKind::Full && is_dense {
            return self.give_beside(batch, cx, rows, receive);
        }
        self.give_pairs(batch, cx, rows, receive)
    }
}

impl<'p> Probe<'p> {
    /// Semi and anti without ON: the left rows that have a match, or have none.
    fn give_half(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let wanted = self.kind == JoinKind::Semi;
        narrow(batch, &self.found, |found| (found != NONE) == wanted);
        if batch.selection.is_empty() { Ok(Flow::More) } else { receive(cx, rows, batch) }
    }

    /// Lays the columns of the one right row beside each left one.
    fn give_beside(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let label = ledger::labelled(Label::Join);
        let null_row = self.table.null_row();
        let right = &mut self.pairs.right;
        right.clear();
        right.resize(batch.rows(), 0);
        for (row, found) in batch.selection.iter().zip(&self.found) {
            right[row] = if *found == NONE { null_row } else { *found };
        }
        if self.kind == JoinKind::Inner {
            narrow(batch, &self.found, |found| found != NONE);
            if batch.selection.is_empty() {
                return Ok(Flow::More);
            }
            // The others are holes: any row fills them, but a NULL would have to be tested for.
            right.iter_mut().filter(|row| **row == null_row).for_each(|row| *row = 0);
        }
        let left_columns = batch.columns.len();
        if self.beside.is_empty() {
            self.beside.extend(self.table.forms());
        }
        for (mut column, from) in self.beside.drain(..).zip(&self.table.store.columns) {
            column.clear();
            column.take(from, right);
            batch.columns.push(column);
        }
        drop(label);
        let flow = receive(cx, rows, batch);
        self.beside.extend(batch.columns.drain(left_columns..));
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
        self.pairs.clear();
        for place in 0..self.found.len() {
            let row = row_at(&batch.selection, place);
            let mut next = self.found[place];
            if next == NONE && !is_inner {
                self.pairs.push(row, null_row);
            }
            while next != NONE {
                if let Some(matched) = self.matched.get_mut(next as usize) {
                    *matched = true;
                }
                self.pairs.push(row, next);
                next = self.table.next[next as usize];
                if self.pairs.left.len() == BATCH_ROWS
                    && self.flush(batch, cx, rows, receive)? == Flow::Enough
                {
                    return Ok(Flow::Enough);
                }
            }
            if self.pairs.left.len() >= BATCH_ROWS
                && self.flush(batch, cx, rows, receive)? == Flow::Enough
            {
                return Ok(Flow::Enough);
            }
        }
        self.flush(batch, cx, rows, receive)
    }

    /// Passes the pairs on.
    fn flush(
        &mut self,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.pairs.left.is_empty() {
            return Ok(Flow::More);
        }
        fault::check_cancel(cx)?;
        self.join(batch);
        self.pairs.clear();
        receive(cx, rows, &mut self.out)
    }

    /// Copies both sides of the pairs into the output.
    fn join(&mut self, batch: &Batch) {
        let _label = ledger::labelled(Label::Join);
        let left = self.left_wanted.len();
        if self.out.columns.is_empty() {
            let forms = batch.columns.iter().take(left);
            self.out.columns.extend(forms.map(|column| Vector::of_type(column.data_type())));
            self.out.columns.extend(self.table.forms());
        }
        self.out.clear();
        let (to_left, to_right) = self.out.columns.split_at_mut(left);
        for ((to, from), wanted) in to_left.iter_mut().zip(&batch.columns).zip(&self.left_wanted) {
            if *wanted {
                to.take(from, &self.pairs.left);
            } else {
                to.set_constant(Value::Null, self.pairs.left.len());
            }
        }
        for (to, from) in to_right.iter_mut().zip(&self.table.store.columns) {
            to.take(from, &self.pairs.right);
        }
        self.out.set_rows(self.pairs.left.len());
    }

    /// With ON: every left row's pairs, then its pair without right row.
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
        self.pairs.clear();
        let tested = self.test_all(&selection, &mut test, batch, cx, rows, receive);
        if test.is_half && !matches!(tested, Ok(Flow::Enough)) {
            batch.selection = test.kept;
            if !batch.selection.is_empty() && receive(cx, rows, batch)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        tested
    }

    /// Makes the pairs of the selected rows and tests them part by part.
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
            let mut next = self.found[place];
            while flow == Flow::More && next != NONE {
                self.pairs.push(row, next);
                next = self.table.next[next as usize];
                if self.pairs.left.len() >= BATCH_ROWS {
                    flow = self.flush_tested(test, batch, cx, rows, receive)?;
                }
            }
            self.pairs.push(row, null_row);
            if flow == Flow::More && self.pairs.left.len() >= BATCH_ROWS {
                flow = self.flush_tested(test, batch, cx, rows, receive)?;
            }
            if flow == Flow::Enough {
                return Ok(flow);
            }
        }
        self.flush_tested(test, batch, cx, rows, receive)
    }

    /// Tests the pairs and passes on those that live; for a semi or anti join only notes left rows.
    fn flush_tested(
        &mut self,
        test: &mut Test,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.pairs.left.is_empty() {
            return Ok(Flow::More);
        }
        fault::check_cancel(cx)?;
        self.join(batch);
        let all = std::mem::take(&mut self.pairs);
        let tested = self.holds(&all, cx);
        let mut live = Selection::default();
        live.clear();
        // Those before the one that fails arrive.
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
        self.pairs = all;
        self.pairs.clear();
        self.out.selection = live;
        let flow = if self.out.selection.is_empty() {
            Flow::More
        } else {
            receive(cx, rows, &mut self.out)?
        };
        match tested.1 {
            Some(error) if flow == Flow::More => Err(error),
            _ => Ok(flow),
        }
    }

    /// Tells for which pairs ON holds, up to the first that fails, and its error.
    fn holds(&mut self, pairs: &Pairs, cx: &mut Cx<'_>) -> (Vec<bool>, Option<types::Error>) {
        let null_row = self.table.null_row();
        let count = pairs.left.len();
        let mut holds = vec![false; count];
        let Some(on) = &mut self.on else { return (vec![true; count], None) };
        let mut candidates = Selection::default();
        candidates.filter(&Selection::all(count), |place| pairs.right[place] != null_row);
        let mut found = Selection::default();
        let whole = on.select(&self.out, &candidates, cx, &mut found);
        let Err(error) = whole else {
            found.for_each(|place| holds[place] = true);
            return (holds, None);
        };
        if cx.fault.is_some() || cx.interrupted.is_some() {
            return (Vec::new(), Some(error));
        }
        for place in candidates.iter() {
            if let Err(error) = on.select(&self.out, &only(place), cx, &mut found) {
                holds.truncate(place);
                return (holds, Some(error));
            }
            holds[place] = !found.is_empty();
        }
        (holds, None)
    }

    /// FULL: the right rows that nobody has matched.
    fn give_unmatched(
        &mut self,
        left: usize,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let unmatched: Vec<u32> =
            (0..self.table.null_row()).filter(|row| !self.matched[*row as usize]).collect();
        self.out.columns.clear();
        self.out.columns.extend((0..left).map(|_| Vector::empty()));
        self.out.columns.extend(self.table.forms());
        for part in unmatched.chunks(BATCH_ROWS) {
            fault::check_cancel(cx)?;
            self.out.clear();
            let (to_left, to_right) = self.out.columns.split_at_mut(left);
            to_left.iter_mut().for_each(|to| to.set_constant(Value::Null, part.len()));
            for (to, from) in to_right.iter_mut().zip(&self.table.store.columns) {
                to.take(from, part);
            }
            self.out.set_rows(part.len());
            if receive(cx, rows, &mut self.out)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}

/// What the testing of pairs carries from one part of them to the next.
struct Test {
    /// Whether the current left row has had a match.
    matched: bool,
    /// Left rows of a semi or anti join.
    kept: Selection,
    is_half: bool,
}

impl Pairs {
    fn push(&mut self, left: usize, right: u32) {
        // A batch has at most 2^16 rows.
        self.left.push(u32::try_from(left).unwrap_or(u32::MAX));
        self.right.push(right);
    }

    fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }
}

/// Narrows a selection to the rows for whose number, which stands at their place, `keep` holds.
fn narrow(batch: &mut Batch, numbers: &[u32], keep: impl Fn(u32) -> bool) {
    let mut kept = Selection::default();
    let mut place = 0;
    kept.filter(&batch.selection, |_| {
        place += 1;
        keep(numbers[place - 1])
    });
    batch.selection = kept;
}

/// Returns the row at a place of a selection.
fn row_at(selection: &Selection, place: usize) -> usize {
    selection.list().map_or(place, |rows| usize::from(rows[place]))
}
