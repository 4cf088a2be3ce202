//! Definitions: CREATE, ALTER and DROP of everything, GRANT, DENY and REVOKE, TRUNCATE TABLE, and
//! the creation of tables by other statements (SELECT .. INTO).
//!
//! A definition builds its object aside and then publishes it with one change of the catalog, which
//! checks again that the name is free. Temporary tables go to the session's innermost scope.
//!
//! - one file per kind of object (`table.rs`, `index.rs`, `login.rs`), `alter/` for ALTER TABLE,
//!   `drop.rs` for all DROPs;
//! - `require/` checks the permissions that the statements need, before they run;
//! - the crate `compile` builds table definitions from syntax.
//!
//! Does not know programs, procedures or results; it runs one statement at a time. Start at
//! [`run`].
#![forbid(unsafe_code)]

mod alter;
mod column_index;
mod columnstore;
mod database;
pub mod database_option;
mod ddl_trigger;
pub mod disable;
mod domain;
mod drop;
mod drop_options;
mod duplicate;
pub mod event;
pub mod event_session;
pub mod external;
mod function;
mod index;
mod login;
mod module;
mod owner;
mod partition;
mod permission;
mod principal;
mod query_store;
mod rebuild;
pub mod rename;
pub mod require;
mod sequence;
pub mod statistics;
mod switch;
mod table;
mod trigger;
pub mod trigger_order;
mod truncate;
pub mod user_access;
mod versioning;

use std::sync::Arc;

use sos::memory::{MemoryClerk, with_clerk};
use tsql::ast::{self, StatementKind};
use types::{Error, Msg, Result};

use ::catalog::{Database, ModuleSchema, Object};
use ::executor::Cx;
use ::session::SessionState;

use ::compile::refuse;
pub use drop::missing as drop_refused;
use duplicate::duplicate_key;
pub use partition::{Valued, expressions};
pub use permission::is_of_server;
pub use table::{check_name_free, create_from_columns, distrust};

/// Runs a definition. `cx.statement_text` is its text; its spans refer to `cx.source`. `values` are
/// those of its [`expressions`].
///
/// # Errors
/// The errors of names, types and permissions; 40517 for unsupported features.
pub fn run(statement: &ast::Statement, values: &[Valued], cx: &mut Cx<'_>) -> Result<()> {
    // The new objects are freed with the catalog versions that contain them: same clerk.
    with_clerk(MemoryClerk::Metadata, || run_booked(statement, values, cx))
}

fn run_booked(statement: &ast::Statement, values: &[Valued], cx: &mut Cx<'_>) -> Result<()> {
    // A definition that fires triggers runs in its own transaction, which has no descriptor.
    let transaction = &cx.session.transaction;
    let own = transaction.descriptor == 0 && cx.session.request.trigger_level == 0;
    if let Some(what) = of_database(&statement.kind)
        && transaction.count > 0
        && !own
    {
        return Err(Msg::NotInTransaction(what).into());
    }
    match &statement.kind {
        StatementKind::CreateTable(create) => {
            table::create(create, cx).or_else(|error| told_twice(error, Some(create), cx))
        }
        StatementKind::AlterTable(alter) => {
            alter::run(alter, values, cx).or_else(|error| told_twice(error, None, cx))
        }
        StatementKind::Truncate(truncate) => truncate::truncate(truncate, values, cx),
        StatementKind::Partition(statement) => partition::run(statement, values, cx),
        StatementKind::CreateIndex(create) => index::create(create, cx),
        StatementKind::AlterIndex(alter) => index::alter(alter, values, cx),
        StatementKind::DropIndex(drop) => index::drop(drop, cx),
        StatementKind::Drop(drop) => drop::run(drop, cx),
        StatementKind::CreateProcedure(create) => module::create_procedure(create, cx),
        StatementKind::CreateView(create) => module::create_view(create, statement, cx),
        StatementKind::CreateSynonym(create) => module::create_synonym(create, cx),
        StatementKind::CreateType(create) => module::create_type(create, statement, cx),
        StatementKind::CreateSchema(create) => module::create_schema(create, cx),
        StatementKind::CreateDatabase(create) => database::create(create, cx),
        StatementKind::AlterDatabase(alter) => database::alter(alter, cx),
        StatementKind::Principal(principal) => principal::run(principal, cx),
        StatementKind::Permission(permission) => permission::run(permission, cx),
        StatementKind::UpdateStatistics(update) => statistics::update(update, cx),
        StatementKind::CreateStatistics(create) => statistics::create(create, cx),
        StatementKind::AlterSchema(alter) => owner::transfer(alter, cx),
        StatementKind::CreateFunction(create) => function::create(create, statement, cx),
        StatementKind::CreateTrigger(create) => trigger::create(create, statement, cx),
        StatementKind::EnableTrigger(enable) => trigger::enable(enable, cx),
        StatementKind::CreateSequence(create) => sequence::create(create, cx),
        StatementKind::CreateExternal(create) => external::create(create, cx),
        StatementKind::CreateExternalTable(create) => external::create_table(create, cx),
        StatementKind::AlterAuthorization(alter) => owner::authorize(alter, cx),
        StatementKind::CreateEventSession(create) => event_session::create(create, cx),
        StatementKind::AlterEventSession(alter) => event_session::alter(alter, cx),
        StatementKind::DropEventSession(drop) => event_session::drop(drop, cx),
        _ => refuse("this statement"),
    }
}

