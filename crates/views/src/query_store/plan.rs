//! `sys.query_store_plan`: the plans of recorded queries. None is forced: that is refused.

use ::query_store::store::Plan;
use metadata::column::{
    BIGINT, BIT, Column, FLOAT, INT, NVMAX, SMALLINT, big, bin, binary, bit, col, int, nv, opt,
    or_null, rows, shape, small, text,
};
use metadata::{Rows, Scope};
use types::Value;

use super::{MOMENT, SystemView, float, moment};

const COLUMNS: &[Column<(i64, Plan)>] = &[
    col("plan_id", BIGINT, |r| big(r.0)),
    col("query_id", BIGINT, |r| big(r.1.query)),
    opt("plan_group_id", BIGINT, |_| big(0)),
    opt("engine_version", nv(32), |r| text(&r.1.version)),
    col("compatibility_level", SMALLINT, |r| small(r.1.level)),
    col("query_plan_hash", bin(8), |r| binary(&r.1.hash)),
    opt("query_plan", NVMAX, |r| or_null(r.1.document.as_deref(), text)),
    col("is_online_index_plan", BIT, |_| bit(false)),
    col("is_trivial_plan", BIT, |_| bit(false)),
    col("is_parallel_plan", BIT, |r| bit(r.1.is_parallel)),
    col("is_forced_plan", BIT, |_| bit(false)),
    col("is_natively_compiled", BIT, |r| bit(r.1.is_native)),
    col("force_failure_count", BIGINT, |_| big(0)),
    col("last_force_failure_reason", INT, |_| int(0)),
    opt("last_force_failure_reason_desc", nv(128), |_| text("NONE")),
    opt("count_compiles", BIGINT, |r| big(r.1.compiled.count)),
    col("initial_compile_start_time", MOMENT, |r| moment(r.1.compiled.first)),
    opt("last_compile_start_time", MOMENT, |r| moment(r.1.compiled.last)),
    opt("last_execution_time", MOMENT, |r| moment(r.1.last_execution)),
    opt("avg_compile_duration", FLOAT, |r| {
        super::average(&r.1.compiled).map_or(Value::Null, float)
    }),
    opt("last_compile_duration", BIGINT, |r| big(r.1.compiled.last_ns / 1_000)),
    col("plan_forcing_type", INT, |_| int(0)),
    opt("plan_forcing_type_desc", nv(60), |_| text("NONE")),
    col("has_compile_replay_script", BIT, |_| bit(false)),
    col("is_optimized_plan_forcing_disabled", BIT, |_| bit(false)),
    col("plan_type", INT, |_| int(0)),
    opt("plan_type_desc", nv(120), |_| text("Compiled Plan")),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_store_plan",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let plans = super::read(scope, |store| {
        store.plans.iter().map(|(id, plan)| (*id, plan.clone())).collect()
    });
    rows(COLUMNS, plans)
}
