//! Cursors: OPEN runs the query and stores its rows, FETCH returns them one at a time.
//!
//! Every cursor is static: its rows are those at the time of OPEN. SQL Server too makes a cursor
//! static if its query sorts, groups or has no unique index, so scripts must work with static ones.
//! A DYNAMIC or KEYSET cursor does not show other sessions' changes after OPEN.

use tsql::ast::{self, CursorName, CursorOption, FetchDirection};
use types::{Error, Msg, Value};

use super::positioned;
use crate::{Runner, Stop, done, ended};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::expr::Slot;
use ::plan::program::{CursorStep, Leaf, LeafAst};
use ::plan::sink::{Command, ResultShape, ResultSink};
use ::plan::statement::Bound;
use ::session::cursor::{Cursor, KeyTable};
use std::sync::Arc;

/// `@@FETCH_STATUS` after a FETCH that returned a row.
const FETCHED: i32 = 0;
/// `@@FETCH_STATUS` after a FETCH outside the result.
const NO_ROW: i32 = -1;

/// Closes the open cursors of batch and session at the end of a transaction, with SET
/// CURSOR_CLOSE_ON_COMMIT ON.
pub(crate) fn close_at_end(cx: &mut Cx<'_>) {
    if !cx.session.options.cursor_close_on_commit || cx.session.transaction.count > 0 {
        return;
    }
    let cursors = cx.session.held.cursors.iter_mut().chain(&mut cx.frame.cursors);
    cursors.for_each(|cursor| cursor.rows = None);
}

impl Runner<'_> {
    pub(crate) fn cursor(&self, step: &CursorStep, cx: &mut Cx<'_>) -> Result<(), Stop> {
        match step {
            CursorStep::Declare(variable, declaration, leaf) => {
                self.declare_cursor(*variable, declaration, leaf, cx)?;
            }
            CursorStep::Open(cursor) => {
                self.open_cursor(cursor, cx)?;
                return Ok(ended(cx, Command::OPEN_CURSOR, None)?);
            }
            CursorStep::Fetch(fetch, into) => return self.fetch(fetch, into, cx),
            CursorStep::Close(cursor) => {
                let cursor = find(cursor, cx)?;
                if cursor.rows.take().is_none() {
                    return Err(Msg::CursorNotOpen.into());
                }
            }
            CursorStep::Deallocate(cursor) => deallocate(cursor, cx)?,
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
        let updatable = match &declaration.access {
            Some(ast::CursorAccess::Update(columns)) => Some(columns),
            Some(ast::CursorAccess::ReadOnly) | None => None,
        };
        let refused = [CursorOption::ScrollLocks, CursorOption::Optimistic];
        if let Some(option) = declaration.options.iter().find(|o| refused.contains(o)) {
            let what = format!("{} of DECLARE CURSOR", option.word());
            return Err(Msg::NotSupported(&what).into());
        }
        let has = |option| declaration.options.contains(&option);
        let warns = has(CursorOption::TypeWarning)
            && (has(CursorOption::Keyset) || has(CursorOption::Dynamic));
        let read_only = matches!(declaration.access, Some(ast::CursorAccess::ReadOnly))
            || declaration.options.iter().any(|o| {
                matches!(
                    o,
                    CursorOption::ReadOnly
                        | CursorOption::Static
                        | CursorOption::Insensitive
                        | CursorOption::FastForward
                )
            });
        if read_only && updatable.is_some() {
            return Err(Msg::CursorForUpdate.into());
        }
        let name = match (&declaration.name, variable) {
            (Some(name), _) => name.to_string(),
            (None, Some(slot)) => self.program.variables[slot.0 as usize].name.clone(),
            (None, None) => return Err(Msg::InternalError.into()),
        };
        let scroll = declaration.options.iter().any(|o| {
            matches!(
                o,
                CursorOption::Scroll
                    | CursorOption::Static
                    | CursorOption::Keyset
                    | CursorOption::Dynamic
            )
        }) && !declaration.options.contains(&CursorOption::ForwardOnly);
        let local = variable.is_some() || declaration.options.contains(&CursorOption::Local);
        let cursor = Cursor {
            name,
            query: query.clone(),
            rows: None,
            shape: None,
            position: 0,
            scroll,
            fixed: declaration.options.iter().any(|o| {
                matches!(o, CursorOption::Static | CursorOption::Insensitive | CursorOption::Keyset)
            }),
            read_only,
            updatable: updatable.into_iter().flatten().map(|c| c.to_string()).collect(),
            for_update: updatable.is_some(),
            warns,
            tables: Vec::new(),
        };
        let list = if local { &mut cx.frame.cursors } else { &mut cx.session.held.cursors };
        if list.iter().any(|c| c.name.eq_ignore_ascii_case(&cursor.name)) {
            if variable.is_none() {
                return Err(Msg::CursorExists(&cursor.name).into());
            }
            list.retain(|c| !c.name.eq_ignore_ascii_case(&cursor.name));
        }
        list.push(cursor);
        Ok(())
    }

    fn open_cursor(&self, name: &ast::CursorRef, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let cursor = find(name, cx)?;
        if cursor.rows.is_some() {
            return Err(Msg::CursorAlreadyOpen.into());
        }
        let query = cursor.query.clone();
        let (read_only, for_update, warns) = (cursor.read_only, cursor.for_update, cursor.warns);
        let (bound, tables) = match read_only {
            true => (self.bind_cursor(&query, cx)?, Vec::new()),
            false => self.bind_with_keys(&query, cx)?,
        };
        if for_update && tables.is_empty() {
            return Err(Msg::CursorForUpdate.into());
        }
        if warns && self.bind_with_keys(&query, cx)?.1.is_empty() {
            cx.sink.message(&Error::from(Msg::CursorTypeChanged))?;
        }
        let Bound::Select(select) = &bound else {
            return Err(Error::from(Msg::SyntaxNearKeyword("INTO")).into());
        };
        let mut capture = Capture::default();
        {
            let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut capture);
            ::executor::run_bound(&bound, &mut inner)?;
        }
        let rows = capture.rows;
        cx.session.last.cursor_rows = i32::try_from(rows.len()).unwrap_or(i32::MAX);
        let shape = match tables.first() {
            Some(first) => shape_of(select.shape.columns[..first.place].to_vec()),
            None => Arc::clone(&select.shape),
        };
        let cursor = find(name, cx)?;
        cursor.tables = tables;
        cursor.rows = Some(rows);
        cursor.shape = Some(shape);
        cursor.position = 0;
        Ok(())
    }

    /// Binds the query with the keys of its tables as additional columns, if possible: rows of
    /// GROUP BY, UNION or DISTINCT are not rows of a table.
    fn bind_with_keys(
        &self,
        query: &ast::Statement,
        cx: &mut Cx<'_>,
    ) -> Result<(Bound, Vec<KeyTable>), Stop> {
        cx.session.refresh_catalog();
        let with_keys = {
            let context = metadata::binding::context_of(cx.session, self.program);
            positioned::with_keys(query, &mut context.binder())
        };
        if let Some((query, mut tables)) = with_keys
            && let Ok(bound) = self.bind_cursor(&query, cx)
            && let Bound::Select(select) = &bound
        {
            let keys: usize = tables.iter().map(|table| table.columns.len()).sum();
            let mut place = select.shape.columns.len() - keys;
            for table in &mut tables {
                table.place = place;
                place += table.columns.len();
            }
            return Ok((bound, tables));
        }
        Ok((self.bind_cursor(query, cx)?, Vec::new()))
    }

    fn bind_cursor(&self, query: &ast::Statement, cx: &mut Cx<'_>) -> Result<Bound, Stop> {
        cx.session.refresh_catalog();
        let context = metadata::binding::context_of(cx.session, self.program);
        let mut binder = context.binder();
        Ok(::binder::bind_statement(&mut binder, query)?)
    }

    fn fetch(&self, fetch: &ast::Fetch, into: &[Slot], cx: &mut Cx<'_>) -> Result<(), Stop> {
        let offset = match &fetch.direction {
            FetchDirection::Absolute(expr) | FetchDirection::Relative(expr) => {
                Some(self.offset(expr, cx)?)
            }
            _ => None,
        };
        let cursor = find(&fetch.cursor, cx)?;
        let mut row = cursor.move_to(&fetch.direction, offset.unwrap_or(0))?;
        let shape = cursor.shape.clone().ok_or(Msg::CursorNotOpen)?;
        row.iter_mut().for_each(|row| row.truncate(shape.columns.len()));
        cx.session.last.fetch_status = if row.is_some() { FETCHED } else { NO_ROW };
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
        if into.len() != row.len() {
            return Err(Msg::CursorVariableCount.into());
        }
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

pub(crate) fn name_of(cursor: &ast::CursorRef) -> &str {
    match &cursor.name {
        CursorName::Name(name) => name,
        CursorName::Variable(variable) => &variable.name,
    }
}

/// Finds a cursor by name: a local one first, unless GLOBAL is specified.
pub(crate) fn find<'c>(
    cursor: &ast::CursorRef,
    cx: &'c mut Cx<'_>,
) -> Result<&'c mut Cursor, Stop> {
    let name = name_of(cursor);
    let is_it = |c: &&mut Cursor| c.name.eq_ignore_ascii_case(name);
    let local = if cursor.global { None } else { cx.frame.cursors.iter_mut().find(is_it) };
    local
        .or_else(|| cx.session.held.cursors.iter_mut().find(is_it))
        .ok_or_else(|| Msg::CursorNotFound(name).into())
}

