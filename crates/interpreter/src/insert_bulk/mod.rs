//! INSERT BULK and the rows that a following message brings ([MS-TDS] 2.2.6.1); SET
//! IDENTITY_INSERT.
//!
//! The rows of a message are one statement: either all are stored, or none. See
//! docs/decisions/0210.

mod option;

use std::cmp::Ordering;
use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Error, Length, Msg, Result, Value};

use ::binder::dml::{Nulls, Triggers, bind_bulk_rows};
use ::binder::query;
use ::binder::types::DefaultLength;
use ::catalog::TableDef;
use ::catalog::security::Securable;
use ::ddl::distrust;
use ::ddl::require::load::Load;
use ::executor::dml::{display, hold, insert_rows};
use ::executor::statement::in_transaction;
use ::executor::{Cx, StatementResult, fault};
use ::plan::sink::{ColumnInfo, Command};
use ::plan::statement::{Insert, table_of};
use option::Options;

/// Runs SET IDENTITY_INSERT table ON | OFF.
///
/// # Errors
/// 8106 for a table without identity column, 8107 if it is ON for another table, 1088 for an
/// unknown table or without ALTER on it, which no ownership chain grants.
pub fn set_identity_insert(table: &ast::ObjectName, on: bool, cx: &mut Cx<'_>) -> Result<()> {
    let name = table.to_string();
    let found = {
        let database = Arc::clone(&cx.session.identity.database);
        let context = compile::binding::bare_context(cx.session, &database);
        let mut binder = context.binder();
        match query::resolve_table(&mut binder, table) {
            Ok(query::Resolved::Table(table)) => table,
            _ => return Err(Msg::ObjectNotFound(&name).into()),
        }
    };
    if !found.name.starts_with('#')
        && let Some(database) = cx.session.catalog.database_by_id(found.database_id)
        && !cx.session.identity.rights.has(database, &Securable::table(&found), "ALTER")
    {
        return Err(Msg::ObjectNotFound(&name).into());
    }
    if !found.columns.iter().any(|c| c.identity.is_some()) {
        return Err(Msg::NoIdentityProperty(&name).into());
    }
    match (cx.session.held.identity_insert, on) {
        (Some(other), true) if other != found.id => {
            let on = cx.session.catalog.databases.values().find_map(|d| {
                d.table_by_id(other).map(|t| format!("{}.{}", d.name, t.qualified_name()))
            });
            return Err(Msg::IdentityInsertAlreadyOn(&on.unwrap_or_default(), &name).into());
        }
        (_, true) => cx.session.held.identity_insert = Some(found.id),
        (Some(id), false) if id == found.id => cx.session.held.identity_insert = None,
        (_, false) => {}
    }
    Ok(())
}

/// Checks the statement INSERT BULK; the rows come with the next message.
///
/// # Errors
/// 208 for an unknown table, 207, 264, 271 and 273 for its columns, 206 for types that do not
/// convert, 229 without INSERT, 1088 without ALTER where the load disables something, 40517 for an
/// unknown option.
pub fn announce(announced: &ast::InsertBulk, cx: &mut Cx<'_>) -> Result<()> {
    let options = Options::of(announced)?;
    let types: Vec<ColumnType> = {
        let database = Arc::clone(&cx.session.identity.database);
        let context = compile::binding::bare_context(cx.session, &database);
        let binder = context.binder();
        let of = |column: &ast::BulkColumn| {
            binder.resolve_type(&column.data_type, DefaultLength::Declaration)
        };
        announced.columns.iter().map(of).collect::<Result<_>>()?
    };
    let insert = plan(announced, &types, &options, cx)?;
    let table = table_of(&insert.target);
    let load = Load {
        checks: options.check_constraints,
        fires: options.fire_triggers,
        keeps_identity: names_identity(announced, table),
    };
    ::ddl::require::load::check_load(
        &cx.session.identity.rights,
        &cx.session.catalog,
        table,
        load,
    )?;
    match order_keys(&options, table) {
        Ok(_) => Ok(()),
        Err(warning) => fault::sent_message(cx, &warning),
    }
}

