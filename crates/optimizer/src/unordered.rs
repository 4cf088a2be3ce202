//! Scans whose order nobody sees read a large table as it lies in memory, not along its clustered index.
//!
//! An ordinary table is scanned in the order of its clustered index, so that SELECT without ORDER BY
//! gives rows as people expect them. Below a sort, or an aggregate that is the same in any order, this
//! only costs: an index is walked from node to node and leads to rows all over the memory, while heads
//! lie one behind the other. For the same reason SQL Server reads large tables in allocation order where
//! a plan says `Ordered="False"`. Joins learn of it as well: an outer one may give its rows in the order of either side.

use types::DataType;

use catalog::{ColumnIndexDef, IndexKind};
use plan::query::{Access, Aggregate, AggregateCall, JoinMethod, Node, Scan, TableSource};

/// Rows from which a table is large: those of smaller ones come in the order of the index all the same.
const ROWS_MIN: u64 = 10_000;

/// As `ROWS_MIN`, where a columnstore index has all columns that are read.
const COVERED_ROWS_MIN: u64 = 1_000;

/// Whether somebody sees in which order an operator gives its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It may show.
    Seen,
    /// It does not.
    Unseen,
}

/// Takes the order off scans below an operator where nobody sees it.
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
        Node::Scan(_)
        | Node::OneRow
        | Node::Empty
        | Node::View(_)
        | Node::Values(_)
        | Node::Function(_)
        | Node::Bulk(_)
        | Node::UserFunction(_)
        | Node::Spool(_)
        | Node::WorkTable(..)
        | Node::SetOperation(_)
        | Node::Recursive(_)
        | Node::Document(_) => {}
    }
}

fn relax_aggregate(aggregate: &mut Aggregate) {
    let is_unseen = aggregate.aggregates.iter().all(is_same_in_any_order);
    let order = if is_unseen { Order::Unseen } else { Order::Seen };
    relax(&mut aggregate.input, order);
}

/// Returns whether an aggregate gives the same whatever the order of its rows; a sum of floats does not.
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
