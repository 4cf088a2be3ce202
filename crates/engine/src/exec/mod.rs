//! The executor: runs bound plans against storage, row by row.
//!
//! - `eval.rs` evaluates expressions;
//! - `query/` has one file per operator, each fills registers and asks its input for the next row;
//! - `dml/` changes rows;
//! - `run.rs` runs the steps of a program: control flow, errors, transactions.

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
