//! The limit of memory: what the process takes from the operating system stays within it, and a
//! request that asks before it grows gets error 701 rather than the process an abort.
//!
//! ```text
//!   0                                                        soft                      limit
//!   ├── in use ──┬── lost: rounding, ──┬─ others: ─┬─ free ───┤ reserve: for who does not ┤
//!   │   (clerks) │   magazines, pages  │  stacks   │          │ ask, or asked too late    │
//! ```
//! All of the line is resident. Who has memory put behind addresses says so first ([`grow`]): where
//! that would pass the soft limit, free memory goes back to the system instead, whoever keeps it.
//! Where none is left, requests are refused ([`check`]), and the reserve is for those that cannot
//! be.
//!
//! What is lost is known only by looking ([`look`]): once a second, and near the soft limit with
//! each part of the memory that is taken. In between one number stands for it: how much may be in
//! use ([`ROOM`]).

use std::fmt;

use super::space::{EXTENTS, HEAP};
use super::{heap, pool};
use crate::sync::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, CachePadded, Ordering};

/// What a thread keeps of free extents at most, where the limit leaves room for it.
const KEPT_BYTES_MAX: usize = 4 << 20;
/// The part of the limit that a thread keeps at most.
const KEPT_PART: u64 = 256;
/// The reserve: a part of the limit, and between so many bytes.
const RESERVE_PART: u64 = 8;
const RESERVE_BYTES: (u64, u64) = (8 << 20, 256 << 20);
/// The part of the limit below the soft one in which memory is short.
const SHORT_PART: u64 = 16;
/// Near the soft limit what is lost is looked at after each such part of the limit.
const LOOK_PART: u64 = 4_096;
/// The part of the limit that is left when the reserve counts as used up.
const FULL_PART: u64 = 64;
/// As much goes back at once, where any has to.
const BACK_PART: u64 = 256;

static USED: CachePadded<AtomicI64> = CachePadded::new(AtomicI64::new(0));
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// Memory of the process that is neither extents nor heap: stacks, variables, tables. As the
/// trimmer last found it.
static OTHERS: AtomicU64 = AtomicU64::new(0);
/// From so much resident memory on it is looked at what is lost.
static LOOK_FROM: AtomicU64 = AtomicU64::new(u64::MAX);

/// What every request reads, on a line of its own that is written only when an answer changes, or
/// once a second.
struct Answers {
    /// Whether requests are refused.
    is_over: AtomicBool,
    /// Whether the reserve is used up.
    is_full: AtomicBool,
    /// Whether memory is short: units are populated bit by bit, and threads keep nothing.
    is_short: AtomicBool,
    /// What a thread keeps of free extents at most.
    kept_bytes: AtomicUsize,
}

static ANSWERS: CachePadded<Answers> = CachePadded::new(Answers {
    is_over: AtomicBool::new(false),
    is_full: AtomicBool::new(false),
    is_short: AtomicBool::new(false),
    kept_bytes: AtomicUsize::new(KEPT_BYTES_MAX),
});

/// How much may be in use: the soft limit, less what is lost and what others have.
static ROOM: AtomicI64 = AtomicI64::new(i64::MAX);

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
    measure_others();
    look_at(0);
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

/// Up to which requests are granted memory.
fn soft_bytes() -> u64 {
    let limit = limit_bytes();
    limit.saturating_sub((limit / RESERVE_PART).clamp(RESERVE_BYTES.0, RESERVE_BYTES.1))
}

/// Bytes that the process has in memory, without what it has from files.
fn resident_bytes() -> u64 {
    // Relaxed, here and below: numbers that order nothing, and are as old as the last populating
    // thread.
    EXTENTS.populated() + HEAP.populated() + OTHERS.load(Ordering::Relaxed)
}

/// Whether a request may go on growing: one relaxed load of a line that is hardly ever written.
#[inline]
pub fn check() -> Result<(), OverLimit> {
    if ANSWERS.is_over.load(Ordering::Relaxed) { look_for(0) } else { Ok(()) }
}

/// Whether who gives memory back in the end may go on to take some of the reserve: one relaxed load
/// of the same line.
///
/// # Errors
/// It is used up.
#[inline]
pub fn check_reserve() -> Result<(), OverLimit> {
    if ANSWERS.is_full.load(Ordering::Relaxed) { look_at_reserve(0) } else { Ok(()) }
}

/// Whether so many bytes more are within the limit, the reserve included: for what undoing needs.
///
/// # Errors
/// They are not.
pub fn reserve_for(bytes: usize) -> Result<(), OverLimit> {
    let after = resident_bytes().saturating_add(bytes as u64);
    if after <= full_bytes() { Ok(()) } else { look_at_reserve(bytes as u64) }
}

