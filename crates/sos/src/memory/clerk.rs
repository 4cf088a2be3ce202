//! Memory clerks: who holds how many bytes. Each thread keeps differences, and adds them to the
//! shared sums when they reach 64 KB, so that allocating writes no shared line.

use std::cell::Cell;

use super::space::{EXTENTS, HEAP};
use crate::registry::registry;
use crate::sampler::count_allocated;
use crate::sync::{AtomicI64, AtomicU64, CachePadded, Ordering};

registry! {
    /// What memory is for.
    pub enum MemoryClerk {
        /// Anything that nobody has claimed.
        General => "MEMORYCLERK_SQLGENERAL",
        /// The machine layer itself: its threads' accounts, and their stacks.
        SosNode => "MEMORYCLERK_SOSNODE",
        /// What is free and has memory behind it, and what the trimmer may give back.
        SosMemoryManager => "MEMORYCLERK_SOSMEMMANAGER",
        /// What the allocator keeps: free small blocks, and what they are rounded up by.
        SosOs => "MEMORYCLERK_SOSOS",
        /// Connections: sockets, packets, sessions.
        ConnectionPool => "MEMORYCLERK_SQLCONNECTIONPOOL",
        /// Running statements.
        QueryExec => "MEMORYCLERK_SQLQUERYEXEC",
        /// Memory grants.
        QueryReservations => "MEMORYCLERK_SQLQERESERVATIONS",
        /// Parsing, binding and planning.
        Optimizer => "MEMORYCLERK_SQLOPTIMIZER",
        /// Cached plans of procedures.
        ObjectPlans => "CACHESTORE_OBJCP",
        /// Cached plans of batches.
        SqlPlans => "CACHESTORE_SQLCP",
        /// The catalog.
        Metadata => "USERSTORE_SCHEMAMGR",
        /// Rows and indexes of memory-optimized tables.
        Xtp => "MEMORYCLERK_XTP",
        /// Tables on the storage engine's own terms: row groups, delta stores.
        StorageEngine => "MEMORYCLERK_SQLSTORENG",
        /// Segments of columnstores.
        ColumnStore => "CACHESTORE_COLUMNSTOREOBJECTPOOL",
        /// Locks.
        LockManager => "OBJECTSTORE_LOCK_MANAGER",
        /// The log's buffers.
        LogPool => "MEMORYCLERK_SQLLOGPOOL",
        /// Extended events.
        ExtendedEvents => "MEMORYCLERK_XE_BUFFER",
        /// What the system put there: the binary's own pages and variables, and those of its
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

/// Bytes that a thread may hold back from the shared sums, per clerk.
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

/// Allocations that a thread may hold back from [`PAGES_TAKEN`].
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

/// Books what `run` allocates on a clerk; the innermost one counts.
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

/// The clerk that the calling thread's allocations go to.
#[inline]
pub(super) fn current() -> MemoryClerk {
    CLERK.get()
}

/// Books a change of a clerk's bytes.
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
    // A loop that takes and gives a page leaves no sum of bytes that would be reported.
    if taken == PAGES_TAKEN_HELD_MAX {
        flush_pages_taken();
    }
}

#[cold]
fn flush_pages_taken() {
    // Relaxed: a sum, which orders nothing.
    PAGES_TAKEN.fetch_add(PAGES_TAKEN_HELD.replace(0), Ordering::Relaxed);
}

/// Returns how often 8 KB or more were allocated since the start: exact but for what other threads
/// still hold back, at most 15 each.
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

/// As [`flush`], and gives back the extents that the thread keeps for itself: when a task in the
/// background has done its part and waits for the next.
pub(crate) fn retire() {
    super::pool::flush();
    flush_books();
}

/// As [`retire`], for good: at the end of a thread.
pub(crate) fn close() {
    super::pool::close();
    flush_books();
}

/// Gives back what the calling thread keeps for itself, and lets others have what room is left
/// beside its blocks: of a thread that has had nothing to do for a while ([`super::TIDY_NS`]) and
/// may have again.
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

/// One clerk's holdings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClerkRow {
    /// The clerk.
    pub clerk: MemoryClerk,
    /// Bytes it holds.
    pub bytes: u64,
    /// The part of them in allocations of 8 KB and more.
    pub page_bytes: u64,
    /// Where its sums are.
    pub address: usize,
}

/// Every clerk's holdings: exact but for what other threads still hold back, at most 64 KB each.
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
    // What is in nobody's use, from the books of the two spaces.
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
    // Which is a variable too.
    let stack_table = crate::stack::table_bytes();
    let host = files + crate::sys::resident_variables().saturating_sub(stack_table);
    add(MemoryClerk::Host, host, host);
    let stacks = super::stacks::stacks_bytes();
    add(MemoryClerk::SosNode, stack_table + stacks, stacks);
    rows
}
