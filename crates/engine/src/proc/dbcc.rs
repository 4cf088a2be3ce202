//! DBCC commands.

use tsql::ast;
use types::{Error, Msg, Value};

use crate::bind::shape_of;
use crate::exec::Cx;
use crate::exec::run::{Stop, done};
use crate::session::{IsolationLevel, SessionState};
use crate::sink::{ColumnInfo, Command};

pub(crate) fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    match dbcc.command.to_ascii_uppercase().as_str() {
        "FREEPROCCACHE" => {
            cx.session.instance.programs.clear();
            cx.session.instance.statistics.evict_all();
            cx.session.programs.clear();
        }
        "CHECKIDENT" => super::identity::run(dbcc, cx)?,
        "MEMORYSTATUS" => super::memory_status::run(cx)?,
        "SQLPERF" => super::sqlperf::run(dbcc, cx)?,
        "USEROPTIONS" => user_options(cx)?,
        // Trace flags change how SQL Server works inside; scripts set them before they measure. There is
        // nothing here that any of them would change, and DBCC TRACESTATUS does not claim otherwise.
        other => return Err(Msg::NotSupported(&format!("DBCC {other}")).into()),
    }
    let quiet = dbcc.options.iter().any(|(name, _)| name.as_ref() == "NO_INFOMSGS");
    if !quiet {
        cx.sink.message(&Error::from(Msg::DbccCompleted))?;
    }
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
    let name = name.to_owned();
    ColumnInfo { name, column_type: cx.session.text_type(), identity: false, updatable: false }
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
