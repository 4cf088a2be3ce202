//! Positioned statements: UPDATE and DELETE of a row in a cursor's window, from WHERE CURRENT OF and
//! from sp_cursor.

use std::sync::Arc;

use types::{Msg, Value};

use super::read::{by_key, set_hidden};
use super::{Capture, by_id};
use crate::{Runner, Stop, run_data};
use ::compile::positioned::{self, Accepts, Positioned};
use ::executor::{Cx, StatementResult};
use ::plan::program::{Leaf, LeafAst};
use ::plan::statement::Bound;
use ::plan::uses::Uses;
use ::session::cursor::{Concurrency, Cursor, CursorOperation, CursorRow, KeyTable, Members};
use tsql::ast::{self, Statement, StatementKind};

impl Runner<'_> {
    /// Runs a positioned statement of the program; also returns whether it has a result.
    pub(crate) fn positioned(
        &self,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
    ) -> Result<(StatementResult, bool), Stop> {
        let LeafAst::Statement(statement) = &leaf.ast else {
            return Err(Msg::InternalError.into());
        };
        let Some(cursor) = positioned::cursor_of(statement) else {
            return Err(Msg::InternalError.into());
        };
        self.table_of(statement, cx)?;
        let cursor = super::find(cursor, cx)?;
        let id = cursor.id;
        cursor.current()?;
        let place = cursor.opened()?.place;
        self.change(id, place, statement, cx)
    }

    /// Runs an INSERT of the program; returns the number of rows.
    ///
    /// # Errors
    /// The errors of the statement.
    pub fn insert(&self, statement: &Statement, cx: &mut Cx<'_>) -> Result<u64, Stop> {
        cx.session.refresh_catalog();
        let bound = self.bind_change(&(statement.clone(), Vec::new()), cx)?;
        Uses::of(&bound).count(cx.session.accounting.meter.begun_ticks());
        Ok(run_data(&bound, cx)?.rows)
    }

    fn table_of(&self, statement: &Statement, cx: &mut Cx<'_>) -> Result<i32, Stop> {
        cx.session.refresh_catalog();
        let context = compile::binding::context_of(cx.session, self.program);
        Ok(positioned::table_of(statement, &mut context.binder())?)
    }

    /// Changes a row of a cursor's window. The statement's own condition is replaced by one on the
    /// row; its variables are those of the program.
    ///
    /// # Errors
    /// 16929 to 16947 about the cursor, and the errors of the statement.
    pub fn change(
        &self,
        id: i32,
        place: usize,
        statement: &Statement,
        cx: &mut Cx<'_>,
    ) -> Result<(StatementResult, bool), Stop> {
        let table = self.table_of(statement, cx)?;
        let cursor = by_id(id, cx)?;
        let row = row_at(cursor, place)?;
        let accepts = match cursor.concurrency {
            Concurrency::Optimistic => Accepts::Fetched,
            Concurrency::ReadOnly | Concurrency::ScrollLocks => Accepts::Key,
        };
        let change = positioned::on_key(statement, cursor, &row, (table, accepts))?;
        if row.missing {
            return Err(Msg::CursorNothingChanged.into());
        }
        let set = positioned::new_key(&change.0, cursor, table);
        let new_key = self.new_key((id, &change), &set, cx)?;
        let bound = self.bind_change(&change, cx)?;
        let returned = crate::returns_rows(&bound);
        Uses::of(&bound).count(cx.session.accounting.meter.begun_ticks());
        let result = run_data(&bound, cx)?;
        if result.rows == 0 {
            return Err(self.nothing_changed(statement, (id, table, &row), cx)?.into());
        }
        let cursor = by_id(id, cx)?;
        cursor.row_count = result.rows;
        if matches!(statement.kind, StatementKind::Delete(_)) {
            cursor.last = CursorOperation::Delete;
            let row = cursor.open.as_mut().and_then(|open| open.window.get_mut(place));
            row.into_iter().for_each(|row| row.missing = true);
            return Ok((result, returned));
        }
        cursor.last = CursorOperation::Update;
        if let Some(open) = &mut cursor.open {
            for ((column, _), value) in set.iter().zip(new_key) {
                set_hidden(open, place, *column, value);
            }
        }
        renew(id, (place, table), cx)?;
        Ok((result, returned))
    }

    /// Returns the values that an UPDATE gives to columns of the row's key.
    fn new_key(
        &self,
        (id, change): (i32, &Positioned),
        set: &[(usize, ast::Expr)],
        cx: &mut Cx<'_>,
    ) -> Result<Vec<Value>, Stop> {
        if set.is_empty() {
            return Ok(Vec::new());
        }
        let values = set.iter().map(|(_, value)| value.clone()).collect();
        let Some(probe) = positioned::probe(&change.0, values) else { return Ok(Vec::new()) };
        // A value such as DEFAULT, which only an UPDATE may have: the row is lost to the keyset.
        let Ok(bound) = self.bind_change(&(probe, change.1.clone()), cx) else {
            return Ok(Vec::new());
        };
        let types: Vec<_> = match &bound {
            Bound::Select(select) => select.shape.columns.iter().map(|c| c.column_type).collect(),
            _ => Vec::new(),
        };
        let rows = self.rows_of(&bound, cx)?;
        let Some(row) = rows.into_iter().next() else { return Ok(Vec::new()) };
        let mut converted = Vec::with_capacity(row.len());
        for (((column, _), value), from) in set.iter().zip(row).zip(&types) {
            let to = by_id(id, cx)?.opened()?.hidden[*column].ty;
            converted.push(crate::execute::convert_argument(value, from, &to, cx.session)?);
        }
        Ok(converted)
    }

    fn rows_of(&self, bound: &Bound, cx: &mut Cx<'_>) -> Result<Vec<Vec<Value>>, Stop> {
        let mut capture = Capture::default();
        let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut capture);
        run_data(bound, &mut inner)?;
        Ok(capture.rows)
    }

    fn bind_change(&self, change: &Positioned, cx: &mut Cx<'_>) -> Result<Bound, Stop> {
        let context = compile::binding::context_of(cx.session, self.program);
        let mut binder = context.binder();
        binder.given.clone_from(&change.1);
        Ok(::binder::bind_statement(&mut binder, &change.0)?)
    }

    /// Returns why a statement found no row: it has changed since it was fetched, or is gone.
    fn nothing_changed(
        &self,
        statement: &Statement,
        (id, table, row): (i32, i32, &CursorRow),
        cx: &mut Cx<'_>,
    ) -> Result<types::Error, Stop> {
        let cursor = by_id(id, cx)?;
        let is_optimistic = cursor.concurrency == Concurrency::Optimistic;
        let change = positioned::on_key(statement, cursor, row, (table, Accepts::Key))?;
        let one =
            ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::Int(1)), span: statement.span };
        let Some(probe) = positioned::probe(&change.0, vec![one]) else {
            return Ok(Msg::CursorNothingChanged.into());
        };
        let bound = self.bind_change(&(probe, change.1), cx)?;
        let found = !self.rows_of(&bound, cx)?.is_empty();
        Ok(match is_optimistic && found {
            true => Msg::CursorConflict.into(),
            false => Msg::CursorNothingChanged.into(),
        })
    }
}

