//! DBCC commands: their names, the permissions that they need, and those that are short.

use std::sync::Arc;

use tsql::ast;
use types::{Error, Msg, Value};

use ::binder::shape_of;
use ::catalog::{Database, TableDef};
use ::executor::Cx;
use ::plan::sink::{self, ColumnInfo, Traits};
use ::session::{IsolationLevel, SessionState};
use interpreter::{Stop, done};

/// The permission that a command needs before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// None, or one that the command checks itself, on the table or database that it names.
    Itself(&'static str),
    /// The permission ALTER SERVER STATE.
    AlterState,
    /// The permission VIEW SERVER STATE.
    ViewState,
    /// Membership in sysadmin, or CONTROL SERVER.
    Sysadmin,
}

impl Asks {
    /// Returns the permission as docs/permissions.md shows it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Itself(text) => text,
            Self::AlterState => "ALTER SERVER STATE",
            Self::ViewState => "VIEW SERVER STATE",
            Self::Sysadmin => "sysadmin",
        }
    }
}

/// A DBCC command: its name, permission and code.
pub struct Command {
    /// The command's name, in upper case.
    pub name: &'static str,
    /// The permission that it needs, as documented.
    pub asks: Asks,
    run: fn(&ast::Dbcc, &mut Cx<'_>) -> Result<(), Stop>,
}

const DATABASE: Asks = Asks::Itself("db_owner");
const TABLE: Asks = Asks::Itself("owner of the table or its schema, db_ddladmin or db_owner");
const NOTHING: Asks = Asks::Itself("");

/// All commands, ordered by name.
pub static COMMANDS: &[Command] = &[
    Command {
        name: "CHECKALLOC",
        asks: DATABASE,
        run: |d, cx| super::check::database(d, "CHECKALLOC", cx),
    },
    Command { name: "CHECKCATALOG", asks: DATABASE, run: super::check::catalog },
    Command {
        name: "CHECKDB",
        asks: DATABASE,
        run: |d, cx| super::check::database(d, "CHECKDB", cx),
    },
    Command { name: "CHECKIDENT", asks: TABLE, run: super::identity::run },
    Command { name: "CHECKTABLE", asks: TABLE, run: super::check::table },
    Command { name: "DBINFO", asks: Asks::Sysadmin, run: super::database_info::run },
    Command { name: "DBREINDEX", asks: TABLE, run: reindex },
    // Rows are in memory: there are no buffers to drop.
    Command { name: "DROPCLEANBUFFERS", asks: Asks::AlterState, run: |_, _| Ok(()) },
    Command { name: "FREEPROCCACHE", asks: Asks::AlterState, run: free_plan_cache },
    // Linked servers, whose sessions are cached, do not exist here.
    Command { name: "FREESESSIONCACHE", asks: Asks::Sysadmin, run: |_, _| Ok(()) },
    Command { name: "FREESYSTEMCACHE", asks: Asks::AlterState, run: free_system_cache },
    Command {
        name: "INPUTBUFFER",
        asks: Asks::Itself("VIEW SERVER STATE, but of one's own session"),
        run: super::inspect::input_buffer,
    },
    Command {
        name: "MEMORYSTATUS",
        asks: Asks::ViewState,
        run: |_, cx| super::memory_status::run(cx),
    },
    Command { name: "OPENTRAN", asks: DATABASE, run: super::inspect::open_transaction },
    Command {
        name: "SHOW_STATISTICS",
        asks: Asks::Itself("SELECT on the columns, or as CHECKTABLE"),
        run: super::show_statistics::run,
    },
    Command {
        name: "SQLPERF",
        asks: Asks::Itself("VIEW SERVER STATE for LOGSPACE, ALTER SERVER STATE for CLEAR"),
        run: super::sqlperf::run,
    },
    Command {
        name: "TRACEOFF",
        asks: Asks::Sysadmin,
        run: |d, cx| super::trace::switch(d, false, cx),
    },
    Command {
        name: "TRACEON",
        asks: Asks::Sysadmin,
        run: |d, cx| super::trace::switch(d, true, cx),
    },
    Command { name: "TRACESTATUS", asks: NOTHING, run: super::trace::status },
    Command { name: "UPDATEUSAGE", asks: DATABASE, run: update_usage },
    Command { name: "USEROPTIONS", asks: NOTHING, run: |_, cx| user_options(cx) },
];

/// Options that WITH accepts for a command, besides NO_INFOMSGS, which all accept. The checks
/// ignore theirs: everything is checked, all errors are reported, and nothing is locked.
pub const WITH: &[(&str, &[&str])] = &[
    ("CHECKALLOC", super::check::OPTIONS),
    ("CHECKCATALOG", super::check::OPTIONS),
    ("CHECKDB", super::check::OPTIONS),
    ("CHECKTABLE", super::check::OPTIONS),
    ("DBINFO", &["TABLERESULTS"]),
    ("SHOW_STATISTICS", &["DENSITY_VECTOR", "HISTOGRAM", "STAT_HEADER"]),
    // Row counts are always exact.
    ("UPDATEUSAGE", &["COUNT_ROWS"]),
];

/// Refuses options of WITH that the command does not have.
///
/// # Errors
/// 40517 for such an option.
fn check_with(command: &str, dbcc: &ast::Dbcc) -> Result<(), Stop> {
    let known = WITH.iter().find(|with| with.0 == command).map_or(&[][..], |with| with.1);
    for (option, _) in &dbcc.options {
        if &**option != "NO_INFOMSGS" && !known.contains(&option.as_ref()) {
            return Err(Msg::NotSupported(&format!("DBCC {command} WITH {option}")).into());
        }
    }
    Ok(())
}

/// Runs a command.
///
/// # Errors
/// 40517 for an unsupported command, 2571 without its permission, and the errors of the command.
pub fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let named = |command: &&Command| command.name.eq_ignore_ascii_case(&dbcc.command);
    let Some(command) = COMMANDS.iter().find(named) else {
        let name = dbcc.command.to_ascii_uppercase();
        return Err(Msg::NotSupported(&format!("DBCC {name}")).into());
    };
    require(command.asks, command.name, cx)?;
    check_with(command.name, dbcc)?;
    (command.run)(dbcc, cx)?;
    let quiet = dbcc.options.iter().any(|(name, _)| name.as_ref() == "NO_INFOMSGS");
    if !quiet {
        cx.sink.message(&Error::from(Msg::DbccCompleted))?;
    }
    Ok(())
}

