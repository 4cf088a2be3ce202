//! `Sampler`: starts and stops the sampling of a machine's threads, and collects what their rings
//! hold.

use std::io;
use std::time::Duration;

use super::rows::{AllocationSample, Books, CpuSample, SamplerHealth, WaitSample};
use crate::ledger::{self, Account};
use crate::lock::{SpinClass, SpinLock};
use crate::memory::{MemoryClerk, with_clerk};
use crate::stack::{self, Registers};
use crate::sync::{Arc, AtomicU32, AtomicU64, Ordering};
use crate::sys;
use crate::wait::WaitType;

/// Samples per second of CPU time, if nobody says otherwise: a prime, so that no pattern of the
/// load falls in step with it, and below the ticks of usual kernels.
pub const RATE_HZ: u32 = 97;
/// The fastest that can be asked for: a kernel's tick is 250 Hz or more.
pub const RATE_HZ_MAX: u32 = 249;
/// How often rings are collected.
pub(crate) const COLLECT_PERIOD: Duration = Duration::from_millis(250);

/// The samples of one machine's threads.
#[derive(Debug)]
pub struct Sampler {
    hz: AtomicU32,
    refused: AtomicU64,
    refusal: SpinLock<Option<String>>,
    books: SpinLock<Books>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            hz: AtomicU32::new(0),
            refused: AtomicU64::new(0),
            refusal: SpinLock::new(SpinClass::SosSampler, None),
            books: SpinLock::new(SpinClass::SosSampler, Books::default()),
        }
    }
}

impl Sampler {
    /// The rate that was asked for; 0 for none.
    #[must_use]
    pub fn rate_hz(&self) -> u32 {
        self.hz.load(Ordering::Relaxed)
    }

    /// Why threads have no timers, if the system has refused one.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.refusal.lock().clone()
    }

    /// Has the calling thread sampled, whose account this is, from now until its end.
    pub(crate) fn take_in(&self, account: &Account) {
        let Some(recorder) = account.recorder() else { return };
        let started = recorder.start().and_then(|()| recorder.set_rate(self.rate_hz()));
        if let Err(error) = started {
            self.refuse(&error);
        }
    }

    fn refuse(&self, error: &io::Error) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.refusal.lock().get_or_insert_with(|| error.to_string());
    }

    /// Samples these threads at another rate from now on.
    pub(crate) fn set_rate(&self, hz: u32, threads: &[Arc<Account>]) {
        let hz = hz.min(RATE_HZ_MAX);
        self.collect(threads);
        self.books.lock().begin(sys::own_cpu_ns());
        self.hz.store(hz, Ordering::Relaxed);
        for recorder in threads.iter().filter_map(|thread| thread.recorder()) {
            if let Err(error) = recorder.set_rate(hz) {
                self.refuse(&error);
            }
        }
    }

    /// Takes what these threads have recorded into the books.
    pub(crate) fn collect(&self, threads: &[Arc<Account>]) {
        let mut books = self.books.lock();
        with_clerk(MemoryClerk::SosNode, || {
            threads.iter().for_each(|thread| books.collect(thread));
        });
    }

    /// Takes in what a thread has left behind that has ended.
    pub(crate) fn end(&self, thread: &Account) {
        let mut books = self.books.lock();
        with_clerk(MemoryClerk::SosNode, || books.end(thread));
    }

    /// The samples of CPU time.
    pub(crate) fn cpu(&self) -> Vec<CpuSample> {
        self.books.lock().cpu()
    }

    /// The samples of waits.
    pub(crate) fn waits(&self) -> Vec<WaitSample> {
        self.books.lock().waits()
    }

    /// The samples of allocations.
    pub(crate) fn allocations(&self) -> Vec<AllocationSample> {
        self.books.lock().allocations()
    }

    /// How well it works.
    pub(crate) fn health(&self, threads: &[Arc<Account>]) -> SamplerHealth {
        let cpu_ns = sys::own_cpu_ns();
        let health = self.books.lock().health(threads, cpu_ns);
        SamplerHealth {
            rate_hz: self.rate_hz(),
            refused: self.refused.load(Ordering::Relaxed),
            refusal: self.refusal(),
            stacks: stack::fill(),
            ..health
        }
    }
}

/// A period of the calling thread's CPU time has passed, or several; in the signal's handler.
pub(crate) fn on_tick(registers: Registers, periods: u32) {
    ledger::if_open(|account| {
        if let Some(recorder) = account.recorder() {
            account.observed(recorder.tick(account, registers, periods));
        }
    });
}

/// A wait of the calling thread has ended, of which nobody would say that it was idle.
#[inline]
pub(crate) fn waited(account: &Account, wait_type: WaitType, ticks: u64) {
    if let Some(recorder) = account.recorder()
        && !wait_type.is_idle()
    {
        recorder.wait(account, wait_type, ticks);
    }
}
