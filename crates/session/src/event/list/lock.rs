//! Events of application locks and schema locks; deadlocks and blocked requests, of rows as well.

use sos::xe::FieldType::{Int32, Int64, Map, UInt32, UInt64, UnicodeString, Xml};
use sos::xe::{Channel, Event, Field, Setting};

use super::{event, field, off, on};
use crate::event::map::{LOCK_MODE, LOCK_OWNER_TYPE, LOCK_RESOURCE_TYPE, RESOURCE_OWNER_TYPE};

const FIELDS: &[Field] = &[
    field("resource_type", Map(&LOCK_RESOURCE_TYPE), "What it is on"),
    field("mode", Map(&LOCK_MODE), "Its mode"),
    field("owner_type", Map(&LOCK_OWNER_TYPE), "Who owns it"),
    field("transaction_id", Int64, "The transaction"),
    field("database_id", UInt32, "The database"),
    field("resource_0", UInt32, "A hash of the resource"),
    field("resource_1", UInt32, "0"),
    field("resource_2", UInt32, "0"),
    field("object_id", Int32, "The table, if it is one's"),
    field("associated_object_id", UInt64, "The same"),
    field("duration", UInt64, "From the request to this, in microseconds"),
    field("resource_description", UnicodeString, "The resource"),
    field("database_name", UnicodeString, "The database's name"),
];

const SETTINGS: &[Setting] = &[
    off("collect_database_name", "database_name", "Collects the name of the database"),
    on("collect_resource_description", "resource_description", "Collects the resource"),
];

const fn lock(name: &'static str, description: &'static str) -> Event {
    event(name, description, FIELDS).found_under(Channel::Analytic, "lock").with_settings(SETTINGS)
}

/// A lock was granted.
pub static LOCK_ACQUIRED: Event = lock("lock_acquired", "Occurs when a lock is acquired");

/// A lock was released.
pub static LOCK_RELEASED: Event = lock("lock_released", "Occurs when a lock is released");

/// A lock request was cancelled by its client.
pub static LOCK_CANCEL: Event =
    lock("lock_cancel", "Occurs when a request for a lock is cancelled");

/// A lock request timed out.
pub static LOCK_TIMEOUT: Event = lock("lock_timeout", "Occurs when a request for a lock times out");

/// A lock request was chosen as deadlock victim.
pub static LOCK_DEADLOCK: Event = lock(
    "lock_deadlock",
    "Occurs when an attempt to acquire a lock is cancelled for the victim of a deadlock",
);

/// A deadlock was found and resolved.
pub static XML_DEADLOCK_REPORT: Event = event(
    "xml_deadlock_report",
    "Produces a deadlock report in XML format",
    &[field("xml_report", Xml, "Who waited for whom, and who gave up")],
)
.found_under(Channel::Analytic, "deadlock_monitor");

/// A request has been blocked for longer than 'blocked process threshold (s)'.
pub static BLOCKED_PROCESS_REPORT: Event = event(
    "blocked_process_report",
    "Occurs when a task has been blocked for longer than the blocked process threshold",
    &[
        field("duration", UInt64, "How long it has been blocked, in microseconds"),
        field("database_id", UInt32, "The database of the lock"),
        field("object_id", Int32, "The table, if it waits for one or a part of one"),
        field("index_id", Int32, "The index, if it waits for a key"),
        field("lock_mode", Map(&LOCK_MODE), "The mode that it waits for"),
        field("transaction_id", Int64, "Its transaction"),
        field("resource_owner_type", Map(&RESOURCE_OWNER_TYPE), "What it waits for"),
        field("blocked_process", Xml, "The blocked process report"),
        field("database_name", UnicodeString, "The database's name"),
    ],
)
.found_under(Channel::Admin, "lock")
.with_settings(&[off(
    "collect_database_name",
    "database_name",
    "Collects the name of the database",
)]);
