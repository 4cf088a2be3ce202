//! `sys.dm_db_log_stats(@database_id)`: the log in one row.

use std::sync::Arc;

use catalog::BackupFacts;
use types::{DataType, Value};

use metadata::backup::time;
use metadata::column::{
    BIGINT, Column, DATETIME, FLOAT, INT, big, col, int, nv, opt, rows, shape, text, text_or_null,
    unknown,
};
use metadata::log::Figures;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("database_id", INT, |r| int(i32::from(r.database))),
    col("recovery_model", nv(60), |r| text(&r.recovery)),
    opt("log_min_lsn", nv(24), |r| r.lsn()),
    unknown("log_end_lsn", nv(24)),
    col("current_vlf_sequence_number", BIGINT, |r| big(r.figures.segment)),
    col("current_vlf_size_mb", FLOAT, |r| super::megabytes(r.last_bytes)),
    col("total_vlf_count", BIGINT, |r| big(r.segments)),
    col("total_log_size_mb", FLOAT, |r| super::megabytes(r.figures.total_bytes)),
    // Recovery reads every segment that is not a spare.
    col("active_vlf_count", BIGINT, |r| big(r.segments)),
    col("active_log_size_mb", FLOAT, |r| super::megabytes(r.figures.used_bytes)),
    col("log_truncation_holdup_reason", nv(60), |r| {
        text(match (r.waits_for_backup, r.segments) {
            (true, _) => "LOG_BACKUP",
            (false, 2..) => "CHECKPOINT",
            (false, _) => "NOTHING",
        })
    }),
    opt("log_backup_time", DATETIME, |r| time(&r.backups, "log_backup_time")),
    opt("log_backup_lsn", nv(24), |r| text_or_null(r.backups.get("log_lsn"))),
    unknown("log_since_last_log_backup_mb", FLOAT),
    unknown("log_checkpoint_lsn", nv(24)),
    unknown("log_since_last_checkpoint_mb", FLOAT),
    opt("log_recovery_lsn", nv(24), |r| r.lsn()),
    opt("log_recovery_size_mb", FLOAT, |r| super::megabytes(r.figures.used_bytes)),
    opt("recovery_vlf_count", DataType::BigInt, |r| big(r.segments)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_log_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

struct Row {
    database: i16,
    recovery: String,
    figures: Figures,
    segments: u64,
    last_bytes: u64,
    waits_for_backup: bool,
    backups: Arc<BackupFacts>,
    /// The first segment, and its first batch.
    first: Option<(u64, u64)>,
}

impl Row {
    fn lsn(&self) -> Value {
        let lsn = self.first.map(|(segment, batch)| format!("{segment:08x}:{batch:08x}:0001"));
        lsn.map_or(Value::Null, |lsn| text(&lsn))
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let segments = scope.session.instance.durable().map(|durable| durable.reading().segments());
    // A disk that does not answer shows no segments.
    let segments = segments.and_then(Result::ok).unwrap_or_default();
    let row = |(database, figures): (i16, Figures)| {
        let mut known = scope.session.catalog.databases.values();
        let known = known.find(|known| known.id == database)?;
        Some(Row {
            database,
            recovery: known.options.recovery.clone(),
            waits_for_backup: metadata::log::waits_for_backup(scope.session, known),
            backups: metadata::log::backup_state(scope.session, known).unwrap_or_default(),
            figures,
            segments: u64::try_from(segments.len()).unwrap_or_default(),
            last_bytes: segments.last().map_or(0, |segment| segment.bytes),
            first: segments.first().map(|segment| (segment.number, segment.first_batch)),
        })
    };
    rows(COLUMNS, super::databases(scope).into_iter().filter_map(row))
}
