//! `system_health`: the event session that every server has from its first start. It records rare
//! events that explain trouble afterwards, so it costs almost nothing in normal operation.

use std::sync::Arc;

use tsql::ast::StatementKind;

use ::catalog::EventSessionDef;

/// `event_session_id` of `system_health`, as in SQL Server.
const ID: i32 = 65_536;

/// Its definition as a statement: the events of SQL Server's own that occur here.
const TEXT: &str = "
CREATE EVENT SESSION [system_health] ON SERVER
ADD EVENT sqlserver.error_reported (
    ACTION (package0.callstack, sqlserver.session_id, sqlserver.database_id, sqlserver.sql_text)
    WHERE ([severity] >= (20) OR [error_number] = (701) OR [error_number] = (802)
        OR [error_number] = (8645) OR [error_number] = (8651) OR [error_number] = (17803))),
ADD EVENT sqlserver.xml_deadlock_report,
ADD EVENT sqlos.scheduler_monitor (ACTION (package0.callstack)),
ADD EVENT sqlos.spinlock_backoff_warning (ACTION (package0.callstack, sqlserver.session_id)),
ADD EVENT sqlos.wait_completed (
    ACTION (package0.callstack, sqlserver.session_id)
    WHERE ([duration] > (15000) AND ([wait_type] = N'LATCH_EX' OR [wait_type] = N'LATCH_SH'
        OR [wait_type] = N'RESOURCE_SEMAPHORE' OR [wait_type] = N'MEMORY_ALLOCATION_EXT'
        OR [duration] > (30000) AND ([wait_type] = N'LCK_M_S' OR [wait_type] = N'LCK_M_U'
            OR [wait_type] = N'LCK_M_X' OR [wait_type] = N'LCK_M_SCH_S'
            OR [wait_type] = N'LCK_M_SCH_M'))))
ADD TARGET package0.ring_buffer (SET max_events_limit = (1000), max_memory = (512))
WITH (MAX_MEMORY = 1024 KB, EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS,
    MAX_DISPATCH_LATENCY = 120 SECONDS, MAX_EVENT_SIZE = 0 KB, MEMORY_PARTITION_MODE = NONE,
    TRACK_CAUSALITY = OFF, STARTUP_STATE = ON)
";

/// Returns the definition of `system_health`.
pub fn definition() -> Arc<EventSessionDef> {
    let mut batch = tsql::parse(TEXT, tsql::QuotedIdentifier::On).expect("it is a statement");
    let Some(StatementKind::CreateEventSession(create)) = batch.statements.pop().map(|s| s.kind)
    else {
        unreachable!("it creates an event session")
    };
    let defined = super::define(&create);
    let mut session = defined.expect("all that it names is registered");
    session.id = ID;
    Arc::new(session)
}
