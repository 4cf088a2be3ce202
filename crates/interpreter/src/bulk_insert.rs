//! Runs BULK INSERT: loads the rows of a text file.
//!
//! The file is read in pieces, and its rows are stored in parts: a batch is one transaction, and a
//! part is what memory holds of it. A row with a field that does not convert is reported and
//! skipped, up to MAXERRORS rows; one more rolls back the batch.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Error, Msg, Result, Value};

use crate::{Stop, ended, transactions};
use ::binder::dml::{Triggers, bind_insert_rows};
use ::binder::query;
use ::catalog::TableDef;
use ::ddl::distrust;
use ::executor::bulk::field::{Place, converted};
use ::executor::dml::{hold, insert_rows};
use ::executor::statement::in_transaction;
use ::executor::{Cx, fault};
use ::plan::sink::Command;
use ::plan::statement::Insert;
use files::fields::Field;
use files::option::{self, Options};
use files::text;
use text::Wanted;

/// Runs BULK INSERT.
///
/// # Errors
/// 4834 without ADMINISTER BULK OPERATIONS, 229 without INSERT, 1088 without ALTER where it
/// disables something, 4860 and 4861 for the file, 4865 if more than MAXERRORS rows were skipped,
/// 4832 if the file ends within a row, and the errors of INSERT.
pub fn run(bulk: &ast::BulkInsert, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
    if !cx.session.identity.rights.reads_files(&cx.session.catalog) {
        return Err(Msg::BulkNoPermission.into());
    }
    let options = option::parse(&bulk.options, "BULK INSERT")?;
    let table = find_table(&bulk.table, cx)?;
    let asked = ddl::require::load::Load {
        checks: options.check_constraints,
        fires: options.fire_triggers,
        keeps_identity: options.keep_identity,
    };
    ::ddl::require::load::check_load(
        &cx.session.identity.rights,
        &cx.session.catalog,
        &table,
        asked,
    )?;
    transactions::begin_implicit(cx)?;
    let mut load = Load::new(bulk, &table, &options);
    let before = cx.session.held.identity_insert;
    if options.keep_identity {
        cx.session.held.identity_insert = Some(table.id);
    }
    let loaded = load.all(cx);
    cx.session.held.identity_insert = before;
    loaded?;
    let count = load.count;
    if !options.check_constraints && count > 0 {
        distrust(&table, cx)?;
    }
    cx.session.last.row_count = count;
    Ok(ended(cx, Command::BULK_INSERT, Some(count))?)
}

fn find_table(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<Arc<TableDef>> {
    let database = Arc::clone(&cx.session.identity.database);
    let context = compile::binding::bare_context(cx.session, &database);
    let mut binder = context.binder();
    match query::resolve_table(&mut binder, name)? {
        query::Resolved::Table(table) if table.external.is_some() => Err(Msg::ExternalDml.into()),
        query::Resolved::Table(table) => {
            query::check_readable(&table)?;
            Ok(table)
        }
        _ => Err(Msg::NotSupported("BULK INSERT into a view").into()),
    }
}

/// Most rows of a part, and most bytes of their values.
const PART_ROWS_MAX: usize = 8_192;
const PART_BYTES_MAX: usize = 8 << 20;
/// The same for a table with a columnstore index, which compresses each part to row groups.
const COLUMN_PART_ROWS_MIN: usize = 102_400;
const COLUMN_PART_ROWS_MAX: usize = 1 << 20;
const COLUMN_PART_BYTES_MAX: usize = 64 << 20;

/// A load in progress.
struct Load<'a> {
    bulk: &'a ast::BulkInsert,
    table: &'a Arc<TableDef>,
    options: &'a Options,
    /// Ordinals of the table's columns that the file has fields for.
    columns: Vec<usize>,
    /// The patterns of rows so far: which columns have a value, and the INSERT statement for them.
    patterns: Vec<(Vec<bool>, Option<Arc<Insert>>)>,
    /// Rows waiting to be stored, and the size of their values in bytes.
    part: Vec<Row>,
    part_bytes: usize,
    /// Rows of the current batch: read, and stored.
    batch_rows: usize,
    batch_count: u64,
    /// How to roll back the batch; set when some of it is stored.
    undo: Option<Undo>,
    /// Rows of all completed batches.
    count: u64,
    errors: u64,
}

/// How a failed batch is rolled back.
enum Undo {
    /// The batch has a transaction for itself, which is rolled back.
    Transaction,
    /// To a savepoint in the session's transaction, which has this descriptor.
    Since(storage::Savepoint, u64),
}

