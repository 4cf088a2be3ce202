//! The texts of the questions about a server's state. Views that SQL Server has are asked in a way
//! that both answer; a text that a server refuses has a plainer one beside it.

/// What every connection is set to: `top` waits for no lock and is the first to give way.
pub const SETUP: &str = "SET NOCOUNT ON; SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; \
    SET LOCK_TIMEOUT 2000; SET DEADLOCK_PRIORITY LOW;";

/// Columns: version, number of the version, VIEW SERVER STATE, VIEW SERVER PERFORMANCE STATE.
pub const SERVER: &str = "SELECT CONVERT(nvarchar(300), @@VERSION), \
    CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), \
    HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), \
    HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE');";

/// As [`SERVER`], for a server that has only the version.
pub const SERVER_PLAIN: &str = "SELECT CONVERT(nvarchar(300), @@VERSION)";

/// The first result of both texts about time.
///
/// Columns: monotonic milliseconds, those of the start, the time of day, seconds since the start,
/// schedulers, CPU milliseconds of the process in user mode and in the kernel, and of this session.
macro_rules! clock {
    () => {
        "SELECT i.ms_ticks, i.sqlserver_start_time_ms_ticks, \
         CONVERT(nvarchar(8), GETDATE(), 108), \
         DATEDIFF(second, i.sqlserver_start_time, GETDATE()), i.scheduler_count, \
         i.process_user_time_ms, i.process_kernel_time_ms, s.cpu_time \
         FROM sys.dm_os_sys_info AS i \
         LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = @@SPID; "
    };
}

/// Columns of the second result: category, name, nanoseconds, entries.
pub const TIME_LEDGER: &str = concat!(
    clock!(),
    "SELECT category, name, wall_ns, occurrences FROM sys.dm_os_time_ledger WHERE wall_ns > 0;"
);

/// The condition on waits that are not idle: the list that Microsoft's own scripts leave out.
macro_rules! idle_waits {
    () => {
        "wait_type NOT IN (N'BROKER_EVENTHANDLER', N'BROKER_RECEIVE_WAITFOR', \
         N'BROKER_TASK_STOP', N'BROKER_TO_FLUSH', N'BROKER_TRANSMITTER', N'CHECKPOINT_QUEUE', \
         N'CHKPT', N'CLR_AUTO_EVENT', N'CLR_MANUAL_EVENT', N'CLR_SEMAPHORE', \
         N'DBMIRROR_DBM_EVENT', N'DBMIRROR_EVENTS_QUEUE', N'DBMIRROR_WORKER_QUEUE', \
         N'DBMIRRORING_CMD', N'DIRTY_PAGE_POLL', N'DISPATCHER_QUEUE_SEMAPHORE', N'EXECSYNC', \
         N'FSAGENT', N'FT_IFTS_SCHEDULER_IDLE_WAIT', N'FT_IFTSHC_MUTEX', N'LAZYWRITER_SLEEP', \
         N'LISTENER_ACCEPT', N'LOGMGR_QUEUE', N'MEMORY_ALLOCATION_EXT', N'ONDEMAND_TASK_QUEUE', \
         N'PARALLEL_REDO_DRAIN_WORKER', N'PARALLEL_REDO_LOG_CACHE', N'PARALLEL_REDO_TRAN_LIST', \
         N'PARALLEL_REDO_WORKER_SYNC', N'PARALLEL_REDO_WORKER_WAIT_WORK', \
         N'POPULATE_LOCK_ORDINALS', N'PREEMPTIVE_OS_FLUSHFILEBUFFERS', \
         N'PREEMPTIVE_XE_GETTARGETSTATE', N'PVS_PREALLOCATE', \
         N'PWAIT_ALL_COMPONENTS_INITIALIZED', N'PWAIT_DIRECTLOGCONSUMER_GETNEXT', \
         N'PWAIT_EXTENSIBILITY_CLEANUP_TASK', N'QDS_ASYNC_QUEUE', \
         N'QDS_CLEANUP_STALE_QUERIES_TASK_MAIN_LOOP_SLEEP', \
         N'QDS_PERSIST_TASK_MAIN_LOOP_SLEEP', N'QDS_SHUTDOWN_QUEUE', N'REDO_THREAD_PENDING_WORK', \
         N'REQUEST_FOR_DEADLOCK_SEARCH', N'RESOURCE_QUEUE', N'SERVER_IDLE_CHECK', \
         N'SNI_HTTP_ACCEPT', N'SOS_WORK_DISPATCHER', N'SP_SERVER_DIAGNOSTICS_SLEEP', \
         N'SQLTRACE_BUFFER_FLUSH', N'SQLTRACE_INCREMENTAL_FLUSH_SLEEP', \
         N'SQLTRACE_WAIT_ENTRIES', N'UCS_SESSION_REGISTRATION', N'VDI_CLIENT_OTHER', \
         N'WAIT_FOR_RESULTS', N'WAIT_XTP_CKPT_CLOSE', N'WAIT_XTP_HOST_WAIT', \
         N'WAIT_XTP_OFFLINE_CKPT_NEW_LOG', N'WAIT_XTP_RECOVERY', N'WAITFOR_TASKSHUTDOWN', \
         N'XE_DISPATCHER_JOIN', N'XE_DISPATCHER_WAIT', N'XE_LIVE_TARGET_TVF', \
         N'XE_TIMER_EVENT') AND wait_type NOT LIKE N'SLEEP[_]%' AND wait_type NOT LIKE N'HADR[_]%'"
    };
}

