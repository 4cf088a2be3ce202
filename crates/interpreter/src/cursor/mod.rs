//! Cursors: DECLARE, OPEN, FETCH, CLOSE and DEALLOCATE. `open.rs` decides which kind a cursor gets,
//! `read.rs` fetches rows, `change.rs` runs positioned statements. The cursors of a client's API,
//! which the procedures open, are of the same type.
//!
//! A cursor's query runs with the values that variables had at the declaration, in a separate
//! frame, whatever batch opens it: docs/decisions/0300.

mod capture;
pub mod change;
pub mod open;
pub mod read;

use std::sync::Arc;

use tsql::ast::{self, CursorName, CursorOption, FetchDirection};
use types::{Error, Msg, Value};

use crate::{Argument, Invocation, Runner, Stop, done, ended};
use ::executor::Cx;
use ::plan::expr::Slot;
use ::plan::program::{CursorStep, ExecuteStep, ExecuteTarget, Leaf, LeafAst, Step, StepKind};
use ::plan::sink::Command;
use ::session::cursor::{
    Concurrency, Cursor, CursorInterface, CursorKind, CursorOperation, CursorScope, CursorSource,
    NEVER_FETCHED, fetch,
};
use ::session::frame::FrameTables;
pub use capture::Capture;

/// `@@FETCH_STATUS` after a FETCH that returned a row.
const FETCHED: i32 = 0;
/// `@@FETCH_STATUS` after a FETCH outside the result.
const NO_ROW: i32 = -1;
/// `@@FETCH_STATUS` after a FETCH of a row that no longer exists.
const MISSING: i32 = -2;

/// Closes the open cursors of batch and session at the end of a transaction, with SET
/// CURSOR_CLOSE_ON_COMMIT ON.
pub(crate) fn close_at_end(cx: &mut Cx<'_>) {
    if !cx.session.options.cursor_close_on_commit || cx.session.transaction.count > 0 {
        return;
    }
    let cursors = cx.session.held.cursors.global.iter_mut().chain(&mut cx.frame.cursors);
    for cursor in cursors.filter(|cursor| cursor.open.is_some()) {
        cursor.close();
        cursor.show();
    }
}

