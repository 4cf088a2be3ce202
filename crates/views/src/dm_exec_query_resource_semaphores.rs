//! `sys.dm_exec_query_resource_semaphores`: the working memory that all queries share, and how many
//! wait for it.

use ::session::grant::{POOL, WorkspaceNow};
use metadata::column::{BIGINT, Column, INT, SMALLINT, big, col, int, opt, rows, shape, small};
use metadata::{Rows, Scope, SystemView};

fn kb(bytes: u64) -> types::Value {
    big(bytes / 1_024)
}

const COLUMNS: &[Column<WorkspaceNow>] = &[
    // 0, the regular semaphore: there is no separate one for small queries.
    col("resource_semaphore_id", SMALLINT, |_| small(0)),
    col("target_memory_kb", BIGINT, |r| kb(r.limit)),
    opt("max_target_memory_kb", BIGINT, |r| kb(r.limit)),
    col("total_memory_kb", BIGINT, |r| kb(r.limit)),
    col("available_memory_kb", BIGINT, |r| kb(r.limit.saturating_sub(r.used))),
    // Memory is granted as it is used.
    col("granted_memory_kb", BIGINT, |r| kb(r.used)),
    col("used_memory_kb", BIGINT, |r| kb(r.used)),
    col("grantee_count", INT, |r| int(r.holding)),
    col("waiter_count", INT, |r| int(r.waiting)),
    opt("timeout_error_count", BIGINT, |r| big(r.timed_out)),
    // No grant is forced: a query never runs with less than it asked for.
    opt("forced_grant_count", BIGINT, |_| big(0)),
    col("pool_id", INT, |_| int(POOL.1)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_query_resource_semaphores",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, [scope.session.instance.workspace.now()])
}
