//! Runs statements from their syntax tree: transactions, USE, definitions, administration.

use tsql::ast::{self, StatementKind, TransactionAction, TransactionName};
use types::{Error, Msg, Value};

use crate::cursor::close_at_end;
use crate::definition_trigger;
use crate::{Runner, Stop, ended, transactions};
use ::ddl::user_access::check_entry;
use ::executor::Cx;
use ::executor::fault::Interruption;
use ::plan::program::{Leaf, LeafAst};
use ::plan::sink::{Command, EnvChange};
use ::session::event::emit::checkpoint;
use metadata::format::text_of;

/// Returns the literal of a value as a DBCC command reads it: a number, or a text.
fn literal(value: &Value, cx: &Cx<'_>) -> types::Result<ast::Literal> {
    let Some(text) = text_of(value, cx.session)? else { return Ok(ast::Literal::Null) };
    Ok(match (value, text.parse()) {
        (Value::Bit(_) | Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_), Ok(number)) => {
            ast::Literal::Int(number)
        }
        (Value::BigInt(_) | Value::Decimal(_), _) => ast::Literal::Decimal(text.into()),
        _ => ast::Literal::NString(text.into()),
    })
}

impl Runner<'_> {
    pub(crate) fn other(&self, statement: &ast::Statement, cx: &mut Cx<'_>) -> Result<(), Stop> {
        match &statement.kind {
            StatementKind::SetOption(option) => {
                cx.session.last.row_count = 0;
                self.set_option(option, cx)?;
            }
            StatementKind::Transaction(transaction) => {
                cx.session.last.row_count = 0;
                self.transaction(transaction, cx)?;
            }
            StatementKind::Use(name) => use_database(name, cx)?,
            StatementKind::Dbcc(dbcc) => self.dbcc(dbcc, cx)?,
            StatementKind::Kill(kill) => self.kill(kill, cx)?,
            StatementKind::BulkInsert(bulk) => return crate::bulk_insert::run(bulk, cx),
            StatementKind::InsertBulk(bulk) => {
                transactions::begin_implicit(cx)?;
                crate::insert_bulk::announce(bulk, cx)?;
                cx.session.held.pending_bulk = Some((**bulk).clone());
            }
            StatementKind::Checkpoint(seconds) => self.checkpoint(seconds.as_ref(), cx)?,
            StatementKind::Shutdown { no_wait } => crate::shutdown::run(*no_wait, cx)?,
            // WITH OVERRIDE skips a check that sp_configure has made already.
            StatementKind::Reconfigure { .. } => {
                let host = cx.host;
                host.reconfigure(cx)?;
            }
            StatementKind::ExecuteAs(execute_as) => self.execute_as(execute_as, cx)?,
            StatementKind::Revert(cookie) => self.revert(cookie.as_ref(), cx)?,
            StatementKind::ReadText(read) => return self.read_text(read, cx),
            StatementKind::Backup(backup) => self.backup(backup, cx)?,
            StatementKind::Restore(restore) => self.restore(restore, cx)?,
            StatementKind::Unsupported(unsupported) => {
                return Err(Msg::NotSupported(&unsupported.name).into());
            }
            _ if cx.session.options.format_only => {}
            _ => return self.define(statement, cx),
        }
        ended(cx, Command::of(&statement.kind), None)?;
        Ok(())
    }

    /// CHECKPOINT. The duration is a wish: a checkpoint disturbs nothing, so it is as fast as it can.
    /// Runs a DBCC command; its variables are replaced by their values.
    fn dbcc(&self, dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let host = cx.host;
        let is_variable = |e: &ast::Expr| matches!(e.kind, ast::ExprKind::Variable(_));
        if !dbcc.arguments.iter().any(is_variable) {
            return host.dbcc(dbcc, cx);
        }
        let mut given = dbcc.clone();
        for argument in given.arguments.iter_mut().filter(|argument| is_variable(argument)) {
            let value = self.value(&Leaf::new(LeafAst::Value(argument.clone())), cx)?;
            argument.kind = ast::ExprKind::Literal(literal(&value, cx)?);
        }
        host.dbcc(&given, cx)
    }

    fn checkpoint(&self, seconds: Option<&ast::Expr>, cx: &mut Cx<'_>) -> Result<(), Stop> {
        check_checkpoint(cx)?;
        if let Some(seconds) = seconds {
            let seconds = self.int(&Leaf::new(LeafAst::Value(seconds.clone())), cx)?;
            if seconds.is_none_or(|seconds| seconds <= 0) {
                let what = "CHECKPOINT with a duration that is not a positive number of seconds";
                return Err(Msg::NotSupported(what).into());
            }
        }
        checkpoint::begin(cx.session);
        let cancel = std::sync::Arc::clone(&cx.session.connection.cancel);
        let done = cx.session.instance.checkpoint(&cancel);
        checkpoint::end(cx.session);
        ::executor::fault::check_cancel(cx).map_err(|error| interrupted(error, cx))?;
        done.map_err(|why| {
            let text = format!("The checkpoint failed, and the one before counts: {why}.");
            Error::custom(5901, 16, 1, text).into()
        })
    }

    /// Runs a definition: DDL and other changes of the catalog.
    fn define(&self, statement: &ast::Statement, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if ::ddl::of_database(&statement.kind).is_none() {
            if cx.session.transaction.doomed {
                return Err(Msg::TransactionDoomed.into());
            }
            transactions::begin_implicit(cx)?;
        }
        cx.session.refresh_catalog();
        // Ownership chains do not cover definitions: the permissions are those of the module's
        // caller.
        ::ddl::require::check(statement, cx)?;
        cx.statement_text = statement.span.text(&self.program.source).to_owned();
        cx.source = self.program.source.to_string();
        let values = self.values_of(statement, cx)?;
        let watched = definition_trigger::watched(statement, cx);
        if watched.is_empty() {
            run_definition(statement, &values, cx)?;
        } else {
            let begun = definition_trigger::begin(cx);
            if let Err(stop) = run_definition(statement, &values, cx) {
                definition_trigger::give_up(begun, cx);
                return Err(stop);
            }
            definition_trigger::fire(&watched, begun, cx)?;
        }
        cx.session.refresh_catalog();
        cx.session.last.row_count = 0;
        ended(cx, Command::of(&statement.kind), None)?;
        Ok(())
    }

    /// Evaluates the expressions of a definition, such as boundary values and partition numbers.
    fn values_of(
        &self,
        statement: &ast::Statement,
        cx: &mut Cx<'_>,
    ) -> Result<Vec<::ddl::Valued>, Stop> {
        let expressions = ::ddl::expressions(&statement.kind).into_iter();
        let leaf = |expr: &ast::Expr| Leaf::new(LeafAst::Value(expr.clone()));
        expressions.map(|expr| self.typed_value(&leaf(expr), cx)).collect()
    }

    fn transaction(&self, transaction: &ast::Transaction, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let name = match &transaction.name {
            None => String::new(),
            Some(TransactionName::Name(name)) => name.to_string(),
            Some(TransactionName::Variable(variable)) => {
                let kind = ast::ExprKind::Variable(variable.clone());
                let expr = ast::Expr { kind, span: variable.span };
                let value = self.value(&Leaf::new(LeafAst::Value(expr)), cx)?;
                text_of(&value, cx.session)?.unwrap_or_default()
            }
        };
        match &transaction.action {
            TransactionAction::Begin { distributed: true, .. } => {
                Err(Msg::NotSupported("BEGIN DISTRIBUTED TRANSACTION").into())
            }
            TransactionAction::Begin { mark: Some(_), .. } => {
                Err(Msg::NotSupported("BEGIN TRANSACTION WITH MARK").into())
            }
            TransactionAction::Begin { .. } => transactions::begin(cx.session, cx.sink, &name),
            TransactionAction::Commit { delayed_durability } => {
                if cx.session.request.inserting_call == Some(cx.session.transaction.count) {
                    return Err(Msg::CommitInInsertExec.into());
                }
                transactions::commit_with(cx.session, cx.sink, *delayed_durability)?;
                close_at_end(cx);
                Ok(())
            }
            TransactionAction::Rollback => {
                let is_whole = name.is_empty() || name == cx.session.transaction.name;
                if is_whole && cx.session.request.inserting_call.is_some() {
                    return Err(Msg::RollbackInInsertExec.into());
                }
                transactions::rollback(cx.session, cx.sink, &name)?;
                close_at_end(cx);
                Ok(())
            }
            TransactionAction::Save => transactions::save(cx.session, &name),
        }
    }
}

