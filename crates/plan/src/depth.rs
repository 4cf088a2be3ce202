//! How much stack a bound tree needs: passes over it, its execution and its end recurse, and cannot fail for want of
//! stack in the middle. So a tree that is too deep is refused before: docs/decisions/0200.
//!
//! The measure itself is a loop.

use types::{Msg, Result};

use crate::children;
use crate::expr::{Expr, ExprKind};
use crate::query::{Node, Query};
use crate::walk;

/// Stack that any pass takes at most for a level of an expression, in bytes.
pub const EXPR_BYTES: usize = if cfg!(debug_assertions) { 8 << 10 } else { 3 << 9 };
/// Stack that any pass takes at most for an operator, in bytes.
pub const NODE_BYTES: usize = if cfg!(debug_assertions) { 40 << 10 } else { 8 << 10 };
/// What needs no more than this is run wherever a statement may begin: the reserve of a stack is four times as large.
const SHALLOW_BYTES: usize = sos::thread::STACK_BYTES / 32;
/// Subqueries of a statement that become joins, at most; the others are run where they are written.
pub const UNNESTED_MAX: usize = 64;
/// Operators that the optimizer may add, one over the other: those of its subqueries that become joins.
const ADDED_BYTES: usize = 4 * UNNESTED_MAX * NODE_BYTES;
/// Joins that are optimized together. The work to place one grows with the number of the others.
pub const JOINS_MAX: usize = 300;
/// UNION, EXCEPT and INTERSECT that a row may go through, of those that have to be done one after the other.
pub const SET_OPERATIONS_MAX: usize = 500;

/// Views, inline functions and references of common table expressions that a statement may unfold: where each names the one
/// before twice, they double with each level.
pub const UNFOLDED_MAX: u32 = 50_000;

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

/// What a path from the root of a tree down has.
#[derive(Clone, Copy, Default)]
struct Path {
    bytes: usize,
    set_operations: usize,
    /// The block that it is in: joins that are optimized together.
    block: usize,
}

impl Path {
    /// Goes on in a block of its own; `joins` has the joins of each.
    fn in_new_block(self, joins: &mut Vec<usize>) -> Self {
        joins.push(0);
        Self { block: joins.len() - 1, ..self }
    }
}

/// The most that any path, or any block, has.
struct Most {
    bytes: usize,
    set_operations: usize,
    joins: usize,
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

/// Returns the most that any path, or any block, has.
fn most<'p>(parts: impl Iterator<Item = Part<'p>>) -> Most {
    let mut left: Vec<(Part<'p>, Path)> = parts.map(|part| (part, Path::default())).collect();
    let mut joins = vec![0];
    let (mut bytes, mut set_operations) = (0, 0);
    while let Some((part, mut path)) = left.pop() {
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

/// Tells whether the joins below an operator are optimized without those above it.
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
