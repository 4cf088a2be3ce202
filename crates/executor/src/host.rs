//! `Host`: what the executor asks of the layers above it.
//!
//! The executor runs bound plans. Some of them come to what is above: the bodies of functions and triggers are programs,
//! SELECT INTO makes a table, a foreign key may need expressions that nobody has bound, and a tree that reads many rows
//! is better run in batches. A context carries the host from the session's entry point to wherever that happens.

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

/// The layers above the executor.
pub trait Host: Sync {
    /// Calls a scalar function of a user.
    ///
    /// # Errors
    /// What its body fails with; 217 for too deep a nesting.
    fn call_scalar(&self, call: &UserCall, cx: &mut Cx<'_>) -> Result<Value>;

    /// Calls a multi-statement function and returns the rows of its table.
    ///
    /// # Errors
    /// As [`Self::call_scalar`].
    fn call_table(&self, scan: &UserFunctionScan, cx: &mut Cx<'_>) -> Result<Vec<Vec<Value>>>;

    /// Runs the body of a trigger, in the session's transaction. Each row has the values of the new row, if there is
    /// one, and then those of the old one.
    ///
    /// # Errors
    /// What its body fails with.
    fn run_trigger(
        &self,
        trigger: &Arc<ModuleDef>,
        fired: (&Firing, &[Vec<Value>]),
        cx: &mut Cx<'_>,
    ) -> Result<()>;

    /// Runs SELECT .. INTO or CREATE EXTERNAL TABLE .. AS SELECT: makes the table and fills it.
    ///
    /// # Errors
    /// Those of a definition and of the query.
    fn select_into(&self, into: &SelectInto, cx: &mut Cx<'_>) -> Result<StatementResult>;

    /// Binds the value of a column as DEFAULT gives it.
    ///
    /// # Errors
    /// Those of names that the default refers to.
    fn default_value(&self, column: &ColumnDef, cx: &Cx<'_>) -> Result<Expr>;

    /// Binds what completes a row of a table in these registers, for the parts that depend on a column for which
    /// `changes` holds.
    ///
    /// # Errors
    /// Those of names that computed columns and constraints refer to.
    fn new_row(
        &self,
        table: &Arc<TableDef>,
        register: &dyn Fn(usize) -> Register,
        changes: &dyn Fn(usize) -> bool,
        cx: &Cx<'_>,
    ) -> Result<NewRow>;

    /// Tells whether a tree is run in batches rather than row by row.
    fn takes_batches(&self, node: &Node, cx: &Cx<'_>) -> bool;

    /// Runs a tree in batches; `receive` is called for each row with those of its registers filled that are needed.
    ///
    /// # Errors
    /// Those of the tree's expressions, of storage and of `receive`.
    fn run_in_batches<'p>(
        &self,
        tree: (&'p Node, &Registers),
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow>;

    /// Runs a tree in batches; `receive` is called with each batch and where it has the columns of these registers.
    /// All that is needed of the tree comes second.
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

    /// Runs a tree in batches; `receive` is called with each batch and the registers that its columns stand for. Where
    /// helpers have a part of it, they give theirs to the loader.
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
