//! Extents: memory of 8 KB and more, aligned to 8 KB, for blobs, row pages and buffers.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::budget::room_for;
use super::clerk::book;
use super::{MemoryClerk, OverLimit, pool};

/// A block of memory with one owner; freed when dropped.
#[derive(Debug)]
pub struct Extent {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: an extent owns its memory, which any thread may use and free.
unsafe impl Send for Extent {}
// SAFETY: shared access to the extent only reads.
unsafe impl Sync for Extent {}

impl Extent {
    /// Takes at least `bytes`, charged to a clerk. The contents are those of the last owner, or
    /// zeros.
    ///
    /// # Errors
    /// The memory limit is reached.
    pub fn new(clerk: MemoryClerk, bytes: usize) -> Result<Self, OverLimit> {
        let bytes = pool::taken_bytes(bytes.max(1));
        room_for(bytes)?;
        let start = pool::take(bytes, clerk).ok_or(OverLimit)?.start;
        book(clerk, super::signed(bytes), bytes);
        Ok(Self { start, bytes })
    }
}

impl Deref for Extent {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the extent owns that many bytes; memory from the system starts as zeros.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Extent {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the extent is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        let address = self.start.as_ptr().addr();
        // SAFETY: the extent is taken.
        let clerk = unsafe { pool::clerk_of(address) };
        book(clerk, -super::signed(self.bytes), self.bytes);
        // SAFETY: the owner is being dropped and does not use it any more.
        unsafe { pool::give(address, self.bytes) };
    }
}
