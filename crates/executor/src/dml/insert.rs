//! Runs INSERT: builds the new rows, checks and stores them; loads whole batches into columnstores.

use sos::sync::{AtomicU64, Ordering};
use storage::columnstore::GroupBuilder;
use storage::{RowImage, Transaction};
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::value::ColumnType;
use types::{Error, Msg, Result, Value};

use super::deferred::{Deferred, is_key_taken};
use super::identity::{explicit_identity, identity_value, next_identity, note_identity};
use super::output::Collected;
use super::write::{Verb, check_null, complete, storage_error, value_of};
use super::{Private, reference};
use crate::columnstore::{ColumnLoad, Shelf, To};
use crate::eval::truth;
use crate::query::{Flow, count_of, load_in_batches, percent_of, percentage, run_node};
use crate::statement::{
    begin_time, count_point, count_point_end, in_transaction, is_free, note_target, options,
    prepare, row_limit,
};
use crate::{Cx, StatementResult, fault, trigger};
use catalog::period;
use catalog::{ColumnDef, Generated, TableDef, TableRows};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::TableSource;
use plan::sink::Command;
use plan::statement::{Insert, InsertSource, InsertValue, NewRow, OuterInsert, table_of};
use plan::uses::Uses;

/// Runs INSERT.
///
/// # Errors
/// 2627, 2601, 515, 547, 2628, and the errors of its source.
pub fn run_insert(insert: &Insert, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, insert.registers);
    note_target(table_of(&insert.target), cx);
    cx.fires = trigger::fires(&insert.output);
    if insert.course == plan::statement::Course::Point && is_free(table_of(&insert.target), cx) {
        count_point(cx);
        let result = run_point(insert, cx);
        count_point_end(cx, result.as_ref().ok().map(|done| done.rows));
        return result;
    }
    let mut collected = Collected::default();
    let rows = in_transaction(cx, &mut |cx| {
        collected.reset(&insert.output, cx);
        let rows = run_source(insert, cx, &mut collected)?;
        collected.store(&insert.output, rows, cx)
    })?;
    collected.send(&insert.output, cx)?;
    Ok(StatementResult { command: Command::INSERT, rows })
}

/// Inserts rows that the caller provides: the result of EXEC, or a bulk load. The statement was
/// bound without a source (`binder::dml::bind_insert_rows`).
///
/// # Errors
/// As [`run_insert`].
pub fn insert_rows(
    insert: &Insert,
    rows: &[Vec<Value>],
    cx: &mut Cx<'_>,
) -> Result<StatementResult> {
    cx.now = None;
    Uses::of_insert(insert).count(cx.session.accounting.meter.begun_ticks());
    begin_time(cx);
    prepare(cx, insert.registers);
    note_target(table_of(&insert.target), cx);
    cx.fires = trigger::fires(&insert.output);
    let count = in_transaction(cx, &mut |cx| {
        let rows = rows.iter().map(|row| row.iter().cloned());
        let (count, mut collected) = insert_each(insert, None, rows, cx)?;
        collected.store(&insert.output, count, cx)
    })?;
    Ok(StatementResult { command: Command::INSERT, rows: count })
}

/// Inserts rows in the statement's transaction; keeps its registers.
pub(super) fn insert_all(insert: &Insert, rows: Vec<Vec<Value>>, cx: &mut Cx<'_>) -> Result<u64> {
    let rows = rows.into_iter().map(Vec::into_iter);
    let (count, mut collected) = insert_each(insert, None, rows, cx)?;
    collected.store(&insert.output, count, cx)
}

/// Inserts the OUTPUT of a nested statement. SCOPE_IDENTITY() and @@IDENTITY keep the values of the
/// nested statement.
pub(super) fn insert_outer(
    outer: &OuterInsert,
    rows: Vec<Vec<Value>>,
    cx: &mut Cx<'_>,
) -> Result<(u64, Collected)> {
    let of_scope = cx.frame.scope_identity.take();
    let of_session = cx.session.last.identity.take();
    let rows = match &outer.percent {
        Some(percent) => leading(outer, percent, rows, cx),
        None => Ok(rows),
    };
    let inserted = rows.and_then(|rows| {
        let rows = rows.into_iter().map(Vec::into_iter);
        insert_each(&outer.insert, outer.filter.as_ref(), rows, cx)
    });
    cx.frame.scope_identity = of_scope;
    cx.session.last.identity = of_session;
    inserted
}

