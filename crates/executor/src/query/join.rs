//! Joins: nested loops, which open the right side for each left row, and hash joins, which read the
//! right side once. A semi join returns the left rows with a match, an anti join those without.

use crate::long::group_key;
use sos::ledger::{self, Label};
use types::Result;

use super::buffer::{Buffer, clear};
use super::{ENTRY_BYTES, Flow, Receive, Rows, run as run_node};
use crate::eval::{eval, truth};
use crate::spread::SpreadMap;
use crate::{Cx, fault};
use plan::expr::Expr;
use plan::query::{Join, JoinKind, JoinMethod};

pub(super) fn run<'p>(
    join: &'p Join,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    match &join.method {
        JoinMethod::Loop => run_loop(join, cx, rows, receive),
        JoinMethod::Hash(keys) => run_hash(join, keys, cx, rows, receive),
    }
}

fn run_loop<'p>(
    join: &'p Join,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    run_node(&join.left, cx, rows, &mut |cx, rows| {
        let mut matched = false;
        if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            run_node(&join.right, cx, rows, &mut |cx, _| {
                matched = holds(join.on.as_ref(), cx)?;
                Ok(if matched { Flow::Enough } else { Flow::More })
            })?;
            let wanted = matched == (join.kind == JoinKind::Semi);
            return if wanted { receive(cx, rows) } else { Ok(Flow::More) };
        }
        let flow = run_node(&join.right, cx, rows, &mut |cx, rows| {
            if !holds(join.on.as_ref(), cx)? {
                return Ok(Flow::More);
            }
            matched = true;
            receive(cx, rows)
        })?;
        if flow == Flow::Enough || matched || join.kind == JoinKind::Inner {
            return Ok(flow);
        }
        clear(&join.right_live, cx, rows);
        receive(cx, rows)
    })
}

fn holds(on: Option<&Expr>, cx: &mut Cx<'_>) -> Result<bool> {
    on.map_or(Ok(true), |on| Ok(truth(on, cx)?.is_true()))
}

/// The right side of a hash join, in memory.
struct Table<'p> {
    buffer: Buffer<'p>,
    /// Maps a key to the last row with it; `chain` links the others.
    heads: SpreadMap<Box<[u8]>, usize>,
    chain: Vec<usize>,
    matched: Vec<bool>,
}

const END: usize = usize::MAX;

impl<'p> Table<'p> {
    /// Returns true if a row of the chain from `next` on satisfies ON.
    fn any(
        &self,
        join: &Join,
        mut next: usize,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
    ) -> Result<bool> {
        if join.on.is_none() {
            return Ok(next != END);
        }
        while next != END {
            self.buffer.restore(next, &join.right_live, cx, rows);
            if holds(join.on.as_ref(), cx)? {
                return Ok(true);
            }
            next = self.chain[next];
        }
        Ok(false)
    }

    /// Returns the last row with the key of the current left row; [`END`] if there is none.
    fn find(&self, keys: &[(Expr, Expr)], cx: &mut Cx<'_>, key: &mut Vec<u8>) -> Result<usize> {
        let _label = ledger::labelled(Label::Join);
        let is_whole = encode(keys.iter().map(|k| &k.0), cx, key)?;
        let found = self.heads.get(key.as_slice()).filter(|_| is_whole);
        Ok(found.copied().unwrap_or(END))
    }
}

fn run_hash<'p>(
    join: &'p Join,
    keys: &'p [(Expr, Expr)],
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut table = build(join, keys, cx, rows)?;
    let mut key = Vec::new();
    let flow = run_node(&join.left, cx, rows, &mut |cx, rows| {
        let mut matched = false;
        let mut next = table.find(keys, cx, &mut key)?;
        if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            let found = table.any(join, next, cx, rows)?;
            let wanted = found == (join.kind == JoinKind::Semi);
            return if wanted { receive(cx, rows) } else { Ok(Flow::More) };
        }
        while next != END {
            fault::row_passed(cx)?;
            table.buffer.restore(next, &join.right_live, cx, rows);
            if holds(join.on.as_ref(), cx)? {
                matched = true;
                table.matched[next] = true;
                if receive(cx, rows)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
            next = table.chain[next];
        }
        if matched || join.kind == JoinKind::Inner {
            return Ok(Flow::More);
        }
        clear(&join.right_live, cx, rows);
        receive(cx, rows)
    })?;
    if flow == Flow::Enough || join.kind != JoinKind::Full {
        return Ok(flow);
    }
    for i in (0..table.buffer.len()).filter(|&i| !table.matched[i]) {
        clear(&join.left_live, cx, rows);
        table.buffer.restore(i, &join.right_live, cx, rows);
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

fn build<'p>(
    join: &'p Join,
    keys: &'p [(Expr, Expr)],
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
) -> Result<Table<'p>> {
    let live = &join.right_live;
    // A semi or anti join without ON needs only one row per key.
    let exists = matches!(join.kind, JoinKind::Semi | JoinKind::Anti) && join.on.is_none();
    let mut table = Table {
        buffer: Buffer::new(live, cx),
        heads: SpreadMap::new(),
        chain: Vec::new(),
        matched: Vec::new(),
    };
    let mut key = Vec::new();
    run_node(&join.right, cx, rows, &mut |cx, rows| {
        // Set per row, because the input runs in between: two stores, beside the encoding of a key.
        let _label = ledger::labelled(Label::Join);
        let place = table.buffer.len();
        let found = encode(keys.iter().map(|k| &k.1), cx, &mut key)?;
        if !found && join.kind != JoinKind::Full {
            return Ok(Flow::More);
        }
        if exists && table.heads.get(key.as_slice()).is_some() {
            return Ok(Flow::More);
        }
        table.buffer.push(live, cx, rows)?;
        table.buffer.keep_beside(key.len() + ENTRY_BYTES)?;
        table.matched.push(false);
        let next = if found { table.heads.insert(key.as_slice().into(), place) } else { None };
        table.chain.push(next.unwrap_or(END));
        Ok(Flow::More)
    })?;
    Ok(table)
}

/// Encodes the join key into `key`; `false` if a part of it is NULL, which matches no row.
pub(super) fn encode<'e>(
    exprs: impl Iterator<Item = &'e Expr>,
    cx: &mut Cx<'_>,
    key: &mut Vec<u8>,
) -> Result<bool> {
    key.clear();
    for expr in exprs {
        let value = eval(expr, cx)?;
        if value.is_null() {
            return Ok(false);
        }
        group_key(&value, expr.ty.collation, key, &cx.session.connection.cancel)?;
    }
    Ok(true)
}
