//! The ledger: one single-writer account per thread, and the registry that folds them for readers.
//!
//! A thread changes its state with [`to`], which reads the clock, only where that is affordable: at
//! waits, slow paths of locks, system calls and statement edges. Sub-phases are labels: one relaxed
//! store, resolved by the CPU sampler. Nobody but the owner ever writes an account, so no counter is
//! a shared write; readers tolerate being one event behind.
//!
//! Left out so far: splitting a state into on-CPU, runnable and blocked (the rseq sentinel and
//! schedstat), which [`to`] will do without its callers noticing.

use std::cell::Cell;

use crate::clock;
use crate::lock::{LatchClass, SpinCell, SpinClass, SpinLock};
use crate::registry::registry;
use crate::sync::{Arc, AtomicU32, AtomicU64, Ordering};
use crate::sys::SysCause;
use crate::wait::{WaitCell, WaitRow, WaitType};

registry! {
    /// Where a thread's time goes. `Label` says more precisely what a running thread does.
    pub enum State {
        /// Neither a request nor a background task runs.
        Idle => "idle",
        /// Running a request.
        Running => "running",
        /// Running work of the server's own.
        Background => "background",
        /// Spinning on a lock.
        Spinning => "spinning",
        /// Waiting, with its scheduler handed over.
        Waiting => "waiting",
        /// Signalled, waiting for a scheduler.
        Runnable => "runnable",
        /// In a system call.
        Kernel => "kernel",
        /// The machine's own business between two requests.
        Scheduling => "scheduling",
    }
}

registry! {
    /// What a running thread is busy with.
    pub enum Label {
        /// Nothing named: the time shows up as dark.
        None => "none",
        /// Reading a request off the wire.
        Decode => "decode",
        /// Text to syntax tree.
        Parse => "parse",
        /// Names to objects.
        Bind => "bind",
        /// Bound tree to plan.
        Plan => "plan",
        /// Running a plan.
        Execute => "execute",
        /// Index search.
        Index => "index",
        /// Reading or writing row versions.
        Row => "row",
        /// Commit processing.
        Commit => "commit",
        /// Writing log records.
        Log => "log",
        /// Writing a result onto the wire.
        Encode => "encode",
        /// Collecting old versions and retired memory.
        Collect => "collect",
        /// Login and TLS.
        Login => "login",
        /// Building catalog views.
        View => "view",
    }
}

/// A counter that exactly one thread writes and any thread may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; the owning thread only.
    #[inline]
    pub fn add(&self, n: u64) {
        // Relaxed: a single writer needs no read-modify-write, and readers order nothing by it.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Raises to `n` if that is more; the owning thread only.
    #[inline]
    pub fn raise_to(&self, n: u64) {
        if n > self.0.load(Ordering::Relaxed) {
            self.0.store(n, Ordering::Relaxed);
        }
    }

    /// Reads.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }
}

/// One thread's books. Aligned so that no other thread's writes share its cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub struct Account {
    number: u32,
    name: Box<str>,
    thread_id: u32,
    state: AtomicU32,
    label: AtomicU32,
    since: Counter,
    state_ticks: [Counter; State::COUNT],
    state_count: [Counter; State::COUNT],
    sys_count: [Counter; SysCause::COUNT],
    waits: [WaitCell; WaitType::COUNT],
    spins: [SpinCell; SpinClass::COUNT],
    latches: [WaitCell; LatchClass::COUNT],
}

/// Numbers given to threads; 0 means "no thread", which is what a free lock word holds.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

impl Account {
    pub(crate) fn new(name: &str) -> Self {
        // Relaxed: only uniqueness matters.
        Self::with_number(NEXT_NUMBER.fetch_add(1, Ordering::Relaxed), name)
    }

    fn with_number(number: u32, name: &str) -> Self {
        Self {
            number,
            name: name.into(),
            thread_id: crate::sys::thread_id(),
            state: AtomicU32::new(0),
            label: AtomicU32::new(0),
            since: Counter(AtomicU64::new(clock::now_ticks())),
            state_ticks: Default::default(),
            state_count: Default::default(),
            sys_count: std::array::from_fn(|_| Counter::default()),
            waits: std::array::from_fn(|_| WaitCell::default()),
            spins: std::array::from_fn(|_| SpinCell::default()),
            latches: std::array::from_fn(|_| WaitCell::default()),
        }
    }