/// Returns the first TOP (n) PERCENT of the rows that satisfy the filter.
fn leading(
    outer: &OuterInsert,
    percent: &Expr,
    mut rows: Vec<Vec<Value>>,
    cx: &mut Cx<'_>,
) -> Result<Vec<Vec<Value>>> {
    let percent = percentage(percent, cx)?;
    if let Some(filter) = &outer.filter {
        let registers = outer.insert.registers as usize;
        cx.registers.resize(registers.max(cx.registers.len()), Value::Null);
        let mut passed = Vec::with_capacity(rows.len());
        for row in rows {
            for (register, value) in outer.insert.source_registers.iter().zip(&row) {
                cx.registers[register.index()] = value.clone();
            }
            if truth(filter, cx)?.is_true() {
                passed.push(row);
            }
        }
        rows = passed;
    }
    rows.truncate(percent_of(rows.len(), percent));
    Ok(rows)
}

/// Inserts the rows that satisfy a filter, at most TOP (n). Returns their number and their OUTPUT.
fn insert_each(
    insert: &Insert,
    filter: Option<&Expr>,
    rows: impl Iterator<Item = impl Iterator<Item = Value>>,
    cx: &mut Cx<'_>,
) -> Result<(u64, Collected)> {
    let limit = match &insert.top {
        Some(top) => count_of(top, cx, Msg::TopNegative)?,
        None => u64::MAX,
    };
    let private = Private::begin(&insert.target, cx);
    let mut load = ColumnLoad::begin(table_of(&insert.target), insert.purpose);
    let mut collected = Collected::default();
    collected.reset(&insert.output, cx);
    let mut count = 0_u64;
    let needed = insert.registers.max(u32::try_from(cx.registers.len()).unwrap_or(u32::MAX));
    cx.registers.resize(needed as usize, Value::Null);
    for row in rows {
        for (register, value) in insert.source_registers.iter().zip(row) {
            cx.registers[register.index()] = value;
        }
        if let Some(filter) = filter
            && !truth(filter, cx)?.is_true()
        {
            continue;
        }
        if count == limit {
            break;
        }
        if insert_row(insert, &private, load.as_mut(), cx)? {
            count += 1;
            collected.add(&insert.output, cx)?;
        }
    }
    finish(load, insert, &private, cx)?;
    private.commit(cx)?;
    Ok((count, collected))
}

fn run_source(insert: &Insert, cx: &mut Cx<'_>, collected: &mut Collected) -> Result<u64> {
    let limit = match &insert.top {
        Some(top) => count_of(top, cx, Msg::TopNegative)?,
        None => u64::MAX,
    };
    let limit = limit.min(row_limit(cx));
    let private = Private::begin(&insert.target, cx);
    let mut load = ColumnLoad::begin(table_of(&insert.target), insert.purpose);
    let batches = match &mut load {
        Some(load) if limit == u64::MAX => load_batches(insert, load, &private, cx)?,
        Some(_) | None => None,
    };
    if let Some(count) = batches {
        finish(load, insert, &private, cx)?;
        private.commit(cx)?;
        return Ok(count);
    }
    let mut count = 0;
    let mut one = |cx: &mut Cx<'_>| {
        if count == limit {
            return Ok(Flow::Enough);
        }
        if insert_row(insert, &private, load.as_mut(), cx)? {
            count += 1;
            collected.add(&insert.output, cx)?;
        }
        Ok(Flow::More)
    };
    match &insert.source {
        InsertSource::Query(query) => run_node(&query.root, cx, &mut one)?,
        InsertSource::Default => {
            one(cx)?;
        }
    }
    finish(load, insert, &private, cx)?;
    private.commit(cx)?;
    Ok(count)
}

