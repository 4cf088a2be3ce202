//! `sys.database_files`: files and their sizes: as declared, or where a data folder has them.

use types::{DataType, Value};

use ::catalog::DatabaseFile;
use metadata::column::{
    BIT, Column, DATETIME, GUID, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i32, DatabaseFile)>] = &[
    col("file_id", INT, |r| int(r.0)),
    opt("file_guid", GUID, |_| Value::Null),
    col("type", TINYINT, |r| Value::TinyInt(kind(&r.1).0)),
    opt("type_desc", nv(60), |r| text(kind(&r.1).1)),
    col("data_space_id", INT, |r| int(i32::from(!r.1.log))),
    col("name", SYSNAME, |r| text(&r.1.name)),
    opt("physical_name", nv(260), |r| text(&r.1.path)),
    opt("state", TINYINT, |_| Value::TinyInt(0)),
    opt("state_desc", nv(60), |_| text("ONLINE")),
    col("size", INT, |r| int(r.1.size.size)),
    col("max_size", INT, |r| int(r.1.size.max)),
    col("growth", INT, |r| int(r.1.size.growth)),
    col("is_media_read_only", BIT, |_| bit(false)),
    col("is_read_only", BIT, |_| bit(false)),
    col("is_sparse", BIT, |_| bit(false)),
    col("is_percent_growth", BIT, |r| bit(r.1.size.is_percent)),
    col("is_name_reserved", BIT, |_| bit(false)),
    col("is_persistent_log_buffer", BIT, |_| bit(false)),
    opt("create_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
    opt("drop_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
    opt("read_only_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
    opt("read_write_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
    opt("differential_base_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
    opt("differential_base_guid", GUID, |_| Value::Null),
    opt("differential_base_time", DATETIME, |_| Value::Null),
    opt("redo_start_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
    opt("redo_start_fork_guid", GUID, |_| Value::Null),
    opt("redo_target_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
    opt("redo_target_fork_guid", GUID, |_| Value::Null),
    opt("backup_lsn", DataType::Decimal { precision: 25, scale: 0 }, |_| Value::Null),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_files",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let files = scope.database.files.iter();
    let files = files.map(|file| super::master_files::placed(scope, scope.database.id, file));
    rows(COLUMNS, (1..).zip(files))
}

/// Returns `type` and `type_desc`: ROWS, LOG, or FILESTREAM for memory-optimized data.
fn kind(file: &DatabaseFile) -> (u8, &'static str) {
    match (file.log, file.memory_optimized) {
        (true, _) => (1, "LOG"),
        (false, true) => (2, "FILESTREAM"),
        (false, false) => (0, "ROWS"),
    }
}
