//! `sys.dm_db_xtp_checkpoint_stats`: what checkpoints have done since the start. They are those of all
//! databases.

use types::{DataType, Value};

use metadata::column::{BIGINT, Column, GUID, INT, big, col, opt, rows, shape, unknown};
use metadata::{Rows, Scope, SystemView};

/// The type of log sequence numbers here, `numeric(38,0)`.
const LSN: DataType = DataType::Decimal { precision: 38, scale: 0 };

const COLUMNS: &[Column<Row>] = &[
    unknown("last_lsn_processed", LSN),
    unknown("end_of_log_lsn", LSN),
    opt("bytes_to_end_of_log", BIGINT, |r| r.log_bytes.map_or(Value::Null, big)),
    unknown("log_consumption_rate", BIGINT),
    col("active_scan_time_in_ms", BIGINT, |r| big(r.millis)),
    unknown("total_wait_time_in_ms", BIGINT),
    unknown("waits_for_io", BIGINT),
    unknown("io_wait_time_in_ms", BIGINT),
    unknown("waits_for_new_log_count", BIGINT),
    unknown("new_log_wait_time_in_ms", BIGINT),
    unknown("idle_attempts_count", BIGINT),
    unknown("tx_segments_dispatched", BIGINT),
    unknown("segment_bytes_dispatched", BIGINT),
    col("bytes_serialized", BIGINT, |r| big(r.disk_bytes)),
    unknown("serializer_user_time_in_ms", BIGINT),
    unknown("serializer_kernel_time_in_ms", BIGINT),
    unknown("xtp_log_bytes_consumed", BIGINT),
    col("checkpoints_closed", BIGINT, |r| big(r.count)),
    unknown("closed_checkpoint_ts", BIGINT),
    unknown("hardened_recovery_lsn", LSN),
    unknown("hardened_root_file_guid", GUID),
    unknown("hardened_root_file_watermark", BIGINT),
    unknown("hardened_truncation_lsn", LSN),
    unknown("log_bytes_since_last_close", BIGINT),
    unknown("time_since_last_close_in_ms", BIGINT),
    unknown("current_checkpoint_id", BIGINT),
    unknown("current_checkpoint_segment_count", BIGINT),
    unknown("recovery_lsn_candidate", LSN),
    col("outstanding_checkpoint_count", BIGINT, |_| big(0)),
    unknown("closing_checkpoint_id", BIGINT),
    unknown("recovery_checkpoint_id", BIGINT),
    unknown("recovery_checkpoint_ts", BIGINT),
    unknown("bootstrap_recovery_lsn", LSN),
    unknown("bootstrap_root_file_guid", GUID),
    unknown("internal_error_code", INT),
    // Clearway's own: what the last checkpoint has written, and attempts that failed.
    col("last_ranges_written", BIGINT, |r| big(r.ranges)),
    col("last_rows_written", BIGINT, |r| big(r.rows)),
    col("failed_count", BIGINT, |r| big(r.failed)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_xtp_checkpoint_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    log_bytes: Option<u64>,
    count: u64,
    ranges: u64,
    rows: u64,
    millis: u64,
    disk_bytes: u64,
    failed: u64,
}

fn read(scope: &Scope<'_>) -> Rows {
    let durable = scope.session.instance.durable();
    let durable = durable.filter(|_| scope.database.id != catalog::table::TEMPDB);
    let row = durable.map(|durable| {
        let done = durable.checkpointed();
        let log = metadata::log::figures(scope, scope.database.id);
        Row {
            log_bytes: log.map(|log| log.used_bytes),
            count: done.count,
            ranges: done.ranges,
            rows: done.rows,
            millis: done.millis,
            disk_bytes: done.disk_bytes,
            failed: done.failed,
        }
    });
    rows(COLUMNS, row)
}
