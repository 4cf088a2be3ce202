//! Limits on the depth of a bound tree.
//!
//! Passes over a tree, its execution and its drop are recursive and cannot fail for lack of stack
//! in the middle. So a tree that is too deep is refused beforehand: docs/decisions/0200. The
//! measurement itself is a loop, not recursive.

use sos::sched::Pace;
use types::{Msg, Result};

use crate::children;
use crate::expr::{Expr, ExprKind};
use crate::query::{Node, Query};
use crate::walk;

/// Upper limit of the stack that any pass takes per level of an expression, in bytes.
pub const EXPR_BYTES: usize = if cfg!(debug_assertions) { 8 << 10 } else { 3 << 9 };
/// Upper limit of the stack that any pass takes per operator, in bytes.
pub const NODE_BYTES: usize = if cfg!(debug_assertions) { 40 << 10 } else { 8 << 10 };
/// A tree that needs at most this much stack is run without a check: wherever a statement may
/// begin, the reserve of the stack is four times as large.
const SHALLOW_BYTES: usize = sos::thread::STACK_BYTES / 32;
/// Upper limit of subqueries of a statement that become joins; the others run where they are
/// written.
pub const UNNESTED_MAX: usize = 64;
/// Stack for the operators that the optimizer may add on one path: those of unnested subqueries.
const ADDED_BYTES: usize = 4 * UNNESTED_MAX * NODE_BYTES;
/// Upper limit of joins that are optimized together: placing one takes time linear in the others.
pub const JOINS_MAX: usize = 300;
/// Upper limit of UNION, EXCEPT and INTERSECT on one path from the root.
pub const SET_OPERATIONS_MAX: usize = 500;

/// Upper limit of views, inline functions and references to common table expressions that a
/// statement may expand: where each refers to the one before twice, their number doubles with each
/// level.
pub const UNFOLDED_MAX: u32 = 50_000;

/// A part of a bound tree: an operator or an expression.
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// An operator with all below it.
    Node(&'p Node),
    /// An expression with its operands.
    Expr(&'p Expr),
}

/// Returns whether these parts are so deep that their plan is valid only for this call and must not
/// be stored: another caller may have less stack left.
///
/// # Errors
/// 8631 if they need more stack than is left, 8623 if they would take too long to optimize.
pub fn check<'p>(parts: impl Iterator<Item = Part<'p>>) -> Result<bool> {
    let most = most(parts);
    if most.joins > JOINS_MAX || most.set_operations > SET_OPERATIONS_MAX {
        return Err(Msg::NoPlan.into());
    }
    let is_deep = most.bytes > SHALLOW_BYTES;
    if is_deep {
        require(most.bytes.saturating_add(ADDED_BYTES))?;
    }
    Ok(is_deep)
}

/// Depth of one path from the root down.
#[derive(Clone, Copy, Default)]
struct Path {
    bytes: usize,
    set_operations: usize,
    /// Index of the block of joins that are optimized together.
    block: usize,
}

impl Path {
    /// Continues in a new block; `joins` counts the joins of each block.
    fn in_new_block(self, joins: &mut Vec<usize>) -> Self {
        joins.push(0);
        Self { block: joins.len() - 1, ..self }
    }
}

/// The maximum over all paths, or all blocks.
struct Most {
    bytes: usize,
    set_operations: usize,
    joins: usize,
}

/// Returns an error unless this much stack is left.
///
/// # Errors
/// 8631 if less is left.
pub fn require(bytes: usize) -> Result<()> {
    if sos::stack::has_room_for(bytes) { Ok(()) } else { Err(Msg::StackLimit.into()) }
}

/// Returns an error unless recursion may go one level deeper.
///
/// # Errors
/// 8631 if the stack is used up.
#[inline]
pub fn descend() -> Result<()> {
    if sos::stack::has_room() { Ok(()) } else { Err(Msg::StackLimit.into()) }
}

/// Returns the parts of a query: its root and its output expressions.
pub fn of_query(query: &Query) -> impl Iterator<Item = Part<'_>> {
    let output = query.output.iter().map(|column| Part::Expr(&column.expr));
    std::iter::once(Part::Node(&query.root)).chain(output)
}

/// Returns the maximum over all paths, or all blocks.
fn most<'p>(parts: impl Iterator<Item = Part<'p>>) -> Most {
    let mut left: Vec<(Part<'p>, Path)> = parts.map(|part| (part, Path::default())).collect();
    let mut joins = vec![0];
    let (mut bytes, mut set_operations) = (0, 0);
    let mut pace = Pace::new();
    while let Some((part, mut path)) = left.pop() {
        pace.tick();
        match part {
            Part::Node(node) => {
                path.bytes += NODE_BYTES;
                joins[path.block] += usize::from(matches!(node, Node::Join(_)));
                path.set_operations += usize::from(matches!(node, Node::SetOperation(_)));
                let apart = is_apart(node);
                children::inputs(node, &mut |input| {
                    let path = if apart { path.in_new_block(&mut joins) } else { path };
                    left.push((Part::Node(input), path));
                });
                children::expressions(node, &mut |expr| left.push((Part::Expr(expr), path)));
            }
            Part::Expr(expr) => {
                path.bytes += EXPR_BYTES;
                walk::operands(expr, &mut |operand| left.push((Part::Expr(operand), path)));
                if let Some(query) = subquery(expr) {
                    let path = Path { set_operations: 0, ..path.in_new_block(&mut joins) };
                    left.extend(of_query(query).map(|part| (part, path)));
                }
            }
        }
        bytes = bytes.max(path.bytes);
        set_operations = set_operations.max(path.set_operations);
    }
    Most { bytes, set_operations, joins: joins.into_iter().max().unwrap_or(0) }
}

/// Returns whether the joins below an operator are optimized without those above it.
fn is_apart(node: &Node) -> bool {
    matches!(node, Node::SetOperation(_) | Node::Recursive(_) | Node::Document(_))
}

fn subquery(expr: &Expr) -> Option<&Query> {
    match &expr.kind {
        ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => Some(query),
        ExprKind::Quantified(quantified) => Some(&quantified.query),
        _ => None,
    }
}