/// Checks the permission CHECKPOINT.
fn check_checkpoint(cx: &Cx<'_>) -> Result<(), Stop> {
    match cx.session.catalog.database(&cx.session.identity.database) {
        Some(database) => Ok(cx.session.identity.rights.check_database(database, "CHECKPOINT")?),
        None => Ok(()),
    }
}

/// Runs a definition, and undoes it if it fails.
fn run_definition(
    statement: &ast::Statement,
    values: &[::ddl::Valued],
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    let mark = cx.session.mark_definitions();
    let defined = ::ddl::run(statement, values, cx);
    cx.session.end_definition(&mark, defined.is_err());
    defined.map_err(|error| interrupted(error, cx))?;
    cx.session.refresh_catalog();
    Ok(())
}

/// Converts the error of a definition or check: to an error, or to the end of the request.
pub fn interrupted(error: Error, cx: &mut Cx<'_>) -> Stop {
    match cx.interrupted.take() {
        Some(Interruption::Cancelled) => Stop::Cancelled,
        Some(Interruption::Disconnected) => Stop::Disconnected,
        Some(Interruption::Reported) | None => Stop::Error(error),
    }
}

fn use_database(name: &ast::Ident, cx: &mut Cx<'_>) -> Result<(), Stop> {
    cx.session.refresh_catalog();
    let Some(database) = cx.session.catalog.database(name) else {
        return Err(Msg::DatabaseNotFound(name).into());
    };
    if !cx.session.identity.rights.enters(database) {
        return Err(Msg::NoDatabaseAccess(&cx.session.identity.login, &database.name).into());
    }
    check_entry(cx.session, database)?;
    let new: std::sync::Arc<str> = database.name.as_str().into();
    let old = cx.session.enter_database(std::sync::Arc::clone(&new));
    // Published at once, not at the end of the request: other sessions must see it in the database.
    cx.session.instance.sessions.publish(cx.session);
    cx.sink.env_change(&EnvChange::Database { new: &new, old: &old })?;
    let text = format!("Changed database context to '{new}'.");
    cx.sink.message(&Error::custom(5701, 0, 1, text).at_line(cx.session.request.line))?;
    Ok(())
}
