//! `Action` and `PredicateSource`: values of the moment of an event that a session can collect or
//! test besides the event's fields; and `ActionSource`, by which the server supplies those that
//! this crate does not know.

use std::ptr;

use super::field::FieldType;
use super::package::{PACKAGE0, Package, SQLOS};
use super::value::Value;

/// Where the value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// This crate supplies it.
    Machine(Fact),
    /// The code that runs on the thread supplies it: its [`ActionSource`] is asked for this number.
    Caller(u16),
}

/// The values of the moment of an event that this crate can supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The call stack, as functions.
    Callstack,
    /// The call stack, as addresses.
    CallstackAddresses,
    /// A number that grows with each event of the instance.
    EventSequence,
    /// The activity (TRACK_CAUSALITY), and the number of the event within it.
    Activity,
    /// The activity that this one was started by.
    ActivityXfer,
    /// The system time in UTC.
    SystemTime,
    /// The operating system's id of the thread.
    ThreadId,
    /// The number of the worker's scheduler.
    Scheduler,
    /// The memory address of the worker.
    Worker,
    /// Time since the task began, in microseconds.
    TaskTime,
    /// The CPU that the thread is on.
    Cpu,
    /// For a predicate: how often it has been evaluated.
    Counter,
}

/// A value that a session can collect with an event.
#[derive(Debug)]
pub struct Action {
    /// The package that it belongs to.
    pub package: &'static Package,
    /// The name within its package.
    pub name: &'static str,
    /// The type of the collected value.
    pub field_type: FieldType,
    /// A description of the value for `sys.dm_xe_objects`.
    pub description: &'static str,
    /// Where the value comes from.
    pub reader: Reader,
}

/// A value of the moment of an event that predicates can test.
#[derive(Debug)]
pub struct PredicateSource {
    /// The package that it belongs to.
    pub package: &'static Package,
    /// The name within its package.
    pub name: &'static str,
    /// The type of the tested value.
    pub field_type: FieldType,
    /// A description of the value for `sys.dm_xe_objects`.
    pub description: &'static str,
    /// Where the value comes from.
    pub reader: Reader,
}

macro_rules! by_address {
    ($name:ident) => {
        impl $name {
            /// Declares one, for a `static`.
            #[must_use]
            pub const fn new(
                package: &'static Package,
                name: &'static str,
                field_type: FieldType,
                reader: Reader,
                description: &'static str,
            ) -> Self {
                Self { package, name, field_type, description, reader }
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                ptr::eq(self, other)
            }
        }

        impl Eq for $name {}
    };
}

by_address!(Action);
by_address!(PredicateSource);

/// Supplies values about the work of the calling thread, such as its session, text and login.
///
/// It is called at any point, even inside an allocation or the wait for a lock: it must not lock,
/// allocate, wait or panic, and supplies [`Value::Null`] where it cannot read.
pub trait ActionSource {
    /// Passes the value with this number ([`Reader::Caller`]) to `give`, at most once.
    fn read(&self, number: u16, give: &mut dyn FnMut(Value<'_>));
}

const fn machine(
    package: &'static Package,
    name: &'static str,
    field_type: FieldType,
    fact: Fact,
    description: &'static str,
) -> Action {
    Action::new(package, name, field_type, Reader::Machine(fact), description)
}

const fn source(
    package: &'static Package,
    name: &'static str,
    field_type: FieldType,
    fact: Fact,
    description: &'static str,
) -> PredicateSource {
    PredicateSource::new(package, name, field_type, Reader::Machine(fact), description)
}

/// Attached to every event of a session with TRACK_CAUSALITY.
pub static ATTACH_ACTIVITY_ID: Action = machine(
    &PACKAGE0,
    "attach_activity_id",
    FieldType::ActivityId,
    Fact::Activity,
    "Attach an activity ID to an event",
);

/// Attached in the same way to the first event of an activity that another one started.
pub static ATTACH_ACTIVITY_ID_XFER: Action = machine(
    &PACKAGE0,
    "attach_activity_id_xfer",
    FieldType::ActivityIdXfer,
    Fact::ActivityXfer,
    "Attach an activity ID transfer to an event",
);

use FieldType as T;

/// The call stack as functions: `module!function+0x..`.
pub static CALLSTACK: Action = machine(
    &PACKAGE0,
    "callstack",
    T::Callstack,
    Fact::Callstack,
    "Collect the current call stack",
);

/// The actions that this crate declares.
pub static ACTIONS: &[&Action] = &[
    &CALLSTACK,
    &machine(
        &PACKAGE0,
        "callstack_rva",
        T::Callstack,
        Fact::CallstackAddresses,
        "Collect the current call stack as addresses",
    ),
    &machine(
        &PACKAGE0,
        "event_sequence",
        T::UInt64,
        Fact::EventSequence,
        "Collect event sequence number",
    ),
    &machine(
        &PACKAGE0,
        "collect_system_time",
        T::Datetime,
        Fact::SystemTime,
        "Collect the current system time with 100 nanosecond precision",
    ),
    &machine(
        &PACKAGE0,
        "collect_current_thread_id",
        T::UInt32,
        Fact::ThreadId,
        "Collect the current OS thread ID",
    ),
    &ATTACH_ACTIVITY_ID,
    &ATTACH_ACTIVITY_ID_XFER,
    &machine(&SQLOS, "system_thread_id", T::UInt32, Fact::ThreadId, "Collect the thread ID"),
    &machine(&SQLOS, "scheduler_id", T::UInt32, Fact::Scheduler, "Collect current scheduler ID"),
    &machine(&SQLOS, "worker_address", T::Ptr, Fact::Worker, "Collect current worker address"),
    &machine(
        &SQLOS,
        "task_time",
        T::UInt64,
        Fact::TaskTime,
        "Collect current task execution time, in microseconds",
    ),
    &machine(&SQLOS, "cpu_id", T::UInt32, Fact::Cpu, "Collect current CPU ID"),
];

/// The predicate sources that this crate declares.
pub static PREDICATE_SOURCES: &[&PredicateSource] = &[
    &source(
        &PACKAGE0,
        "counter",
        T::UInt64,
        Fact::Counter,
        "Counts the number of times the predicate is evaluated up to it",
    ),
    &source(&SQLOS, "system_thread_id", T::UInt32, Fact::ThreadId, "The thread ID"),
    &source(&SQLOS, "scheduler_id", T::UInt32, Fact::Scheduler, "The current scheduler ID"),
    &source(&SQLOS, "worker_address", T::Ptr, Fact::Worker, "The current worker address"),
    &source(
        &SQLOS,
        "task_execution_time",
        T::UInt64,
        Fact::TaskTime,
        "Time since the task began, in microseconds",
    ),
    &source(&SQLOS, "cpu_id", T::UInt32, Fact::Cpu, "The current CPU ID"),
];
