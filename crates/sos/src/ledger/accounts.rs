//! `Accounts`: the accounts of one machine's threads, and their sums.

use super::account::{Account, Room};
use super::clear::{Cleared, Eras, Statistics};
use super::growth::AllGrown;
use super::state::State;
use super::watch::{Source, SourceChoice, Watch};
use crate::clock;
use crate::lock::{LatchClass, SpinClass, SpinLock};
use crate::sampler::{AllocationSample, CpuSample, Sampler, SamplerHealth, WaitSample};
use crate::sync::Arc;
use crate::sys::{self, SysCause};
use crate::wait::{WaitRow, WaitType};
use crate::xe::{Emitter, Hub};

/// The accounts of a machine's threads: the living ones, and the sum of those that have ended.
#[derive(Debug)]
pub struct Accounts {
    books: SpinLock<AllAccounts>,
    opened: u64,
    opened_cpu_ns: u64,
    choice: SourceChoice,
    source: Source,
    eras: Arc<Eras>,
    cleared: SpinLock<Cleared>,
    /// The extended events sessions that receive events of the machine's threads.
    events: Arc<Hub>,
    /// Rows so far; only readers and the housekeeper thread use it.
    grown: SpinLock<AllGrown>,
    sampler: Sampler,
}

/// The living and the ended threads, under one lock, so that a thread that ends is counted once.
#[derive(Debug)]
struct AllAccounts {
    live: Vec<Arc<Account>>,
    ended: Box<Account>,
}

impl Default for Accounts {
    fn default() -> Self {
        Self::new(SourceChoice::Auto)
    }
}

impl Accounts {
    /// Makes the accounts of a machine, with the best source that works and is not above the
    /// choice.
    #[must_use]
    pub fn new(choice: SourceChoice) -> Self {
        let eras = Arc::<Eras>::default();
        let for_ended = Some(Arc::clone(&eras));
        let ended = Box::new(Account::with(
            0,
            "ended threads",
            Watch::blind(),
            for_ended,
            Emitter::default(),
        ));
        Self {
            books: SpinLock::new(SpinClass::SosThreadList, AllAccounts { live: Vec::new(), ended }),
            opened: clock::now_ticks(),
            opened_cpu_ns: sys::own_cpu_ns(),
            choice,
            source: choice.resolve(),
            eras,
            cleared: SpinLock::new(SpinClass::SosThreadList, Cleared::default()),
            events: Arc::default(),
            grown: SpinLock::new(SpinClass::SosThreadList, AllGrown::default()),
            sampler: Sampler::default(),
        }
    }

    /// Opens an account for the calling thread, in the given memory.
    pub(super) fn open(&self, name: &str, room: Room) -> Arc<Account> {
        let eras = Some(Arc::clone(&self.eras));
        let account = Account::open(room, name, self.source, eras, &self.events);
        self.books.lock().live.push(Arc::clone(&account));
        // After the insertion: a thread that changes the rate finds the account, or this finds the
        // rate.
        self.sampler.take_in(&account);
        account
    }

    /// Opens an account for the calling thread if [`crate::thread`] did not start it, such as the
    /// process's first thread. It counts as background work from now on, until it ends or another
    /// machine adopts it.
    pub fn adopt(self: &Arc<Self>, name: &str) {
        let account = self.open(name, Room::new());
        super::keep(&account, Arc::downgrade(self));
        super::to(State::Background);
    }

    pub(super) fn end(&self, account: &Arc<Account>) {
        account.spread();
        self.sampler.end(account);
        let mut books = self.books.lock();
        if let Some(at) = books.live.iter().position(|other| Arc::ptr_eq(other, account)) {
            books.live.swap_remove(at);
            books.ended.absorb(account);
        }
    }

    /// The extended events sessions that receive events of the machine's threads.
    #[must_use]
    pub fn events(&self) -> &Arc<Hub> {
        &self.events
    }

    /// How time off the CPU is measured on this machine.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// The sampler of the machine's threads.
    #[must_use]
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Sets how often each thread is sampled, per second of its CPU time; 0 turns sampling off.
    pub fn set_sampling_rate(&self, hz: u32) {
        self.sampler.set_rate(hz, &self.threads());
    }

    /// Adds what threads have recorded to the sampler's sums.
    pub(crate) fn collect_samples(&self) {
        self.sampler.collect(&self.threads());
    }

    /// The samples of CPU time up to now.
    #[must_use]
    pub fn cpu_samples(&self) -> Vec<CpuSample> {
        self.collect_samples();
        self.sampler.cpu()
    }

    /// The samples of waits up to now.
    #[must_use]
    pub fn wait_samples(&self) -> Vec<WaitSample> {
        self.collect_samples();
        self.sampler.waits()
    }

    /// The samples of allocations up to now.
    #[must_use]
    pub fn allocation_samples(&self) -> Vec<AllocationSample> {
        self.collect_samples();
        self.sampler.allocations()
    }

    /// The sampler's rates and losses.
    #[must_use]
    pub fn sampler_health(&self) -> SamplerHealth {
        let threads = self.threads();
        self.sampler.collect(&threads);
        self.sampler.health(&threads)
    }

    /// Whether the source in use is the one that was chosen, or the best one for an automatic
    /// choice.
    pub(super) fn has_wanted(&self) -> bool {
        match self.choice {
            SourceChoice::Auto | SourceChoice::Wall => true,
            SourceChoice::Rseq => self.source == Source::Rseq,
            SourceChoice::Switches => self.source == Source::SwitchRecords,
            SourceChoice::Schedstat => self.source == Source::Schedstat,
        }
    }

