//! Chooses the trees that run in vector mode: those that read many rows and lock none.
//!
//! Decided once, when a tree is opened. For a tree that only seeks a few rows, a look at its nodes
//! is enough. Row counts come from storage, not from the plan, so that a plan made for an empty
//! table is right for a full one.

use types::Value;

use super::index_join;
use executor::eval::in_place;
use executor::{Cx, query};
use plan::children;
use plan::expr::{Expr, ExprKind};
use plan::query::{Access, JoinMethod, Node, Scan, TableSource};
use plan::walk;
use session::instance::ExecutionMode;

/// Least number of rows read by a tree's scans for which vector mode is faster.
const ROWS_MIN: u64 = 500;

/// Number of rows that a scan reads in the time of one look-up in row mode.
const LOOK_UP_ROWS: u64 = 4;

/// Returns true if a tree should run in vector mode.
pub fn is_chosen(node: &Node, cx: &Cx<'_>) -> bool {
    if !cx.session.options.computes_as_usual() || cx.parallel.hints.row_mode {
        return false;
    }
    let enough = match cx.session.instance.execution_mode() {
        ExecutionMode::Automatic => reads(node, cx) >= ROWS_MIN,
        ExecutionMode::Row => false,
        ExecutionMode::Vector => true,
    };
    enough && is_possible(node, cx) && !has_volatile(node)
}

/// Returns the most rows that the scans of a tree read, without seeks.
pub(super) fn reads(node: &Node, cx: &Cx<'_>) -> u64 {
    match node {
        Node::Scan(scan) => scan_reads(scan, cx),
        Node::Bulk(scan) => scan.rows,
        Node::Join(join) => match join.method {
            JoinMethod::Hash(_) => reads(&join.left, cx).saturating_add(reads(&join.right, cx)),
            // A look-up costs as much as scanning several rows, and is cheaper in a batch.
            JoinMethod::Loop if index_join::is_possible(join) => {
                reads(&join.left, cx).saturating_mul(LOOK_UP_ROWS)
            }
            // The right side runs in row mode.
            JoinMethod::Loop => reads(&join.left, cx),
        },
        // These run in row mode. A spool chooses its mode when it reads its input.
        Node::Recursive(_) | Node::Document(_) | Node::Spool(_) => 0,
        _ => {
            let mut rows = 0_u64;
            children::inputs(node, &mut |input| rows = rows.saturating_add(reads(input, cx)));
            rows
        }
    }
}

fn scan_reads(scan: &Scan, cx: &Cx<'_>) -> u64 {
    let all = || match &scan.table {
        TableSource::Variable(slot, _) => cx.frame.tables[*slot as usize].data.row_count(),
        TableSource::Table(table) | TableSource::Trigger(_, table) => table.rows.data.row_count(),
    };
    match &scan.access {
        Access::Full => all(),
        Access::Seek { .. } | Access::Points { .. } => 0,
        // A range with two bounds usually has few rows, one with a single bound may have many.
        Access::Range { prefix, lower, upper, .. } => match (prefix.is_empty(), lower, upper) {
            (true, Some((lower, _)), Some((upper, _))) => width(lower, upper, cx).min(all()),
            (false, ..) => 0,
            (true, ..) => all(),
        },
    }
}

/// Returns the number of integers between two bounds whose values are known; 0 for other bounds,
/// which usually have few rows between them.
fn width(lower: &Expr, upper: &Expr, cx: &Cx<'_>) -> u64 {
    let number = |e: &Expr| match in_place(e, cx)? {
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    };
    let (Some(lower), Some(upper)) = (number(lower), number(upper)) else { return 0 };
    u64::try_from(upper.saturating_sub(lower).saturating_add(1)).unwrap_or(0)
}

/// Returns true if no scan of a tree locks rows or records its reads: a batch would lock more rows
/// than row mode. A table that may not be read (41368) is left to row mode, which reports the
/// error.
fn is_possible(node: &Node, cx: &Cx<'_>) -> bool {
    if let Node::Scan(scan) = node {
        return query::only_looks(scan, cx).is_ok_and(|only_looks| only_looks);
    }
    let mut possible = true;
    children::inputs(node, &mut |input| possible = possible && is_possible(input, cx));
    possible
}

/// Returns true if the order or number of evaluations of the tree's expressions is visible.
fn has_volatile(node: &Node) -> bool {
    let mut found = false;
    walk::visit_node(node, &mut |expr| found |= matches!(expr.kind, ExprKind::NextValue(_)));
    found
}
