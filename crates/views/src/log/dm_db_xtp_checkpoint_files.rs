//! `sys.dm_db_xtp_checkpoint_files`: the files of checkpoints, which all databases share.

use metadata::column::{
    BIGINT, Column, GUID, INT, SMALLINT, big, col, int, nv, rows, shape, small, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(String, u64)>] = &[
    col("container_id", INT, |_| int(1)),
    unknown("container_guid", GUID),
    unknown("checkpoint_file_id", GUID),
    col("relative_file_path", nv(256), |r| text(&r.0)),
    col("file_type", SMALLINT, |r| small(kind(&r.0).0)),
    col("file_type_desc", nv(60), |r| text(kind(&r.0).1)),
    unknown("internal_storage_slot", INT),
    unknown("checkpoint_pair_file_id", GUID),
    col("file_size_in_bytes", BIGINT, |r| big(r.1)),
    col("file_size_used_in_bytes", BIGINT, |r| big(r.1)),
    unknown("logical_row_count", BIGINT),
    // In use: a file that no manifest names is removed.
    col("state", SMALLINT, |_| small(2)),
    col("state_desc", nv(60), |_| text("ACTIVE")),
    unknown("lower_bound_tsn", BIGINT),
    unknown("upper_bound_tsn", BIGINT),
    unknown("begin_checkpoint_id", BIGINT),
    unknown("end_checkpoint_id", BIGINT),
    unknown("last_updated_checkpoint_id", BIGINT),
    col("encryption_status", INT, |_| int(0)),
    col("encryption_status_desc", nv(60), |_| text("UNENCRYPTED")),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_xtp_checkpoint_files",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// Returns `file_type` and its name: the manifest is the root of the others.
fn kind(path: &str) -> (i16, &'static str) {
    if path.contains("manifest") { (1, "ROOT") } else { (0, "DATA") }
}

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let durable = instance.durable().filter(|_| scope.database.id != catalog::table::TEMPDB);
    let files = durable.map(|durable| durable.reading().files("checkpoint"));
    // A disk that does not answer shows no files.
    rows(COLUMNS, files.and_then(Result::ok).unwrap_or_default())
}