/// Returns a row of a cursor's window.
///
/// # Errors
/// 16917 for a closed cursor, 16929 for a read-only one, 16931 without rows, 16930 for a row that
/// is not in the window.
fn row_at(cursor: &Cursor, place: usize) -> types::Result<CursorRow> {
    let open = cursor.opened()?;
    if cursor.concurrency == Concurrency::ReadOnly || open.tables.is_empty() {
        return Err(Msg::CursorReadOnly.into());
    }
    if open.window.is_empty() {
        return Err(Msg::CursorNoRows.into());
    }
    open.window.get(place).cloned().ok_or_else(|| Msg::CursorRowNotInBuffer.into())
}

/// Reads a changed row again, so that the next change through the cursor compares with its new
/// values.
fn renew(id: i32, (place, table): (usize, i32), cx: &mut Cx<'_>) -> Result<(), Stop> {
    let open = by_id(id, cx)?.opened()?;
    let width = open.width();
    let Some(row) = open.window.get(place) else { return Ok(()) };
    if !matches!(open.members, Members::Rows(_)) {
        let hidden = row.values[width..].to_vec();
        let read = by_key(id, hidden, cx)?;
        if let Some(open) = &mut by_id(id, cx)?.open {
            open.window[place] = read;
        }
        return Ok(());
    }
    let Some(table) = open.tables.iter().find(|known| known.id == table && known.unique) else {
        return Ok(());
    };
    let (table, row) = (table.clone(), row.clone());
    let Some(values) = reread(id, (&row, &table), Lock::None, cx)? else { return Ok(()) };
    if let Some(open) = &mut by_id(id, cx)?.open {
        for (column, value) in table.checks.iter().zip(values) {
            set_hidden(open, place, *column, value);
        }
    }
    Ok(())
}

/// Whether a row is locked when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    None,
    Update,
}

/// Reads the columns of a table that optimistic concurrency compares, by the key of a row.
fn reread(
    id: i32,
    (row, table): (&CursorRow, &KeyTable),
    lock: Lock,
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<Value>>, Stop> {
    let cursor = by_id(id, cx)?;
    let source = Arc::clone(&cursor.source);
    let places = if table.checks.is_empty() { &table.key } else { &table.checks };
    let wanted = positioned::reread(cursor, row, (table, lock == Lock::Update), places);
    let Some((statement, given)) = wanted else { return Ok(None) };
    let bound = {
        let context = super::open::context(cx.session, &source, &source.variables);
        let mut binder = context.binder();
        binder.given = given;
        ::binder::bind_statement(&mut binder, &statement)?
    };
    let mut capture = Capture::default();
    super::open::run(&bound, &source, source.values.clone(), (&mut capture, cx))?;
    Ok(capture.rows.into_iter().next())
}

/// Locks the rows of a cursor's window, or one of them, for an update in this transaction.
///
/// # Errors
/// 16929 to 16931 about the cursor, and the errors of a wait for a lock.
pub fn lock(id: i32, place: usize, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let cursor = by_id(id, cx)?;
    let row = row_at(cursor, place)?;
    let tables = cursor.opened()?.tables.clone();
    for table in &tables {
        reread(id, (&row, table), Lock::Update, cx)?;
    }
    Ok(())
}
