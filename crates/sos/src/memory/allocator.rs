//! The process's allocator: extents above 10 KB, mimalloc below, with every byte charged to a
//! clerk.
//!
//! A block is charged to the thread's current clerk, and a table records that clerk: for an extent
//! the table of pages (`pool.rs`), for a smaller block the table of the heap (`tag.rs`). Freeing
//! the block, on any thread, credits that clerk, and a block that grows stays with it.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::ptr;

use mimalloc::MiMalloc;

use super::clerk::{book, current};
use super::tag::{self, TAGGED_BYTES};
use super::{MemoryClerk, heap, pool, signed, with_clerk};
use crate::ledger;

/// Blocks of this size and more are extents. For blocks above 10 KB mimalloc takes 512 KB at once
/// (`MI_SMALL_MAX_OBJ_SIZE`), and a single block keeps all of it. Below, mimalloc is better: its
/// blocks do not all start at the same offset of a page, where columns that are read together would
/// compete for the same cache lines.
const EXTENTS_FROM_BYTES: usize = (10 << 10) + 1;
/// The strictest alignment that extents have.
const EXTENT_ALIGN_BYTES: usize = 8 << 10;

/// The allocator to declare in the binary: `#[global_allocator] static A: Allocator = Allocator;`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

unsafe extern "C" {
    fn mi_malloc(size: usize) -> *mut c_void;
    fn mi_heap_malloc(heap: *mut c_void, size: usize) -> *mut c_void;
    fn mi_heap_malloc_aligned(heap: *mut c_void, size: usize, align: usize) -> *mut c_void;
    fn mi_heap_zalloc_aligned(heap: *mut c_void, size: usize, align: usize) -> *mut c_void;
    fn mi_heap_realloc_aligned(
        heap: *mut c_void,
        block: *mut c_void,
        size: usize,
        align: usize,
    ) -> *mut c_void;
}

/// mimalloc's heap for a clerk's blocks; null for the default heap, which most clerks share.
#[inline]
fn heap_of(clerk: MemoryClerk) -> *mut c_void {
    if clerk == MemoryClerk::Xtp { heap::rows() } else { ptr::null_mut() }
}

/// Takes a block from mimalloc. Few layouts need its function for aligned blocks, which takes a
/// larger block and aligns within it whenever the free list of the size is empty.
///
/// # Safety
/// As [`GlobalAlloc::alloc`]; the layout comes from [`placed`].
#[inline]
unsafe fn take(clerk: MemoryClerk, layout: Layout) -> *mut u8 {
    let (heap, bytes, align) = (heap_of(clerk), layout.size(), layout.align());
    // mimalloc aligns every block to 16 bytes, which it asserts in `mi_page_malloc_zero`.
    let block = match (heap.is_null(), align <= TAGGED_BYTES) {
        // SAFETY: returns a block of this size or null.
        (true, true) => unsafe { mi_malloc(bytes) },
        // SAFETY: the caller's promise.
        (true, false) => return unsafe { MiMalloc.alloc(layout) },
        // SAFETY: as for the first arm.
        (false, true) => unsafe { mi_heap_malloc(heap, bytes) },
        // SAFETY: as for the first arm, with this alignment.
        (false, false) => unsafe { mi_heap_malloc_aligned(heap, bytes, align) },
    };
    block.cast()
}

/// Takes a block of zeros.
///
/// # Safety
/// As [`take`].
unsafe fn take_zeroed(clerk: MemoryClerk, layout: Layout) -> *mut u8 {
    let heap = heap_of(clerk);
    if heap.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { MiMalloc.alloc_zeroed(layout) };
    }
    // SAFETY: returns a block of this size and alignment or null.
    unsafe { mi_heap_zalloc_aligned(heap, layout.size(), layout.align()) }.cast()
}

/// Resizes a block, and perhaps moves it.
///
/// # Safety
/// As [`GlobalAlloc::realloc`]; the block is one of [`take`]'s for this clerk.
unsafe fn retake(clerk: MemoryClerk, block: *mut u8, layout: Layout) -> *mut u8 {
    let (heap, bytes, align) = (heap_of(clerk), layout.size(), layout.align());
    if heap.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { MiMalloc.realloc(block, layout, bytes) };
    }
    // SAFETY: the caller's promise.
    unsafe { mi_heap_realloc_aligned(heap, block.cast(), bytes, align) }.cast()
}

/// The size of a cache line in bytes.
const LINE_BYTES: usize = 64;

/// The layout to ask mimalloc for: at least [`TAGGED_BYTES`], so that the block has a tag. Memory
/// that all threads read gets whole cache lines, so that the thread that made it never writes to
/// one of them later.
#[inline]
fn placed(clerk: MemoryClerk, layout: Layout) -> Layout {
    if clerk.is_read_by_all() {
        let lines = layout.align_to(LINE_BYTES).map(|layout| layout.pad_to_align());
        return lines.unwrap_or(layout);
    }
    let size = layout.size().max(TAGGED_BYTES);
    Layout::from_size_align(size, layout.align()).unwrap_or(layout)
}

