CREATE EVENT SESSION [a] ON DATABASE
ADD EVENT [sqlserver].[lock_acquired] (SET collect_resource_description = (1), collect_database_name = 1 ACTION (sqlserver.session_id, [package0].[event_sequence]) WHERE (mode = 4 or mode = 3 /*c*/) AND sqlserver.is_system = 0 AND NOT [package0].[equal_uint64]([database_id], (2))),
ADD EVENT sqlos.wait_info (WHERE [wait_type] = N'PREEMPTIVE_OS_WRITEFILEGATHER' AND ([package0].[counter] <= (4) OR (sqlserver.session_id) > 50) AND package0.divides_by_uint64(page_id, 8088) AND sqlserver.sql_text LIKE N'%x%'),
ADD EVENT guid.sqlserver.login
ADD TARGET package0.ring_buffer, ADD TARGET package0.event_file (SET filename = N'x.xel', max_file_size = (16))
WITH (MAX_MEMORY=4096 KB, MAX_DISPATCH_LATENCY = INFINITE)
