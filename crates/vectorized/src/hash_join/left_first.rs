//! Left first: a semi, anti or left join whose left input is small reads that one before the right one, of which
//! only rows are kept then that some left row asks for.
//!
//! ```text
//! left ──► kept aside ──keys──► restriction of the right input ──► hash table ──► left rows, looked up as ever
//! ```
//! EXISTS over a large table is the usual case: a table of all its rows costs more than all the rest. If there are
//! more left rows than was estimated, the right input is read whole in their midst, and the others stream.
//!
//! Most such joins exchange their inputs instead (`exchanged.rs`). These are left: outer joins whose order shows, and
//! those where ON may fail.

use std::sync::Arc;

use types::Result;
use types::batch::Batch;

use super::keeping::Keeping;
use super::probe::Probe;
use super::{HashJoin, build};
use crate::kernel::cannot_fail;
use crate::restrict::{KeyFilter, Restriction, is_restrictable, push_words};
use crate::store::Store;
use crate::{Flow, Receive, Rows, stream};
use executor::Cx;
use executor::grant::Charge;
use optimizer::estimate;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Join, JoinKind, JoinMethod, Node};

/// Right rows to a left one from which it pays.
const RIGHT_ROWS_PER_LEFT: f64 = 4.0;
/// Right rows from which it pays.
const RIGHT_ROWS_MIN: f64 = if cfg!(debug_assertions) { 8.0 } else { 16_384.0 };

/// Tells whether a join is to read its left input first.
pub(super) fn is_left_first(join: &Join, keys: &[(Expr, Expr)]) -> bool {
    match join.kind {
        // A right row that no left one asks for is seen by nobody.
        JoinKind::Semi | JoinKind::Anti | JoinKind::Left => {}
        // The right input of an inner join is the smaller one already; those of a full join are all seen.
        JoinKind::Inner | JoinKind::Full => return false,
    }
    let drops_no_error = keys.iter().all(|(_, right)| cannot_fail(right));
    let is_narrowed = || keys.iter().any(|pair| restricted(&join.right, pair).is_some());
    if !drops_no_error || !is_narrowed() {
        return false;
    }
    is_left_small(join)
}

/// Tells whether the left input is estimated to be much smaller than the right one.
pub(super) fn is_left_small(join: &Join) -> bool {
    let right = estimate(&join.right).rows;
    right >= RIGHT_ROWS_MIN && estimate(&join.left).rows * RIGHT_ROWS_PER_LEFT <= right
}

/// The left and the right column of a pair of keys that restricts a scan of the right input.
fn restricted(right: &Node, (left, own): &(Expr, Expr)) -> Option<(Register, Register)> {
    match (&left.kind, &own.kind) {
        (ExprKind::Column(of_left), ExprKind::Column(of_right))
            if is_restrictable(&own.ty.data_type) && reaches_scan(right, *of_right) =>
        {
            Some((*of_left, *of_right))
        }
        _ => None,
    }
}

/// Tells whether a restriction of a column comes to a scan.
fn reaches_scan(node: &Node, register: Register) -> bool {
    match node {
        Node::Scan(scan) => scan.columns.iter().any(|column| column.1 == register),
        Node::Filter(filter) => reaches_scan(&filter.0, register),
        Node::Compute(compute) => reaches_scan(&compute.0, register),
        Node::Join(join) => match (&join.method, join.kind) {
            (JoinMethod::Hash(_), JoinKind::Inner) => {
                reaches_scan(&join.left, register) || reaches_scan(&join.right, register)
            }
            (JoinMethod::Hash(_), JoinKind::Semi | JoinKind::Anti | JoinKind::Left) => {
                reaches_scan(&join.left, register)
            }
            (JoinMethod::Hash(_), JoinKind::Full) | (JoinMethod::Loop, _) => false,
        },
        _ => false,
    }
}

/// The left rows that have come.
struct Aside {
    store: Store,
    columns: Vec<Wanted>,
    /// What they take of the query's memory.
    charge: Charge,
}

/// A column of the left rows, and the one of the right input that it restricts.
struct Wanted {
    place: usize,
    register: Register,
    /// The values; none where they are not known.
    words: Option<Vec<u64>>,
}

impl<'p> Keeping<'p> for Aside {
    const ROWS_MAX: usize = if cfg!(debug_assertions) { 24 } else { 1 << 19 };

    fn rows(&self) -> usize {
        self.store.len
    }

    fn keep(&mut self, _: &mut Probe<'p>, batch: &Batch, _: &mut Cx<'_>) -> Result<()> {
        self.store.push(batch, &batch.selection);
        for column in &mut self.columns {
            let vector = &batch.columns[column.place];
            let is_known =
                column.words.as_mut().is_some_and(|to| push_words(vector, &batch.selection, to));
            if !is_known {
                column.words = None;
            }
        }
        let words = self.columns.iter().filter_map(|column| column.words.as_ref());
        let words: usize = words.map(|words| words.capacity() * size_of::<u64>()).sum();
        self.charge.set(self.store.memory() + words)
    }

    fn give_back(
        &self,
        probe: &mut Probe<'p>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let order: Vec<u32> = (0..u32::try_from(self.store.len).unwrap_or(u32::MAX)).collect();
        self.store
            .give(&order, cx, rows, &mut |cx, rows, batch| stream(probe, batch, cx, rows, receive))
    }
}

impl Aside {
    /// Makes what the rows say of the right input.
    fn restrictions(&mut self) -> Result<Vec<Restriction>> {
        let mut found = Vec::new();
        for column in &mut self.columns {
            let words = column.words.take();
            let keys = words.and_then(|words| KeyFilter::new(words.iter().copied()));
            let Some(keys) = keys else { continue };
            self.charge.add(keys.memory())?;
            found.push(Restriction { register: column.register, keys: Arc::new(keys) });
        }
        Ok(found)
    }
}

impl<'p> HashJoin<'p> {
    /// Runs with the left input read first.
    pub(super) fn run_left_first(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let aside = self.aside(cx);
        let (ran, kept) = self.keep_left(aside, cx, rows, receive);
        let Some(mut kept) = kept else { return ran };
        let Self { right, right_keys, probe, .. } = self;
        kept.restrictions()?.iter().for_each(|restriction| right.restrict(restriction));
        build((right, right_keys), probe, cx, rows)?;
        let flow = kept.give_back(probe, cx, rows, receive)?;
        if flow == Flow::Enough { Ok(flow) } else { ran }
    }

    /// Makes an empty place for left rows.
    fn aside(&self, cx: &Cx<'_>) -> Aside {
        let layout = self.left.layout();
        let place = |wanted| layout.iter().position(|register| *register == wanted);
        let columns = self.keys.iter().filter_map(|pair| {
            let (left, register) = restricted(&self.join.right, pair)?;
            Some(Wanted { place: place(left)?, register, words: Some(Vec::new()) })
        });
        Aside {
            store: Store::new(layout, &layout.iter().copied().collect()),
            columns: columns.collect(),
            charge: cx.session.grant.charge(0),
        }
    }
}