/// A row: the index of its pattern, and the values of the columns that it has.
type Row = (usize, Vec<Value>);

impl<'a> Load<'a> {
    fn new(bulk: &'a ast::BulkInsert, table: &'a Arc<TableDef>, options: &'a Options) -> Self {
        let has_field = |i: &usize| table.columns[*i].computed.is_none();
        let columns = (0..table.columns.len()).filter(has_field).collect();
        Self {
            bulk,
            table,
            options,
            columns,
            patterns: Vec::new(),
            part: Vec::new(),
            part_bytes: 0,
            batch_rows: 0,
            batch_count: 0,
            undo: None,
            count: 0,
            errors: 0,
        }
    }

    fn all(&mut self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        let loaded = self.read(cx).and_then(|()| self.end_batch(cx));
        if loaded.is_err() {
            self.undo(cx);
        }
        loaded
    }

    fn read(&mut self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        let options = self.options;
        let mut text = text::open(&self.bulk.file, options)?;
        let mut number = 0;
        text.each::<Stop>(self.columns.len(), &mut |row| {
            number += 1;
            if options.last_row.is_some_and(|last| number > last) {
                return Ok(Wanted::Enough);
            }
            if number < options.first_row {
                return Ok(Wanted::More);
            }
            let fields = row.map_err(|_| Msg::BulkUnexpectedEnd)?;
            match self.row(number, fields, cx) {
                Ok(row) => self.take(row, cx)?,
                Err(error) => self.leave_out(&error, cx)?,
            }
            if cx.session.connection.cancel.is_set() {
                return Err(Stop::Cancelled);
            }
            Ok(Wanted::More)
        })
    }

    /// Adds a row; stores the waiting rows if they are a full part or complete the batch.
    fn take(&mut self, row: Row, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        let bytes = |value: &Value| value.string_bytes().map_or(0, <[u8]>::len);
        self.part_bytes += row.1.len() * size_of::<Value>();
        self.part_bytes += row.1.iter().map(bytes).sum::<usize>();
        self.part.push(row);
        self.batch_rows += 1;
        if self.options.batch_size == Some(self.batch_rows) {
            return self.end_batch(cx);
        }
        let rows = self.part.len();
        let is_full = match self.table.columnstore {
            // A trigger fires once per batch, with all its rows.
            _ if self.options.fire_triggers => false,
            Some(_) => {
                rows >= COLUMN_PART_ROWS_MAX
                    || (rows >= COLUMN_PART_ROWS_MIN && self.part_bytes > COLUMN_PART_BYTES_MAX)
            }
            None => rows >= PART_ROWS_MAX || self.part_bytes > PART_BYTES_MAX,
        };
        if is_full { self.store(cx) } else { Ok(()) }
    }

    /// Sends the error of a skipped row.
    fn leave_out(&mut self, error: &Error, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        self.errors += 1;
        let error = error.clone().at_line(cx.session.request.line);
        cx.sink.message(&error)?;
        if self.errors > self.options.max_errors {
            let most = i64::try_from(self.options.max_errors).unwrap_or(i64::MAX);
            return Err(Msg::BulkTooManyErrors(most).into());
        }
        Ok(())
    }

    /// Converts the fields of a row to values.
    fn row(&mut self, number: u64, fields: Vec<Field<'_>>, cx: &Cx<'_>) -> Result<Row> {
        let mut filled = Vec::with_capacity(self.columns.len());
        let mut values = Vec::with_capacity(self.columns.len());
        let row = i64::try_from(number).unwrap_or(i64::MAX);
        if fields.len() != self.columns.len() {
            let place = i64::try_from(self.columns.len()).unwrap_or(i64::MAX);
            return Err(Msg::BulkColumnTooLong(row, place).into());
        }
        for ((number, ordinal), field) in (1..).zip(&self.columns).zip(fields) {
            let column = &self.table.columns[*ordinal];
            let made = column.ty.data_type == DataType::RowVersion
                || (column.identity.is_some() && !self.options.keep_identity);
            let is_empty = field.0.is_empty() && !field.1;
            let is_default = is_empty && !self.options.keep_nulls && column.default.is_some();
            if made || is_default {
                filled.push(false);
                continue;
            }
            filled.push(true);
            if is_empty {
                values.push(Value::Null);
                continue;
            }
            let at = Place { row, column: number, name: &column.name };
            values.push(converted(self.options, &field.0, at, &column.ty, cx)?);
        }
        Ok((self.pattern(filled), values))
    }

