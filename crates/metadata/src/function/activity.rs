//! `@@CPU_BUSY`, `@@IDLE` and other counters since the start of the server, which `sp_monitor`
//! reads too. Times are in ticks of 31.25 ms.

use types::Value;

use crate::function::Function;
use crate::function::entry::{int, session};
use crate::function::session::session_of;
use ::plan::function::Context;
use ::session::instance::ServerActivity;

/// Microseconds per tick of `@@TIMETICKS`: SQL Server's fixed value.
const TICK_US: i32 = 31_250;
const TICK_NS: u64 = 31_250_000;

pub(super) static FUNCTIONS: &[Function] = &[
    session("@@TIMETICKS", int, |_| Value::Int(TICK_US)),
    session("@@CPU_BUSY", int, |cx| ticks(activity(cx).busy_ns)),
    session("@@IDLE", int, |cx| ticks(activity(cx).idle_ns)),
    session("@@IO_BUSY", int, |cx| ticks(activity(cx).io_ns)),
    session("@@PACK_RECEIVED", int, |cx| count(activity(cx).received)),
    session("@@PACK_SENT", int, |cx| count(activity(cx).sent)),
    session("@@TOTAL_READ", int, |cx| count(activity(cx).reads)),
    session("@@TOTAL_WRITE", int, |cx| count(activity(cx).writes)),
    session("@@TOTAL_ERRORS", int, |cx| count(activity(cx).errors)),
];

fn activity(cx: &Context<'_>) -> ServerActivity {
    session_of(cx).instance.activity()
}

fn ticks(ns: u64) -> Value {
    count(ns / TICK_NS)
}

fn count(number: u64) -> Value {
    Value::Int(i32::try_from(number).unwrap_or(i32::MAX))
}