impl Runner<'_> {
    pub(crate) fn cursor(&self, step: &CursorStep, cx: &mut Cx<'_>) -> Result<(), Stop> {
        match step {
            CursorStep::Declare(variable, declaration, leaf) => {
                self.declare_cursor(*variable, declaration, leaf, cx)?;
            }
            CursorStep::Open(cursor) => {
                let id = find(cursor, cx)?.id;
                open::open(id, cx)?;
                let cursor = by_id(id, cx)?;
                cursor.show();
                let rows = cursor.rows();
                cx.session.last.cursor_rows = rows;
                cx.session.held.cursors.last_opened = id;
                return Ok(ended(cx, Command::OPEN_CURSOR, None)?);
            }
            CursorStep::Fetch(fetch, into) => return self.fetch(fetch, into, cx),
            CursorStep::Close(cursor) => {
                let cursor = find(cursor, cx)?;
                cursor.opened()?;
                cursor.close();
                cursor.show();
                let id = cursor.id;
                forget_rows(id, cx);
            }
            CursorStep::Deallocate(cursor) => deallocate(cursor, cx)?,
            CursorStep::Refer(variable, cursor) => self.refer(*variable, cursor, cx)?,
        }
        Ok(ended(cx, Command::NONE, None)?)
    }

    fn declare_cursor(
        &self,
        variable: Option<Slot>,
        declaration: &ast::DeclareCursor,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        let LeafAst::Statement(query) = &leaf.ast else { return Err(Msg::InternalError.into()) };
        let has = |option| declaration.options.contains(&option);
        let (updatable, for_update) = match &declaration.access {
            Some(ast::CursorAccess::Update(columns)) => (columns.as_slice(), true),
            Some(ast::CursorAccess::ReadOnly) | None => (&[][..], false),
        };
        let asked = asked_kind(&declaration.options);
        let asked_concurrency = asked_concurrency(declaration, asked);
        if asked_concurrency == Concurrency::ReadOnly && for_update {
            return Err(Msg::CursorForUpdate.into());
        }
        let name = match (&declaration.name, variable) {
            (Some(name), _) => name.to_string(),
            (None, Some(slot)) => self.program.variables[slot.0 as usize].name.clone(),
            (None, None) => return Err(Msg::InternalError.into()),
        };
        let typed = [CursorOption::Static, CursorOption::Keyset, CursorOption::Dynamic];
        let scroll = (has(CursorOption::Scroll) || typed.into_iter().any(has))
            && !has(CursorOption::ForwardOnly);
        let local = variable.is_some() || has(CursorOption::Local);
        let now = cx.now();
        let (id, shown) = cx.session.held.cursors.next(now, &cx.session.connection.cursors)?;
        let cursor = Cursor {
            id,
            name,
            interface: CursorInterface::Tsql,
            scope: if local { CursorScope::Local } else { CursorScope::Global },
            source: Arc::new(self.source_of(query.clone(), cx)),
            asked,
            kind: asked,
            asked_concurrency,
            concurrency: asked_concurrency,
            scroll,
            updatable: updatable.iter().map(|column| column.to_string()).collect(),
            for_update,
            warns: has(CursorOption::TypeWarning),
            open: None,
            closes_at_end: false,
            fetch_status: NEVER_FETCHED,
            row_count: 0,
            last: CursorOperation::None,
            shown,
        };
        let cursors = &mut cx.session.held.cursors;
        let list = if local { &mut cx.frame.cursors } else { &mut cursors.global };
        if list.iter().any(|c| c.is_named(&cursor.name)) {
            if variable.is_none() {
                return Err(Msg::CursorExists(&cursor.name).into());
            }
            list.retain(|c| !c.is_named(&cursor.name));
        }
        if variable.is_some() {
            let refers = |(known, _): &(String, i32)| known.eq_ignore_ascii_case(&cursor.name);
            cx.frame.cursor_references.retain(|reference| !refers(reference));
        }
        cursor.show();
        list.push(cursor);
        Ok(())
    }

    /// `SET @c = cursor`: the variable refers to a cursor that is there.
    fn refer(&self, variable: Slot, cursor: &ast::CursorRef, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let id = find(cursor, cx)?.id;
        let name = &self.program.variables[variable.0 as usize].name;
        if by_id(id, cx)?.is_named(name) {
            return Ok(());
        }
        cx.frame.cursors.retain(|known| !known.is_named(name));
        cx.frame.cursor_references.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        cx.frame.cursor_references.push((name.clone(), id));
        Ok(())
    }

    /// Returns the query of a procedure that is a single SELECT, with the values of its parameters;
    /// `None` if it is more than that.
    ///
    /// # Errors
    /// The errors of a call.
    pub fn source_of_call(
        &self,
        call: &ExecuteStep,
        cx: &mut Cx<'_>,
    ) -> Result<Option<CursorSource>, Stop> {
        let ExecuteTarget::Name(name) = &call.procedure else { return Ok(None) };
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.argument(argument, cx)?);
        }
        cx.session.refresh_catalog();
        let Some(procedure) = crate::resolve_procedure(cx.session, name, self.program.schema)
        else {
            return Err(crate::procedure_missing(cx.session, name, self.program.schema));
        };
        crate::check_call(cx.session, name, &procedure, (self.program.owner, self.program.schema))?;
        let program = ::compile::take_program_of(cx.session, &procedure)?;
        let mut places = Vec::new();
        let bound =
            crate::Invocation::bind(cx.session, procedure, program, &mut arguments, &mut places)?;
        let crate::Invocation { procedure, program, mut frame } = bound;
        let source = single_select(&program.body).map(|select| {
            let runner = Runner { program: &program, procedure: &procedure.name };
            frame.procedure_id = procedure.id;
            let inner = Cx::new(cx.host, cx.session, &mut frame, cx.sink);
            runner.source_of(select.clone(), &inner)
        });
        ::compile::keep_program_of(cx.session, procedure, program);
        Ok(source)
    }

    /// Returns the query with the variables and their values as they are now.
    pub fn source_of(&self, query: ast::Statement, cx: &Cx<'_>) -> CursorSource {
        let program = self.program;
        let mut tables = FrameTables::new(&cx.session.instance.store);
        tables.extend(cx.frame.tables.iter().map(Arc::clone));
        let own = &cx.session.identity.database;
        CursorSource {
            query,
            variables: program.variables.clone(),
            values: cx.frame.variables.clone(),
            table_variables: program.table_variables.clone(),
            tables,
            database: Arc::clone(if program.switches_database { own } else { &program.database }),
            owner: program.owner,
            schema: program.schema,
            asks: !program.is_checked_only,
            procedure_id: cx.frame.procedure_id,
            sql_handle: program
                .books
                .as_ref()
                .map_or_else(Vec::new, |books| books.sql_handle().bytes().to_vec()),
        }
    }

    fn fetch(&self, fetch: &ast::Fetch, into: &[Slot], cx: &mut Cx<'_>) -> Result<(), Stop> {
        let offset = match &fetch.direction {
            FetchDirection::Absolute(expr) | FetchDirection::Relative(expr) => {
                self.offset(expr, cx)?
            }
            _ => 0,
        };
        let cursor = find(&fetch.cursor, cx)?;
        let shape = Arc::clone(&cursor.opened()?.shape);
        let id = cursor.id;
        let kind = fetch_kind(&fetch.direction, cursor)?;
        if !into.is_empty() && into.len() != shape.columns.len() {
            return Err(Msg::CursorVariableCount.into());
        }
        read::fetch(id, (kind, offset, 1), cx)?;
        let cursor = by_id(id, cx)?;
        let row = cursor.opened()?.window.first();
        let status = match row {
            Some(row) if row.missing => MISSING,
            Some(_) => FETCHED,
            None => NO_ROW,
        };
        let row = row.filter(|row| !row.missing);
        let row = row.map(|row| row.values[..shape.columns.len()].to_vec());
        cursor.fetch_status = status;
        cursor.row_count = u64::from(row.is_some());
        cursor.show();
        cx.session.last.fetch_status = status;
        cx.session.last.row_count = u64::from(row.is_some());
        if into.is_empty() {
            cx.sink.columns(&shape)?;
            if let Some(row) = &row {
                cx.sink.row(row)?;
                if cx.session.mars.is_some() && cx.sink.is_full() {
                    cx.session.yield_turn(|| cx.sink.drain())??;
                }
            }
            let rows = Some(u64::from(row.is_some()));
            return Ok(done(cx, Command::SELECT, rows, false)?);
        }
        let Some(row) = row else { return Ok(ended(cx, Command::SELECT, Some(0))?) };
        for ((slot, value), column) in into.iter().zip(row).zip(&shape.columns) {
            let target = &self.program.variables[slot.0 as usize];
            let from = &column.column_type;
            let value = super::execute::convert_argument(value, from, &target.ty, cx.session)?;
            super::execute::not_null(&value, &target.ty, &target.name)?;
            cx.frame.variables[slot.0 as usize] = value;
        }
        Ok(ended(cx, Command::SELECT, Some(1))?)
    }

    fn offset(&self, expr: &ast::Expr, cx: &mut Cx<'_>) -> Result<i64, Stop> {
        let leaf = Leaf::new(LeafAst::Value(expr.clone()));
        Ok(match self.value(&leaf, cx)? {
            Value::TinyInt(n) => i64::from(n),
            Value::SmallInt(n) => i64::from(n),
            Value::Int(n) => i64::from(n),
            Value::BigInt(n) => n,
            _ => 0,
        })
    }
}

