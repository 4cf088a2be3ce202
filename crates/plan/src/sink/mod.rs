//! `ResultSink`: the only interface through which results leave the engine, as a stream of calls.
//!
//! The server implements it over TDS tokens, tests over a vector. Calls come in the order of the
//! wire: `columns`, `row`*, `done` per result; messages anywhere between; at the end of a procedure
//! `return_status`, `return_value`*, `done`.

mod command;
mod first_error;

pub use command::Command;
pub use first_error::FirstError;
use smol_str::SmolStr;
use types::value::ColumnType;
use types::{Error, Value};

/// The receiver is gone or accepts no more: execution stops, and nothing is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnected;

/// The result of a call to a [`ResultSink`].
pub type Sent = Result<(), Disconnected>;

/// Properties of a column besides its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It has the identity property.
    pub identity: bool,
    /// It is a `decimal` declared as `numeric`, which is another type to clients.
    pub numeric: bool,
    /// It is HIDDEN in its table: `*` omits it.
    pub hidden: bool,
    /// It is the literal NULL in every row, without a type: it takes the type of the column it is
    /// combined with, and is sent as `int`.
    pub untyped: bool,
    /// It is a non-computed column of a table, perhaps through views and derived tables.
    pub stored: bool,
}

impl Traits {
    /// Returns the traits of a table's column.
    pub fn of(column: &catalog::ColumnDef) -> Self {
        let hidden = column.hidden;
        let identity = column.identity.is_some();
        let stored = column.computed.is_none();
        Self { identity, numeric: column.numeric, hidden, untyped: false, stored }
    }

    /// Returns the traits of a column whose value comes from this one and that is not an identity
    /// itself.
    #[must_use]
    pub fn derived(self) -> Self {
        Self { identity: false, ..self }
    }

    /// Returns the traits of an untyped NULL.
    pub fn of_null() -> Self {
        Self { untyped: true, ..Self::default() }
    }
}

/// A column of a result set or an OUTPUT parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Name; empty if the expression has none.
    pub name: SmolStr,
    /// Type, collation and nullability.
    pub column_type: ColumnType,
    /// Properties besides the type.
    pub traits: Traits,
    /// Whether a client may update it: false for an expression.
    pub updatable: bool,
}

/// Columns of a result, created once when a statement is compiled. The server caches each shape's
/// encoded metadata per connection by `id`, so that a cached plan encodes no metadata.
#[derive(Debug)]
pub struct ResultShape {
    /// Unique in the process.
    pub id: u64,
    /// The columns, left to right.
    pub columns: Vec<ColumnInfo>,
}

/// Where a column of a cursor comes from, for a client that changes rows through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowseColumn {
    /// Number of the table, from 1; 0 for an expression.
    pub table: usize,
    /// The column's name in its table, if the result has another.
    pub name: Option<String>,
    /// Whether it is part of the table's key.
    pub is_key: bool,
    /// Whether the client did not ask for it: ROWSTAT.
    pub is_hidden: bool,
}

/// Which of the three DONE tokens is meant. `[MS-TDS] 2.2.7.6 to 2.2.7.8`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneKind {
    /// A statement of a batch, or the batch itself.
    Done,
    /// A statement inside a procedure (or RPC).
    InProcedure,
    /// A procedure (or RPC) as a whole.
    Procedure,
}

/// The end of a statement, procedure or batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// DONE, DONEINPROC or DONEPROC.
    pub kind: DoneKind,
    /// The kind of statement that ended.
    pub command: Command,
    /// Rows returned or changed, where there is a count to report (NOCOUNT OFF).
    pub rows: Option<u64>,
    /// Whether the statement ended in an error.
    pub error: bool,
    /// Whether more tokens of the same request follow.
    pub more: bool,
}

/// A change of the session's environment that the client's driver has to learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvChange<'a> {
    /// The current database changed.
    Database {
        /// Name after the change.
        new: &'a str,
        /// Name before the change.
        old: &'a str,
    },
    /// SET LANGUAGE changed the language.
    Language {
        /// Language after the change.
        new: &'a str,
        /// Language before the change.
        old: &'a str,
    },
    /// A transaction began; its descriptor comes back with every request that runs in it.
    BeginTransaction(u64),
    /// The transaction was committed.
    CommitTransaction(u64),
    /// The transaction was rolled back.
    RollbackTransaction(u64),
}

/// Why a request is cut off that its client did not cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// Another session has killed the session.
    Killed,
    /// The server is stopping.
    Stopping,
}

/// Receives the results of a request.
pub trait ResultSink {
    /// Starts a result set.
    fn columns(&mut self, shape: &ResultShape) -> Sent;
    /// Says where the columns of a cursor's result set come from: tables as the parts of their
    /// names, and columns. Follows `columns`; a receiver that has no use for it ignores it.
    fn browse(&mut self, _tables: &[Vec<String>], _columns: &[BrowseColumn]) -> Sent {
        Ok(())
    }
    /// Adds a row to the result set; one value per column, of the column's type.
    fn row(&mut self, values: &[Value]) -> Sent;
    /// Ends a statement, procedure or batch.
    fn done(&mut self, done: Done) -> Sent;
    /// Passes an error (severity 11 and more) or an informational message on.
    fn message(&mut self, message: &Error) -> Sent;
    /// Reports a procedure's return status.
    fn return_status(&mut self, status: i32) -> Sent;
    /// Reports an OUTPUT parameter by its 0-based place in the call.
    fn return_value(&mut self, ordinal: u16, column: &ColumnInfo, value: &Value) -> Sent;
    /// Reports a change of the environment.
    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent;
    /// Writes a message to the server's log: RAISERROR WITH LOG. A receiver without a log ignores
    /// it.
    fn log(&mut self, _message: &Error) {}
    /// Sends what is buffered, for RAISERROR WITH NOWAIT.
    fn flush(&mut self) -> Sent;
    /// Whether the client has to read before more rows should be added: only a sink whose waits may
    /// let other requests of its connection run says so.
    fn is_full(&self) -> bool {
        false
    }
    /// Waits until the client has read enough of what is buffered.
    fn drain(&mut self) -> Sent {
        Ok(())
    }
    /// Number of result sets, DONEs and messages that the receiver has got so far: with none, an
    /// atomic block may run again. `None` if the sink does not count, and then none does.
    fn sent(&self) -> Option<u64> {
        None
    }
    /// Why a cancelled request is cut off; `None` if its client wishes it, who then needs no error.
    fn cut_off(&self) -> Option<CutOff> {
        None
    }
}
