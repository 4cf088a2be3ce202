//! `DBCC CHECKIDENT`: reports and changes the current identity value of a table.

use tsql::ast;
use types::{Error, Msg, Value};

use super::check::find_table;
use super::dbcc::require_table;
use super::sqlperf::word;
use crate::executesql::{prepare, run_prepared};
use ::catalog::TableDef;
use ::executor::Cx;
use interpreter::{Capture, Stop};
use metadata::objects::last_identity;

/// Runs `CHECKIDENT ('table' [, NORESEED | RESEED [, value]])`.
///
/// # Errors
/// 2501 for an unknown table, 7997 for one without an identity column, 2560 for invalid arguments.
pub(crate) fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let name = dbcc.arguments.first().and_then(word).ok_or(Msg::DbccParameter(1))?;
    let reseeds = match dbcc.arguments.get(1).map(word) {
        None => true,
        Some(Some(said)) if said.eq_ignore_ascii_case("RESEED") => true,
        Some(Some(said)) if said.eq_ignore_ascii_case("NORESEED") => false,
        Some(_) => return Err(Msg::DbccParameter(2).into()),
    };
    let table = find_table(name, cx)?;
    require_table("CHECKIDENT", &table, cx)?;
    let Some((column, (_, increment))) =
        table.columns.iter().find_map(|c| c.identity.map(|identity| (c, identity)))
    else {
        let text = format!("'{}' does not contain an identity column.", table.name);
        return Err(Error::custom(7_997, 16, 1, &text).into());
    };
    let current = last_identity(&table);
    let shown = current.map_or_else(|| "NULL".to_owned(), |n| n.to_string());
    let quiet = dbcc.options.iter().any(|(name, _)| name.as_ref() == "NO_INFOMSGS");
    let mut text = format!("Checking identity information: current identity value '{shown}'");
    let set = |next: i64, cx: &mut Cx<'_>| {
        cx.session.set_identity(&table.rows, next);
    };
    if let Some(value) = dbcc.arguments.get(2) {
        let value = number(value).ok_or(Msg::DbccParameter(3))?;
        // A table that has had no rows starts with the value itself.
        let next = if current.is_none() { value } else { value.saturating_add(increment) };
        set(next, cx);
    } else {
        let largest = extreme(&table, &column.name, increment, cx)?;
        let shown = largest.map_or_else(|| "NULL".to_owned(), |n| n.to_string());
        text.push_str(&format!(", current column value '{shown}'"));
        let behind = |n: &i64| match current {
            None => true,
            Some(current) if increment > 0 => current < *n,
            Some(current) => current > *n,
        };
        if let Some(largest) = largest.filter(behind).filter(|_| reseeds) {
            set(largest.saturating_add(increment), cx);
        }
    }
    text.push('.');
    if !quiet {
        cx.sink.message(&Error::custom(7_998, 0, 1, &text))?;
    }
    Ok(())
}

fn number(value: &ast::Expr) -> Option<i64> {
    match &value.kind {
        ast::ExprKind::Literal(ast::Literal::Int(n)) => Some(i64::from(*n)),
        ast::ExprKind::Literal(ast::Literal::Decimal(text)) => text.parse().ok(),
        ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand } => number(operand).map(|n| -n),
        _ => None,
    }
}

/// Returns the greatest identity value in the table; the least for a negative increment.
fn extreme(
    table: &TableDef,
    column: &str,
    increment: i64,
    cx: &mut Cx<'_>,
) -> Result<Option<i64>, Stop> {
    let quote = |part: &str| part.replace(']', "]]");
    let function = if increment > 0 { "MAX" } else { "MIN" };
    let database = cx.session.catalog.database_by_id(table.database_id);
    let database = database.map(|d| d.name.clone()).unwrap_or_default();
    let from = match table.id {
        ..0 => format!("[{}]", quote(&table.name)),
        _ => format!("[{}].[{}].[{}]", quote(&database), quote(&table.schema), quote(&table.name)),
    };
    let text = format!("SELECT CAST({function}([{}]) AS bigint) FROM {from}", quote(column));
    let entry = prepare(&Value::nvarchar(&text), &Value::Null, cx.session)?;
    let mut capture = Capture::default();
    run_prepared(entry, &mut [], &mut Cx::new(cx.host, cx.session, cx.frame, &mut capture))?;
    Ok(capture.rows.first().and_then(|row| match row.first() {
        Some(Value::BigInt(n)) => Some(*n),
        _ => None,
    }))
}