/// Returns the only statement of a body, if it is a SELECT.
pub fn single_select(mut body: &[Step]) -> Option<&ast::Statement> {
    loop {
        let [step] = body else { return None };
        match &step.kind {
            StepKind::Block(inner) => body = inner,
            StepKind::Data(leaf) => match &leaf.ast {
                LeafAst::Statement(select) => return Some(select),
                _ => return None,
            },
            _ => return None,
        }
    }
}

/// Returns the kind that options ask for. Without one of a kind SCROLL asks for KEYSET, else a
/// cursor is DYNAMIC.
fn asked_kind(options: &[CursorOption]) -> CursorKind {
    let kind = |option: &CursorOption| match option {
        CursorOption::Static | CursorOption::Insensitive => Some(CursorKind::Static),
        CursorOption::Keyset => Some(CursorKind::Keyset),
        CursorOption::Dynamic => Some(CursorKind::Dynamic),
        CursorOption::FastForward => Some(CursorKind::FastForward),
        _ => None,
    };
    options.iter().find_map(kind).unwrap_or({
        if options.contains(&CursorOption::Scroll) {
            CursorKind::Keyset
        } else {
            CursorKind::Dynamic
        }
    })
}

fn asked_concurrency(declaration: &ast::DeclareCursor, kind: CursorKind) -> Concurrency {
    let has = |option| declaration.options.contains(&option);
    let read_only = matches!(declaration.access, Some(ast::CursorAccess::ReadOnly))
        || has(CursorOption::ReadOnly)
        || matches!(kind, CursorKind::Static | CursorKind::FastForward);
    match read_only {
        true => Concurrency::ReadOnly,
        false if has(CursorOption::ScrollLocks) => Concurrency::ScrollLocks,
        false => Concurrency::Optimistic,
    }
}

