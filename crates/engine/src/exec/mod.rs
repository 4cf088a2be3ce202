//! The executor: runs bound plans against storage, row by row.
//!
//! - `eval.rs` evaluates expressions;
//! - `query/` has one file per operator, each fills registers and asks its input for the next row;
//! - `dml/` changes rows;
//! - `run.rs` runs the steps of a program: control flow, errors, transactions.

pub mod eval;
pub mod query;

use std::sync::Arc;

use types::Value;

use crate::catalog::TableDef;
use crate::plan::program::Program;
use crate::session::SessionState;
use crate::sink::ResultSink;

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
}

/// A batch's or procedure's variables.
pub struct Frame {
    /// Its program.
    pub program: Arc<Program>,
    /// Scalars by slot.
    pub variables: Vec<Value>,
    /// Table variables by slot.
    pub tables: Vec<Arc<TableDef>>,
    /// The procedure that runs; `None` in a batch.
    pub procedure: Option<Arc<crate::catalog::ProcedureDef>>,
    /// Last identity value inserted in this scope: SCOPE_IDENTITY().
    pub scope_identity: Option<Value>,
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
