//! Sort: buffers its input, encodes keys whose bytes compare as the values do, and returns the rows
//! in that order; NULL sorts before every value (`types::key`). With a limit, it buffers at most about twice as many rows.

use crate::long::encode_value;
use plan::sort::interruptible;
use sos::ledger::{self, Label};
use types::Result;
use types::key::{Direction, KeyPart};

use super::buffer::{Buffer, Keys};
use super::{Flow, Receive, Rows, count_of, run as run_node};
use crate::eval::eval;
use crate::{Cx, fault};
use plan::query::{Sort, SortKey};

/// Rows buffered beyond twice the limit before the surplus is discarded.
const SURPLUS: usize = 64;

pub(super) fn run<'p>(
    sort: &'p Sort,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let limit = match &sort.limit {
        Some(expr) => usize::try_from(count_of(expr, cx, types::Msg::TopNegative)?).ok(),
        None => None,
    };
    let room = limit.map(|n| n.saturating_mul(2).saturating_add(SURPLUS));
    let mut buffer = Buffer::new(&sort.live, cx);
    let mut keys = Keys::default();
    run_node(&sort.input, cx, rows, &mut |cx, rows| {
        keys.push(|out| encode_sort(&sort.keys, cx, out))?;
        buffer.push(&sort.live, cx, rows)?;
        buffer.keep_beside(keys.last_size())?;
        if let (Some(room), Some(limit)) = (room, limit)
            && keys.len() >= room
        {
            let mut order = order_of(&keys, cx)?;
            order.truncate(limit);
            keys.retain(&order);
            buffer.retain(&order, keys.size())?;
        }
        Ok(Flow::More)
    })?;
    for i in order_of(&keys, cx)? {
        fault::row_passed(cx)?;
        buffer.restore(i, &sort.live, cx, rows);
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// Returns the positions of the keys in sort order; equal keys stay in input order.
///
/// # Errors
/// An error that stops the statement.
pub(super) fn order_of(keys: &Keys, cx: &Cx<'_>) -> Result<Vec<usize>> {
    let _label = ledger::labelled(Label::Sort);
    let mut order: Vec<usize> = (0..keys.len()).collect();
    sort_by_keys(&mut order, keys, cx)?;
    Ok(order)
}

/// Sorts positions of keys by these keys; those with equal keys stay in order.
///
/// # Errors
/// An error that stops the statement.
pub fn sort_by_keys(order: &mut [usize], keys: &Keys, cx: &Cx<'_>) -> Result<()> {
    interruptible(&cx.session.connection.cancel, |comparisons| {
        order.sort_by(|&a, &b| {
            let (a, b) = (keys.get(a), keys.get(b));
            comparisons.compared(a.len().min(b.len()));
            a.cmp(b)
        });
    })
}

/// Appends the sort key of the current row to `out`.
pub(super) fn encode_sort(keys: &[SortKey], cx: &mut Cx<'_>, out: &mut Vec<u8>) -> Result<()> {
    for key in keys {
        let value = eval(&key.expr, cx)?;
        let direction = if key.descending { Direction::Descending } else { Direction::Ascending };
        let part = KeyPart { collation: key.expr.ty.collation, direction };
        encode_value(&value, part, out, &cx.session.connection.cancel)?;
    }
    Ok(())
}
