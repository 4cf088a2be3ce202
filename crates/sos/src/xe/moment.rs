//! `Moment`: the values of actions and predicate sources at the moment when an event is fired.

use std::cell::{Cell, OnceCell};

use super::STACK_AS_ADDRESSES;
use super::action::{ActionSource, Fact};
use super::emitter::Emitter;
use super::hub::Hub;
use super::program::Sources;
use super::value::Value;
use crate::clock;
use crate::ledger::Account;
use crate::sched;
use crate::stack;
use crate::sys;

/// The moment when an event is fired, on the thread that fires it. Expensive values are computed
/// once, and only if a session asks.
pub(super) struct Moment<'a> {
    account: &'a Account,
    emitter: &'a Emitter,
    hub: &'a Hub,
    /// The frame of `fire`: a stack begins with its caller.
    frame: usize,
    stack: OnceCell<u32>,
    sequence: OnceCell<u64>,
    /// Whether an event has reported the activity that the present one continues.
    has_reported_origin: Cell<bool>,
}

impl<'a> Moment<'a> {
    /// Makes the present moment.
    pub(super) fn new(
        account: &'a Account,
        emitter: &'a Emitter,
        hub: &'a Hub,
        frame: usize,
    ) -> Self {
        let (stack, sequence) = (OnceCell::new(), OnceCell::new());
        let has_reported_origin = Cell::new(false);
        Self { account, emitter, hub, frame, stack, sequence, has_reported_origin }
    }

    /// Whether an event has reported the activity that the present one continues.
    pub(super) fn has_reported_origin(&self) -> bool {
        self.has_reported_origin.get()
    }

    /// A number of the thread, to spread threads over partitions.
    pub(super) fn thread(&self) -> usize {
        usize::try_from(self.account.number()).unwrap_or(0)
    }

    /// The number of the call stack.
    fn stack(&self) -> u32 {
        *self.stack.get_or_init(|| stack::above(self.frame).number())
    }

    /// Calls the dispatcher, because a buffer is half full.
    pub(super) fn ring(&self) {
        self.hub.ring();
    }
}

impl Sources for Moment<'_> {
    fn machine(&self, fact: Fact) -> Value<'static> {
        match fact {
            Fact::Callstack => Value::Stack(self.stack()),
            Fact::CallstackAddresses => Value::Stack(self.stack() | STACK_AS_ADDRESSES),
            Fact::EventSequence => {
                Value::UInt(*self.sequence.get_or_init(|| self.hub.next_sequence()))
            }
            Fact::Activity => {
                let (activity, sequence) = self.emitter.activity();
                Value::Activity(self.hub.activity_guid(activity), sequence)
            }
            Fact::ActivityXfer => match self.emitter.came_from() {
                Some(from) => {
                    self.has_reported_origin.set(true);
                    Value::Activity(from.guid, from.sequence)
                }
                None => Value::Null,
            },
            Fact::SystemTime => Value::UInt(clock::utc_100ns()),
            Fact::ThreadId => Value::UInt(u64::from(self.account.thread_id())),
            Fact::Scheduler => match sched::current_worker() {
                Some((scheduler, _)) => Value::UInt(u64::from(scheduler)),
                None => Value::Null,
            },
            Fact::Worker => match sched::current_worker() {
                Some((_, address)) => Value::UInt(address as u64),
                None => Value::Null,
            },
            Fact::TaskTime => {
                let ticks = clock::now_ticks().saturating_sub(self.emitter.began());
                Value::UInt(clock::ticks_to_ns(ticks) / 1000)
            }
            Fact::Cpu => Value::UInt(u64::from(sys::cpu_number())),
            // The predicate itself counts.
            Fact::Counter => Value::Null,
        }
    }

    fn caller(&self, number: u16, give: &mut dyn FnMut(Value<'_>)) {
        let source = SOURCE.get();
        if let Some(source) = source {
            // SAFETY: `supplied_by` stored it on this thread for as long as it borrows it.
            unsafe { &*source }.read(number, give);
        }
    }
}

thread_local! {
    /// It has no destructor, so that the allocator may fire events at any time.
    static SOURCE: Cell<Option<*const dyn ActionSource>> = const { Cell::new(None) };
}

/// Runs a closure on this thread while `source` supplies the values of actions and predicate
/// sources. Costs two stores to thread-local memory before and after.
#[inline]
pub fn supplied_by<R>(source: &dyn ActionSource, run: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const dyn ActionSource>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SOURCE.set(self.0);
        }
    }
    let pointer: *const (dyn ActionSource + '_) = source;
    // SAFETY: only the lifetime of the trait object changes; `_restore` takes the pointer out
    // before the borrow ends.
    let pointer: *const (dyn ActionSource + 'static) = unsafe { std::mem::transmute(pointer) };
    let _restore = Restore(SOURCE.replace(Some(pointer)));
    run()
}
