//! Rows that come from outside of a statement: bulk load, table-valued parameters; and SET
//! IDENTITY_INSERT.

use std::sync::Arc;

use tsql::ast;
use types::row::RowBuffer;
use types::value::ColumnType;
use types::{Error, Mode, Msg, Result, Value};

use super::insert::insert_rows;
use super::write::display;
use crate::bind::dml::{Triggers, bind_insert_rows};
use crate::bind::{BinderContext, query};
use crate::catalog::{TableDef, TableRows};
use crate::exec::{Cx, StatementResult, ddl, fault};
use crate::session::{SessionState, TableParameter};
use crate::sink::{ColumnInfo, Command};

/// Rows of a bulk load that go into one transaction of storage.
const ROWS_PER_BATCH: usize = 1_024;
/// The same, into a table with a columnstore index: as many as are compressed at once.
const ROWS_PER_COLUMN_BATCH: usize = 102_400;

/// SET IDENTITY_INSERT table ON | OFF.
///
/// # Errors
/// 8106 without an identity column, 8107 if it is on for another table, 1088 for an unknown table.
pub fn set_identity_insert(table: &ast::ObjectName, on: bool, cx: &mut Cx<'_>) -> Result<()> {
    let name = table.to_string();
    let found = {
        let database = Arc::clone(&cx.session.database);
        let context = BinderContext::bare(cx.session, &database);
        let mut binder = context.binder();
        match query::resolve_table(&mut binder, table) {
            Ok(query::Resolved::Table(table)) => table,
            _ => return Err(Msg::ObjectNotFound(&name).into()),
        }
    };
    if !found.columns.iter().any(|c| c.identity.is_some()) {
        return Err(Msg::NoIdentityProperty(&name).into());
    }
    match (cx.session.identity_insert, on) {
        (Some(other), true) if other != found.id => {
            let on = cx.session.catalog.databases.values().find_map(|d| {
                d.table_by_id(other).map(|t| format!("{}.{}", d.name, t.qualified_name()))
            });
            return Err(Msg::IdentityInsertAlreadyOn(&on.unwrap_or_default(), &name).into());
        }
        (_, true) => cx.session.identity_insert = Some(found.id),
        (Some(id), false) if id == found.id => cx.session.identity_insert = None,
        (_, false) => {}
    }
    Ok(())
}

/// Inserts the rows of a BULK packet that INSERT BULK announced.
///
/// # Errors
/// As for INSERT; 4815 and 4816 for columns that do not fit.
pub fn bulk_insert(
    announced: &ast::InsertBulk,
    columns: &[ColumnInfo],
    rows: &mut dyn Iterator<Item = Result<Vec<Value>>>,
    cx: &mut Cx<'_>,
) -> Result<StatementResult> {
    if columns.len() != announced.columns.len() {
        return Err(Msg::InsertColumnCount.into());
    }
    let keeps_identity = announced.options.iter().any(|option| {
        matches!(option, ast::BulkOption::Word(w) if matches!(&**w, "KEEPIDENTITY" | "KEEP_IDENTITY"))
    });
    let insert = {
        let database = Arc::clone(&cx.session.database);
        let context = BinderContext::checked(cx.session, &database);
        let mut binder = context.binder();
        let names: Vec<ast::Ident> = announced.columns.iter().map(|c| c.name.clone()).collect();
        let types: Vec<ColumnType> = columns.iter().map(|c| c.column_type).collect();
        let target = ast::Target {
            kind: ast::TargetKind::Name(announced.table.clone()),
            hints: Vec::new(),
            span: announced.table.span,
        };
        bind_insert_rows(&mut binder, &target, &names, &types, Triggers::Ignore)?
    };
    let target = crate::plan::statement::table_of(&insert.target);
    let (table, has_columns) = (target.id, target.columnstore.is_some());
    let before = cx.session.identity_insert;
    if keeps_identity {
        cx.session.identity_insert = Some(table);
    }
    let mut count = 0;
    let load = || -> Result<()> {
        let mut batch = Vec::with_capacity(ROWS_PER_BATCH);
        let rows_max = if has_columns { ROWS_PER_COLUMN_BATCH } else { ROWS_PER_BATCH };
        for row in rows {
            batch.push(row?);
            if batch.len() == rows_max {
                count += insert_rows(&insert, &batch, cx)?.rows;
                batch.clear();
            }
        }
        count += insert_rows(&insert, &batch, cx)?.rows;
        Ok(())
    };
    let loaded = load();
    cx.session.identity_insert = before;
    loaded?;
    Ok(StatementResult { command: Command::BulkInsert, rows: count })
}

/// Makes the rows of a table-valued parameter.
///
/// # Errors
/// 2715 for an unknown type, 500 for another number of columns, those of conversion and of the
/// type's keys.
pub fn table_parameter(
    parameter: TableParameter,
    session: &SessionState,
) -> Result<Arc<TableRows>> {
    let (schema, name) = &parameter.type_name;
    let schema = if schema.is_empty() { "dbo" } else { schema };
    let database = session.catalog.database(&session.database);
    let found = database.and_then(|d| d.user_type(schema, name));
    let user_type = found.ok_or_else(|| Msg::CannotFindType(1, name))?;
    let context = BinderContext::bare(session, &session.database);
    let table = ddl::table_of_type(session, &context.binder(), name, user_type)?;
    if parameter.columns.len() != table.columns.len() {
        return Err(Error::custom(
            500,
            16,
            1,
            format!(
                "Trying to pass a table-valued parameter with {} column(s) where the corresponding \
                 user-defined table type requires {} column(s).",
                parameter.columns.len(),
                table.columns.len()
            ),
        ));
    }
    let options = session.convert_options();
    let mut buffer = RowBuffer::default();
    let of_session = storage::TransactionOptions {
        session: session.tag(),
        ..storage::TransactionOptions::STATEMENT
    };
    let transaction = session.instance.store.begin(of_session);
    for mut row in parameter.rows {
        for ((value, from), column) in row.iter_mut().zip(&parameter.columns).zip(&table.columns) {
            *value = types::convert(value, from, &column.ty, 0, Mode::Assignment, &options)?;
            if value.is_null() && !column.ty.nullable {
                return Err(Msg::CannotInsertNull(&column.name, name, "INSERT").into());
            }
        }
        table.layout.encode(&row, &mut buffer);
        let stored = transaction.insert(&table.rows.data, storage::RowImage::from(&buffer));
        stored.map_err(|error| row_error(&error, &table, &row, session))?;
    }
    transaction.commit().map_err(|error| row_error(&error, &table, &[], session))?;
    Ok(Arc::clone(&table.rows))
}

fn row_error(
    error: &storage::Error,
    table: &TableDef,
    row: &[Value],
    session: &SessionState,
) -> Error {
    if let storage::Error::Unique { index, .. } = error {
        let keys = table.indexes.iter().find(|i| i.storage_id() == *index).map(|i| &i.keys[..]);
        let texts = keys.unwrap_or_default().iter().map(|(ordinal, _)| {
            let ordinal = usize::from(*ordinal);
            row.get(ordinal).map(|v| display(v, &table.columns[ordinal].ty)).unwrap_or_default()
        });
        let texts: Vec<String> = texts.collect();
        return fault::duplicate(table, *index, &texts.join(", "));
    }
    let session = i32::from(session.id);
    error.clone().into_message(session).unwrap_or_else(|_| Msg::InternalError.into())
}
