//! API server cursors: sp_cursoropen, sp_cursorfetch and related procedures, which JDBC, ODBC and
//! OLE DB use for scrollable results.
//!
//! Every cursor is static and read-only: its rows are those at the time of opening. The procedure
//! returns this in `@scrollopt` and `@ccopt`, as SQL Server does for queries that allow no other
//! cursor. A fetch returns one column more than the query: ROWSTAT.

use std::sync::Arc;

use tsql::ast::{RoutineBody, Statement, StatementKind};
use types::value::ColumnType;
use types::{DataType, Error, Msg, Value};

use crate::executesql::{prepare, run_prepared, text_argument};
use crate::prepared::{Prepared, PreparedKind};
use crate::{SystemProcedure, int_type, prepared, whole};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::program::{ExecuteTarget, LeafAst, Program, StepKind};
use ::plan::sink::{ColumnInfo, Command, Done, EnvChange, ResultShape, ResultSink, Sent, Traits};
use ::session::SessionState;
use ::session::cursor::{ApiCursor, Window};
use interpreter::{Argument, Stop, done, resolve_procedure};

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_cursoropen", id: 2, run: open },
    SystemProcedure { name: "sp_cursorprepare", id: 3, run: prepare_cursor },
    SystemProcedure { name: "sp_cursorexecute", id: 4, run: execute },
    SystemProcedure { name: "sp_cursorprepexec", id: 5, run: prepare_and_execute },
    SystemProcedure { name: "sp_cursorunprepare", id: 6, run: prepared::sp_unprepare },
    SystemProcedure { name: "sp_cursorfetch", id: 7, run: fetch },
    SystemProcedure { name: "sp_cursoroption", id: 8, run: option },
    SystemProcedure { name: "sp_cursorclose", id: 9, run: close },
];

/// Bits of `@scrollopt`, as documented for sp_cursoropen.
mod scroll {
    pub(super) const FORWARD_ONLY: i64 = 0x04;
    pub(super) const STATIC: i64 = 0x08;
    pub(super) const FAST_FORWARD: i64 = 0x10;
    pub(super) const AUTO_FETCH: i64 = 0x2000;
}

/// Bits of `@ccopt`: READ_ONLY, and ALLOW_DIRECT, which executes a statement that no cursor can be
/// opened on without a cursor.
const READ_ONLY: i32 = 1;
const ALLOW_DIRECT: i64 = 0x2000;

/// ROWSTAT of a row that exists.
const FETCH_SUCCEEDED: i32 = 1;

/// Most open cursors per session.
const CURSORS_MAX: usize = 10_000;

/// First handle; SQL Server's have similar values.
const HANDLE_FIRST: i32 = 180_150_003;

fn invalid(procedure: &str, parameter: &str) -> Stop {
    Msg::CursorParameterInvalid(procedure, parameter).into()
}

