//! Streaming windows: ROW_NUMBER, RANK and DENSE_RANK over rows that arrive in their order need no
//! buffer.
//!
//! `ROW_NUMBER() OVER (ORDER BY (SELECT NULL))` numbers rows as they arrive, and one over an index
//! key numbers them in index order. So TOP above it stops the scan below it.

use super::order;
use plan::expr::{Expr, ExprKind};
use plan::query::{Node, SortKey, Window, WindowCall, WindowFunction};
use plan::walk;

/// Removes keys that do not affect the order, and lets the window stream if its input can return
/// rows in the order of all calls.
pub(crate) fn settle(window: &mut Window) {
    for call in &mut window.calls {
        call.order.retain(|key| !is_constant(&key.expr));
        call.partition.retain(|key| !is_constant(key));
    }
    window.streams = window.calls.iter().all(numbers) && in_order(window);
}

/// Returns whether a streaming window returns its rows in the order of these keys.
pub(crate) fn gives(window: &Window, keys: &[SortKey]) -> bool {
    if !window.streams {
        return false;
    }
    let by_number = |call: &WindowCall| {
        let [key, ..] = keys else { return false };
        let is_result = matches!(key.expr.kind, ExprKind::Column(r) if r == call.register);
        let is_unique = matches!(call.function, WindowFunction::RowNumber);
        is_result && is_unique && call.partition.is_empty() && !key.descending
    };
    let by_keys = |call: &WindowCall| call.partition.is_empty() && is_start(keys, &call.order);
    window.calls.iter().any(|call| by_number(call) || by_keys(call))
}

/// Returns whether a call depends only on the number of earlier rows, and on which of them are
/// equal.
fn numbers(call: &WindowCall) -> bool {
    match call.function {
        WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => true,
        WindowFunction::Ntile
        | WindowFunction::Lag
        | WindowFunction::Lead
        | WindowFunction::FirstValue
        | WindowFunction::LastValue
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist
        | WindowFunction::PercentileCont
        | WindowFunction::PercentileDisc
        | WindowFunction::Aggregate(_) => false,
    }
}

/// Changes the input to the order that all calls need, if there is one; returns whether it did.
fn in_order(window: &mut Window) -> bool {
    for descending in [false, true] {
        let wanted: Vec<Vec<SortKey>> =
            window.calls.iter().map(|call| keys_of(call, descending)).collect();
        let Some(longest) = wanted.iter().max_by_key(|keys| keys.len()) else { return false };
        if !wanted.iter().all(|keys| is_start(keys, longest)) {
            return false;
        }
        if longest.is_empty() || order::provide(&mut window.input, longest) {
            return true;
        }
    }
    false
}

/// Returns the sort keys of a call: partitions in either direction, then its ORDER BY.
fn keys_of(call: &WindowCall, descending: bool) -> Vec<SortKey> {
    let partition = call.partition.iter().map(|expr| SortKey { expr: expr.clone(), descending });
    order::distinct(partition.chain(call.order.iter().cloned()).collect())
}

fn is_start(keys: &[SortKey], of: &[SortKey]) -> bool {
    let same =
        |(a, b): (&SortKey, &SortKey)| a.descending == b.descending && walk::same(&a.expr, &b.expr);
    keys.len() <= of.len() && keys.iter().zip(of).all(same)
}

/// Returns whether a key is the same for every row and cannot fail: `(SELECT NULL)`.
fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) => true,
        ExprKind::Once(_, inner) => is_constant(inner),
        ExprKind::ScalarSubquery(query) => {
            matches!(query.root, Node::OneRow) && query.output.iter().all(|c| is_constant(&c.expr))
        }
        _ => false,
    }
}
