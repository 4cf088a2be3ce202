//! The optimizer: a pass between binding and execution.
//!
//! The binder builds a tree of what is written: FROM as written, WHERE above it, a sort for each
//! ORDER BY. The optimizer then works top down:
//!
//! - subqueries become joins (`unnest.rs`, `scalar.rs`);
//! - predicates are simplified (`simplify.rs`, `fold.rs`) and pushed to their tables, where they
//!   choose the access path (`seek/`) or the parts of a file to read (`groups.rs`);
//! - inner joins are ordered (`join.rs`, `join_order.rs`) and given a method (`attach.rs`);
//! - MIN and MAX of an indexed column read one row (`extreme.rs`);
//! - sorts are removed where an index provides the order (`order.rs`), windows stream over sorted
//!   input (`stream.rs`), and order is dropped where it does not show (`unordered.rs`);
//! - scans that are opened repeatedly get an index spool (`spool.rs`);
//! - finally, unread columns are removed (`prune.rs`).
//!
//! Costs come from `estimate.rs`, which uses `statistics.rs`. [`Level::None`] leaves the tree as
//! the binder built it: tests compare the two.
#![forbid(unsafe_code)]

mod attach;
mod conjunct;
mod estimate;
mod extreme;
mod fold;
mod groups;
mod join;
mod join_order;
mod order;
mod prune;
mod push;
mod sample;
mod scalar;
mod seek;
mod simplify;
mod spool;
mod statistics;
mod stream;
mod sweep;
mod unnest;
mod unordered;
mod view_key;

use std::sync::Arc;

use types::Result;

use plan::children;
use plan::depth::{self, Part};
use plan::expr::{Expr, Register};
use plan::query::{Join, JoinKind, JoinMethod, Node, Query, TableSource};
use plan::walk::{self, Registers};

pub use attach::Method;
pub use estimate::{Estimate, estimate};
pub use plan::Level;
pub use prune::{prune, prune_query};
pub use seek::{is_point, takes_hinted_paths};
pub use sweep::leftovers;

/// Query hints for the optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// FORCE ORDER: inputs are joined in the written order.
    pub force_order: bool,
    /// LOOP JOIN or HASH JOIN for all joins.
    pub method: Option<Method>,
    /// Whether a table has a hint about its access path.
    pub paths: bool,
}

/// The parts of a statement's state that the optimizer uses.
pub struct Statement<'s> {
    /// The level of optimization.
    pub level: Level,
    /// Number of registers allocated.
    pub registers: &'s mut u32,
    /// Number of numbers allocated to subqueries that run once.
    pub once: &'s mut u32,
    /// Query hints and join hints.
    pub hints: Hints,
    /// Whether the statement has any subquery.
    pub subqueries: bool,
    /// Whether it assigns variables.
    pub assigns: bool,
    /// Number of expressions, conditions, queries and sources it was bound from.
    pub size: u32,
    /// Set if the plan is so deep that it is valid only for this call.
    pub unkept: &'s mut bool,
    /// Storage from which tables are sampled.
    pub store: &'s Arc<storage::Store>,
}

/// The state of a pass over one statement.
pub struct Optimizer<'o> {
    registers: &'o mut u32,
    once: &'o mut u32,
    hints: Hints,
    /// Whether the statement has any subquery.
    subqueries: bool,
    /// Whether the statement assigns variables.
    assigns: bool,
    /// Whether the statement changes the rows of the tree.
    changes: bool,
    /// Number of nested queries that are being tried.
    depth: u32,
    /// Number of trials so far.
    trials: u32,
    /// Number of subqueries that have become joins.
    unnested: usize,
    /// Number of subqueries around the query that is being optimized.
    level: u32,
    /// Storage from which tables are sampled.
    store: &'o Arc<storage::Store>,
}

impl<'o> Optimizer<'o> {
    /// Returns the optimizer of a statement; `None` if nothing is to be done.
    fn of(statement: &'o mut Statement<'_>) -> Option<Self> {
        (statement.level == Level::Full).then_some(Self {
            registers: statement.registers,
            once: statement.once,
            hints: statement.hints,
            subqueries: statement.subqueries,
            assigns: statement.assigns,
            changes: false,
            depth: 0,
            trials: 0,
            unnested: 0,
            level: 0,
            store: statement.store,
        })
    }

    fn new_register(&mut self) -> Register {
        let register = Register(*self.registers);
        *self.registers += 1;
        register
    }

    /// Optimizes a tree without a surrounding query.
    fn top(&mut self, node: Node) -> Node {
        let none = Registers::default();
        match node {
            // The most common cases, which need no list of filled registers.
            Node::OneRow | Node::Scan(_) => self.push(node, Vec::new(), &none, &none),
            Node::Filter(inner) if !self.subqueries && matches!(inner.0, Node::Scan(_)) => {
                self.push(Node::Filter(inner), Vec::new(), &none, &none)
            }
            other => {
                self.learn(&other);
                let all = walk::fills(&other).0;
                self.push(other, Vec::new(), &none, &all)
            }
        }
    }

    /// Samples the tables of a tree that have no statistics.
    fn learn(&self, node: &Node) {
        let mut nodes = vec![node];
        while let Some(node) = nodes.pop() {
            if let Node::Scan(scan) = node
                && let TableSource::Table(table) = &scan.table
            {
                statistics::learn(table, self.store);
            }
            children::inputs(node, &mut |input| nodes.push(input));
        }
    }

