//! Memory clerks: how many bytes each part of the server holds, for `sys.dm_os_memory_clerks`.
//!
//! Each thread keeps its differences and adds them to the shared sums when they reach 64 KB, so
//! that an allocation writes no shared cache line.

use std::cell::Cell;

use super::space::{EXTENTS, HEAP};
use crate::registry::registry;
use crate::sampler::count_allocated;
use crate::sync::{AtomicI64, AtomicU64, CachePadded, Ordering};

registry! {
    /// The part of the server that memory is charged to.
    pub enum MemoryClerk {
        /// Memory that no other clerk claims.
        General => "MEMORYCLERK_SQLGENERAL",
        /// The machine layer itself: its threads' accounts, and their stacks.
        SosNode => "MEMORYCLERK_SOSNODE",
        /// Free memory that is resident, which the trimmer may return to the system.
        SosMemoryManager => "MEMORYCLERK_SOSMEMMANAGER",
        /// The allocator's own loss: free small blocks, and the bytes by which blocks are rounded
        /// up.
        SosOs => "MEMORYCLERK_SOSOS",
        /// Connections: sockets, packets, sessions.
        ConnectionPool => "MEMORYCLERK_SQLCONNECTIONPOOL",
        /// Working memory of running statements.
        QueryExec => "MEMORYCLERK_SQLQUERYEXEC",
        /// Memory granted to statements before they run.
        QueryReservations => "MEMORYCLERK_SQLQERESERVATIONS",
        /// Parsing, binding and planning.
        Optimizer => "MEMORYCLERK_SQLOPTIMIZER",
        /// Cached plans of procedures.
        ObjectPlans => "CACHESTORE_OBJCP",
        /// Cached plans of batches.
        SqlPlans => "CACHESTORE_SQLCP",
        /// Metadata of the catalog.
        Metadata => "USERSTORE_SCHEMAMGR",
        /// Rows and indexes of memory-optimized tables.
        Xtp => "MEMORYCLERK_XTP",
        /// The storage engine: row groups, delta stores.
        StorageEngine => "MEMORYCLERK_SQLSTORENG",
        /// Segments of columnstore indexes and tables.
        ColumnStore => "CACHESTORE_COLUMNSTOREOBJECTPOOL",
        /// Locks and their owners.
        LockManager => "OBJECTSTORE_LOCK_MANAGER",
        /// Buffers of the transaction log.
        LogPool => "MEMORYCLERK_SQLLOGPOOL",
        /// What the Query Stores of databases have recorded.
        QueryStore => "MEMORYCLERK_QUERYDISKSTORE",
        /// Buffers of extended events.
        ExtendedEvents => "MEMORYCLERK_XE_BUFFER",
        /// Memory that the system's loader took: pages and variables of the binary and its
        /// libraries.
        Host => "MEMORYCLERK_HOST",
    }
}

impl MemoryClerk {
    /// Whether its memory is written once and then read by all threads.
    #[inline]
    pub(super) const fn is_read_by_all(self) -> bool {
        matches!(self, Self::ObjectPlans | Self::SqlPlans | Self::Metadata)
    }
}

/// The bytes per clerk that a thread may not yet have added to the shared sums.
const FLUSH_BYTES: i64 = 64 * 1024;

/// Allocations of this size and more are counted as pages.
pub(super) const PAGE_BYTES: usize = 8192;

thread_local! {
    static CLERK: Cell<MemoryClerk> = const { Cell::new(MemoryClerk::General) };
    // No destructor: the allocator is called while a thread's other locals are being destroyed.
    static BYTES: [Cell<i64>; MemoryClerk::COUNT] =
        const { [const { Cell::new(0) }; MemoryClerk::COUNT] };
    static PAGE_BYTES_HELD: [Cell<i64>; MemoryClerk::COUNT] =
        const { [const { Cell::new(0) }; MemoryClerk::COUNT] };
    static PAGES_TAKEN_HELD: Cell<u64> = const { Cell::new(0) };
}

/// The allocations that a thread may not yet have added to [`PAGES_TAKEN`].
const PAGES_TAKEN_HELD_MAX: u64 = 16;

/// Allocations of 8 KB and more since the start.
static PAGES_TAKEN: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));

struct Totals {
    bytes: AtomicI64,
    page_bytes: AtomicI64,
}

static TOTALS: [CachePadded<Totals>; MemoryClerk::COUNT] = [const {
    CachePadded::new(Totals { bytes: AtomicI64::new(0), page_bytes: AtomicI64::new(0) })
}; MemoryClerk::COUNT];

/// Charges what `run` allocates to a clerk; the innermost call counts.
pub fn with_clerk<R>(clerk: MemoryClerk, run: impl FnOnce() -> R) -> R {
    struct Restore(MemoryClerk);
    impl Drop for Restore {
        fn drop(&mut self) {
            CLERK.set(self.0);
        }
    }
    let _restore = Restore(CLERK.replace(clerk));
    run()
}

/// The clerk to which the calling thread's allocations are charged.
#[inline]
pub(super) fn current() -> MemoryClerk {
    CLERK.get()
}

