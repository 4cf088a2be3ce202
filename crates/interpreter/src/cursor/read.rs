//! Fetches: fills a cursor's window with the rows at its new position.
//!
//! A static cursor takes them from what OPEN has read, a keyset reads each row again by its key, a
//! dynamic one looks for the rows behind or before those of its window.

use std::sync::Arc;

use types::{Msg, Value};

use super::open::{self, bind, statement};
use super::{Capture, by_id};
use crate::Stop;
use ::executor::Cx;
use ::plan::statement::Bound;
use ::session::cursor::{
    Cursor, CursorOperation, CursorPlan, CursorRow, Members, OpenCursor, Window, fetch,
};

/// Where a dynamic cursor is.
mod place {
    /// Before the first row.
    pub(super) const BEFORE: i64 = 0;
    /// On the rows of its window, or where they were.
    pub(super) const ON: i64 = 1;
    /// Behind the last row.
    pub(super) const BEHIND: i64 = -1;
}

/// Whether a fetch went where it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    /// It went to the rows asked for.
    There,
    /// Fewer rows are before than were asked for: the window begins with the first row.
    ToStart,
}

/// Moves a cursor and reads the rows at its new position.
///
/// # Errors
/// 16917 for a closed cursor, 16902 for an unknown fetch type, 16925 for ABSOLUTE of a dynamic
/// cursor, 16943 if a table has been changed so that the rows can't be read, and the errors of the
/// query.
pub fn fetch(id: i32, (kind, row, wanted): (i64, i64, i64), cx: &mut Cx<'_>) -> Result<Went, Stop> {
    let cursor = by_id(id, cx)?;
    let open = cursor.opened()?;
    let outcome = match open.count() {
        Some(count) => fetch_numbered(id, (kind, row, wanted), count, cx),
        None => fetch_moving(id, (kind, row, wanted), cx),
    };
    let cursor = by_id(id, cx)?;
    cursor.last = CursorOperation::Fetch;
    let went = outcome?;
    if let Some(open) = &mut cursor.open {
        open.place = 0;
    }
    Ok(went)
}

fn fetch_numbered(
    id: i32,
    (kind, row, wanted): (i64, i64, i64),
    count: usize,
    cx: &mut Cx<'_>,
) -> Result<Went, Stop> {
    let open = by_id(id, cx)?.opened()?;
    let before = open.position;
    let wanted = if kind == fetch::REFRESH { before.size } else { wanted };
    let rows = i64::try_from(count).unwrap_or(i64::MAX);
    let moved = before.moved(kind, row, wanted, rows);
    let moved = moved.ok_or(Msg::CursorParameterInvalid("sp_cursorfetch", "fetchtype"))?;
    let first = usize::try_from(moved.start.max(1) - 1).unwrap_or(0);
    let size = usize::try_from(moved.size).unwrap_or(0);
    let mut window = Vec::with_capacity(size.min(1024));
    for place in first..first + size {
        let open = by_id(id, cx)?.opened()?;
        let read = match &open.members {
            Members::Rows(rows) => CursorRow { values: rows[place].clone(), missing: false },
            Members::Keys(keys) => {
                let keys = keys[place].clone();
                by_key(id, keys, cx)?
            }
            Members::Moving => return Err(Msg::InternalError.into()),
        };
        window.push(read);
    }
    let adjusted = kind == fetch::PRIOR && before.start > 1 && before.start - wanted < 1;
    if let Some(open) = &mut by_id(id, cx)?.open {
        open.position = moved;
        open.window = window;
    }
    Ok(if adjusted { Went::ToStart } else { Went::There })
}

/// Reads a row by its hidden values; missing if a table no longer has the row.
pub(super) fn by_key(id: i32, hidden: Vec<Value>, cx: &mut Cx<'_>) -> Result<CursorRow, Stop> {
    let mut rows = read(id, CursorPlan::ByKey, (1, &hidden), cx)?;
    let open = by_id(id, cx)?.opened()?;
    let width = open.width();
    let found = match rows.len() {
        0 => None,
        _ => Some(rows.swap_remove(0)),
    };
    // A table that had a row must have it still: the columns of its key are never NULL.
    let lost = |row: &Vec<Value>| {
        let mut keys = open.tables.iter().filter_map(|table| table.key.first());
        keys.any(|place| !hidden[*place].is_null() && row[width + place].is_null())
    };
    if let Some(values) = found.filter(|row| !lost(row)) {
        return Ok(CursorRow { values, missing: false });
    }
    let mut values = vec![Value::Null; width];
    values.extend(hidden);
    Ok(CursorRow { values, missing: true })
}

