//! DBCC commands.

use tsql::ast;
use types::{Error, Msg, Value};

use crate::bind::shape_of;
use crate::exec::Cx;
use crate::exec::run::{Stop, done};
use crate::session::{IsolationLevel, SessionState};
use crate::sink::{ColumnInfo, Command, Traits};

pub(crate) fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    match dbcc.command.to_ascii_uppercase().as_str() {
        "FREEPROCCACHE" => free_programs(cx),
        "CHECKIDENT" => super::identity::run(dbcc, cx)?,
        "MEMORYSTATUS" => super::memory_status::run(cx)?,
        "SQLPERF" => super::sqlperf::run(dbcc, cx)?,
        "USEROPTIONS" => user_options(cx)?,
        // Rows are read where they are: there are no buffers to drop.
        "DROPCLEANBUFFERS" => require_state(cx)?,
        "FREESYSTEMCACHE" => free_system_cache(dbcc, cx)?,
        // Of linked servers' sessions, which there are not.
        "FREESESSIONCACHE" => require_state(cx)?,
        "CHECKDB" => super::check::database(dbcc, "CHECKDB", cx)?,
        "CHECKALLOC" => super::check::database(dbcc, "CHECKALLOC", cx)?,
        "CHECKCATALOG" => super::check::catalog(dbcc, cx)?,
        "CHECKTABLE" => super::check::table(dbcc, cx)?,
        "DBREINDEX" => reindex(dbcc, cx)?,
        "INPUTBUFFER" => super::inspect::input_buffer(dbcc, cx)?,
        "OPENTRAN" => super::inspect::open_transaction(dbcc, cx)?,
        "SHOW_STATISTICS" => super::show_statistics::run(dbcc, cx)?,
        "UPDATEUSAGE" => update_usage(dbcc, cx)?,
        "TRACEON" => super::trace::switch(dbcc, true, cx)?,
        "TRACEOFF" => super::trace::switch(dbcc, false, cx)?,
        "TRACESTATUS" => super::trace::status(dbcc, cx)?,
        other => return Err(Msg::NotSupported(&format!("DBCC {other}")).into()),
    }
    let quiet = dbcc.options.iter().any(|(name, _)| name.as_ref() == "NO_INFOMSGS");
    if !quiet {
        cx.sink.message(&Error::from(Msg::DbccCompleted))?;
    }
    Ok(())
}

pub(crate) fn free_programs(cx: &mut Cx<'_>) {
    cx.session.instance.programs.clear();
    cx.session.instance.templates.clear();
    cx.session.instance.statistics.evict_all();
    cx.session.programs.clear();
}

/// Checks ALTER SERVER STATE.
fn require_state(cx: &Cx<'_>) -> Result<(), Stop> {
    if cx.session.rights.alters_server(&cx.session.catalog) {
        return Ok(());
    }
    Err(Msg::ServerPermissionDenied("ALTER SERVER STATE").into())
}

/// `DBCC FREESYSTEMCACHE ('ALL' | 'SQL Plans' | 'Object Plans' ..)`: plans are the one cache that there is.
fn free_system_cache(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    require_state(cx)?;
    let name =
        dbcc.arguments.first().and_then(super::sqlperf::word).ok_or(Msg::DbccParameter(1))?;
    let of_plans = ["ALL", "SQL Plans", "Object Plans", "Bound Trees"];
    if !of_plans.iter().any(|cache| cache.eq_ignore_ascii_case(name)) {
        return Err(Msg::NotSupported(&format!("DBCC FREESYSTEMCACHE ('{name}')")).into());
    }
    free_programs(cx);
    Ok(())
}

/// `DBCC DBREINDEX (table [, index [, fill factor]])`: indexes have no pages that could be filled or in
/// disorder, so that they are what a rebuild would make of them.
fn reindex(dbcc: &ast::Dbcc, cx: &Cx<'_>) -> Result<(), Stop> {
    let word = super::sqlperf::word;
    let name = dbcc.arguments.first().and_then(word).ok_or(Msg::DbccParameter(1))?;
    let table = super::check::find_table(name, cx)?;
    match dbcc.arguments.get(1).map(word) {
        None | Some(Some("")) => Ok(()),
        Some(Some(index)) if table.index(index).is_some() => Ok(()),
        Some(Some(index)) => Err(Msg::IndexNotFound(index).into()),
        Some(None) => Err(Msg::DbccParameter(2).into()),
    }
}

/// `DBCC UPDATEUSAGE (database [, table [, index]])`: rows are counted as they come and go, so that there is
/// nothing to correct.
fn update_usage(dbcc: &ast::Dbcc, cx: &Cx<'_>) -> Result<(), Stop> {
    let word = super::sqlperf::word;
    let database = dbcc.arguments.first().ok_or(Msg::DbccParameterCount)?;
    match (word(database), super::trace::number(database)) {
        (Some(name), _) if cx.session.catalog.database(name).is_none() => {
            return Err(Msg::DatabaseNotFound(name).into());
        }
        (Some(_), _) | (None, Some(0)) => {}
        (None, Some(id))
            if cx.session.catalog.databases.values().any(|d| i32::from(d.id) == id) => {}
        (None, _) => return Err(Msg::DbccParameter(1).into()),
    }
    let Some(table) = dbcc.arguments.get(1) else { return Ok(()) };
    super::check::find_table(word(table).ok_or(Msg::DbccParameter(2))?, cx)?;
    Ok(())
}

/// `DBCC USEROPTIONS`: the options that are set, as scripts read them.
fn user_options(cx: &mut Cx<'_>) -> Result<(), Stop> {
    let columns = ["Set Option", "Value"].map(|name| text_column(name, cx));
    let shape = shape_of(columns.into());
    cx.sink.columns(&shape)?;
    let options = option_values(cx.session);
    for (name, value) in &options {
        cx.sink.row(&[Value::nvarchar(name), Value::nvarchar(value)])?;
    }
    let rows = u64::try_from(options.len()).ok();
    Ok(done(cx, Command::Select, rows, false)?)
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
        ("language", options.language.clone()),
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
