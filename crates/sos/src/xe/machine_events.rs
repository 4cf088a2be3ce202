//! Fires the events of this crate: one function per event, which costs one load while no session
//! wants it.

use super::emitter::fire;
use super::event::{Event, enabled};
use super::events::{
    LATCH_ACQUIRED, LATCH_SUSPEND_BEGIN, LATCH_SUSPEND_END, QUANTUM_EXCEEDED, SCHEDULER_MONITOR,
    SPINLOCK_BACKOFF, SPINLOCK_BACKOFF_WARNING, TRIMMER_PASS, WAIT_COMPLETED, WAIT_INFO,
    WAIT_INFO_EXTERNAL,
};
use super::map::{latch_key, spinlock_key, wait_key};
use super::value::Value;
use crate::clock;
use crate::lock::{LatchClass, SpinClass};
use crate::memory::MemoryClerk;
use crate::sched::{self, Stall};
use crate::wait::WaitType;

/// The size of a page in bytes.
const PAGE_BYTES: u64 = 8 << 10;
/// The key of shared mode in the map of latch modes.
const MODE_SHARED: u32 = 2;
const MODE_EXCLUSIVE: u32 = 4;
/// The number of the resource pool `default`, to which everything belongs.
const POOL_DEFAULT: u64 = 2;

fn worker() -> Value<'static> {
    Value::UInt(sched::current_worker().map_or(0, |(_, address)| address as u64))
}

fn ms(ticks: u64) -> Value<'static> {
    Value::UInt(clock::ticks_to_ns(ticks) / 1_000_000)
}

fn us(ticks: u64) -> Value<'static> {
    Value::UInt(clock::ticks_to_ns(ticks) / 1000)
}

/// The event data of a thread that backs off from a spinlock.
pub(crate) struct Backoff {
    pub(crate) address: usize,
    pub(crate) class: SpinClass,
    pub(crate) spins: u64,
    pub(crate) backoffs: u64,
    /// Clock ticks since the wait began.
    pub(crate) ticks: u64,
}

impl Backoff {
    /// Fires `spinlock_backoff`: the thread stops spinning for a while.
    pub(crate) fn backoff(&self) {
        if enabled(&SPINLOCK_BACKOFF) {
            let fields = [
                Value::UInt(self.address as u64),
                worker(),
                Value::Map(spinlock_key(self.class)),
                Value::UInt(self.spins),
                Value::UInt(self.backoffs),
                Value::UInt(clock::ticks_to_ns(self.ticks)),
            ];
            fire(&SPINLOCK_BACKOFF, &fields);
        }
    }

    /// Fires `spinlock_backoff_warning`: the thread has waited for long.
    pub(crate) fn warning(&self) {
        if enabled(&SPINLOCK_BACKOFF_WARNING) {
            let fields = [
                Value::UInt(self.address as u64),
                worker(),
                Value::UInt(self.backoffs),
                Value::Map(spinlock_key(self.class)),
                Value::Text("sick spinlock"),
                Value::Text("a thread has waited for seconds"),
            ];
            fire(&SPINLOCK_BACKOFF_WARNING, &fields);
        }
    }
}

/// Fires an event for pages that are allocated or freed.
#[inline]
pub(crate) fn pages(event: &'static Event, address: usize, pages: usize, clerk: MemoryClerk) {
    if enabled(event) {
        let pages = pages as u64;
        let fields = [
            worker(),
            Value::UInt(pages),
            Value::UInt(pages * PAGE_BYTES),
            Value::UInt(address as u64),
            Value::Text(clerk.name()),
            Value::UInt(POOL_DEFAULT),
        ];
        fire(event, &fields);
    }
}

const BEGIN: Value<'static> = Value::Map(0);
const END: Value<'static> = Value::Map(1);

/// Whether the wait is a system call outside the scheduler rather than a wait for another thread.
const fn is_external(wait_type: WaitType) -> bool {
    wait_type.is_preemptive() || matches!(wait_type, WaitType::MemoryAllocation)
}

/// Fires the begin of a wait.
#[inline]
pub(crate) fn wait_begins(wait_type: WaitType, resource: usize) {
    if enabled(&WAIT_INFO) || enabled(&WAIT_INFO_EXTERNAL) {
        wait_info(wait_type, BEGIN, resource, (0, 0));
    }
}

