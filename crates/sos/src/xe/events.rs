//! The declarations of the events that this crate fires: spinlocks, latches, waits, pages, the
//! scheduler monitor.
//!
//! All are fired where a thread must not wait: in the slow path of a lock, in an allocation, or in
//! a hand-over of a scheduler.

use super::event::{Channel, Event};
use super::field::Field;
use super::field::FieldType::{Map, Ptr, UInt32, UInt64, UnicodeString};
use super::map::{EVENT_OPCODE, LATCH_CLASS, LATCH_MODE, SPINLOCK_TYPES, STALL_KIND, WAIT_TYPES};
use super::package::{Package, SQLOS, SQLSERVER};

const fn event(
    package: &'static Package,
    name: &'static str,
    description: &'static str,
    fields: &'static [Field],
) -> Event {
    Event::new(package, name, description, fields).never_blocking()
}

const fn field(
    name: &'static str,
    field_type: super::FieldType,
    description: &'static str,
) -> Field {
    Field::new(name, field_type, description)
}

/// A waiter for a spinlock stops spinning for a while.
pub static SPINLOCK_BACKOFF: Event = event(
    &SQLOS,
    "spinlock_backoff",
    "Occurs when a thread that waits for a spinlock stops spinning: it offers its CPU, or sleeps for a moment",
    &[
        field("address", Ptr, "The spinlock"),
        field("worker", Ptr, "The worker that waits"),
        field("type", Map(&SPINLOCK_TYPES), "The resource that the spinlock guards"),
        field("spins", UInt64, "Spins of this wait so far"),
        field("backoffs", UInt64, "Backoffs of this wait so far"),
        field("spin_ns", UInt64, "Nanoseconds since this wait began"),
    ],
)
.found_under(Channel::Debug, "spinlock");

/// A waiter for a spinlock has waited for seconds.
pub static SPINLOCK_BACKOFF_WARNING: Event = event(
    &SQLOS,
    "spinlock_backoff_warning",
    "Occurs when a thread has waited for a spinlock for five seconds, and each five seconds after that",
    &[
        field("spinlock_address", Ptr, "The spinlock"),
        field("worker", Ptr, "The worker that waits"),
        field("backoffs", UInt64, "Backoffs of this wait so far"),
        field("type", Map(&SPINLOCK_TYPES), "The resource that the spinlock guards"),
        field("category", UnicodeString, "The kind of problem"),
        field("description", UnicodeString, "The problem"),
    ],
)
.found_under(Channel::Operational, "spinlock");

static PAGE_FIELDS: &[Field] = &[
    field("worker", Ptr, "The worker"),
    field("number_pages", UInt32, "Pages of 8 KB"),
    field("page_size", UInt64, "Bytes of all pages together"),
    field("page_location", Ptr, "The address of the first page"),
    field("memory_clerk_name", UnicodeString, "The memory clerk that they are charged to"),
    field("pool_id", UInt32, "The resource pool"),
];

/// Pages (8 KB and more) are allocated.
pub static PAGE_ALLOCATED: Event =
    event(&SQLOS, "page_allocated", "Occurs when pages are allocated", PAGE_FIELDS)
        .found_under(Channel::Debug, "memory");

/// Pages (8 KB and more) are freed.
pub static PAGE_FREED: Event =
    event(&SQLOS, "page_freed", "Occurs when pages are freed", PAGE_FIELDS)
        .found_under(Channel::Debug, "memory");

/// A wait begins or ends.
pub static WAIT_INFO: Event = event(
    &SQLOS,
    "wait_info",
    "Occurs when a task begins or ends a wait",
    &[
        field("wait_type", Map(&WAIT_TYPES), "The type of the wait"),
        field("opcode", Map(&EVENT_OPCODE), "Whether the wait begins or ends"),
        field("duration", UInt64, "Milliseconds of the wait, when it ends"),
        field("signal_duration", UInt64, "The part of the wait after the signal, in milliseconds"),
        field("wait_resource", Ptr, "The address of the resource"),
        field("duration_ns", UInt64, "Nanoseconds of the wait, when it ends"),
    ],
)
.found_under(Channel::Debug, "wait");

/// A call of the operating system outside the scheduler begins or ends.
pub static WAIT_INFO_EXTERNAL: Event = event(
    &SQLOS,
    "wait_info_external",
    "Occurs when a task begins or ends a call outside its scheduler",
    &[
        field("wait_type", Map(&WAIT_TYPES), "The type of the wait"),
        field("opcode", Map(&EVENT_OPCODE), "Whether the wait begins or ends"),
        field("duration", UInt64, "Milliseconds of the wait, when it ends"),
        field("wait_resource", Ptr, "The address of the resource"),
        field("duration_ns", UInt64, "Nanoseconds of the wait, when it ends"),
    ],
)
.found_under(Channel::Debug, "wait");