/// Loads the batches of a query without going through registers. `None`, and nothing is done,
/// unless each column is a column of the query and nothing else has to be done for a row.
fn load_batches(
    insert: &Insert,
    load: &mut ColumnLoad,
    private: &Private,
    cx: &mut Cx<'_>,
) -> Result<Option<u64>> {
    let table = table_of(&insert.target);
    let (InsertSource::Query(query), Some(main)) = (&insert.source, cx.transaction) else {
        return Ok(None);
    };
    let Some(sources) = plain_sources(insert, table, cx) else { return Ok(None) };
    let to = private.or(main);
    let loader =
        Loader { table, sources: &sources, shelf: Shelf::default(), rows: AtomicU64::new(0) };
    let mut count = 0;
    let ran = load_in_batches(&query.root, &loader, cx, &mut |cx, layout, batch| {
        loader.shelf.publish(table, to, cx)?;
        loader.add(load, layout, batch, To::Table(to), cx)?;
        count += batch.selection.len() as u64;
        Ok(Flow::More)
    })?;
    loader.shelf.publish(table, to, cx)?;
    for rest in loader.shelf.rest() {
        add_rest(&rest, load, table, to, cx)?;
    }
    // Relaxed: the helpers have ended.
    Ok(ran.then(|| count + loader.rows.load(Ordering::Relaxed)))
}

/// Adds a helper's left-over rows, which were too few for a group.
fn add_rest(
    rest: &GroupBuilder,
    load: &mut ColumnLoad,
    table: &TableDef,
    to: &Transaction,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut part: Vec<Vector> =
        rest.columns().iter().map(|column| Vector::of_type(column.data_type())).collect();
    for first in (0..rest.len()).step_by(BATCH_ROWS) {
        fault::check_cancel(cx)?;
        let end = rest.len().min(first + BATCH_ROWS);
        let rows: Vec<u32> = (first..end).filter_map(|row| u32::try_from(row).ok()).collect();
        for (to, from) in part.iter_mut().zip(rest.columns()) {
            to.clear();
            to.take(from, &rows);
        }
        let vectors: Vec<&Vector> = part.iter().collect();
        load.add_batch(&vectors, &Selection::all(rows.len()), table, To::Table(to), cx)?;
    }
    Ok(())
}

/// Loads batches of a query into a table with a columnstore; shared by the leader and its helpers.
pub struct Loader<'l> {
    table: &'l TableDef,
    /// The register that each column of the table is read from.
    sources: &'l [Register],
    shelf: Shelf,
    /// Rows that helpers have added.
    rows: AtomicU64,
}

