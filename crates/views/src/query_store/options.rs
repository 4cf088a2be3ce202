//! `sys.database_query_store_options`: the options of the database's Query Store, and its state.

use ::query_store::options::{Capture, Mode, Options, Policy};
use metadata::column::{
    BIGINT, Column, INT, NVMAX, SMALLINT, big, col, int, nv, opt, or_null, rows, shape, small, text,
};
use metadata::{Rows, Scope};

use super::SystemView;

/// The row of the view.
struct State {
    options: Options,
    actual: Mode,
    reason: i32,
    bytes: u64,
    lost: u64,
}

impl State {
    /// Returns the policy, which is shown in the mode CUSTOM only.
    fn policy(&self) -> Option<Policy> {
        (self.options.capture == Capture::Custom).then_some(self.options.policy)
    }
}

const COLUMNS: &[Column<State>] = &[
    col("desired_state", SMALLINT, |r| small(r.options.mode as u8)),
    opt("desired_state_desc", nv(60), |r| text(r.options.mode.name())),
    col("actual_state", SMALLINT, |r| small(r.actual as u8)),
    opt("actual_state_desc", nv(60), |r| text(r.actual.name())),
    opt("readonly_reason", INT, |r| int(r.reason)),
    opt("current_storage_size_mb", BIGINT, |r| big(r.bytes.div_ceil(1 << 20))),
    opt("flush_interval_seconds", BIGINT, |r| big(r.options.flush_seconds)),
    opt("interval_length_minutes", BIGINT, |r| big(r.options.interval_minutes)),
    opt("max_storage_size_mb", BIGINT, |r| big(r.options.max_mb)),
    opt("stale_query_threshold_days", BIGINT, |r| big(r.options.stale_days)),
    opt("max_plans_per_query", BIGINT, |r| big(r.options.max_plans)),
    col("query_capture_mode", SMALLINT, |r| small(r.options.capture as u8)),
    opt("query_capture_mode_desc", nv(60), |r| text(r.options.capture.name())),
    opt("capture_policy_execution_count", INT, |r| or_null(r.policy(), |p| int(p.executions))),
    opt("capture_policy_total_compile_cpu_time_ms", BIGINT, |r| {
        or_null(r.policy(), |p| big(p.compile_ms))
    }),
    opt("capture_policy_total_execution_cpu_time_ms", BIGINT, |r| {
        or_null(r.policy(), |p| big(p.execution_ms))
    }),
    opt("capture_policy_stale_threshold_hours", INT, |r| {
        or_null(r.policy(), |p| int(p.stale_hours))
    }),
    col("size_based_cleanup_mode", SMALLINT, |r| small(u8::from(r.options.cleans_up))),
    opt("size_based_cleanup_mode_desc", nv(60), |r| {
        text(if r.options.cleans_up { "AUTO" } else { "OFF" })
    }),
    col("wait_stats_capture_mode", SMALLINT, |r| small(u8::from(r.options.waits))),
    opt("wait_stats_capture_mode_desc", nv(60), |r| {
        text(if r.options.waits { "ON" } else { "OFF" })
    }),
    opt("actual_state_additional_info", NVMAX, |r| {
        text(&match r.lost {
            0 => String::new(),
            lost => format!("{lost} programs left the plan cache before they were recorded"),
        })
    }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_query_store_options",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let options = Options::of(&scope.database.options);
    let state = super::read_all(scope, |found| State {
        options,
        actual: found.map_or(options.mode, ::query_store::DatabaseStore::mode),
        reason: found.map_or(0, |found| found.read_only),
        bytes: found.map_or(0, |found| found.store.bytes()),
        lost: 0,
    });
    let lost = scope.session.instance.query_store.lost();
    rows(COLUMNS, [State { lost, ..state }])
}
