//! `sys.database_mirroring`: a row for each database, none of which is mirrored.

use types::DataType;

use metadata::column::{Column, GUID, INT, TINYINT, col, int, nv, rows, shape, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<i16>] = &[
    col("database_id", INT, |r| int(*r)),
    unknown("mirroring_guid", GUID),
    unknown("mirroring_state", TINYINT),
    unknown("mirroring_state_desc", nv(60)),
    unknown("mirroring_role", TINYINT),
    unknown("mirroring_role_desc", nv(60)),
    unknown("mirroring_role_sequence", INT),
    unknown("mirroring_safety_level", TINYINT),
    unknown("mirroring_safety_level_desc", nv(60)),
    unknown("mirroring_safety_sequence", INT),
    unknown("mirroring_partner_name", nv(128)),
    unknown("mirroring_partner_instance", nv(128)),
    unknown("mirroring_witness_name", nv(128)),
    unknown("mirroring_witness_state", TINYINT),
    unknown("mirroring_witness_state_desc", nv(60)),
    unknown("mirroring_failover_lsn", LSN),
    unknown("mirroring_connection_timeout", INT),
    unknown("mirroring_redo_queue", INT),
    unknown("mirroring_redo_queue_type", nv(60)),
    unknown("mirroring_end_of_log_lsn", LSN),
    unknown("mirroring_replication_lsn", LSN),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_mirroring",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// The type of log sequence numbers, `numeric(25,0)`.
const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.catalog.databases.values().map(|database| database.id))
}
