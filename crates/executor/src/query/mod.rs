//! Runs queries row by row: one file per operator.
//!
//! An operator pushes: it fills registers for a row and calls the operator above, which returns
//! whether it wants more. So the state of a query is the call stack, a nested loop is a nested
//! call, and an operator that buffers no rows allocates nothing.

mod aggregate;
mod buffer;
mod bulk;
mod document;
mod join;
mod number;
mod recursive;
mod sample;
mod scan;
mod set;
mod sort;
mod spool;
mod window;

use std::sync::Arc;

use crate::long::group_key;
use smallvec::SmallVec;
use storage::columnstore::Place;
use storage::{RowId, RowRef, Transaction};
use types::batch::Batch;
use types::{Msg, Result, Value};

use crate::dml::{Loader, value_of};
use crate::eval::{eval, truth};
use crate::spread::SpreadSet;
use crate::statement::in_transaction;
use crate::{Cx, fault};
use catalog::TableRows;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{
    FunctionScan, Limit, Node, OutputColumn, Query, UserFunctionScan, ValuesScan, ViewScan,
};
use plan::walk::{self, Registers};

pub use aggregate::{STATE_BYTES, State as RowState};
pub use buffer::Keys as SortKeys;
pub use number::Numbering;
pub use scan::{
    Cursor, blocks, column_index, column_view, data_of as table_data, index_blocks, load,
    only_looks, open, read_mode,
};
pub(crate) use scan::{encode_seek_key, level_of, when_owned};
pub use sort::sort_by_keys;
pub use spool::Spooled;
pub use window::{Input as WindowInput, Results as WindowResults};

/// Whether the receiver of rows wants more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The receiver wants the next row.
    More,
    /// The receiver needs no more rows.
    Enough,
}

/// State that the operators of one query share, besides the registers.
pub struct Rows<'p> {
    /// The transaction that scans read in.
    pub transaction: &'p Transaction,
    /// Table variables of the frame.
    pub tables: &'p [Arc<TableRows>],
    /// Current rows of the scans, by row number; filled for tables that the statement changes.
    pub current: SmallVec<[Option<Current<'p>>; 4]>,
}

/// The current row of a scan.
#[derive(Clone, Copy)]
pub enum Current<'p> {
    /// A row of a table or of a delta store.
    Row(RowRef<'p>),
    /// A row of a compressed row group.
    Compressed(Place),
}

/// Identifies a row within its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurrentId {
    /// A row of a table or of a delta store.
    Row(RowId),
    /// A row of a compressed row group.
    Compressed(Place),
}

impl Current<'_> {
    /// Returns the identity of the row within its table.
    pub fn id(&self) -> CurrentId {
        match self {
            Self::Row(row) => CurrentId::Row(row.id()),
            Self::Compressed(place) => CurrentId::Compressed(*place),
        }
    }
}

impl<'p> Rows<'p> {
    /// Sets the current row of a scan.
    fn set(&mut self, number: u32, row: Option<Current<'p>>) {
        let place = number as usize;
        if place >= self.current.len() {
            self.current.resize(place + 1, None);
        }
        self.current[place] = row;
    }

    /// Returns the current row of a scan; `None` for the missing side of an outer join.
    #[inline]
    pub fn get(&self, number: u32) -> Option<Current<'p>> {
        self.current.get(number as usize).copied().flatten()
    }
}

/// Bytes per entry of a hash table, without the key's bytes: pointer and length, position, the
/// table's control byte and free slots, and the allocator's rounding.
const ENTRY_BYTES: usize = 64;