/// A wait has ended; fired once per wait.
pub static WAIT_COMPLETED: Event = event(
    &SQLOS,
    "wait_completed",
    "Occurs when a wait has ended",
    &[
        field("wait_type", Map(&WAIT_TYPES), "The type of the wait"),
        field("duration", UInt64, "Milliseconds of the wait"),
        field("signal_duration", UInt64, "The part of the wait after the signal, in milliseconds"),
        field("wait_resource", Ptr, "The address of the resource"),
        field("duration_ns", UInt64, "Nanoseconds of the wait"),
    ],
)
.found_under(Channel::Debug, "wait");

/// A thread that waits for a latch parks.
pub static LATCH_SUSPEND_BEGIN: Event = event(
    &SQLSERVER,
    "latch_suspend_begin",
    "Occurs when a task is suspended to wait for a latch",
    &[
        field("class", Map(&LATCH_CLASS), "The resource that the latch guards"),
        field("mode", Map(&LATCH_MODE), "The mode in which the latch is wanted"),
        field("address", Ptr, "The latch"),
    ],
)
.found_under(Channel::Analytic, "latch");

/// A thread that parked for a latch continues.
pub static LATCH_SUSPEND_END: Event = event(
    &SQLSERVER,
    "latch_suspend_end",
    "Occurs when a task that was suspended to wait for a latch continues",
    &[
        field("class", Map(&LATCH_CLASS), "The resource that the latch guards"),
        field("mode", Map(&LATCH_MODE), "The mode in which the latch is wanted"),
        field("address", Ptr, "The latch"),
        field("duration", UInt64, "Microseconds of the suspension"),
    ],
)
.found_under(Channel::Analytic, "latch");

/// A latch is acquired after a wait.
pub static LATCH_ACQUIRED: Event = event(
    &SQLSERVER,
    "latch_acquired",
    "Occurs when a latch is acquired that was not free at first",
    &[
        field("class", Map(&LATCH_CLASS), "The resource that the latch guards"),
        field("mode", Map(&LATCH_MODE), "The mode in which the latch was wanted"),
        field("duration", UInt64, "Microseconds from the first attempt"),
    ],
)
.found_under(Channel::Analytic, "latch");

/// The scheduler monitor has found a stall.
pub static SCHEDULER_MONITOR: Event = event(
    &SQLOS,
    "scheduler_monitor",
    "Occurs when the scheduler monitor finds that a scheduler or the machine makes no progress",
    &[
        field("finding", Map(&STALL_KIND), "The kind of stall"),
        field("scheduler_id", UInt32, "The scheduler"),
        field("thread_id", UInt32, "The thread that holds the scheduler"),
        field("session_id", UInt32, "The session that the thread works for"),
        field("duration", UInt64, "Milliseconds that the stall has lasted so far"),
        field("state", UnicodeString, "The state of the thread in the ledger"),
        field("label", UnicodeString, "The label of the thread in the ledger"),
    ],
)
.found_under(Channel::Operational, "scheduling");

/// A task has had its scheduler for its whole quantum.
pub static QUANTUM_EXCEEDED: Event = event(
    &SQLOS,
    "quantum_exceeded",
    "Occurs when a task has used up its quantum and offers its scheduler to others",
    &[
        field("worker", Ptr, "The worker"),
        field("scheduler_id", UInt32, "The scheduler"),
        field("yielded", super::FieldType::Boolean, "Whether another worker got the scheduler"),
        field("wait_ns", UInt64, "Nanoseconds until the task had the scheduler again"),
    ],
)
.found_under(Channel::Debug, "scheduling");

/// The trimmer has returned memory to the operating system.
pub static TRIMMER_PASS: Event = event(
    &SQLOS,
    "trimmer_pass",
    "Occurs when the trimmer has returned memory to the operating system",
    &[
        field("idle_bytes", UInt64, "Bytes that were free"),
        field("wanted_bytes", UInt64, "Bytes that were to be returned"),
        field("released_bytes", UInt64, "Bytes that were returned"),
        field("duration", UInt64, "Microseconds of the pass"),
    ],
)
.found_under(Channel::Analytic, "memory");

/// The events that this crate fires.
pub static SQLOS_EVENTS: &[&Event] = &[
    &SPINLOCK_BACKOFF,
    &SPINLOCK_BACKOFF_WARNING,
    &PAGE_ALLOCATED,
    &PAGE_FREED,
    &WAIT_INFO,
    &WAIT_INFO_EXTERNAL,
    &WAIT_COMPLETED,
    &LATCH_SUSPEND_BEGIN,
    &LATCH_SUSPEND_END,
    &LATCH_ACQUIRED,
    &SCHEDULER_MONITOR,
    &QUANTUM_EXCEEDED,
    &TRIMMER_PASS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_field_says_something() {
        for (at, event) in SQLOS_EVENTS.iter().enumerate() {
            assert!(SQLOS_EVENTS[..at].iter().all(|other| other.name != event.name));
            for (at, field) in event.fields.iter().enumerate() {
                assert_eq!(event.field(field.name), Some(at), "{}.{}", event.name, field.name);
                assert!(!field.description.is_empty());
            }
        }
    }

    #[test]
    fn nobody_wants_an_event_without_a_session() {
        assert!(SQLOS_EVENTS.iter().all(|event| event.place().is_none()));
    }
}
