//! Visible readers: the protocol between writers and readers that write no shared cache line.
//!
//! A reader stores the lock's address in its own [`Row`] and then checks that the lock still
//! favours readers; a writer ends the favour and then scans the rows. This is Dekker's pattern:
//! each side needs a fence between its store and its loads. With membarrier(2) the writer's system
//! call replaces the fences of all readers, which then cost nothing.

#[cfg(not(any(loom, shuttle)))]
use crate::sync::{AtomicBool, OnceLock};
use crate::sync::{AtomicUsize, Ordering, fence};

use super::{Proven, Row};

/// The memory orderings of visible readers; other than [`Proven`] only in tests that must fail.
pub trait ReaderOrders {
    /// Whether readers have their barrier.
    const READER_BARRIER: bool;
    /// Whether writers have their barrier.
    const WRITER_BARRIER: bool;
    /// The ordering of the store by which a reader leaves.
    const LEAVE: Ordering;
    /// The ordering of the writer's loads of the slots.
    const SCAN: Ordering;
}

impl ReaderOrders for Proven {
    const READER_BARRIER: bool = true;
    const WRITER_BARRIER: bool = true;
    // Release: pairs with the Acquire of `SCAN`, so that a read is over before the writer begins.
    const LEAVE: Ordering = Ordering::Release;
    const SCAN: Ordering = Ordering::Acquire;
}

/// A visible read: the slot that shows it.
pub type Shown<'a> = &'a AtomicUsize;

/// Shows a read of the lock at `address` in the thread's row; `None` if the row is full or the lock
/// does not favour readers afterwards.
#[inline]
pub(super) fn enter<O: ReaderOrders>(
    row: &Row,
    address: usize,
    still_favoured: impl FnOnce() -> bool,
) -> Option<Shown<'_>> {
    let slot = row.show(address)?;
    reader_barrier::<O>();
    if still_favoured() {
        return Some(slot);
    }
    leave::<O>(slot);
    None
}

/// Ends a visible read.
#[inline]
pub(super) fn leave<O: ReaderOrders>(slot: Shown<'_>) {
    slot.store(0, O::LEAVE);
}

/// Waits until no row shows a read of the lock at `address`, which no longer favours readers.
/// `pause` lets time pass between two checks.
pub(super) fn wait_out<O: ReaderOrders>(rows: &[Row], address: usize, mut pause: impl FnMut()) {
    for row in rows {
        while row.shows(address, O::SCAN) {
            pause();
        }
    }
}

#[inline]
fn reader_barrier<O: ReaderOrders>() {
    if is_asymmetric() {
        // Keeps the compiler from reordering; `writer_barrier` orders the CPU.
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else if O::READER_BARRIER {
        // SeqCst: pairs with the one in `writer_barrier`.
        fence(Ordering::SeqCst);
    }
}

/// After this, the writer sees each reader that found the lock in favour of readers.
pub(super) fn writer_barrier<O: ReaderOrders>() {
    if !O::WRITER_BARRIER {
        return;
    }
    if is_asymmetric() {
        barrier_on_all_cpus();
    } else {
        // SeqCst: pairs with the one in `reader_barrier`.
        fence(Ordering::SeqCst);
    }
}

/// Whether the kernel has membarrier(2). Written once, by the first lock that asks.
#[cfg(not(any(loom, shuttle)))]
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

/// Registers with the kernel; called when a lock with visible readers is made, before it has any.
#[cfg(not(any(loom, shuttle)))]
pub(super) fn prepare() {
    static REGISTERED: OnceLock<()> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        // Relaxed: a thread that uses the lock synchronizes with the thread that made it.
        ASYMMETRIC.store(crate::sys::register_membarrier(), Ordering::Relaxed);
    });
}

#[cfg(not(any(loom, shuttle)))]
#[inline]
fn is_asymmetric() -> bool {
    ASYMMETRIC.load(Ordering::Relaxed)
}

#[cfg(not(any(loom, shuttle)))]
fn barrier_on_all_cpus() {
    crate::sys::membarrier();
}

#[cfg(any(loom, shuttle))]
pub(super) fn prepare() {}

#[cfg(any(loom, shuttle))]
const fn is_asymmetric() -> bool {
    false
}

#[cfg(any(loom, shuttle))]
fn barrier_on_all_cpus() {}