    /// Returns the index of a pattern, adding it if it is new.
    fn pattern(&mut self, filled: Vec<bool>) -> usize {
        let known = self.patterns.iter().position(|(pattern, _)| *pattern == filled);
        known.unwrap_or_else(|| {
            self.patterns.push((filled, None));
            self.patterns.len() - 1
        })
    }

    /// Stores the waiting rows, in the batch's transaction.
    fn store(&mut self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        let rows = std::mem::take(&mut self.part);
        self.part_bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        if self.undo.is_none() {
            self.undo = Some(match &cx.session.transaction.active {
                _ if cx.session.transaction.count == 0 => {
                    transactions::begin_quiet(cx.session, false);
                    Undo::Transaction
                }
                Some(active) => Undo::Since(active.savepoint(), cx.session.transaction.descriptor),
                None => return Err(Msg::InternalError.into()),
            });
            if self.options.table_lock {
                in_transaction(cx, &mut |cx| hold(self.table, cx))?;
            }
        }
        self.batch_count += self.store_in_transaction(rows, cx)?;
        Ok(())
    }

    /// Stores the rest of a batch, and commits it.
    fn end_batch(&mut self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        self.store(cx)?;
        if let Some(Undo::Transaction) = self.undo.take() {
            transactions::commit_quiet(cx.session)?;
        }
        self.count += std::mem::take(&mut self.batch_count);
        self.batch_rows = 0;
        Ok(())
    }

    /// Rolls back the stored rows of a failed batch.
    fn undo(&mut self, cx: &mut Cx<'_>) {
        let transaction = &mut cx.session.transaction;
        match self.undo.take() {
            Some(Undo::Transaction) => transactions::roll_back_quiet(cx.session),
            // A trigger may have ended the transaction. A doomed one is rolled back as a whole.
            Some(Undo::Since(savepoint, of)) if of == transaction.descriptor => {
                if let Some(active) = transaction.active.as_mut().filter(|a| !a.is_doomed()) {
                    active.rollback_to(savepoint);
                }
            }
            Some(Undo::Since(..)) | None => {}
        }
    }

    fn store_in_transaction(&mut self, rows: Vec<Row>, cx: &mut Cx<'_>) -> Result<u64> {
        let mut count = 0;
        let mut rows = rows.into_iter().peekable();
        while let Some((pattern, values)) = rows.next() {
            let mut same = vec![values];
            while let Some((_, values)) = rows.next_if(|(other, _)| *other == pattern) {
                same.push(values);
            }
            let insert = self.insert(pattern, cx)?;
            count += insert_rows(&insert, &same, cx)?.rows;
            fault::check_cancel(cx)?;
        }
        Ok(count)
    }

    /// Returns the INSERT for a pattern; the other columns get their defaults.
    fn insert(&mut self, pattern: usize, cx: &mut Cx<'_>) -> Result<Arc<Insert>> {
        let filled = match &self.patterns[pattern] {
            (_, Some(insert)) => return Ok(Arc::clone(insert)),
            (filled, None) => filled,
        };
        let columns = self.columns.iter().zip(filled).filter(|(_, filled)| **filled);
        let columns: Vec<_> = columns.map(|(i, _)| &self.table.columns[*i]).collect();
        let name = |c: &&::catalog::ColumnDef| {
            ast::Ident::new(c.name.as_str(), ast::Quoting::Brackets, self.bulk.table.span)
        };
        let names: Vec<ast::Ident> = columns.iter().map(name).collect();
        let types: Vec<ColumnType> = columns.iter().map(|c| c.ty).collect();
        let target = ast::Target {
            kind: ast::TargetKind::Name(self.bulk.table.clone()),
            hints: Vec::new(),
            span: self.bulk.table.span,
        };
        let fires = if self.options.fire_triggers { Triggers::Fire } else { Triggers::Ignore };
        let mut insert = {
            let database = Arc::clone(&cx.session.identity.database);
            let context = compile::binding::bare_context(cx.session, &database);
            bind_insert_rows(&mut context.binder(), &target, &names, &types, fires)?
        };
        if !self.options.check_constraints {
            insert.row.checks.clear();
            insert.row.foreign.clear();
        }
        let insert = Arc::new(insert);
        self.patterns[pattern].1 = Some(Arc::clone(&insert));
        Ok(insert)
    }
}