    /// The rows so far.
    pub(super) fn grown(&self) -> &SpinLock<AllGrown> {
        &self.grown
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    pub(super) fn opened_cpu_ns(&self) -> u64 {
        self.opened_cpu_ns
    }

    /// Runs a closure on the living accounts and the sum of the ended ones, under their lock.
    pub(super) fn with_books<R>(&self, run: impl FnOnce(&[Arc<Account>], &Account) -> R) -> R {
        let books = self.books.lock();
        run(&books.live, &books.ended)
    }

    /// The accounts of the threads alive now.
    #[must_use]
    pub fn threads(&self) -> Vec<Arc<Account>> {
        self.books.lock().live.clone()
    }

    /// Adds up one number over all accounts, ended threads included.
    pub fn sum(&self, of: impl Fn(&Account) -> u64) -> u64 {
        self.with_books(|live, ended| live.iter().map(|a| of(a)).sum::<u64>() + of(ended))
    }

    /// Resets statistics to zero for readers. No thread's account is written.
    pub fn clear(&self, what: Statistics) {
        let mut cleared = self.cleared.lock();
        match what {
            Statistics::Waits => cleared.waits = self.wait_sums(),
            Statistics::Latches => cleared.latches = self.latch_sums(),
            Statistics::Spinlocks => cleared.spins = self.spin_sums(),
        }
        self.eras.advance(what);
        // The holder of this lock owns the account of the ended threads.
        self.with_books(|_, ended| ended.enter_era(what));
    }

    /// The greatest value of one number over the accounts that have noticed the last clearing.
    fn max(&self, of: Statistics, get: impl Fn(&Account) -> u64) -> u64 {
        let era = self.eras.now(of);
        self.with_books(|live, ended| {
            let accounts = live.iter().map(|account| &**account).chain([ended]);
            accounts.filter(|account| account.seen.is(of, era)).map(get).max().unwrap_or(0)
        })
    }

    /// Adds up the wait statistics, one row per wait type.
    #[must_use]
    pub fn waits(&self) -> Vec<WaitRow> {
        let mut rows = self.wait_sums();
        self.cleared.lock().waits_since(&mut rows);
        rows
    }

    fn wait_sums(&self) -> Vec<WaitRow> {
        let row = |&wait_type: &WaitType| WaitRow {
            wait_type,
            count: self.sum(|a| a.wait(wait_type).count.get()),
            wait_ns: clock::ticks_to_ns(self.sum(|a| a.wait(wait_type).ticks.get())),
            max_wait_ns: clock::ticks_to_ns(
                self.max(Statistics::Waits, |a| a.wait(wait_type).ticks_max.get()),
            ),
            signal_ns: clock::ticks_to_ns(self.sum(|a| a.wait(wait_type).signal_ticks.get())),
        };
        WaitType::ALL.iter().map(row).collect()
    }

    /// Adds up the spinlock statistics, one row per class.
    #[must_use]
    pub fn spins(&self) -> Vec<SpinRow> {
        let mut rows = self.spin_sums();
        self.cleared.lock().spins_since(&mut rows);
        rows
    }

    fn spin_sums(&self) -> Vec<SpinRow> {
        let row = |&class: &SpinClass| SpinRow {
            class,
            collisions: self.sum(|a| a.spin(class).collisions.get()),
            spins: self.sum(|a| a.spin(class).spins.get()),
            spin_ns: clock::ticks_to_ns(self.sum(|a| a.spin(class).spin_ticks.get())),
            backoffs: self.sum(|a| a.spin(class).backoffs.get()),
            sleep_ns: clock::ticks_to_ns(self.sum(|a| a.spin(class).sleep_ticks.get())),
        };
        SpinClass::ALL.iter().map(row).collect()
    }

    /// Adds up the latch statistics, one row per class.
    #[must_use]
    pub fn latches(&self) -> Vec<LatchRow> {
        let mut rows = self.latch_sums();
        self.cleared.lock().latches_since(&mut rows);
        rows
    }

    fn latch_sums(&self) -> Vec<LatchRow> {
        let row = |&class: &LatchClass| LatchRow {
            class,
            count: self.sum(|a| a.latch(class).count.get()),
            wait_ns: clock::ticks_to_ns(self.sum(|a| a.latch(class).ticks.get())),
            max_wait_ns: clock::ticks_to_ns(
                self.max(Statistics::Latches, |a| a.latch(class).ticks_max.get()),
            ),
        };
        LatchClass::ALL.iter().map(row).collect()
    }

    /// Adds up the number of system calls per cause.
    #[must_use]
    pub fn sys_calls(&self) -> Vec<(SysCause, u64)> {
        SysCause::ALL.iter().map(|&cause| (cause, self.sum(|a| a.sys_count(cause)))).collect()
    }
}

/// The sums of one class of spinlocks, as `sys.dm_os_spinlock_stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinRow {
    /// The class that the row is about.
    pub class: SpinClass,
    /// Attempts that found the lock taken.
    pub collisions: u64,
    /// The number of rounds of spinning.
    pub spins: u64,
    /// Time spent spinning, in nanoseconds.
    pub spin_ns: u64,
    /// Times a thread offered its CPU to others.
    pub backoffs: u64,
    /// Time spent sleeping between two tries, in nanoseconds.
    pub sleep_ns: u64,
}

/// The sums of one class of latches, as `sys.dm_os_latch_stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatchRow {
    /// The class that the row is about.
    pub class: LatchClass,
    /// The number of completed waits.
    pub count: u64,
    /// Total time, in nanoseconds.
    pub wait_ns: u64,
    /// The longest single wait, in nanoseconds.
    pub max_wait_ns: u64,
}