fn deallocate(cursor: &ast::CursorRef, cx: &mut Cx<'_>) -> Result<(), Stop> {
    find(cursor, cx)?;
    let name = name_of(cursor).to_owned();
    let local = |c: &Cursor| c.name.eq_ignore_ascii_case(&name);
    match cx.frame.cursors.iter().position(local) {
        Some(place) if !cursor.global => drop(cx.frame.cursors.remove(place)),
        _ => cx.session.held.cursors.retain(|c| !local(c)),
    }
    Ok(())
}

/// A sink that stores a statement's rows and messages instead of sending them.
#[derive(Default)]
pub struct Capture {
    /// The rows, in order of arrival.
    pub rows: Vec<Vec<Value>>,
    /// Informational messages, for the code that runs the statement to send.
    pub messages: Vec<Error>,
}

impl ResultSink for Capture {
    fn columns(&mut self, _: &ResultShape) -> ::plan::sink::Sent {
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> ::plan::sink::Sent {
        self.rows.push(values.to_vec());
        Ok(())
    }
    fn done(&mut self, _: ::plan::sink::Done) -> ::plan::sink::Sent {
        Ok(())
    }
    fn message(&mut self, message: &Error) -> ::plan::sink::Sent {
        self.messages.push(message.clone());
        Ok(())
    }
    fn return_status(&mut self, _: i32) -> ::plan::sink::Sent {
        Ok(())
    }
    fn return_value(
        &mut self,
        _: u16,
        _: &::plan::sink::ColumnInfo,
        _: &Value,
    ) -> ::plan::sink::Sent {
        Ok(())
    }
    fn env_change(&mut self, _: &::plan::sink::EnvChange<'_>) -> ::plan::sink::Sent {
        Ok(())
    }
    fn flush(&mut self) -> ::plan::sink::Sent {
        Ok(())
    }
}
