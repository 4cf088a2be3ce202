//! How much stack a bound tree needs: passes over it, its execution and its end recurse, and cannot fail for want of
//! stack in the middle. So a tree that is too deep is refused before: docs/decisions/0200.
//!
//! The measure itself is a loop.

use types::{Msg, Result};

use crate::plan::children;
use crate::plan::expr::{Expr, ExprKind};
use crate::plan::query::{Node, Query};
use crate::plan::walk;

/// Stack that any pass takes at most for a level of an expression, in bytes.
pub const EXPR_BYTES: usize = if cfg!(debug_assertions) { 8 << 10 } else { 3 << 9 };
/// Stack that any pass takes at most for an operator, in bytes.
pub const NODE_BYTES: usize = if cfg!(debug_assertions) { 40 << 10 } else { 8 << 10 };
/// What needs no more than this is run wherever a statement may begin: the reserve of a stack is four times as large.
const SHALLOW_BYTES: usize = sos::thread::STACK_BYTES / 32;
/// Operators that the optimizer may add, one over the other: those of its subqueries that become joins.
const ADDED_BYTES: usize = 4 * crate::opt::UNNESTED_MAX * NODE_BYTES;
/// Joins that a row may go through. The work to place one grows with the number of the others.
pub const JOINS_MAX: usize = 300;
/// UNION, EXCEPT and INTERSECT that a row may go through, of those that have to be done one after the other.
pub const SET_OPERATIONS_MAX: usize = 500;

/// A part of a bound tree.
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// An operator with all below it.
    Node(&'p Node),
    /// An expression.
    Expr(&'p Expr),
}

/// Returns whether a pass over these parts goes so deep that their plan is good for the place alone that it was made
/// at, and may not be kept.
///
/// # Errors
/// 8631 if they need more stack than is left, 8623 if they would take too long to optimize.
pub fn check<'p>(parts: impl Iterator<Item = Part<'p>>) -> Result<bool> {
    let path = deepest(parts);
    if path.joins > JOINS_MAX || path.set_operations > SET_OPERATIONS_MAX {
        return Err(Msg::NoPlan.into());
    }
    let is_deep = path.bytes > SHALLOW_BYTES;
    if is_deep {
        require(path.bytes.saturating_add(ADDED_BYTES))?;
    }
    Ok(is_deep)
}

/// What a path from the root of a tree down has, or the most that any has.
#[derive(Clone, Copy, Default)]
struct Path {
    bytes: usize,
    joins: usize,
    set_operations: usize,
}

/// Requires that so much stack is left.
///
/// # Errors
/// 8631 if it is not.
pub fn require(bytes: usize) -> Result<()> {
    if sos::stack::has_room_for(bytes) { Ok(()) } else { Err(Msg::StackLimit.into()) }
}

/// Requires that recursion may go one level deeper.
///
/// # Errors
/// 8631 if it may not.
#[inline]
pub fn descend() -> Result<()> {
    if sos::stack::has_room() { Ok(()) } else { Err(Msg::StackLimit.into()) }
}

/// Returns the parts of a query.
pub fn of_query(query: &Query) -> impl Iterator<Item = Part<'_>> {
    let output = query.output.iter().map(|column| Part::Expr(&column.expr));
    std::iter::once(Part::Node(&query.root)).chain(output)
}

/// Returns the most that any path has.
fn deepest<'p>(parts: impl Iterator<Item = Part<'p>>) -> Path {
    let mut left: Vec<(Part<'p>, Path)> = parts.map(|part| (part, Path::default())).collect();
    let mut most = Path::default();
    while let Some((part, mut path)) = left.pop() {
        match part {
            Part::Node(node) => {
                path.bytes += NODE_BYTES;
                path.joins += usize::from(matches!(node, Node::Join(_)));
                path.set_operations += usize::from(matches!(node, Node::SetOperation(_)));
                children::inputs(node, &mut |input| left.push((Part::Node(input), path)));
                children::expressions(node, &mut |expr| left.push((Part::Expr(expr), path)));
            }
            Part::Expr(expr) => {
                path.bytes += EXPR_BYTES;
                walk::operands(expr, &mut |operand| left.push((Part::Expr(operand), path)));
                if let Some(query) = subquery(expr) {
                    // What is in a subquery is optimized by itself.
                    let path = Path { bytes: path.bytes, ..Path::default() };
                    left.extend(of_query(query).map(|part| (part, path)));
                }
            }
        }
        most.bytes = most.bytes.max(path.bytes);
        most.joins = most.joins.max(path.joins);
        most.set_operations = most.set_operations.max(path.set_operations);
    }
    most
}

fn subquery(expr: &Expr) -> Option<&Query> {
    match &expr.kind {
        ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => Some(query),
        ExprKind::Quantified(quantified) => Some(&quantified.query),
        _ => None,
    }
}
