//! `sys.dm_exec_query_memory_grants`: the queries that have working memory (sorts, hash tables),
//! and those that wait for it.

use types::DataType;

use ::session::grant::{GrantNow, POOL, STEP_BYTES, WAIT_MAX};
use ::session::instance::datetime_of;
use metadata::column::{
    BIGINT, BIT, Column, DATETIME, FLOAT, INT, SMALLINT, big, binary, bit, col, int, opt, or_null,
    rows, shape, small, unknown, vb,
};
use metadata::requests::{RequestRow, request_rows};
use metadata::{Rows, Scope, SystemView};

/// A request that holds or waits for working memory.
struct GrantRow {
    request: RequestRow,
    grant: GrantNow,
    /// Position in the queue, from 0; `None` if it does not wait.
    place: Option<i32>,
}

impl GrantRow {
    /// Returns the requested memory in bytes: the estimate if there is one, otherwise the maximum
    /// used so far; at least one step.
    fn requested(&self) -> u64 {
        self.grant.ideal.max(self.grant.used_max).max(STEP_BYTES)
    }
}

fn kb(bytes: u64) -> types::Value {
    big(bytes / 1024)
}

const COLUMNS: &[Column<GrantRow>] = &[
    col("session_id", SMALLINT, |r| small(r.request.session.card.id)),
    col("request_id", INT, |_| int(0)),
    opt("scheduler_id", INT, |r| or_null(r.request.scheduler(), int)),
    col("dop", SMALLINT, |r| small(r.request.session.card.live.degree())),
    col("request_time", DATETIME, |r| datetime_of(r.grant.since)),
    opt("grant_time", DATETIME, |r| r.if_granted(datetime_of(r.grant.since))),
    col("requested_memory_kb", BIGINT, |r| kb(r.requested())),
    opt("granted_memory_kb", BIGINT, |r| r.if_granted(kb(r.requested().min(r.grant.limit)))),
    col("required_memory_kb", BIGINT, |_| kb(STEP_BYTES)),
    opt("used_memory_kb", BIGINT, |r| r.if_granted(kb(r.grant.used))),
    opt("max_used_memory_kb", BIGINT, |r| r.if_granted(kb(r.grant.used_max))),
    unknown("query_cost", FLOAT),
    col("timeout_sec", INT, |_| int(WAIT_MAX.as_secs())),
    col("resource_semaphore_id", SMALLINT, |_| small(0)),
    // NULL if the memory was granted, as documented.
    opt("queue_id", SMALLINT, |r| or_null(r.place, |_| small(0))),
    opt("wait_order", INT, |r| or_null(r.place, int)),
    opt("is_next_candidate", BIT, |r| or_null(r.place, |place| bit(place == 0))),
    opt("wait_time_ms", BIGINT, |r| or_null(r.place, |_| big(r.waited_ms()))),
    opt("plan_handle", vb(64), |r| {
        or_null(r.request.books.as_ref(), |b| binary(b.plan_handle().bytes()))
    }),
    opt("sql_handle", vb(64), |r| {
        or_null(r.request.books.as_ref(), |b| binary(b.sql_handle().bytes()))
    }),
    // 2 is the group `default` and the pool `default`.
    col("group_id", INT, |_| int(2)),
    col("pool_id", INT, |_| int(POOL.1)),
    col("is_small", DataType::TinyInt, |r| types::Value::TinyInt(u8::from(r.is_small()))),
    col("ideal_memory_kb", BIGINT, |r| kb(r.requested())),
    opt("reserved_worker_count", BIGINT, |r| big(r.workers())),
    opt("used_worker_count", BIGINT, |r| big(r.workers())),
    opt("max_used_worker_count", BIGINT, |r| big(r.workers())),
    unknown("reserved_node_bitmap", BIGINT),
];

impl GrantRow {
    /// Returns the value for a granted query; NULL while it waits.
    fn if_granted(&self, value: types::Value) -> types::Value {
        if self.place.is_none() { value } else { types::Value::Null }
    }

    fn waited_ms(&self) -> u64 {
        let ticks = sos::clock::now_ticks().saturating_sub(self.grant.waits_since);
        sos::clock::ticks_to_ns(ticks) / 1_000_000
    }

    /// Returns the workers of a parallel plan; 0 for a serial plan.
    fn workers(&self) -> u32 {
        let degree = self.request.session.card.live.degree();
        if degree > 1 { degree } else { 0 }
    }

    /// Returns true for less than 5 MB, the limit of SQL Server's small-query semaphore.
    fn is_small(&self) -> bool {
        self.requested() < 5 << 20
    }
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_query_memory_grants",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let row = |request: RequestRow| {
        let grant = request.session.card.grant.now()?;
        Some(GrantRow { request, grant, place: None })
    };
    let mut list: Vec<_> = request_rows(scope).into_iter().filter_map(row).collect();
    list.sort_by_key(|row| row.grant.waits_since);
    let waiting = list.iter_mut().filter(|row| row.grant.waits_since > 0);
    for (place, row) in (0..).zip(waiting) {
        row.place = Some(place);
    }
    rows(COLUMNS, list)
}
