//! Index joins: looks up all rows of a left batch in an index of the right table at once. The key
//! is a complete unique key, or the first columns of a range index, which may match many rows.
//!
//! The loop join of row mode opens the right side for each left row: it encodes a key, determines
//! isolation, snapshot and index, descends, and decodes a row into registers. Here each step is
//! done once per batch, and the right columns are decoded as those of a scan are.
//!
//! A semi or anti join first reads a few rows per key, and further rows only for keys without a
//! match so far.

use sos::ledger::{self, Label};
use storage::{KeyList, KeyWalk, RowImage};
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::key::KeyPart;
use types::{Result, Value};

use super::filter::Narrow;
use super::kernel::{Kernel, cannot_fail};
use super::long_keys::with_keys;
use super::parallel::Tables;
use super::restrict::Restriction;
use super::scan::{Decode, ImageRows, by_work};
use super::sort::encode_row;
use super::{Flow, Input, Operator, Receive, Rows, Stage, compile, stream, with};
use catalog::{IndexKind, TableDef};
use executor::{Cx, fault, query};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Access, Join, JoinKind, Node, Scan, TableSource};
use plan::statement::table_of;
use plan::walk::{self, Registers};

/// Rows per key that a semi or anti join reads in the first pass: about one leaf.
const TRIAL_ROWS: usize = if cfg!(debug_assertions) { 2 } else { 16 };

/// Returns true if the right side of a loop join is a look-up that can be done for a batch, and no
/// check can fail on a row that row mode would not have checked.
pub(super) fn is_possible(join: &Join) -> bool {
    let Some(look_up) = look_up(join) else { return false };
    let scan = look_up.scan;
    let checks = scan.residual.iter().chain(&join.on);
    let is_half = match join.kind {
        JoinKind::Inner => false,
        JoinKind::Semi | JoinKind::Anti => true,
        JoinKind::Left | JoinKind::Full => return false,
    };
    let plain = |e: &Expr| !walk::has_subquery(e);
    look_up.key.iter().all(plain)
        && checks.clone().all(plain)
        && (!is_half || checks.clone().all(cannot_fail))
        && scan.residual.iter().all(cannot_fail)
}

/// The look-up that a right side does.
struct Sought<'p> {
    scan: &'p Scan,
    index: usize,
    key: &'p [Expr],
    finds: Finds,
}

/// The number of rows that a key may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finds {
    /// At most one: a complete unique key.
    One,
    /// Any number: the first columns of a key, or a key that is not unique.
    Many,
}

/// Returns the look-up that the right side does; `None` if it does something else.
fn look_up(join: &Join) -> Option<Sought<'_>> {
    let Node::Scan(scan) = &join.right else { return None };
    let TableSource::Table(table) = &scan.table else { return None };
    let (index, key) = match &scan.access {
        Access::Seek { index, key } => (*index, key),
        Access::Range { index, prefix, lower: None, upper: None, backward: false }
            if !prefix.is_empty() =>
        {
            (*index, prefix)
        }
        Access::Full | Access::Range { .. } | Access::Points { .. } => return None,
    };
    let index = usize::from(index);
    let definition = &table.indexes[index];
    let is_whole = key.len() == definition.keys.len();
    let finds = if is_whole && definition.unique { Finds::One } else { Finds::Many };
    let is_walked = definition.kind == IndexKind::Range && table.columnstore.is_none();
    (finds == Finds::One || is_walked).then_some(Sought { scan, index, key, finds })
}

/// Splits the checks of a right side into those that read its columns only and can't fail, and the
/// others.
fn parts<'p>(
    predicates: impl Iterator<Item = &'p Expr>,
    own: &Registers,
) -> (Vec<&'p Expr>, Vec<&'p Expr>) {
    let conjuncts = predicates.flat_map(|predicate| match &predicate.kind {
        ExprKind::And(list) if cannot_fail(predicate) => list.as_ref(),
        _ => std::slice::from_ref(predicate),
    });
    conjuncts.partition(|e| walk::reads(e).is_subset(own) && cannot_fail(e))
}

/// Drops found rows by checks that need no left row, before anything is copied.
struct Sieve<'p> {
    layout: Vec<Register>,
    has_checks: bool,
    decode: Decode<'p>,
}

impl<'p> Sieve<'p> {
    fn new(scan: &'p Scan, definition: &'p TableDef, conditions: &[&'p Expr]) -> Self {
        let (ordinals, layout): (Vec<u16>, Vec<Register>) = scan.columns.iter().copied().unzip();
        let checks = by_work(conditions.iter().copied(), &layout);
        let has_checks = !checks.is_empty();
        Self { layout, has_checks, decode: Decode::new(definition, &ordinals, checks) }
    }

    fn restrict(&mut self, restriction: &Restriction) {
        if let Some(place) = self.layout.iter().position(|r| *r == restriction.register) {
            self.decode.add_test(restriction, place);
        }
    }

    /// Drops rows, with the numbers of their left rows.
    fn sift(
        &mut self,
        left_rows: &mut Vec<u32>,
        images: &mut ImageRows<'p>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let Some(kept) = self.decode.sift(images, cx)? else { return Ok(()) };
        images.retain(&kept);
        for (to, from) in kept.iter().enumerate() {
            left_rows[to] = left_rows[from];
        }
        left_rows.truncate(kept.len());
        Ok(())
    }
}

/// A join by index look-ups: its left input, and the stage that looks up.
pub(super) struct IndexJoin<'p> {
    left: Input<'p>,
    layout: Vec<Register>,
    stage: LookUp<'p>,
}

