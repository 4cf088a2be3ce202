-- What DBAs' scripts ask of a server, in their shapes: joins of requests with sessions and texts, wait
-- statistics without the idle ones, differences of two samples, shares and running totals.
-- Each query has a name and the least number of rows that it gives on a server under load.

-- name: version and edition
-- rows: 1
SELECT @@SERVERNAME AS server_name, SERVERPROPERTY('ProductVersion') AS version, SERVERPROPERTY('ProductMajorVersion') AS major,
    SERVERPROPERTY('Edition') AS edition, SERVERPROPERTY('EngineEdition') AS engine_edition, @@VERSION AS version_text
GO

-- name: hardware
-- rows: 1
SELECT cpu_count AS logical_cpus, scheduler_count, socket_count, cores_per_socket, numa_node_count,
    physical_memory_kb / 1024 AS physical_memory_mb, committed_kb / 1024 AS committed_mb,
    committed_target_kb / 1024 AS target_mb, max_workers_count AS workers_max, affinity_type_desc,
    virtual_machine_type_desc, softnuma_configuration_desc, sql_memory_model_desc, sqlserver_start_time,
    DATEDIFF(hour, sqlserver_start_time, GETDATE()) AS hours_up
FROM sys.dm_os_sys_info WITH (NOLOCK) OPTION (RECOMPILE)
GO

-- name: operating system
-- rows: 1
SELECT host_platform, host_distribution, host_release, host_service_pack_level, host_sku, os_language_version
FROM sys.dm_os_host_info WITH (NOLOCK) OPTION (RECOMPILE)
GO

-- name: memory of machine and process
-- rows: 1
SELECT m.total_physical_memory_kb / 1024 AS physical_mb, m.available_physical_memory_kb / 1024 AS available_mb,
    m.total_page_file_kb / 1024 AS commit_limit_mb, m.system_memory_state_desc,
    p.physical_memory_in_use_kb / 1024 AS in_use_mb, p.locked_page_allocations_kb / 1024 AS locked_mb,
    p.page_fault_count, p.memory_utilization_percentage, p.process_physical_memory_low, p.process_virtual_memory_low
FROM sys.dm_os_sys_memory AS m WITH (NOLOCK) CROSS JOIN sys.dm_os_process_memory AS p WITH (NOLOCK) OPTION (RECOMPILE)
GO

-- name: waits that matter
-- rows: 1
WITH waits AS (
    SELECT wait_type, wait_time_ms / 1000.0 AS wait_s, (wait_time_ms - signal_wait_time_ms) / 1000.0 AS resource_s,
        signal_wait_time_ms / 1000.0 AS signal_s, waiting_tasks_count AS wait_count,
        100.0 * wait_time_ms / NULLIF(SUM(wait_time_ms) OVER (), 0) AS percentage,
        ROW_NUMBER() OVER (ORDER BY wait_time_ms DESC) AS place
    FROM sys.dm_os_wait_stats WITH (NOLOCK)
    WHERE wait_type NOT IN (
            N'BROKER_EVENTHANDLER', N'BROKER_RECEIVE_WAITFOR', N'BROKER_TASK_STOP', N'BROKER_TO_FLUSH', N'BROKER_TRANSMITTER',
            N'CHECKPOINT_QUEUE', N'CHKPT', N'CLR_AUTO_EVENT', N'CLR_MANUAL_EVENT', N'CXCONSUMER', N'DIRTY_PAGE_POLL',
            N'DISPATCHER_QUEUE_SEMAPHORE', N'FT_IFTS_SCHEDULER_IDLE_WAIT', N'HADR_FILESTREAM_IOMGR_IOCOMPLETION',
            N'LAZYWRITER_SLEEP', N'LISTENER_ACCEPT', N'LOGMGR_QUEUE', N'ONDEMAND_TASK_QUEUE', N'QDS_ASYNC_QUEUE',
            N'REQUEST_FOR_DEADLOCK_SEARCH', N'RESOURCE_QUEUE', N'SERVER_IDLE_CHECK', N'SLEEP_BPOOL_FLUSH', N'SLEEP_DBSTARTUP',
            N'SLEEP_SYSTEMTASK', N'SLEEP_TASK', N'SOS_WORK_DISPATCHER', N'SP_SERVER_DIAGNOSTICS_SLEEP', N'SQLTRACE_BUFFER_FLUSH',
            N'TRACEWRITE', N'XE_DISPATCHER_JOIN', N'XE_DISPATCHER_WAIT', N'XE_LIVE_TARGET_TVF', N'XE_TIMER_EVENT')
        AND waiting_tasks_count > 0)
