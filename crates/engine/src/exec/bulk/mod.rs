//! BULK INSERT: the rows of a text file.
//!
//! The file is read whole. A field that does not convert is told and its row left out, up to MAXERRORS;
//! beyond that nothing of the batch stays.

mod fields;
mod option;
pub(crate) mod rowset;

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Error, Mode, Msg, Result, Value};

use crate::bind::dml::{Triggers, bind_insert_rows};
use crate::bind::{BinderContext, query};
use crate::catalog::TableDef;
use crate::exec::dml::insert_rows;
use crate::exec::run::{Stop, done, transactions};
use crate::exec::{Cx, fault};
use crate::plan::statement::Insert;
use crate::sink::Command;
use fields::{Field, Rows};
use option::Options;

/// Runs BULK INSERT.
///
/// # Errors
/// 4834 without permission, 4860 and 4861 for the file, 4865 when more rows than MAXERRORS were left out, 4832 where the file ends
/// within a row, those of INSERT.
pub(crate) fn run(bulk: &ast::BulkInsert, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
    if !cx.session.rights.reads_files(&cx.session.catalog) {
        return Err(Msg::BulkNoPermission.into());
    }
    let options = option::parse(bulk)?;
    transactions::begin_implicit(cx)?;
    let table = find_table(&bulk.table, cx)?;
    let text = read(&bulk.file)?;
    let text = text.strip_prefix(b"\xEF\xBB\xBF").filter(|_| options.is_utf8()).unwrap_or(&text);
    let text = options.narrow(text)?;
    let mut load = Load::new(bulk, &table, &options);
    let before = cx.session.identity_insert;
    if options.keep_identity {
        cx.session.identity_insert = Some(table.id);
    }
    let loaded = load.all(&text, cx);
    cx.session.identity_insert = before;
    loaded?;
    cx.session.row_count = load.count;
    Ok(done(cx, Command::BulkInsert, Some(load.count), false)?)
}

fn find_table(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<Arc<TableDef>> {
    let database = Arc::clone(&cx.session.database);
    let context = BinderContext::bare(cx.session, &database);
    let mut binder = context.binder();
    match query::resolve_table(&mut binder, name)? {
        query::Resolved::Table(table) => Ok(table),
        _ => Err(Msg::NotSupported("BULK INSERT into a view").into()),
    }
}

fn read(path: &str) -> Result<Vec<u8>> {
    sos::sys::read_file(path).map_err(|error| not_opened(path, &error))
}

/// Says why a file could not be opened or read.
pub(crate) fn not_opened(path: &str, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Msg::BulkFileMissing(path).into();
    }
    let code = format!("{}({error})", error.raw_os_error().unwrap_or(0));
    Msg::BulkFileNotOpened(path, &code).into()
}

/// A load that is under way.
struct Load<'a> {
    bulk: &'a ast::BulkInsert,
    table: &'a Arc<TableDef>,
    options: &'a Options,
    /// The table's columns that the file has fields for, by ordinal.
    columns: Vec<usize>,
    /// Statements by the columns that they fill.
    inserts: Vec<(Vec<bool>, Arc<Insert>)>,
    count: u64,
    errors: u64,
}

/// A row: which of its columns have a value of the file, and those values.
type Row = (Vec<bool>, Vec<Value>);

impl<'a> Load<'a> {
    fn new(bulk: &'a ast::BulkInsert, table: &'a Arc<TableDef>, options: &'a Options) -> Self {
        let has_field = |i: &usize| table.columns[*i].computed.is_none();
        let columns = (0..table.columns.len()).filter(has_field).collect();
        Self { bulk, table, options, columns, inserts: Vec::new(), count: 0, errors: 0 }
    }