fn fetch_moving(
    id: i32,
    (kind, row, wanted): (i64, i64, i64),
    cx: &mut Cx<'_>,
) -> Result<Went, Stop> {
    let open = by_id(id, cx)?.opened()?;
    let at = open.position.start;
    let (first, last) = match open.edges.clone() {
        Some([first, last]) => (Some(first), Some(last)),
        None => (None, None),
    };
    match kind {
        fetch::REFRESH => refresh(id, cx),
        fetch::FIRST if wanted == 0 => arrive(id, Vec::new(), place::BEFORE, cx),
        fetch::FIRST => forward(id, None, wanted, cx),
        fetch::NEXT if at == place::BEHIND => arrive(id, Vec::new(), place::BEHIND, cx),
        fetch::NEXT => forward(id, last, wanted, cx),
        fetch::LAST if wanted == 0 => arrive(id, Vec::new(), place::BEHIND, cx),
        fetch::LAST => {
            let rows = backward(id, None, wanted, cx)?;
            let to = if rows.is_empty() { place::BEHIND } else { place::ON };
            arrive(id, rows, to, cx)
        }
        fetch::PRIOR | fetch::PRIOR_ONLY if at == place::BEFORE => {
            arrive(id, Vec::new(), place::BEFORE, cx)
        }
        fetch::PRIOR | fetch::PRIOR_ONLY => {
            let rows = backward(id, first, wanted, cx)?;
            let short = i64::try_from(rows.len()).is_ok_and(|count| count < wanted);
            match rows.is_empty() {
                true => arrive(id, rows, place::BEFORE, cx),
                false if short && kind == fetch::PRIOR => {
                    forward(id, None, wanted, cx)?;
                    Ok(Went::ToStart)
                }
                false => arrive(id, rows, place::ON, cx),
            }
        }
        fetch::RELATIVE => relative(id, first, (at, row, wanted), cx),
        fetch::ABSOLUTE => Err(Msg::CursorNotDynamic("absolute").into()),
        _ => Err(Msg::CursorParameterInvalid("sp_cursorfetch", "fetchtype").into()),
    }
}

fn relative(
    id: i32,
    first: Option<Vec<Value>>,
    (at, row, wanted): (i64, i64, i64),
    cx: &mut Cx<'_>,
) -> Result<Went, Stop> {
    if row > 0 {
        // Before the first row, the first one is one row on.
        if at == place::BEHIND {
            return arrive(id, Vec::new(), place::BEHIND, cx);
        }
        let read = row.saturating_sub(1).saturating_add(wanted);
        let mut rows = ahead(id, first, read, cx)?;
        let skipped = usize::try_from(row - 1).unwrap_or(usize::MAX).min(rows.len());
        rows.drain(..skipped);
        let to = if rows.is_empty() { place::BEHIND } else { place::ON };
        return arrive(id, rows, to, cx);
    }
    if at == place::BEFORE {
        return arrive(id, Vec::new(), place::BEFORE, cx);
    }
    if row == 0 {
        let Some(first) = first else { return arrive(id, Vec::new(), at, cx) };
        let before = backward(id, Some(first), 1, cx)?;
        let width = by_id(id, cx)?.opened()?.width();
        let before = before.first().map(|row| row.values[width..].to_vec());
        return forward(id, before, wanted, cx);
    }
    let rows = backward(id, first, row.saturating_neg().saturating_add(1), cx)?;
    let found = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    if found < row.saturating_neg() {
        return arrive(id, Vec::new(), place::BEFORE, cx);
    }
    let width = by_id(id, cx)?.opened()?.width();
    // The row before the one that was asked for, if there is one.
    let before = (found > row.saturating_neg()).then(|| rows[0].values[width..].to_vec());
    forward(id, before, wanted, cx)
}

/// Takes the rows behind one, or the first ones.
fn forward(
    id: i32,
    behind: Option<Vec<Value>>,
    wanted: i64,
    cx: &mut Cx<'_>,
) -> Result<Went, Stop> {
    let rows = ahead(id, behind, wanted, cx)?;
    let to = if rows.is_empty() { place::BEHIND } else { place::ON };
    arrive(id, rows, to, cx)
}

fn ahead(
    id: i32,
    behind: Option<Vec<Value>>,
    wanted: i64,
    cx: &mut Cx<'_>,
) -> Result<Vec<CursorRow>, Stop> {
    let rows = match behind {
        Some(hidden) => read(id, CursorPlan::After, (wanted, &hidden), cx)?,
        None => read(id, CursorPlan::First, (wanted, &[]), cx)?,
    };
    Ok(present(rows))
}

/// Returns the rows before one, or the last ones, in their order.
fn backward(
    id: i32,
    before: Option<Vec<Value>>,
    wanted: i64,
    cx: &mut Cx<'_>,
) -> Result<Vec<CursorRow>, Stop> {
    let mut rows = match before {
        Some(hidden) => read(id, CursorPlan::Before, (wanted, &hidden), cx)?,
        None => read(id, CursorPlan::Last, (wanted, &[]), cx)?,
    };
    rows.reverse();
    Ok(present(rows))
}

