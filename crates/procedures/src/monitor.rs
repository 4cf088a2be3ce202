//! `sp_monitor`: how busy the server has been since its start, and since the procedure ran last.

use types::value::ColumnType;
use types::{Bytes, DataType, Length, Msg, Value};

use crate::procedure::{SystemProcedure, check_sysadmin};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use ::session::instance::ServerActivity;
use interpreter::{Argument, Stop, done};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_monitor", id: 0, run }];

const SECOND_NS: u64 = 1_000_000_000;

/// What is shown: now, and what the last call read; before the first one, zeros at the server's
/// start.
struct Shown {
    last_run: Value,
    current_run: Value,
    seconds: u64,
    now: ServerActivity,
    before: ServerActivity,
}

fn run(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_sysadmin(cx)?;
    if !arguments.is_empty() {
        return Err(Msg::TooManyArguments("sp_monitor").into());
    }
    let shown = look(cx);
    times(&shown, cx)?;
    let of = |read: fn(&ServerActivity) -> u64| (read(&shown.now), read(&shown.before));
    let busy = |read| share(of(read), shown.seconds);
    let count = |read| counted(of(read));
    texts(
        cx,
        &[
            ("cpu_busy", Some(busy(|a| a.busy_ns))),
            ("io_busy", Some(busy(|a| a.io_ns))),
            ("idle", Some(busy(|a| a.idle_ns))),
        ],
    )?;
    texts(
        cx,
        &[
            ("packets_received", Some(count(|a| a.received))),
            ("packets_sent", Some(count(|a| a.sent))),
            // A packet that is wrong ends its connection; they are not counted.
            ("packet_errors", None),
        ],
    )?;
    texts(
        cx,
        &[
            ("total_read", Some(count(|a| a.reads))),
            ("total_write", Some(count(|a| a.writes))),
            ("total_errors", Some(count(|a| a.errors))),
            ("connections", Some(count(|a| a.connections))),
        ],
    )?;
    Ok(0)
}

/// Reads the sums, and keeps them for the next call.
fn look(cx: &Cx<'_>) -> Shown {
    let instance = &cx.session.instance;
    let (at, ms) = (::catalog::clock::clock(), sos::clock::monotonic_ns() / 1_000_000);
    let now = instance.activity();
    let datetime =
        |moment: types::date::Moment| moment.to_value(&DataType::DateTime).unwrap_or(Value::Null);
    let known = instance.monitor((at, ms), now);
    let (last_run, before, from_ms) = match known {
        Some(((last, last_ms), before)) => (datetime(last), before, last_ms),
        None => (instance.started.clone(), ServerActivity::default(), instance.started_ms),
    };
    let seconds = ms.saturating_sub(from_ms) / 1_000;
    Shown { last_run, current_run: datetime(at), seconds, now, before }
}

/// Formats a time: seconds since the start, since the last call, and its share of the time since
/// then.
fn share((now, before): (u64, u64), seconds: u64) -> String {
    let since = now.saturating_sub(before);
    let percent = (since / (SECOND_NS / 100)).checked_div(seconds).unwrap_or(0);
    format!("{}({})-{percent}%", now / SECOND_NS, since / SECOND_NS)
}

/// Formats a count: since the start, and since the last call.
fn counted((now, before): (u64, u64)) -> String {
    format!("{now}({})", now.saturating_sub(before))
}

fn times(shown: &Shown, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let of = |data_type| ColumnType { data_type, ..cx.session.text_type() };
    let columns = vec![
        column("last_run", of(DataType::DateTime)),
        column("current_run", of(DataType::DateTime)),
        column("seconds", of(DataType::Int)),
    ];
    let seconds = Value::Int(i32::try_from(shown.seconds).unwrap_or(i32::MAX));
    let row = [shown.last_run.clone(), shown.current_run.clone(), seconds];
    send(columns, &row, cx)
}

fn texts(cx: &mut Cx<'_>, shown: &[(&str, Option<String>)]) -> Result<(), Stop> {
    let data_type = DataType::VarChar(Length::Limited(45));
    let ty = ColumnType { data_type, ..cx.session.text_type() };
    let columns = shown.iter().map(|(name, _)| column(name, ty)).collect();
    let text = |text: &String| Value::VarChar(Bytes::copy_from(text.as_bytes()));
    let row: Vec<Value> =
        shown.iter().map(|(_, value)| value.as_ref().map_or(Value::Null, text)).collect();
    send(columns, &row, cx)
}

fn column(name: &str, column_type: ColumnType) -> ColumnInfo {
    ColumnInfo { name: name.into(), column_type, traits: Traits::default(), updatable: false }
}

fn send(columns: Vec<ColumnInfo>, row: &[Value], cx: &mut Cx<'_>) -> Result<(), Stop> {
    cx.sink.columns(&shape_of(columns))?;
    cx.sink.row(row)?;
    Ok(done(cx, Command::SELECT, Some(1), false)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_since_the_last_call() {
        // 215 of 316 seconds: the example of the documentation.
        assert_eq!(share((4_250 * SECOND_NS, 4_035 * SECOND_NS), 316), "4250(215)-68%");
        assert_eq!(share((SECOND_NS, 0), 0), "1(1)-0%", "no second has passed");
        assert_eq!(counted((54_920, 54_793)), "54920(127)");
    }
}
