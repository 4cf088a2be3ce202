//! `Recorder`: the sampling state of one thread: its timer, its rings and its random numbers.

use std::io;

use super::ring::{Record, Ring};
use crate::clock;
use crate::ledger::{Account, Counter};
use crate::lock::{SpinClass, SpinLock};
use crate::memory::MemoryClerk;
use crate::stack::{self, Registers};
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use crate::sys::CpuTimer;
use crate::wait::WaitType;

/// Room for samples of CPU time between two collections: four times what the kernel's tick allows.
const TICKS_MAX: usize = 256;
/// Room for samples of waits and allocations between two collections.
const EVENTS_MAX: usize = 512;
/// A wait of this length and more is always sampled; a shorter one by chance, in proportion.
const WAIT_NS: u64 = 1_000_000;

/// The kind of a record: CPU time in the first ring, waits and allocations in the second.
pub(super) const CPU: u8 = 0;
pub(super) const WAIT: u8 = 1;
pub(super) const ALLOCATION: u8 = 2;

/// The sampling state of one thread.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Records that the signal handler writes.
    ticks: Ring<TICKS_MAX>,
    /// Records that the thread itself writes.
    events: Ring<EVENTS_MAX>,
    timer: SpinLock<Option<CpuTimer>>,
    is_on: AtomicBool,
    random: AtomicU32,
    /// The time that the signal handler has taken, in clock ticks.
    handler_ticks: Counter,
    /// The point of the first period at which the timer fires, in 1/2^32: different for each
    /// thread, so that short-lived threads are sampled in proportion.
    phase: u32,
}

impl Recorder {
    /// Makes the state for the thread with this ledger number, without a timer.
    pub(crate) fn new(number: u32) -> Self {
        // The fractional parts of multiples of the golden ratio are spread evenly.
        let spread = number.wrapping_mul(0x9E37_79B9);
        Self {
            ticks: Ring::default(),
            events: Ring::default(),
            timer: SpinLock::new(SpinClass::SosSampler, None),
            is_on: AtomicBool::new(false),
            random: AtomicU32::new(spread | 1),
            handler_ticks: Counter::default(),
            phase: spread,
        }
    }

    /// Makes the calling thread's timer.
    pub(super) fn start(&self) -> io::Result<()> {
        let timer = CpuTimer::for_this_thread()?;
        *self.timer.lock() = Some(timer);
        Ok(())
    }

    /// Sets the rate in Hz; 0 turns the timer off.
    pub(super) fn set_rate(&self, hz: u32) -> io::Result<()> {
        self.is_on.store(hz > 0, Ordering::Relaxed);
        self.timer.lock().as_ref().map_or(Ok(()), |timer| timer.set_rate(hz, self.phase))
    }

    /// Deletes the timer, at the end of the thread.
    pub(crate) fn stop(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let timer = self.timer.lock().take();
        drop(timer);
    }

    /// Whether the thread has a timer.
    pub(super) fn has_timer(&self) -> bool {
        self.timer.lock().is_some()
    }

    /// Records the thread's stack. Runs in the signal handler; returns the time that it took, in
    /// ticks.
    pub(super) fn tick(&self, account: &Account, registers: Registers, periods: u32) -> u64 {
        let begin = clock::now_ticks();
        self.ticks.push(Record {
            stack: stack::interrupted(registers),
            kind: CPU,
            subject: account.cell_number(),
            label: u8::try_from(account.label().index()).unwrap_or(0),
            statement: account.statement(),
            weight: u64::from(periods),
        });
        let took = clock::now_ticks().saturating_sub(begin);
        self.handler_ticks.add(took);
        took
    }

    /// Records a wait that has just ended: always if it was long, else by chance.
    pub(super) fn wait(&self, account: &Account, wait_type: WaitType, ticks: u64) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let ns = clock::ticks_to_ns(ticks);
        let weight = if ns >= WAIT_NS {
            ns
        } else if (u64::from(self.draw()) * WAIT_NS) >> 32 < ns {
            // Its weight includes the waits of its length that were not sampled.
            WAIT_NS
        } else {
            return;
        };
        let subject = u8::try_from(wait_type.index()).unwrap_or(u8::MAX);
        self.push_event(account, WAIT, subject, weight);
    }

    /// Records an allocation that has a sample point.
    pub(super) fn allocation(&self, account: &Account, clerk: MemoryClerk, bytes: u64) {
        if self.is_on.load(Ordering::Relaxed) {
            self.push_event(account, ALLOCATION, clerk as u8, bytes);
        }
    }

    fn push_event(&self, account: &Account, kind: u8, subject: u8, weight: u64) {
        self.events.push(Record {
            stack: stack::here(1),
            kind,
            subject,
            label: u8::try_from(account.label().index()).unwrap_or(0),
            statement: account.statement(),
            weight,
        });
    }

    /// Returns a random number (Marsaglia's xorshift).
    fn draw(&self) -> u32 {
        let mut random = self.random.load(Ordering::Relaxed);
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.random.store(random, Ordering::Relaxed);
        random
    }

    /// Takes all records out. The caller holds the sampler's lock.
    pub(super) fn drain(&self, mut take: impl FnMut(Record)) {
        self.ticks.drain(&mut take);
        self.events.drain(take);
    }

    /// The number of records that found no room.
    pub(super) fn lost(&self) -> u64 {
        self.ticks.lost() + self.events.lost()
    }

    /// The time that the signal handler has taken, in clock ticks.
    pub(super) fn handler_ticks(&self) -> u64 {
        self.handler_ticks.get()
    }
}