#[cold]
fn look_at_reserve(bytes: u64) -> Result<(), OverLimit> {
    pool::empty_depots();
    look_at(0);
    let idle = pool::idle_bytes() + heap::idle_bytes();
    let taken = resident_bytes().saturating_sub(idle);
    if taken.saturating_add(bytes) <= full_bytes() { Ok(()) } else { Err(OverLimit) }
}

/// Where the reserve ends.
fn full_bytes() -> u64 {
    let limit = limit_bytes();
    limit - limit / FULL_PART
}

/// Whether so many bytes more are within the limit, and other requests are granted memory.
///
/// # Errors
/// They are not.
pub fn room_for(bytes: usize) -> Result<(), OverLimit> {
    check()?;
    let after = resident_bytes().saturating_add(bytes as u64);
    if after <= soft_bytes() { Ok(()) } else { look_for(bytes as u64) }
}

/// Looks whether so many bytes more are within the soft limit, once all is free that can be.
#[cold]
fn look_for(bytes: u64) -> Result<(), OverLimit> {
    pool::empty_depots();
    if look_at(bytes) { Ok(()) } else { Err(OverLimit) }
}

/// Looks at what is lost, and decides anew whether requests are refused; returns whether so many
/// bytes more are within the soft limit.
fn look_at(bytes: u64) -> bool {
    let (used, soft) = (USED.load(Ordering::Relaxed), soft_bytes());
    let idle = pool::idle_bytes() + heap::idle_bytes();
    let taken = resident_bytes().saturating_sub(idle);
    let left = i64::try_from(soft).unwrap_or(i64::MAX) - i64::try_from(taken).unwrap_or(i64::MAX);
    ROOM.store(used.saturating_add(left), Ordering::Relaxed);
    set(&ANSWERS.is_over, left < 0);
    set(&ANSWERS.is_full, taken > full_bytes());
    taken.saturating_add(bytes) <= soft
}

fn set(answer: &AtomicBool, value: bool) {
    // Writes the line that everybody reads only when the answer changes.
    if answer.load(Ordering::Relaxed) != value {
        answer.store(value, Ordering::Relaxed);
    }
}

/// Says that so many bytes are about to get memory. Called with no lock held, and from within the
/// allocator.
#[inline]
pub(super) fn grow(bytes: usize) {
    let after = resident_bytes().saturating_add(bytes as u64);
    if after >= LOOK_FROM.load(Ordering::Relaxed) {
        make_room(bytes as u64);
    }
}

/// Gives free memory back to the system until so many bytes more are within the soft limit, if
/// there is so much.
#[cold]
fn make_room(bytes: u64) {
    let (limit, soft) = (limit_bytes(), soft_bytes());
    set_short(true);
    if resident_bytes().saturating_add(bytes) > soft {
        pool::empty_depots();
        let wanted = soft.saturating_sub(bytes).saturating_sub(limit / BACK_PART);
        let (mut extents, mut slices) = (usize::MAX, usize::MAX);
        while resident_bytes() > wanted {
            if pool::release_idle(&mut extents, u64::MAX) == 0
                && heap::release_idle(&mut slices, u64::MAX) == 0
            {
                break;
            }
        }
    }
    look_at(0);
    let next = resident_bytes().saturating_add(limit / LOOK_PART);
    LOOK_FROM.store(next.min(soft), Ordering::Relaxed);
}

/// Whether memory is short.
#[inline]
pub(super) fn is_short() -> bool {
    ANSWERS.is_short.load(Ordering::Relaxed)
}

/// Bytes of free extents that a thread may keep.
#[inline]
pub(super) fn kept_bytes() -> usize {
    ANSWERS.kept_bytes.load(Ordering::Relaxed)
}

fn set_short(is_short: bool) {
    let part = usize::try_from(limit_bytes() / KEPT_PART).unwrap_or(usize::MAX);
    let kept = if is_short { 0 } else { part.min(KEPT_BYTES_MAX) };
    if kept_bytes() != kept {
        ANSWERS.kept_bytes.store(kept, Ordering::Relaxed);
    }
    set(&ANSWERS.is_short, is_short);
}

/// Measures, for the trimmer: what the process has beside extents and heap, and what is lost.
/// Returns whether memory is short.
pub(super) fn measure() -> bool {
    measure_others();
    look_at(0);
    is_short()
}

fn measure_others() {
    let before = EXTENTS.populated() + HEAP.populated();
    if let Some(memory) = crate::sys::process_memory() {
        let others = (memory.anonymous_kb * 1_024).saturating_sub(before);
        OTHERS.store(others, Ordering::Relaxed);
    }
    let from = soft_bytes().saturating_sub(limit_bytes() / SHORT_PART);
    let is_short = resident_bytes() >= from;
    set_short(is_short);
    if !is_short {
        LOOK_FROM.store(from, Ordering::Relaxed);
    }
}

/// Adds to what is in use, in steps of some 64 KB.
pub(super) fn book(bytes: i64) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    set(&ANSWERS.is_over, used > ROOM.load(Ordering::Relaxed));
}