/// As [`TIME_LEDGER`], from SQL Server's waits. Idle waits are left out by name.
pub const TIME_WAITS: &str = concat!(
    clock!(),
    "SELECT N'wait', wait_type, 1000000 * (wait_time_ms - signal_wait_time_ms), \
     waiting_tasks_count FROM sys.dm_os_wait_stats WHERE wait_time_ms > 0 AND ",
    idle_waits!(),
    " UNION ALL SELECT N'signal', wait_type, 1000000 * signal_wait_time_ms, waiting_tasks_count \
     FROM sys.dm_os_wait_stats WHERE signal_wait_time_ms > 0 AND ",
    idle_waits!(),
    ";"
);

/// Columns: session, request, milliseconds, status, wait type, milliseconds of the wait, CPU
/// milliseconds, logical reads, writes, blocking session, database, login, host, program, open
/// transactions, percent complete, plan, start and end of the statement, its text, command.
macro_rules! requests {
    ($text:literal, $from:literal) => {
        concat!(
            "SELECT TOP (500) s.session_id, r.request_id, \
             CASE WHEN r.session_id IS NULL THEN 1000 * CONVERT(bigint, \
             DATEDIFF(second, s.last_request_end_time, GETDATE())) \
             ELSE r.total_elapsed_time END, COALESCE(r.status, s.status), \
             r.wait_type, r.wait_time, COALESCE(r.cpu_time, s.cpu_time), \
             COALESCE(r.logical_reads, s.logical_reads), COALESCE(r.writes, s.writes), \
             r.blocking_session_id, DB_NAME(COALESCE(r.database_id, s.database_id)), \
             s.login_name, s.host_name, s.program_name, s.open_transaction_count, \
             r.percent_complete, r.plan_handle, r.statement_start_offset, \
             r.statement_end_offset, ",
            $text,
            ", r.command FROM sys.dm_exec_sessions AS s \
             LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id ",
            $from,
            "WHERE s.is_user_process = 1 AND s.session_id <> @@SPID \
             AND (r.session_id IS NOT NULL OR s.open_transaction_count > 0 OR s.session_id IN \
             (SELECT b.blocking_session_id FROM sys.dm_exec_requests AS b \
             WHERE b.blocking_session_id > 0));"
        )
    };
}

/// Requests with their texts; the columns are those of `requests!` above.
pub const REQUESTS: &str = requests!(
    "SUBSTRING(t.text, COALESCE(r.statement_start_offset, 0) / 2 + 1, \
     CASE WHEN COALESCE(r.statement_end_offset, -1) < 0 THEN 1000 \
     ELSE (r.statement_end_offset - r.statement_start_offset) / 2 + 1 END)",
    "LEFT JOIN sys.dm_exec_connections AS c ON c.session_id = s.session_id \
     AND c.parent_connection_id IS NULL \
     OUTER APPLY sys.dm_exec_sql_text(COALESCE(r.sql_handle, c.most_recent_sql_handle)) AS t "
);

/// As [`REQUESTS`], without texts.
pub const REQUESTS_PLAIN: &str = requests!("NULL", "");

/// Columns: plan, start, end, time of compilation, executions, CPU and elapsed microseconds,
/// logical reads, rows, database and module, text. Only what ran in the last two minutes is asked for.
macro_rules! statements {
    ($rows:literal) => {
        concat!(
            "SELECT TOP (300) q.plan_handle, q.statement_start_offset, q.statement_end_offset, \
             CONVERT(nvarchar(30), q.creation_time, 126), q.execution_count, \
             q.total_worker_time, q.total_elapsed_time, q.total_logical_reads, ",
            $rows,
            ", DB_NAME(t.dbid) + ISNULL(N', in ' + OBJECT_NAME(t.objectid, t.dbid), N''), SUBSTRING(t.text, q.statement_start_offset / 2 + 1, \
             CASE WHEN q.statement_end_offset < 0 THEN 1000 \
             ELSE (q.statement_end_offset - q.statement_start_offset) / 2 + 1 END) \
             FROM sys.dm_exec_query_stats AS q \
             OUTER APPLY sys.dm_exec_sql_text(q.sql_handle) AS t \
             WHERE q.last_execution_time > DATEADD(second, -120, GETDATE()) \
             ORDER BY q.last_execution_time DESC;"
        )
    };
}

/// Statements; the columns are those of `statements!` above.
pub const STATEMENTS: &str = statements!("q.total_rows");

/// For SQL Server before 2012, which does not count rows.
pub const STATEMENTS_PLAIN: &str = statements!("NULL");

