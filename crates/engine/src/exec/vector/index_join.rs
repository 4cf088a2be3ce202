//! Index joins: the rows of a left batch are looked up in a unique index of the right table all at once.
//!
//! The loop join of row mode opens the right side for each left row: it encodes a key, looks at
//! isolation, snapshot and index, descends, decodes a row into registers. Here each of these is done once
//! for a batch, and the right columns are decoded as those of a scan are.

use sos::ledger::{self, Label};
use storage::{KeyList, RowImage};
use types::batch::{Batch, Selection, Vector};
use types::key::KeyPart;
use types::{Result, Value};

use super::filter::Narrow;
use super::kernel::{Kernel, cannot_fail};
use super::restrict::Restriction;
use super::scan::ImageRows;
use super::sort::encode_row;
use super::{Flow, Input, Operator, Receive, Rows, Stage, compile, stream, with};
use crate::catalog::TableDef;
use crate::exec::{Cx, fault, query};
use crate::plan::expr::{Expr, Register};
use crate::plan::query::{Access, Join, JoinKind, Node, Scan, TableSource};
use crate::plan::statement::table_of;
use crate::plan::walk::{self, Registers};

/// Tells whether the right side of a loop join is a look-up that can be done for many rows at once: by a
/// whole unique key, and nothing that a row is checked for fails where row mode would not have looked.
pub(super) fn is_possible(join: &Join) -> bool {
    let Some((scan, key)) = look_up(join) else { return false };
    let checks = scan.residual.iter().chain(&join.on);
    let is_half = match join.kind {
        JoinKind::Inner => false,
        JoinKind::Semi | JoinKind::Anti => true,
        JoinKind::Left | JoinKind::Full => return false,
    };
    let plain = |e: &Expr| !walk::has_subquery(e);
    key.iter().all(plain)
        && checks.clone().all(plain)
        && (!is_half || checks.clone().all(cannot_fail))
        && scan.residual.iter().all(cannot_fail)
}

/// Returns the scan and its key.
fn look_up(join: &Join) -> Option<(&Scan, &[Expr])> {
    let Node::Scan(scan) = &join.right else { return None };
    let (Access::Seek { index, key }, TableSource::Table(table)) = (&scan.access, &scan.table)
    else {
        return None;
    };
    table.indexes[usize::from(*index)].unique.then_some((scan, key.as_slice()))
}

/// A join by look-ups.
pub(super) struct IndexJoin<'p> {
    left: Input<'p>,
    layout: Vec<Register>,
    stage: LookUp<'p>,
}

/// Looks the rows of a batch up.
struct LookUp<'p> {
    kind: JoinKind,
    right: &'p Node,
    scan: &'p Scan,
    definition: &'p TableDef,
    index: usize,
    keys: Vec<Kernel<'p>>,
    /// How each column of a key is encoded.
    parts: Vec<KeyPart>,
    /// By column of the left side, whether somebody above or a check reads it.
    wanted: Vec<bool>,
    /// Columns of the right side: by ordinal.
    columns: Vec<usize>,
    checks: Vec<Narrow<'p>>,
    encoded: KeyList,
    /// The row of each key in the batch.
    key_rows: Vec<u32>,
    out: Batch,
}

impl<'p> IndexJoin<'p> {
    /// Makes one; `None` if the right side is no look-up.
    pub(super) fn new(join: &'p Join, needed: &Registers) -> Option<Self> {
        let (scan, key) = look_up(join)?;
        let Access::Seek { index, .. } = &scan.access else { return None };
        let index = usize::from(*index);
        let definition = table_of(&scan.table);
        let checked = with(&Registers::default(), scan.residual.iter().chain(&join.on));
        let is_half = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        let mut asked = with(needed, key);
        asked.extend(&checked);
        let left = compile(&join.left, &asked);
        let right: Vec<(usize, Register)> = scan
            .columns
            .iter()
            .filter(|c| checked.contains(c.1) || (!is_half && needed.contains(c.1)))
            .map(|c| (usize::from(c.0), c.1))
            .collect();
        let joined: Vec<Register> =
            left.layout().iter().copied().chain(right.iter().map(|c| c.1)).collect();
        let checks = scan.residual.iter().chain(&join.on);
        let keeps = |r: &Register| checked.contains(*r) || (!is_half && needed.contains(*r));
        let stage = LookUp {
            kind: join.kind,
            right: &join.right,
            scan,
            definition,
            index,
            keys: key.iter().map(|e| Kernel::new(e, left.layout())).collect(),
            parts: definition.key_parts(index).take(key.len()).collect(),
            wanted: left.layout().iter().map(keeps).collect(),
            columns: right.iter().map(|c| c.0).collect(),
            checks: checks.map(|e| Narrow::new(e, &joined)).collect(),
            encoded: KeyList::default(),
            key_rows: Vec::new(),
            out: Batch::default(),
        };
        let layout = if is_half { left.layout().to_vec() } else { joined };
        Some(Self { left, layout, stage })
    }
}

impl<'p> Operator<'p> for IndexJoin<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { left, stage, .. } = self;
        left.run(cx, rows, &mut |cx, rows, batch| {
            fault::check_cancel(cx)?;
            stream(stage, batch, cx, rows, receive)
        })
    }

    fn restrict(&mut self, restriction: &Restriction) {
        // A left row that no join above has a match for need not be looked up; none of that can fail.
        if self.stage.is_safe() {
            self.left.restrict(restriction);
        }
    }
}

