//! `sys.dm_db_stats_properties(object_id, stats_id)`: when the values of a table were sampled last,
//! and how many rows it had. The optimizer samples when a plan needs it; NULL before the first
//! sample.

use types::date::Moment;
use types::{DataType, Value};

use ::catalog::Sampled;
use ::catalog::security::Securable;
use metadata::column::{BIGINT, Column, FLOAT, INT, big, col, int, opt, rows, shape, unknown};
use metadata::statistics::statistics;
use metadata::{RowSet, Rows, Scope, SystemView};

const DATETIME2: DataType = DataType::DateTime2(7);

const COLUMNS: &[Column<Row>] = &[
    col("object_id", INT, |r| int(r.object_id)),
    col("stats_id", INT, |r| int(r.id)),
    opt("last_updated", DATETIME2, |r| r.sampled.as_ref().map_or(Value::Null, |s| time(s.when))),
    opt("rows", BIGINT, |r| r.sampled.as_ref().map_or(Value::Null, |s| big(s.rows))),
    opt("rows_sampled", BIGINT, |r| r.sampled.as_ref().map_or(Value::Null, |s| big(s.read))),
    unknown("steps", INT),
    opt("unfiltered_rows", BIGINT, |r| r.sampled.as_ref().map_or(Value::Null, |s| big(s.rows))),
    unknown("modification_counter", BIGINT),
    opt("persisted_sample_percent", FLOAT, |_| Value::Float(0.0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_stats_properties",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

struct Row {
    object_id: i32,
    id: i32,
    sampled: Option<Sampled>,
}

fn time(when: Moment) -> Value {
    when.to_value(&DATETIME2).unwrap_or(Value::Null)
}

fn read(scope: &Scope<'_>) -> Rows {
    let asked = |place: usize| match scope.arguments.get(place) {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    };
    let (Some(object_id), Some(id)) = (asked(0), asked(1)) else { return Ok(RowSet::default()) };
    let table = scope.database.table_by_id(object_id);
    let rights = &scope.session.identity.rights;
    if table.is_some_and(|t| !rights.has(scope.database, &Securable::table(t), "SELECT")) {
        return Ok(RowSet::default());
    }
    let is_it =
        |row: &metadata::statistics::StatisticsRow| row.object_id == object_id && row.id == id;
    let found = statistics(scope).into_iter().filter(is_it);
    let sampled = || scope.database.table_by_id(object_id)?.rows.statistics.sampled();
    rows(COLUMNS, found.map(|row| Row { object_id: row.object_id, id: row.id, sampled: sampled() }))
}