/// Receives a batch and the registers of its columns.
pub type ReceiveBatch<'s> = &'s mut dyn FnMut(&mut Cx<'_>, &[Register], &Batch) -> Result<Flow>;

/// The operator above: called for each row.
pub type Receive<'s, 'p> = &'s mut dyn FnMut(&mut Cx<'_>, &mut Rows<'p>) -> Result<Flow>;

/// Runs a query. Calls `receive` for each row, with the registers filled.
///
/// # Errors
/// The errors of the query's expressions and of storage.
pub fn run_query(
    query: &Query,
    cx: &mut Cx<'_>,
    receive: &mut dyn FnMut(&mut Cx<'_>) -> Result<Flow>,
) -> Result<()> {
    run_tree(&query.root, Some(&query.output), cx, receive)
}

/// Receives the values of a row.
pub type ReceiveValues<'s> = &'s mut dyn FnMut(&mut Cx<'_>, &mut [Value]) -> Result<Flow>;

/// Receives a batch and the positions of the output's columns in it; a column without position is a
/// register of an outer query.
pub type ReceiveColumns<'s> =
    &'s mut dyn FnMut(&mut Cx<'_>, &Batch, &[Option<usize>]) -> Result<Flow>;

/// Rows of a query's output: one row, or a batch.
pub enum Output<'o> {
    /// The values of one row.
    Row(&'o mut [Value]),
    /// A batch, and the position of each output column in it.
    Batch(&'o Batch, &'o [usize]),
}

/// Runs a query. Calls `receive` with the values of each row. If rows come in batches and the
/// output consists of plain columns, values are taken from the batch without registers.
///
/// # Errors
/// As [`run_query`].
pub(crate) fn run_output(query: &Query, cx: &mut Cx<'_>, receive: ReceiveValues<'_>) -> Result<()> {
    let Query { root, output } = query;
    let each = &mut |cx: &mut Cx<'_>| {
        let mut values = std::mem::take(&mut cx.scratch.output);
        values.clear();
        for column in output {
            values.push(eval(&column.expr, cx)?);
        }
        let flow = receive(cx, &mut values);
        cx.scratch.output = values;
        flow
    };
    let Some(transaction) = cx.transaction else { return run_query(query, cx, each) };
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction, tables: &tables, current: SmallVec::new() };
    if !cx.host.takes_batches(root, cx) {
        run(root, cx, &mut rows, &mut |cx, _| each(cx))?;
        return Ok(());
    }
    let needed = walk::with(&Registers::default(), output.iter().map(|c| &c.expr));
    let columns: Option<Vec<Register>> = output.iter().map(bare).collect();
    let Some(columns) = columns else {
        cx.host.run_in_batches((root, &needed), cx, &mut rows, &mut |cx, _| each(cx))?;
        return Ok(());
    };
    let mut values = Vec::with_capacity(columns.len());
    let wanted = (&columns[..], &needed);
    cx.host.run_columns(root, wanted, cx, &mut rows, &mut |cx, batch, places| {
        for row in batch.selection.iter() {
            values.clear();
            for (place, register) in places.iter().zip(&columns) {
                values.push(match place {
                    Some(place) => batch.columns[*place].get(row),
                    // A column of an outer query.
                    None => cx.registers[register.index()].clone(),
                });
            }
            if receive(cx, &mut values)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    })?;
    Ok(())
}

/// Runs a query. Calls `receive` with the values of each row, or with a whole batch where rows come
/// in batches.
///
/// # Errors
/// As [`run_query`].
pub fn run_batches(
    query: &Query,
    cx: &mut Cx<'_>,
    receive: &mut dyn FnMut(&mut Cx<'_>, Output<'_>) -> Result<Flow>,
) -> Result<()> {
    let Query { root, output } = query;
    let columns: Option<Vec<Register>> = output.iter().map(bare).collect();
    let chosen = (columns, cx.transaction);
    let (Some(columns), Some(transaction)) = chosen else { return run_rows(query, cx, receive) };
    if !cx.host.takes_batches(root, cx) {
        return run_rows(query, cx, receive);
    }
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction, tables: &tables, current: SmallVec::new() };
    let needed = columns.iter().copied().collect();
    let wanted = (&columns[..], &needed);
    cx.host.run_columns(root, wanted, cx, &mut rows, &mut |cx, batch, places| {
        let places = places.iter().copied().collect::<Option<Vec<usize>>>();
        receive(cx, Output::Batch(batch, &places.ok_or(Msg::InternalError)?))
    })?;
    Ok(())
}

fn run_rows(
    query: &Query,
    cx: &mut Cx<'_>,
    receive: &mut dyn FnMut(&mut Cx<'_>, Output<'_>) -> Result<Flow>,
) -> Result<()> {
    run_output(query, cx, &mut |cx, values| receive(cx, Output::Row(values)))
}

