-- Extended events as scripts write them.
CREATE EVENT SESSION spins ON SERVER
ADD EVENT sqlos.spinlock_backoff (ACTION (package0.callstack) WHERE type = 61 or type = 144--comment
)
ADD TARGET package0.asynchronous_bucketizer (SET filtering_event_name = 'sqlos.spinlock_backoff', source_type = 1, source = 'package0.callstack')
WITH (MAX_MEMORY = 32768KB, MAX_EVENT_SIZE = 0KB EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 30 SECONDS, MEMORY_PARTITION_MODE = PER_CPU, TRACK_CAUSALITY = ON, STARTUP_STATE = OFF);
GO
CREATE EVENT SESSION [a] ON DATABASE
ADD EVENT [sqlserver].[lock_acquired] (SET collect_resource_description = (1), collect_database_name = 1 ACTION (sqlserver.session_id, [package0].[event_sequence]) WHERE (mode = 4 or mode = 3 /*c*/) AND sqlserver.is_system = 0 AND NOT [package0].[equal_uint64]([database_id], (2))),
ADD EVENT sqlos.wait_info (WHERE [wait_type] = N'PREEMPTIVE_OS_WRITEFILEGATHER' AND ([package0].[counter] <= (4) OR (sqlserver.session_id) > 50) AND package0.divides_by_uint64(page_id, 8088) AND sqlserver.sql_text LIKE N'%x%'),
ADD EVENT guid.sqlserver.login
ADD TARGET package0.ring_buffer, ADD TARGET package0.event_file (SET filename = N'x.xel', max_file_size = (16))
WITH (MAX_MEMORY=4096 KB, MAX_DISPATCH_LATENCY = INFINITE)
GO
CREATE EVENT SESSION n ON SERVER ADD EVENT sqlserver.rpc_completed
alter event session n on server state=start
ALTER EVENT SESSION n ON SERVER STATE = STOP
ALTER EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info, DROP EVENT sqlserver.login ADD TARGET package0.event_counter DROP TARGET package0.ring_buffer WITH (MAX_MEMORY = 8 MB)
DROP EVENT SESSION n ON SERVER DROP EVENT SESSION IF EXISTS m ON DATABASE
