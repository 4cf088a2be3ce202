//! `sys.dm_os_sampler`: health of the sampler: the rate asked for and delivered, and samples lost
//! by cause.

use sos::sampler::{MEAN_BYTES, SamplerHealth};
use types::Value;

use metadata::column::{
    BIGINT, Column, FLOAT, INT, big, col, int, nv, opt, or_null, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<SamplerHealth>] = &[
    col("sampling_rate_hz", INT, |r| int(r.rate_hz)),
    col("delivered_rate_hz", FLOAT, |r| Value::Float(r.delivered_hz)),
    col("cpu_sample_count", BIGINT, |r| big(r.cpu_samples)),
    col("cpu_period_count", BIGINT, |r| big(r.cpu_periods)),
    col("wait_sample_count", BIGINT, |r| big(r.wait_samples)),
    col("allocation_sample_count", BIGINT, |r| big(r.allocation_samples)),
    col("allocation_mean_bytes", INT, |_| int(MEAN_BYTES)),
    col("lost_sample_count", BIGINT, |r| big(r.lost)),
    col("place_count", BIGINT, |r| big(r.places)),
    col("place_count_max", BIGINT, |r| big(r.places_max)),
    col("coarse_sample_count", BIGINT, |r| big(r.coarse)),
    col("unkept_sample_count", BIGINT, |r| big(r.unkept)),
    col("timer_count", BIGINT, |r| big(r.timers)),
    col("refused_timer_count", BIGINT, |r| big(r.refused)),
    opt("refusal", nv(256), |r| or_null(r.refusal.as_deref(), text)),
    col("handler_ns", BIGINT, |r| big(r.handler_ns)),
    col("stack_node_count", BIGINT, |r| big(r.stacks.nodes)),
    col("stack_node_count_max", BIGINT, |r| big(r.stacks.nodes_max)),
    col("stack_table_full_count", BIGINT, |r| big(r.stacks.refused)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_sampler",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, [scope.session.instance.machine.accounts().sampler_health()])
}