    /// Optimizes a query inside the statement.
    fn subquery(&mut self, query: &mut Query) {
        self.level += 1;
        self.whole(query);
        self.level -= 1;
        prune_query(query);
        // Again, since the columns that are read are only known now.
        unordered::relax(&mut query.root, unordered::Order::Seen);
    }

    /// Optimizes a query's rows and output.
    fn whole(&mut self, query: &mut Query) {
        let mut exprs: Vec<&mut Expr> = query.output.iter_mut().map(|c| &mut c.expr).collect();
        self.rows(&mut query.root, &mut exprs);
    }

    /// Optimizes a tree, and the expressions that are evaluated for each of its rows.
    fn rows(&mut self, root: &mut Node, exprs: &mut [&mut Expr]) {
        let mut node = std::mem::replace(root, Node::Empty);
        if self.subqueries {
            node = self.unnest_scalars(node, exprs, &[]);
            exprs.iter_mut().for_each(|e| self.expression(e));
        }
        *root = self.top(node);
        unordered::relax(root, unordered::Order::Seen);
    }
}

/// Number of bound items up to which a tree is not measured: it cannot be deep.
const SMALL: u32 = 32;

/// Refuses a tree that is too deep for passes, execution and drop. Every tree is measured before
/// and after it is optimized.
fn measured<'p>(
    statement: &mut Statement<'_>,
    parts: impl Iterator<Item = Part<'p>>,
) -> Result<()> {
    if statement.size > SMALL && depth::check(parts)? {
        *statement.unkept = true;
    }
    Ok(())
}

/// Optimizes a query, and removes unread columns.
///
/// # Errors
/// 8631 if it is too deep, as for all functions here.
pub fn query(statement: &mut Statement<'_>, query: &mut Query) -> Result<()> {
    measured(statement, depth::of_query(query))?;
    let _label = sos::ledger::labelled(sos::ledger::Label::Plan);
    if let Some(mut optimizer) = Optimizer::of(statement) {
        optimizer.whole(query);
        optimizer.spool_query(query, spool::Opened::Once);
        prune_query(query);
        unordered::relax(&mut query.root, unordered::Order::Seen);
    } else {
        prune_query(query);
    }
    measured(statement, depth::of_query(query))
}

/// Optimizes a tree of operators.
pub fn root(statement: &mut Statement<'_>, root: &mut Node) -> Result<()> {
    measured(statement, std::iter::once(Part::Node(root)))?;
    let _label = sos::ledger::labelled(sos::ledger::Label::Plan);
    if let Some(mut optimizer) = Optimizer::of(statement) {
        optimizer.changes = true;
        let node = std::mem::replace(root, Node::Empty);
        *root = optimizer.top(node);
        optimizer.spool(root, spool::Opened::Once);
    }
    measured(statement, std::iter::once(Part::Node(root)))
}

/// Optimizes a tree and the values computed for each row; the caller removes unread columns.
pub fn rows(
    statement: &mut Statement<'_>,
    root: &mut Node,
    values: &mut [&mut Expr],
) -> Result<()> {
    measured(statement, parts(root, values))?;
    let _label = sos::ledger::labelled(sos::ledger::Label::Plan);
    if let Some(mut optimizer) = Optimizer::of(statement) {
        optimizer.rows(root, values);
        optimizer.spool(root, spool::Opened::Once);
        values.iter_mut().for_each(|e| optimizer.spool_expression(e, spool::Opened::Often));
    }
    measured(statement, parts(root, values))
}

/// Returns the parts of a tree, and of the values that are computed for each row.
fn parts<'p>(root: &'p Node, values: &'p [&mut Expr]) -> impl Iterator<Item = Part<'p>> {
    std::iter::once(Part::Node(root)).chain(values.iter().map(|value| Part::Expr(value)))
}

/// Optimizes the subqueries of expressions that are evaluated for each row of a tree.
pub fn values<'e>(
    statement: &mut Statement<'_>,
    values: impl Iterator<Item = &'e mut Expr>,
) -> Result<()> {
    for value in values {
        optimize(statement, value, spool::Opened::Often)?;
    }
    Ok(())
}

fn optimize(statement: &mut Statement<'_>, value: &mut Expr, opened: spool::Opened) -> Result<()> {
    measured(statement, std::iter::once(Part::Expr(value)))?;
    if !statement.subqueries {
        return Ok(());
    }
    let _label = sos::ledger::labelled(sos::ledger::Label::Plan);
    if let Some(mut optimizer) = Optimizer::of(statement) {
        optimizer.expression(value);
        optimizer.spool_expression(value, opened);
    }
    measured(statement, std::iter::once(Part::Expr(value)))
}

/// Optimizes the subqueries of an expression outside any tree.
pub fn expression(statement: &mut Statement<'_>, expr: &mut Expr) -> Result<()> {
    optimize(statement, expr, spool::Opened::Once)
}

/// Returns a join of two inputs without a predicate.
pub fn inner_join(left: Node, right: Node) -> Node {
    let (left_live, right_live) = (walk::live(&left), walk::live(&right));
    Node::Join(Box::new(Join {
        kind: JoinKind::Inner,
        method: JoinMethod::Loop,
        left,
        right,
        on: None,
        left_live,
        right_live,
        any_order: false,
    }))
}
