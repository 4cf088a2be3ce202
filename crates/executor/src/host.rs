//! `Host`: the interface through which the executor calls the layers above it.
//!
//! The executor runs bound plans, but some parts of a plan need the upper layers: the bodies of
//! functions and triggers are programs, SELECT INTO creates a table, a foreign key may need
//! expressions to be bound, and a tree that reads many rows is run in batches. A context carries
//! the host from the session's entry point to the place of use.

use std::sync::Arc;

use tsql::ast;
use types::{Result, Value};

use crate::dml::Loader;
use crate::query::{Flow, Receive, ReceiveBatch, ReceiveColumns, Rows};
use crate::{Cx, StatementResult};
use catalog::{ColumnDef, ModuleDef, TableDef};
use plan::expr::{Expr, Register, UserCall};
use plan::query::{Node, UserFunctionScan};
use plan::statement::{Firing, NewRow, SelectInto};
use plan::walk::Registers;
use session::argument::Argument;
use session::stop::Stop;

/// The layers above the executor, as it sees them.
pub trait Host: Sync {
    /// Calls a user-defined scalar function.
    ///
    /// # Errors
    /// The errors of its body; 217 for too deep nesting.
    fn call_scalar(&self, call: &UserCall, cx: &mut Cx<'_>) -> Result<Value>;

    /// Calls a multi-statement function and returns the rows of its table variable.
    ///
    /// # Errors
    /// As [`Self::call_scalar`].
    fn call_table(&self, scan: &UserFunctionScan, cx: &mut Cx<'_>) -> Result<Vec<Vec<Value>>>;

    /// Runs the body of a trigger in the session's transaction. Each row has the values of the new
    /// row, if there is one, followed by those of the old row.
    ///
    /// # Errors
    /// The errors of its body.
    fn run_trigger(
        &self,
        trigger: &Arc<ModuleDef>,
        fired: (&Firing, &[Vec<Value>]),
        cx: &mut Cx<'_>,
    ) -> Result<()>;

    /// Runs SELECT .. INTO or CREATE EXTERNAL TABLE .. AS SELECT: creates the table and fills it.
    ///
    /// # Errors
    /// The errors of the definition and of the query.
    fn select_into(&self, into: &SelectInto, cx: &mut Cx<'_>) -> Result<StatementResult>;

    /// Binds the DEFAULT expression of a column.
    ///
    /// # Errors
    /// The errors of names in the expression.
    fn default_value(&self, table: &TableDef, column: &ColumnDef, cx: &Cx<'_>) -> Result<Expr>;

    /// Binds what completes a row of a table: computed columns and constraints that depend on a
    /// column for which `changes` returns true. `register` maps ordinals to registers.
    ///
    /// # Errors
    /// The errors of names in computed columns and constraints.
    fn new_row(
        &self,
        table: &Arc<TableDef>,
        register: &dyn Fn(usize) -> Register,
        changes: &dyn Fn(usize) -> bool,
        cx: &Cx<'_>,
    ) -> Result<NewRow>;

    /// Returns true if a tree should run in batches rather than row by row.
    fn takes_batches(&self, node: &Node, cx: &Cx<'_>) -> bool;

    /// Runs a tree in batches. Calls `receive` for each row, after filling those of its registers
    /// that are needed.
    ///
    /// # Errors
    /// The errors of the tree's expressions, of storage and of `receive`.
    fn run_in_batches<'p>(
        &self,
        tree: (&'p Node, &Registers),
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow>;

    /// Runs a tree in batches. Calls `receive` with each batch and the positions of the columns for
    /// the given registers; the second set has all registers that are needed.
    ///
    /// # Errors
    /// As [`Self::run_in_batches`].
    fn run_columns<'p>(
        &self,
        node: &'p Node,
        wanted: (&[Register], &Registers),
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: ReceiveColumns<'_>,
    ) -> Result<Flow>;

    /// Runs a tree in batches. Calls `receive` with each batch and the registers of its columns.
    /// Helpers of a parallel load pass their batches to the loader instead.
    ///
    /// # Errors
    /// As [`Self::run_in_batches`].
    fn load_batches<'p>(
        &self,
        node: &'p Node,
        loader: &Loader<'_>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: ReceiveBatch<'_>,
    ) -> Result<Flow>;

    /// Runs the system procedure of this name, in the database that the name has; `None` if there is none.
    ///
    /// # Errors
    /// Those of the procedure.
    fn call_system_procedure(
        &self,
        name: &ast::ObjectName,
        arguments: &mut [Argument],
        cx: &mut Cx<'_>,
    ) -> Option<std::result::Result<i32, Stop>>;

    /// Runs a DBCC command.
    ///
    /// # Errors
    /// 2526 for an unknown command; else those of the command.
    fn dbcc(&self, dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> std::result::Result<(), Stop>;

    /// Runs RECONFIGURE: settings that sp_configure has changed come into use.
    ///
    /// # Errors
    /// 5812 without the permission.
    fn reconfigure(&self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop>;
}