/// `sp_cursoropen @cursor OUTPUT, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT [,
/// @paramdef, @p1, ..]`.
fn open(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
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
/// OUTPUT]`.
fn prepare_cursor(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    prepared::sp_prepare(arguments, cx)?;
    set(arguments, 4, i32::try_from(scroll::STATIC).unwrap_or(0));
    set(arguments, 5, READ_ONLY);
    Ok(0)
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

/// Runs the query and stores its rows in a cursor.
fn run_query(
    prepared: &Prepared,
    head: &mut [Argument],
    places: &Places,
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    let wanted = number(head, places.scroll).unwrap_or(scroll::STATIC);
    let first_rows = number(head, places.rows).unwrap_or(0);
    let entry = prepare(&prepared.statement, &prepared.declared, cx.session)?;
    let may_be_direct = number(head, places.concurrency).unwrap_or(0) & ALLOW_DIRECT != 0;
    if !is_query(&entry.1.program, cx.session) {
        if may_be_direct {
            // No cursor was opened: handle and row count are 0.
            [places.cursor, places.rows].into_iter().for_each(|place| set(head, place, 0));
            cx.sink.message(&Error::from(Msg::CursorDirect).at_line(1))?;
            return run_prepared(entry, values, cx);
        }
        cx.session.caches.programs.put(entry.0, entry.1);
        return Err(Msg::CursorNotPossible.into());
    }
    let mut kept = Kept { inner: &mut *cx.sink, columns: None, rows: Vec::new(), sets: 0 };
    let status = {
        let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut kept);
        run_prepared(entry, values, &mut inner)?
    };
    let Kept { columns, rows, sets, .. } = kept;
    let (Some(mut columns), 1) = (columns, sets) else {
        // The error has been sent already.
        return if status == 0 { Err(Msg::CursorNotPossible.into()) } else { Ok(status) };
    };
    columns.push(row_status());
    let cursor = ApiCursor {
        handle: next_handle(cx)?,
        shape: shape_of(columns),
        rows,
        window: Window::default(),
    };
    let count = i32::try_from(cursor.rows.len()).unwrap_or(i32::MAX);
    let kinds = [scroll::FAST_FORWARD, scroll::FORWARD_ONLY];
    let kind = kinds.into_iter().find(|kind| wanted & kind != 0).unwrap_or(scroll::STATIC);
    set(head, places.cursor, cursor.handle);
    set(head, places.scroll, i32::try_from(kind).unwrap_or(0));
    set(head, places.concurrency, READ_ONLY);
    set(head, places.rows, count);
    let handle = cursor.handle;
    cx.session.held.api_cursors.push(cursor);
    let fetched = if wanted & scroll::AUTO_FETCH != 0 { first_rows } else { 0 };
    send(handle, (0x02, 0, fetched), "sp_cursoropen", cx)?;
    Ok(0)
}

/// Returns true for a single query, or the call of a procedure that is a single query. Results of
/// other procedures are sent directly, with OUTPUT parameters and messages (16937 without
/// ALLOW_DIRECT).
fn is_query(program: &Program, session: &SessionState) -> bool {
    let [step] = program.body.as_slice() else { return false };
    match &step.kind {
        StepKind::Data(leaf) => match &leaf.ast {
            LeafAst::Statement(statement) => {
                matches!(statement.kind, StatementKind::Select(_))
            }
            _ => false,
        },
        StepKind::Execute(call) => {
            let ExecuteTarget::Name(name) = &call.procedure else { return false };
            let procedure = resolve_procedure(session, name);
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
            [Statement { kind: StatementKind::Select(_), .. }] => return true,
            [Statement { kind: StatementKind::Block(inner), .. }] => body = inner,
            _ => return false,
        }
    }
}

fn row_status() -> ColumnInfo {
    let column_type = ColumnType { nullable: false, ..ColumnType::nullable(DataType::Int) };
    ColumnInfo { name: "ROWSTAT".into(), column_type, traits: Traits::default(), updatable: false }
}

fn next_handle(cx: &Cx<'_>) -> Result<i32, Stop> {
    let cursors = &cx.session.held.api_cursors;
    if cursors.len() >= CURSORS_MAX {
        return Err(Msg::OutOfMemory.into());
    }
    Ok(cursors.last().map_or(HANDLE_FIRST, |last| last.handle + 2))
}

fn find<'c>(handle: i64, procedure: &str, cx: &'c mut Cx<'_>) -> Result<&'c mut ApiCursor, Stop> {
    let cursors = &mut cx.session.held.api_cursors;
    let found = cursors.iter_mut().find(|cursor| i64::from(cursor.handle) == handle);
    found.ok_or_else(|| invalid(procedure, "cursor"))
}

/// `sp_cursorfetch @cursor [, @fetchtype [, @rownum [, @nrows]]]`.
fn fetch(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    /// Bits of the fetch type; others are flags.
    const KINDS: i64 = 0x3BF;
    const INFO: i64 = 0x100;
    let handle = number(arguments, 0).unwrap_or(0);
    let kind = number(arguments, 1).unwrap_or(0x02) & KINDS;
    if kind & INFO != 0 {
        let cursor = find(handle, "sp_cursorfetch", cx)?;
        let row = i32::try_from(cursor.window.start).unwrap_or(i32::MAX);
        let count = i32::try_from(cursor.rows.len()).unwrap_or(i32::MAX);
        set(arguments, 2, row);
        set(arguments, 3, count);
        return Ok(0);
    }
    let row = number(arguments, 2).unwrap_or(0);
    let wanted = number(arguments, 3).unwrap_or(20);
    send(handle, (kind, row, wanted), "sp_cursorfetch", cx)?;
    Ok(0)
}

/// Moves a cursor and sends the rows at its new position.
fn send(
    handle: impl Into<i64>,
    (kind, row, wanted): (i64, i64, i64),
    procedure: &str,
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    let cursor = find(handle.into(), procedure, cx)?;
    let count = i64::try_from(cursor.rows.len()).unwrap_or(i64::MAX);
    let moved = cursor.window.moved(kind, row, wanted, count);
    cursor.window = moved.ok_or_else(|| invalid(procedure, "fetchtype"))?;
    let window = cursor.window;
    let first = usize::try_from(window.start.max(1) - 1).unwrap_or(0);
    let rows = cursor.rows.iter().skip(first).take(usize::try_from(window.size).unwrap_or(0));
    let rows: Vec<Vec<Value>> = rows
        .map(|row| row.iter().cloned().chain([Value::Int(FETCH_SUCCEEDED)]).collect())
        .collect();
    let shape = Arc::clone(&cursor.shape);
    cx.sink.columns(&shape)?;
    for row in &rows {
        cx.sink.row(row)?;
    }
    let count = u64::try_from(rows.len()).ok();
    Ok(done(cx, Command::SELECT, count, false)?)
}

/// `sp_cursoroption @cursor, @code, @value`: sets names for debuggers, which are not shown here.
fn option(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    const NAME: i64 = 2;
    find(number(arguments, 0).unwrap_or(0), "sp_cursoroption", cx)?;
    match number(arguments, 1) {
        Some(NAME) => Ok(0),
        _ => Err(Msg::NotSupported("this option of sp_cursoroption").into()),
    }
}

/// `sp_cursorclose @cursor`: closes a cursor, or all cursors for -1.
fn close(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let handle = number(arguments, 0).unwrap_or(0);
    if handle == -1 {
        cx.session.held.api_cursors.clear();
        return Ok(0);
    }
    find(handle, "sp_cursorclose", cx)?;
    cx.session.held.api_cursors.retain(|cursor| i64::from(cursor.handle) != handle);
    Ok(0)
}

/// A sink that stores the rows of a query and passes everything else on.
struct Kept<'a> {
    inner: &'a mut dyn ResultSink,
    columns: Option<Vec<ColumnInfo>>,
    rows: Vec<Vec<Value>>,
    sets: u32,
}

