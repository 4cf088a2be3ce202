-- Extended events as scripts write them.
CREATE EVENT SESSION spins ON SERVER
ADD EVENT sqlos.spinlock_backoff (ACTION (package0.callstack) WHERE type = 61 or type = 144--comment
)
ADD TARGET package0.asynchronous_bucketizer (SET filtering_event_name = 'sqlos.spinlock_backoff', source_type = 1, source = 'package0.callstack')
WITH (MAX_MEMORY = 32768KB, MAX_EVENT_SIZE = 0KB EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 30 SECONDS, MEMORY_PARTITION_MODE = PER_CPU, TRACK_CAUSALITY = ON, STARTUP_STATE = OFF);