/// Returns the fetch type of a direction.
///
/// # Errors
/// 16911 for a forward-only cursor, 16925 for ABSOLUTE of a dynamic one.
fn fetch_kind(direction: &FetchDirection, cursor: &Cursor) -> Result<i64, Error> {
    let (kind, name) = match direction {
        FetchDirection::Next => return Ok(fetch::NEXT),
        FetchDirection::Prior => (fetch::PRIOR, "prior"),
        FetchDirection::First => (fetch::FIRST, "first"),
        FetchDirection::Last => (fetch::LAST, "last"),
        FetchDirection::Absolute(_) => (fetch::ABSOLUTE, "absolute"),
        FetchDirection::Relative(_) => (fetch::RELATIVE, "relative"),
    };
    if !cursor.scroll {
        return Err(Msg::CursorForwardOnly("fetch", name).into());
    }
    if kind == fetch::ABSOLUTE && cursor.kind == CursorKind::Dynamic {
        return Err(Msg::CursorNotDynamic(name).into());
    }
    Ok(kind)
}

pub(crate) fn name_of(cursor: &ast::CursorRef) -> &str {
    match &cursor.name {
        CursorName::Name(name) => name,
        CursorName::Variable(variable) => &variable.name,
    }
}

/// Finds a cursor by name: a local one first, unless GLOBAL is specified; then a global one, then
/// one of an API that has got a name.
pub(crate) fn find<'c>(
    cursor: &ast::CursorRef,
    cx: &'c mut Cx<'_>,
) -> Result<&'c mut Cursor, Stop> {
    let name = name_of(cursor);
    let references = &cx.frame.cursor_references;
    if let Some((_, id)) = references.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        let id = *id;
        return by_id(id, cx).map_err(|_| Msg::CursorNotAllocated(name).into());
    }
    let is_it = |c: &&mut Cursor| c.is_named(name);
    let local = if cursor.global { None } else { cx.frame.cursors.iter_mut().find(is_it) };
    let held = &mut cx.session.held.cursors;
    local
        .or_else(|| held.global.iter_mut().find(is_it))
        .or_else(|| held.api.iter_mut().find(is_it))
        .ok_or_else(|| Msg::CursorNotFound(name).into())
}

