//! `sys.dm_db_log_space_usage`: the size of the database's log; all 0, for no log is written.

use types::Value;

use metadata::column::{BIGINT, Column, REAL, SMALLINT, big, col, rows, shape, small};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<i16>] = &[
    col("database_id", SMALLINT, |r| small(*r)),
    col("total_log_size_in_bytes", BIGINT, |_| big(0)),
    col("used_log_space_in_bytes", BIGINT, |_| big(0)),
    col("used_log_space_in_percent", REAL, |_| Value::Real(0.0)),
    col("log_space_in_bytes_since_last_backup", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_log_space_usage",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, [scope.database.id])
}
