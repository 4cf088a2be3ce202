//! Builds the context that a session passes to the binder for one leaf, and describes definitions by
//! binding them.

use std::collections::HashSet;
use std::sync::Arc;

use ::session::SessionState;
use ::session::describer::{Describer, ViewColumn};
use binder::expr::bind_condition;
use binder::query::bind_query;
use binder::{Binder, BinderContext, Level, Source, SourceColumn};
use catalog::name::Name;
use catalog::{ColumnDef, ModuleSchema, TableDef, Unqualified};
use plan::expr::Register;
use plan::program::Program;
use plan::query::OutputColumn;
use plan::sink::Traits;
use tsql::ast::{self, StatementKind};
use types::Result;

/// Returns the context for a leaf of a running program. `SessionState` and program are borrowed,
/// the catalog is reference-counted: binding is not on the hot path.
pub fn context_of<'s>(session: &'s SessionState, program: &'s Program) -> BinderContext<'s> {
    let database =
        if program.switches_database { &session.identity.database } else { &program.database };
    BinderContext {
        rights: (!program.is_checked_only && !session.identity.rights.is_all())
            .then_some(&session.identity.rights),
        chain: program.owner,
        unqualified: unqualified(session, program.schema),
        variables: &program.variables,
        table_variables: &program.table_variables,
        names: program.names.as_deref(),
        ..bare_context(session, database)
    }
}

/// Returns the context for a leaf of a program that does not run yet, in the database that it will
/// run in. It contains the variables declared up to `at`, and no temporary table that the program
/// itself creates: an existing one of that name is another table.
pub fn context_ahead<'s>(
    session: &'s SessionState,
    program: &'s Program,
    (database, at): (&'s str, u32),
    made: &'s HashSet<String>,
) -> BinderContext<'s> {
    let variables = program.variables.partition_point(|variable| variable.at <= at);
    let tables = program.table_variables.partition_point(|table| table.at <= at);
    let find = |name: &str| {
        let own = !made.is_empty() && made.contains(&Name::folded(name));
        if own { None } else { session.temp.find(name) }
    };
    BinderContext {
        rights: (!program.is_checked_only && !session.identity.rights.is_all())
            .then_some(&session.identity.rights),
        chain: program.owner,
        unqualified: unqualified(session, program.schema),
        variables: &program.variables[..variables],
        table_variables: &program.table_variables[..tables],
        names: program.names.as_deref(),
        temp_tables: Box::new(find),
        ..bare_context(session, database)
    }
}

/// Returns where a program's names without a schema are looked up.
pub fn unqualified(session: &SessionState, module: Option<ModuleSchema>) -> Unqualified<'_> {
    module.map_or(Unqualified::User(&session.identity.rights), Unqualified::Module)
}

/// Returns a context without variables, with permission checks.
pub fn checked_context<'s>(session: &'s SessionState, database: &'s str) -> BinderContext<'s> {
    let rights = (!session.identity.rights.is_all()).then_some(&session.identity.rights);
    BinderContext { rights, ..bare_context(session, database) }
}

/// Returns a context without variables and without permission checks.
pub fn bare_context<'s>(session: &'s SessionState, database: &'s str) -> BinderContext<'s> {
    BinderContext {
        catalog: Arc::clone(&session.catalog),
        server: &session.instance.config.server_name,
        database,
        unqualified: Unqualified::User(&session.identity.rights),
        rights: None,
        chain: None,
        options: &session.options,
        variables: &[],
        table_variables: &[],
        names: None,
        temp_tables: Box::new(|name| session.temp.find(name)),
        optimization: session.instance.config.optimizer,
        store: &session.instance.store,
        library: session.instance.library,
        cancel: &session.connection.cancel,
    }
}

/// Runs `bind` in a query level whose one source is a table, with its columns in the registers from
/// 0 on. Expressions of computed columns and constraints are bound in such a level.
pub fn over_columns<T>(
    binder: &mut Binder<'_>,
    alias: &str,
    columns: &[ColumnDef],
    bind: impl FnOnce(&mut Binder<'_>) -> T,
) -> T {
    let columns = columns.iter().map(|column| SourceColumn {
        name: column.name.clone().into(),
        ty: column.ty,
        register: binder.new_register(),
        used: false,
        traits: Traits::default(),
    });
    let source = Source {
        alias: alias.into(),
        schema: None,
        columns: columns.collect(),
        ..Source::default()
    };
    binder.within(Level::of(source), bind)
}

/// Returns the ordinals of the table's columns that a condition on that table alone reads (a CHECK,
/// a filter). Empty if the condition no longer binds.
pub fn columns_read(
    session: &SessionState,
    table: &TableDef,
    condition: &ast::Condition,
) -> Vec<u16> {
    let context = bare_context(session, &session.identity.database);
    columns_of_condition(&mut context.binder(), &table.name, &table.columns, condition)
}

/// As [`columns_read`], of a table that is not made yet.
pub fn columns_of_condition(
    binder: &mut Binder<'_>,
    table: &str,
    columns: &[ColumnDef],
    condition: &ast::Condition,
) -> Vec<u16> {
    let bound = over_columns(binder, table, columns, |binder| bind_condition(binder, condition));
    let Ok(bound) = bound else { return Vec::new() };
    let read = ::plan::walk::reads(&bound);
    let ordinals = 0..u16::try_from(columns.len()).unwrap_or(u16::MAX);
    ordinals.filter(|ordinal| read.contains(Register(u32::from(*ordinal)))).collect()
}

/// Returns names and types of a view's columns by binding its query.
///
/// # Errors
/// The errors of binding the query.
pub fn bind_view(
    session: &SessionState,
    database: &str,
    schema: &str,
    name: &str,
) -> Result<Vec<ViewColumn>> {
    let quote = |part: &str| part.replace(']', "]]");
    let text = format!("SELECT * FROM [{}].[{}]", quote(schema), quote(name));
    let batch = tsql::parse(&text, tsql::QuotedIdentifier::On)?;
    let Some(StatementKind::Select(select)) = batch.statements.into_iter().next().map(|s| s.kind)
    else {
        return Ok(Vec::new());
    };
    let context = bare_context(session, database);
    let mut binder = context.binder();
    let query = bind_query(&mut binder, &select.query)?;
    let column = |column: OutputColumn| ViewColumn {
        name: column.name.to_string(),
        ty: column.expr.ty,
        traits: column.traits,
    };
    Ok(query.output.into_iter().map(column).collect())
}

/// Describes definitions by binding them.
pub const DESCRIBER: &dyn Describer = &Binding;

struct Binding;

impl Describer for Binding {
    fn view_columns(
        &self,
        session: &SessionState,
        database: &str,
        schema: &str,
        name: &str,
    ) -> Result<Vec<ViewColumn>> {
        bind_view(session, database, schema, name)
    }

    fn columns_read(
        &self,
        session: &SessionState,
        table: &TableDef,
        condition: &ast::Condition,
    ) -> Vec<u16> {
        columns_read(session, table, condition)
    }
}
