//! Hash joins: the right input is stored by column, with a hash table of its keys; each left batch
//! is looked up as a whole.
//!
//! ```text
//! key ── KeyTable ──► number ── heads ──► last row with it ── next ──► the row before ──► ..
//! ```
//! If every key has one row, the left batch is passed on in place: its selection narrows, and the
//! right columns are added beside it. Otherwise pairs are made, and both sides are copied. With ON,
//! or for unmatched left rows, a pair without right row follows the pairs of each left row; it is
//! kept if none of them is, so that rows come in the order of row mode.
//!
//! This is the usual strategy. `exchanged.rs` and `left_first.rs` have those for a small left
//! input.

mod built;
mod exchanged;
mod keeping;
mod left_first;
mod probe;

use std::sync::Arc;

use sos::ledger::{self, Label};
use types::Result;
use types::value::ColumnType;

use self::built::{Built, encode};
use self::probe::{Probe, Scratch};
use super::interner::Unknown;
use super::kernel::{Kernel, cannot_fail};
use super::keys::{KeyRows, Keys, NullKeys};
use super::parallel::{Tables, table_of};
use super::restrict::Restriction;
use super::store::Store;
use super::table::KeyTable;
use super::{Flow, Input, Operator, Receive, Rows, compile, stream, with};
use executor::Cx;
use plan::expr::{Expr, Register};
use plan::query::{Join, JoinKind};
use plan::walk::Registers;

/// The strategy of a hash join: which input is read first, and which one is in the hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// The right input is read into the hash table, then the left rows are looked up.
    RightFirst,
    /// The left input is buffered first and restricts the right one, which is read into the hash
    /// table.
    LeftAside,
    /// The left input is read into the hash table, then the right rows are looked up.
    Exchanged,
}

/// Returns the strategy of a hash join, chosen by estimates and kind.
pub fn course(join: &Join, keys: &[(Expr, Expr)]) -> Course {
    if exchanged::is_exchanged(join, keys) {
        return Course::Exchanged;
    }
    if left_first::is_left_first(join, keys) { Course::LeftAside } else { Course::RightFirst }
}

/// A hash join: its inputs, its keys and the probe.
pub(super) struct HashJoin<'p> {
    join: &'p Join,
    left: Input<'p>,
    right: Input<'p>,
    layout: Vec<Register>,
    keys: &'p [(Expr, Expr)],
    /// Whether keys and ON can be evaluated for every row without error.
    is_safe: bool,
    right_keys: Vec<Kernel<'p>>,
    probe: Probe<'p>,
    /// For a helper: the hash table that the leader has built.
    published: Option<Arc<Published>>,
    /// Whether the right input has been read into the hash table.
    is_built: bool,
    course: Course,
}

/// A finished hash table, shared with other workers.
pub(super) struct Published {
    keys: Keys,
    built: Arc<Built>,
    /// The restrictions of the left input that follow from the keys.
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
            scratch: Scratch::default(),
        };
        let right_keys = kernels(|pair| &pair.1, right.layout());
        let is_safe = is_safe(join, keys);
        let course = course(join, keys);
        let (is_built, published) = (false, None);
        Self {
            join,
            left,
            right,
            layout,
            keys,
            is_safe,
            right_keys,
            probe,
            published,
            is_built,
            course,
        }
    }

    /// Returns the restrictions of the left input, if only left rows with a match are needed.
    fn restrictions(&self) -> Vec<Restriction> {
        let is_possible = matches!(self.probe.kind, JoinKind::Inner | JoinKind::Semi)
            && self.keys.iter().all(|(left, _)| cannot_fail(left));
        if !is_possible {
            return Vec::new();
        }
        self.probe.table.restrictions(&self.probe.keys, self.keys.iter().map(|(left, _)| left))
    }

    /// Takes over another worker's hash table or builds one, and passes its restrictions to the
    /// left input.
    fn prepare(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>) -> Result<Vec<Restriction>> {
        let restrictions = match self.published.take() {
            Some(published) => {
                self.probe.keys = published.keys.clone();
                self.probe.table = Arc::clone(&published.built);
                self.is_built = true;
                published.restrictions.clone()
            }
            None => {
                build(&mut self.right, &mut self.right_keys, &mut self.probe, cx, rows)?;
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

/// Returns true if the keys and ON can be evaluated for every row without error.
fn is_safe(join: &Join, keys: &[(Expr, Expr)]) -> bool {
    keys.iter().all(|(left, right)| cannot_fail(left) && cannot_fail(right))
        && join.on.as_ref().is_none_or(cannot_fail)
}

/// Reads the right input into the hash table.
fn build<'p>(
    right: &mut Input<'p>,
    right_keys: &mut [Kernel<'p>],
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
    let mut charge = cx.session.accounting.grant.charge(0);
    right.run(cx, rows, &mut |cx, _, batch| {
        let _label = ledger::labelled(Label::Join);
        encode(keys, right_keys, batch, Unknown::Add, &mut key_rows, cx)?;
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

    fn adopt(&mut self, tables: &Tables) {
        self.published = table_of(tables, self.join);
        self.left.adopt(tables);
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if !self.is_built {
            let is_shared = self.published.is_some();
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
