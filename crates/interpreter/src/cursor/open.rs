//! OPEN: decides which kind and which concurrency a cursor gets, and reads what its kind keeps.
//!
//! The table of SQL Server's page "Using Implicit Cursor Conversions":
//!
//! ```text
//!                                               asked: forward only, dynamic    keyset
//! no tables, GROUP BY, UNION, DISTINCT, HAVING                  static          static
//! ORDER BY that no index has                                    keyset
//! .. and a table without a unique index (Transact-SQL)          static          static
//! ```
//!
//! Joins, TOP and OFFSET of a dynamic cursor give a keyset too: docs/decisions/0300.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Error, Msg, Value};

use super::{Capture, by_id};
use crate::{Stop, run_data};
use ::binder::{BinderContext, shape_of};
use ::compile::cursor::{Allowed, COUNT, Checks, allowed, lock_rows, statements, variable};
use ::executor::{Cx, Frame};
use ::plan::program::VariableDef;
use ::plan::query::Node;
use ::plan::sink::{ColumnInfo, ResultShape, Traits};
use ::plan::statement::Bound;
use ::plan::uses::Uses;
use ::session::SessionState;
use ::session::cursor::{
    ColumnOrigin, Concurrency, Cursor, CursorInterface, CursorKind, CursorOperation, CursorPlan,
    CursorSource, HiddenColumn, KeyTable, Members, OpenCursor, Window,
};
use ::session::frame::FrameTables;

/// How a cursor's rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Rows,
    Keys,
    Moving,
}

/// Opens a cursor: runs its query as far as its kind needs.
///
/// # Errors
/// 16905 if it is open, 16957 for FOR UPDATE of a query whose rows can't be changed, and the errors
/// of its query.
pub fn open(id: i32, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let Made { mut opened, decided, bound, hidden } = make(id, cx)?;
    let source = Arc::clone(&by_id(id, cx)?.source);
    opened.members = match decided.kept {
        Kept::Moving => Members::Moving,
        Kept::Rows => Members::Rows(rows_of(&bound, &source, cx)?),
        Kept::Keys => {
            let mut rows = rows_of(&bound, &source, cx)?;
            rows.iter_mut().for_each(|row| drop(row.drain(..row.len() - hidden)));
            Members::Keys(rows)
        }
    };
    let cursor = by_id(id, cx)?;
    let warns = cursor.warns && decided.kind != cursor.asked;
    install(cursor, opened, decided);
    if warns {
        cx.sink.message(&Error::from(Msg::CursorTypeChanged))?;
    }
    Ok(())
}

/// Opens a cursor without rows, to see which kind it gets and which columns.
///
/// # Errors
/// As [`open`].
pub fn preview(id: i32, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let made = make(id, cx)?;
    install(by_id(id, cx)?, made.opened, made.decided);
    Ok(())
}

fn install(cursor: &mut Cursor, opened: OpenCursor, decided: Decided) {
    cursor.kind = decided.kind;
    cursor.concurrency = decided.concurrency;
    cursor.open = Some(Box::new(opened));
    cursor.last = CursorOperation::Open;
    cursor.row_count = 0;
}

/// A cursor that is open, but for its rows.
struct Made {
    opened: OpenCursor,
    decided: Decided,
    bound: Bound,
    /// Number of hidden columns.
    hidden: usize,
}

fn make(id: i32, cx: &mut Cx<'_>) -> Result<Made, Stop> {
    let cursor = by_id(id, cx)?;
    if cursor.open.is_some() {
        return Err(Msg::CursorAlreadyOpen.into());
    }
    let source = Arc::clone(&cursor.source);
    let asked = Asked::of(cursor);
    cx.session.refresh_catalog();
    let Look { bound, allowed, decided } = look(&source, &asked, cx)?;
    if asked.for_update && decided.concurrency == Concurrency::ReadOnly {
        return Err(Msg::CursorForUpdate.into());
    }
    let Bound::Select(select) = &bound else {
        return Err(Error::from(Msg::SyntaxNearKeyword("INTO")).into());
    };
    let (hidden, tables) = match &allowed {
        Some(allowed) => (allowed.hidden.clone(), allowed.tables.clone()),
        None => (Vec::new(), Vec::new()),
    };
    let width = select.shape.columns.len() - hidden.len();
    let statements = match (&allowed, decided.kept) {
        (Some(allowed), Kept::Keys | Kept::Moving) => {
            let mut made = statements(allowed)?;
            if decided.concurrency == Concurrency::ScrollLocks {
                made.iter_mut().for_each(|(_, statement)| lock_rows(statement));
            }
            made
        }
        _ => Vec::new(),
    };
    let columns = select.shape.columns[..width].to_vec();
    let (origins, named) = origins(&source, allowed.as_ref(), width, cx);
    let opened = OpenCursor {
        sent: sent_shape(&columns),
        shape: if hidden.is_empty() { Arc::clone(&select.shape) } else { shape_of(columns) },
        origins,
        variables: variables(&source, &hidden),
        tables: if tables.is_empty() { named } else { tables },
        members: Members::Rows(Vec::new()),
        window: Vec::new(),
        position: Window::default(),
        edges: None,
        place: 0,
        statements,
        plans: Vec::new(),
        hidden,
    };
    let hidden = opened.hidden.len();
    Ok(Made { opened, decided, bound, hidden })
}

