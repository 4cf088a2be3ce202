//! Extents: zeroed memory of 8 KB and more, aligned to pages, for blobs, row pages and buffers.
//!
//! Today they come from the allocator; the extent manager with its magazines takes their place behind
//! the same two calls.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::{MemoryClerk, OverLimit, check, with_clerk};

const ALIGN_BYTES: usize = 4096;
/// The smallest extent.
const EXTENT_BYTES_MIN: usize = 8192;

/// A piece of memory that its owner shares with nobody; freed when dropped.
#[derive(Debug)]
pub struct Extent {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: an extent owns its memory, which any thread may use and free.
unsafe impl Send for Extent {}
// SAFETY: shared access to the extent only reads.
unsafe impl Sync for Extent {}

impl Extent {
    /// Allocates at least `bytes`, zeroed, for a clerk. Fails at the memory limit.
    pub fn new(clerk: MemoryClerk, bytes: usize) -> Result<Self, OverLimit> {
        check()?;
        let bytes = bytes.max(EXTENT_BYTES_MIN);
        let layout = Layout::from_size_align(bytes, ALIGN_BYTES).map_err(|_| OverLimit)?;
        // SAFETY: the size is not zero.
        let start = with_clerk(clerk, || unsafe { alloc_zeroed(layout) });
        let start = NonNull::new(start).ok_or(OverLimit)?;
        Ok(Self { start, layout })
    }
}

impl Deref for Extent {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the extent owns that many initialised bytes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Extent {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the extent owns that many initialised bytes, and is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
