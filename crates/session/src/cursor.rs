//! Cursors of a session or frame, declared in Transact-SQL or opened by a client's API: their
//! declaration, and what they hold while they are open.
//!
//! A fetch fills the window: one row for Transact-SQL, the fetch buffer for an API. Rows of the
//! window have hidden values behind those of the query: keys of the tables, the columns that
//! optimistic concurrency compares, and those that a dynamic cursor is ordered by.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use tsql::ast;
use types::value::ColumnType;
use types::{Msg, Value};

use crate::frame::FrameTables;
use catalog::ModuleSchema;
use catalog::security::Owner;
use plan::program::{TableVariableDef, VariableDef};
use plan::sink::ResultShape;
use plan::statement::Bound;

/// How a cursor sees changes that are made after it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorKind {
    /// STATIC, INSENSITIVE: not at all.
    Static,
    /// KEYSET: changed values and deleted rows, no new rows.
    Keyset,
    /// DYNAMIC: all of them.
    Dynamic,
    /// `FAST_FORWARD`: reads its rows once, forward.
    FastForward,
}

/// What guards a row between its fetch and a change through the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// No row can be changed through the cursor.
    ReadOnly,
    /// Fetched rows are locked in the session's transaction.
    ScrollLocks,
    /// A change compares the row with the values fetched.
    Optimistic,
}

/// Who a cursor was made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorInterface {
    /// DECLARE CURSOR or a cursor variable.
    Tsql,
    /// `sp_cursoropen` and the like.
    Api,
}

/// Where a cursor's name is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorScope {
    /// In its batch, procedure or trigger.
    Local,
    /// In every batch of the session.
    Global,
}

/// The last operation on a cursor, as `sp_describe_cursor` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the statements")]
pub enum CursorOperation {
    None,
    Open,
    Fetch,
    Insert,
    Update,
    Delete,
    Close,
}

/// A cursor's query with what it was declared in: values of variables are those at the
/// declaration.
pub struct CursorSource {
    /// The SELECT statement; bound at OPEN.
    pub query: ast::Statement,
    /// Variables of the program that declared it.
    pub variables: Vec<VariableDef>,
    /// The values of those variables.
    pub values: Vec<Value>,
    /// Table variables of that program.
    pub table_variables: Vec<TableVariableDef>,
    /// The tables of those.
    pub tables: FrameTables,
    /// Database that unqualified names are looked up in.
    pub database: Arc<str>,
    /// Owner of the module that declared it.
    pub owner: Option<Owner>,
    /// Schema of the module that declared it; `None` outside of modules.
    pub schema: Option<ModuleSchema>,
    /// Whether permissions are checked.
    pub asks: bool,
    /// `object_id` of the procedure that declared it; 0 for a batch.
    pub procedure_id: i32,
    /// `sql_handle` of the text that declared it; empty if it has none.
    pub sql_handle: Vec<u8>,
}

/// A cursor, open or closed.
pub struct Cursor {
    /// Number that identifies it in the session: the handle of an API cursor.
    pub id: i32,
    /// Name of the cursor or cursor variable, case-insensitive; empty for an API cursor without
    /// one.
    pub name: String,
    /// Whether a statement or a client's API made it.
    pub interface: CursorInterface,
    /// Where its name is known.
    pub scope: CursorScope,
    /// The query, with what it was declared in.
    pub source: Arc<CursorSource>,
    /// The kind that was asked for.
    pub asked: CursorKind,
    /// The kind that it has since OPEN.
    pub kind: CursorKind,
    /// The concurrency that was asked for.
    pub asked_concurrency: Concurrency,
    /// The concurrency that it has since OPEN.
    pub concurrency: Concurrency,
    /// SCROLL: FETCH may go to rows other than the next.
    pub scroll: bool,
    /// FOR UPDATE OF: names of the updatable columns; empty for all.
    pub updatable: Vec<String>,
    /// Whether FOR UPDATE was declared.
    pub for_update: bool,
    /// `TYPE_WARNING`: a message if OPEN makes another kind than was asked for.
    pub warns: bool,
    /// What it holds while it is open.
    pub open: Option<Box<OpenCursor>>,
    /// Whether a fetch that reaches its end removes it: AUTO_CLOSE.
    pub closes_at_end: bool,
    /// `@@FETCH_STATUS` of its last FETCH; -9 before the first.
    pub fetch_status: i32,
    /// Rows of the last operation.
    pub row_count: u64,
    /// The last operation on it.
    pub last: CursorOperation,
    /// What other sessions are shown of it.
    pub shown: ShownCursor,
}

