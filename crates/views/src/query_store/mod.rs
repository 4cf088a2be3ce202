//! The views of the Query Store: `sys.query_store_*`, one file each. Reading one collects first, so
//! that it shows what has run until now.

pub(crate) mod context_settings;
pub(crate) mod empty;
pub(crate) mod internal_state;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod query_hints;
pub(crate) mod query_text;
pub(crate) mod runtime_stats;
pub(crate) mod runtime_stats_interval;
pub(crate) mod wait_stats;

use ::query_store::DatabaseStore;
use ::query_store::store::{Compiled, Instant, Store};
use metadata::{Scope, SystemView};
use types::{DataType, Value};

/// The SQL type `datetimeoffset(7)`.
const MOMENT: DataType = DataType::DateTimeOffset(7);

/// Makes a `datetimeoffset` value in UTC.
fn moment(at: Instant) -> Value {
    ::query_store::moment(at).to_value(&MOMENT).unwrap_or(Value::Null)
}

/// Makes a `float` value.
fn float(value: f64) -> Value {
    Value::Float(value)
}

/// Makes a `bigint` value of a figure, rounded.
#[expect(clippy::cast_possible_truncation, reason = "a conversion to i64 saturates")]
fn whole(value: f64) -> Value {
    Value::BigInt(value.round() as i64)
}

/// Returns the average time of compilations in microseconds, if there was one.
#[expect(clippy::cast_precision_loss, reason = "an average")]
fn average(compiled: &Compiled) -> Option<f64> {
    (compiled.count > 0).then(|| compiled.ns as f64 / compiled.count as f64 / 1_000.0)
}

/// Collects, and calls `rows` with the Query Store of the view's database; no rows if it has none.
fn read<T>(scope: &Scope<'_>, rows: impl FnOnce(&Store) -> Vec<T>) -> Vec<T> {
    read_all(scope, |found| found.map(|found| rows(&found.store)).unwrap_or_default())
}

/// As [`read`], with the options.
fn read_all<T>(scope: &Scope<'_>, read: impl FnOnce(Option<&DatabaseStore>) -> T) -> T {
    let instance = &scope.session.instance;
    instance.collect_for(scope.session);
    instance.query_store.read(scope.database.id, read)
}
