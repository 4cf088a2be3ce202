//! `Sampler`: starts and stops the sampling of a machine's threads, and collects the records in
//! their rings.

use std::io;
use std::time::Duration;

use super::rows::{AllocationSample, CpuSample, SampleSums, SamplerHealth, WaitSample};
use crate::ledger::{self, Account};
use crate::lock::{SpinClass, SpinLock};
use crate::memory::{MemoryClerk, with_clerk};
use crate::stack::{self, Registers};
use crate::sync::{Arc, AtomicU32, AtomicU64, Ordering};
use crate::sys;
use crate::wait::WaitType;

/// The default number of samples per second of CPU time: a prime, so that it does not fall in step
/// with a pattern of the load, and below the tick rate of usual kernels.
pub const RATE_HZ: u32 = 97;
/// The highest rate that can be set: a kernel's tick is 250 Hz or more.
pub const RATE_HZ_MAX: u32 = 249;
/// The time between two collections of the rings.
pub(crate) const COLLECT_PERIOD: Duration = Duration::from_millis(250);

/// The samples of one machine's threads, and the rate they are taken at.
#[derive(Debug)]
pub struct Sampler {
    hz: AtomicU32,
    refused: AtomicU64,
    refusal: SpinLock<Option<String>>,
    books: SpinLock<SampleSums>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            hz: AtomicU32::new(0),
            refused: AtomicU64::new(0),
            refusal: SpinLock::new(SpinClass::SosSampler, None),
            books: SpinLock::new(SpinClass::SosSampler, SampleSums::default()),
        }
    }
}

impl Sampler {
    /// The rate that was set, in samples per second of CPU time; 0 if sampling is off.
    #[must_use]
    pub fn rate_hz(&self) -> u32 {
        self.hz.load(Ordering::Relaxed)
    }

    /// The system's error for the first timer that it refused, if any.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.refusal.lock().clone()
    }

    /// Starts sampling the calling thread, whose account this is, until it ends.
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

    /// Sets the sampling rate of these threads, in Hz; 0 turns sampling off.
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

    /// Adds what these threads have recorded to the sums.
    pub(crate) fn collect(&self, threads: &[Arc<Account>]) {
        let mut books = self.books.lock();
        with_clerk(MemoryClerk::SosNode, || {
            threads.iter().for_each(|thread| books.collect(thread));
        });
    }

    /// Adds what a thread that has ended has recorded to the sums.
    pub(crate) fn end(&self, thread: &Account) {
        let mut books = self.books.lock();
        with_clerk(MemoryClerk::SosNode, || books.end(thread));
    }

    /// Returns the samples of CPU time, by place.
    pub(crate) fn cpu(&self) -> Vec<CpuSample> {
        self.books.lock().cpu()
    }

    /// Returns the samples of waits, by place.
    pub(crate) fn waits(&self) -> Vec<WaitSample> {
        self.books.lock().waits()
    }

    /// Returns the samples of allocations, by place.
    pub(crate) fn allocations(&self) -> Vec<AllocationSample> {
        self.books.lock().allocations()
    }

    /// Returns the sampler's rates and losses, for `sys.dm_os_sampler`.
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

/// Records that one or several periods of the calling thread's CPU time have passed. Runs in the
/// signal handler.
pub(crate) fn on_tick(registers: Registers, periods: u32) {
    ledger::if_open(|account| {
        if let Some(recorder) = account.recorder() {
            account.observed(recorder.tick(account, registers, periods));
        }
    });
}

/// Records, by chance, a wait of the calling thread that has ended, unless its type is idle.
#[inline]
pub(crate) fn waited(account: &Account, wait_type: WaitType, ticks: u64) {
    if let Some(recorder) = account.recorder()
        && !wait_type.is_idle()
    {
        recorder.wait(account, wait_type, ticks);
    }
}
