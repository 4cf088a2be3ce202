//! Which parts of a tree may run on several schedulers, and on how many.
//!
//! A pipeline may: from a scan of a whole table, or of Parquet files with several row groups, up through filters,
//! computed columns, hash joins (their right sides are built before) and look-ups, as long as nothing in it has an
//! effect, asks for another query's rows, or can tell in which order rows come. It ends below an aggregate that can
//! be merged, or is gathered.

use std::sync::Arc;

use crate::choice::reads;
use crate::hash_join::{Course, course};
use crate::index_join;
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

/// Rows of a driving scan from which there is something to share.
const DRIVER_ROWS_MIN: u64 = if cfg!(debug_assertions) { 16 } else { 32_768 };

/// What a row costs in SQL Server's plans, in what it costs here: 'cost threshold for parallelism' is in their
/// unit, where reading a row is 0.0000011.
const COST_FACTOR: f64 = 11.0;

/// On how many schedulers a statement may run, and from what cost on.
#[derive(Clone, Copy, Debug)]
pub struct Degree {
    schedulers_max: usize,
    cost_min: f64,
}

impl Degree {
    /// As [`Self::of`], for a session.
    pub fn of_session(session: &SessionState, hint: Option<u32>) -> Self {
        let schedulers = session.instance.machine.scheduler_count();
        Self::of(&session.catalog, &session.database, hint, schedulers)
    }

    /// Finds it out: the hint, the database's MAXDOP, the server's 'max degree of parallelism', in this order; 0
    /// is as many as there are schedulers.
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

/// Plans the regions of a tree that runs; none if it runs on one scheduler.
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

/// What receives the rows of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// A client, or a table.
    Takes,
    /// Variables, which the statement may read.
    Assigns,
    /// A columnstore.
    Loads,
}

/// Returns the regions of a plan, as it would have them if it ran; none if it would run on one scheduler.
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

/// What receives the rows of an operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// It takes all there are.
    TakesAll,
    /// It may have seen enough, and then nobody must know what would have come; or it shows in which order rows
    /// come.
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
        // Rows that are equal in the order of a window are told apart by how they come.
        Node::Window(window) => find(&window.input, Above::Looks, roots),
        Node::Join(join) => {
            find(&join.left, above, roots);
            // The right side of a loop join is opened over and over, and runs in row mode.
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
        Node::OneRow
        | Node::Empty
        | Node::Scan(_)
        | Node::View(_)
        | Node::Values(_)
        | Node::Function(_)
        | Node::Bulk(_)
        | Node::UserFunction(_)
        | Node::Recursive(_)
        | Node::Document(_)
        | Node::Spool(_)
        | Node::WorkTable(..) => {}
    }
}

/// Finds regions in what the joins of a pipeline build: the leader does, before it asks for help.
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

/// Tells whether a pipeline does more than to hand on the rows of its scan: else gathering costs more than it
/// spares.
fn has_work(node: &Node) -> bool {
    match node {
        Node::Scan(scan) => scan.residual.is_some(),
        // To decompress and decode a file is work enough.
        Node::Bulk(_) | Node::Filter(_) | Node::Compute(_) | Node::Join(_) => true,
        _ => false,
    }
}

/// What hands out the rows of a pipeline.
#[derive(Clone, Copy)]
pub(super) struct Driver {
    /// Its address.
    at: usize,
    /// Rows that it reads.
    rows: u64,
}

/// A part of a pipeline.
pub(crate) enum Piece<'n> {
    /// An expression that each worker evaluates.
    Expr(&'n Expr),
    /// A table that each worker reads.
    Scan(&'n Scan),
}

/// Goes through a pipeline and returns its driving scan; none if it is something else.
pub(super) fn pipeline<'n>(node: &'n Node, see: &mut dyn FnMut(Piece<'n>)) -> Option<Driver> {
    match node {
        Node::Scan(scan) => {
            see(Piece::Scan(scan));
            scan.residual.iter().for_each(|e| see(Piece::Expr(e)));
            let rows = match &scan.table {
                TableSource::Table(table) => table.rows.data.row_count(),
                // How many there are is known when it runs; there are seldom many.
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
        // The unmatched right rows of a FULL join are known when all workers have ended.
        JoinMethod::Hash(_) if join.kind == JoinKind::Full => return None,
        JoinMethod::Hash(keys) => keys.iter().for_each(|(left, _)| see(Piece::Expr(left))),
        JoinMethod::Loop if index_join::is_possible(join) => {
            let Node::Scan(scan) = &join.right else { return None };
            see(Piece::Scan(scan));
            scan.residual.iter().for_each(|e| see(Piece::Expr(e)));
            match &scan.access {
                Access::Seek { key, .. } => key.iter().for_each(|e| see(Piece::Expr(e))),
                Access::Range { prefix, .. } => prefix.iter().for_each(|e| see(Piece::Expr(e))),
                Access::Full => {}
            }
        }
        JoinMethod::Loop => return None,
    }
    pipeline(&join.left, see)
}

/// Tells whether a join of a pipeline reads its left input first: then that is small, and not what drives it.
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

/// Returns the address of the driving scan of a pipeline that may be shared, if it reads many rows.
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

/// Tells whether several threads may evaluate an expression: it has no effect, runs no query, and asks the session
/// nothing but the time, which the leader has read.
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

/// Tells whether the groups of several workers can be made one: each state is a number or an extreme that does not
/// depend on the order of rows, as sums of floats do.
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

/// Tells whether the result does not depend on the order of rows.
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

/// Goes through all that the workers of an aggregate's region evaluate and read.
pub(crate) fn pieces_of_aggregate<'n>(aggregate: &'n Aggregate, see: &mut dyn FnMut(Piece<'n>)) {
    aggregate.keys.iter().for_each(|key| see(Piece::Expr(&key.0)));
    for call in &aggregate.aggregates {
        call.arguments.iter().chain(&call.filter).for_each(|e| see(Piece::Expr(e)));
    }
    pipeline(&aggregate.input, see);
}

/// The table that a scan reads, for what is told of it.
pub(super) fn definition_of(scan: &Scan) -> &catalog::TableDef {
    table_of(&scan.table)
}
