//! `@@CPU_BUSY`, `@@IDLE` and other counters since the start of the server, which `sp_monitor`
//! reads too. Times are in ticks of 31.25 ms.

use types::Value;

use crate::function::Function;
use crate::function::entry::{int, session};
use crate::function::session::session_of;
use ::plan::function::Context;

/// Microseconds per tick of `@@TIMETICKS`: SQL Server's fixed value.
const TICK_US: i32 = 31_250;
const TICK_NS: u64 = 31_250_000;

pub(super) static FUNCTIONS: &[Function] = &[
    session("@@TIMETICKS", int, |_| Value::Int(TICK_US)),
    session("@@CPU_BUSY", int, |_| ticks(busy_ns())),
    session("@@IDLE", int, |cx| ticks(idle_ns(cx))),
    // There is no disk that a request could wait for.
    session("@@IO_BUSY", int, |_| Value::Int(0)),
    session("@@TOTAL_READ", int, |_| Value::Int(0)),
    session("@@TOTAL_WRITE", int, |_| Value::Int(0)),
    session("@@TOTAL_ERRORS", int, |_| Value::Int(0)),
];

fn ticks(ns: u64) -> Value {
    Value::Int(i32::try_from(ns / TICK_NS).unwrap_or(i32::MAX))
}

/// CPU time of the process over all CPUs, in ns.
fn busy_ns() -> u64 {
    let times = sos::sys::cpu_times();
    times.user_ns + times.kernel_ns
}

/// CPU time that the schedulers have not used since the start, in ns.
fn idle_ns(cx: &Context<'_>) -> u64 {
    let instance = &session_of(cx).instance;
    let started_ns = instance.started_ms.saturating_mul(1_000_000);
    let up_ns = sos::clock::monotonic_ns().saturating_sub(started_ns);
    let schedulers = u64::try_from(instance.machine.schedulers().len()).unwrap_or(1);
    up_ns.saturating_mul(schedulers).saturating_sub(busy_ns())
}
