//! `sys.database_recovery_status`: one row per database, none of which has a log to recover from.

use types::DataType;

use metadata::column::{Column, GUID, INT, col, int, rows, shape, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<i16>] = &[
    col("database_id", INT, |r| int(*r)),
    unknown("database_guid", GUID),
    unknown("family_guid", GUID),
    unknown("last_log_backup_lsn", LSN),
    unknown("recovery_fork_guid", GUID),
    unknown("first_recovery_fork_guid", GUID),
    unknown("fork_point_lsn", LSN),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_recovery_status",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// The type of log sequence numbers, `numeric(25,0)`.
const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.catalog.databases.values().map(|database| database.id))
}