/// Reports a constraint that can't be created in two errors: first the reason, then 1750, which
/// ends the statement and is the only one that a CATCH block sees. `made` is the statement if it is
/// CREATE TABLE.
fn told_twice(error: Error, made: Option<&ast::CreateTable>, cx: &mut Cx<'_>) -> Result<()> {
    let state = match error.number {
        1753 | 1757 | 1761..=1785 => u8::from(matches!(error.number, 1769 | 1781)),
        // A column that can't be in a key; a second clustered index; a name that is taken.
        1902 | 1908 | 1909 | 1911 | 1919 | 8111 | 10785 | 10791 => error.state,
        2714 if !made.is_some_and(|made| is_about(&error, &made.name)) => error.state,
        _ => return Err(error),
    };
    alter::say_first(error.with_state(state), cx)?;
    Err(Msg::ConstraintNotCreated.into())
}

/// Returns true if error 2714 is about the table itself and not about one of its constraints.
fn is_about(error: &Error, table: &ast::ObjectName) -> bool {
    error.message == Error::from(Msg::ObjectExists(&table.object)).message
}

/// Returns the name of a statement that defines a whole database or an event session. Such a
/// statement can't be rolled back.
pub fn of_database(kind: &StatementKind) -> Option<&'static str> {
    match kind {
        StatementKind::CreateDatabase(_) => Some("CREATE DATABASE"),
        StatementKind::AlterDatabase(_) => Some("ALTER DATABASE"),
        StatementKind::Drop(drop) if drop.kind == ast::DropKind::Database => Some("DROP DATABASE"),
        StatementKind::CreateEventSession(_) => Some("CREATE EVENT SESSION"),
        StatementKind::AlterEventSession(_) => Some("ALTER EVENT SESSION"),
        StatementKind::DropEventSession(_) => Some("DROP EVENT SESSION"),
        _ => None,
    }
}

fn not_permitted() -> Error {
    crate::require::not_permitted()
}

/// The place of a new object: database and schema, and its name.
struct Target {
    database: String,
    schema: String,
    name: String,
}

impl Target {
    /// Returns the schema in which the names in the module's body are looked up.
    fn module_schema(&self, cx: &Cx<'_>) -> ModuleSchema {
        let database = cx.session.catalog.database(&self.database);
        let schema = database.and_then(|database| database.schema(&self.schema));
        ModuleSchema {
            database: database.map_or(0, |database| database.id),
            schema: schema.map_or(::catalog::DBO, |schema| schema.id),
        }
    }
}

