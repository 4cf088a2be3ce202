//! Left-first strategy: a semi, anti or left join with a small left input reads the left input
//! first, and keeps only those right rows that a left row asks for.
//!
//! ```text
//! left ──► buffered ──keys──► restriction of right ──► right into hash table ──► left looked up
//! ```
//! The usual case is EXISTS over a large table, where a hash table of all its rows costs more than
//! everything else. If there are more left rows than estimated, the right input is read in the
//! middle of the left one, and the remaining left rows stream.
//!
//! Most such joins exchange their inputs instead (`exchanged.rs`). This strategy is for outer joins
//! whose order is visible, and for joins whose ON may fail.

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

/// Least number of right rows per left row for which the strategy is used.
const RIGHT_ROWS_PER_LEFT: f64 = 4.0;
/// Least number of right rows for which the strategy is used.
const RIGHT_ROWS_MIN: f64 = if cfg!(debug_assertions) { 8.0 } else { 16_384.0 };

/// Returns true if a join should read its left input first.
pub(super) fn is_left_first(join: &Join, keys: &[(Expr, Expr)]) -> bool {
    match join.kind {
        // A right row that no left row asks for has no effect.
        JoinKind::Semi | JoinKind::Anti | JoinKind::Left => {}
        // The optimizer has made the smaller input the right one; a full join returns all right
        // rows.
        JoinKind::Inner | JoinKind::Full => return false,
    }
    let drops_no_error = keys.iter().all(|(_, right)| cannot_fail(right));
    let is_narrowed = || keys.iter().any(|pair| restricted(&join.right, pair).is_some());
    if !drops_no_error || !is_narrowed() {
        return false;
    }
    is_left_small(join)
}

/// Returns true if the left input is estimated to be much smaller than the right one.
pub(super) fn is_left_small(join: &Join) -> bool {
    let right = estimate(&join.right).rows;
    right >= RIGHT_ROWS_MIN && estimate(&join.left).rows * RIGHT_ROWS_PER_LEFT <= right
}

/// Returns the left and the right column of a pair of keys that restricts a scan of the right
/// input.
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

/// Returns true if a restriction of a column reaches a scan.
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

/// The buffered left rows.
struct Aside {
    store: Store,
    columns: Vec<Wanted>,
    /// Their share of the query's memory grant.
    charge: Charge,
}

/// A column of the left rows, and the column of the right input that it restricts.
struct Wanted {
    place: usize,
    register: Register,
    /// The values; `None` if some are not known.
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
    /// Returns the restrictions of the right input that follow from the rows.
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
    /// Runs the join with the left input read first.
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
        build(right, right_keys, probe, cx, rows)?;
        let flow = kept.give_back(probe, cx, rows, receive)?;
        if flow == Flow::Enough { Ok(flow) } else { ran }
    }

    /// Makes an empty buffer for left rows.
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
            charge: cx.session.accounting.grant.charge(0),
        }
    }
}