/// Adds to a clerk's bytes; negative when memory is freed. `size` is that of the block.
#[inline]
pub(super) fn book(clerk: MemoryClerk, bytes: i64, size: usize) {
    let index = clerk.index();
    if size >= PAGE_BYTES {
        PAGE_BYTES_HELD.with(|held| held[index].set(held[index].get() + bytes));
        if bytes > 0 {
            count_page_allocation();
        }
    }
    if bytes > 0 {
        count_allocated(clerk, bytes);
    }
    BYTES.with(|held| {
        let sum = held[index].get() + bytes;
        held[index].set(sum);
        if sum.abs() >= FLUSH_BYTES {
            flush_clerk(clerk);
        }
    });
}

fn count_page_allocation() {
    let taken = PAGES_TAKEN_HELD.get() + 1;
    PAGES_TAKEN_HELD.set(taken);
    // A loop that takes and frees a page never reaches a sum of bytes that would be reported.
    if taken == PAGES_TAKEN_HELD_MAX {
        flush_pages_taken();
    }
}

#[cold]
fn flush_pages_taken() {
    // Relaxed: a sum, which orders nothing.
    PAGES_TAKEN.fetch_add(PAGES_TAKEN_HELD.replace(0), Ordering::Relaxed);
}

/// Returns how often 8 KB or more were allocated since the start, except for what other threads
/// have not yet reported: at most 15 each.
#[must_use]
pub fn page_allocations() -> u64 {
    flush_pages_taken();
    PAGES_TAKEN.load(Ordering::Relaxed)
}

#[cold]
fn flush_clerk(clerk: MemoryClerk) {
    let index = clerk.index();
    let bytes = BYTES.with(|held| held[index].replace(0));
    let pages = PAGE_BYTES_HELD.with(|held| held[index].replace(0));
    // Relaxed: sums, which order nothing.
    TOTALS[index].bytes.fetch_add(bytes, Ordering::Relaxed);
    TOTALS[index].page_bytes.fetch_add(pages, Ordering::Relaxed);
    super::budget::book(bytes);
}

/// Adds the calling thread's differences to the shared sums, before a view is built.
pub fn flush() {
    flush_books();
}

/// As [`flush`], and frees the extents that the thread keeps: when a background task has done its
/// work and waits for more.
pub(crate) fn retire() {
    super::pool::flush();
    flush_books();
}

/// As [`retire`], but the thread keeps nothing from now on: called at its end.
pub(crate) fn close() {
    super::pool::close();
    flush_books();
}

/// Frees the extents that the calling thread keeps, and lets other threads use the free space
/// beside its small blocks. For a thread that has been idle for a while ([`super::TIDY_NS`]).
pub fn tidy() {
    super::heap::abandon();
    retire();
}

fn flush_books() {
    flush_pages_taken();
    for &clerk in MemoryClerk::ALL {
        flush_clerk(clerk);
    }
}

/// What one clerk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClerkRow {
    /// The clerk that the row is about.
    pub clerk: MemoryClerk,
    /// The bytes charged to it.
    pub bytes: u64,
    /// The part of them in allocations of 8 KB and more.
    pub page_bytes: u64,
    /// The address of its sums, which identifies it in views.
    pub address: usize,
}

/// What every clerk holds, except for what other threads have not yet reported: at most 64 KB each.
#[must_use]
pub fn clerks() -> Vec<ClerkRow> {
    flush();
    let positive = |sum: &AtomicI64| u64::try_from(sum.load(Ordering::Relaxed)).unwrap_or(0);
    let row = |&clerk: &MemoryClerk| {
        let totals = &TOTALS[clerk.index()];
        let (bytes, page_bytes) = (positive(&totals.bytes), positive(&totals.page_bytes));
        ClerkRow { clerk, bytes, page_bytes, address: (&raw const *totals).addr() }
    };
    let mut rows: Vec<_> = MemoryClerk::ALL.iter().map(row).collect();
    // Memory that no block uses, from the counters of the two spaces.
    let used: u64 = rows.iter().map(|row| row.bytes).sum();
    let idle = super::pool::idle_bytes() + super::heap::idle_bytes();
    let populated = EXTENTS.populated() + HEAP.populated();
    let mut add = |clerk: MemoryClerk, bytes: u64, page_bytes: u64| {
        let row = &mut rows[clerk.index()];
        row.bytes += bytes;
        row.page_bytes += page_bytes;
    };
    add(MemoryClerk::SosMemoryManager, idle, idle);
    add(MemoryClerk::SosOs, populated.saturating_sub(used + idle), 0);
    let files = crate::sys::process_memory().map_or(0, |memory| memory.file_kb * 1024);
    // The stack table is a variable of the binary too.
    let stack_table = crate::stack::table_bytes();
    let host = files + crate::sys::resident_variables().saturating_sub(stack_table);
    add(MemoryClerk::Host, host, host);
    let stacks = super::stacks::stacks_bytes();
    add(MemoryClerk::SosNode, stack_table + stacks, stacks);
    rows
}