/// Allocates a small block, or a larger one that must come from mimalloc.
///
/// # Safety
/// As [`GlobalAlloc::alloc`].
#[inline]
unsafe fn alloc_block(layout: Layout, zeroed: Zeroed) -> *mut u8 {
    let clerk = current();
    let whole = placed(clerk, layout);
    let block = match zeroed {
        // SAFETY: at least as large and as aligned as the caller's layout, which is not of size
        // zero.
        Zeroed::No => unsafe { take(clerk, whole) },
        // SAFETY: as above.
        Zeroed::Yes => unsafe { take_zeroed(clerk, whole) },
    };
    if block.is_null() {
        return block;
    }
    // SAFETY: the block is new, and `placed` made it large enough for a tag.
    let clerk = unsafe { tag::mark(block.addr(), clerk) };
    book(clerk, signed(layout.size()), layout.size());
    block
}

/// Frees a block that `alloc_block` returned.
///
/// # Safety
/// As [`GlobalAlloc::dealloc`].
#[inline]
unsafe fn free_block(block: *mut u8, layout: Layout) {
    // SAFETY: `alloc_block` marked it.
    let clerk = unsafe { tag::owner(block.addr()) };
    book(clerk, -signed(layout.size()), layout.size());
    // SAFETY: the caller's promise; mimalloc does not use the layout to free a block.
    unsafe { MiMalloc.dealloc(block, layout) };
}

/// Resizes a block that `alloc_block` returned; it stays with its clerk.
///
/// # Safety
/// As [`GlobalAlloc::realloc`].
#[inline]
unsafe fn resize_block(block: *mut u8, layout: Layout, wanted: Layout) -> *mut u8 {
    // SAFETY: `alloc_block` marked it.
    let clerk = unsafe { tag::owner(block.addr()) };
    let whole = placed(clerk, wanted);
    // SAFETY: the caller's promise; at least as large and as aligned as asked for.
    let moved = unsafe { retake(clerk, block, whole) };
    if moved.is_null() {
        return moved;
    }
    book(clerk, -signed(layout.size()), layout.size());
    // SAFETY: only the caller has the block, and `placed` made it large enough for a tag.
    let clerk = unsafe { tag::mark(moved.addr(), clerk) };
    book(clerk, signed(wanted.size()), wanted.size());
    moved
}

/// Takes an extent for a block; `None` if the block must come from mimalloc.
fn alloc_extent(layout: Layout, zeroed: Zeroed) -> Option<*mut u8> {
    // A thread without an account has no number to lock with, and opening an account needs memory.
    if layout.align() > EXTENT_ALIGN_BYTES || !ledger::is_open() {
        return None;
    }
    let clerk = current();
    let taken = pool::take(layout.size(), clerk)?;
    let start = taken.start.as_ptr();
    if matches!(zeroed, Zeroed::Yes) && !taken.is_zero {
        // SAFETY: the extent has at least as many bytes.
        unsafe { start.write_bytes(0, layout.size()) };
    }
    let bytes = pool::taken_bytes(layout.size());
    book(clerk, signed(bytes), bytes);
    Some(start)
}

/// Frees a block that is an extent.
///
/// # Safety
/// `block` came from `alloc_extent` with this size, and is not used any more.
unsafe fn free_extent(block: *mut u8, bytes: usize) {
    // SAFETY: the extent is taken.
    let clerk = unsafe { pool::clerk_of(block.addr()) };
    let taken = pool::taken_bytes(bytes);
    book(clerk, -signed(taken), taken);
    // SAFETY: the caller's promise.
    unsafe { pool::give(block.addr(), bytes) };
}

#[derive(Clone, Copy)]
enum Zeroed {
    No,
    Yes,
}

// SAFETY: every call is passed on to mimalloc with a layout at least as large and as aligned, or to
// the pool; the block's address says which of the two has it.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= EXTENTS_FROM_BYTES
            && let Some(start) = alloc_extent(layout, Zeroed::No)
        {
            return start;
        }
        // SAFETY: the caller's promise.
        unsafe { alloc_block(layout, Zeroed::No) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= EXTENTS_FROM_BYTES
            && let Some(start) = alloc_extent(layout, Zeroed::Yes)
        {
            return start;
        }
        // SAFETY: the caller's promise.
        unsafe { alloc_block(layout, Zeroed::Yes) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= EXTENTS_FROM_BYTES && pool::has(block.addr()) {
            // SAFETY: that range holds only extents.
            return unsafe { free_extent(block, layout.size()) };
        }
        // SAFETY: the caller's promise.
        unsafe { free_block(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        let is_extent = layout.size() >= EXTENTS_FROM_BYTES && pool::has(block.addr());
        if is_extent && size >= EXTENTS_FROM_BYTES {
            // The new size may fit in place. A size below the extents' is rounded differently.
            if pool::taken_bytes(size) == pool::taken_bytes(layout.size()) {
                return block;
            }
        } else if !is_extent && size < EXTENTS_FROM_BYTES {
            // SAFETY: the caller's promise.
            return unsafe { resize_block(block, layout, wanted) };
        }
        // A block stays with its clerk.
        let clerk = if is_extent {
            // SAFETY: it is an extent, and taken.
            unsafe { pool::clerk_of(block.addr()) }
        } else {
            // SAFETY: a block that is no extent was marked.
            unsafe { tag::owner(block.addr()) }
        };
        // SAFETY: the caller's promise about `size`.
        let moved = with_clerk(clerk, || unsafe { self.alloc(wanted) });
        if !moved.is_null() {
            // SAFETY: both blocks are alive, distinct, and at least that long.
            unsafe { ptr::copy_nonoverlapping(block, moved, size.min(layout.size())) };
            // SAFETY: the caller does not use the old block any more.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}
