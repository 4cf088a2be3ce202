//! `sys.database_query_store_options`: the options of the Query Store, which is always off.

use metadata::column::{
    BIGINT, Column, INT, NVMAX, SMALLINT, big, col, int, nv, opt, rows, shape, small, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<()>] = &[
    col("desired_state", SMALLINT, |()| small(0)),
    opt("desired_state_desc", nv(60), |()| text("OFF")),
    col("actual_state", SMALLINT, |()| small(0)),
    opt("actual_state_desc", nv(60), |()| text("OFF")),
    opt("readonly_reason", INT, |()| int(0)),
    opt("current_storage_size_mb", BIGINT, |()| big(0)),
    unknown("flush_interval_seconds", BIGINT),
    unknown("interval_length_minutes", BIGINT),
    unknown("max_storage_size_mb", BIGINT),
    unknown("stale_query_threshold_days", BIGINT),
    unknown("max_plans_per_query", BIGINT),
    unknown("query_capture_mode", SMALLINT),
    unknown("query_capture_mode_desc", nv(60)),
    unknown("capture_policy_execution_count", INT),
    unknown("capture_policy_total_compile_cpu_time_ms", BIGINT),
    unknown("capture_policy_total_execution_cpu_time_ms", BIGINT),
    unknown("capture_policy_stale_threshold_hours", INT),
    unknown("size_based_cleanup_mode", SMALLINT),
    unknown("size_based_cleanup_mode_desc", nv(60)),
    unknown("wait_stats_capture_mode", SMALLINT),
    unknown("wait_stats_capture_mode_desc", nv(60)),
    unknown("actual_state_additional_info", NVMAX),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_query_store_options",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, [()])
}
