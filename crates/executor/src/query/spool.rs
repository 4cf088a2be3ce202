//! Index spool: looks up rows by key in a table that has no index on it.
//!
//! At first it is not known how often the spool will be opened, so it scans the table. Once it has
//! read as many rows as the table has and is opened again, it reads the table once more into a hash
//! table and looks rows up from then on. This costs a few scans at most, and usually saves many.

use std::sync::Arc;

use types::{Result, Value};

use super::join::encode;
use super::{ENTRY_BYTES, Flow, Receive, Rows, run as run_node};
use crate::eval::{Kept, keep, kept, truth};
use crate::spread::SpreadMap;
use crate::{Cx, fault};
use plan::query::{Node, Spool};
use session::grant::Charge;

/// State of a spool in a statement.
pub enum Spooled {
    /// Number of rows scanned so far; none is buffered.
    Passes(u64),
    /// All rows, in a hash table.
    Rows(Table),
}

/// A hash table of rows by key.
pub struct Table {
    /// The values of all rows, a fixed number per row.
    values: Vec<Value>,
    /// Maps a key to the first and the last row with it.
    ends: SpreadMap<Box<[u8]>, (usize, usize)>,
    /// For each row, the next row with the same key.
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
    scan(spool, read, &key, cx, rows, receive)
}

/// Returns the number of rows of the scanned table.
fn size_of_input<'p>(input: &'p Node, rows: &Rows<'p>) -> u64 {
    match input {
        Node::Scan(scan) => super::scan::data_of(scan, rows).row_count(),
        _ => 0,
    }
}

/// Scans the table, and records how many rows it read.
fn scan<'p>(
    spool: &'p Spool,
    read: u64,
    wanted: &[u8],
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
        // Includes rows that the scan's own predicate rejected.
        Flow::More => size_of_input(&spool.input, rows).max(1),
        Flow::Enough => seen,
    };
    keep(cx, spool.number, Kept::Spool(Arc::new(Spooled::Passes(read + seen))));
    Ok(flow)
}

fn holds(spool: &Spool, cx: &mut Cx<'_>) -> Result<bool> {
    spool.rest.as_ref().map_or(Ok(true), |rest| Ok(truth(rest, cx)?.is_true()))
}

/// Reads all rows into a hash table.
fn build<'p>(spool: &'p Spool, cx: &mut Cx<'_>, rows: &mut Rows<'p>) -> Result<Table> {
    let mut table = Table {
        values: Vec::new(),
        ends: SpreadMap::new(),
        next: Vec::new(),
        charge: cx.session.accounting.grant.charge(0),
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

/// Returns the rows with a key, in the order in which they were read.
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
