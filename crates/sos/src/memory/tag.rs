//! Whose each small block is: one byte for each 16 bytes of the heap, in a table of its own.
//!
//! ```text
//!   heap   ├──16──┼──16──┼──16──┼──16──┤   a block begins where no other does: at a multiple of 16
//!   table  [ Xtp ][      ][ Plan][      ]   the byte of its first 16 says whose it is
//! ```
//! Written when a block is taken, read when it is given back: so it goes back to the clerk that it
//! came from, whoever frees it, and clerks cannot drift apart. A block outside of the heap (a
//! system that refuses to reserve addresses, a heap that is full) has no byte:
//! [`MemoryClerk::General`] takes it and gives it back.
//!
//! The table is a sixteenth of the heap, populated slice by slice as those are taken
//! ([`super::heap`]).

use std::ptr;

use super::MemoryClerk;
use super::space::HEAP;
use crate::sync::{AtomicUsize, Ordering};

/// What has one byte; every block takes as much, and begins at a multiple of it: mimalloc's
/// `MI_MAX_ALIGN_SIZE`, which all its sizes of 16 bytes and more are multiples of (`mi_good_size`).
pub(super) const TAGGED_BYTES: usize = 16;

/// Where the byte of address 0 would be, so that an address divided by 16 finds its own.
static ORIGIN: AtomicUsize = AtomicUsize::new(0);

/// Begins to mark blocks of the heap.
///
/// # Safety
/// `table` is a byte for each 16 of the heap, of zeros, for this alone and for good.
pub(super) unsafe fn open(table: usize, heap_start: usize) {
    // Relaxed, here and below: set before there is a second thread.
    ORIGIN.store(table.wrapping_sub(heap_start / TAGGED_BYTES), Ordering::Relaxed);
}

/// Marks a block that was just taken as a clerk's; returns whose it is from now on.
///
/// # Safety
/// The block is the caller's alone, and has a byte of its own: at least 16 bytes, aligned to as
/// many.
#[inline]
pub(super) unsafe fn mark(block: usize, clerk: MemoryClerk) -> MemoryClerk {
    if !HEAP.has(block) {
        return MemoryClerk::General;
    }
    // SAFETY: the table has a byte for this address, and its block is nobody else's.
    unsafe { tag_of(block).write(clerk as u8) };
    clerk
}

/// Whose a block is.
///
/// # Safety
/// The block was marked, and is the caller's alone.
#[inline]
pub(super) unsafe fn owner(block: usize) -> MemoryClerk {
    if !HEAP.has(block) {
        return MemoryClerk::General;
    }
    // SAFETY: the table has a byte for this address; `mark` wrote it, and who handed the block on
    // to this thread handed on what was written before.
    let index = unsafe { tag_of(block).read() };
    MemoryClerk::ALL.get(usize::from(index)).copied().expect("only `mark` writes the table")
}

#[inline]
fn tag_of(block: usize) -> *mut u8 {
    let origin = ORIGIN.load(Ordering::Relaxed);
    ptr::with_exposed_provenance_mut(origin.wrapping_add(block / TAGGED_BYTES))
}

/// The part of the table for a part of the heap: its address and size.
pub(super) fn table_of(start: usize, bytes: usize) -> (usize, usize) {
    let origin = ORIGIN.load(Ordering::Relaxed);
    (origin.wrapping_add(start / TAGGED_BYTES), bytes / TAGGED_BYTES)
}
