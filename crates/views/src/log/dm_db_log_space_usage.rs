//! `sys.dm_db_log_space_usage`: the size of the database's log.

use types::Value;

use metadata::column::{BIGINT, Column, REAL, SMALLINT, big, col, rows, shape, small};
use metadata::log::{Figures, figures};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, Option<Figures>)>] = &[
    col("database_id", SMALLINT, |r| small(r.0)),
    col("total_log_size_in_bytes", BIGINT, |r| big(r.1.as_ref().map_or(0, |it| it.total_bytes))),
    col("used_log_space_in_bytes", BIGINT, |r| big(r.1.as_ref().map_or(0, |it| it.used_bytes))),
    col("used_log_space_in_percent", REAL, |r| {
        Value::Real(r.1.as_ref().map_or(0.0, Figures::used_percent))
    }),
    // No backup has been made.
    col("log_space_in_bytes_since_last_backup", BIGINT, |r| {
        big(r.1.as_ref().map_or(0, |it| it.used_bytes))
    }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_log_space_usage",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let database = scope.database.id;
    rows(COLUMNS, [(database, figures(scope, database))])
}
