//! `sys.dm_io_virtual_file_stats`: writes of the log, which all databases share. Without a data folder
//! all figures are 0.

use types::Value;

use ::catalog::DatabaseFile;
use metadata::column::{ADDRESS, BIGINT, Column, SMALLINT, big, col, rows, shape, small, unknown};
use metadata::log::{figures, place};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("database_id", SMALLINT, |r| small(r.database)),
    col("file_id", SMALLINT, |r| small(r.file)),
    col("sample_ms", BIGINT, |_| big(sos::clock::monotonic_ns() / 1_000_000)),
    col("num_of_reads", BIGINT, |_| big(0)),
    col("num_of_bytes_read", BIGINT, |_| big(0)),
    col("io_stall_read_ms", BIGINT, |_| big(0)),
    col("num_of_writes", BIGINT, |r| big(r.writes)),
    col("num_of_bytes_written", BIGINT, |r| big(r.written_bytes)),
    col("io_stall_write_ms", BIGINT, |r| big(r.busy_ms)),
    col("io_stall", BIGINT, |r| big(r.busy_ms)),
    col("size_on_disk_bytes", BIGINT, |r| big(r.bytes)),
    unknown("file_handle", ADDRESS),
    col("io_stall_queued_read_ms", BIGINT, |_| big(0)),
    col("io_stall_queued_write_ms", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_io_virtual_file_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

struct Row {
    database: i16,
    file: i32,
    writes: u64,
    written_bytes: u64,
    busy_ms: u64,
    bytes: u64,
}

/// Returns the row of a file. What checkpoints write is not counted.
fn row(scope: &Scope<'_>, database: i16, (file, of): (i32, &DatabaseFile)) -> Row {
    let log = figures(scope, database).filter(|_| of.log);
    Row {
        database,
        file,
        writes: log.as_ref().map_or(0, |log| log.flushes),
        written_bytes: log.as_ref().map_or(0, |log| log.flushed_bytes),
        busy_ms: log.as_ref().map_or(0, |log| log.busy_ms),
        bytes: place(scope, database, of.log).map_or(0, |(_, bytes)| bytes),
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let wanted = |place: usize, id: i32| match scope.arguments.get(place) {
        Some(Value::SmallInt(asked)) => i32::from(*asked) == id,
        Some(Value::Int(asked)) => *asked == id,
        // NULL, and DEFAULT, select all files.
        _ => true,
    };
    let databases = scope.session.catalog.databases.values();
    let files = databases
        .flat_map(|database| (1..).zip(&database.files).map(|file| row(scope, database.id, file)));
    rows(COLUMNS, files.filter(|r| wanted(0, i32::from(r.database)) && wanted(1, r.file)))
}
