//! BULK INSERT: the rows of a text file.
//!
//! The file is read in pieces, and its rows are stored in parts: a batch is one transaction, and in memory is a part
//! of it. A field that does not convert is told and its row left out, up to MAXERRORS; beyond that nothing of the
//! batch stays.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Error, Msg, Result, Value};

use crate::{Stop, ended, transactions};
use ::binder::dml::{Triggers, bind_insert_rows};
use ::binder::query;
use ::catalog::TableDef;
use ::ddl::distrust;
use ::executor::bulk::field::converted;
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
/// 4834 without ADMINISTER BULK OPERATIONS, 229 without INSERT, 1088 without ALTER where it switches something off, 4860 and 4861 for the file, 4865 when more rows than MAXERRORS were left out, 4832 where the file ends
/// within a row, those of INSERT.
pub fn run(bulk: &ast::BulkInsert, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
    if !cx.session.rights.reads_files(&cx.session.catalog) {
        return Err(Msg::BulkNoPermission.into());
    }
    let options = option::parse(&bulk.options, "BULK INSERT")?;
    let table = find_table(&bulk.table, cx)?;
    let asked = ddl::require::load::Load {
        checks: options.check_constraints,
        fires: options.fire_triggers,
        keeps_identity: options.keep_identity,
    };
    ::ddl::require::load::check_load(&cx.session.rights, &cx.session.catalog, &table, asked)?;
    transactions::begin_implicit(cx)?;
    let mut load = Load::new(bulk, &table, &options);
    let before = cx.session.identity_insert;
    if options.keep_identity {
        cx.session.identity_insert = Some(table.id);
    }
    let loaded = load.all(cx);
    cx.session.identity_insert = before;
    loaded?;
    let count = load.count;
    if !options.check_constraints && count > 0 {
        distrust(&table, cx)?;
    }
    cx.session.row_count = count;
    Ok(ended(cx, Command::BULK_INSERT, Some(count))?)
}

fn find_table(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<Arc<TableDef>> {
    let database = Arc::clone(&cx.session.database);
    let context = metadata::binding::bare_context(cx.session, &database);
    let mut binder = context.binder();
    match query::resolve_table(&mut binder, name)? {
        query::Resolved::Table(table) if table.external.is_some() => Err(Msg::ExternalDml.into()),
        query::Resolved::Table(table) => Ok(table),
        _ => Err(Msg::NotSupported("BULK INSERT into a view").into()),
    }
}

/// Rows and bytes of values that are stored at once.
const PART_ROWS_MAX: usize = 8_192;
const PART_BYTES_MAX: usize = 8 << 20;
/// The same, into a table with a columnstore index: row groups are made of parts.
const COLUMN_PART_ROWS_MIN: usize = 102_400;
const COLUMN_PART_ROWS_MAX: usize = 1 << 20;
const COLUMN_PART_BYTES_MAX: usize = 64 << 20;

/// A load that is under way.
struct Load<'a> {
    bulk: &'a ast::BulkInsert,
    table: &'a Arc<TableDef>,
    options: &'a Options,
    /// The table's columns that the file has fields for, by ordinal.
    columns: Vec<usize>,
    /// Which of the columns rows fill that have come, and the statement for those.
    patterns: Vec<(Vec<bool>, Option<Arc<Insert>>)>,
    /// Rows that are to be stored, and the bytes that their values take.
    part: Vec<Row>,
    part_bytes: usize,
    /// Rows of the batch that is being read, and of those that are stored.
    batch_rows: usize,
    batch_count: u64,
    /// What undoes the batch, once some of it is stored.
    undo: Option<Undo>,
    /// Rows of all batches that are done.
    count: u64,
    errors: u64,
}

/// What undoes a batch.
enum Undo {
    /// The transaction is the batch's own.
    Transaction,
    /// All since a place in the session's transaction, which has this descriptor.
    Since(storage::Savepoint, u64),
}

/// A row: the number of its pattern, and the values of the columns that it fills.
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
            if cx.session.cancel.is_set() {
                return Err(Stop::Cancelled);
            }
            Ok(Wanted::More)
        })
    }

    /// Takes a row; stores those that there are when they are a part of a batch, or a whole one.
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
            // A trigger fires once for a batch, with all its rows.
            _ if self.options.fire_triggers => false,
            Some(_) => {
                rows >= COLUMN_PART_ROWS_MAX
                    || (rows >= COLUMN_PART_ROWS_MIN && self.part_bytes > COLUMN_PART_BYTES_MAX)
            }
            None => rows >= PART_ROWS_MAX || self.part_bytes > PART_BYTES_MAX,
        };
        if is_full { self.store(cx) } else { Ok(()) }
    }

    /// Tells of a row that is left out.
    fn leave_out(&mut self, error: &Error, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        self.errors += 1;
        let error = error.clone().at_line(cx.session.line);
        cx.sink.message(&error)?;
        if self.errors > self.options.max_errors {
            let most = i64::try_from(self.options.max_errors).unwrap_or(i64::MAX);
            return Err(Msg::BulkTooManyErrors(most).into());
        }
        Ok(())
    }

    /// Converts the fields of a row.
    fn row(&mut self, number: u64, fields: Vec<Field<'_>>, cx: &Cx<'_>) -> Result<Row> {
        let mut filled = Vec::with_capacity(self.columns.len());
        let mut values = Vec::with_capacity(self.columns.len());
        let row = i64::try_from(number).unwrap_or(i64::MAX);
        if fields.len() != self.columns.len() {
            let place = i64::try_from(self.columns.len()).unwrap_or(i64::MAX);
            return Err(Msg::BulkColumnTooLong(row, place).into());
        }
        for ((place, ordinal), field) in (1..).zip(&self.columns).zip(fields) {
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
            let at = (row, place, column.name.as_str());
            values.push(converted(self.options, &field.0, at, &column.ty, cx)?);
        }
        Ok((self.pattern(filled), values))
    }

    /// Returns the number of a pattern.
    fn pattern(&mut self, filled: Vec<bool>) -> usize {
        let known = self.patterns.iter().position(|(pattern, _)| *pattern == filled);
        known.unwrap_or_else(|| {
            self.patterns.push((filled, None));
            self.patterns.len() - 1
        })
    }

    /// Stores the rows that there are, in the batch's transaction.
    fn store(&mut self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        let rows = std::mem::take(&mut self.part);
        self.part_bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        if self.undo.is_none() {
            self.undo = Some(match &cx.session.transaction.active {
                _ if cx.session.transaction.count == 0 => {
                    transactions::begin_quiet(cx.session);
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

    /// Stores what is left of a batch, and makes it last.
    fn end_batch(&mut self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        self.store(cx)?;
        if let Some(Undo::Transaction) = self.undo.take() {
            transactions::commit_quiet(cx.session)?;
        }
        self.count += std::mem::take(&mut self.batch_count);
        self.batch_rows = 0;
        Ok(())
    }

    /// Takes back what is stored of a batch that has failed.
    fn undo(&mut self, cx: &mut Cx<'_>) {
        let transaction = &mut cx.session.transaction;
        match self.undo.take() {
            Some(Undo::Transaction) => transactions::roll_back_quiet(cx.session),
            // A trigger may have ended the transaction; a doomed one is undone as a whole.
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

    /// The statement that fills these columns; the others get their defaults.
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
            let database = Arc::clone(&cx.session.database);
            let context = metadata::binding::bare_context(cx.session, &database);
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
