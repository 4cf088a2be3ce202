//! What statements leave in the session for later ones, until the connection is reset: `Held`, and
//! the results of the last statements in `LastResults`.

use std::any::Any;
use std::sync::Arc;

use types::{Bytes, Value};

use crate::cursor::Cursors;
use crate::pointer::TextPointers;
use crate::prepared::Prepared;
use crate::session_context::SessionContext;

/// What statements and calls have put into the session. It lasts until they take it out again, or
/// until a reset of the connection.
#[derive(Default)]
pub struct Held {
    /// Cursors declared GLOBAL, and those of the client's API.
    pub cursors: Cursors,
    /// Documents of sp_xml_preparedocument by handle.
    pub documents: Vec<(i32, Arc<dyn Any + Send + Sync>)>,
    /// Prepared statements by handle.
    pub prepared: Vec<(i32, Arc<Prepared>)>,
    /// Pointers returned by TEXTPTR.
    pub text_pointers: TextPointers,
    /// An INSERT BULK statement whose rows have not arrived yet: they come with the next message,
    /// or not at all.
    pub pending_bulk: Option<tsql::ast::InsertBulk>,
    /// `object_id` of the table with IDENTITY_INSERT ON.
    pub identity_insert: Option<i32>,
    /// `CONTEXT_INFO()`, up to 128 bytes.
    pub context_info: Bytes,
    /// The keys and values that `SESSION_CONTEXT()` reads.
    pub session_context: SessionContext,
}

impl Held {
    /// Drops everything, at a reset of the connection. New text pointers still differ from those
    /// of before, which the client may have kept.
    pub fn reset(&mut self) {
        let mut text_pointers = std::mem::take(&mut self.text_pointers);
        text_pointers.clear();
        let mut cursors = std::mem::take(&mut self.cursors);
        cursors.clear();
        *self = Self { text_pointers, cursors, ..Self::default() };
    }
}

/// The results of the last statements, which system functions return. Each lasts until the next
/// statement that sets it, in any request, or until a reset of the connection.
#[derive(Clone, Debug)]
pub struct LastResults {
    /// `@@ERROR` after the last statement.
    pub error: i32,
    /// `@@ROWCOUNT` after the last statement.
    pub row_count: u64,
    /// `@@FETCH_STATUS` of the last FETCH.
    pub fetch_status: i32,
    /// `@@CURSOR_ROWS` of the last OPEN.
    pub cursor_rows: i32,
    /// `@@IDENTITY`: last identity value inserted, in any scope.
    pub identity: Option<Value>,
    /// Identity value that the last batch inserted itself: SCOPE_IDENTITY() of the next batch.
    pub scope_identity: Option<Value>,
}

impl Default for LastResults {
    fn default() -> Self {
        Self {
            error: 0,
            row_count: 0,
            // -1 as for a FETCH that failed: there has been none.
            fetch_status: -1,
            cursor_rows: 0,
            identity: None,
            scope_identity: None,
        }
    }
}

impl LastResults {
    /// Forgets the results, at a reset of the connection. `@@CURSOR_ROWS` stays.
    pub fn reset(&mut self) {
        *self = Self { cursor_rows: self.cursor_rows, ..Self::default() };
    }
}
