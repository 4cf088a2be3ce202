//! `Recorder`: what one thread has for being sampled: its timer, its rings, its dice.

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

/// Samples of CPU time between two collections: the kernel's tick allows a quarter of it.
const TICKS_MAX: usize = 256;
/// Samples of waits and allocations between two collections.
const EVENTS_MAX: usize = 512;
/// A wait of this length and more is always sampled; a shorter one by chance, in proportion.
const WAIT_NS: u64 = 1_000_000;

/// Kinds of records: in the first ring, and in the second.
pub(super) const CPU: u8 = 0;
pub(super) const WAIT: u8 = 1;
pub(super) const ALLOCATION: u8 = 2;

/// What one thread has for being sampled.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Written by the signal's handler.
    ticks: Ring<TICKS_MAX>,
    /// Written by the thread itself.
    events: Ring<EVENTS_MAX>,
    timer: SpinLock<Option<CpuTimer>>,
    is_on: AtomicBool,
    random: AtomicU32,
    /// What the handler has taken, in ticks of the clock.
    handler_ticks: Counter,
    /// When in its first period the timer fires, in 1/2^32: different for each thread, so that
    /// short lives are sampled in proportion.
    phase: u32,
}

impl Recorder {
    /// Makes that of the thread of this number, without a timer.
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

    /// Gives the calling thread its timer.
    pub(super) fn start(&self) -> io::Result<()> {
        let timer = CpuTimer::for_this_thread()?;
        *self.timer.lock() = Some(timer);
        Ok(())
    }

    /// Samples at another rate from now on; 0 for not at all.
    pub(super) fn set_rate(&self, hz: u32) -> io::Result<()> {
        self.is_on.store(hz > 0, Ordering::Relaxed);
        self.timer.lock().as_ref().map_or(Ok(()), |timer| timer.set_rate(hz, self.phase))
    }

    /// Takes the timer away, at the end of the thread.
    pub(crate) fn stop(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let timer = self.timer.lock().take();
        drop(timer);
    }

    /// Whether it has a timer.
    pub(super) fn has_timer(&self) -> bool {
        self.timer.lock().is_some()
    }

    /// Notes where the thread is; in the signal's handler. Returns what that took, in ticks.
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

    /// Notes a wait that has just ended, perhaps.
    pub(super) fn wait(&self, account: &Account, wait_type: WaitType, ticks: u64) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let ns = clock::ticks_to_ns(ticks);
        let weight = if ns >= WAIT_NS {
            ns
        } else if (u64::from(self.draw()) * WAIT_NS) >> 32 < ns {
            // One that stands for those of its length that were not taken.
            WAIT_NS
        } else {
            return;
        };
        let subject = u8::try_from(wait_type.index()).unwrap_or(u8::MAX);
        self.push_event(account, WAIT, subject, weight);
    }

    /// Notes an allocation that was drawn.
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

    /// Marsaglia's xorshift.
    fn draw(&self) -> u32 {
        let mut random = self.random.load(Ordering::Relaxed);
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.random.store(random, Ordering::Relaxed);
        random
    }

    /// Takes out what there is; under the sampler's lock.
    pub(super) fn drain(&self, mut take: impl FnMut(Record)) {
        self.ticks.drain(&mut take);
        self.events.drain(take);
    }

    /// How many records found no room.
    pub(super) fn lost(&self) -> u64 {
        self.ticks.lost() + self.events.lost()
    }

    /// What the handler has taken, in ticks.
    pub(super) fn handler_ticks(&self) -> u64 {
        self.handler_ticks.get()
    }
}
