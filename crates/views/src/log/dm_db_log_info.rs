//! `sys.dm_db_log_info(@database_id)`: the segments of the log.

use types::Value;

use metadata::column::{
    BIGINT, BIT, Column, FLOAT, INT, SMALLINT, TINYINT, big, bit, col, int, nv, rows, shape, small,
    text, unknown, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("database_id", INT, |r| int(i32::from(r.database))),
    col("file_id", SMALLINT, |_| small(2)),
    // Each segment is one file.
    col("vlf_begin_offset", BIGINT, |_| big(0)),
    col("vlf_size_mb", FLOAT, |r| super::megabytes(r.bytes)),
    col("vlf_sequence_number", BIGINT, |r| big(r.number)),
    col("vlf_active", BIT, |r| bit(r.is_last)),
    // Recovery reads every segment that is not a spare.
    col("vlf_status", INT, |_| int(2)),
    col("vlf_parity", TINYINT, |r| Value::TinyInt(if r.generation % 2 == 0 { 128 } else { 64 })),
    col("vlf_first_lsn", nv(48), |r| text(&format!("{:08x}:{:08x}:0001", r.number, r.first_batch))),
    unknown("vlf_create_lsn", nv(48)),
    unknown("vlf_encryptor_thumbprint", vb(20)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_log_info",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

struct Row {
    database: i16,
    number: u64,
    generation: u64,
    bytes: u64,
    first_batch: u64,
    is_last: bool,
}

fn read(scope: &Scope<'_>) -> Rows {
    let segments = scope.session.instance.durable().map(|durable| durable.reading().segments());
    // A disk that does not answer shows no segments.
    let segments = segments.and_then(Result::ok).unwrap_or_default();
    let last = segments.last().map(|segment| segment.number);
    let databases = super::databases(scope);
    let all = databases.iter().flat_map(|(database, _)| {
        segments.iter().map(|segment| Row {
            database: *database,
            number: segment.number,
            generation: segment.generation,
            bytes: segment.bytes,
            first_batch: segment.first_batch,
            is_last: Some(segment.number) == last,
        })
    });
    rows(COLUMNS, all)
}
