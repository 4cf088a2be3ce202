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
        /// The sampler's sums.
        SosSampler => "SOS_SAMPLER",
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
