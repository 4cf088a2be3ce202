//! Runs UNION, UNION ALL, EXCEPT and INTERSECT.

use crate::long::group_key;
use types::Result;

use super::{ENTRY_BYTES, Flow, Receive, Rows, run as run_node};
use crate::Cx;
use crate::eval::eval;
use crate::spread::SpreadSet;
use plan::query::{Query, SetKind, SetOperation};
use session::grant::Charge;

pub(super) fn run<'p>(
    operation: &'p SetOperation,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let SetOperation { kind, left, right, registers: _ } = operation;
    match kind {
        SetKind::UnionAll => {
            for side in [left, right] {
                let flow = run_node(&side.root, cx, rows, &mut |cx, rows| {
                    output(operation, side, cx)?;
                    receive(cx, rows)
                })?;
                if flow == Flow::Enough {
                    return Ok(flow);
                }
            }
            Ok(Flow::More)
        }
        SetKind::Union => {
            let mut seen = Seen::new(cx);
            for side in [left, right] {
                let flow = run_node(&side.root, cx, rows, &mut |cx, rows| {
                    output(operation, side, cx)?;
                    if seen.insert(key(operation, cx)?)? {
                        receive(cx, rows)
                    } else {
                        Ok(Flow::More)
                    }
                })?;
                if flow == Flow::Enough {
                    return Ok(flow);
                }
            }
            Ok(Flow::More)
        }
        SetKind::Except | SetKind::Intersect => {
            let mut other = Seen::new(cx);
            run_node(&right.root, cx, rows, &mut |cx, _| {
                output(operation, right, cx)?;
                other.insert(key(operation, cx)?)?;
                Ok(Flow::More)
            })?;
            let wanted = *kind == SetKind::Intersect;
            let mut seen = Seen::new(cx);
            run_node(&left.root, cx, rows, &mut |cx, rows| {
                output(operation, left, cx)?;
                let key = key(operation, cx)?;
                if other.keys.contains(&key) == wanted && seen.insert(key)? {
                    return receive(cx, rows);
                }
                Ok(Flow::More)
            })
        }
    }
}

/// Keys of the rows seen so far; their memory is charged to the query's grant.
struct Seen {
    keys: SpreadSet<Box<[u8]>>,
    charge: Charge,
}

impl Seen {
    fn new(cx: &Cx<'_>) -> Self {
        Self { keys: SpreadSet::new(), charge: cx.session.accounting.grant.charge(0) }
    }

    /// Adds a key; returns true if it is new.
    fn insert(&mut self, key: Box<[u8]>) -> Result<bool> {
        let bytes = key.len() + ENTRY_BYTES;
        let is_new = self.keys.insert(key);
        if is_new {
            self.charge.add(bytes)?;
        }
        Ok(is_new)
    }
}

/// Stores a side's output in the operation's registers.
fn output(operation: &SetOperation, side: &Query, cx: &mut Cx<'_>) -> Result<()> {
    for (register, column) in operation.registers.iter().zip(&side.output) {
        cx.registers[register.index()] = eval(&column.expr, cx)?;
    }
    Ok(())
}

fn key(operation: &SetOperation, cx: &Cx<'_>) -> Result<Box<[u8]>> {
    let mut key = Vec::new();
    for (register, column) in operation.registers.iter().zip(&operation.left.output) {
        group_key(
            &cx.registers[register.index()],
            column.expr.ty.collation,
            &mut key,
            &cx.session.connection.cancel,
        )?;
    }
    Ok(key.into())
}