/// Looks up the rows of a batch.
struct LookUp<'p> {
    kind: JoinKind,
    right: &'p Node,
    scan: &'p Scan,
    definition: &'p TableDef,
    index: usize,
    finds: Finds,
    /// Whether everything evaluated here can be evaluated without error.
    is_safe: bool,
    keys: Vec<Kernel<'p>>,
    /// How each key column is encoded.
    parts: Vec<KeyPart>,
    /// For each left column, whether an operator above or a check reads it.
    wanted: Vec<bool>,
    /// Ordinals of the right columns.
    columns: Vec<usize>,
    sieve: Sieve<'p>,
    checks: Vec<Narrow<'p>>,
    encoded: KeyList,
    /// For each key, the number of its row in the batch.
    key_rows: Vec<u32>,
    out: Batch,
}

impl<'p> IndexJoin<'p> {
    /// Makes an index join; `None` if the join can't be one.
    pub(super) fn new(join: &'p Join, needed: &Registers) -> Option<Self> {
        let sought = look_up(join).filter(|_| is_possible(join));
        let Sought { scan, index, key, finds } = sought?;
        let definition = table_of(&scan.table);
        let own: Registers = scan.columns.iter().map(|c| c.1).collect();
        let (sifts, checks) = parts(scan.residual.iter().chain(&join.on), &own);
        let checked = with(&Registers::default(), checks.iter().copied());
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
        let keeps = |r: &Register| checked.contains(*r) || (!is_half && needed.contains(*r));
        let stage = LookUp {
            kind: join.kind,
            right: &join.right,
            scan,
            definition,
            index,
            finds,
            is_safe: key.iter().chain(&scan.residual).chain(&join.on).all(cannot_fail),
            keys: key.iter().map(|e| Kernel::new(e, left.layout())).collect(),
            parts: definition.key_parts(index).take(key.len()).collect(),
            wanted: left.layout().iter().map(keeps).collect(),
            columns: right.iter().map(|c| c.0).collect(),
            sieve: Sieve::new(scan, definition, &sifts),
            checks: checks.iter().map(|e| Narrow::new(e, &joined)).collect(),
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

    fn open(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>, tables: &mut Tables) -> Result<()> {
        self.left.open(cx, rows, tables)
    }

    fn adopt(&mut self, tables: &Tables) {
        self.left.adopt(tables);
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { left, stage, .. } = self;
        left.run(cx, rows, &mut |cx, rows, batch| {
            fault::batch_passed(cx)?;
            stream(stage, batch, cx, rows, receive)
        })
    }

    fn restrict(&mut self, restriction: &Restriction) {
        // Rows that a join above has no match for may be skipped, if nothing evaluated for them can
        // fail.
        if !self.stage.is_safe {
            return;
        }
        if self.left.layout().contains(&restriction.register) {
            self.left.restrict(restriction);
        } else if self.stage.kind == JoinKind::Inner {
            self.stage.sieve.restrict(restriction);
        }
    }
}

impl<'p> LookUp<'p> {
    /// Looks up the keys; returns the rows found and the numbers of their left rows.
    fn find(&mut self, cx: &mut Cx<'_>, rows: &Rows<'p>) -> Result<(Vec<u32>, ImageRows<'p>)> {
        let label = ledger::labelled(Label::Index);
        let mut found: Vec<(u32, RowImage<'p>)> = Vec::with_capacity(self.encoded.len());
        let read = query::read_mode(self.definition, self.scan.hints, cx)?;
        let done = rows.transaction.get_images(self.source(), &self.encoded, read, &mut found);
        done.map_err(|e| fault::raise(cx, e))?;
        drop(label);
        self.sifted(&found, cx)
    }

    /// As [`Self::find`], for the next rows of a walk over the keys.
    fn find_next(
        &mut self,
        walk: &mut KeyWalk,
        cx: &mut Cx<'_>,
        rows: &Rows<'p>,
    ) -> Result<(Vec<u32>, ImageRows<'p>)> {
        fault::batch_passed(cx)?;
        let label = ledger::labelled(Label::Index);
        let mut found: Vec<(u32, RowImage<'p>)> = Vec::with_capacity(BATCH_ROWS);
        let read = query::read_mode(self.definition, self.scan.hints, cx)?;
        let (source, keys) = (self.source(), &self.encoded);
        let done = rows.transaction.walk_images(source, keys, read, walk, &mut found);
        done.map_err(|e| fault::raise(cx, e))?;
        drop(label);
        self.sifted(&found, cx)
    }

    fn source(&self) -> (&'p storage::Table, storage::IndexId) {
        (&self.definition.rows.data, self.definition.indexes[self.index].storage_id())
    }

    /// Returns the found rows that pass the sieve, with the numbers of their left rows.
    fn sifted(
        &mut self,
        found: &[(u32, RowImage<'p>)],
        cx: &mut Cx<'_>,
    ) -> Result<(Vec<u32>, ImageRows<'p>)> {
        cx.count_reads(self.scan, found.len() as u64);
        let left_row = |(place, _): &(u32, _)| self.key_rows[*place as usize];
        let mut left_rows: Vec<u32> = found.iter().map(left_row).collect();
        let mut images = ImageRows(found.iter().map(|(_, image)| *image).collect());
        self.sieve.sift(&mut left_rows, &mut images, cx)?;
        Ok((left_rows, images))
    }

    /// Makes the batch of joined rows.
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
            note(right, 0, out.selection.len(), cx);
            receive(cx, rows, out)
        })
    }

    /// Looks up all keys and passes on the joined rows.
    fn give_all(
        &mut self,
        batch: &Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if self.finds == Finds::One {
            let (left_rows, images) = self.find(cx, rows)?;
            self.join(batch, &left_rows, &images);
            return self.give_joined(cx, rows, receive);
        }
        let mut walk = KeyWalk::new(&self.encoded, usize::MAX);
        while !walk.is_done() {
            let (left_rows, images) = self.find_next(&mut walk, cx, rows)?;
            self.join(batch, &left_rows, &images);
            if self.give_joined(cx, rows, receive)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// Semi and anti joins: passes on the left rows with a match, or those without.
    fn give_half(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let mut matched = vec![false; batch.rows()];
        if self.finds == Finds::One {
            let found = self.find(cx, rows)?;
            self.match_found(batch, found, &mut matched, cx, rows)?;
        } else {
            self.match_walked(batch, &mut matched, cx, rows)?;
        }
        let wanted = self.kind == JoinKind::Semi;
        let mut kept = Selection::default();
        kept.filter(&batch.selection, |row| matched[row] == wanted);
        let all = std::mem::replace(&mut batch.selection, kept);
        let flow =
            if batch.selection.is_empty() { Ok(Flow::More) } else { receive(cx, rows, batch) };
        batch.selection = all;
        flow
    }

    /// Marks the left rows that have a match: first by a few rows per key, then by the remaining
    /// rows of keys without a match.
    fn match_walked(
        &mut self,
        batch: &Batch,
        matched: &mut [bool],
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
    ) -> Result<()> {
        // Without a check, the first row found is a match.
        let is_checked = !self.checks.is_empty() || self.sieve.has_checks;
        let trial = if is_checked { TRIAL_ROWS } else { 1 };
        let mut walk = KeyWalk::new(&self.encoded, trial);
        while !walk.is_done() {
            let found = self.find_next(&mut walk, cx, rows)?;
            self.match_found(batch, found, matched, cx, rows)?;
        }
        for (place, mut rest) in walk.unfinished() {
            let row = self.key_rows[place] as usize;
            while !matched[row] && !rest.is_done() {
                let found = self.find_next(&mut rest, cx, rows)?;
                self.match_found(batch, found, matched, cx, rows)?;
            }
        }
        Ok(())
    }

    /// Marks the left rows of found rows that satisfy the checks.
    fn match_found(
        &mut self,
        batch: &Batch,
        (left_rows, images): (Vec<u32>, ImageRows<'p>),
        matched: &mut [bool],
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
    ) -> Result<()> {
        self.join(batch, &left_rows, &images);
        let right = self.right;
        check(&mut self.checks, &mut self.out, cx, rows, &mut |cx, _, out| {
            note(right, 0, out.selection.len(), cx);
            out.selection.for_each(|place| matched[left_rows[place] as usize] = true);
            Ok(Flow::More)
        })?;
        Ok(())
    }
}

/// Adds openings and rows of the right side to the profile, if there is one.
fn note(right: &Node, opened: usize, given: usize, cx: &mut Cx<'_>) {
    if let Some(profile) = &mut cx.profile {
        profile.note(right, opened as u64, given as u64);
    }
}

/// Passes a batch through the remaining checks.
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
        let (encoded, key_rows, parts) = (&mut self.encoded, &mut self.key_rows, &self.parts);
        with_keys(&vectors, &batch.selection, cx, || {
            for row in batch.selection.iter() {
                // NULL equals nothing, so it is not looked up.
                if vectors.iter().any(|vector| vector.is_null(row)) {
                    continue;
                }
                encoded.push_with(|out| {
                    for (vector, part) in vectors.iter().zip(parts) {
                        encode_row(vector, row, *part, out);
                    }
                });
                key_rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
        })
    }

    fn give(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        note(self.right, batch.selection.len(), 0, cx);
        match self.kind {
            JoinKind::Semi | JoinKind::Anti => self.give_half(batch, cx, rows, receive),
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => {
                self.give_all(batch, cx, rows, receive)
            }
        }
    }
}
