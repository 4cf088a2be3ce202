//! The engine's events, by family. Each is declared once: the probe that fires it, the statements
//! that name it and the views that list it all use the declaration.

mod checkpoint;
mod columnstore;
mod error;
mod lock;
mod plan;
mod request;
mod session;
mod statement;
mod transaction;

use sos::xe::{Event, Field, FieldType, SQLSERVER, Setting};

pub use checkpoint::{CHECKPOINT_BEGIN, CHECKPOINT_END, LOG_FLUSH_COMPLETE, LOG_FLUSH_START};
pub use columnstore::{
    COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT, COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS,
    COLUMNSTORE_TUPLE_MOVER_END_COMPRESS,
};
pub use error::{ATTENTION, ERROR_REPORTED};
pub use lock::{
    BLOCKED_PROCESS_REPORT, LOCK_ACQUIRED, LOCK_CANCEL, LOCK_DEADLOCK, LOCK_RELEASED, LOCK_TIMEOUT,
    XML_DEADLOCK_REPORT,
};
pub use plan::{QUERY_MEMORY_GRANT_USAGE, QUERY_POST_EXECUTION_SHOWPLAN};
pub use request::{RPC_COMPLETED, RPC_STARTING, SQL_BATCH_COMPLETED, SQL_BATCH_STARTING};
pub use session::{EXISTING_CONNECTION, LOGIN, LOGOUT};
pub use statement::{
    MODULE_END, MODULE_START, SP_STATEMENT_COMPLETED, SP_STATEMENT_STARTING,
    SQL_STATEMENT_COMPLETED, SQL_STATEMENT_STARTING,
};
pub use transaction::{
    BEGIN_TRAN_COMPLETED, BEGIN_TRAN_STARTING, COMMIT_TRAN_COMPLETED, COMMIT_TRAN_STARTING,
    ROLLBACK_TRAN_COMPLETED, ROLLBACK_TRAN_STARTING, SAVE_TRAN_COMPLETED, SAVE_TRAN_STARTING,
};

/// Number of events in [`EVENTS`].
pub const COUNT: usize = 39;

/// All events of the engine.
pub static EVENTS: [&Event; COUNT] = [
    &RPC_STARTING,
    &RPC_COMPLETED,
    &SQL_BATCH_STARTING,
    &SQL_BATCH_COMPLETED,
    &BEGIN_TRAN_STARTING,
    &BEGIN_TRAN_COMPLETED,
    &COMMIT_TRAN_STARTING,
    &COMMIT_TRAN_COMPLETED,
    &ROLLBACK_TRAN_STARTING,
    &ROLLBACK_TRAN_COMPLETED,
    &SAVE_TRAN_STARTING,
    &SAVE_TRAN_COMPLETED,
    &SQL_STATEMENT_STARTING,
    &SQL_STATEMENT_COMPLETED,
    &SP_STATEMENT_STARTING,
    &SP_STATEMENT_COMPLETED,
    &MODULE_START,
    &MODULE_END,
    &LOGIN,
    &LOGOUT,
    &EXISTING_CONNECTION,
    &ATTENTION,
    &ERROR_REPORTED,
    &LOCK_ACQUIRED,
    &LOCK_RELEASED,
    &LOCK_CANCEL,
    &LOCK_TIMEOUT,
    &LOCK_DEADLOCK,
    &XML_DEADLOCK_REPORT,
    &BLOCKED_PROCESS_REPORT,
    &QUERY_MEMORY_GRANT_USAGE,
    &QUERY_POST_EXECUTION_SHOWPLAN,
    &COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT,
    &COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS,
    &COLUMNSTORE_TUPLE_MOVER_END_COMPRESS,
    &CHECKPOINT_BEGIN,
    &CHECKPOINT_END,
    &LOG_FLUSH_START,
    &LOG_FLUSH_COMPLETE,
];

/// Returns whether an event is about statements or modules, which are followed only when needed.
pub fn is_of_statements(event: &'static Event) -> bool {
    let of_statements: [&Event; 7] = [
        &SQL_STATEMENT_STARTING,
        &SQL_STATEMENT_COMPLETED,
        &SP_STATEMENT_STARTING,
        &SP_STATEMENT_COMPLETED,
        &MODULE_START,
        &MODULE_END,
        &QUERY_POST_EXECUTION_SHOWPLAN,
    ];
    of_statements.contains(&event)
}

/// Returns whether an event is fired where the session is not accessible, so that the context must
/// be published when the request begins.
pub fn is_fired_deep(event: &'static Event) -> bool {
    let deep: [&Event; 4] = [
        &QUERY_MEMORY_GRANT_USAGE,
        &XML_DEADLOCK_REPORT,
        &COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS,
        &COLUMNSTORE_TUPLE_MOVER_END_COMPRESS,
    ];
    deep.contains(&event)
}

const fn event(name: &'static str, description: &'static str, fields: &'static [Field]) -> Event {
    Event::new(&SQLSERVER, name, description, fields)
}

const fn field(name: &'static str, field_type: FieldType, description: &'static str) -> Field {
    Field::new(name, field_type, description)
}

/// A setting for a field that is collected by default.
const fn on(name: &'static str, field: &'static str, description: &'static str) -> Setting {
    Setting::new(name, field, true, description)
}

/// A setting for a field that is not collected by default.
const fn off(name: &'static str, field: &'static str, description: &'static str) -> Setting {
    Setting::new(name, field, false, description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_setting_is_of_a_field() {
        for (at, event) in EVENTS.iter().enumerate() {
            assert!(EVENTS[..at].iter().all(|other| other.name != event.name), "{}", event.name);
            for (at, field) in event.fields.iter().enumerate() {
                assert_eq!(event.field(field.name), Some(at), "{}.{}", event.name, field.name);
            }
            for setting in event.settings {
                assert!(event.field(setting.field).is_some(), "{}.{}", event.name, setting.name);
            }
        }
    }
}
