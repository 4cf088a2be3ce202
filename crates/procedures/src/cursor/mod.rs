//! API server cursors: sp_cursoropen, sp_cursorfetch and related procedures, which JDBC, ODBC and
//! OLE DB use for scrollable and updatable results.
//!
//! ```text
//! mod.rs      sp_cursoropen, sp_cursorprepare, sp_cursorexecute, sp_cursorprepexec
//! asked.rs    @scrollopt and @ccopt: what a client asks for and what it gets
//! fetch.rs    sp_cursorfetch, sp_cursorclose, sp_cursoroption, and the rows that they send
//! change.rs   sp_cursor
//! describe.rs sp_cursor_list, sp_describe_cursor and the like
//! ```
//!
//! The cursors are those of Transact-SQL, with a fetch buffer of several rows. A fetch returns one
//! column more than the query: ROWSTAT.

mod asked;
mod change;
mod describe;
mod fetch;

use std::sync::Arc;

use tsql::ast::{RoutineBody, SelectItemKind, Statement, StatementKind};
use types::{Error, Msg, Value};

use self::asked::Asked;
use crate::executesql::{bind_values, make_tables, prepare, run_prepared, text_argument};
use crate::prepared;
use crate::prepared::{Prepared, PreparedKind};
use crate::procedure::{SystemProcedure, int_type, whole};
use ::executor::{Cx, Frame};
use ::plan::program::{ExecuteTarget, LeafAst, Program, StepKind};
use ::session::SessionState;
use ::session::cursor::{
    Cursor, CursorInterface, CursorOperation, CursorScope, CursorSource, NEVER_FETCHED,
};
use interpreter::cursor::{by_id, open, single_select};
use interpreter::{Argument, Runner, Stop, resolve_procedure};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_cursor", id: 1, run: change::sp_cursor },
    SystemProcedure { name: "sp_cursoropen", id: 2, run: sp_cursoropen },
    SystemProcedure { name: "sp_cursorprepare", id: 3, run: prepare_cursor },
    SystemProcedure { name: "sp_cursorexecute", id: 4, run: execute },
    SystemProcedure { name: "sp_cursorprepexec", id: 5, run: prepare_and_execute },
    SystemProcedure { name: "sp_cursorunprepare", id: 6, run: prepared::sp_unprepare },
    SystemProcedure { name: "sp_cursorfetch", id: 7, run: fetch::sp_cursorfetch },
    SystemProcedure { name: "sp_cursoroption", id: 8, run: fetch::option },
    SystemProcedure { name: "sp_cursorclose", id: 9, run: fetch::close },
];

pub(crate) use describe::PROCEDURES as DESCRIBING;

/// Return status of a call whose FAST_FORWARD cursor has been closed at its end.
const CLOSED_AT_END: i32 = 16;

fn invalid(procedure: &str, parameter: &str) -> Stop {
    Msg::CursorParameterInvalid(procedure, parameter).into()
}

/// `sp_cursoropen @cursor OUTPUT, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT [,
/// @paramdef, @p1, ..]`.
fn sp_cursoropen(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let statement = text_argument(arguments.get(1), "sp_cursoropen", "@stmt")?;
    let declared = match arguments.get(5).map(|a| &a.value) {
        None | Some(Value::Null) => Value::Null,
        Some(_) => text_argument(arguments.get(5), "sp_cursoropen", "@paramdef")?,
    };
    let (head, values) = arguments.split_at_mut(arguments.len().min(6));
    let places = Places { cursor: 0, scroll: 2, concurrency: 3, rows: 4 };
    let prepared = Prepared { statement, declared, kind: PreparedKind::Text };
    run_query(&prepared, head, &places, values, cx)
}

/// `sp_cursorprepare @handle OUTPUT, @params, @stmt, @options [, @scrollopt OUTPUT, @ccopt
/// OUTPUT]`: returns the options that the cursor will have.
fn prepare_cursor(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    /// Bit of `@options`: the columns are returned, too.
    const RETURN_METADATA: i64 = 1;
    prepared::sp_prepare(arguments, cx)?;
    let handle = whole(arguments, 0, "@handle").unwrap_or(0);
    let statement = prepared::find(handle, cx)?;
    let asked = Asked::of(number(arguments, 4), number(arguments, 5));
    let (key, entry) = prepare(&statement.statement, &statement.declared, cx.session)?;
    let frame = Frame::for_program(cx.session, &entry.program);
    let source = frame.and_then(|frame| source_of(&entry.program, frame, cx));
    cx.session.caches.programs.put(key, entry);
    let Some(source) = source? else { return Ok(0) };
    let cursor = new_cursor(source, &asked, cx)?;
    let id = cursor.id;
    cx.session.held.cursors.api.push(cursor);
    let seen = open::preview(id, cx);
    let wanted = number(arguments, 3).unwrap_or(0) & RETURN_METADATA != 0;
    let outcome = seen.and_then(|()| {
        let cursor = by_id(id, cx)?;
        set(arguments, 4, asked::scroll_of(cursor));
        set(arguments, 5, asked::concurrency_of(cursor, &asked));
        if wanted { fetch::send(id, (0, 0, None), cx).map(drop) } else { Ok(()) }
    });
    cx.session.held.cursors.api.retain(|cursor| cursor.id != id);
    outcome.map(|()| 0)
}