impl<'p> LookUp<'p> {
    fn is_safe(&self) -> bool {
        let Access::Seek { key, .. } = &self.scan.access else { return false };
        key.iter().all(cannot_fail) && self.checks.is_empty()
    }

    /// Looks the keys up and returns the rows found, with their rows in the left batch.
    fn find(&self, cx: &mut Cx<'_>, rows: &Rows<'p>) -> (Vec<u32>, ImageRows<'p>, Result<()>) {
        let _label = ledger::labelled(Label::Index);
        let mut found: Vec<(u32, RowImage<'p>)> = Vec::with_capacity(self.encoded.len());
        let id = self.definition.indexes[self.index].storage_id();
        let source = (&*self.definition.rows.data, id);
        let read = query::read_mode(self.definition, self.scan.hints, cx);
        let done = read.and_then(|read| {
            let done = rows.transaction.get_images(source, &self.encoded, read, &mut found);
            done.map_err(|e| fault::raise(cx, e))
        });
        if let Some(profile) = &mut cx.profile {
            profile.count_reads(self.scan, found.len() as u64);
        }
        let left = found.iter().map(|(place, _)| self.key_rows[*place as usize]).collect();
        (left, ImageRows(found.into_iter().map(|(_, image)| image).collect()), done)
    }

    /// Makes the joined batch.
    fn join(&mut self, batch: &Batch, left_rows: &[u32], images: &ImageRows<'_>) {
        let _label = ledger::labelled(Label::Join);
        if self.out.columns.is_empty() {
            let forms = batch.columns.iter().map(|c| Vector::of_type(c.data_type()));
            self.out.columns.extend(forms);
            let columns = self.definition.layout.columns();
            let right = self.columns.iter().map(|ordinal| &columns[*ordinal]);
            self.out.columns.extend(right.map(Vector::with_capacity_for));
        }
        self.out.clear();
        let (left, right) = self.out.columns.split_at_mut(batch.columns.len());
        for ((to, from), wanted) in left.iter_mut().zip(&batch.columns).zip(&self.wanted) {
            if *wanted {
                to.take(from, left_rows);
            } else {
                to.set_constant(Value::Null, left_rows.len());
            }
        }
        let all = Selection::all(left_rows.len());
        for (to, ordinal) in right.iter_mut().zip(&self.columns) {
            self.definition.layout.decode_column(*ordinal, images, &all, to);
        }
        self.out.set_rows(left_rows.len());
    }

    /// Passes on the joined rows that satisfy the checks.
    fn give_joined(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let right = self.right;
        check(&mut self.checks, &mut self.out, cx, rows, &mut |cx, rows, out| {
            note(right, (0, out.selection.len()), cx);
            receive(cx, rows, out)
        })
    }

    /// Semi and anti joins: the left rows that have a match, or those that have none.
    fn give_half(
        &mut self,
        batch: &mut Batch,
        left_rows: &[u32],
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let mut matched = vec![false; batch.rows()];
        let right = self.right;
        check(&mut self.checks, &mut self.out, cx, rows, &mut |cx, _, out| {
            note(right, (0, out.selection.len()), cx);
            out.selection.for_each(|place| matched[left_rows[place] as usize] = true);
            Ok(Flow::More)
        })?;
        let wanted = self.kind == JoinKind::Semi;
        let mut kept = Selection::default();
        kept.filter(&batch.selection, |row| matched[row] == wanted);
        let all = std::mem::replace(&mut batch.selection, kept);
        let flow =
            if batch.selection.is_empty() { Ok(Flow::More) } else { receive(cx, rows, batch) };
        batch.selection = all;
        flow
    }
}

/// Tells the profile, where there is one, how often the right side was opened and what it gave.
fn note(right: &Node, (opened, given): (usize, usize), cx: &mut Cx<'_>) {
    if let Some(profile) = &mut cx.profile {
        profile.note(right, opened as u64, given as u64);
    }
}

/// Takes a batch through the checks that are left.
fn check<'p>(
    checks: &mut [Narrow<'p>],
    batch: &mut Batch,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    if batch.selection.is_empty() {
        return Ok(Flow::More);
    }
    let Some((first, rest)) = checks.split_first_mut() else { return receive(cx, rows, batch) };
    stream(first, batch, cx, rows, &mut |cx, rows, batch| check(rest, batch, cx, rows, receive))
}

impl<'p> Stage<'p> for LookUp<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        let mut vectors: Vec<&Vector> = Vec::with_capacity(self.keys.len());
        for kernel in &mut self.keys {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        self.encoded.clear();
        self.key_rows.clear();
        for row in batch.selection.iter() {
            // NULL equals nothing.
            if vectors.iter().any(|vector| vector.is_null(row)) {
                continue;
            }
            self.encoded.push_with(|out| {
                for (vector, part) in vectors.iter().zip(&self.parts) {
                    encode_row(vector, row, *part, out);
                }
            });
            self.key_rows.push(u32::try_from(row).unwrap_or(u32::MAX));
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
        note(self.right, (batch.selection.len(), 0), cx);
        let (left_rows, images, done) = self.find(cx, rows);
        done?;
        self.join(batch, &left_rows, &images);
        match self.kind {
            JoinKind::Semi | JoinKind::Anti => self.give_half(batch, &left_rows, cx, rows, receive),
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => {
                self.give_joined(cx, rows, receive)
            }
        }
    }
}
