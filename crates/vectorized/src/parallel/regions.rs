//! Decides which parts of a tree may run on several schedulers, and on how many.
//!
//! A pipeline may. It starts at a scan of a whole table, or of Parquet files with several row
//! groups, and goes up through filters, computed columns, hash joins (whose right sides are built
//! before) and look-ups, as long as nothing in it has an effect, runs another query, or depends on
//! the order of rows. It ends below an aggregate whose groups can be merged, or its rows are
//! gathered.

use std::sync::Arc;

use crate::hash_join::{Course, course};
use crate::index_join;
use crate::row_or_batch::reads;
use crate::total::Totals;
use catalog::Catalog;
use executor::Cx;
use executor::parallel::{Regions, Role, Root};
use optimizer::estimate;
use plan::expr::{Expr, ExprKind};
use plan::function::{self, Evaluate};
use plan::query::{
    Access, Aggregate, AggregateCall, Join, JoinKind, JoinMethod, Node, Scan, TableSource,
};
use plan::statement::table_of;
use plan::walk;
use session::SessionState;

/// Least number of rows of a driving scan.
const DRIVER_ROWS_MIN: u64 = if cfg!(debug_assertions) { 16 } else { 32_768 };

/// Converts costs of this optimizer to SQL Server's unit, which 'cost threshold for parallelism'
/// uses: reading a row costs 0.0000011 there.
const COST_FACTOR: f64 = 11.0;

/// Most schedulers for a statement, and the least cost for parallelism.
#[derive(Clone, Copy, Debug)]
pub struct Degree {
    schedulers_max: usize,
    cost_min: f64,
}

impl Degree {
    /// As [`Self::of`], for a session.
    pub fn of_session(session: &SessionState, hint: Option<u32>) -> Self {
        let schedulers = session.instance.machine.scheduler_count();
        Self::of(&session.catalog, &session.identity.database, hint, schedulers)
    }

    /// Determines the degree: the hint, the database's MAXDOP, or the server's 'max degree of
    /// parallelism', in this order. 0 means all schedulers.
    pub fn of(catalog: &Catalog, database: &str, hint: Option<u32>, schedulers: usize) -> Self {
        let number = |n: i64| usize::try_from(n).unwrap_or(0);
        let scoped =
            catalog.database(database).and_then(|d| d.options.scoped.get("MAXDOP").copied());
        let settings = &catalog.settings;
        let wanted = match (hint, scoped) {
            (Some(hint), _) => number(i64::from(hint)),
            (None, Some(scoped)) if scoped > 0 => number(scoped),
            (None, _) => number(i64::from(settings.degree_max.in_use)),
        };
        let schedulers_max = if wanted == 0 { schedulers } else { wanted.min(schedulers) };
        Self { schedulers_max, cost_min: f64::from(settings.cost_threshold.in_use) }
    }
}

/// Plans the regions of a tree that is about to run; `None` if it runs on one scheduler.
pub(super) fn regions(node: &Node, cx: &Cx<'_>) -> Option<Arc<Regions>> {
    let schedulers = cx.session.instance.machine.scheduler_count();
    if schedulers < 2 || cx.parallel.hints.degree == Some(1) || reads(node, cx) < DRIVER_ROWS_MIN {
        return None;
    }
    let degree = Degree::of_session(cx.session, cx.parallel.hints.degree);
    let receiver = match (cx.parallel.assigns, cx.parallel.loads) {
        (_, true) => Receiver::Loads,
        (true, false) => Receiver::Assigns,
        (false, false) => Receiver::Takes,
    };
    regions_of(node, degree, receiver).map(Arc::new)
}

/// The receiver of a tree's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// A client or a table: it takes all rows.
    Takes,
    /// Variables that the statement itself may read.
    Assigns,
    /// A columnstore that is being loaded.
    Loads,
}

/// Returns the regions that a plan would have if it ran; `None` if it would run on one scheduler.
pub fn regions_of(node: &Node, degree: Degree, receiver: Receiver) -> Option<Regions> {
    if degree.schedulers_max < 2 || estimate(node).cost() * COST_FACTOR < degree.cost_min {
        return None;
    }
    let mut roots = Vec::new();
    if receiver == Receiver::Loads
        && let Some(driver) = large_driver(node)
    {
        roots.push(Root { at: std::ptr::from_ref(node).addr(), role: Role::Load, driver });
        find_in_built(node, &mut roots);
    } else {
        let above = if receiver == Receiver::Assigns { Above::Looks } else { Above::TakesAll };
        find(node, above, &mut roots);
    }
    (!roots.is_empty()).then_some(Regions { degree: degree.schedulers_max, roots })
}

/// What the operators above need of an operator's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// All rows, in any order.
    TakesAll,
    /// Perhaps only the first rows, after which no effect of the others may be visible; or rows in
    /// order.
    Looks,
}

