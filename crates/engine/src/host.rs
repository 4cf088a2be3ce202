//! Implements the executor's `Host`: the calls from the executor to the layers above it.

use std::sync::Arc;

use tsql::ast;
use types::{Result, Value};

use crate::bind::dml::{default_value, new_row};
use crate::catalog::{ColumnDef, ModuleDef, TableDef};
use crate::plan::expr::{Expr, Register, UserCall};
use crate::plan::query::{Node, UserFunctionScan};
use crate::plan::statement::{Firing, NewRow, SelectInto};
use crate::plan::walk::{self, Registers};
use ::executor::dml::Loader;
use ::executor::query::{Flow, Receive, ReceiveBatch, ReceiveColumns, Rows};
use ::executor::{Cx, Host, StatementResult};
use ::session::argument::Argument;
use ::session::stop::Stop;
use ::vectorized as vector;
use compile::binding::bare_context;
use interpreter::function;
use interpreter::into;
use interpreter::trigger_body;

/// The engine, as the executor sees it.
pub(crate) static HOST: &dyn Host = &Engine;

struct Engine;

impl Host for Engine {
    fn call_scalar(&self, call: &UserCall, cx: &mut Cx<'_>) -> Result<Value> {
        function::call_scalar(call, cx)
    }

    fn call_table(&self, scan: &UserFunctionScan, cx: &mut Cx<'_>) -> Result<Vec<Vec<Value>>> {
        function::call_table(scan, cx)
    }

    fn run_trigger(
        &self,
        trigger: &Arc<ModuleDef>,
        fired: (&Firing, &[Vec<Value>]),
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        trigger_body::run(trigger, fired, cx)
    }

    fn select_into(&self, select: &SelectInto, cx: &mut Cx<'_>) -> Result<StatementResult> {
        into::run_select_into(select, cx)
    }

    fn default_value(&self, table: &TableDef, column: &ColumnDef, cx: &Cx<'_>) -> Result<Expr> {
        let database = Arc::clone(&cx.session.identity.database);
        let context = bare_context(cx.session, &database);
        default_value(&mut context.binder(), table, column)
    }

    fn new_row(
        &self,
        table: &Arc<TableDef>,
        register: &dyn Fn(usize) -> Register,
        changes: &dyn Fn(usize) -> bool,
        cx: &Cx<'_>,
    ) -> Result<NewRow> {
        let database = Arc::clone(&cx.session.identity.database);
        let context = bare_context(cx.session, &database);
        new_row(&mut context.binder(), table, register, changes)
    }

    fn takes_batches(&self, node: &Node, cx: &Cx<'_>) -> bool {
        vector::is_chosen(node, cx)
    }

    fn run_in_batches<'p>(
        &self,
        (node, needed): (&'p Node, &Registers),
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        vector::run(node, needed, cx, rows, receive)
    }

    fn run_columns<'p>(
        &self,
        node: &'p Node,
        (columns, needed): (&[Register], &Registers),
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: ReceiveColumns<'_>,
    ) -> Result<Flow> {
        vector::run_columns(node, columns, needed, cx, rows, receive)
    }

    fn load_batches<'p>(
        &self,
        node: &'p Node,
        loader: &Loader<'_>,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: ReceiveBatch<'_>,
    ) -> Result<Flow> {
        vector::load_batches(node, loader, &walk::fills(node).0, cx, rows, receive)
    }

    fn call_system_procedure(
        &self,
        name: &ast::ObjectName,
        arguments: &mut [Argument],
        cx: &mut Cx<'_>,
    ) -> Option<std::result::Result<i32, Stop>> {
        let procedure = procedures::find(name)?;
        Some(procedures::run_named(name, procedure, arguments, cx))
    }

    fn dbcc(&self, dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        procedures::dbcc::run(dbcc, cx)
    }

    fn reconfigure(&self, cx: &mut Cx<'_>) -> std::result::Result<(), Stop> {
        procedures::configure::reconfigure(cx)
    }
}