impl Loader<'_> {
    fn add(
        &self,
        load: &mut ColumnLoad,
        layout: &[Register],
        batch: &Batch,
        to: To<'_>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let place = |source: &Register| layout.iter().position(|register| register == source);
        let vectors = self.sources.iter().map(|source| place(source).map(|at| &batch.columns[at]));
        let Some(vectors) = vectors.collect::<Option<Vec<_>>>() else {
            return Err(Msg::InternalError.into());
        };
        check_nulls(&vectors, &batch.selection, self.table, cx)?;
        cx.count_written(self.table, batch.selection.len() as u64);
        load.add_batch(&vectors, &batch.selection, self.table, to, cx)
    }

    /// Starts a helper's load.
    pub fn begin(&self) -> ColumnLoad {
        ColumnLoad::of_helper(self.table)
    }

    /// Adds a batch of a helper.
    ///
    /// # Errors
    /// 515 for a NULL in a NOT NULL column, 701.
    pub fn help(
        &self,
        load: &mut ColumnLoad,
        layout: &[Register],
        batch: &Batch,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        self.add(load, layout, batch, To::Shelf(&self.shelf), cx)?;
        // Relaxed: read after the helpers have ended.
        self.rows.fetch_add(batch.selection.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Ends a helper's load: its left-over rows go to the leader.
    ///
    /// # Errors
    /// 701 if there is not enough memory.
    pub fn finish(&self, load: ColumnLoad, cx: &mut Cx<'_>) -> Result<()> {
        load.finish(self.table, To::Shelf(&self.shelf), cx)
    }
}

/// Returns the registers of the new rows' columns, if every column is just a register and nothing
/// else has to be done for a row.
fn plain_sources(insert: &Insert, table: &TableDef, cx: &Cx<'_>) -> Option<Vec<Register>> {
    let row = &insert.row;
    let is_plain = insert.output.is_empty()
        && row.checks.is_empty()
        && row.computed.is_empty()
        && row.foreign.is_empty()
        && row.views.is_none()
        && !trigger::is_instead(&insert.output, cx);
    let is_same =
        |a: &ColumnType, b: &ColumnType| a.data_type == b.data_type && a.collation == b.collation;
    let source = |(value, column): (&InsertValue, &ColumnDef)| match value {
        InsertValue::Source(expr) if is_same(&expr.ty, &column.ty) => match expr.kind {
            ExprKind::Column(register) if column.identity.is_none() => Some(register),
            _ => None,
        },
        _ => None,
    };
    if !is_plain {
        return None;
    }
    insert.columns.iter().zip(&table.columns).map(source).collect()
}

/// Returns error 515 for the first row with a NULL in a NOT NULL column.
fn check_nulls(vectors: &[&Vector], rows: &Selection, table: &TableDef, cx: &Cx<'_>) -> Result<()> {
    let must = |ordinal: &usize| !table.columns[*ordinal].ty.nullable;
    let suspect = |ordinal: &usize| must(ordinal) && vectors[*ordinal].has_nulls();
    let suspects: Vec<usize> = (0..vectors.len()).filter(suspect).collect();
    if suspects.is_empty() {
        return Ok(());
    }
    for row in rows.iter() {
        for &ordinal in &suspects {
            check_null(&vectors[ordinal].get(row), table, ordinal, Verb::Insert, cx)?;
        }
    }
    Ok(())
}

/// Stores the rows that a columnstore load has left over.
fn finish(
    load: Option<ColumnLoad>,
    insert: &Insert,
    private: &Private,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(load) = load else { return Ok(()) };
    load.finish(table_of(&insert.target), To::Table(private.or(cx.changing())), cx)
}

/// Inserts one row directly, without a transaction: no cache line is written that other sessions
/// write.
fn run_point(insert: &Insert, cx: &mut Cx<'_>) -> Result<StatementResult> {
    let table = table_of(&insert.target);
    let identity = build(insert, table, &table.rows, cx)?;
    let mut buffer = std::mem::take(&mut cx.scratch.row);
    let values = &cx.registers[insert.first.index()..][..table.columns.len()];
    table.layout.encode(values, &mut buffer);
    let stored = table.rows.data.insert_point(&options(cx), RowImage::from(&buffer));
    cx.scratch.row = buffer;
    if let Err(error) = stored {
        return Err(row_error(error, table, insert.first, cx));
    }
    cx.session.accounting.meter.wrote(1);
    note_identity(identity, cx);
    if !insert.output.is_empty() {
        let mut collected = Collected::default();
        collected.reset(&insert.output, cx);
        collected.add(&insert.output, cx)?;
        collected.send(&insert.output, cx)?;
    }
    Ok(StatementResult { command: Command::INSERT, rows: 1 })
}

fn row_error(error: storage::Error, table: &TableDef, first: Register, cx: &mut Cx<'_>) -> Error {
    storage_error(error, table, cx, &|cx, ordinal| {
        cx.registers[first.plus(ordinal).index()].clone()
    })
}

/// Builds and inserts one row in the transaction; `false` if IGNORE_DUP_KEY discarded it.
fn insert_row(
    insert: &Insert,
    private: &Private,
    load: Option<&mut ColumnLoad>,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let table = table_of(&insert.target);
    let rows = match &insert.target {
        TableSource::Variable(slot, _) => std::sync::Arc::clone(&cx.frame.tables[*slot as usize]),
        TableSource::Table(table) | TableSource::Trigger(_, table) => {
            std::sync::Arc::clone(&table.rows)
        }
    };
    if trigger::is_instead(&insert.output, cx) {
        // The trigger decides about the row, so it has no identity value yet.
        fill_instead(&insert.columns, insert.first, &insert.row, table, cx)?;
        return Ok(true);
    }
    let identity = build(insert, table, &rows, cx)?;
    if let Some(load) = load {
        let main = cx.changing();
        let first = insert.first.index();
        let values = std::mem::take(&mut cx.registers);
        let to = To::Table(private.or(main));
        let added = load.add(&values[first..][..table.columns.len()], table, to, cx);
        cx.registers = values;
        added?;
        cx.count_written(table, 1);
        note_identity(identity, cx);
        return Ok(true);
    }
    let stored = store(table, (&rows, private), insert.first, &insert.row, cx, None)?;
    if stored {
        note_identity(identity, cx);
    }
    Ok(stored)
}

/// Evaluates the new row for an INSTEAD OF trigger: without checks, identity columns are 0.
pub(super) fn fill_instead(
    columns: &[InsertValue],
    first: Register,
    row: &NewRow,
    table: &TableDef,
    cx: &mut Cx<'_>,
) -> Result<()> {
    for (ordinal, value) in columns.iter().enumerate() {
        let value = match value {
            InsertValue::Source(expr) | InsertValue::Default(Some(expr)) => {
                value_of(expr, table, ordinal, cx)?
            }
            InsertValue::Identity => identity_value(0, &table.columns[ordinal].ty.data_type)?,
            InsertValue::Period(end) => period_value(*end, table, ordinal, cx),
            InsertValue::Default(None) | InsertValue::RowVersion | InsertValue::Computed => {
                Value::Null
            }
        };
        cx.registers[first.plus(ordinal).index()] = value;
    }
    for (_, register, expr) in &row.computed {
        cx.registers[register.index()] = crate::eval::eval(expr, cx)?;
    }
    Ok(())
}

/// Encodes the row in the registers and stores it. A row whose key is taken is kept in `deferred`,
/// for a statement that may free the key.
pub(super) fn store(
    table: &TableDef,
    (rows, private): (&TableRows, &Private),
    first: Register,
    row: &NewRow,
    cx: &mut Cx<'_>,
    deferred: Option<&mut Deferred<'_>>,
) -> Result<bool> {
    let main = cx.changing();
    reference::check_new(&row.foreign, table, Verb::Insert, cx)?;
    let mut buffer = std::mem::take(&mut cx.scratch.row);
    let values = &cx.registers[first.index()..][..table.columns.len()];
    table.layout.encode(values, &mut buffer);
    let stored = private.or(main).insert(&rows.data, RowImage::from(&buffer)).map(|_| ());
    let ignores = matches!(&stored, Err(storage::Error::Unique { index, .. }) if table.ignores_duplicates(*index));
    if let (Err(error), Some(deferred), false) = (&stored, deferred, ignores)
        && is_key_taken(error)
    {
        deferred.keep(None, buffer)?;
        cx.count_written(table, 1);
        return Ok(true);
    }
    cx.scratch.row = buffer;
    match stored {
        Ok(()) => {
            cx.count_written(table, 1);
            Ok(true)
        }
        Err(_) if ignores => {
            let warning = Error::custom(3604, 10, 1, "Duplicate key was ignored.");
            let sent = cx.sink.message(&warning);
            fault::sent(cx, sent)?;
            Ok(false)
        }
        Err(error) => Err(row_error(error, table, first, cx)),
    }
}

/// Evaluates the new row into its registers; returns its identity value, if generated.
fn build(
    insert: &Insert,
    table: &TableDef,
    rows: &TableRows,
    cx: &mut Cx<'_>,
) -> Result<Option<i64>> {
    let identity = fill(&insert.columns, insert.first, table, rows, cx)?;
    complete(&insert.row, table, Verb::Insert, cx)?;
    Ok(identity)
}

/// Evaluates the columns of a new row into consecutive registers.
pub(super) fn fill(
    columns: &[InsertValue],
    first: Register,
    table: &TableDef,
    rows: &TableRows,
    cx: &mut Cx<'_>,
) -> Result<Option<i64>> {
    let mut identity = None;
    for (ordinal, value) in columns.iter().enumerate() {
        let value = match value {
            InsertValue::Source(expr) => {
                let value = value_of(expr, table, ordinal, cx)?;
                if table.columns[ordinal].identity.is_some() {
                    identity = Some(explicit_identity(&value, table, ordinal, rows, cx)?);
                }
                value
            }
            InsertValue::Default(Some(expr)) => value_of(expr, table, ordinal, cx)?,
            InsertValue::Default(None) => Value::Null,
            InsertValue::Identity => {
                let next = next_identity(table, ordinal, rows, cx)?;
                identity = Some(next);
                identity_value(next, &table.columns[ordinal].ty.data_type)?
            }
            InsertValue::RowVersion => cx.session.instance.catalog.next_row_version(),
            InsertValue::Period(end) => period_value(*end, table, ordinal, cx),
            InsertValue::Computed => continue,
        };
        check_null(&value, table, ordinal, Verb::Insert, cx)?;
        cx.registers[first.plus(ordinal).index()] = value;
    }
    Ok(identity)
}

/// Returns a period column of a new row: the transaction's time as start, the maximum as end.
fn period_value(end: Generated, table: &TableDef, ordinal: usize, cx: &mut Cx<'_>) -> Value {
    let data_type = &table.columns[ordinal].ty.data_type;
    match end {
        Generated::RowStart => cx.transaction_time(data_type),
        Generated::RowEnd => period::end_of_time(data_type),
    }
}
