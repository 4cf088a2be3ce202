//! `DBCC TRACEON`, `TRACEOFF` and `TRACESTATUS`: sets and shows trace flags.
//!
//! Most flags change SQL Server's internals and have no effect here. An unknown flag is accepted,
//! as in SQL Server.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Msg, Value};

use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use interpreter::{Stop, done};

/// The argument that makes a command apply to all sessions.
const GLOBAL: i32 = -1;

/// Runs TRACEON or TRACEOFF.
///
/// # Errors
/// 2560 for an argument that is not a number.
pub(crate) fn switch(dbcc: &ast::Dbcc, on: bool, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let (flags, global) = flags(dbcc)?;
    if flags.is_empty() {
        return Err(Msg::DbccParameter(1).into());
    }
    if !global {
        change(&mut cx.session.connection.trace_flags, &flags, on);
        return Ok(());
    }
    cx.session.instance.catalog.change(|catalog| {
        let mut all = catalog.trace_flags.to_vec();
        change(&mut all, &flags, on);
        catalog.trace_flags = Arc::from(all);
        Ok(())
    })?;
    cx.session.refresh_catalog();
    Ok(())
}

fn change(all: &mut Vec<i32>, flags: &[i32], on: bool) {
    all.retain(|flag| !flags.contains(flag));
    if on {
        all.extend(flags);
        all.sort_unstable();
        all.dedup();
    }
}

/// Runs TRACESTATUS: shows the flags that are named, otherwise those that are on.
///
/// # Errors
/// 2560 for an argument that is not a number.
pub(crate) fn status(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let (named, global) = flags(dbcc)?;
    let of_all = Arc::clone(&cx.session.catalog.trace_flags);
    let own = cx.session.connection.trace_flags.clone();
    let mut shown = named;
    if shown.is_empty() {
        shown.extend(of_all.iter());
        if !global {
            shown.extend(&own);
        }
        shown.sort_unstable();
        shown.dedup();
    }
    let column_type = ColumnType { data_type: DataType::SmallInt, ..cx.session.text_type() };
    let column = |name: &str| ColumnInfo {
        name: name.into(),
        column_type,
        traits: Traits::default(),
        updatable: false,
    };
    let shape = shape_of(["TraceFlag", "Status", "Global", "Session"].map(column).into());
    cx.sink.columns(&shape)?;
    for flag in &shown {
        let (global, session) = (of_all.contains(flag), own.contains(flag));
        let number = i16::try_from(*flag).unwrap_or(i16::MAX);
        let bit = |set: bool| Value::SmallInt(i16::from(set));
        cx.sink.row(&[
            Value::SmallInt(number),
            bit(global || session),
            bit(global),
            bit(session),
        ])?;
    }
    let rows = u64::try_from(shown.len()).ok();
    Ok(done(cx, Command::SELECT, rows, false)?)
}

/// Returns the flags that are named, and whether -1 is among them.
fn flags(dbcc: &ast::Dbcc) -> Result<(Vec<i32>, bool), Stop> {
    let mut named = Vec::new();
    let mut global = false;
    for (place, argument) in (1..).zip(&dbcc.arguments) {
        match number(argument) {
            Some(GLOBAL) => global = true,
            Some(flag) if flag > 0 => named.push(flag),
            _ => return Err(Msg::DbccParameter(place).into()),
        }
    }
    Ok((named, global))
}

/// Returns the value of a whole-number literal.
pub(crate) fn number(value: &ast::Expr) -> Option<i32> {
    match &value.kind {
        ast::ExprKind::Literal(ast::Literal::Int(n)) => Some(*n),
        ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand } => number(operand).map(|n| -n),
        _ => None,
    }
}