/// `sp_cursorexecute @handle, @cursor OUTPUT, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT [,
/// @p1, ..]`.
fn execute(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let handle = whole(arguments, 0, "@handle").unwrap_or(0);
    let statement = prepared::find(handle, cx)?;
    let (head, values) = arguments.split_at_mut(arguments.len().min(5));
    let places = Places { cursor: 1, scroll: 2, concurrency: 3, rows: 4 };
    run_query(&statement, head, &places, values, cx)
}

/// `sp_cursorprepexec @handle OUTPUT, @cursor OUTPUT, @params, @stmt, @scrollopt OUTPUT, @ccopt
/// OUTPUT, @rowcount OUTPUT [, @p1, ..]`.
fn prepare_and_execute(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let declared = match arguments.get(2).map(|a| &a.value) {
        None | Some(Value::Null) => Value::Null,
        Some(_) => text_argument(arguments.get(2), "sp_cursorprepexec", "@params")?,
    };
    let statement = text_argument(arguments.get(3), "sp_cursorprepexec", "@stmt")?;
    let (head, values) = arguments.split_at_mut(arguments.len().min(7));
    let places = Places { cursor: 1, scroll: 4, concurrency: 5, rows: 6 };
    let prepared = Prepared { statement, declared, kind: PreparedKind::Text };
    let status = run_query(&prepared, head, &places, values, cx)?;
    let handle = prepared::keep(prepared, cx)?;
    set(head, 0, handle);
    Ok(status)
}

/// Positions of the arguments that set the cursor's options and receive its values.
struct Places {
    cursor: usize,
    scroll: usize,
    concurrency: usize,
    rows: usize,
}

fn set(arguments: &mut [Argument], place: usize, value: i32) {
    if let Some(argument) = arguments.get_mut(place) {
        argument.ty = int_type();
        argument.value = Value::Int(value);
    }
}

fn number(arguments: &[Argument], place: usize) -> Option<i64> {
    whole(arguments.get(place..)?, 0, "")
        .or_else(|| arguments.get(place).and_then(|a| whole(std::slice::from_ref(a), 0, &a.name)))
}

/// Opens a cursor on the query; a text that no cursor can be opened on runs without one, if the
/// client allows that.
fn run_query(
    prepared: &Prepared,
    head: &mut [Argument],
    places: &Places,
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    let asked = Asked::of(number(head, places.scroll), number(head, places.concurrency));
    let wanted = number(head, places.rows).filter(|rows| *rows > 0).unwrap_or(fetch::ROWS_DEFAULT);
    let entry = prepare(&prepared.statement, &prepared.declared, cx.session)?;
    if !is_query(&entry.1.program, cx.session) {
        if asked.may_be_direct {
            // No cursor was opened: handle and row count are 0.
            [places.cursor, places.rows].into_iter().for_each(|place| set(head, place, 0));
            cx.sink.message(&Error::from(Msg::CursorDirect).at_line(1))?;
            return run_prepared(entry, values, cx);
        }
        cx.session.caches.programs.put(entry.0, entry.1);
        return Err(Msg::CursorNotPossible.into());
    }
    let (key, entry) = entry;
    let source = source_with(&entry.program, values, cx);
    cx.session.caches.programs.put(key, entry);
    let source = source?.ok_or(Msg::CursorNotPossible)?;
    let cursor = new_cursor(source, &asked, cx)?;
    let id = cursor.id;
    cx.session.held.cursors.api.push(cursor);
    let opened = open::open(id, cx).and_then(|()| asked.check(by_id(id, cx)?));
    if let Err(stop) = opened {
        cx.session.held.cursors.api.retain(|cursor| cursor.id != id);
        return Err(stop);
    }
    let fetched = asked.fetches.then_some(wanted);
    let ended = fetch::send(id, (::session::cursor::fetch::NEXT, 0, fetched), cx)?.ended;
    let cursor = by_id(id, cx)?;
    let rows = cursor.open.as_ref().map_or(0, |open| open.window.len());
    set(head, places.cursor, id);
    set(head, places.scroll, asked::scroll_of(cursor));
    set(head, places.concurrency, asked::concurrency_of(cursor, &asked));
    let rows = if asked.fetches { i32::try_from(rows).unwrap_or(i32::MAX) } else { cursor.rows() };
    set(head, places.rows, rows);
    if ended && asked.closes {
        cx.session.held.cursors.api.retain(|cursor| cursor.id != id);
        return Ok(CLOSED_AT_END);
    }
    Ok(0)
}