/// Columns: session, status, mode, type, database, object, resource, owner. Waiting ones first.
pub const LOCKS: &str = "SELECT TOP (500) l.request_session_id, l.request_status, l.request_mode, \
    l.resource_type, DB_NAME(l.resource_database_id), \
    CASE WHEN l.resource_type = N'OBJECT' THEN OBJECT_NAME(CONVERT(int, \
    l.resource_associated_entity_id), l.resource_database_id) END, \
    l.resource_description, l.request_owner_type FROM sys.dm_tran_locks AS l \
    WHERE l.resource_type <> N'DATABASE' AND l.request_session_id <> @@SPID \
    ORDER BY CASE l.request_status WHEN N'GRANT' THEN 1 ELSE 0 END, l.request_session_id;";

/// Returns the question for a plan as XML.
#[must_use]
pub fn plan(handle: &str, start: i64, end: i64) -> String {
    format!("SELECT query_plan FROM sys.dm_exec_text_query_plan({handle}, {start}, {end});")
}

/// Returns the statement that ends a session.
#[must_use]
pub fn kill(session: i64) -> String {
    format!("KILL {session};")
}

/// Columns: counter, value. Cumulative ones and levels; the instance is the server's or the total.
pub const COUNTERS: &str = "SELECT RTRIM(counter_name), cntr_value \
    FROM sys.dm_os_performance_counters WHERE instance_name IN (N'', N'_Total') \
    AND counter_name IN (N'Batch Requests/sec', N'SQL Compilations/sec', \
    N'SQL Re-Compilations/sec', N'Definition Changes/sec', N'Logins/sec', \
    N'Temp Tables Creation Rate', N'Number of Deadlocks/sec', N'Page Allocations/sec', \
    N'Granted Workspace Memory (KB)', N'Memory Grants Pending', N'Memory Grants Refused/sec', N'Errors/sec', N'Out-of-Memory Errors/sec', \
    N'Log Flushes/sec', N'Total Server Memory (KB)', \
    N'Target Server Memory (KB)', N'User Connections') \
    UNION ALL SELECT N'Worker Waits', COUNT(*) FROM sys.dm_os_waiting_tasks \
    WHERE wait_type = N'THREADPOOL' \
    UNION ALL SELECT N'Log waits', waiting_tasks_count FROM sys.dm_os_wait_stats \
    WHERE wait_type = N'WRITELOG' \
    UNION ALL SELECT N'Log wait ms', wait_time_ms FROM sys.dm_os_wait_stats \
    WHERE wait_type = N'WRITELOG';";

/// Columns: event session, event, published, dropped.
pub const EVENTS: &str =
    "SELECT session_name, event_name, published, dropped FROM sys.dm_xe_session_counts;";

/// Columns: name, value, warning (NULL if all is well).
pub const ENVIRONMENT: &str = "SELECT name, value, warning FROM sys.dm_os_environment;";

/// Columns: type of the memory clerk, kilobytes.
pub const CLERKS: &str = "SELECT TOP (5) type, SUM(pages_kb) FROM sys.dm_os_memory_clerks \
    GROUP BY type ORDER BY SUM(pages_kb) DESC;";

/// Columns: session, isolation level, milliseconds since the transaction began, program.
pub const TRANSACTIONS: &str = "SELECT TOP (50) s.session_id, s.transaction_isolation_level, \
    DATEDIFF(millisecond, t.transaction_begin_time, GETDATE()), s.program_name \
    FROM sys.dm_tran_session_transactions AS x \
    JOIN sys.dm_tran_active_transactions AS t ON t.transaction_id = x.transaction_id \
    JOIN sys.dm_exec_sessions AS s ON s.session_id = x.session_id \
    WHERE s.session_id <> @@SPID ORDER BY t.transaction_begin_time;";

/// Columns: session that waits, its wait type, milliseconds, session in its way, resource.
pub const WAITERS: &str = "SELECT TOP (500) w.session_id, w.wait_type, w.wait_duration_ms, \
    w.blocking_session_id, w.resource_description FROM sys.dm_os_waiting_tasks AS w \
    WHERE w.session_id IS NOT NULL AND w.session_id <> @@SPID AND w.wait_type LIKE N'LCK%';";

/// One span of [`HISTORY`]: begin and end, in seconds before now.
macro_rules! received {
    ($name:literal, $from:literal, $to:literal) => {
        concat!(
            "SELECT N'",
            $name,
            "', DATEDIFF(millisecond, MIN(from_time), MIN(to_time)), \
             SUM(CASE WHEN category = N'kernel' AND name = N'recv' THEN occurrences ELSE 0 END) \
             FROM sys.fn_time_ledger(DATEADD(second, -",
            $from,
            ", SYSDATETIME()), DATEADD(second, -",
            $to,
            ", SYSDATETIME()))"
        )
    };
}

/// Columns: span of time before now, its milliseconds, requests received in it.
pub const HISTORY: &str = concat!(
    received!("the hour before", "3600", "600"),
    " UNION ALL ",
    received!("the ten minutes before", "600", "30"),
    " UNION ALL ",
    received!("the half minute before", "30", "6"),
    ";"
);
