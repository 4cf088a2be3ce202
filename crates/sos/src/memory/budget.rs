//! The limit of memory: a request asks before it grows, and gets error 701 rather than the process
//! an abort.

use std::fmt;

use crate::sync::{AtomicBool, AtomicI64, AtomicU64, CachePadded, Ordering};

static USED: CachePadded<AtomicI64> = CachePadded::new(AtomicI64::new(0));
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// On a line of its own, written only when the limit is crossed: every request reads it.
static OVER: CachePadded<AtomicBool> = CachePadded::new(AtomicBool::new(false));

/// The memory limit is reached: SQL Server's error 701.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverLimit;

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memory limit is reached")
    }
}

impl std::error::Error for OverLimit {}

/// Sets the limit of the process, in bytes.
pub fn set_limit_bytes(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
    book(0);
}

/// The limit, in bytes.
#[must_use]
pub fn limit_bytes() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Bytes in use, as far as threads have reported: each may hold back 64 KB per clerk.
#[must_use]
pub fn used_bytes() -> u64 {
    u64::try_from(USED.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Whether a request may go on growing: one relaxed load of a line that is hardly ever written.
#[inline]
pub fn check() -> Result<(), OverLimit> {
    // Relaxed: a limit is approximate by up to 64 KB per thread and clerk anyway.
    if OVER.load(Ordering::Relaxed) { Err(OverLimit) } else { Ok(()) }
}

/// Whether so many bytes more are within the limit.
///
/// # Errors
/// They are not.
pub(super) fn room_for(bytes: usize) -> Result<(), OverLimit> {
    check()?;
    let after = used_bytes().saturating_add(bytes as u64);
    if after > limit_bytes() { Err(OverLimit) } else { Ok(()) }
}

/// Whether what is in use and what extents keep free come near the limit together.
pub(super) fn is_short(extents: u64) -> bool {
    let limit = limit_bytes();
    extents.max(used_bytes()) > limit - limit / 16
}

/// Adds to what is in use, in steps of some 64 KB.
pub(super) fn book(bytes: i64) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    let over = u64::try_from(used).unwrap_or(0) > limit_bytes();
    // Writes the line that everybody reads only when the answer changes.
    if OVER.load(Ordering::Relaxed) != over {
        OVER.store(over, Ordering::Relaxed);
    }
}