    fn all(&mut self, text: &[u8], cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        let mut rows = Rows::new(text, &self.options.shape);
        let mut batch: Vec<Row> = Vec::new();
        let mut number = 0;
        while let Some(row) = rows.next(self.columns.len()) {
            number += 1;
            if self.options.last_row.is_some_and(|last| number > last) {
                break;
            }
            if number < self.options.first_row {
                continue;
            }
            let fields = row.map_err(|_| Msg::BulkUnexpectedEnd)?;
            match self.row(number, fields, cx) {
                Ok(row) => batch.push(row),
                Err(error) => self.leave_out(&error, cx)?,
            }
            if self.options.batch_size.is_some_and(|size| batch.len() == size) {
                self.store(std::mem::take(&mut batch), cx)?;
            }
            if cx.session.cancel.is_set() {
                return Err(Stop::Cancelled);
            }
        }
        self.store(batch, cx)
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
    fn row(&self, number: u64, fields: Vec<Field>, cx: &Cx<'_>) -> Result<Row> {
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
            let value = self.value(field.0, &column.ty, cx);
            values.push(value.map_err(|error| match error.number {
                2_628 | 8_152 => Error::from(Msg::BulkTruncation(row, place, &column.name)),
                _ => Msg::BulkConversion(row, place, &column.name).into(),
            })?);
        }
        Ok((filled, values))
    }

    fn value(&self, bytes: Vec<u8>, to: &ColumnType, cx: &Cx<'_>) -> Result<Value> {
        let text = self.options.decode(&bytes, to)?;
        let is_binary =
            matches!(to.data_type, DataType::Binary(_) | DataType::VarBinary(_) | DataType::Image);
        if is_binary {
            let digits = text.strip_prefix("0x").unwrap_or(&text);
            let bytes = option::hex(digits).ok_or(Msg::InternalError)?;
            let from = ColumnType::nullable(DataType::VarBinary(types::Length::Max));
            let options = cx.convert_options();
            let value = Value::VarBinary(types::Bytes::copy_from(&bytes));
            return types::convert(&value, &from, to, 0, Mode::Assignment, &options);
        }
        let from = cx.session.text_type();
        let value = Value::nvarchar(&text);
        types::convert(&value, &from, to, 0, Mode::Assignment, &cx.convert_options())
    }

    /// Stores a batch, all of it or nothing.
    fn store(&mut self, rows: Vec<Row>, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        if rows.is_empty() {
            return Ok(());
        }
        let alone = cx.session.transaction.count == 0;
        if alone {
            transactions::begin_quiet(cx.session);
        }
        let stored = self.store_in_transaction(rows, cx);
        match (alone, &stored) {
            (true, Ok(_)) => transactions::commit_quiet(cx.session)?,
            (true, Err(_)) => transactions::roll_back_quiet(cx.session),
            (false, _) => {}
        }
        self.count += stored?;
        Ok(())
    }

    fn store_in_transaction(&mut self, rows: Vec<Row>, cx: &mut Cx<'_>) -> Result<u64> {
        let mut count = 0;
        let mut rows = rows.into_iter().peekable();
        while let Some((filled, values)) = rows.next() {
            let mut same = vec![values];
            while let Some((_, values)) = rows.next_if(|(other, _)| *other == filled) {
                same.push(values);
            }
            let insert = self.insert(&filled, cx)?;
            count += insert_rows(&insert, &same, cx)?.rows;
            fault::check_cancel(cx)?;
        }
        Ok(count)
    }

    /// The statement that fills these columns; the others get their defaults.
    fn insert(&mut self, filled: &[bool], cx: &mut Cx<'_>) -> Result<Arc<Insert>> {
        if let Some((_, insert)) = self.inserts.iter().find(|(columns, _)| columns == filled) {
            return Ok(Arc::clone(insert));
        }
        let columns = self.columns.iter().zip(filled).filter(|(_, filled)| **filled);
        let columns: Vec<_> = columns.map(|(i, _)| &self.table.columns[*i]).collect();
        let name = |c: &&crate::catalog::ColumnDef| {
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
            let context = BinderContext::bare(cx.session, &database);
            bind_insert_rows(&mut context.binder(), &target, &names, &types, fires)?
        };
        if !self.options.check_constraints {
            insert.row.checks.clear();
            insert.row.foreign.clear();
        }
        let insert = Arc::new(insert);
        self.inserts.push((filled.to_vec(), Arc::clone(&insert)));
        Ok(insert)
    }
}