impl ResultSink for Kept<'_> {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        self.sets += 1;
        self.columns.get_or_insert_with(|| shape.columns.clone());
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> Sent {
        self.rows.push(values.to_vec());
        Ok(())
    }
    fn done(&mut self, _: Done) -> Sent {
        Ok(())
    }
    fn message(&mut self, message: &Error) -> Sent {
        self.inner.message(message)
    }
    fn return_status(&mut self, _: i32) -> Sent {
        Ok(())
    }
    fn return_value(&mut self, _: u16, _: &ColumnInfo, _: &Value) -> Sent {
        Ok(())
    }
    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent {
        self.inner.env_change(change)
    }
    fn log(&mut self, message: &Error) {
        self.inner.log(message);
    }
    fn flush(&mut self) -> Sent {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    fn moved(start: i64, size: i64, kind: i64, row: i64, wanted: i64) -> (i64, i64) {
        let window = Window { start, size }.moved(kind, row, wanted, 10).unwrap();
        (window.start, window.size)
    }

    #[test]
    fn a_window_moves_as_the_kinds_of_fetch_say() {
        assert_eq!(moved(0, 0, 0x02, 0, 4), (1, 4));
        assert_eq!(moved(1, 4, 0x02, 0, 4), (5, 4));
        assert_eq!(moved(9, 2, 0x02, 0, 4), (11, 0));
        assert_eq!(moved(11, 0, 0x04, 0, 4), (7, 4));
        assert_eq!(moved(3, 4, 0x04, 0, 4), (1, 4));
        assert_eq!(moved(3, 4, 0x200, 0, 4), (1, 2));
        assert_eq!(moved(1, 4, 0x04, 0, 4), (0, 0));
        assert_eq!(moved(1, 4, 0x08, 0, 4), (7, 4));
        assert_eq!(moved(1, 4, 0x10, -3, 4), (8, 3));
        assert_eq!(moved(5, 4, 0x20, -2, 1), (3, 1));
        assert_eq!(moved(5, 4, 0x10, 0, 1), (0, 0));
        assert_eq!(Window::default().moved(0x40, 0, 1, 10), None);
    }
}