/// `@@FETCH_STATUS` of a cursor without a FETCH.
pub const NEVER_FETCHED: i32 = -9;

/// A hidden column behind a cursor's own columns.
#[derive(Clone, Debug)]
pub struct HiddenColumn {
    /// Name in its table.
    pub name: String,
    /// Type in its table.
    pub ty: ColumnType,
}

/// A table that a cursor's query reads directly.
#[derive(Clone, Debug)]
pub struct KeyTable {
    /// `object_id` of the table.
    pub id: i32,
    /// Id of its database.
    pub database_id: i16,
    /// The name that the query's expressions call it by: alias, or name as written.
    pub called: ast::ObjectName,
    /// Its name as written in FROM.
    pub name: ast::ObjectName,
    /// Indexes among the hidden columns of the columns that identify its rows.
    pub key: Vec<usize>,
    /// Whether those are a key: no two rows have equal values.
    pub unique: bool,
    /// Indexes among the hidden columns of those that optimistic concurrency compares.
    pub checks: Vec<usize>,
    /// Whether that is the rowversion column.
    pub row_version: bool,
    /// It is read with NOLOCK: its rows can't be changed through the cursor.
    pub unlocked: bool,
}

/// Where a column of a cursor comes from, for COLINFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// Number of the table, from 1; 0 for an expression.
    pub table: usize,
    /// Name of the column in its table.
    pub name: String,
    /// `column_id` of the column in its table.
    pub column_id: i32,
    /// Whether it is part of the table's key.
    pub key: bool,
}

/// A row of the window.
#[derive(Clone, Debug)]
pub struct CursorRow {
    /// Values of the query's columns, then of the hidden ones.
    pub values: Vec<Value>,
    /// Whether the row no longer exists.
    pub missing: bool,
}

/// The rows of an open cursor.
pub enum Members {
    /// All rows, as of OPEN.
    Rows(Vec<Vec<Value>>),
    /// Hidden values of all rows, as of OPEN: rows are read again by their keys.
    Keys(Vec<Vec<Value>>),
    /// Rows are looked for at each fetch, in the order of hidden columns: index, and whether
    /// descending.
    Moving,
}

/// The statements of a cursor that reads its rows again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorPlan {
    /// One row, by the keys of its tables.
    ByKey,
    /// The first rows of the order.
    First,
    /// The rows behind a given one.
    After,
    /// The last rows, backward.
    Last,
    /// Rows before one, backward.
    Before,
}

/// What an open cursor holds.
pub struct OpenCursor {
    /// The columns of the query itself.
    pub shape: Arc<ResultShape>,
    /// Shape of API fetches: the columns and ROWSTAT.
    pub sent: Arc<ResultShape>,
    /// Where each of the query's columns comes from; empty if that is not known.
    pub origins: Vec<ColumnOrigin>,
    /// The hidden columns, in their order.
    pub hidden: Vec<HiddenColumn>,
    /// The tables whose rows can be identified.
    pub tables: Vec<KeyTable>,
    /// The rows that it has, or how they are found.
    pub members: Members,
    /// The rows of the last fetch.
    pub window: Vec<CursorRow>,
    /// Their place: see [`Window`]. For a dynamic cursor 0 before the first row, -1 after the
    /// last, else 1.
    pub position: Window,
    /// Hidden values of the first and the last row of the window as they were fetched: where a
    /// dynamic cursor goes on, whatever has become of the rows since.
    pub edges: Option<[Vec<Value>; 2]>,
    /// Index in the window of the row that positioned statements change.
    pub place: usize,
    /// Statements that read rows again.
    pub statements: Vec<(CursorPlan, ast::Statement)>,
    /// Their plans, with the catalog's version that they are valid for.
    pub plans: Vec<(CursorPlan, u64, Arc<Bound>)>,
    /// The source's variables, then those of the statements: a count of rows, and one for each
    /// hidden column.
    pub variables: Arc<[VariableDef]>,
}

impl OpenCursor {
    /// Returns the number of the query's own columns.
    pub fn width(&self) -> usize {
        self.shape.columns.len()
    }

    /// Returns the number of rows; `None` for a dynamic cursor.
    pub fn count(&self) -> Option<usize> {
        match &self.members {
            Members::Rows(rows) | Members::Keys(rows) => Some(rows.len()),
            Members::Moving => None,
        }
    }

    /// Returns the row that positioned statements change.
    pub fn current(&self) -> Option<&CursorRow> {
        self.window.get(self.place)
    }
}

