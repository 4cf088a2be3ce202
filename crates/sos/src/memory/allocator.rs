//! The process's allocator: extents from 64 KB on, mimalloc below, with every byte booked on a clerk.
//!
//! Who frees a small block is assumed to be who allocated it, on the thread's current clerk; the
//! totals are exact, and clerks drift apart by what one makes and another drops. Plans and catalogs,
//! which are the most of that, say whose they are (`booked.rs`). From 1 KB, a block carries its clerk
//! in a header, so that it is given back to whom it was taken from.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;

use mimalloc::MiMalloc;

use super::clerk::{book, current};
use super::{MemoryClerk, pool, signed, with_clerk};
use crate::ledger;

/// Blocks of this size and more are extents. Below, mimalloc is better: its blocks do not all begin at
/// the same place of a page, where columns that are read together would shun the same cache lines.
const EXTENTS_FROM_BYTES: usize = 64 << 10;
/// The strictest alignment that extents have.
const EXTENT_ALIGN_BYTES: usize = 8 << 10;
/// Blocks of this size and more have a header.
const HEADER_FROM_BYTES: usize = 1024;
/// The least room that a header takes; a stricter alignment takes as much as itself.
const HEADER_BYTES: usize = 16;

/// The allocator to declare in the binary: `#[global_allocator] static A: Allocator = Allocator;`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// To what every block of this size and more is aligned by itself: mimalloc's `MI_MAX_ALIGN_SIZE`, which
/// it asserts of each block (`mi_page_malloc_zero` in its alloc.c).
const BLOCK_ALIGN: usize = 16;

unsafe extern "C" {
    fn mi_malloc(size: usize) -> *mut std::ffi::c_void;
}

/// Takes a block from mimalloc. Its function for aligned blocks takes a larger one and moves into it,
/// whenever the free list of the size happens to be empty; few layouts need it.
///
/// # Safety
/// As [`GlobalAlloc::alloc`].
#[inline]
unsafe fn take(layout: Layout) -> *mut u8 {
    if layout.align() <= BLOCK_ALIGN && layout.align() <= layout.size() {
        // SAFETY: gives a block of this size or null; a block of 8 bytes is aligned to 8.
        return unsafe { mi_malloc(layout.size()) }.cast();
    }
    // SAFETY: the caller's promise.
    unsafe { MiMalloc.alloc(layout) }
}

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// The layout of a small block: memory that all threads read gets whole cache lines, so that what the
/// thread that made it writes later is never on one of them.
#[inline]
fn placed(clerk: MemoryClerk, layout: Layout) -> Layout {
    if !clerk.is_read_by_all() {
        return layout;
    }
    let lines = layout.align_to(LINE_BYTES).map(|layout| layout.pad_to_align());
    lines.unwrap_or(layout)
}

/// The room before the block, and the layout with it; none if the sum overflows.
#[inline]
fn with_header(layout: Layout) -> Option<(usize, Layout)> {
    let room = layout.align().max(HEADER_BYTES);
    let size = layout.size().checked_add(room)?;
    Some((room, Layout::from_size_align(size, room).ok()?))
}

impl Allocator {
    /// Allocates a block with a header.
    ///
    /// # Safety
    /// As [`GlobalAlloc::alloc`].
    unsafe fn alloc_large(&self, layout: Layout, zeroed: Zeroed) -> *mut u8 {
        if layout.size() >= EXTENTS_FROM_BYTES
            && let Some(start) = alloc_extent(layout, zeroed)
        {
            return start;
        }
        let Some((room, whole)) = with_header(layout) else {
            return ptr::null_mut();
        };
        let start = match zeroed {
            // SAFETY: the layout is not of size zero.
            Zeroed::No => unsafe { take(whole) },
            // SAFETY: the layout is not of size zero.
            Zeroed::Yes => unsafe { MiMalloc.alloc_zeroed(whole) },
        };
        if start.is_null() {
            return start;
        }
        let clerk = current();
        book(clerk, signed(whole.size()), layout.size());
        // SAFETY: `room` bytes lie before the block.
        let block = unsafe { start.add(room) };
        // SAFETY: the byte before the block is ours and inside the allocation.
        let tag = unsafe { block.sub(1) };
        // SAFETY: as above.
        unsafe { tag.write(clerk as u8) };
        block
    }

    /// The clerk in a block's header.
    ///
    /// # Safety
    /// `block` came from `alloc_large` and is alive.
    unsafe fn clerk_of(&self, block: *mut u8) -> MemoryClerk {
        // SAFETY: the byte before the block is in its header.
        let tag = unsafe { block.sub(1) };
        // SAFETY: `alloc_large` wrote it.
        let index = unsafe { tag.read() };
        MemoryClerk::ALL[usize::from(index) % MemoryClerk::COUNT]
    }
}

