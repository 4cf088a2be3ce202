//! The built-in panels: what the console's screens ask the server.

use super::Panel;

/// The condition on waits that are not idle.
macro_rules! busy_waits {
    () => {
        "wait_type NOT IN (N'SLEEP_TASK', N'SOS_WORK_DISPATCHER', N'XE_DISPATCHER_WAIT', \
         N'LISTENER_ACCEPT', N'LOGMGR_QUEUE', N'CHECKPOINT_QUEUE', N'CONSOLE_IDLE', \
         N'SLEEP_SYSTEMTASK')"
    };
}

const fn panel(
    screen: &'static str,
    position: i32,
    title: &'static str,
    kind: &'static str,
    query: &'static str,
) -> Panel {
    Panel { screen, position, title, kind, query, unit: None, refresh_seconds: 5 }
}

impl Panel {
    const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    const fn every(self, refresh_seconds: i32) -> Self {
        Self { refresh_seconds, ..self }
    }
}

/// The built-in panels, in the order of their screens.
pub(super) const PANELS: &[Panel] = &[
    panel(
        "time",
        10,
        "Active time by category",
        "ledger",
        "SELECT category, name, wall_ns, occurrences FROM sys.dm_os_time_ledger WHERE wall_ns > 0;",
    )
    .every(1),
    panel(
        "time",
        11,
        "Active time of the last two minutes",
        "ledger_history",
        "DECLARE @end datetime2(7) = SYSDATETIME(); \
         SELECT f.category, SUM(f.wall_ns) AS wall_ns, f.from_time, f.to_time \
         FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), \
         (14), (15), (16), (17), (18), (19), (20), (21), (22), (23)) AS n (i) \
         CROSS APPLY sys.fn_time_ledger(DATEADD(second, -5 * n.i - 5, @end), \
         DATEADD(second, -5 * n.i, @end)) AS f \
         WHERE f.category <> N'idle' GROUP BY f.category, f.from_time, f.to_time;",
    ),
    panel(
        "time",
        12,
        "Time in the window",
        "ledger_window",
        "SELECT category, name, wall_ns, occurrences, \
         DATEDIFF(millisecond, from_time, to_time) / 1000.0 AS seconds \
         FROM sys.fn_time_ledger(@from, @to) ORDER BY wall_ns DESC;",
    ),
    panel("now", 10, "Requests", "requests", REQUESTS).every(1),
    panel("statements", 10, "Statements", "statements", STATEMENTS).every(1),
    panel(
        "statements",
        11,
        "Statements by category",
        "statement_ledger",
        "SELECT plan_handle, statement_start_offset, category, SUM(total_ns) AS total_ns, \
         MAX(timed_count) AS timed_count FROM sys.dm_exec_query_ledger WHERE total_ns > 0 \
         GROUP BY plan_handle, statement_start_offset, category;",
    ),
    panel(
        "stacks",
        10,
        "CPU",
        "flame_cpu",
        "SELECT TOP (1500) stack_id, SUM(sample_count) AS value FROM sys.dm_os_cpu_samples \
         GROUP BY stack_id ORDER BY value DESC;",
    ),
    panel(
        "stacks",
        11,
        "Waits",
        "flame_waits",
        "SELECT TOP (1500) stack_id, SUM(wait_ns) AS value FROM sys.dm_os_wait_samples \
         GROUP BY stack_id ORDER BY value DESC;",
    ),
    panel(
        "stacks",
        12,
        "Allocations",
        "flame_allocations",
        "SELECT TOP (1500) stack_id, SUM(allocated_bytes) AS value \
         FROM sys.dm_os_allocation_samples GROUP BY stack_id ORDER BY value DESC;",
    ),
    panel(
        "waits",
        10,
        "Waits",
        "rate_bars",
        concat!(
            "SELECT wait_type, wait_time_ms / 1000.0 FROM sys.dm_os_wait_stats WHERE ",
            busy_waits!(),
            " AND waiting_tasks_count > 0;"
        ),
    )
    .in_unit("s/s")
    .every(1),
    panel(
        "waits",
        20,
        "Waits over time",
        "rates",
        concat!(
            "SELECT wait_type, wait_time_ms / 1000.0 FROM sys.dm_os_wait_stats WHERE ",
            busy_waits!(),
            " AND waiting_tasks_count > 0;"
        ),
    )
    .in_unit("s/s")
    .every(2),
    panel(
        "waits",
        30,
        "Signalled, but no scheduler is free",
        "rate_bars",
        concat!(
            "SELECT wait_type, signal_wait_time_ms / 1000.0 FROM sys.dm_os_wait_stats WHERE ",
            busy_waits!(),
            " AND waiting_tasks_count > 0;"
        ),
    )
    .in_unit("s/s")
    .every(2),
    panel(
        "waits",
        40,
        "Spinning, by lock class",
        "rate_bars",
        "SELECT name, spin_ns / 1000000.0 FROM sys.dm_os_spinlock_stats WHERE collisions > 0;",
    )
    .in_unit("ms/s")
    .every(2),
    panel(
        "waits",
        50,
        "Latches",
        "rate_bars",
        "SELECT latch_class, CONVERT(float, wait_time_ms) FROM sys.dm_os_latch_stats \
         WHERE waiting_requests_count > 0;",
    )
    .in_unit("ms/s")
    .every(2),
    panel("waits", 60, "Locks, waiting ones first", "table", LOCKS).every(2),
    panel(
        "memory",
        10,
        "Clerks over time",
        "lines",
        "SELECT type, SUM(pages_kb) * 1024.0 FROM sys.dm_os_memory_clerks GROUP BY type;",
    )
    .in_unit("bytes"),
    panel(
        "memory",
        20,
        "Clerks",
        "bars",
        "SELECT type, SUM(pages_kb) * 1024.0 FROM sys.dm_os_memory_clerks GROUP BY type;",
    )
    .in_unit("bytes"),
    panel("memory", 30, "From clerks to resident memory", "bars", RESIDENT).in_unit("bytes"),
    panel(
        "memory",
        40,
        "Process",
        "table",
        "SELECT physical_memory_in_use_kb, virtual_address_space_committed_kb, \
         virtual_address_space_reserved_kb, available_commit_limit_kb, \
         memory_utilization_percentage, page_fault_count, process_physical_memory_low \
         FROM sys.dm_os_process_memory;",
    ),
    panel(
        "memory",
        50,
        "Memory grants",
        "table",
        "SELECT session_id, request_id, dop, request_time, grant_time, requested_memory_kb, \
         granted_memory_kb, used_memory_kb, max_used_memory_kb, wait_time_ms \
         FROM sys.dm_exec_query_memory_grants;",
    )
    .every(2),
    panel(
        "events",
        10,
        "Running event sessions",
        "event_sessions",
        "SELECT s.name, SUM(CONVERT(bigint, COALESCE(c.published, 0))) AS event_count \
         FROM sys.dm_xe_sessions AS s LEFT JOIN sys.dm_xe_session_counts AS c \
         ON c.session_name = s.name WHERE EXISTS (SELECT * FROM sys.server_event_sessions AS d \
         JOIN sys.server_event_session_targets AS t ON t.event_session_id = d.event_session_id \
         WHERE d.name = s.name AND t.name = N'ring_buffer') GROUP BY s.name ORDER BY s.name;",
    ),
    panel(
        "events",
        11,
        "Events of a session",
        "events",
        "SELECT t.target_data FROM sys.dm_xe_sessions AS s JOIN sys.dm_xe_session_targets AS t \
         ON t.event_session_address = s.address \
         WHERE s.name = @session AND t.target_name = N'ring_buffer';",
    ),
    panel(
        "events",
        20,
        "What each session has seen, and what it has lost",
        "table",
        "SELECT session_name, event_name, seen, rejected, dropped, published \
         FROM sys.dm_xe_session_counts ORDER BY seen DESC;",
    ),
    panel(
        "log",
        10,
        "Size of the log",
        "lines",
        "SELECT DB_NAME(database_id), CONVERT(float, used_log_space_in_bytes) \
         FROM sys.dm_db_log_space_usage;",
    )
    .in_unit("bytes"),
    panel(
        "log",
        20,
        "Written per second",
        "rates",
        "SELECT N'log' AS file_kind, SUM(num_of_bytes_written) * 1.0 \
         FROM sys.dm_io_virtual_file_stats(NULL, NULL);",
    )
    .in_unit("bytes")
    .every(2),
    panel(
        "log",
        30,
        "Flushes and commits",
        "table",
        "SELECT measure, low, high, flush_count FROM sys.dm_os_log_flushes \
         WHERE flush_count > 0 ORDER BY measure, low;",
    ),
    panel(
        "log",
        40,
        "Log of each database",
        "table",
        "SELECT d.name, d.recovery_model_desc, d.delayed_durability_desc, d.state_desc, \
         s.total_vlf_count, s.active_vlf_count, s.total_log_size_mb, s.active_log_size_mb, \
         s.log_truncation_holdup_reason, s.log_recovery_size_mb \
         FROM sys.databases AS d CROSS APPLY sys.dm_db_log_stats(d.database_id) AS s;",
    ),
    panel(
        "log",
        50,
        "Checkpoints",
        "table",
        "SELECT checkpoints_closed, bytes_serialized, active_scan_time_in_ms, \
         bytes_to_end_of_log, last_ranges_written, last_rows_written, failed_count \
         FROM sys.dm_db_xtp_checkpoint_stats;",
    ),
    panel(
        "log",
        60,
        "Counters of the log",
        "table",
        "SELECT RTRIM(counter_name) AS counter_name, RTRIM(instance_name) AS instance_name, \
         cntr_value FROM sys.dm_os_performance_counters WHERE counter_name LIKE N'Log %' \
         AND cntr_value > 0 ORDER BY counter_name, instance_name;",
    ),
    panel(
        "panels",
        10,
        "Counters per second",
        "rates",
        "SELECT RTRIM(counter_name), CONVERT(float, cntr_value) \
         FROM sys.dm_os_performance_counters WHERE counter_name IN (N'Batch Requests/sec', \
         N'SQL Compilations/sec', N'Logins/sec', N'Connection Reset/sec');",
    )
    .in_unit("/s")
    .every(2),
    panel(
        "panels",
        20,
        "Sessions by login",
        "bars",
        "SELECT login_name, COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1 \
         GROUP BY login_name;",
    ),
];

