//! Prepared statements: sp_prepare, sp_execute, sp_prepexec, sp_unprepare, sp_prepexecrpc.
//!
//! sp_prepexecrpc prepares the call of a procedure, which then runs as an RPC does:
//! `prepared/call.rs`.
//!
//! A handle stores the statement's text, not its program: programs are cached separately, and after
//! a change of the schema the next execution compiles again.

mod call;

use std::sync::Arc;

use types::{Error, Msg, Value};

use crate::executesql::{prepare, run_prepared, text_argument};
use crate::procedure::{SystemProcedure, int_type, whole};
use ::executor::Cx;
pub use ::session::prepared::{Prepared, PreparedKind};
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_prepare", id: 11, run: sp_prepare },
    SystemProcedure { name: "sp_execute", id: 12, run: sp_execute },
    SystemProcedure { name: "sp_prepexec", id: 13, run: sp_prepexec },
    SystemProcedure { name: "sp_prepexecrpc", id: 14, run: sp_prepexecrpc },
    SystemProcedure { name: "sp_unprepare", id: 15, run: sp_unprepare },
];

/// Most handles of a session.
const HANDLES_MAX: usize = 100_000;

/// `sp_prepare @handle OUTPUT, @params, @stmt [, @options]`.
pub fn sp_prepare(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let prepared = statement_of(arguments, "sp_prepare")?;
    // Syntax errors are reported now; names are resolved when the statement runs.
    let (key, entry) = prepare(&prepared.statement, &prepared.declared, cx.session)?;
    cx.session.caches.programs.put(key, entry);
    let handle = keep(prepared, cx)?;
    return_handle(arguments, handle);
    Ok(0)
}

fn statement_of(arguments: &[Argument], procedure: &str) -> Result<Prepared, Stop> {
    let declared = match arguments.get(1).map(|a| &a.value) {
        None | Some(Value::Null) => Value::Null,
        Some(_) => text_argument(arguments.get(1), procedure, "@params")?,
    };
    let statement = text_argument(arguments.get(2), procedure, "@stmt")?;
    Ok(Prepared { statement, declared, kind: PreparedKind::Text })
}

pub(crate) fn keep(prepared: Prepared, cx: &mut Cx<'_>) -> Result<i32, Stop> {
    keep_shared(Arc::new(prepared), cx)
}

fn keep_shared(prepared: Arc<Prepared>, cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let handles = &mut cx.session.held.prepared;
    if handles.len() >= HANDLES_MAX {
        return Err(Error::from(Msg::OutOfMemory).into());
    }
    let handle = handles.last().map_or(1, |(last, _)| last + 1);
    handles.push((handle, prepared));
    Ok(handle)
}

fn return_handle(arguments: &mut [Argument], handle: i32) {
    if let Some(first) = arguments.first_mut() {
        first.ty = int_type();
        first.value = Value::Int(handle);
        first.output = true;
    }
}

/// `sp_execute @handle, @p1, ..`: runs a prepared statement.
fn sp_execute(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let handle = whole(arguments, 0, "@handle").unwrap_or(0);
    let prepared = find(handle, cx)?;
    let values = arguments.get_mut(1..).unwrap_or_default();
    if prepared.kind == PreparedKind::Call {
        return call::run(&prepared, values, cx);
    }
    let entry = prepare(&prepared.statement, &prepared.declared, cx.session)?;
    run_prepared(entry, values, cx)
}

pub(crate) fn find(handle: i64, cx: &Cx<'_>) -> Result<Arc<Prepared>, Stop> {
    let handles = &cx.session.held.prepared;
    let place = handles.binary_search_by_key(&handle, |(handle, _)| i64::from(*handle));
    place.map(|place| Arc::clone(&handles[place].1)).map_err(|_| unknown(handle))
}

fn unknown(handle: i64) -> Stop {
    Stop::Error(Error::from(Msg::PreparedNotFound(handle)).with_state(2))
}

/// `sp_prepexec @handle OUTPUT, @params, @stmt, @p1, ..`.
fn sp_prepexec(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let prepared = statement_of(arguments, "sp_prepexec")?;
    // A driver that prepares again passes the old handle here, which frees it.
    if let Some(old) = whole(arguments, 0, "@handle") {
        drop_handle(old, cx);
    }
    let entry = prepare(&prepared.statement, &prepared.declared, cx.session)?;
    let handle = keep(prepared, cx)?;
    return_handle(arguments, handle);
    run_prepared(entry, arguments.get_mut(3..).unwrap_or_default(), cx)
}

/// `sp_prepexecrpc @handle OUTPUT, @call, @p1, ..`.
fn sp_prepexecrpc(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let text = text_argument(arguments.get(1), "sp_prepexecrpc", "@RPCCall")?;
    let text = plan::long::text(&text, cx.session.collation())?.unwrap_or_default();
    if let Some(old) = whole(arguments, 0, "@handle") {
        drop_handle(old, cx);
    }
    let values = arguments.get_mut(2..).unwrap_or_default();
    let prepared = Arc::new(call::prepared(&text, values, cx.session)?);
    let handle = keep_shared(Arc::clone(&prepared), cx)?;
    let status = call::run(&prepared, values, cx);
    return_handle(arguments, handle);
    status
}

/// `sp_unprepare @handle`: frees the handle.
pub fn sp_unprepare(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let handle = whole(arguments, 0, "@handle").unwrap_or(0);
    if drop_handle(handle, cx) { Ok(0) } else { Err(unknown(handle)) }
}

fn drop_handle(handle: i64, cx: &mut Cx<'_>) -> bool {
    let handles = &mut cx.session.held.prepared;
    let place = handles.binary_search_by_key(&handle, |(handle, _)| i64::from(*handle));
    place.map(|place| handles.remove(place)).is_ok()
}