    /// The thread's number in this process, never 0 and never reused.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operating system's id of the thread.
    #[must_use]
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// The state it is in.
    #[must_use]
    pub fn state(&self) -> State {
        State::ALL[self.state.load(Ordering::Relaxed) as usize % State::COUNT]
    }

    /// The label it last set.
    #[must_use]
    pub fn label(&self) -> Label {
        Label::ALL[self.label.load(Ordering::Relaxed) as usize % Label::COUNT]
    }

    /// Nanoseconds spent in a state, the stay in progress included.
    #[must_use]
    pub fn state_ns(&self, state: State) -> u64 {
        let mut ticks = self.state_ticks[state.index()].get();
        if self.state() == state {
            ticks += clock::now_ticks().saturating_sub(self.since.get());
        }
        clock::ticks_to_ns(ticks)
    }

    /// How often it entered a state.
    #[must_use]
    pub fn state_count(&self, state: State) -> u64 {
        self.state_count[state.index()].get()
    }

    /// How often it made system calls for a cause.
    #[must_use]
    pub fn sys_count(&self, cause: SysCause) -> u64 {
        self.sys_count[cause.index()].get()
    }

    /// Its books on a wait type.
    #[must_use]
    pub fn wait(&self, wait_type: WaitType) -> &WaitCell {
        &self.waits[wait_type.index()]
    }

    /// Its books on a class of spinlocks.
    #[must_use]
    pub fn spin(&self, class: SpinClass) -> &SpinCell {
        &self.spins[class.index()]
    }

    /// Its books on a class of latches.
    #[must_use]
    pub fn latch(&self, class: LatchClass) -> &WaitCell {
        &self.latches[class.index()]
    }

    pub(crate) fn count_sys(&self, cause: SysCause) {
        self.sys_count[cause.index()].add(1);
    }

    fn to(&self, state: State) -> State {
        let now = clock::now_ticks();
        let before = self.state();
        self.state_ticks[before.index()].add(now.saturating_sub(self.since.get()));
        self.state_count[state.index()].add(1);
        self.since.set(now);
        self.state.store(state as u32, Ordering::Relaxed);
        before
    }

    /// Adds another account's sums to this one; for the totals of threads that ended.
    fn absorb(&self, other: &Self) {
        for (mine, theirs) in self.state_ticks.iter().zip(&other.state_ticks) {
            mine.add(theirs.get());
        }
        for (mine, theirs) in self.state_count.iter().zip(&other.state_count) {
            mine.add(theirs.get());
        }
        for (mine, theirs) in self.sys_count.iter().zip(&other.sys_count) {
            mine.add(theirs.get());
        }
        for (mine, theirs) in self.waits.iter().zip(&other.waits) {
            mine.absorb(theirs);
        }
        for (mine, theirs) in self.latches.iter().zip(&other.latches) {
            mine.absorb(theirs);
        }
        for (mine, theirs) in self.spins.iter().zip(&other.spins) {
            mine.absorb(theirs);
        }
    }
}

thread_local! {
    /// A raw pointer, so that the usual access is one load without a destructor check.
    static CURRENT: Cell<*const Account> = const { Cell::new(std::ptr::null()) };
}

/// Runs `f` on the calling thread's account, opening one if the thread has none yet.
#[inline]
pub fn with_current<R>(f: impl FnOnce(&Account) -> R) -> R {
    let current = CURRENT.get();
    if current.is_null() {
        return with_new(f);
    }
    // SAFETY: `install` put a pointer here whose reference count it never gives back.
    f(unsafe { &*current })
}

#[cold]
fn with_new<R>(f: impl FnOnce(&Account) -> R) -> R {
    let account = Arc::new(Account::new(std::thread::current().name().unwrap_or("foreign")));
    install(&account);
    f(&account)
}

/// Makes `account` the calling thread's own; it stays so until the thread ends.
pub(crate) fn install(account: &Arc<Account>) {
    // Kept for ever, some kilobytes for each thread that ever was: the pointer must outlive every
    // destructor of the thread that may still take a lock.
    CURRENT.set(Arc::into_raw(Arc::clone(account)));
    crate::lock::set_thread_number(account.number);
}

/// Moves the calling thread to a state and returns the one it was in. Reads the clock.
pub fn to(state: State) -> State {
    with_current(|account| account.to(state))
}