/// Takes an extent for a block; none where it has to be mimalloc's.
fn alloc_extent(layout: Layout, zeroed: Zeroed) -> Option<*mut u8> {
    // A thread without an account has no number to lock with, and opening one needs memory.
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

/// Gives an extent back that a block was.
///
/// # Safety
/// `block` came from `alloc_extent` with as many bytes, and nobody uses it any more.
unsafe fn free_extent(block: *mut u8, bytes: usize) {
    // SAFETY: it is taken.
    let clerk = unsafe { pool::clerk_of(block.addr()) };
    let taken = pool::taken_bytes(bytes);
    book(clerk, -signed(taken), taken);
    // SAFETY: handed on.
    unsafe { pool::give(block.addr(), bytes) };
}

#[derive(Clone, Copy)]
enum Zeroed {
    No,
    Yes,
}

// SAFETY: every call is handed on to mimalloc with a layout at least as large and as aligned, and
// pointers are shifted by the same room in all of them.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= HEADER_FROM_BYTES {
            // SAFETY: handed on.
            return unsafe { self.alloc_large(layout, Zeroed::No) };
        }
        let clerk = current();
        book(clerk, signed(layout.size()), layout.size());
        // SAFETY: handed on; mimalloc frees a block whatever its layout was.
        unsafe { take(placed(clerk, layout)) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= HEADER_FROM_BYTES {
            // SAFETY: handed on.
            return unsafe { self.alloc_large(layout, Zeroed::Yes) };
        }
        let clerk = current();
        book(clerk, signed(layout.size()), layout.size());
        // SAFETY: as in `alloc`.
        unsafe { MiMalloc.alloc_zeroed(placed(clerk, layout)) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() < HEADER_FROM_BYTES {
            book(current(), -signed(layout.size()), layout.size());
            // SAFETY: handed on.
            return unsafe { MiMalloc.dealloc(block, layout) };
        }
        if layout.size() >= EXTENTS_FROM_BYTES && pool::has(block.addr()) {
            // SAFETY: only extents are there.
            return unsafe { free_extent(block, layout.size()) };
        }
        let Some((room, whole)) = with_header(layout) else {
            return;
        };
        // SAFETY: a block of this size has a header.
        let clerk = unsafe { self.clerk_of(block) };
        book(clerk, -signed(whole.size()), layout.size());
        // SAFETY: `alloc_large` moved the block by as much.
        let start = unsafe { block.sub(room) };
        // SAFETY: this is what mimalloc gave us, and its layout.
        unsafe { MiMalloc.dealloc(start, whole) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        let stays_small = layout.size() < HEADER_FROM_BYTES && size < HEADER_FROM_BYTES;
        if stays_small {
            let clerk = current();
            book(clerk, signed(size) - signed(layout.size()), size);
            let wanted = placed(clerk, wanted);
            // SAFETY: handed on; at least as large and as aligned as asked for.
            return unsafe { MiMalloc.realloc(block, wanted, wanted.size()) };
        }
        let is_extent = layout.size() >= EXTENTS_FROM_BYTES && pool::has(block.addr());
        let larger = layout.size().max(size);
        if is_extent && pool::taken_bytes(size) == pool::taken_bytes(layout.size()) {
            // It fits where it is; and a size that is no extent's has another rounding.
            if size >= EXTENTS_FROM_BYTES {
                return block;
            }
        } else if layout.size() >= HEADER_FROM_BYTES
            && size >= HEADER_FROM_BYTES
            && larger < EXTENTS_FROM_BYTES
        {
            // SAFETY: handed on; both have headers.
            return unsafe { self.realloc_large(block, layout, wanted) };
        }
        // A block that says whose it is stays with its clerk.
        let clerk = match layout.size() {
            ..HEADER_FROM_BYTES => current(),
            // SAFETY: it is an extent, and taken.
            _ if is_extent => unsafe { pool::clerk_of(block.addr()) },
            // SAFETY: a block of this size has a header.
            _ => unsafe { self.clerk_of(block) },
        };
        // SAFETY: the caller's promise about `size`.
        let moved = with_clerk(clerk, || unsafe { self.alloc(wanted) });
        if !moved.is_null() {
            // SAFETY: both blocks are alive, distinct, and at least that long.
            unsafe { ptr::copy_nonoverlapping(block, moved, size.min(layout.size())) };
            // SAFETY: the caller gives the old block up.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

impl Allocator {
    /// Resizes a block that has a header and keeps one; it stays with its clerk.
    ///
    /// # Safety
    /// As [`GlobalAlloc::realloc`]; both layouts have headers.
    unsafe fn realloc_large(&self, block: *mut u8, layout: Layout, wanted: Layout) -> *mut u8 {
        let (Some((room, whole)), Some((_, grown))) = (with_header(layout), with_header(wanted))
        else {
            return ptr::null_mut();
        };
        // SAFETY: a block of this size has a header.
        let clerk = unsafe { self.clerk_of(block) };
        // SAFETY: `alloc_large` moved the block by as much.
        let start = unsafe { block.sub(room) };
        // SAFETY: this is what mimalloc gave us, and its layout.
        let start = unsafe { MiMalloc.realloc(start, whole, grown.size()) };
        if start.is_null() {
            return start;
        }
        book(clerk, -signed(whole.size()), layout.size());
        book(clerk, signed(grown.size()), wanted.size());
        // SAFETY: the header was copied with the block.
        unsafe { start.add(room) }
    }
}