/// Requests, and sessions without one that hold a transaction open or block others: the columns
/// that `sp_WhoIsActive` made known.
const REQUESTS: &str = "SELECT TOP (500) s.session_id, r.request_id, r.start_time, \
    CASE WHEN r.session_id IS NULL THEN 1000 * CONVERT(bigint, \
    DATEDIFF(second, s.last_request_end_time, GETDATE())) ELSE r.total_elapsed_time END \
    AS duration_ms, COALESCE(r.status, s.status) AS status, r.wait_type, r.wait_time, \
    r.wait_resource, COALESCE(r.cpu_time, s.cpu_time) AS cpu_time, \
    COALESCE(r.logical_reads, s.logical_reads) AS logical_reads, \
    COALESCE(r.writes, s.writes) AS writes, r.blocking_session_id, \
    DB_NAME(COALESCE(r.database_id, s.database_id)) AS database_name, s.login_name, \
    s.host_name, s.program_name, s.open_transaction_count, r.percent_complete, \
    CONVERT(nvarchar(140), r.plan_handle, 1) AS plan_handle, r.statement_start_offset, \
    r.statement_end_offset, r.traceparent, \
    SUBSTRING(t.text, COALESCE(r.statement_start_offset, 0) / 2 + 1, \
    CASE WHEN COALESCE(r.statement_end_offset, -1) < 0 THEN 1000 \
    ELSE (r.statement_end_offset - r.statement_start_offset) / 2 + 1 END) AS sql_text \
    FROM sys.dm_exec_sessions AS s \
    LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id \
    LEFT JOIN sys.dm_exec_connections AS c ON c.session_id = s.session_id \
    AND c.parent_connection_id IS NULL \
    OUTER APPLY sys.dm_exec_sql_text(COALESCE(r.sql_handle, c.most_recent_sql_handle)) AS t \
    WHERE s.is_user_process = 1 AND s.session_id <> @@SPID \
    AND (r.session_id IS NOT NULL OR s.open_transaction_count > 0 OR s.session_id IN \
    (SELECT b.blocking_session_id FROM sys.dm_exec_requests AS b \
    WHERE b.blocking_session_id > 0));";

