//! Tags: the clerk of each small block, one byte for each 16 bytes of the heap, in a separate
//! table.
//!
//! ```text
//!   heap   ├──16──┼──16──┼──16──┼──16──┤   each block starts at a different multiple of 16
//!   table  [ Xtp ][      ][ Plan][      ]   the byte of its first 16 is its clerk
//! ```
//! A tag is written when a block is taken and read when it is freed, so that the clerk that was
//! charged is credited, on whatever thread the block is freed. A block outside the heap (the system
//! refused addresses, or the heap is full) has no tag and is charged to [`MemoryClerk::General`].
//!
//! The table is a sixteenth of the heap, populated slice by slice as those are taken
//! ([`super::heap`]).

use std::ptr;

use super::MemoryClerk;
use super::space::HEAP;
use crate::sync::{AtomicUsize, Ordering};

/// Bytes of the heap per tag. Every block has at least this size and starts at a multiple of it:
/// mimalloc's `MI_MAX_ALIGN_SIZE`, of which all its sizes from 16 bytes on are multiples
/// (`mi_good_size`).
pub(super) const TAGGED_BYTES: usize = 16;

/// Where the tag of address 0 would be: this plus a block's address divided by 16 is its tag.
static ORIGIN: AtomicUsize = AtomicUsize::new(0);

/// Sets the table of tags.
///
/// # Safety
/// `table` has a zero byte for each 16 bytes of the heap. Only this file uses it, forever.
pub(super) unsafe fn open(table: usize, heap_start: usize) {
    // Relaxed, here and below: set before there is a second thread.
    ORIGIN.store(table.wrapping_sub(heap_start / TAGGED_BYTES), Ordering::Relaxed);
}

/// Tags a block that was just taken with a clerk; returns the clerk to charge, which is
/// [`MemoryClerk::General`] for a block without a tag.
///
/// # Safety
/// Only the caller has the block, which is large enough for a tag: at least 16 bytes, aligned to
/// 16.
#[inline]
pub(super) unsafe fn mark(block: usize, clerk: MemoryClerk) -> MemoryClerk {
    if !HEAP.has(block) {
        return MemoryClerk::General;
    }
    // SAFETY: the table has a byte for this address, and only the caller has its block.
    unsafe { tag_of(block).write(clerk as u8) };
    clerk
}

/// The clerk of a block.
///
/// # Safety
/// The block was marked, and only the caller has it.
#[inline]
pub(super) unsafe fn owner(block: usize) -> MemoryClerk {
    if !HEAP.has(block) {
        return MemoryClerk::General;
    }
    // SAFETY: the table has a byte for this address; `mark` wrote it before the block was passed on
    // to this thread.
    let index = unsafe { tag_of(block).read() };
    MemoryClerk::ALL.get(usize::from(index)).copied().expect("only `mark` writes the table")
}

#[inline]
fn tag_of(block: usize) -> *mut u8 {
    let origin = ORIGIN.load(Ordering::Relaxed);
    ptr::with_exposed_provenance_mut(origin.wrapping_add(block / TAGGED_BYTES))
}

/// The address and size of the part of the table for a part of the heap.
pub(super) fn table_of(start: usize, bytes: usize) -> (usize, usize) {
    let origin = ORIGIN.load(Ordering::Relaxed);
    (origin.wrapping_add(start / TAGGED_BYTES), bytes / TAGGED_BYTES)
}