fn new_cursor(source: CursorSource, asked: &Asked, cx: &mut Cx<'_>) -> Result<Cursor, Stop> {
    let now = cx.now();
    let (id, shown) = cx.session.held.cursors.next(now, &cx.session.connection.cursors)?;
    Ok(Cursor {
        id,
        name: String::new(),
        interface: CursorInterface::Api,
        scope: CursorScope::Global,
        source: Arc::new(source),
        asked: asked.kind,
        kind: asked.kind,
        asked_concurrency: asked.concurrency,
        concurrency: asked.concurrency,
        scroll: asked.scroll,
        updatable: Vec::new(),
        for_update: false,
        warns: false,
        open: None,
        closes_at_end: asked.closes,
        fetch_status: NEVER_FETCHED,
        row_count: 0,
        last: CursorOperation::None,
        shown,
    })
}

/// Returns the query with the values of its parameters.
fn source_with(
    program: &Program,
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<Option<CursorSource>, Stop> {
    make_tables(program, values, cx)?;
    let mut frame = Frame::for_program(cx.session, program)?;
    bind_values(program, &mut frame, values, cx.session)?;
    source_of(program, frame, cx)
}

fn source_of(
    program: &Program,
    mut frame: Frame,
    cx: &mut Cx<'_>,
) -> Result<Option<CursorSource>, Stop> {
    let [step] = program.body.as_slice() else { return Ok(None) };
    let runner = Runner { program, procedure: "" };
    let mut inner = Cx::new(cx.host, cx.session, &mut frame, cx.sink);
    match &step.kind {
        StepKind::Execute(call) => runner.source_of_call(call, &mut inner),
        _ => {
            let select = single_select(&program.body);
            Ok(select.map(|select| runner.source_of(select.clone(), &inner)))
        }
    }
}

/// Returns true for a single query, or the call of a procedure that is a single query. Results of
/// other procedures are sent directly, with OUTPUT parameters and messages (16937 without
/// ALLOW_DIRECT).
fn is_query(program: &Program, session: &SessionState) -> bool {
    let [step] = program.body.as_slice() else { return false };
    match &step.kind {
        StepKind::Data(leaf) => match &leaf.ast {
            LeafAst::Statement(statement) => returns_rows(statement),
            _ => false,
        },
        StepKind::Execute(call) => {
            let ExecuteTarget::Name(name) = &call.procedure else { return false };
            let procedure = resolve_procedure(session, name, None);
            procedure.is_some_and(|procedure| match &procedure.ast.body {
                RoutineBody::Statements(body) => is_select(body),
                RoutineBody::External(_) => false,
            })
        }
        _ => false,
    }
}

/// Returns true for one SELECT that returns rows, perhaps within BEGIN .. END.
fn is_select(mut body: &[Statement]) -> bool {
    loop {
        match body {
            [Statement { kind: StatementKind::Block(inner), .. }] => body = inner,
            [statement] => return returns_rows(statement),
            _ => return false,
        }
    }
}

/// Returns true for a SELECT that neither makes a table nor assigns variables.
fn returns_rows(statement: &Statement) -> bool {
    let StatementKind::Select(select) = &statement.kind else { return false };
    match &select.query.body {
        tsql::ast::QueryBody::Select(spec) => {
            let assigns =
                |item: &tsql::ast::SelectItem| matches!(item.kind, SelectItemKind::Assign { .. });
            spec.into.is_none() && !spec.items.iter().any(assigns)
        }
        _ => true,
    }
}

/// Finds a cursor of the API by its handle.
///
/// # Errors
/// 16909 if there is none.
fn find(handle: i64, procedure: &str, cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let mut cursors = cx.session.held.cursors.api.iter();
    match cursors.find(|cursor| i64::from(cursor.id) == handle) {
        Some(cursor) => Ok(cursor.id),
        None => Err(Msg::CursorHandle(procedure, &format!("{handle:x}")).into()),
    }
}