fn bare(column: &OutputColumn) -> Option<Register> {
    match column.expr.kind {
        ExprKind::Column(register) => Some(register),
        _ => None,
    }
}

/// As [`run_query`], for a tree of operators without output columns.
pub(crate) fn run_node(
    node: &Node,
    cx: &mut Cx<'_>,
    receive: &mut dyn FnMut(&mut Cx<'_>) -> Result<Flow>,
) -> Result<()> {
    run_tree(node, None, cx, receive)
}

/// Runs a tree in vector mode. Calls `receive` with its batches and the registers of their columns;
/// helpers pass theirs to the loader. `false`, and nothing is done, if the tree should run in row
/// mode.
pub(crate) fn load_in_batches(
    node: &Node,
    loader: &Loader<'_>,
    cx: &mut Cx<'_>,
    receive: ReceiveBatch<'_>,
) -> Result<bool> {
    let Some(transaction) = cx.transaction else { return Ok(false) };
    if !cx.host.takes_batches(node, cx) {
        return Ok(false);
    }
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction, tables: &tables, current: SmallVec::new() };
    cx.host.load_batches(node, loader, cx, &mut rows, receive)?;
    Ok(true)
}

/// Runs a tree in row or vector mode. `output` has the expressions that read its registers; `None`
/// if any register may be read.
fn run_tree(
    node: &Node,
    output: Option<&[OutputColumn]>,
    cx: &mut Cx<'_>,
    receive: &mut dyn FnMut(&mut Cx<'_>) -> Result<Flow>,
) -> Result<()> {
    let Some(transaction) = cx.transaction else {
        if matches!(node, Node::OneRow) {
            receive(cx)?;
            return Ok(());
        }
        return in_transaction(cx, &mut |cx| run_tree(node, output, cx, receive));
    };
    let tables = cx.frame.tables.clone();
    let mut rows = Rows { transaction, tables: &tables, current: SmallVec::new() };
    if cx.host.takes_batches(node, cx) {
        let needed = match output {
            Some(columns) => walk::with(&Registers::default(), columns.iter().map(|c| &c.expr)),
            None => walk::fills(node).0,
        };
        cx.host.run_in_batches((node, &needed), cx, &mut rows, &mut |cx, _| receive(cx))?;
        return Ok(());
    }
    run(node, cx, &mut rows, &mut |cx, _| receive(cx))?;
    Ok(())
}

/// Runs an operator of any kind.
pub fn run<'p>(
    node: &'p Node,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    if cx.profile.is_none() {
        return run_operator(node, cx, rows, receive);
    }
    run_profiled(node, cx, rows, receive)
}

/// As [`run`], and counts in the profile.
#[cold]
fn run_profiled<'p>(
    node: &'p Node,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let Some(place) = cx.profile.as_mut().map(|profile| profile.open(node)) else {
        return run_operator(node, cx, rows, receive);
    };
    let flow = run_operator(node, cx, rows, &mut |cx, rows| {
        if let Some(profile) = &mut cx.profile {
            profile.count_rows(place, 1);
        }
        receive(cx, rows)
    });
    if let Some(profile) = &mut cx.profile {
        profile.close(place);
    }
    flow
}