SELECT MAX(w.wait_type) AS wait_type, CAST(MAX(w.percentage) AS decimal(5, 2)) AS percentage,
    CAST(MAX(w.wait_s) AS decimal(16, 2)) AS wait_s, CAST(MAX(w.resource_s) AS decimal(16, 2)) AS resource_s,
    CAST(MAX(w.signal_s) AS decimal(16, 2)) AS signal_s, MAX(w.wait_count) AS waits,
    CAST(MAX(w.wait_s) / MAX(w.wait_count) AS decimal(16, 4)) AS average_s,
    N'https://example.org/waits/' + MAX(w.wait_type) AS help
FROM waits AS w INNER JOIN waits AS higher ON higher.place <= w.place
GROUP BY w.place
HAVING SUM(higher.percentage) - MAX(w.percentage) < 99
ORDER BY MAX(w.percentage) DESC OPTION (RECOMPILE)
GO

-- name: signal waits
-- rows: 1
SELECT CAST(100.0 * SUM(signal_wait_time_ms) / NULLIF(SUM(wait_time_ms), 0) AS numeric(20, 2)) AS signal_percentage,
    CAST(100.0 * SUM(wait_time_ms - signal_wait_time_ms) / NULLIF(SUM(wait_time_ms), 0) AS numeric(20, 2)) AS resource_percentage
FROM sys.dm_os_wait_stats WITH (NOLOCK)
WHERE wait_type NOT LIKE N'SLEEP[_]%' AND wait_type NOT LIKE N'XE[_]%' AND wait_type <> N'SOS_WORK_DISPATCHER'
OPTION (RECOMPILE)
GO

-- name: waits of two seconds
-- rows: 1
SET NOCOUNT ON
DECLARE @first TABLE (wait_type nvarchar(60) PRIMARY KEY, waits bigint, ms bigint, signal_ms bigint)
DECLARE @began datetime = GETDATE()
INSERT @first SELECT wait_type, waiting_tasks_count, wait_time_ms, signal_wait_time_ms FROM sys.dm_os_wait_stats
WAITFOR DELAY '00:00:00.300'
SELECT TOP (10) n.wait_type, n.waiting_tasks_count - f.waits AS waits, n.wait_time_ms - f.ms AS ms,
    n.signal_wait_time_ms - f.signal_ms AS signal_ms,
    CAST((n.wait_time_ms - f.ms) * 1.0 / NULLIF(DATEDIFF(ms, @began, GETDATE()), 0) AS decimal(18, 3)) AS ms_per_ms
FROM sys.dm_os_wait_stats AS n INNER JOIN @first AS f ON f.wait_type = n.wait_type
WHERE n.waiting_tasks_count > f.waits
ORDER BY ms DESC, n.wait_type
GO

