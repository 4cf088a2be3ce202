//! `sys.dm_io_virtual_file_stats`: reads and writes of the log and of checkpoints since the start.
//! All databases share both; those of checkpoints are shown at the first file of data, those of
//! the log at the first of the log. Without a data folder all figures are 0.

use types::Value;

use ::catalog::{Database, DatabaseFile};
use ::durable::FileSums;
use metadata::column::{ADDRESS, BIGINT, Column, SMALLINT, big, col, rows, shape, small, unknown};
use metadata::log::place;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("database_id", SMALLINT, |r| small(r.database)),
    col("file_id", SMALLINT, |r| small(r.file)),
    col("sample_ms", BIGINT, |_| big(sos::clock::monotonic_ns() / 1_000_000)),
    col("num_of_reads", BIGINT, |r| big(r.io.reads)),
    col("num_of_bytes_read", BIGINT, |r| big(r.io.read_bytes)),
    col("io_stall_read_ms", BIGINT, |r| ms(r.io.read_ns)),
    col("num_of_writes", BIGINT, |r| big(r.io.writes)),
    col("num_of_bytes_written", BIGINT, |r| big(r.io.written_bytes)),
    col("io_stall_write_ms", BIGINT, |r| ms(r.io.write_ns)),
    col("io_stall", BIGINT, |r| ms(r.io.read_ns + r.io.write_ns)),
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
    io: FileSums,
    bytes: u64,
}

fn ms(ns: u64) -> Value {
    big(ns / 1_000_000)
}

/// Returns the row of a file.
fn row(scope: &Scope<'_>, database: &Database, (file, of): (i32, &DatabaseFile)) -> Row {
    let first = (1..).zip(&database.files).find(|(_, other)| other.log == of.log);
    let is_first = first.is_some_and(|(number, _)| number == file);
    let durable = scope.session.instance.durable();
    let durable = durable.filter(|_| is_first && database.id != catalog::table::TEMPDB);
    let counts = durable.map(|durable| durable.disk_counts());
    let io = counts.map(|counts| if of.log { counts.log.read() } else { counts.data.read() });
    Row {
        database: database.id,
        file,
        io: io.unwrap_or_default(),
        bytes: place(scope, database.id, of.log).map_or(0, |(_, bytes)| bytes),
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
        .flat_map(|database| (1..).zip(&database.files).map(|file| row(scope, database, file)));
    rows(COLUMNS, files.filter(|r| wanted(0, i32::from(r.database)) && wanted(1, r.file)))
}
