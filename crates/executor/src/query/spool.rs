//! Index spool: rows that are asked for by one key after the other, of a table without an index on it.
//!
//! While nobody knows how often it will be opened, it reads the table as a scan does. When it has read as
//! many rows as the table has and is opened again, it reads them once more, keeps them by their keys,
//! and looks them up from then on: so it costs a few scans at most, and as a rule saves many.

use std::sync::Arc;

use hashbrown::HashMap;
use types::{Result, Value};

use super::join::encode;
use super::{ENTRY_BYTES, Flow, Receive, Rows, run as run_node};
use crate::eval::{Kept, keep, kept, truth};
use crate::{Cx, fault};
use plan::query::{Node, Spool};
use session::grant::Charge;

/// What a statement keeps of a spool.
pub enum Spooled {
    /// So many rows have been read, and none is kept.
    Passes(u64),
    /// All rows.
    Rows(Table),
}

/// Rows by their keys.
pub struct Table {
    /// So many values a row as registers are kept.
    values: Vec<Value>,
    /// Key to the first and the last row with it.
    ends: HashMap<Box<[u8]>, (usize, usize)>,
    /// From each row to the next one with its key.
    next: Vec<usize>,
    charge: Charge,
}

const END: usize = usize::MAX;

pub(super) fn run<'p>(
    spool: &'p Spool,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut key = Vec::new();
    if !encode(spool.keys.iter().map(|k| &k.0), cx, &mut key)? {
        return Ok(Flow::More);
    }
    let spooled = match kept(cx, spool.number) {
        Some(Kept::Spool(spooled)) => Some(Arc::clone(spooled)),
        _ => None,
    };
    let read = match spooled.as_deref() {
        Some(Spooled::Rows(table)) => return look_up(spool, table, &key, cx, rows, receive),
        Some(Spooled::Passes(read)) => *read,
        None => 0,
    };
    if read > 0 && read >= size_of_input(&spool.input, rows) {
        let table = build(spool, cx, rows)?;
        let spooled = Arc::new(Spooled::Rows(table));
        keep(cx, spool.number, Kept::Spool(Arc::clone(&spooled)));
        let Spooled::Rows(table) = &*spooled else { return Ok(Flow::More) };
        return look_up(spool, table, &key, cx, rows, receive);
    }
    scan(spool, (read, &key), cx, rows, receive)
}

/// Returns the rows of the table that is read.
fn size_of_input<'p>(input: &'p Node, rows: &Rows<'p>) -> u64 {
    match input {
        Node::Scan(scan) => super::scan::data_of(scan, rows).row_count(),
        _ => 0,
    }
}

/// Reads the table as it is, and notes how much of it.
fn scan<'p>(
    spool: &'p Spool,
    (read, wanted): (u64, &[u8]),
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut seen = 0;
    let mut key = Vec::new();
    let flow = run_node(&spool.input, cx, rows, &mut |cx, rows| {
        seen += 1;
        let is_whole = encode(spool.keys.iter().map(|k| &k.1), cx, &mut key)?;
        if !is_whole || key != wanted || !holds(spool, cx)? {
            return Ok(Flow::More);
        }
        receive(cx, rows)
    })?;
    let seen = match flow {
        // Those that the table's own predicate left out have been read as well.
        Flow::More => size_of_input(&spool.input, rows).max(1),
        Flow::Enough => seen,
    };
    keep(cx, spool.number, Kept::Spool(Arc::new(Spooled::Passes(read + seen))));
    Ok(flow)
}

fn holds(spool: &Spool, cx: &mut Cx<'_>) -> Result<bool> {
    spool.rest.as_ref().map_or(Ok(true), |rest| Ok(truth(rest, cx)?.is_true()))
}

/// Reads all rows and keeps them.
fn build<'p>(spool: &'p Spool, cx: &mut Cx<'_>, rows: &mut Rows<'p>) -> Result<Table> {
    let mut table = Table {
        values: Vec::new(),
        ends: HashMap::new(),
        next: Vec::new(),
        charge: cx.session.grant.charge(0),
    };
    let mut key = Vec::new();
    let mut add = |cx: &mut Cx<'_>, _: &mut Rows<'p>| {
        if encode(spool.keys.iter().map(|k| &k.1), cx, &mut key)? {
            table.add(spool, &key, cx)?;
        }
        Ok(Flow::More)
    };
    if cx.host.takes_batches(&spool.input, cx) {
        let needed = spool.live.registers.iter().copied().collect();
        cx.host.run_in_batches((&spool.input, &needed), cx, rows, &mut add)?;
    } else {
        run_node(&spool.input, cx, rows, &mut add)?;
    }
    Ok(table)
}

impl Table {
    fn add(&mut self, spool: &Spool, key: &[u8], cx: &Cx<'_>) -> Result<()> {
        let values = spool.live.registers.iter().map(|r| &cx.registers[r.index()]);
        self.charge.add_row(values.clone())?;
        self.values.extend(values.cloned());
        let place = self.next.len();
        self.next.push(END);
        if let Some((_, last)) = self.ends.get_mut(key) {
            self.next[*last] = place;
            *last = place;
            return self.charge.add(size_of::<usize>());
        }
        self.charge.add(key.len() + ENTRY_BYTES)?;
        self.ends.insert(key.into(), (place, place));
        Ok(())
    }
}

/// Gives the rows that have a key, in the order in which they were read.
fn look_up<'p>(
    spool: &'p Spool,
    table: &Table,
    key: &[u8],
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut next = table.ends.get(key).map_or(END, |ends| ends.0);
    let width = spool.live.registers.len();
    while next != END {
        fault::row_passed(cx)?;
        let values = &table.values[next * width..][..width];
        for (register, value) in spool.live.registers.iter().zip(values) {
            cx.registers[register.index()].clone_from(value);
        }
        if holds(spool, cx)? && receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
        next = table.next[next];
    }
    Ok(Flow::More)
}