-- name: who is active
-- rows: 1
SELECT s.session_id, r.request_id, s.status AS session_status, r.status AS request_status, r.command, s.host_name,
    s.program_name, s.login_name, DB_NAME(COALESCE(r.database_id, s.database_id)) AS database_name, r.blocking_session_id,
    r.wait_type, r.wait_time, r.last_wait_type, r.wait_resource, COALESCE(r.cpu_time, s.cpu_time) AS cpu_ms,
    COALESCE(r.total_elapsed_time, DATEDIFF(ms, s.last_request_start_time, s.last_request_end_time)) AS elapsed_ms,
    COALESCE(r.logical_reads, s.logical_reads) AS logical_reads, COALESCE(r.writes, s.writes) AS writes,
    r.open_transaction_count, s.open_transaction_count AS session_transactions, r.percent_complete,
    CASE COALESCE(r.transaction_isolation_level, s.transaction_isolation_level)
        WHEN 0 THEN 'Unspecified' WHEN 1 THEN 'ReadUncommitted' WHEN 2 THEN 'ReadCommitted'
        WHEN 3 THEN 'RepeatableRead' WHEN 4 THEN 'Serializable' WHEN 5 THEN 'Snapshot' END AS isolation_level,
    c.client_net_address, c.net_transport, c.encrypt_option, c.auth_scheme, s.login_time, r.start_time
FROM sys.dm_exec_sessions AS s
LEFT OUTER JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
LEFT OUTER JOIN sys.dm_exec_connections AS c ON c.session_id = s.session_id AND c.parent_connection_id IS NULL
WHERE s.is_user_process = 1 AND (s.session_id = @@SPID OR r.session_id IS NOT NULL OR s.open_transaction_count > 0)
ORDER BY COALESCE(r.start_time, s.last_request_start_time), s.session_id
GO

-- name: connections by program
-- rows: 1
SELECT s.login_name, s.program_name, s.host_name, c.client_net_address, COUNT(c.session_id) AS connections,
    MAX(s.last_request_end_time) AS last_request, SUM(CASE s.status WHEN 'running' THEN 1 ELSE 0 END) AS running
FROM sys.dm_exec_sessions AS s WITH (NOLOCK)
INNER JOIN sys.dm_exec_connections AS c WITH (NOLOCK) ON s.session_id = c.session_id
GROUP BY s.login_name, s.program_name, s.host_name, c.client_net_address
ORDER BY connections DESC OPTION (RECOMPILE)
GO

-- name: sessions that sleep in a transaction
-- rows: 1
SELECT s.session_id, s.status, s.open_transaction_count, DATEDIFF(second, s.last_request_end_time, GETDATE()) AS idle_s
FROM sys.dm_exec_sessions AS s
WHERE s.open_transaction_count > 0 AND NOT EXISTS (SELECT * FROM sys.dm_exec_requests AS r WHERE r.session_id = s.session_id)
GO

-- name: load of the schedulers
-- rows: 1
SELECT AVG(current_tasks_count) AS tasks, AVG(runnable_tasks_count) AS runnable,
    MAX(load_factor) AS load_max, COUNT(*) AS schedulers, SUM(current_workers_count) AS workers
FROM sys.dm_os_schedulers WITH (NOLOCK) WHERE scheduler_id < 255 AND status = N'VISIBLE ONLINE' OPTION (RECOMPILE)
GO

-- name: memory by clerk
-- rows: 3
SELECT TOP (10) mc.[type] AS clerk, CAST(SUM(mc.pages_kb) / 1024.0 AS decimal(15, 2)) AS used_mb
FROM sys.dm_os_memory_clerks AS mc WITH (NOLOCK) GROUP BY mc.[type] ORDER BY SUM(mc.pages_kb) DESC OPTION (RECOMPILE)
GO

-- name: requests and connections a second
-- rows: 2
SET NOCOUNT ON
DECLARE @first TABLE (object_name nchar(128), counter_name nchar(128), instance_name nchar(128), v bigint)
INSERT INTO @first SELECT object_name, counter_name, instance_name, cntr_value FROM sys.dm_os_performance_counters WHERE cntr_type = 272696576
DECLARE @began datetime2 = SYSDATETIME()
WAITFOR DELAY '00:00:00.300'
SELECT RTRIM(n.object_name) AS object_name, RTRIM(n.counter_name) AS counter_name, RTRIM(n.instance_name) AS instance_name,
    (n.cntr_value - f.v) * 1000.0 / DATEDIFF(ms, @began, SYSDATETIME()) AS per_second