/// Checks the server permission that a command needs.
///
/// # Errors
/// 2571 without the permission.
pub fn require(asks: Asks, command: &str, cx: &Cx<'_>) -> Result<(), Stop> {
    let (rights, catalog) = (&cx.session.identity.rights, &cx.session.catalog);
    let may = match asks {
        Asks::Itself(_) => true,
        Asks::AlterState => rights.alters_state(catalog),
        Asks::ViewState => rights.views_server_state(),
        Asks::Sysadmin => rights.is_all(),
    };
    match may {
        true => Ok(()),
        false => Err(Msg::DbccDenied(&cx.session.identity.login, command).into()),
    }
}

/// Checks that the session may check a whole database.
///
/// # Errors
/// 7983 without the permission.
pub fn require_database(command: &str, database: &Database, cx: &Cx<'_>) -> Result<(), Stop> {
    match cx.session.identity.rights.owns(database) {
        true => Ok(()),
        false => {
            Err(Msg::DbccDatabaseDenied(&cx.session.identity.login, command, &database.name).into())
        }
    }
}

/// Checks that the session may check and repair a table. Temporary tables belong to the session.
///
/// # Errors
/// 2557 without the permission.
pub fn require_table(command: &str, table: &TableDef, cx: &Cx<'_>) -> Result<(), Stop> {
    let database = cx.session.catalog.database_by_id(table.database_id);
    let keeps = |database| cx.session.identity.rights.keeps(database, table);
    match table.name.starts_with('#') || database.is_none_or(|database| keeps(database)) {
        true => Ok(()),
        false => {
            Err(Msg::DbccObjectDenied(&cx.session.identity.login, command, &table.name).into())
        }
    }
}

fn free_plan_cache(_: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    ::session::plan_cache::free_programs(cx.session);
    Ok(())
}

/// `DBCC FREESYSTEMCACHE ('ALL' | 'SQL Plans' | 'Object Plans' ..)`: the plan cache is the only
/// one.
fn free_system_cache(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let name =
        dbcc.arguments.first().and_then(super::sqlperf::word).ok_or(Msg::DbccParameter(1))?;
    let of_plans = ["ALL", "SQL Plans", "Object Plans", "Bound Trees"];
    if !of_plans.iter().any(|cache| cache.eq_ignore_ascii_case(name)) {
        return Err(Msg::NotSupported(&format!("DBCC FREESYSTEMCACHE ('{name}')")).into());
    }
    ::session::plan_cache::free_programs(cx.session);
    Ok(())
}