fn find(node: &Node, above: Above, roots: &mut Vec<Root>) {
    if let Node::Aggregate(aggregate) = node
        && is_mergeable(aggregate)
        && let Some(driver) = large_driver(&aggregate.input)
    {
        let at = std::ptr::from_ref(&**aggregate).addr();
        roots.push(Root { at, role: Role::Aggregate, driver });
        return find_in_built(&aggregate.input, roots);
    }
    if above == Above::TakesAll
        && has_work(node)
        && let Some(driver) = large_driver(node)
    {
        let at = std::ptr::from_ref(node).addr();
        roots.push(Root { at, role: Role::Gather, driver });
        return find_in_built(node, roots);
    }
    match node {
        Node::Limit(limit) => find(&limit.input, Above::Looks, roots),
        Node::Aggregate(aggregate) => {
            let any_order = aggregate.aggregates.iter().all(is_of_any_order);
            let above = if any_order { Above::TakesAll } else { Above::Looks };
            find(&aggregate.input, above, roots);
        }
        Node::Sort(sort) => find(&sort.input, Above::TakesAll, roots),
        // Rows with equal keys in a window keep their input order.
        Node::Window(window) => find(&window.input, Above::Looks, roots),
        Node::Join(join) => {
            find(&join.left, above, roots);
            // The right side of a loop join is opened repeatedly, and runs in row mode.
            if let JoinMethod::Hash(_) = join.method {
                find(&join.right, Above::TakesAll, roots);
            }
        }
        Node::SetOperation(operation) => {
            find(&operation.left.root, above, roots);
            find(&operation.right.root, above, roots);
        }
        Node::Filter(filter) => find(&filter.0, above, roots),
        Node::Compute(compute) => find(&compute.0, above, roots),
        Node::Distinct(distinct) => find(&distinct.0, above, roots),
        _ => {}
    }
}

/// Finds regions in the built sides of a pipeline's joins, which the leader reads before it asks
/// for help.
fn find_in_built(node: &Node, roots: &mut Vec<Root>) {
    match node {
        Node::Filter(filter) => find_in_built(&filter.0, roots),
        Node::Compute(compute) => find_in_built(&compute.0, roots),
        Node::Join(join) => {
            find_in_built(&join.left, roots);
            if let JoinMethod::Hash(_) = join.method {
                find(&join.right, Above::TakesAll, roots);
            }
        }
        _ => {}
    }
}

/// Returns true if a pipeline does more than pass on the rows of its scan; otherwise gathering
/// costs more than it saves.
fn has_work(node: &Node) -> bool {
    match node {
        Node::Scan(scan) => scan.residual.is_some(),
        // Decompressing and decoding a file is work enough.
        Node::Bulk(_) | Node::Filter(_) | Node::Compute(_) | Node::Join(_) => true,
        _ => false,
    }
}

/// The driving scan of a pipeline.
#[derive(Clone, Copy)]
pub(super) struct Driver {
    /// Address of the scan.
    at: usize,
    /// Number of rows that it reads.
    rows: u64,
}