FROM sys.dm_os_performance_counters AS n
INNER JOIN @first AS f ON f.object_name = n.object_name AND f.counter_name = n.counter_name AND f.instance_name = n.instance_name
WHERE n.cntr_value > f.v AND n.counter_name IN (N'Batch Requests/sec', N'SQL Compilations/sec', N'Transactions/sec', N'Logins/sec')
ORDER BY 1, 2, 3
GO

-- name: memory counters
-- rows: 2
SELECT RTRIM(counter_name) AS counter_name, cntr_value / 1024 AS mb FROM sys.dm_os_performance_counters WITH (NOLOCK)
WHERE object_name LIKE N'%Memory Manager%' AND counter_name IN (N'Total Server Memory (KB)', N'Target Server Memory (KB)')
GO

-- name: ratios with their bases
-- rows: 1
SELECT RTRIM(a.object_name) AS object_name, RTRIM(a.counter_name) AS counter_name, RTRIM(a.instance_name) AS instance_name,
    CAST(100.0 * a.cntr_value / NULLIF(b.cntr_value, 0) AS decimal(6, 2)) AS percentage
FROM sys.dm_os_performance_counters AS a INNER JOIN sys.dm_os_performance_counters AS b
    ON b.object_name = a.object_name AND b.instance_name = a.instance_name
    AND RTRIM(b.counter_name) LIKE RTRIM(a.counter_name) + N' base'
WHERE a.cntr_type = 537003264 AND b.cntr_type = 1073939712 AND a.counter_name LIKE N'Cache Hit Ratio%'
GO

-- name: hottest spinlocks
-- rows: 1
SELECT TOP (10) name, collisions, spins, spins_per_collision, sleep_time, backoffs, spin_ns / 1000000 AS spin_ms
FROM sys.dm_os_spinlock_stats ORDER BY spins DESC, name
GO

-- name: latches
-- rows: 1
SELECT latch_class, waiting_requests_count, wait_time_ms, CAST(100.0 * wait_time_ms / NULLIF(SUM(wait_time_ms) OVER (), 0) AS decimal(14, 2)) AS percentage
FROM sys.dm_os_latch_stats WHERE latch_class NOT IN (N'BUFFER') ORDER BY wait_time_ms DESC
GO

-- name: where the time goes
-- rows: 3
SELECT category, CAST(SUM(share_of_non_idle) * 100 AS decimal(9, 2)) AS percentage, SUM(on_cpu_ns) / 1000000 AS cpu_ms,
    SUM(runnable_ns) / 1000000 AS runnable_ms, SUM(blocked_ns) / 1000000 AS blocked_ms, SUM(occurrences) AS occurrences
FROM sys.dm_os_time_ledger WHERE category <> N'idle' GROUP BY category ORDER BY SUM(share_of_non_idle) DESC
GO

-- name: what the threads do
-- rows: 3
SELECT thread_name, os_thread_id, MAX(CASE category WHEN N'user' THEN share_of_non_idle ELSE 0 END) AS top_user, SUM(wall_ns) / 1000000 AS ms
FROM sys.dm_os_thread_ledger GROUP BY thread_name, os_thread_id ORDER BY ms DESC
GO

-- name: options of databases
-- rows: 1
SELECT d.name, d.recovery_model_desc, d.compatibility_level, d.state_desc, d.is_read_committed_snapshot_on, d.snapshot_isolation_state_desc,
    SUSER_SNAME(d.owner_sid) AS owner_name, d.collation_name
FROM sys.databases AS d WITH (NOLOCK) ORDER BY d.name OPTION (RECOMPILE)
GO

-- name: settings
-- rows: 3
SELECT name, value, value_in_use, minimum, maximum, [description], is_dynamic, is_advanced
FROM sys.configurations WITH (NOLOCK) ORDER BY name OPTION (RECOMPILE)
GO

