//! `sys.master_files`: files of all databases: as declared, or where a data folder has them.

use types::{DataType, Value};

use ::catalog::DatabaseFile;
use metadata::column::{
    BIT, Column, DATETIME, GUID, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
    unknown,
};
use metadata::log::{pages, place};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, i32, DatabaseFile)>] = &[
    col("database_id", INT, |r| int(r.0)),
    col("file_id", INT, |r| int(r.1)),
    opt("file_guid", GUID, |_| Value::Null),
    col("type", TINYINT, |r| Value::TinyInt(kind(&r.2).0)),
    opt("type_desc", nv(60), |r| text(kind(&r.2).1)),
    col("data_space_id", INT, |r| int(i32::from(!r.2.log))),
    col("name", SYSNAME, |r| text(&r.2.name)),
    opt("physical_name", nv(260), |r| text(&r.2.path)),
    opt("state", TINYINT, |_| Value::TinyInt(0)),
    opt("state_desc", nv(60), |_| text("ONLINE")),
    col("size", INT, |r| int(r.2.size.size)),
    col("max_size", INT, |r| int(r.2.size.max)),
    col("growth", INT, |r| int(r.2.size.growth)),
    col("is_media_read_only", BIT, |_| bit(false)),
    col("is_read_only", BIT, |_| bit(false)),
    col("is_sparse", BIT, |_| bit(false)),
    col("is_percent_growth", BIT, |r| bit(r.2.size.is_percent)),
    col("is_name_reserved", BIT, |_| bit(false)),
    col("is_persistent_log_buffer", BIT, |_| bit(false)),
    unknown("create_lsn", LSN),
    unknown("drop_lsn", LSN),
    unknown("read_only_lsn", LSN),
    unknown("read_write_lsn", LSN),
    unknown("differential_base_lsn", LSN),
    unknown("differential_base_guid", GUID),
    unknown("differential_base_time", DATETIME),
    unknown("redo_start_lsn", LSN),
    unknown("redo_start_fork_guid", GUID),
    unknown("redo_target_lsn", LSN),
    unknown("redo_target_fork_guid", GUID),
    unknown("backup_lsn", LSN),
    unknown("credential_id", INT),
];

/// The type of log sequence numbers, `numeric(25,0)`.
const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "master_files",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

fn items(scope: &Scope<'_>) -> Vec<(i16, i32, DatabaseFile)> {
    let session = scope.session;
    let databases = session.catalog.databases.values();
    let shown = databases.filter(|d| session.identity.rights.sees_files(&session.catalog, d));
    let files = shown
        .flat_map(|d| (1..).zip(&d.files).map(|(n, file)| (d.id, n, placed(scope, d.id, file))));
    files.collect()
}

/// Returns a file with its place and size: those of the data folder, if there is one.
pub(crate) fn placed(scope: &Scope<'_>, database: i16, file: &DatabaseFile) -> DatabaseFile {
    let mut file = file.clone();
    if let Some((path, bytes)) = place(scope, database, file.log) {
        file.path = path;
        file.size.size = pages(bytes);
    }
    file
}

fn kind(file: &DatabaseFile) -> (u8, &'static str) {
    match (file.log, file.memory_optimized) {
        (true, _) => (1, "LOG"),
        (false, true) => (2, "FILESTREAM"),
        (false, false) => (0, "ROWS"),
    }
}