/// A part of a pipeline, for inspection.
pub(crate) enum Piece<'n> {
    /// An expression that each worker evaluates.
    Expr(&'n Expr),
    /// A table that each worker reads.
    Scan(&'n Scan),
}

/// Visits a pipeline and returns its driving scan; `None` if the node is not a pipeline.
pub(super) fn pipeline<'n>(node: &'n Node, see: &mut dyn FnMut(Piece<'n>)) -> Option<Driver> {
    match node {
        Node::Scan(scan) => {
            see(Piece::Scan(scan));
            scan.residual.iter().for_each(|e| see(Piece::Expr(e)));
            let rows = match &scan.table {
                TableSource::Table(table) => table.rows.data.row_count(),
                // The number of rows is known only at run time; it is usually small.
                TableSource::Variable(..) => 0,
                TableSource::Trigger(..) => return None,
            };
            let at = std::ptr::from_ref(&**scan).addr();
            matches!(scan.access, Access::Full).then_some(Driver { at, rows })
        }
        Node::Bulk(scan) => {
            scan.tests.iter().for_each(|test| see(Piece::Expr(&test.condition)));
            let at = std::ptr::from_ref(&**scan).addr();
            (scan.parts() > 1).then_some(Driver { at, rows: scan.rows })
        }
        Node::Filter(filter) => {
            see(Piece::Expr(&filter.1));
            pipeline(&filter.0, see)
        }
        Node::Compute(compute) => {
            compute.1.iter().for_each(|(_, e)| see(Piece::Expr(e)));
            pipeline(&compute.0, see)
        }
        Node::Join(join) => pipeline_of_join(join, see),
        _ => None,
    }
}

fn pipeline_of_join<'n>(join: &'n Join, see: &mut dyn FnMut(Piece<'n>)) -> Option<Driver> {
    join.on.iter().for_each(|e| see(Piece::Expr(e)));
    match &join.method {
        // The unmatched right rows of a FULL join are known only after all workers have ended.
        JoinMethod::Hash(_) if join.kind == JoinKind::Full => return None,
        JoinMethod::Hash(keys) => keys.iter().for_each(|(left, _)| see(Piece::Expr(left))),
        JoinMethod::Loop if index_join::is_possible(join) => {
            let Node::Scan(scan) = &join.right else { return None };
            see(Piece::Scan(scan));
            scan.residual.iter().for_each(|e| see(Piece::Expr(e)));
            match &scan.access {
                Access::Seek { key, .. } => key.iter().for_each(|e| see(Piece::Expr(e))),
                Access::Range { prefix, .. } => prefix.iter().for_each(|e| see(Piece::Expr(e))),
                Access::Points { .. } | Access::Full => {}
            }
        }
        JoinMethod::Loop => return None,
    }
    pipeline(&join.left, see)
}

/// Returns true if a join of a pipeline reads its left input first: that one is small, and is no
/// driving scan.
fn has_left_first(node: &Node) -> bool {
    match node {
        Node::Filter(filter) => has_left_first(&filter.0),
        Node::Compute(compute) => has_left_first(&compute.0),
        Node::Join(join) => {
            let is_first = matches!(
                &join.method,
                JoinMethod::Hash(keys) if course(join, keys) != Course::RightFirst
            );
            is_first || has_left_first(&join.left)
        }
        _ => false,
    }
}

/// Returns the address of a pipeline's driving scan, if the pipeline may be shared and the scan
/// reads many rows.
fn large_driver(node: &Node) -> Option<usize> {
    if has_left_first(node) {
        return None;
    }
    let mut is_plain = true;
    let driver = pipeline(node, &mut |piece| {
        if let Piece::Expr(expr) = piece {
            is_plain &= is_shareable(expr);
        }
    })?;
    (is_plain && driver.rows >= DRIVER_ROWS_MIN).then_some(driver.at)
}

/// Returns true if several threads may evaluate an expression: it has no effect, runs no query, and
/// reads nothing of the session but the time, which the leader has read.
fn is_shareable(expr: &Expr) -> bool {
    match &expr.kind {
        // Evaluated by the leader, once.
        ExprKind::Once(..) => return true,
        ExprKind::CallUser(_)
        | ExprKind::NextValue(_)
        | ExprKind::ScalarSubquery(_)
        | ExprKind::Exists(_)
        | ExprKind::Quantified(_) => return false,
        ExprKind::Call(function, _) if !is_known(function) => return false,
        _ => {}
    }
    let mut all = true;
    walk::operands(expr, &mut |operand| all &= is_shareable(operand));
    all
}

fn is_known(function: &function::Function) -> bool {
    const TIMES: &[&str] = &[
        "GETDATE",
        "GETUTCDATE",
        "CURRENT_TIMESTAMP",
        "SYSDATETIME",
        "SYSUTCDATETIME",
        "SYSDATETIMEOFFSET",
    ];
    match function.eval {
        Evaluate::Session(_) => TIMES.contains(&function.name),
        Evaluate::Strict(_) | Evaluate::Full(_) => {
            function.deterministic && !function::is_volatile(function.name)
        }
    }
}

/// Returns true if the groups of several workers can be merged: each state is a number or an
/// extreme that does not depend on the order of rows, as sums of floats do.
fn is_mergeable(aggregate: &Aggregate) -> bool {
    aggregate.keys.iter().all(|key| is_shareable(&key.0))
        && aggregate.aggregates.iter().all(is_mergeable_call)
}

fn is_mergeable_call(call: &AggregateCall) -> bool {
    is_of_any_order(call)
        && !call.distinct
        && call.order.is_empty()
        && call.arguments.iter().chain(&call.filter).all(is_shareable)
}

/// Returns true if the result does not depend on the order of rows.
fn is_of_any_order(call: &AggregateCall) -> bool {
    let argument = call.arguments.first().map(|argument| &argument.ty);
    match Totals::new(call.function.name, argument, &call.ty) {
        Some(Totals::Float { .. }) | None => false,
        Some(
            Totals::Count { .. }
            | Totals::Sum { .. }
            | Totals::Extreme { .. }
            | Totals::Word { .. },
        ) => true,
    }
}

/// Visits all that the workers of an aggregate's region evaluate and read.
pub(crate) fn pieces_of_aggregate<'n>(aggregate: &'n Aggregate, see: &mut dyn FnMut(Piece<'n>)) {
    aggregate.keys.iter().for_each(|key| see(Piece::Expr(&key.0)));
    for call in &aggregate.aggregates {
        call.arguments.iter().chain(&call.filter).for_each(|e| see(Piece::Expr(e)));
    }
    pipeline(&aggregate.input, see);
}

/// Returns the definition of the table that a scan reads.
pub(super) fn definition_of(scan: &Scan) -> &catalog::TableDef {
    table_of(&scan.table)
}
