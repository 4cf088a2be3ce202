//! The catalog of the resource governor: `sys.resource_governor_configuration` and others. There is
//! no classifier, so that all requests belong to the group `default` of the pool `default`; the pool
//! and the group `internal` are the server's own.

use types::DataType;
use types::Value;

use super::SystemView;
use super::absent::{absent, none};
use ::session::grant::{POOL, WAIT_MAX};
use metadata::column::{
    BIGINT, BIT, Column, FLOAT, INT, SYSNAME, bit, col, int, nv, rows, shape, text, unknown,
};
use metadata::{Rows, Scope};

/// Name and id of the pool and of the group of the server's own work.
pub(crate) const INTERNAL: (&str, i32) = ("internal", 1);
/// Name and `group_id` of the group that all requests belong to.
pub(crate) const GROUP: (&str, i32) = ("default", 2);

/// The views of this file.
pub(crate) static VIEWS: &[&SystemView] =
    &[&CONFIGURATION, &RUNNING_CONFIGURATION, &POOLS, &GROUPS, &EXTERNAL_POOLS];

const fn view(
    name: &'static str,
    columns: fn() -> Vec<(&'static str, types::value::ColumnType)>,
    rows: fn(&Scope<'_>) -> Rows,
) -> SystemView {
    SystemView { schema: "sys", name, columns, rows, arity: 0 }
}

const CONFIGURATION_COLUMNS: &[Column<()>] = &[
    col("classifier_function_id", INT, |()| int(0)),
    col("is_enabled", BIT, |()| bit(false)),
    col("max_outstanding_io_per_volume", INT, |()| int(0)),
];

static CONFIGURATION: SystemView = view(
    "resource_governor_configuration",
    || shape(CONFIGURATION_COLUMNS),
    |_| rows(CONFIGURATION_COLUMNS, [()]),
);

const RUNNING_COLUMNS: &[Column<()>] = &[
    col("classifier_function_id", INT, |()| int(0)),
    col("is_reconfiguration_pending", BIT, |()| bit(false)),
    col("max_outstanding_io_per_volume", INT, |()| int(0)),
];

static RUNNING_CONFIGURATION: SystemView = view(
    "dm_resource_governor_configuration",
    || shape(RUNNING_COLUMNS),
    |_| rows(RUNNING_COLUMNS, [()]),
);

const POOL_COLUMNS: &[Column<(&str, i32)>] = &[
    col("pool_id", INT, |r| int(r.1)),
    col("name", SYSNAME, |r| text(r.0)),
    col("min_cpu_percent", INT, |_| int(0)),
    col("max_cpu_percent", INT, |_| int(100)),
    col("min_memory_percent", INT, |_| int(0)),
    col("max_memory_percent", INT, |_| int(100)),
    col("cap_cpu_percent", INT, |_| int(100)),
    col("min_iops_per_volume", INT, |_| int(0)),
    col("max_iops_per_volume", INT, |_| int(0)),
];

static POOLS: SystemView = view(
    "resource_governor_resource_pools",
    || shape(POOL_COLUMNS),
    |_| rows(POOL_COLUMNS, [INTERNAL, (POOL.0, POOL.1)]),
);

/// A group: its name, its id and that of its pool, and the share of memory that a request may have.
struct Group {
    name: &'static str,
    id: i32,
    pool: i32,
    grant_percent: f64,
    whole_percent: u64,
}

const GROUP_COLUMNS: &[Column<Group>] = &[
    col("group_id", INT, |r| int(r.id)),
    col("name", SYSNAME, |r| text(r.name)),
    col("importance", nv(128), |_| text("Medium")),
    col("request_max_memory_grant_percent", INT, |r| int(r.whole_percent)),
    col("request_max_cpu_time_sec", INT, |_| int(0)),
    col("request_memory_grant_timeout_sec", INT, |_| int(WAIT_MAX.as_secs())),
    col("max_dop", INT, |_| int(0)),
    col("group_max_requests", INT, |_| int(0)),
    col("pool_id", INT, |r| int(r.pool)),
    unknown("external_pool_id", INT),
    col("request_max_memory_grant_percent_numeric", FLOAT, |r| Value::Float(r.grant_percent)),
];

static GROUPS: SystemView = view(
    "resource_governor_workload_groups",
    || shape(GROUP_COLUMNS),
    |scope| {
        let instance = &scope.session.instance;
        let all = instance.config.memory_max.max(1);
        let limit = instance.workspace.query_limit();
        let grant_percent = limit as f64 * 100.0 / all as f64;
        let whole_percent = limit.saturating_mul(100) / all;
        let of = |(name, id): (&'static str, i32)| Group {
            name,
            id,
            pool: id,
            grant_percent,
            whole_percent,
        };
        rows(GROUP_COLUMNS, [of(INTERNAL), of(GROUP)])
    },
);

static EXTERNAL_POOLS: SystemView = absent("resource_governor_external_resource_pools", || {
    shape(&[
        none("external_pool_id", INT),
        none("name", SYSNAME),
        none("max_cpu_percent", INT),
        none("max_memory_percent", INT),
        none("max_processes", BIGINT),
        none("version", DataType::BigInt),
    ])
});