/// Finds a cursor by its number.
///
/// # Errors
/// 16917 if it is gone.
pub fn by_id<'c>(id: i32, cx: &'c mut Cx<'_>) -> Result<&'c mut Cursor, Stop> {
    let held = &mut cx.session.held.cursors;
    let mut cursors = cx.frame.cursors.iter_mut().chain(&mut held.global).chain(&mut held.api);
    cursors.find(|cursor| cursor.id == id).ok_or_else(|| Msg::CursorNotOpen.into())
}

/// Removes a reference to a cursor; the last one takes the cursor with it.
fn deallocate(cursor: &ast::CursorRef, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let id = find(cursor, cx)?.id;
    let name = name_of(cursor);
    let is_variable = |known: &String| known.eq_ignore_ascii_case(name);
    let references = &mut cx.frame.cursor_references;
    if references.iter().any(|(known, _)| is_variable(known)) {
        references.retain(|(known, _)| !is_variable(known));
        let left = references.iter().any(|(_, of)| *of == id);
        if left || !by_id(id, cx)?.name.is_empty() {
            return Ok(());
        }
    } else if references.iter().any(|(_, of)| *of == id) {
        // Variables still refer to it: it loses its name only.
        by_id(id, cx)?.name.clear();
        return Ok(());
    }
    forget_rows(id, cx);
    cx.frame.cursors.retain(|c| c.id != id);
    cx.session.held.cursors.global.retain(|c| c.id != id);
    cx.session.held.cursors.api.retain(|c| c.id != id);
    Ok(())
}

/// Checks that the variables of cursor parameters have no cursor yet.
///
/// # Errors
/// 16951 for one that has.
pub(crate) fn check_unassigned(arguments: &[Argument], cx: &Cx<'_>) -> Result<(), Stop> {
    for variable in arguments.iter().filter_map(|argument| argument.cursor.as_ref()) {
        let refers = |(known, _): &(String, i32)| known.eq_ignore_ascii_case(variable);
        let taken = cx.frame.cursors.iter().any(|cursor| cursor.is_named(variable));
        if taken || cx.frame.cursor_references.iter().any(refers) {
            return Err(Msg::CursorAllocated(variable).into());
        }
    }
    Ok(())
}

/// Gives the cursors of a procedure's OUTPUT parameters to the caller's variables, at the position
/// that they have. A parameter without a cursor leaves its variable without one.
pub(crate) fn hand_over(
    call: &mut Invocation,
    (arguments, places): (&[Argument], &[usize]),
    cx: &mut Cx<'_>,
) {
    for (argument, place) in arguments.iter().zip(places) {
        let parameter = &call.procedure.parameters[*place];
        let (true, true, Some(variable)) = (parameter.cursor, argument.output, &argument.cursor)
        else {
            continue;
        };
        let frame = &mut call.frame;
        let own = frame.cursors.iter().find(|cursor| cursor.is_named(&parameter.name));
        let refers = |(known, _): &&(String, i32)| known.eq_ignore_ascii_case(&parameter.name);
        let referred = || frame.cursor_references.iter().find(refers).map(|(_, id)| *id);
        let Some(id) = own.map(|cursor| cursor.id).or_else(referred) else { continue };
        let Some(at) = frame.cursors.iter().position(|cursor| cursor.id == id) else {
            // A global cursor, or one that another variable has got.
            cx.frame.cursor_references.push((variable.clone(), id));
            continue;
        };
        let mut cursor = frame.cursors.remove(at);
        cursor.name.clone_from(variable);
        cursor.show();
        cx.frame.cursors.push(cursor);
    }
}

/// `@@CURSOR_ROWS` is 0 once the last cursor that was opened is closed.
fn forget_rows(id: i32, cx: &mut Cx<'_>) {
    if cx.session.held.cursors.last_opened == id {
        cx.session.last.cursor_rows = 0;
    }
}
