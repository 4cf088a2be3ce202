//! `sys.dm_resource_governor_workload_groups`: the group `default`, which all requests belong to, and
//! the group `internal`, which has none.
//! It has no limits that could queue a request; requests that wait for memory are counted by the
//! pool.

use sos::ledger::State;
use sos::wait::WaitType;
use types::Value;

use super::resource_governor::{GROUP, INTERNAL};
use ::session::grant::{POOL, WAIT_MAX};
use ::session::instance::SessionCounter;
use metadata::column::{
    BIGINT, Column, DATETIME, FLOAT, INT, SYSNAME, big, col, int, rows, shape, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Group>] = &[
    col("group_id", INT, |r| int(r.id)),
    col("name", SYSNAME, |r| text(r.name)),
    col("pool_id", INT, |r| int(r.pool)),
    unknown("external_pool_id", INT),
    col("statistics_start_time", DATETIME, |r| r.started.clone()),
    col("total_request_count", BIGINT, |r| big(r.requests)),
    col("total_queued_request_count", BIGINT, |_| big(0)),
    col("active_request_count", INT, |r| int(r.active)),
    col("queued_request_count", INT, |_| int(0)),
    col("total_cpu_limit_violation_count", BIGINT, |_| big(0)),
    col("total_cpu_usage_ms", BIGINT, |r| big(r.cpu_ms)),
    unknown("max_request_cpu_time_ms", BIGINT),
    col("blocked_task_count", INT, |r| int(r.blocked)),
    col("total_lock_wait_count", BIGINT, |r| big(r.lock_waits)),
    col("total_lock_wait_time_ms", BIGINT, |r| big(r.lock_ms)),
    col("total_query_optimization_count", BIGINT, |r| big(r.optimizations)),
    col("total_suboptimal_plan_generation_count", BIGINT, |_| big(0)),
    col("total_reduced_memgrant_count", BIGINT, |_| big(0)),
    unknown("max_request_grant_memory_kb", BIGINT),
    col("active_parallel_thread_count", BIGINT, |_| big(0)),
    col("importance", SYSNAME, |_| text("Medium")),
    col("request_max_memory_grant_percent", INT, |r| int(r.grant_percent)),
    col("request_max_cpu_time_sec", INT, |_| int(0)),
    col("request_memory_grant_timeout_sec", INT, |_| int(WAIT_MAX.as_secs())),
    col("group_max_requests", INT, |_| int(0)),
    col("max_dop", INT, |_| int(0)),
    col("effective_max_dop", INT, |_| int(0)),
    unknown("total_cpu_usage_preemptive_ms", BIGINT),
    col("request_max_memory_grant_percent_numeric", FLOAT, |r| Value::Float(r.grant_percent_exact)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_resource_governor_workload_groups",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

#[derive(Default)]
struct Group {
    name: &'static str,
    id: i32,
    pool: i32,
    started: Value,
    requests: u64,
    active: u64,
    cpu_ms: u64,
    blocked: usize,
    lock_waits: u64,
    lock_ms: u64,
    optimizations: u64,
    grant_percent: u64,
    grant_percent_exact: f64,
}

fn is_lock(wait_type: WaitType) -> bool {
    wait_type.name().starts_with("LCK_M_")
}

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let (totals, times) = (instance.sessions.totals(), sos::sys::cpu_times());
    let accounts = instance.machine.accounts();
    let waits = accounts.waits();
    let locks = waits.iter().filter(|row| is_lock(row.wait_type));
    let (lock_waits, lock_ns) =
        locks.fold((0, 0), |(count, ns), row| (count + row.count, ns + row.wait_ns));
    let blocked = |state: State| matches!(state, State::Wait(wait) if is_lock(wait));
    let (limit, all) = (instance.workspace.query_limit(), instance.config.memory_max.max(1));
    let cards = instance.sessions.cards();
    let group = Group {
        name: GROUP.0,
        id: GROUP.1,
        pool: POOL.1,
        started: instance.started.clone(),
        requests: totals.requests,
        active: cards.iter().map(|card| u64::from(card.is_running())).sum(),
        cpu_ms: (times.user_ns + times.kernel_ns) / 1_000_000,
        blocked: accounts.threads().iter().filter(|account| blocked(account.state())).count(),
        lock_waits,
        lock_ms: lock_ns / 1_000_000,
        optimizations: totals.counters.get(SessionCounter::Compilations),
        grant_percent: limit.saturating_mul(100) / all,
        grant_percent_exact: limit as f64 * 100.0 / all as f64,
    };
    let started = group.started.clone();
    let (name, id) = INTERNAL;
    let internal = Group { name, id, pool: id, started, ..Group::default() };
    rows(COLUMNS, [internal, group])
}