/// Returns where the columns come from, and the tables of a query without hidden columns: a
/// read-only cursor keeps them for their names alone.
fn origins(
    source: &CursorSource,
    found: Option<&Allowed>,
    width: usize,
    cx: &mut Cx<'_>,
) -> (Vec<ColumnOrigin>, Vec<KeyTable>) {
    if let Some(found) = found {
        let whole = found.origins.len() == width;
        return (if whole { found.origins.clone() } else { Vec::new() }, Vec::new());
    }
    let context = context(cx.session, source, &source.variables);
    match allowed(&source.query, Checks::None, &mut context.binder()) {
        Some(found) if found.origins.len() == width => (found.origins, found.tables),
        _ => (Vec::new(), Vec::new()),
    }
}

/// What a cursor was declared with.
struct Asked {
    kind: CursorKind,
    concurrency: Concurrency,
    interface: CursorInterface,
    for_update: bool,
}

impl Asked {
    fn of(cursor: &Cursor) -> Self {
        Self {
            kind: cursor.asked,
            concurrency: cursor.asked_concurrency,
            interface: cursor.interface,
            for_update: cursor.for_update,
        }
    }
}

/// The kind and concurrency that a cursor gets.
#[derive(Clone, Copy, Debug)]
struct Decided {
    kind: CursorKind,
    concurrency: Concurrency,
    kept: Kept,
}

/// A cursor's query after a look at it.
struct Look {
    bound: Bound,
    /// Present if the bound query has hidden columns.
    allowed: Option<Allowed>,
    decided: Decided,
}

fn look(source: &CursorSource, asked: &Asked, cx: &mut Cx<'_>) -> Result<Look, Stop> {
    let fixed = matches!(asked.kind, CursorKind::Static | CursorKind::FastForward);
    if !fixed {
        let checks = match asked.concurrency {
            Concurrency::Optimistic => Checks::Values,
            Concurrency::ReadOnly | Concurrency::ScrollLocks => Checks::None,
        };
        let found = {
            let context = context(cx.session, source, &source.variables);
            allowed(&source.query, checks, &mut context.binder())
        };
        if let Some(allowed) = found
            && let Ok((bound, _)) = bind(&allowed.query, source, &source.variables, cx.session)
            && let Bound::Select(select) = &bound
        {
            let decided = decide(asked, &allowed, has_window(&select.query.root));
            if decided.kind != CursorKind::Static {
                return Ok(Look { bound, allowed: Some(allowed), decided });
            }
        }
    }
    let (bound, _) = bind(&source.query, source, &source.variables, cx.session)?;
    let kind = if fixed { asked.kind } else { CursorKind::Static };
    let decided = Decided { kind, concurrency: Concurrency::ReadOnly, kept: Kept::Rows };
    Ok(Look { bound, allowed: None, decided })
}

fn decide(asked: &Asked, allowed: &Allowed, windowed: bool) -> Decided {
    let by_key = if allowed.keyed && !windowed { Kept::Keys } else { Kept::Rows };
    let keyset = || match (allowed.unique, asked.interface) {
        (false, CursorInterface::Tsql) => (CursorKind::Static, Kept::Rows),
        _ => (CursorKind::Keyset, by_key),
    };
    let (kind, kept) = match asked.kind {
        CursorKind::Dynamic if !allowed.order.is_empty() && !windowed => {
            (CursorKind::Dynamic, Kept::Moving)
        }
        CursorKind::Dynamic if by_key == Kept::Rows && !allowed.sorted && !windowed => {
            (CursorKind::Dynamic, Kept::Rows)
        }
        CursorKind::Dynamic | CursorKind::Keyset => keyset(),
        CursorKind::Static | CursorKind::FastForward => (asked.kind, Kept::Rows),
    };
    let concurrency = match kind {
        CursorKind::Keyset | CursorKind::Dynamic => asked.concurrency,
        CursorKind::Static | CursorKind::FastForward => Concurrency::ReadOnly,
    };
    Decided { kind, concurrency, kept }
}

