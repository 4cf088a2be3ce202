//! Cursors of a session or frame: their declaration, and their rows once they are open.

use std::sync::Arc;

use tsql::ast::{self, FetchDirection};
use types::value::ColumnType;
use types::{Msg, Value};

use crate::stop::Stop;
use plan::sink::ResultShape;

/// A Transact-SQL cursor, local or global.
pub struct Cursor {
    /// Name of the cursor or cursor variable; case-insensitive.
    pub name: String,
    /// The SELECT statement; bound at OPEN.
    pub query: ast::Statement,
    /// Rows read at OPEN; `None` while closed.
    pub rows: Option<Vec<Vec<Value>>>,
    /// Columns with their types; `None` until OPEN.
    pub shape: Option<Arc<ResultShape>>,
    /// Current row: 0 before the first; `rows.len() + 1` after the last.
    pub position: usize,
    /// SCROLL: FETCH may go to rows other than the next.
    pub scroll: bool,
    /// STATIC, INSENSITIVE or KEYSET: the set of rows is fixed at OPEN.
    pub fixed: bool,
    /// Whether it was declared read-only.
    pub read_only: bool,
    /// FOR UPDATE OF: names of the updatable columns; empty for all.
    pub updatable: Vec<String>,
    /// Whether FOR UPDATE was declared.
    pub for_update: bool,
    /// TYPE_WARNING, for a cursor whose type needs a key: KEYSET or DYNAMIC.
    pub warns: bool,
    /// Tables that can be changed through it; filled at OPEN.
    pub tables: Vec<KeyTable>,
}

/// A table that can be changed through a cursor.
#[derive(Clone)]
pub struct KeyTable {
    /// `object_id` of the table.
    pub id: i32,
    /// The columns that identify its rows.
    pub columns: Vec<(String, ColumnType)>,
    /// Whether those are a key: no two rows have equal values.
    pub unique: bool,
    /// Index of the first of them in a row of the cursor.
    pub place: usize,
}

impl Cursor {
    /// Returns the result of CURSOR_STATUS: 1 open, 0 open without rows, -1 closed. A dynamic
    /// cursor, which may get rows later, is never 0.
    pub fn status(&self) -> i16 {
        match &self.rows {
            None => -1,
            Some(rows) if rows.is_empty() && self.fixed => 0,
            Some(_) => 1,
        }
    }

    /// Returns the current row with the tables that can be changed through it, and the names of the
    /// updatable columns.
    ///
    /// # Errors
    /// 16917 for a closed cursor, 16929 for a read-only one, 16931 where it is on no row.
    pub fn current(&self) -> types::Result<(&[Value], &[KeyTable], &[String])> {
        let Some(rows) = &self.rows else { return Err(Msg::CursorNotOpen.into()) };
        if self.tables.is_empty() {
            return Err(Msg::CursorReadOnly.into());
        }
        let row = self.position.checked_sub(1).and_then(|at| rows.get(at));
        let row = row.ok_or(Msg::CursorNoRows)?;
        Ok((row, &self.tables, &self.updatable))
    }

    /// Moves to another row, and returns it.
    pub fn move_to(
        &mut self,
        direction: &FetchDirection,
        offset: i64,
    ) -> Result<Option<Vec<Value>>, Stop> {
        let Some(rows) = &self.rows else { return Err(Msg::CursorNotOpen.into()) };
        let forward = matches!(direction, FetchDirection::Next);
        if !forward && !self.scroll {
            let kind = match direction {
                FetchDirection::Prior => "prior",
                FetchDirection::First => "first",
                FetchDirection::Last => "last",
                FetchDirection::Absolute(_) => "absolute",
                FetchDirection::Relative(_) | FetchDirection::Next => "relative",
            };
            return Err(Msg::CursorForwardOnly("fetch", kind).into());
        }
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let current = i64::try_from(self.position).unwrap_or(i64::MAX);
        let target = match direction {
            FetchDirection::Next => current + 1,
            FetchDirection::Prior => current - 1,
            FetchDirection::First => 1,
            FetchDirection::Last => count,
            FetchDirection::Absolute(_) if offset < 0 => count + 1 + offset,
            FetchDirection::Absolute(_) => offset,
            FetchDirection::Relative(_) => current.saturating_add(offset),
        };
        let target = target.clamp(0, count + 1);
        self.position = usize::try_from(target).unwrap_or(0);
        Ok(self.position.checked_sub(1).and_then(|at| rows.get(at)).cloned())
    }
}

/// A server cursor opened by a client API (sp_cursoropen).
pub struct ApiCursor {
    /// Handle that the client refers to it by.
    pub handle: i32,
    /// Columns of the result.
    pub shape: Arc<ResultShape>,
    /// Rows as of the open.
    pub rows: Vec<Vec<Value>>,
    /// The rows of the last fetch.
    pub window: Window,
}

/// The rows of the last fetch: `size` rows from `start`, which counts from 1. Before the first row
/// `start` is 0, after the last one it is one more than the number of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of the first row, from 1.
    pub start: i64,
    /// Number of rows in it.
    pub size: i64,
}

impl Window {
    /// Returns the window of a fetch of `wanted` rows out of `count`; `None` for an unknown fetch
    /// type.
    pub fn moved(self, kind: i64, row: i64, wanted: i64, count: i64) -> Option<Self> {
        let mut wanted = wanted.max(0);
        let start = match kind {
            0x01 => 1,
            0x02 => (self.start + self.size).max(1),
            0x04 | 0x200 if self.start <= 1 => 0,
            0x04 => (self.start - wanted).max(1),
            0x200 => {
                let start = self.start - wanted;
                wanted += (start - 1).min(0);
                start.max(1)
            }
            0x08 => (count - wanted + 1).max(1),
            0x10 if row < 0 => count + 1 + row,
            0x10 => row,
            0x20 => self.start.saturating_add(row),
            0x80 => self.start,
            _ => return None,
        };
        let start = start.clamp(0, count + 1);
        let size = if start == 0 { 0 } else { wanted.min(count + 1 - start) };
        Some(Self { start, size })
    }
}
