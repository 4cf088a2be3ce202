//! The executor: runs bound plans against storage, row by row.
//!
//! - `eval.rs` evaluates expressions;
//! - `query/` has one file per operator: each pushes its rows, as filled registers, to the one above;
//! - `dml/` changes rows; `ddl/` changes the catalog;
//! - `run.rs` runs the steps of a program: control flow, errors, transactions.

pub mod eval;
pub mod query;

use std::sync::Arc;

use types::Value;
use types::row::RowBuffer;

use crate::catalog::TableRows;
use crate::session::SessionState;
use crate::sink::{Command, ResultSink};

/// What the running statement can reach.
pub struct Cx<'a> {
    /// The session.
    pub session: &'a mut SessionState,
    /// Variables and tables of the running batch or procedure.
    pub frame: &'a mut Frame,
    /// Where results go.
    pub sink: &'a mut dyn ResultSink,
    /// The register file of the running statement.
    pub registers: Vec<Value>,
    /// Time of the statement, read once at its first use: GETDATE() is the same for all its rows.
    pub now: Option<types::date::Moment>,
    /// The transaction that the statement reads and writes in; none outside of a statement and in a
    /// point statement, then a subquery begins one of its own.
    pub transaction: Option<&'a storage::Transaction>,
    /// Error of storage on its way up to where the statement is restarted or the transaction ended;
    /// what travels as `Err` meanwhile is only its text.
    pub fault: Option<storage::Error>,
    /// Buffers that are reused from row to row and from statement to statement.
    pub scratch: Scratch,
    /// Rows of recursive CTEs' last round, by id.
    pub work_tables: Vec<(u32, Arc<Vec<Vec<Value>>>)>,
}

/// Buffers that live as long as their [`Cx`].
#[derive(Debug, Default)]
pub struct Scratch {
    /// Index key under construction.
    pub key: Vec<u8>,
    /// Row under construction.
    pub row: RowBuffer,
    /// Output values of a row.
    pub output: Vec<Value>,
    /// Variables as they were before a statement that may be restarted.
    pub variables: Vec<Value>,
}

impl<'a> Cx<'a> {
    /// Makes one with an empty register file.
    pub fn new(
        session: &'a mut SessionState,
        frame: &'a mut Frame,
        sink: &'a mut dyn ResultSink,
    ) -> Self {
        Self {
            session,
            frame,
            sink,
            registers: Vec::new(),
            now: None,
            transaction: None,
            fault: None,
            scratch: Scratch::default(),
            work_tables: Vec::new(),
        }
    }
}

/// A batch's or procedure's variables.
pub struct Frame {
    /// Scalars by slot.
    pub variables: Vec<Value>,
    /// Table variables by slot; their definitions are in the program.
    pub tables: Vec<Arc<TableRows>>,
    /// The procedure that runs; `None` in a batch.
    pub procedure: Option<Arc<crate::catalog::ProcedureDef>>,
    /// Last identity value inserted in this scope: SCOPE_IDENTITY().
    pub scope_identity: Option<Value>,
}

/// What a data statement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementResult {
    /// What kind of statement it was.
    pub command: Command,
    /// Rows returned, assigned or changed: `@@ROWCOUNT`.
    pub rows: u64,
}

impl Cx<'_> {
    /// Returns the statement's time, UTC: the clock is read at the first call.
    pub fn now(&mut self) -> types::date::Moment {
        *self.now.get_or_insert_with(clock)
    }

    /// Returns the session's settings that conversions go by.
    pub fn convert_options(&self) -> types::ConvertOptions {
        let options = &self.session.options;
        types::ConvertOptions {
            date_format: options.date_format,
            ansi_warnings: if options.ansi_warnings {
                types::convert::AnsiWarnings::On
            } else {
                types::convert::AnsiWarnings::Off
            },
        }
    }
}

fn clock() -> types::date::Moment {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    // Both are far inside the range: a day has 864e9 ticks, the calendar 3.65 million days.
    types::date::Moment {
        days: i32::try_from(days).unwrap_or(types::date::DAYS_MAX),
        ticks: i64::try_from(ticks).unwrap_or(0),
        offset: 0,
    }
}
