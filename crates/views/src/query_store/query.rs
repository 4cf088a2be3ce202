//! `sys.query_store_query`: recorded queries, and how they were compiled.

use ::plan::stats::Parameterization;
use ::query_store::store::Query;
use metadata::column::{
    BIGINT, BIT, Column, FLOAT, TINYINT, big, bin, binary, bit, col, nv, opt, rows, shape, text,
    unknown, vb,
};
use metadata::{Rows, Scope};
use types::Value;

use super::{MOMENT, SystemView, float, moment};

const COLUMNS: &[Column<(i64, Query)>] = &[
    col("query_id", BIGINT, |r| big(r.0)),
    col("query_text_id", BIGINT, |r| big(r.1.text)),
    col("context_settings_id", BIGINT, |r| big(r.1.context)),
    opt("object_id", BIGINT, |r| big(r.1.object_id)),
    unknown("batch_sql_handle", vb(44)),
    col("query_hash", bin(8), |r| binary(&r.1.hash)),
    col("is_internal_query", BIT, |_| bit(false)),
    col("query_parameterization_type", TINYINT, |r| Value::TinyInt(r.1.parameterization as u8)),
    opt("query_parameterization_type_desc", nv(60), |r| {
        text(match r.1.parameterization {
            Parameterization::None => "None",
            Parameterization::User => "User",
            Parameterization::Simple => "Simple",
        })
    }),
    col("initial_compile_start_time", MOMENT, |r| moment(r.1.compiled.first)),
    opt("last_compile_start_time", MOMENT, |r| moment(r.1.compiled.last)),
    opt("last_execution_time", MOMENT, |r| moment(r.1.last_execution)),
    opt("last_compile_batch_sql_handle", vb(44), |r| binary(&r.1.batch)),
    opt("last_compile_batch_offset_start", BIGINT, |r| big(r.1.offsets.0)),
    opt("last_compile_batch_offset_end", BIGINT, |r| big(r.1.offsets.1)),
    opt("count_compiles", BIGINT, |r| big(r.1.compiled.count)),
    opt("avg_compile_duration", FLOAT, |r| {
        super::average(&r.1.compiled).map_or(Value::Null, float)
    }),
    opt("last_compile_duration", BIGINT, |r| big(r.1.compiled.last_ns / 1_000)),
    // Binding and optimizing are one step, whose time is that of the compilation.
    unknown("avg_bind_duration", FLOAT),
    unknown("last_bind_duration", BIGINT),
    unknown("avg_bind_cpu_time", FLOAT),
    unknown("last_bind_cpu_time", BIGINT),
    unknown("avg_optimize_duration", FLOAT),
    unknown("last_optimize_duration", BIGINT),
    unknown("avg_optimize_cpu_time", FLOAT),
    unknown("last_optimize_cpu_time", BIGINT),
    unknown("avg_compile_memory_kb", FLOAT),
    unknown("last_compile_memory_kb", BIGINT),
    unknown("max_compile_memory_kb", BIGINT),
    opt("is_clouddb_internal_query", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_store_query",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let queries = super::read(scope, |store| {
        store.queries.iter().map(|(id, query)| (*id, query.clone())).collect()
    });
    rows(COLUMNS, queries)
}