fn present(rows: Vec<Vec<Value>>) -> Vec<CursorRow> {
    rows.into_iter().map(|values| CursorRow { values, missing: false }).collect()
}

fn refresh(id: i32, cx: &mut Cx<'_>) -> Result<Went, Stop> {
    let open = by_id(id, cx)?.opened()?;
    let (width, at) = (open.width(), open.position.start);
    let keys: Vec<Vec<Value>> =
        open.window.iter().map(|row| row.values[width..].to_vec()).collect();
    let mut rows = Vec::with_capacity(keys.len());
    for hidden in keys {
        rows.push(by_key(id, hidden, cx)?);
    }
    if let Some(open) = &mut by_id(id, cx)?.open {
        open.position.start = at;
        open.window = rows;
    }
    Ok(Went::There)
}

fn arrive(id: i32, rows: Vec<CursorRow>, at: i64, cx: &mut Cx<'_>) -> Result<Went, Stop> {
    if let Some(open) = &mut by_id(id, cx)?.open {
        let size = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let width = open.width();
        let edge = |row: Option<&CursorRow>| row.map(|row| row.values[width..].to_vec());
        open.edges = edge(rows.first()).zip(edge(rows.last())).map(|(first, last)| [first, last]);
        open.position = Window { start: at, size };
        open.window = rows;
    }
    Ok(Went::There)
}

/// Runs one of the cursor's statements with a count of rows and the values of the hidden columns.
fn read(
    id: i32,
    plan: CursorPlan,
    (count, hidden): (i64, &[Value]),
    cx: &mut Cx<'_>,
) -> Result<Vec<Vec<Value>>, Stop> {
    cx.session.refresh_catalog();
    let (bound, source) = plan_of(id, plan, cx)?;
    let mut variables = Vec::with_capacity(source.values.len() + 1 + hidden.len());
    variables.extend(source.values.iter().cloned());
    variables.push(Value::BigInt(count));
    variables.extend(hidden.iter().cloned());
    let open = by_id(id, cx)?.opened()?;
    variables.resize(open.variables.len(), Value::Null);
    let mut capture = Capture::default();
    open::run(&bound, &source, variables, (&mut capture, cx))?;
    let Capture { rows, messages, .. } = capture;
    for message in &messages {
        cx.sink.message(message)?;
    }
    Ok(rows)
}

/// Returns the plan of one of the cursor's statements, which it keeps as long as the catalog does
/// not change.
fn plan_of(
    id: i32,
    plan: CursorPlan,
    cx: &mut Cx<'_>,
) -> Result<(Arc<Bound>, Arc<::session::cursor::CursorSource>), Stop> {
    let version = cx.session.catalog.version;
    let cursor = by_id(id, cx)?;
    let source = Arc::clone(&cursor.source);
    let open = cursor.opened()?;
    let kept = open.plans.iter().find(|(kind, of, _)| *kind == plan && *of == version);
    if let Some((_, _, bound)) = kept {
        return Ok((Arc::clone(bound), source));
    }
    let statement = statement(open, plan).ok_or(Msg::InternalError)?.clone();
    let variables = Arc::clone(&open.variables);
    let bound = bind(&statement, &source, &variables, cx.session);
    let (bound, once) = bound.map_err(|error| changed(by_id(id, cx), error))?;
    let bound = Arc::new(bound);
    if !once && let Some(open) = &mut by_id(id, cx)?.open {
        open.plans.retain(|(kind, _, _)| *kind != plan);
        open.plans.push((plan, version, Arc::clone(&bound)));
    }
    Ok((bound, source))
}

/// Returns the error of a statement that bound when the cursor was opened: the tables have
/// changed, unless it is about permissions.
fn changed(cursor: Result<&mut Cursor, Stop>, error: types::Error) -> Stop {
    let is_permission = matches!(error.number, 229 | 230 | 916);
    match cursor.is_ok() && !is_permission {
        true => Msg::CursorSchemaChanged.into(),
        false => Stop::Error(error),
    }
}

/// Replaces the hidden values of a row of the window, and those that the keyset has for it.
pub(super) fn set_hidden(open: &mut OpenCursor, place: usize, column: usize, value: Value) {
    let width = open.width();
    if let Some(row) = open.window.get_mut(place) {
        row.values[width + column] = value.clone();
    }
    let number = open.position.start.max(1) - 1;
    let number = usize::try_from(number).unwrap_or(0) + place;
    match &mut open.members {
        Members::Rows(rows) => {
            if let Some(row) = rows.get_mut(number) {
                row[width + column] = value;
            }
        }
        Members::Keys(keys) => {
            if let Some(row) = keys.get_mut(number) {
                row[column] = value;
            }
        }
        Members::Moving => {}
    }
}