impl Cursor {
    /// Returns whether this is its name.
    pub fn is_named(&self, name: &str) -> bool {
        !self.name.is_empty() && self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the result of `CURSOR_STATUS`: 1 open, 0 open without rows, -1 closed. A dynamic
    /// cursor, which may get rows later, is never 0.
    pub fn status(&self) -> i16 {
        match &self.open {
            None => -1,
            Some(open) if self.kind != CursorKind::Dynamic && open.count() == Some(0) => 0,
            Some(_) => 1,
        }
    }

    /// Returns `@@CURSOR_ROWS`: -1 for a dynamic cursor, 0 for a closed one.
    pub fn rows(&self) -> i32 {
        match &self.open {
            None => 0,
            Some(_) if self.kind == CursorKind::Dynamic => -1,
            Some(open) => open.count().map_or(-1, |count| i32::try_from(count).unwrap_or(i32::MAX)),
        }
    }

    /// Closes it: what it held is dropped.
    pub fn close(&mut self) {
        self.open = None;
        self.kind = self.asked;
        self.last = CursorOperation::Close;
        self.row_count = 0;
    }

    /// Returns the open cursor.
    ///
    /// # Errors
    /// 16917 for a closed cursor.
    pub fn opened(&self) -> types::Result<&OpenCursor> {
        self.open.as_deref().ok_or_else(|| Msg::CursorNotOpen.into())
    }

    /// Returns the open cursor and the current row, whose table can be changed through it.
    ///
    /// # Errors
    /// 16917 for a closed cursor, 16929 for a read-only one, 16931 where it is on no row.
    pub fn current(&self) -> types::Result<(&OpenCursor, &CursorRow)> {
        let open = self.opened()?;
        if self.concurrency == Concurrency::ReadOnly || open.tables.is_empty() {
            return Err(Msg::CursorReadOnly.into());
        }
        let row = open.current().ok_or(Msg::CursorNoRows)?;
        Ok((open, row))
    }
}

/// What `sys.dm_exec_cursors` shows of a cursor.
#[derive(Clone, Debug)]
pub struct CursorFacts {
    /// Number of the cursor.
    pub id: i32,
    /// Its name; empty if it has none.
    pub name: String,
    /// Who made it, its kind and concurrency, and where its name is known.
    pub properties: (CursorInterface, CursorKind, Concurrency, CursorScope),
    /// `sql_handle` of the text that declared it.
    pub sql_handle: Vec<u8>,
    /// Where its query is in that text, in bytes of UTF-8.
    pub span: (u32, u32),
    /// When it was made.
    pub created: types::date::Moment,
    /// Whether it is open.
    pub is_open: bool,
    /// `@@FETCH_STATUS` of its last FETCH.
    pub fetch_status: i32,
    /// Most rows of a fetch so far.
    pub buffer_rows: usize,
    /// Number of the first row of its window, as the view shows it.
    pub start: i64,
    /// Index of the current row in its window.
    pub place: usize,
    /// When the last OPEN or FETCH began, in ticks.
    pub touched: u64,
}

/// The facts of a session's cursors, which views of other sessions read.
pub type ShownCursors = Arc<SpinLock<Vec<CursorFacts>>>;

/// A cursor's entry in the facts of its session, which goes with the cursor.
pub struct ShownCursor {
    id: i32,
    created: types::date::Moment,
    all: ShownCursors,
}

impl Drop for ShownCursor {
    fn drop(&mut self) {
        self.all.lock().retain(|facts| facts.id != self.id);
    }
}

impl Cursor {
    /// Shows its present state to other sessions. Called by each operation on it.
    pub fn show(&self) {
        let open = self.open.as_deref();
        let start = match open {
            None => 0,
            Some(open) => match (self.kind, open.count()) {
                (CursorKind::FastForward | CursorKind::Dynamic, _) | (_, None) => {
                    if open.position.start == 0 { 0 } else { -1 }
                }
                (_, Some(count)) if open.position.start > i64::try_from(count).unwrap_or(0) => -1,
                _ => open.position.start,
            },
        };
        let rows = open.map_or(0, |open| open.window.len());
        let mut all = self.shown.all.lock();
        let before = all.iter().position(|facts| facts.id == self.id);
        if let Some(facts) = before.map(|place| &mut all[place]) {
            facts.name.clone_from(&self.name);
            facts.properties = (self.interface, self.kind, self.concurrency, self.scope);
            facts.is_open = open.is_some();
            facts.fetch_status = self.fetch_status;
            facts.buffer_rows = facts.buffer_rows.max(rows);
            facts.start = start;
            facts.place = open.map_or(0, |open| open.place);
            facts.touched = sos::clock::now_ticks();
            return;
        }
        let span = self.source.query.span;
        all.push(CursorFacts {
            id: self.id,
            name: self.name.clone(),
            properties: (self.interface, self.kind, self.concurrency, self.scope),
            sql_handle: self.source.sql_handle.clone(),
            span: (span.start, span.end),
            created: self.shown.created,
            is_open: open.is_some(),
            fetch_status: self.fetch_status,
            buffer_rows: rows.max(1),
            start,
            place: 0,
            touched: sos::clock::now_ticks(),
        });
    }
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

/// Fetch types of `sp_cursorfetch`; those of FETCH are the same.
pub mod fetch {
    /// FIRST: the first rows of the result.
    pub const FIRST: i64 = 0x01;
    /// NEXT: the rows behind the window.
    pub const NEXT: i64 = 0x02;
    /// PREV, PRIOR: moved down to the first row if there are too few rows before.
    pub const PRIOR: i64 = 0x04;
    /// LAST: the last rows of the result.
    pub const LAST: i64 = 0x08;
    /// ABSOLUTE: rows from a number on.
    pub const ABSOLUTE: i64 = 0x10;
    /// RELATIVE: rows from a distance to the window on.
    pub const RELATIVE: i64 = 0x20;
    /// REFRESH: the same rows again.
    pub const REFRESH: i64 = 0x80;
    /// INFO: no rows, but where the cursor is.
    pub const INFO: i64 = 0x100;
    /// `PREV_NOADJUST`: as PREV, but only rows before the window.
    pub const PRIOR_ONLY: i64 = 0x200;
}

impl Window {
    /// Returns the window of a fetch of `wanted` rows out of `count`; `None` for an unknown fetch
    /// type.
    pub fn moved(self, kind: i64, row: i64, wanted: i64, count: i64) -> Option<Self> {
        let mut wanted = wanted.max(0);
        let start = match kind {
            fetch::FIRST if wanted == 0 => 0,
            fetch::FIRST => 1,
            fetch::NEXT => (self.start + self.size).max(1),
            fetch::PRIOR | fetch::PRIOR_ONLY if self.start <= 1 => 0,
            fetch::PRIOR => (self.start - wanted).max(1),
            fetch::PRIOR_ONLY => {
                let start = self.start - wanted;
                wanted += (start - 1).min(0);
                start.max(1)
            }
            fetch::LAST => (count - wanted + 1).max(1),
            fetch::ABSOLUTE if row < 0 => count + 1 + row,
            fetch::ABSOLUTE => row,
            fetch::RELATIVE => self.start.saturating_add(row),
            fetch::REFRESH => self.start,
            _ => return None,
        };
        let start = start.clamp(0, count + 1);
        let size = if start == 0 { 0 } else { wanted.min(count + 1 - start) };
        Some(Self { start, size })
    }
}

/// Most open API cursors per session.
const API_CURSORS_MAX: usize = 10_000;

/// First number of a cursor; SQL Server's have similar values.
const ID_FIRST: i32 = 180_150_003;

/// The cursors of a session.
#[derive(Default)]
pub struct Cursors {
    /// Those declared GLOBAL, in order of declaration.
    pub global: Vec<Cursor>,
    /// Those opened by the client's API.
    pub api: Vec<Cursor>,
    /// Number of the cursor that `@@CURSOR_ROWS` is about: the last that was opened.
    pub last_opened: i32,
    made: i32,
}

impl Cursors {
    /// Returns the number of a new cursor, and its entry among those shown to other sessions.
    ///
    /// # Errors
    /// 701 if the session has too many.
    pub fn next(
        &mut self,
        created: types::date::Moment,
        shown: &ShownCursors,
    ) -> types::Result<(i32, ShownCursor)> {
        if self.api.len() >= API_CURSORS_MAX {
            return Err(Msg::OutOfMemory.into());
        }
        let id = ID_FIRST.wrapping_add(self.made.wrapping_mul(2));
        self.made = self.made.wrapping_add(1);
        Ok((id, ShownCursor { id, created, all: Arc::clone(shown) }))
    }

    /// Drops all, at a reset of the connection. Numbers are not used again.
    pub fn clear(&mut self) {
        self.global.clear();
        self.api.clear();
    }
}

/// Makes the facts of a session's cursors: none.
pub fn shown_cursors() -> ShownCursors {
    Arc::new(SpinLock::new(SpinClass::SessionManager, Vec::new()))
}
