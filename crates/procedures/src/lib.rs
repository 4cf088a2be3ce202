//! System procedures, which `EXEC sp_..` and RPCs by name or ProcID run, and DBCC commands.
//!
//! Each procedure has one registry line. Arguments come as `Argument`s, as for user procedures, so
//! that EXEC and RPC share one path. `executesql.rs` has sp_executesql, `prepared/` the prepared
//! statements of drivers, `cursor/` their cursors, `catalog/` the procedures that are queries
//! over the catalog (sp_help, sp_who).
//!
//! Does not know its callers: the interpreter calls it through `executor::Host`. Start at [`find`].
#![forbid(unsafe_code)]

mod app_lock;
mod backup_history;
mod called;
mod catalog;
mod check;
pub mod configure;
pub mod cursor;
mod database_info;
pub mod dbcc;
pub mod describe;
mod diagnose;
mod dm_exec_describe_first_result_set;
mod executesql;
mod extended_property;
#[cfg(debug_assertions)]
mod fault;
mod first_result;
mod flush_log;
mod folder_tree;
mod identity;
mod inject_delay;
mod inspect;
mod memory_status;
mod message;
mod monitor;
pub mod prepared;
mod procedure;
mod query_store;
mod sequence;
mod show_statistics;
mod sqlperf;
mod statistics;
mod trace;
mod undeclared;
mod xml_document;

use std::sync::Arc;

use types::Msg;

use ::catalog::name::Name;
use ::executor::Cx;
use ::session::SessionState;
use interpreter::{Argument, Stop, not_found};

pub use procedure::SystemProcedure;

static PROCEDURES: &[&[&[SystemProcedure]]] = &[OF_DRIVERS, OF_SESSIONS, catalog::PROCEDURES];

/// Procedures that drivers call with each request: a short list, which is searched each time. All
/// procedures with a ProcID are in it.
static OF_DRIVERS: &[&[SystemProcedure]] =
    &[executesql::PROCEDURES, prepared::PROCEDURES, cursor::PROCEDURES];

/// Other procedures that are not queries over the catalog.
static OF_SESSIONS: &[&[SystemProcedure]] = &[
    app_lock::PROCEDURES,
    backup_history::PROCEDURES,
    configure::PROCEDURES,
    cursor::DESCRIBING,
    describe::PROCEDURES,
    diagnose::PROCEDURES,
    extended_property::PROCEDURES,
    flush_log::PROCEDURES,
    folder_tree::PROCEDURES,
    inject_delay::PROCEDURES,
    message::PROCEDURES,
    monitor::PROCEDURES,
    query_store::PROCEDURES,
    sequence::PROCEDURES,
    statistics::PROCEDURES,
    undeclared::PROCEDURES,
    xml_document::PROCEDURES,
];

/// Iterates over all system procedures.
fn all() -> impl Iterator<Item = &'static SystemProcedure> {
    let lists = PROCEDURES.iter().flat_map(|lists| lists.iter());
    #[cfg(debug_assertions)]
    let lists = lists.chain(std::iter::once(&fault::PROCEDURES));
    lists.flat_map(|list| list.iter())
}

/// Iterates over the names of all system procedures, except those of debug builds.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROCEDURES.iter().flat_map(|lists| lists.iter()).flat_map(|list| list.iter()).map(|p| p.name)
}

/// Finds a system procedure: `sp_x`, `sys.sp_x`, `master..sp_x`, `dbo.sp_x`.
pub fn find(name: &tsql::ast::ObjectName) -> Option<&'static SystemProcedure> {
    called::is_of_system(name).then(|| find_by_name(&name.object)).flatten()
}

/// Finds a procedure that drivers call, by its plain name as sent.
pub fn find_of_drivers(name: &str) -> Option<&'static SystemProcedure> {
    if !name.starts_with("sp_") {
        return None;
    }
    OF_DRIVERS.iter().flat_map(|list| list.iter()).find(|p| p.name == name)
}

fn find_by_name(name: &str) -> Option<&'static SystemProcedure> {
    all().find(|p| p.name.eq_ignore_ascii_case(name))
}

/// Finds a system procedure by ProcID.
///
/// # Errors
/// 2812 for an unknown id.
pub fn find_by_id(id: u16) -> Result<&'static SystemProcedure, Stop> {
    let found = OF_DRIVERS.iter().flat_map(|list| list.iter()).find(|p| p.id == id && id != 0);
    if let Some(found) = found {
        return Ok(found);
    }
    Err(Msg::ProcedureNotFound(&format!("ProcID {id}")).into())
}

/// Returns the error of a procedure that was not found: 2812, or 40517 for a documented one.
pub fn missing(name: &tsql::ast::ObjectName) -> Stop {
    not_found(&name.to_string())
}

/// Runs a system procedure with these arguments; returns its status.
pub fn run(
    procedure: &SystemProcedure,
    arguments: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    (procedure.run)(arguments, cx)
}

/// Enters the database in a system procedure's name: `db..sp_executesql` runs a text in another
/// database. Returns the session's previous database, to be restored, if it was a different one.
///
/// # Errors
/// 911 for an unknown database, 916 for one that the login may not enter.
pub fn enter_named(
    name: &tsql::ast::ObjectName,
    session: &mut SessionState,
) -> Result<Option<Arc<str>>, Stop> {
    let named = name.database.as_deref().filter(|database| !database.is_empty());
    let Some(named) = named.filter(|named| !Name::same(named, &session.identity.database)) else {
        return Ok(None);
    };
    let Some(database) = session.catalog.database(named) else {
        return Err(Msg::DatabaseNotFound(named).into());
    };
    if !session.identity.rights.enters(database) {
        return Err(Msg::NoDatabaseAccess(&session.identity.login, &database.name).into());
    }
    ::ddl::user_access::check_entry(session, database)?;
    let inner = database.name.as_str().into();
    Ok(Some(session.enter_database(inner)))
}

/// Runs a system procedure in the database that its name contains.
///
/// # Errors
/// As [`enter_named`], and the errors of the procedure.
pub fn run_named(
    name: &tsql::ast::ObjectName,
    procedure: &SystemProcedure,
    arguments: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    let outer = enter_named(name, cx.session)?;
    let ran = run(procedure, arguments, cx);
    if let Some(outer) = outer {
        cx.session.enter_database(outer);
    }
    ran
}

/// System views that are defined in this crate, because they show the result of a procedure.
pub static VIEWS: &[&metadata::SystemView] =
    &[&dm_exec_describe_first_result_set::VIEW, &dm_exec_describe_first_result_set::OF_OBJECT];