fn run_operator<'p>(
    node: &'p Node,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    match node {
        Node::OneRow => receive(cx, rows),
        Node::Empty => Ok(Flow::More),
        Node::Scan(scan) => scan::run(scan, cx, rows, receive),
        Node::View(view) => run_view(view, cx, rows, receive),
        Node::Values(values) => run_values(values, cx, rows, receive),
        Node::Function(function) => run_function(function, cx, rows, receive),
        Node::Bulk(scan) => bulk::run(scan, cx, rows, receive),
        Node::UserFunction(function) => run_user_function(function, cx, rows, receive),
        Node::Filter(filter) => run(&filter.0, cx, rows, &mut |cx, rows| {
            if truth(&filter.1, cx)?.is_true() { receive(cx, rows) } else { Ok(Flow::More) }
        }),
        Node::Compute(compute) => run(&compute.0, cx, rows, &mut |cx, rows| {
            for (register, expr) in &compute.1 {
                cx.registers[register.index()] = eval(expr, cx)?;
            }
            receive(cx, rows)
        }),
        Node::Join(join) => join::run(join, cx, rows, receive),
        Node::Aggregate(aggregate) => aggregate::run(aggregate, cx, rows, receive),
        Node::Window(window) if window.streams => number::run(window, cx, rows, receive),
        Node::Window(window) => window::run(window, cx, rows, receive),
        Node::Sort(sort) => sort::run(sort, cx, rows, receive),
        Node::Distinct(distinct) => run_distinct(&distinct.0, &distinct.1, cx, rows, receive),
        Node::Limit(limit) => run_limit(limit, cx, rows, receive),
        Node::SetOperation(operation) => set::run(operation, cx, rows, receive),
        Node::Recursive(recursive) => recursive::run(recursive, cx, rows, receive),
        Node::Document(document) => document::run(document, cx, rows, receive),
        Node::Spool(spool) => spool::run(spool, cx, rows, receive),
        Node::WorkTable(id, registers) => {
            recursive::run_work_table(*id, registers, cx, rows, receive)
        }
    }
}

fn run_view<'p>(
    view: &'p ViewScan,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let arguments = view.arguments.iter().map(|e| eval(e, cx)).collect::<Result<Vec<_>>>()?;
    let needed: SmallVec<[u16; 32]> = view.columns.iter().map(|(ordinal, _)| *ordinal).collect();
    let mut found = view.view.read(&*cx.session, &view.database, &arguments, &needed)?;
    while let Some(batch) = found.next_batch()? {
        fault::check_cancel(cx)?;
        for mut row in batch {
            fault::row_passed(cx)?;
            for (ordinal, register) in &view.columns {
                cx.registers[register.index()] = std::mem::take(&mut row[usize::from(*ordinal)]);
            }
            if receive(cx, rows)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
    Ok(Flow::More)
}

fn run_values<'p>(
    values: &'p ValuesScan,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    for row in &values.rows {
        for (place, (register, expr)) in values.registers.iter().zip(row).enumerate() {
            cx.registers[register.index()] = match &values.target {
                Some((table, columns)) => value_of(expr, table, columns[place], cx)?,
                None => eval(expr, cx)?,
            };
        }
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

fn run_function<'p>(
    function: &'p FunctionScan,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let arguments = function.arguments.iter().map(|e| eval(e, cx)).collect::<Result<Vec<_>>>()?;
    let mut next = if arguments.iter().any(crate::long::is_long) {
        let cancel = Arc::clone(&cx.session.connection.cancel);
        crate::long::until_cancelled(&cancel, || (function.function.rows)(cx, &arguments))?
    } else {
        (function.function.rows)(cx, &arguments)?
    };
    let mut row = Vec::with_capacity(function.registers.len());
    while next(&mut row) {
        fault::row_passed(cx)?;
        for (register, value) in function.registers.iter().zip(row.drain(..)) {
            cx.registers[register.index()] = value;
        }
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

fn run_user_function<'p>(
    function: &'p UserFunctionScan,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    for row in cx.host.call_table(function, cx)? {
        for (register, value) in function.registers.iter().zip(row) {
            cx.registers[register.index()] = value;
        }
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

fn run_distinct<'p>(
    input: &'p Node,
    keys: &'p [Expr],
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut seen = SpreadSet::<Box<[u8]>>::new();
    let mut charge = cx.session.accounting.grant.charge(0);
    let mut key = Vec::new();
    run(input, cx, rows, &mut |cx, rows| {
        encode_group(keys, cx, &mut key)?;
        if seen.contains(key.as_slice()) {
            return Ok(Flow::More);
        }
        charge.add(key.len() + ENTRY_BYTES)?;
        seen.insert(key.as_slice().into());
        receive(cx, rows)
    })
}

/// Encodes the values of expressions into `key`, so that equal values are equal bytes.
fn encode_group(exprs: &[Expr], cx: &mut Cx<'_>, key: &mut Vec<u8>) -> Result<()> {
    key.clear();
    for expr in exprs {
        let value = eval(expr, cx)?;
        group_key(&value, expr.ty.collation, key, &cx.session.connection.cancel)?;
    }
    Ok(())
}

fn run_limit<'p>(
    limit: &'p Limit,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    if limit.percent {
        return run_percent(limit, cx, rows, receive);
    }
    let skip = match &limit.offset {
        Some(expr) => count_of(expr, cx, Msg::OffsetNegative)?,
        None => 0,
    };
    let count = match &limit.count {
        Some(expr) => count_of(expr, cx, Msg::TopNegative)?,
        None => u64::MAX,
    };
    if count == 0 && limit.offset.is_some() {
        return Err(Msg::FetchPositive.into());
    }
    if count == 0 {
        return Ok(Flow::More);
    }
    let (mut seen, mut given) = (0_u64, 0_u64);
    let mut last = Vec::new();
    let mut full = false;
    let mut ended = Flow::More;
    run(&limit.input, cx, rows, &mut |cx, rows| {
        seen += 1;
        if seen <= skip {
            return Ok(Flow::More);
        }
        if full && !is_tie(limit, cx, &mut last)? {
            return Ok(Flow::Enough);
        }
        given += 1;
        if given == count {
            if limit.ties.is_some() {
                full = true;
                tie_key(limit, cx, &mut last)?;
            } else {
                ended = receive(cx, rows)?;
                return Ok(Flow::Enough);
            }
        }
        ended = receive(cx, rows)?;
        Ok(ended)
    })?;
    Ok(ended)
}

