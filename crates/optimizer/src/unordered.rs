//! Scans whose order does not show read a large table in memory order instead of along its
//! clustered index.
//!
//! An ordinary table is scanned in the order of its clustered index, so that SELECT without ORDER
//! BY returns rows in the order that users expect. Below a sort, or an aggregate that does not
//! depend on order, this only costs time: an index is walked from node to node and refers to rows
//! all over memory, while row heads are adjacent. For the same reason SQL Server reads large tables
//! in allocation order where a plan says `Ordered="False"`. Joins use this too: an outer join may
//! return its rows in the order of either side.

use types::DataType;

use catalog::{ColumnIndexDef, IndexKind};
use plan::query::{Access, Aggregate, AggregateCall, JoinMethod, Node, Scan, TableSource};

/// Number of rows from which a table is large; smaller ones are always read in index order.
const ROWS_MIN: u64 = 10_000;

/// Like `ROWS_MIN`, for a table whose columnstore index has all columns that are read.
const COVERED_ROWS_MIN: u64 = 1_000;

/// Whether the order of an operator's rows shows in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It may show in the result.
    Seen,
    /// It does not show in the result.
    Unseen,
}

/// Allows any order in scans below an operator whose order does not show.
pub(crate) fn relax(node: &mut Node, order: Order) {
    match node {
        Node::Scan(scan) if order == Order::Unseen => relax_scan(scan),
        Node::Filter(inner) => relax(&mut inner.0, order),
        Node::Compute(inner) => relax(&mut inner.0, order),
        Node::Distinct(inner) => relax(&mut inner.0, order),
        Node::Join(join) => {
            join.any_order = order == Order::Unseen;
            relax(&mut join.left, order);
            if matches!(join.method, JoinMethod::Hash(_)) {
                relax(&mut join.right, order);
            }
        }
        Node::Aggregate(aggregate) => relax_aggregate(aggregate),
        Node::Sort(sort) => relax(&mut sort.input, Order::Unseen),
        // TOP takes the first rows, and a window may count them.
        Node::Limit(limit) => relax(&mut limit.input, Order::Seen),
        Node::Window(window) => relax(&mut window.input, Order::Seen),
        _ => {}
    }
}

fn relax_aggregate(aggregate: &mut Aggregate) {
    let is_unseen = aggregate.aggregates.iter().all(is_same_in_any_order);
    let order = if is_unseen { Order::Unseen } else { Order::Seen };
    relax(&mut aggregate.input, order);
}

/// Returns whether an aggregate has the same result for any order of rows; a sum of floats does
/// not.
fn is_same_in_any_order(call: &AggregateCall) -> bool {
    match call.function.name {
        "COUNT" | "COUNT_BIG" | "MIN" | "MAX" => true,
        "SUM" | "AVG" => matches!(
            call.ty.data_type,
            DataType::Int | DataType::BigInt | DataType::Decimal { .. } | DataType::Money
        ),
        _ => false,
    }
}

fn relax_scan(scan: &mut Scan) {
    let Access::Range { index, prefix, lower: None, upper: None, .. } = &scan.access else {
        return;
    };
    let TableSource::Table(table) = &scan.table else { return };
    let is_whole = prefix.is_empty()
        && !table.memory_optimized
        && table
            .indexes
            .get(usize::from(*index))
            .is_some_and(|index| index.clustered && index.kind == IndexKind::Range);
    let mut ordinals = scan.columns.iter().map(|column| column.0);
    let has_columns = |index: &ColumnIndexDef| index.covers(&mut ordinals);
    let is_covered = table.column_index.as_ref().is_some_and(has_columns);
    let rows_min = if is_covered { COVERED_ROWS_MIN } else { ROWS_MIN };
    if is_whole && table.rows.data.row_count() >= rows_min {
        scan.access = Access::Full;
    }
}
