//! The vectorized executor: runs the same bound trees as `executor::query`, a batch of rows at a
//! time.
//!
//! A tree is first compiled (`compile`): each node becomes an `Operator` with a fixed batch layout,
//! one register per column, and its expressions become kernels over that layout. It runs as in row
//! mode: an operator pushes its batches to the one above, which returns whether it wants more.
//!
//! ```text
//! Scan ──batch──► Filter ──batch──► HashJoin ──batch──► Aggregate ──batch──► rows of registers
//! ```
//! - a batch is passed as `&mut`: the receiver may narrow its selection and add columns, which it
//!   removes again; the operator below reads none of it afterwards;
//! - an operator evaluates its expressions for a whole batch before it passes anything on. If that
//!   fails, it evaluates row by row (`stream`): rows before the failing one are passed on, and a
//!   receiver that wants no more of them prevents the error, as in row mode;
//! - a node without an operator here runs in row mode below an adapter (`adapt.rs`).
//!
//! `row_or_batch.rs` decides which trees run here.
#![forbid(unsafe_code)]

mod adapt;
mod aggregate;
mod bound;
mod bulk;
mod coded;
mod distinct;
mod few_groups;
mod filter;
mod hash_join;
mod index_join;
mod interner;
pub mod kernel;
mod keys;
mod limit;
mod long_keys;
mod loop_join;
mod number;
mod parallel;
mod pushdown;
mod restrict;
mod row_or_batch;
mod scan;
mod set;
mod simplify;
mod sort;
mod store;
mod table;
mod total;
mod window;

use types::Result;
use types::batch::{Batch, Selection};

use bound::Bound;
use parallel::{Gather, Tables};
use pushdown::SharedPushdown;
use restrict::Restriction;

use executor::Cx;
use executor::dml::Loader;
use executor::parallel::Role;
use executor::query::{Flow, Rows};
use executor::query::{ReceiveBatch, ReceiveColumns};
use plan::expr::Register;
use plan::query::{JoinMethod, Node};
use plan::walk::{Registers, with};

pub use parallel::{Degree, Receiver, regions_of};

pub use hash_join::{Course, course};
pub use row_or_batch::is_chosen;

/// The operator above: called for each batch.
type Receive<'s, 'p> = &'s mut dyn FnMut(&mut Cx<'_>, &mut Rows<'p>, &mut Batch) -> Result<Flow>;

/// A compiled node. It is run once.
trait Operator<'p> {
    /// Returns the registers of its batches' columns.
    fn layout(&self) -> &[Register];

    /// Runs the operator; calls `receive` with each batch.
    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow>;

    /// Prepares what several workers share, the hash tables of a pipeline. The leader calls it
    /// before `run`.
    fn open(&mut self, _: &mut Cx<'_>, _: &mut Rows<'p>, _: &mut Tables) -> Result<()> {
        Ok(())
    }

    /// Takes over what the leader has prepared with `open`. A helper calls it before `run`.
    fn adopt(&mut self, _: &Tables) {}

    /// Called before `run` with rows that the operator may skip. The default keeps them.
    fn restrict(&mut self, _: &Restriction) {}

    /// Called before `run` with the bound of a sort above, which the sort lowers while it runs: the
    /// operator may skip the rows behind it. The default keeps them.
    fn bound(&mut self, _: &Bound) {}

    /// Called before `run` if the operator above accepts totals instead of rows. The default
    /// returns the rows.
    fn summarize(&mut self, _: &SharedPushdown) {}
}

type Input<'p> = Box<dyn Operator<'p> + 'p>;

/// Runs a tree. Calls `receive` for each row, after filling those of its registers that are in
/// `needed`.
pub fn run<'p>(
    node: &'p Node,
    needed: &Registers,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: executor::query::Receive<'_, 'p>,
) -> Result<Flow> {
    parallel::planned(node, cx, |cx| run_planned(node, needed, cx, rows, receive))
}

fn run_planned<'p>(
    node: &'p Node,
    needed: &Registers,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: executor::query::Receive<'_, 'p>,
) -> Result<Flow> {
    let mut operator = compile(node, needed);
    let columns: Vec<(usize, Register)> =
        operator.layout().iter().copied().enumerate().filter(|c| needed.contains(c.1)).collect();
    operator.run(cx, rows, &mut |cx, rows, batch| {
        for row in batch.selection.iter() {
            for (column, register) in &columns {
                cx.registers[register.index()] = batch.columns[*column].get(row);
            }
            if receive(cx, rows)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    })
}

/// Runs a tree. Calls `receive` with each batch and the positions of `columns` in it.
pub fn run_columns<'p>(
    node: &'p Node,
    columns: &[Register],
    needed: &Registers,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: ReceiveColumns<'_>,
) -> Result<Flow> {
    parallel::planned(node, cx, |cx| {
        let mut operator = compile(node, needed);
        let place = |register: &Register| operator.layout().iter().position(|r| r == register);
        let places: Vec<Option<usize>> = columns.iter().map(place).collect();
        operator.run(cx, rows, &mut |cx, _, batch| receive(cx, batch, &places))
    })
}

/// Runs a tree. Calls `receive` with each batch and the registers of its columns. Helpers pass
/// their batches to the loader.
pub fn load_batches<'p>(
    node: &'p Node,
    loader: &Loader<'_>,
    needed: &Registers,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: ReceiveBatch<'_>,
) -> Result<Flow> {
    cx.parallel.loads = true;
    parallel::planned(node, cx, |cx| {
        cx.parallel.loads = false;
        let mut operator = compile(node, needed);
        let layout = operator.layout().to_vec();
        let receive: Receive<'_, 'p> = &mut |cx, _, batch| receive(cx, &layout, batch);
        let at = std::ptr::from_ref(node).addr();
        match cx.parallel.region(at, Role::Load) {
            Some(region) => {
                let load = parallel::Load { node, needed, loader, input: &mut *operator };
                load.run(region, cx, rows, receive)
            }
            None => operator.run(cx, rows, receive),
        }
    })
}

