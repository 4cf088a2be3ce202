//! `sys.dm_db_stats_histogram(object_id, stats_id)`: the distribution of the values of the first
//! column of an index or of statistics, counted when the view is read, as `DBCC SHOW_STATISTICS`
//! does.

use types::Value;
use types::value::ColumnType;

use ::catalog::TableDef;
use ::catalog::security::has_on_column;
use metadata::column::{BIGINT, Column, INT, REAL, VARIANT, big, col, int, opt, rows, shape};
use metadata::histogram::{Step, Subject, histogram};
use metadata::statistics::statistics;
use metadata::{RowSet, Rows, Scope, SystemView};

struct Row {
    object_id: i32,
    stats_id: i32,
    number: i32,
    ty: ColumnType,
    step: Step,
}

const COLUMNS: &[Column<Row>] = &[
    col("object_id", INT, |r| int(r.object_id)),
    col("stats_id", INT, |r| int(r.stats_id)),
    col("step_number", INT, |r| int(r.number)),
    opt("range_high_key", VARIANT, key),
    col("range_rows", REAL, |r| real(r.step.range_rows)),
    col("equal_rows", REAL, |r| real(r.step.equal_rows)),
    col("distinct_range_rows", BIGINT, |r| big(r.step.distinct_rows)),
    col("average_range_rows", REAL, average),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_stats_histogram",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn key(row: &Row) -> Value {
    match &row.step.key {
        Value::Null => Value::Null,
        value @ Value::Variant(_) => value.clone(),
        value => Value::Variant(Box::new((value.clone(), row.ty))),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the column is a real")]
fn real(rows: u64) -> Value {
    Value::Real(rows as f32)
}

/// Rows for each value of the range; 1 if there is none.
#[expect(clippy::cast_precision_loss, reason = "the column is a real")]
fn average(row: &Row) -> Value {
    Value::Real(match row.step.distinct_rows {
        0 => 1.0,
        distinct => row.step.range_rows as f32 / distinct as f32,
    })
}

fn read(scope: &Scope<'_>) -> Rows {
    let asked = |place: usize| match scope.arguments.get(place) {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    };
    let (Some(object_id), Some(stats_id)) = (asked(0), asked(1)) else {
        return Ok(RowSet::default());
    };
    let Some(table) = scope.database.table_by_id(object_id) else { return Ok(RowSet::default()) };
    let known = statistics(scope);
    let Some(known) = known.iter().find(|row| row.object_id == object_id && row.id == stats_id)
    else {
        return Ok(RowSet::default());
    };
    if !reads(scope, table, &known.columns) {
        return Ok(RowSet::default());
    }
    let first = known.columns.first().and_then(|id| usize::try_from(id - 1).ok());
    let Some(column) = first.filter(|column| *column < table.columns.len()) else {
        return Ok(RowSet::default());
    };
    let index = table.indexes.iter().find(|index| index.id == stats_id && !known.user_created);
    let filter = index.and_then(|index| index.filter.as_deref());
    let subject = Subject { table, column, filter };
    let cancel = &scope.session.connection.cancel;
    let steps = histogram(&subject, &scope.session.instance.store, cancel)?;
    let ty = table.columns[column].ty;
    let row = |(number, step)| Row { object_id, stats_id, number, ty, step };
    rows(COLUMNS, (1..).zip(steps).map(row))
}

/// Returns whether the session may read the columns, because values of them are shown.
fn reads(scope: &Scope<'_>, table: &TableDef, columns: &[i32]) -> bool {
    let rights = &scope.session.identity.rights;
    let ids = (table.id, table.schema_id);
    columns.iter().all(|id| has_on_column(rights, scope.database, ids, *id, "SELECT"))
}