/// Returns whether a query's rows go through window functions, which need all rows at once.
fn has_window(node: &Node) -> bool {
    match node {
        Node::Window(_) => true,
        Node::Compute(inner) => has_window(&inner.0),
        Node::Filter(inner) => has_window(&inner.0),
        Node::Sort(sort) => has_window(&sort.input),
        Node::Limit(limit) => has_window(&limit.input),
        _ => false,
    }
}

fn rows_of(bound: &Bound, source: &CursorSource, cx: &mut Cx<'_>) -> Result<Vec<Vec<Value>>, Stop> {
    let mut capture = Capture::default();
    run(bound, source, source.values.clone(), (&mut capture, cx))?;
    let Capture { rows, messages, .. } = capture;
    for message in &messages {
        cx.sink.message(message)?;
    }
    Ok(rows)
}

/// Runs a statement of a cursor in a separate frame.
pub(super) fn run(
    bound: &Bound,
    source: &CursorSource,
    variables: Vec<Value>,
    (sink, cx): (&mut Capture, &mut Cx<'_>),
) -> Result<(), Stop> {
    let mut frame = Frame {
        variables,
        tables: FrameTables::lent(source.tables.iter().map(Arc::clone).collect()),
        procedure_id: source.procedure_id,
        ..Frame::default()
    };
    let mut inner = Cx::new(cx.host, cx.session, &mut frame, sink);
    inner.lend_buffers(&mut cx.registers, &mut cx.scratch);
    Uses::of(bound).count(inner.session.accounting.meter.begun_ticks());
    let ran = run_data(bound, &mut inner);
    inner.return_buffers(&mut cx.registers, &mut cx.scratch);
    drop(inner);
    match sink.take_refused() {
        Some(refused) => Err(refused.into()),
        None => ran.map(|_| ()),
    }
}

/// Returns the context in which a cursor's statements are bound.
pub(super) fn context<'s>(
    session: &'s SessionState,
    source: &'s CursorSource,
    variables: &'s [VariableDef],
) -> BinderContext<'s> {
    let asks = source.asks && !session.identity.rights.is_all();
    BinderContext {
        rights: asks.then_some(&session.identity.rights),
        chain: source.owner,
        unqualified: compile::binding::unqualified(session, source.schema),
        variables,
        table_variables: &source.table_variables,
        ..compile::binding::bare_context(session, &source.database)
    }
}

/// Binds a statement of a cursor; returns too whether the plan is good for this time only.
pub(super) fn bind(
    statement: &ast::Statement,
    source: &CursorSource,
    variables: &[VariableDef],
    session: &SessionState,
) -> types::Result<(Bound, bool)> {
    let context = context(session, source, variables);
    let mut binder = context.binder();
    let bound = ::binder::bind_statement(&mut binder, statement)?;
    Ok((bound, binder.session_bound || binder.unchained.get()))
}

/// Returns the variables of a cursor's statements: those of its query, the count of rows, and one
/// for each hidden column.
fn variables(source: &CursorSource, hidden: &[HiddenColumn]) -> Arc<[VariableDef]> {
    let made = |name: String, ty: ColumnType| VariableDef {
        name,
        ty: ColumnType { nullable: true, ..ty },
        cursor: false,
        at: 0,
    };
    let count = made(COUNT.to_owned(), ColumnType::nullable(DataType::BigInt));
    let keys = hidden.iter().enumerate().map(|(place, column)| made(variable(place), column.ty));
    source.variables.iter().cloned().chain([count]).chain(keys).collect()
}

/// Returns the shape of API fetches: the columns, then ROWSTAT.
fn sent_shape(columns: &[ColumnInfo]) -> Arc<ResultShape> {
    let column_type = ColumnType { nullable: false, ..ColumnType::nullable(DataType::Int) };
    let name = "ROWSTAT".into();
    let status = ColumnInfo { name, column_type, traits: Traits::default(), updatable: false };
    shape_of(columns.iter().cloned().chain([status]).collect())
}

/// Returns a cursor's statement of this kind.
pub(super) fn statement(open: &OpenCursor, plan: CursorPlan) -> Option<&ast::Statement> {
    open.statements.iter().find(|(kind, _)| *kind == plan).map(|(_, statement)| statement)
}
