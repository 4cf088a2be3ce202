//! The classes of spinlocks and latches, with SQL Server's name for the lock of the same resource,
//! and one thread's counters of a class.

#[cfg(not(any(loom, shuttle)))]
use crate::counter::Counter;
use crate::registry::registry;

registry! {
    /// The resource that a spinlock guards.
    pub enum SpinClass {
        /// The metadata cache, in exclusive mode.
        CmedHashSet => "CMED_HASH_SET",
        /// The metadata cache, in reader/writer mode.
        LockRwCmedHashSet => "LOCK_RW_CMED_HASH_SET",
        /// Cached logins and permissions.
        LockRwSecurityCache => "LOCK_RW_SECURITY_CACHE",
        /// The wait list of a reader/writer lock of the machine layer.
        SosRw => "SOS_RW",
        /// The allocator of large pages.
        SosLargePageAllocator => "SOS_LARGEPAGE_ALLOCATOR",
        /// The queues and the mail of a scheduler.
        SosScheduler => "SOS_SCHEDULER",
        /// The list of a machine's threads.
        SosThreadList => "SOS_THREAD_LIST",
        /// A bucket of the parking lot.
        SosWaitList => "SOS_WAITABLE_ADDRESS_HASHBUCKET",
        /// Threads that take part in memory reclamation.
        SosEpoch => "SOS_EPOCH",
        /// A cancellation flag's list of parked threads.
        SosCancel => "SOS_CANCEL",
        /// Memory clerks and extents.
        SosMemory => "SOS_BLOCKALLOCPARTIALLIST",
        /// The sums of the sampler.
        SosSampler => "SOS_SAMPLER",
        /// Hash buckets of the lock manager.
        LockHash => "LOCK_HASH",
        /// The list of an instance's sessions.
        SessionManager => "SESSION_MANAGER",
        /// A table's index structures.
        XtpIndex => "XTP_INDEX",
        /// Transactions of the row store.
        XtpTransaction => "XTP_TRANSACTION",
        /// The cache of plans.
        PlanCache => "SQL_MGR",
        /// Buffers of the transaction log.
        LogManager => "LOGCACHE_ACCESS",
        /// Any other data of a server.
        ServerOther => "SERVER_OTHER",
    }
}

registry! {
    /// The resource that a latch guards.
    pub enum LatchClass {
        /// The catalog, while it is changed.
        Catalog => "CATALOG",
        /// An index of a table.
        Index => "ACCESS_METHODS_HOBT",
        /// A table's row groups.
        RowGroup => "COLUMNSTORE_ROWGROUP",
        /// The log manager: the transaction log.
        Log => "LOG_MANAGER",
        /// The data of a database.
        Database => "DATABASE",
        /// Any other data of a server.
        Other => "SERVER_OTHER",
    }
}

/// One thread's counters of one class of spinlocks. Times are in ticks of the clock.
#[cfg(not(any(loom, shuttle)))]
#[derive(Debug, Default)]
pub struct SpinCell {
    /// Attempts that found the lock taken.
    pub collisions: Counter,
    /// The number of rounds of spinning.
    pub spins: Counter,
    /// The time spent spinning, in ticks.
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

/// Replaces the counters under a model checker.
#[cfg(any(loom, shuttle))]
#[derive(Debug, Default)]
pub struct SpinCell;