/// Inserts the rows of a BULK packet, which INSERT BULK announced.
///
/// # Errors
/// As for INSERT; 4804 for a wrong number of columns, 4816 for a column whose type does not
/// convert, 4819 for rows that are not in the order of ORDER; the errors of `rows`.
pub fn bulk_insert(
    announced: &ast::InsertBulk,
    columns: &[ColumnInfo],
    rows: &mut dyn Iterator<Item = Result<Vec<Value>>>,
    cx: &mut Cx<'_>,
) -> Result<StatementResult> {
    let rows: Vec<Vec<Value>> = rows.collect::<Result<_>>()?;
    let options = Options::of(announced)?;
    let insert = match columns.len() {
        // The table has generated columns only.
        0 if rows.is_empty() => {
            return Ok(StatementResult { command: Command::BULK_INSERT, rows: 0 });
        }
        _ => {
            let types: Vec<ColumnType> =
                columns.iter().map(|column| arriving(&column.column_type)).collect();
            plan(announced, &types, &options, cx)
                .map_err(|error| of_column(error, &types, announced, cx))?
        }
    };
    check_order(&options, &insert, (announced, columns), &rows, cx)?;
    let table = Arc::clone(table_of(&insert.target));
    let before = cx.session.held.identity_insert;
    // If the list names the identity column, its values come with the rows.
    if names_identity(announced, &table) {
        cx.session.held.identity_insert = Some(table.id);
    }
    let stored = in_transaction(cx, &mut |cx| {
        if options.table_lock {
            hold(&table, cx)?;
        }
        insert_rows(&insert, &rows, cx)
    });
    cx.session.held.identity_insert = before;
    let count = stored?.rows;
    if !options.check_constraints && count > 0 {
        distrust(&table, cx)?;
    }
    Ok(StatementResult { command: Command::BULK_INSERT, rows: count })
}

/// Binds the INSERT of a load.
fn plan(
    announced: &ast::InsertBulk,
    types: &[ColumnType],
    options: &Options,
    cx: &mut Cx<'_>,
) -> Result<Insert> {
    let database = Arc::clone(&cx.session.identity.database);
    let context = compile::binding::checked_context(cx.session, &database);
    let names: Vec<ast::Ident> = announced.columns.iter().map(|c| c.name.clone()).collect();
    let target = ast::Target {
        kind: ast::TargetKind::Name(announced.table.clone()),
        hints: Vec::new(),
        span: announced.table.span,
    };
    let triggers = if options.fire_triggers { Triggers::Fire } else { Triggers::Ignore };
    let nulls = if options.keep_nulls { Nulls::Keep } else { Nulls::Default };
    let mut insert =
        bind_bulk_rows(&mut context.binder(), &target, &names, types, triggers, nulls)?;
    if !options.check_constraints {
        insert.row.checks.clear();
        insert.row.foreign.clear();
    }
    Ok(insert)
}

/// Returns the type of arriving values: fixed-length types become varying ones, whose values are
/// padded later, and the old large types become the new ones.
pub fn arriving(of: &ColumnType) -> ColumnType {
    let data_type = match of.data_type {
        DataType::Char(n) => DataType::VarChar(Length::Limited(n)),
        DataType::NChar(n) => DataType::NVarChar(Length::Limited(n)),
        DataType::Binary(n) => DataType::VarBinary(Length::Limited(n)),
        DataType::Text => DataType::VarChar(Length::Max),
        DataType::NText => DataType::NVarChar(Length::Max),
        DataType::Image => DataType::VarBinary(Length::Max),
        other => other,
    };
    ColumnType { data_type, nullable: true, ..*of }
}