/// Statements that ran in the last two minutes.
const STATEMENTS: &str = "SELECT TOP (300) CONVERT(nvarchar(140), q.plan_handle, 1) AS plan_handle, \
    q.statement_start_offset, q.statement_end_offset, \
    CONVERT(nvarchar(30), q.creation_time, 126) AS creation_time, q.execution_count, \
    q.total_worker_time, q.total_elapsed_time, q.total_logical_reads, q.total_rows, \
    DB_NAME(t.dbid) AS database_name, SUBSTRING(t.text, q.statement_start_offset / 2 + 1, \
    CASE WHEN q.statement_end_offset < 0 THEN 1000 \
    ELSE (q.statement_end_offset - q.statement_start_offset) / 2 + 1 END) AS sql_text \
    FROM sys.dm_exec_query_stats AS q OUTER APPLY sys.dm_exec_sql_text(q.sql_handle) AS t \
    WHERE q.last_execution_time > DATEADD(second, -120, GETDATE()) \
    ORDER BY q.last_execution_time DESC;";

const LOCKS: &str = "SELECT TOP (500) l.request_session_id, l.request_status, l.request_mode, \
    l.resource_type, DB_NAME(l.resource_database_id) AS database_name, \
    CASE WHEN l.resource_type = N'OBJECT' THEN OBJECT_NAME(CONVERT(int, \
    l.resource_associated_entity_id), l.resource_database_id) END AS object_name, \
    l.resource_description, l.request_owner_type FROM sys.dm_tran_locks AS l \
    WHERE l.resource_type <> N'DATABASE' AND l.request_session_id <> @@SPID \
    ORDER BY CASE l.request_status WHEN N'GRANT' THEN 1 ELSE 0 END, l.request_session_id;";

/// What the clerks have, and what the kernel has for the process.
const RESIDENT: &str = "SELECT N'clerks' AS part, SUM(pages_kb) * 1024.0 AS bytes \
    FROM sys.dm_os_memory_clerks \
    UNION ALL SELECT N'committed', virtual_address_space_committed_kb * 1024.0 \
    FROM sys.dm_os_process_memory \
    UNION ALL SELECT N'resident', physical_memory_in_use_kb * 1024.0 \
    FROM sys.dm_os_process_memory;";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_are_told_apart_by_screen_position_and_title() {
        for (place, panel) in PANELS.iter().enumerate() {
            let same = |other: &&Panel| {
                (other.screen, other.position, other.title)
                    == (panel.screen, panel.position, panel.title)
            };
            assert!(PANELS[..place].iter().find(same).is_none(), "{}", panel.title);
        }
    }
}