/// Says what the calling thread is busy with and returns what it was: one relaxed store.
#[inline]
pub fn label(label: Label) -> Label {
    with_current(|account| {
        let before = account.label();
        account.label.store(label as u32, Ordering::Relaxed);
        before
    })
}

/// The accounts of a machine's threads.
#[derive(Debug)]
pub struct Accounts {
    live: SpinLock<Vec<Arc<Account>>>,
    ended: SpinLock<Box<Account>>,
}

impl Default for Accounts {
    fn default() -> Self {
        Self {
            live: SpinLock::new(SpinClass::SosThreadList, Vec::new()),
            ended: SpinLock::new(
                SpinClass::SosThreadList,
                Box::new(Account::with_number(0, "ended threads")),
            ),
        }
    }
}

impl Accounts {
    pub(crate) fn open(&self, name: &str) -> Arc<Account> {
        let account = Arc::new(Account::new(name));
        self.live.lock().push(Arc::clone(&account));
        account
    }

    pub(crate) fn close(&self, account: &Arc<Account>) {
        self.ended.lock().absorb(account);
        self.live.lock().retain(|other| !Arc::ptr_eq(other, account));
    }

    /// The accounts of the threads alive now.
    #[must_use]
    pub fn threads(&self) -> Vec<Arc<Account>> {
        self.live.lock().clone()
    }

    /// Folds one number out of every account, ended threads included.
    pub fn sum(&self, of: impl Fn(&Account) -> u64) -> u64 {
        let ended = of(&self.ended.lock());
        self.threads().iter().map(|account| of(account)).sum::<u64>() + ended
    }

    /// The largest of one number over all accounts.
    pub fn max(&self, of: impl Fn(&Account) -> u64) -> u64 {
        let ended = of(&self.ended.lock());
        self.threads().iter().map(|account| of(account)).max().unwrap_or(0).max(ended)
    }

    /// Folds the wait statistics, one row per wait type.
    #[must_use]
    pub fn waits(&self) -> Vec<WaitRow> {
        WaitType::ALL.iter().map(|&wait_type| self.wait_row(wait_type)).collect()
    }

    fn wait_row(&self, wait_type: WaitType) -> WaitRow {
        WaitRow {
            wait_type,
            count: self.sum(|a| a.wait(wait_type).count.get()),
            wait_ns: clock::ticks_to_ns(self.sum(|a| a.wait(wait_type).ticks.get())),
            max_wait_ns: clock::ticks_to_ns(self.max(|a| a.wait(wait_type).ticks_max.get())),
            signal_ns: clock::ticks_to_ns(self.sum(|a| a.wait(wait_type).signal_ticks.get())),
        }
    }

    /// Folds the spinlock statistics, one row per class.
    #[must_use]
    pub fn spins(&self) -> Vec<SpinRow> {
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

    /// Folds the latch statistics, one row per class.
    #[must_use]
    pub fn latches(&self) -> Vec<LatchRow> {
        let row = |&class: &LatchClass| LatchRow {
            class,
            count: self.sum(|a| a.latch(class).count.get()),
            wait_ns: clock::ticks_to_ns(self.sum(|a| a.latch(class).ticks.get())),
            max_wait_ns: clock::ticks_to_ns(self.max(|a| a.latch(class).ticks_max.get())),
        };
        LatchClass::ALL.iter().map(row).collect()
    }

    /// Folds the number of system calls per cause.
    #[must_use]
    pub fn sys_calls(&self) -> Vec<(SysCause, u64)> {
        SysCause::ALL.iter().map(|&cause| (cause, self.sum(|a| a.sys_count(cause)))).collect()
    }
}

/// Folded books of one class of spinlocks, as `sys.dm_os_spinlock_stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinRow {
    /// The class.
    pub class: SpinClass,
    /// Attempts that found the lock taken.
    pub collisions: u64,
    /// Rounds of spinning.
    pub spins: u64,
    /// Time spent spinning, in nanoseconds.
    pub spin_ns: u64,
    /// Times a thread offered its CPU to others.
    pub backoffs: u64,
    /// Time spent sleeping between two tries, in nanoseconds.
    pub sleep_ns: u64,
}

/// Folded books of one class of latches, as `sys.dm_os_latch_stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatchRow {
    /// The class.
    pub class: LatchClass,
    /// Completed waits.
    pub count: u64,
    /// Total time, in nanoseconds.
    pub wait_ns: u64,
    /// The longest single wait, in nanoseconds.
    pub max_wait_ns: u64,
}
