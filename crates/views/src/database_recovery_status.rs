//! `sys.database_recovery_status`: one row per database, with what it knows for its next backup.

use std::sync::Arc;

use catalog::BackupFacts;
use metadata::backup::{LSN, guid, lsn};
use metadata::column::{Column, GUID, INT, col, int, opt, rows, shape, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, Arc<BackupFacts>)>] = &[
    col("database_id", INT, |r| int(r.0)),
    opt("database_guid", GUID, |r| guid(&r.1, "guid")),
    opt("family_guid", GUID, |r| guid(&r.1, "family")),
    // NULL while no backup of the log is possible.
    opt("last_log_backup_lsn", LSN, |r| lsn(&r.1, "log_lsn")),
    opt("recovery_fork_guid", GUID, |r| guid(&r.1, "fork")),
    opt("first_recovery_fork_guid", GUID, |r| guid(&r.1, "fork")),
    unknown("fork_point_lsn", LSN),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_recovery_status",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let row = |database: &Arc<catalog::Database>| {
        let state = metadata::log::backup_state(scope.session, database);
        (database.id, state.unwrap_or_default())
    };
    rows(COLUMNS, scope.session.catalog.databases.values().map(row))
}
