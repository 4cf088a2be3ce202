//! `DBCC SQLPERF`: clears statistics, or shows how full the logs are.

use sos::ledger::Statistics;
use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Msg, Value};

use super::dbcc::{Asks, require};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use interpreter::{Stop, done};
use metadata::log::Figures;

/// Runs SQLPERF with its arguments.
///
/// # Errors
/// 2583 and 2560 for undocumented arguments, 2571 without the permission.
pub(crate) fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let words: Vec<Option<&str>> = dbcc.arguments.iter().map(word).collect();
    match words.as_slice() {
        [first] => match first {
            Some(name) if name.eq_ignore_ascii_case("LOGSPACE") => {
                require(Asks::ViewState, "SQLPERF", cx)?;
                log_space(cx)
            }
            _ => Err(Msg::DbccParameter(1).into()),
        },
        [first, second] => {
            let Some(statistics) = first.and_then(statistics_of) else {
                return Err(Msg::DbccParameter(1).into());
            };
            if !second.is_some_and(|word| word.eq_ignore_ascii_case("CLEAR")) {
                return Err(Msg::DbccParameter(2).into());
            }
            require(Asks::AlterState, "SQLPERF", cx)?;
            cx.session.instance.machine.accounts().clear(statistics);
            Ok(())
        }
        _ => Err(Msg::DbccParameterCount.into()),
    }
}

/// Returns an argument as text: a string, or an unquoted name.
pub(crate) fn word(argument: &ast::Expr) -> Option<&str> {
    match &argument.kind {
        ast::ExprKind::Literal(ast::Literal::String(text) | ast::Literal::NString(text)) => {
            Some(text)
        }
        ast::ExprKind::Column(name) if name.table.is_none() => Some(&name.column),
        _ => None,
    }
}

/// Returns the statistics that a view shows, by its name.
fn statistics_of(view: &str) -> Option<Statistics> {
    let name = view.to_ascii_lowercase();
    match name.strip_prefix("sys.").unwrap_or(&name) {
        "dm_os_wait_stats" => Some(Statistics::Waits),
        "dm_os_latch_stats" => Some(Statistics::Latches),
        "dm_os_spinlock_stats" => Some(Statistics::Spinlocks),
        _ => None,
    }
}

/// `DBCC SQLPERF(LOGSPACE)`: one row per database. All share one log; in memory only it is empty.
fn log_space(cx: &mut Cx<'_>) -> Result<(), Stop> {
    let column = |name: &str, column_type: ColumnType| ColumnInfo {
        name: name.into(),
        column_type,
        traits: Traits::default(),
        updatable: false,
    };
    let of = |data_type| ColumnType { data_type, ..cx.session.text_type() };
    let shape = shape_of(vec![
        column("Database Name", cx.session.text_type()),
        column("Log Size (MB)", of(DataType::Real)),
        column("Log Space Used (%)", of(DataType::Real)),
        column("Status", of(DataType::Int)),
    ]);
    cx.sink.columns(&shape)?;
    let catalog = std::sync::Arc::clone(&cx.session.catalog);
    for database in catalog.databases.values() {
        let name = Value::nvarchar(&database.name);
        let log = metadata::log::of_database(cx.session, database.id);
        let size = Value::Real(log.as_ref().map_or(0.0, Figures::total_mb));
        let used = Value::Real(log.as_ref().map_or(0.0, Figures::used_percent));
        cx.sink.row(&[name, size, used, Value::Int(0)])?;
    }
    let rows = u64::try_from(catalog.databases.len()).ok();
    Ok(done(cx, Command::SELECT, rows, false)?)
}