/// Replaces an error about types with one that names the column's number.
fn of_column(
    error: Error,
    types: &[ColumnType],
    announced: &ast::InsertBulk,
    cx: &mut Cx<'_>,
) -> Error {
    /// Numbers of the errors about types that do not convert.
    const CLASHES: [i32; 3] = [206, 257, 529];
    if !CLASHES.contains(&error.number) {
        return error;
    }
    for (place, ty) in (1..).zip(types) {
        let Some(column) = announced.columns.get(place - 1) else { break };
        let one = ast::InsertBulk { columns: vec![column.clone()], ..announced.clone() };
        let alone = plan(&one, std::slice::from_ref(ty), &Options::default(), cx);
        if alone.is_err_and(|error| CLASHES.contains(&error.number)) {
            return Msg::BulkColumnType(i64::try_from(place).unwrap_or(i64::MAX)).into();
        }
    }
    error
}

fn names_identity(announced: &ast::InsertBulk, table: &TableDef) -> bool {
    let is_identity = |column: &ast::BulkColumn| {
        let ordinal = table.column(&column.name);
        ordinal.is_some_and(|ordinal| table.columns[ordinal].identity.is_some())
    };
    announced.columns.iter().any(is_identity)
}

/// Returns the ordinals of the ORDER columns and which are descending, if that is the order of the
/// table's clustered index; empty otherwise, and the hint is ignored.
///
/// # Errors
/// 4817 and 4818, warnings for an invalid hint.
fn order_keys(options: &Options, table: &TableDef) -> Result<Vec<(usize, bool)>> {
    let mut columns: Vec<(usize, bool)> = Vec::with_capacity(options.order.len());
    for column in &options.order {
        let Some(ordinal) = table.column(&column.name) else {
            return Err(Msg::BulkOrderColumn(&column.name).into());
        };
        if columns.iter().any(|(other, _)| *other == ordinal) {
            return Err(Msg::BulkOrderTwice(&column.name).into());
        }
        columns.push((ordinal, column.descending));
    }
    let clustered = table.indexes.iter().find(|index| index.clustered);
    let keys = clustered.map(|index| &index.keys[..]).unwrap_or_default();
    let same = |(key, column): (&(u16, bool), &(usize, bool))| {
        usize::from(key.0) == column.0 && key.1 == column.1
    };
    let is_it = keys.len() == columns.len() && keys.iter().zip(&columns).all(same);
    Ok(if is_it { columns } else { Vec::new() })
}

/// Checks that the rows come in the order of ORDER.
///
/// # Errors
/// 4819 if they do not.
fn check_order(
    options: &Options,
    insert: &Insert,
    (announced, columns): (&ast::InsertBulk, &[ColumnInfo]),
    rows: &[Vec<Value>],
    cx: &mut Cx<'_>,
) -> Result<()> {
    if options.order.is_empty() {
        return Ok(());
    }
    // INSERT BULK has sent the warnings about the hint already.
    let table = Arc::clone(table_of(&insert.target));
    let place = |ordinal: usize| {
        announced.columns.iter().position(|c| table.column(&c.name) == Some(ordinal))
    };
    let Ok(keys) = order_keys(options, &table) else { return Ok(()) };
    let keys: Option<Vec<(usize, bool)>> =
        keys.iter().map(|(ordinal, down)| place(*ordinal).map(|at| (at, *down))).collect();
    let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return Ok(()) };
    for (before, after) in rows.iter().zip(rows.iter().skip(1)) {
        fault::check_cancel(cx)?;
        let mut order = Ordering::Equal;
        for (at, down) in &keys {
            let collation = columns[*at].column_type.collation;
            let next = types::compare::order(&before[*at], &after[*at], collation);
            order = order.then(if *down { next.reverse() } else { next });
        }
        if order == Ordering::Greater {
            let text = |row: &[Value]| {
                let parts =
                    keys.iter().map(|(at, _)| display(&row[*at], &columns[*at].column_type));
                parts.collect::<Vec<_>>().join(", ")
            };
            return Err(Msg::BulkNotSorted(&text(before), &text(after)).into());
        }
    }
    Ok(())
}