/// Compiles a node to an operator that provides the `needed` registers.
fn compile<'p>(node: &'p Node, needed: &Registers) -> Input<'p> {
    let inner: Input<'p> = match node {
        Node::Scan(scan) => Box::new(scan::TableScan::new(scan, needed)),
        Node::Filter(filter) => {
            let input = compile(&filter.0, &with(needed, [&filter.1]));
            Box::new(filter::Filter::new(input, &filter.1))
        }
        Node::Compute(compute) => {
            let input = compile(&compute.0, &with(needed, compute.1.iter().map(|c| &c.1)));
            Box::new(filter::Compute::new(input, &compute.1))
        }
        Node::Join(join) => match &join.method {
            JoinMethod::Hash(keys) => Box::new(hash_join::HashJoin::new(join, keys, needed)),
            JoinMethod::Loop => match index_join::IndexJoin::new(join, needed) {
                Some(by_index) => Box::new(by_index),
                None => Box::new(loop_join::LoopJoin::new(join, needed)),
            },
        },
        Node::Aggregate(aggregate) => Box::new(aggregate::Grouping::new(aggregate)),
        Node::Window(window) if window.streams => {
            Box::new(number::WindowStream::new(window, needed))
        }
        Node::Window(window) => Box::new(window::WindowSort::new(window, needed)),
        Node::Sort(sort) => Box::new(sort::Sorting::new(sort, needed)),
        Node::Distinct(distinct) => Box::new(distinct::Distinct::new(distinct, needed)),
        Node::Limit(limit) => limit::compile(limit, needed),
        Node::SetOperation(operation) => Box::new(set::SetOperator::new(operation)),
        Node::Bulk(scan) => match bulk::FileScan::new(scan, needed) {
            Some(scan) => Box::new(scan),
            None => return Box::new(adapt::RowSource::new(node)),
        },
        // Other operators run in row mode.
        _ => return Box::new(adapt::RowSource::new(node)),
    };
    Box::new(Profiled { node, inner, restrictions: Vec::new(), gathers: false })
}

/// Wraps an operator: counts what it does if the statement has a profile (row mode counts its own
/// nodes), and gathers the rows of helpers where the operator is the top of a region.
struct Profiled<'p> {
    node: &'p Node,
    inner: Input<'p>,
    /// The restrictions it was given, for its helpers.
    restrictions: Vec<Restriction>,
    /// Whether it already runs as the leader of its region.
    gathers: bool,
}

impl<'p> Operator<'p> for Profiled<'p> {
    fn layout(&self) -> &[Register] {
        self.inner.layout()
    }

    fn restrict(&mut self, restriction: &Restriction) {
        self.inner.restrict(restriction);
        self.restrictions.push(restriction.clone());
    }

    fn bound(&mut self, bound: &Bound) {
        self.inner.bound(bound);
    }

    fn summarize(&mut self, pushdown: &SharedPushdown) {
        self.inner.summarize(pushdown);
    }

    fn open(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>, tables: &mut Tables) -> Result<()> {
        self.inner.open(cx, rows, tables)
    }

    fn adopt(&mut self, tables: &Tables) {
        self.inner.adopt(tables);
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let at = std::ptr::from_ref(self.node).addr();
        if let Some(region) = cx.parallel.region(at, Role::Gather)
            && !std::mem::replace(&mut self.gathers, true)
        {
            let restrictions = self.restrictions.clone();
            let gather = Gather { node: self.node, restrictions, input: self };
            return gather.run(region, cx, rows, receive);
        }
        let Some(place) = cx.profile.as_mut().map(|profile| profile.open(self.node)) else {
            return self.inner.run(cx, rows, receive);
        };
        let flow = self.inner.run(cx, rows, &mut |cx, rows, batch| {
            if let Some(profile) = &mut cx.profile {
                profile.count_rows(place, batch.selection.len() as u64);
            }
            receive(cx, rows, batch)
        });
        if let Some(profile) = &mut cx.profile {
            profile.close(place);
        }
        flow
    }
}

/// The work of an operator on each batch that passes through.
trait Stage<'p> {
    /// Evaluates the operator's expressions for the selected rows of a batch. Leaves the batch
    /// unchanged if that fails.
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()>;

    /// Passes on what [`Self::prepare`] has evaluated.
    fn give(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow>;
}

/// Passes a batch through a stage: as a whole, or row by row if that fails.
fn stream<'p>(
    stage: &mut (impl Stage<'p> + ?Sized),
    batch: &mut Batch,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    if batch.selection.is_empty() {
        return Ok(Flow::More);
    }
    let Err(error) = stage.prepare(batch, cx) else { return stage.give(batch, cx, rows, receive) };
    if batch.selection.len() == 1 || cx.fault.is_some() || cx.interrupted.is_some() {
        return Err(error);
    }
    let all = std::mem::take(&mut batch.selection);
    for row in all.iter() {
        batch.selection = only(row);
        stage.prepare(batch, cx)?;
        if stage.give(batch, cx, rows, receive)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// Returns the selection of a single row.
fn only(row: usize) -> Selection {
    let mut selection = Selection::all(0);
    selection.clear();
    selection.push(row);
    selection
}
