//! `sys.dm_io_virtual_file_stats`: reads and writes of database files; all 0, for no file is used.

use types::Value;

use metadata::column::{ADDRESS, BIGINT, Column, SMALLINT, big, col, rows, shape, small, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("database_id", SMALLINT, |r| small(r.database)),
    col("file_id", SMALLINT, |r| small(r.file)),
    col("sample_ms", BIGINT, |_| big(sos::clock::monotonic_ns() / 1_000_000)),
    col("num_of_reads", BIGINT, |_| big(0)),
    col("num_of_bytes_read", BIGINT, |_| big(0)),
    col("io_stall_read_ms", BIGINT, |_| big(0)),
    col("num_of_writes", BIGINT, |_| big(0)),
    col("num_of_bytes_written", BIGINT, |_| big(0)),
    col("io_stall_write_ms", BIGINT, |_| big(0)),
    col("io_stall", BIGINT, |_| big(0)),
    col("size_on_disk_bytes", BIGINT, |_| big(0)),
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
}

fn read(scope: &Scope<'_>) -> Rows {
    let wanted = |place: usize, id: i32| match scope.arguments.get(place) {
        Some(Value::SmallInt(asked)) => i32::from(*asked) == id,
        Some(Value::Int(asked)) => *asked == id,
        // NULL, and DEFAULT, select all files.
        _ => true,
    };
    let databases = scope.session.catalog.databases.values();
    let files = databases.flat_map(|database| {
        let database_id = database.id;
        (1..).zip(&database.files).map(move |(file, _)| Row { database: database_id, file })
    });
    rows(COLUMNS, files.filter(|r| wanted(0, i32::from(r.database)) && wanted(1, r.file)))
}
