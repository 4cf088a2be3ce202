//! Cursors as a session or a frame keeps them: what is declared, and the rows since OPEN.

use std::sync::Arc;

use tsql::ast::{self, FetchDirection};
use types::value::ColumnType;
use types::{Msg, Value};

use crate::stop::Stop;
use plan::sink::ResultShape;

/// A cursor.
pub struct Cursor {
    /// Its name, or the variable's; case-insensitive.
    pub name: String,
    /// The SELECT that it runs; bound at OPEN.
    pub query: ast::Statement,
    /// Rows since OPEN; `None` while closed.
    pub rows: Option<Vec<Vec<Value>>>,
    /// Types of the columns, since OPEN.
    pub shape: Option<Arc<ResultShape>>,
    /// 0 before the first row; `rows.len() + 1` behind the last.
    pub position: usize,
    /// Whether it goes to other rows than the next: SCROLL.
    pub scroll: bool,
    /// Whether its rows are chosen at OPEN: STATIC, INSENSITIVE or KEYSET.
    pub fixed: bool,
    /// Whether it was declared so that nothing can be changed through it.
    pub read_only: bool,
    /// FOR UPDATE OF: the columns that may be changed; any if it is empty.
    pub updatable: Vec<String>,
    /// FOR UPDATE was said.
    pub for_update: bool,
    /// TYPE_WARNING, of a cursor whose type takes keys: KEYSET or DYNAMIC.
    pub warns: bool,
    /// The tables that can be changed through it, since OPEN.
    pub tables: Vec<KeyTable>,
}

/// A table that can be changed through a cursor.
#[derive(Clone)]
pub struct KeyTable {
    /// `object_id`
    pub id: i32,
    /// The columns that tell its rows apart.
    pub columns: Vec<(String, ColumnType)>,
    /// Whether they are a key: no two rows have the same values.
    pub unique: bool,
    /// Place of the first of them in a row of the cursor.
    pub place: usize,
}

impl Cursor {
    /// Returns what CURSOR_STATUS says of it: 1 open, 0 open without rows, -1 closed. A cursor that may
    /// yet get rows is never without.
    pub fn status(&self) -> i16 {
        match &self.rows {
            None => -1,
            Some(rows) if rows.is_empty() && self.fixed => 0,
            Some(_) => 1,
        }
    }

    /// Returns the current row with the tables that it can be changed in, and the columns that may be
    /// changed.
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

    /// Moves and returns the row that is current then.
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

/// An open cursor of the client's API.
pub struct ApiCursor {
    /// What the client names it by.
    pub handle: i32,
    /// Its columns.
    pub shape: Arc<ResultShape>,
    /// Its rows, as they were when it was opened.
    pub rows: Vec<Vec<Value>>,
    /// The rows that the client has fetched last.
    pub window: Window,
}

/// The rows that the client has: from `start`, counted from 1, so many. Before the first row `start` is
/// 0, behind the last one more than there are rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The number of the first of them.
    pub start: i64,
    /// How many they are.
    pub size: i64,
}

impl Window {
    /// The rows that a fetch of `wanted` rows takes, of so many; none for a kind that means nothing.
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