fn tie_key(limit: &Limit, cx: &mut Cx<'_>, key: &mut Vec<u8>) -> Result<()> {
    key.clear();
    for sort in limit.ties.iter().flatten() {
        let value = eval(&sort.expr, cx)?;
        group_key(&value, sort.expr.ty.collation, key, &cx.session.connection.cancel)?;
    }
    Ok(())
}

fn is_tie(limit: &Limit, cx: &mut Cx<'_>, last: &mut Vec<u8>) -> Result<bool> {
    let mut key = Vec::with_capacity(last.len());
    tie_key(limit, cx, &mut key)?;
    Ok(key == *last)
}

/// Evaluates a number of rows; NULL is the same error as a negative number.
pub fn count_of(expr: &Expr, cx: &mut Cx<'_>, negative: Msg<'_>) -> Result<u64> {
    match eval(expr, cx)? {
        Value::BigInt(n) => u64::try_from(n).map_err(|_| negative.into()),
        Value::Int(n) => u64::try_from(n).map_err(|_| negative.into()),
        _ => Err(Msg::TopInvalid.into()),
    }
}

/// Runs TOP (n) PERCENT, which needs the number of all rows first.
fn run_percent<'p>(
    limit: &'p Limit,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let percent = match &limit.count {
        Some(expr) => percentage(expr, cx)?,
        None => 100.0,
    };
    let live = walk::live(&limit.input);
    let mut buffer = buffer::Buffer::new(&live, cx);
    let mut ties: Vec<Vec<u8>> = Vec::new();
    run(&limit.input, cx, rows, &mut |cx, rows| {
        buffer.push(&live, cx, rows)?;
        if limit.ties.is_some() {
            let mut key = Vec::new();
            tie_key(limit, cx, &mut key)?;
            buffer.keep_beside(key.len() + size_of::<Vec<u8>>())?;
            ties.push(key);
        }
        Ok(Flow::More)
    })?;
    let total = buffer.len();
    let mut count = percent_of(total, percent);
    while count > 0 && count < ties.len() && ties[count] == ties[count - 1] {
        count += 1;
    }
    for i in 0..count.min(total) {
        buffer.restore(i, &live, cx, rows);
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// Evaluates TOP (n) PERCENT.
///
/// # Errors
/// 1031 for a value outside 0 to 100.
pub fn percentage(expr: &Expr, cx: &mut Cx<'_>) -> Result<f64> {
    let Value::Float(percent) = eval(expr, cx)? else { return Err(Msg::TopInvalid.into()) };
    if !(0.0..=100.0).contains(&percent) {
        return Err(Msg::PercentRange.into());
    }
    Ok(percent)
}

/// Returns `percent` of `total` rows, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a row count, between 0 and the count"
)]
pub fn percent_of(total: usize, percent: f64) -> usize {
    (total as f64 * percent / 100.0).ceil() as usize
}