/// Resolves the name of a module or sequence of the current database. ALTER and CREATE OR ALTER find
/// it as any statement does; a new one goes to the default schema.
///
/// # Errors
/// As [`local_target`].
fn module_target(
    name: &ast::ObjectName,
    mode: ast::CreateMode,
    statement: &str,
    cx: &Cx<'_>,
) -> Result<Target> {
    check_no_database(name, statement)?;
    let found = match mode {
        ast::CreateMode::Create => None,
        ast::CreateMode::Alter | ast::CreateMode::CreateOrAlter => find_object(name, cx),
    };
    let Some(found) = found else { return target(name, cx) };
    Ok(Target {
        database: cx.session.identity.database.to_string(),
        schema: found.schema().to_owned(),
        name: name.object.to_string(),
    })
}

/// Returns the database of an existing object's name and the schema in which it is found; `None`
/// without the database.
pub(crate) fn find_place<'c>(
    name: &'c ast::ObjectName,
    cx: &'c Cx<'_>,
) -> Option<(&'c Arc<Database>, &'c str)> {
    let written = name.database.as_deref().filter(|part| !part.is_empty());
    let database = cx.session.catalog.database(written.unwrap_or(&cx.session.identity.database))?;
    Some((database, cx.session.schema_of(database, name)))
}

/// Finds an existing object by its name.
fn find_object<'c>(name: &'c ast::ObjectName, cx: &'c Cx<'_>) -> Option<&'c Object> {
    let (database, schema) = find_place(name, cx)?;
    database.object(schema, &name.object)
}

/// Resolves the name of a new object that is in the current database.
///
/// # Errors
/// 166 for a name with a database, which `statement` does not take, and as [`target`].
fn local_target(name: &ast::ObjectName, statement: &str, cx: &Cx<'_>) -> Result<Target> {
    check_no_database(name, statement)?;
    target(name, cx)
}

/// Refuses a name with a database, be it the current one.
///
/// # Errors
/// 166.
fn check_no_database(name: &ast::ObjectName, statement: &str) -> Result<()> {
    match name.database {
        Some(_) => Err(Msg::DatabasePrefixNotAllowed(statement).into()),
        None => Ok(()),
    }
}

/// Resolves the name of a new object.
///
/// # Errors
/// 2702 for an unknown database, 2760 for an unknown schema.
fn target(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<Target> {
    let part =
        |part: &Option<ast::Ident>| part.as_deref().filter(|p| !p.is_empty()).map(str::to_owned);
    let database = part(&name.database).unwrap_or_else(|| cx.session.identity.database.to_string());
    let Some(found) = cx.session.catalog.database(&database) else {
        return Err(Msg::DatabaseMissing(&database).into());
    };
    let first = || cx.session.identity.rights.default_schema(found).to_owned();
    let schema = part(&name.schema).unwrap_or_else(first);
    if found.schema(&schema).is_none() {
        return Err(Msg::SchemaNotFound(&schema).into());
    }
    Ok(Target { database, schema, name: name.object.to_string() })
}

/// Publishes a changed database in the catalog.
///
/// # Errors
/// 911 if it has been dropped since, 927 while it is being restored, and the errors of `edit`.
fn change_database<T>(
    session: &mut SessionState,
    name: &str,
    edit: impl FnOnce(&mut Database) -> Result<T>,
) -> Result<T> {
    session.change_catalog(|catalog| match catalog.database_mut(name) {
        Some(database) if database.options.restoring.is_some() => {
            Err(Msg::DatabaseRestoring(&database.name).into())
        }
        Some(database) => {
            let edited = edit(database)?;
            database.prune_properties();
            database.prune_owners();
            Ok(edited)
        }
        None => Err(Msg::DatabaseNotFound(name).into()),
    })
}

/// Returns the error for an object that does not exist, or that this login may not drop.
fn cannot_drop(kind: &str, name: &str) -> Error {
    Error::custom(
        3701,
        11,
        5,
        format!(
            "Cannot drop the {kind} '{name}', because it does not exist or you do not have permission."
        ),
    )
}
