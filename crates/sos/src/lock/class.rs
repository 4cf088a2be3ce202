//! The classes of spinlocks and latches, named as SQL Server names what guards the same thing, and
//! what a thread books on them.

#[cfg(not(any(loom, shuttle)))]
use crate::ledger::Counter;
use crate::registry::registry;

registry! {
    /// What a spinlock guards.
    pub enum SpinClass {
        /// The metadata cache, in exclusive mode.
        CmedHashSet => "CMED_HASH_SET",
        /// The metadata cache, in reader/writer mode.
        LockRwCmedHashSet => "LOCK_RW_CMED_HASH_SET",
        /// Logins and permissions.
        LockRwSecurityCache => "LOCK_RW_SECURITY_CACHE",
        /// The wait list of a reader/writer lock of the machine layer.
        SosRw => "SOS_RW",
        /// The allocator of large pages.
        SosLargePageAllocator => "SOS_LARGEPAGE_ALLOCATOR",
        /// A scheduler's queues.
        SosScheduler => "SOS_SCHEDULER",
        /// The list of threads.
        SosThreadList => "SOS_THREAD_LIST",
        /// A bucket of the parking lot.
        SosWaitList => "SOS_WAITABLE_ADDRESS_HASHBUCKET",
        /// Threads that take part in memory reclamation.
        SosEpoch => "SOS_EPOCH",
        /// A cancellation flag's list of parked threads.
        SosCancel => "SOS_CANCEL",
        /// Memory clerks and extents.
        SosMemory => "SOS_BLOCKALLOCPARTIALLIST",
        /// Lock manager buckets.
        LockHash => "LOCK_HASH",
        /// Sessions of an instance.
        SessionManager => "SESSION_MANAGER",
        /// A table's index structures.
        XtpIndex => "XTP_INDEX",
        /// Transactions of the row store.
        XtpTransaction => "XTP_TRANSACTION",
        /// The plan cache.
        PlanCache => "SQL_MGR",
        /// The log's buffers.
        LogManager => "LOGCACHE_ACCESS",
        /// Anything of a server that has no class of its own.
        ServerOther => "SERVER_OTHER",
    }
}

registry! {
    /// What a latch guards.
    pub enum LatchClass {
        /// Changes of the catalog.
        Catalog => "CATALOG",
        /// An index of a table.
        Index => "ACCESS_METHODS_HOBT",
        /// A table's row groups.
        RowGroup => "COLUMNSTORE_ROWGROUP",
        /// The log.
        Log => "LOG_MANAGER",
        /// A database.
        Database => "DATABASE",
        /// Anything else.
        Other => "SERVER_OTHER",
    }
}

/// One thread's books on one class of spinlocks. Times are in ticks of the clock.
#[cfg(not(any(loom, shuttle)))]
#[derive(Debug, Default)]
pub struct SpinCell {
    /// Attempts that found the lock taken.
    pub collisions: Counter,
    /// Rounds of spinning.
    pub spins: Counter,
    /// Time spent spinning.
    pub spin_ticks: Counter,
    /// Times the thread offered its CPU to others.
    pub backoffs: Counter,
    /// Time spent sleeping between two tries.
    pub sleep_ticks: Counter,
}

#[cfg(not(any(loom, shuttle)))]
impl SpinCell {
    pub(crate) fn absorb(&self, other: &Self) {
        self.collisions.add(other.collisions.get());
        self.spins.add(other.spins.get());
        self.spin_ticks.add(other.spin_ticks.get());
        self.backoffs.add(other.backoffs.get());
        self.sleep_ticks.add(other.sleep_ticks.get());
    }
}

/// Stands in for the books under a model checker.
#[cfg(any(loom, shuttle))]
#[derive(Debug, Default)]
pub struct SpinCell;

/// The course of one slow path: spins with growing pauses, then yields, then sleeps; books it when
/// dropped, that is, after the lock has been taken.
pub(crate) struct Contention {
    #[cfg(not(any(loom, shuttle)))]
    books: Books,
}

#[cfg(not(any(loom, shuttle)))]
struct Books {
    class: SpinClass,
    started: u64,
    spins: u64,
    backoffs: u64,
    slept: u64,
    round: u32,
}

/// Pauses double up to this many in one round.
#[cfg(not(any(loom, shuttle)))]
const PAUSES_MAX: u32 = 64;
/// Rounds before the thread offers its CPU: the owner may have been preempted on it.
#[cfg(not(any(loom, shuttle)))]
const ROUNDS_BEFORE_YIELD: u32 = 16;
/// Yields before it sleeps.
#[cfg(not(any(loom, shuttle)))]
const YIELDS_BEFORE_SLEEP: u64 = 64;

impl Contention {
    #[cfg(any(loom, shuttle))]
    pub(crate) fn begin(_class: SpinClass) -> Self {
        Self {}
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn pause(&mut self) {
        crate::sync::spin_hint();
    }

    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn begin(class: SpinClass) -> Self {
        let started = crate::clock::now_ticks();
        Self { books: Books { class, started, spins: 0, backoffs: 0, slept: 0, round: 0 } }
    }

    /// Lets some time pass before the next attempt.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn pause(&mut self) {
        let books = &mut self.books;
        books.round += 1;
        if books.round < ROUNDS_BEFORE_YIELD {
            let pauses = (1 << books.round.min(16)).min(PAUSES_MAX);
            for _ in 0..pauses {
                std::hint::spin_loop();
            }
            books.spins += u64::from(pauses);
            return;
        }
        books.round = 0;
        books.backoffs += 1;
        if books.backoffs < YIELDS_BEFORE_SLEEP {
            crate::sys::yield_cpu();
            return;
        }
        let before = crate::clock::now_ticks();
        crate::sys::nap();
        books.slept += crate::clock::now_ticks().saturating_sub(before);
    }
}

#[cfg(not(any(loom, shuttle)))]
impl Drop for Contention {
    fn drop(&mut self) {
        let books = &self.books;
        let ticks = crate::clock::now_ticks().saturating_sub(books.started);
        crate::ledger::with_current(|account| {
            let cell = account.spin(books.class);
            cell.collisions.add(1);
            cell.spins.add(books.spins);
            cell.spin_ticks.add(ticks.saturating_sub(books.slept));
            cell.backoffs.add(books.backoffs);
            cell.sleep_ticks.add(books.slept);
        });
    }
}