/// Fires the end of a wait that took `ticks`, `signal_ticks` of them after the signal.
#[inline]
pub(crate) fn wait_ends(wait_type: WaitType, resource: usize, ticks: u64, signal_ticks: u64) {
    if enabled(&WAIT_INFO) || enabled(&WAIT_INFO_EXTERNAL) {
        wait_info(wait_type, END, resource, (ticks, signal_ticks));
    }
    if enabled(&WAIT_COMPLETED) {
        let fields = [
            Value::Map(wait_key(wait_type)),
            ms(ticks),
            ms(signal_ticks),
            Value::UInt(resource as u64),
            Value::UInt(clock::ticks_to_ns(ticks)),
        ];
        fire(&WAIT_COMPLETED, &fields);
    }
}

#[cold]
fn wait_info(
    wait_type: WaitType,
    opcode: Value<'static>,
    resource: usize,
    (ticks, signal_ticks): (u64, u64),
) {
    let key = Value::Map(wait_key(wait_type));
    let resource = Value::UInt(resource as u64);
    let ns = Value::UInt(clock::ticks_to_ns(ticks));
    if is_external(wait_type) {
        fire(&WAIT_INFO_EXTERNAL, &[key, opcode, ms(ticks), resource, ns]);
    } else {
        fire(&WAIT_INFO, &[key, opcode, ms(ticks), ms(signal_ticks), resource, ns]);
    }
}

const fn mode(is_writer: bool) -> Value<'static> {
    Value::Map(if is_writer { MODE_EXCLUSIVE } else { MODE_SHARED })
}

/// Fires that a thread parks to wait for a latch.
#[inline]
pub(crate) fn latch_suspends(class: LatchClass, is_writer: bool, address: usize) {
    if enabled(&LATCH_SUSPEND_BEGIN) {
        let fields = [Value::Map(latch_key(class)), mode(is_writer), Value::UInt(address as u64)];
        fire(&LATCH_SUSPEND_BEGIN, &fields);
    }
}

/// Fires that a thread that parked for a latch continues.
#[inline]
pub(crate) fn latch_resumes(class: LatchClass, is_writer: bool, address: usize, ticks: u64) {
    if enabled(&LATCH_SUSPEND_END) {
        let class = Value::Map(latch_key(class));
        let fields = [class, mode(is_writer), Value::UInt(address as u64), us(ticks)];
        fire(&LATCH_SUSPEND_END, &fields);
    }
}

/// Fires that a latch was acquired after a wait.
#[inline]
pub(crate) fn latch_acquired(class: LatchClass, is_writer: bool, ticks: u64) {
    if enabled(&LATCH_ACQUIRED) {
        fire(&LATCH_ACQUIRED, &[Value::Map(latch_key(class)), mode(is_writer), us(ticks)]);
    }
}

/// Fires a stall that the scheduler monitor has found.
pub(crate) fn stall(stall: &Stall) {
    if enabled(&SCHEDULER_MONITOR) {
        let number = |number: Option<u32>| number.map_or(Value::Null, |n| Value::UInt(n.into()));
        let fields = [
            Value::Map(u32::try_from(stall.kind.index()).unwrap_or(0)),
            number(stall.scheduler),
            number(stall.thread_id),
            number(stall.work),
            Value::UInt(stall.duration_ns / 1_000_000),
            Value::Text(stall.state),
            Value::Text(stall.label),
        ];
        fire(&SCHEDULER_MONITOR, &fields);
    }
}

/// Fires that a task has used up its quantum; `yielded` if another task got the scheduler.
pub(crate) fn quantum_exceeded(yielded: bool, ticks: u64) {
    if enabled(&QUANTUM_EXCEEDED) {
        let scheduler =
            sched::current_worker().map_or(Value::Null, |(id, _)| Value::UInt(id.into()));
        let wait = Value::UInt(clock::ticks_to_ns(ticks));
        fire(&QUANTUM_EXCEEDED, &[worker(), scheduler, Value::Bool(yielded), wait]);
    }
}

/// Fires that the trimmer has returned memory to the system.
pub(crate) fn trimmed(idle: u64, wanted: u64, released: u64, began: u64) {
    if enabled(&TRIMMER_PASS) {
        let ticks = clock::now_ticks().saturating_sub(began);
        let [idle, wanted, released] = [idle, wanted, released].map(Value::UInt);
        fire(&TRIMMER_PASS, &[idle, wanted, released, us(ticks)]);
    }
}