/// `DBCC DBREINDEX (table [, index [, fill factor]])`: builds disabled indexes. Others
/// have no pages to fill or reorder, so that a rebuild would change nothing.
fn reindex(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let word = super::sqlperf::word;
    let name = dbcc.arguments.first().and_then(word).ok_or(Msg::DbccParameter(1))?;
    let table = super::check::find_table(name, cx)?;
    require_table("DBREINDEX", &table, cx)?;
    match dbcc.arguments.get(1).map(word) {
        None | Some(Some("")) => enable(table, None, cx),
        Some(Some(index)) if table.has_index(index) => enable(table, Some(index), cx),
        Some(Some(index)) => Err(Msg::IndexNotFound(index).into()),
        Some(None) => Err(Msg::DbccParameter(2).into()),
    }
}

/// Builds the disabled indexes among those that DBCC DBREINDEX is for.
fn enable(table: Arc<TableDef>, index: Option<&str>, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let mark = cx.session.mark_definitions();
    let done = ::ddl::disable::reindex(table, index, cx);
    cx.session.end_definition(&mark, done.is_err());
    cx.session.refresh_catalog();
    Ok(done?)
}

/// `DBCC UPDATEUSAGE (database [, table [, index]])`: row counts are always exact, so there is
/// nothing to correct.
fn update_usage(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let word = super::sqlperf::word;
    if dbcc.arguments.is_empty() {
        return Err(Msg::DbccParameterCount.into());
    }
    let database = super::check::find_database(dbcc, cx)?;
    require_database("UPDATEUSAGE", &database, cx)?;
    let Some(table) = dbcc.arguments.get(1) else { return Ok(()) };
    super::check::find_table(word(table).ok_or(Msg::DbccParameter(2))?, cx)?;
    Ok(())
}

/// `DBCC USEROPTIONS`: returns the SET options in effect.
fn user_options(cx: &mut Cx<'_>) -> Result<(), Stop> {
    let columns = ["Set Option", "Value"].map(|name| text_column(name, cx));
    let shape = shape_of(columns.into());
    cx.sink.columns(&shape)?;
    let options = option_values(cx.session);
    for (name, value) in &options {
        cx.sink.row(&[Value::nvarchar(name), Value::nvarchar(value)])?;
    }
    let rows = u64::try_from(options.len()).ok();
    Ok(done(cx, sink::Command::SELECT, rows, false)?)
}

fn text_column(name: &str, cx: &Cx<'_>) -> ColumnInfo {
    let name = name.into();
    ColumnInfo {
        name,
        column_type: cx.session.text_type(),
        traits: Traits::default(),
        updatable: false,
    }
}

fn option_values(session: &SessionState) -> Vec<(&'static str, String)> {
    let options = &session.options;
    let mut rows = vec![
        ("textsize", options.text_size.to_string()),
        ("language", options.language.name().to_owned()),
        ("dateformat", format!("{:?}", options.date_format).to_ascii_lowercase()),
        ("datefirst", options.date_first.to_string()),
        ("lock_timeout", options.lock_timeout_ms.to_string()),
    ];
    let switches = [
        ("quoted_identifier", options.quoted_identifier),
        ("arithabort", options.arith_abort),
        ("nocount", options.no_count),
        ("xact_abort", options.xact_abort),
        ("ansi_null_dflt_on", options.ansi_null_default),
        ("ansi_warnings", options.ansi_warnings),
        ("ansi_padding", options.ansi_padding),
        ("ansi_nulls", options.ansi_nulls),
        ("concat_null_yields_null", options.concat_null_yields_null),
    ];
    let set = switches.iter().filter(|(_, on)| *on);
    rows.extend(set.map(|(name, _)| (*name, "SET".to_owned())));
    let isolation = match session.isolation {
        IsolationLevel::ReadUncommitted => "read uncommitted",
        IsolationLevel::ReadCommitted => "read committed",
        IsolationLevel::RepeatableRead => "repeatable read",
        IsolationLevel::Serializable => "serializable",
        IsolationLevel::Snapshot => "snapshot",
    };
    rows.push(("isolation level", isolation.to_owned()));
    rows
}