-- name: statements by cpu
-- rows: 2
SELECT TOP (20) qs.execution_count, qs.total_worker_time / 1000 AS cpu_ms,
    qs.total_worker_time / qs.execution_count AS avg_worker_us, qs.total_elapsed_time / qs.execution_count AS avg_elapsed_us,
    qs.total_logical_reads / qs.execution_count AS avg_reads, qs.max_rows, qs.last_execution_time,
    SUBSTRING(st.text, (qs.statement_start_offset / 2) + 1,
        ((CASE qs.statement_end_offset WHEN -1 THEN DATALENGTH(st.text) ELSE qs.statement_end_offset END
            - qs.statement_start_offset) / 2) + 1) AS statement_text
FROM sys.dm_exec_query_stats AS qs CROSS APPLY sys.dm_exec_sql_text(qs.sql_handle) AS st
ORDER BY qs.total_worker_time DESC
GO

-- name: query hashes by executions
-- rows: 2
SELECT TOP 10 query_stats.query_hash, SUM(query_stats.total_worker_time) / SUM(query_stats.execution_count) AS avg_cpu,
    SUM(query_stats.execution_count) AS executions, COUNT(*) AS plans, MIN(query_stats.statement_text) AS sample
FROM (SELECT qs.*, SUBSTRING(st.text, (qs.statement_start_offset / 2) + 1, 60) AS statement_text
    FROM sys.dm_exec_query_stats AS qs CROSS APPLY sys.dm_exec_sql_text(qs.sql_handle) AS st) AS query_stats
GROUP BY query_stats.query_hash ORDER BY 3 DESC
GO

-- name: plans of one use
-- rows: 1
SELECT cp.objtype, cp.cacheobjtype, COUNT_BIG(*) AS plans, AVG(cp.usecounts) AS avg_uses,
    SUM(CASE cp.usecounts WHEN 1 THEN 1 ELSE 0 END) AS used_once
FROM sys.dm_exec_cached_plans AS cp WITH (NOLOCK) GROUP BY cp.objtype, cp.cacheobjtype
GO

-- name: running requests with their text
-- rows: 1
SELECT r.session_id, r.status, r.command, r.blocking_session_id, r.wait_type, r.wait_time, r.last_wait_type, r.cpu_time,
    r.total_elapsed_time, r.scheduler_id, s.program_name, DB_NAME(r.database_id) AS database_name,
    SUBSTRING(t.text, r.statement_start_offset / 2 + 1, 200) AS running, ib.event_info
FROM sys.dm_exec_requests AS r
INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id
OUTER APPLY sys.dm_exec_sql_text(r.sql_handle) AS t
OUTER APPLY sys.dm_exec_input_buffer(r.session_id, r.request_id) AS ib
WHERE s.is_user_process = 1
GO

-- name: last text of each connection
-- rows: 3
SELECT c.session_id, c.num_reads, c.num_writes, t.text
FROM sys.dm_exec_connections AS c CROSS APPLY sys.dm_exec_sql_text(c.most_recent_sql_handle) AS t
WHERE c.num_reads > 0 AND c.num_writes > 0
GO

-- name: waits of the sessions
-- rows: 2
SELECT s.session_id, s.cpu_time, s.total_elapsed_time, w.wait_type, w.waiting_tasks_count, w.wait_time_ms
FROM sys.dm_exec_sessions AS s JOIN sys.dm_exec_session_wait_stats AS w ON w.session_id = s.session_id
WHERE w.wait_type = 'WAITFOR' ORDER BY w.wait_time_ms DESC
GO

-- name: where the statements' time went
-- rows: 2
SELECT l.category, SUM(l.total_ns) / 1000000 AS ms, COUNT(DISTINCT ISNULL(l.plan_handle, 0x)) AS plans
FROM sys.dm_exec_query_ledger AS l GROUP BY l.category ORDER BY ms DESC
GO
