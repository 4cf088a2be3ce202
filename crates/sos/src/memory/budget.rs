//! The memory limit: the process's resident memory stays within it, and a request that asks before
//! it grows gets error 701 instead of aborting the process.
//!
//! ```text
//!   0                                                  rows        soft                      limit
//!   ├── in use ──┬── lost: rounding, ──┬─ others: ─┬─ free ┤ work:   ┤ reserve: for requests     ┤
//!   │   (clerks) │   magazines, pages  │  stacks   │       │ queries │ that do not ask, or late  │
//! ```
//! The whole line is resident memory. Code that populates addresses calls [`grow`] first: if that
//! would pass the soft limit, free memory is returned to the system, whichever thread keeps it. If
//! none is left, requests are refused ([`check`]), and the reserve is for those that cannot be. Rows
//! are refused earlier ([`check_rows`]): when data fills the memory, queries still run, and those
//! who look why see it.
//!
//! How much is lost is known only after a measurement ([`look_at`]): once a second, and near the
//! soft limit after each [`LOOK_PART`] of the limit that is taken. Between two measurements one
//! number is enough: how much may be in use ([`ROOM`]).

use std::fmt;

use super::space::{EXTENTS, HEAP};
use super::{heap, pool};
use crate::sync::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, CachePadded, Ordering};

/// The most bytes of free extents that a thread keeps, if the limit leaves room for it.
const KEPT_BYTES_MAX: usize = 4 << 20;
/// A thread keeps at most one such part of the limit.
const KEPT_PART: u64 = 256;
/// The reserve is one such part of the limit, but within these bounds in bytes.
const RESERVE_PART: u64 = 8;
const RESERVE_BYTES: (u64, u64) = (8 << 20, 256 << 20);
/// Rows leave one such part of the limit below the soft limit, within these bounds, to other work.
const WORK_PART: u64 = 16;
const WORK_BYTES: (u64, u64) = (12 << 20, 128 << 20);
/// Memory is short within one such part of the limit below the soft limit.
const SHORT_PART: u64 = 16;
/// Near the soft limit the loss is measured after each such part of the limit that is taken.
const LOOK_PART: u64 = 4_096;
/// The reserve counts as used up when one such part of the limit is left.
const FULL_PART: u64 = 64;
/// Removals wait until one such part of the limit is left above that.
const REMOVAL_PART: u64 = 256;
/// One such part of the limit is returned to the system at once, if any must be.
const BACK_PART: u64 = 256;

static USED: CachePadded<AtomicI64> = CachePadded::new(AtomicI64::new(0));
/// How often a request was refused memory; written when memory is short only.
static REFUSALS: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// Memory of the process that is neither extents nor heap: stacks, variables, tables. As the
/// trimmer last found it.
static OTHERS: AtomicU64 = AtomicU64::new(0);
/// The resident bytes from which on the loss is measured.
static LOOK_FROM: AtomicU64 = AtomicU64::new(u64::MAX);

/// What every request reads, on its own cache line, which is written only when an answer changes,
/// or once a second.
struct Answers {
    /// Whether requests are refused.
    is_over: AtomicBool,
    /// Whether more rows are refused.
    is_dense: AtomicBool,
    /// Whether the reserve is used up.
    is_full: AtomicBool,
    /// Whether memory is short: units are populated bit by bit, and threads keep nothing.
    is_short: AtomicBool,
    /// The most bytes of free extents that a thread keeps.
    kept_bytes: AtomicUsize,
}

static ANSWERS: CachePadded<Answers> = CachePadded::new(Answers {
    is_over: AtomicBool::new(false),
    is_dense: AtomicBool::new(false),
    is_full: AtomicBool::new(false),
    is_short: AtomicBool::new(false),
    kept_bytes: AtomicUsize::new(KEPT_BYTES_MAX),
});

/// The bytes that may be in use: the soft limit minus the loss and the memory outside both spaces.
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

/// Bytes in use, as far as threads have reported: each may not have reported up to 64 KB per clerk.
#[must_use]
pub fn used_bytes() -> u64 {
    u64::try_from(USED.load(Ordering::Relaxed)).unwrap_or(0)
}

/// The soft limit, up to which requests are granted memory.
fn soft_bytes() -> u64 {
    let limit = limit_bytes();
    limit.saturating_sub((limit / RESERVE_PART).clamp(RESERVE_BYTES.0, RESERVE_BYTES.1))
}

/// Bytes that the process has in memory, without what it has from files.
fn resident_bytes() -> u64 {
    // Relaxed, here and below: numbers that order nothing, as old as the last thread that
    // populated.
    EXTENTS.populated() + HEAP.populated() + OTHERS.load(Ordering::Relaxed)
}

/// Whether a request may take more memory: one relaxed load of a line that is rarely written.
#[inline]
pub fn check() -> Result<(), OverLimit> {
    if ANSWERS.is_over.load(Ordering::Relaxed) { look_for(0) } else { Ok(()) }
}

/// Whether more rows may be made: one relaxed load of the same line.
///
/// # Errors
/// Rows have all the memory that they may have.
#[inline]
pub fn check_rows() -> Result<(), OverLimit> {
    if ANSWERS.is_dense.load(Ordering::Relaxed) { look_for(work_bytes()) } else { Ok(()) }
}

/// The bytes below the soft limit that rows leave to other work. Who waits for room for a row asks
/// for as much.
#[must_use]
pub fn work_bytes() -> u64 {
    (limit_bytes() / WORK_PART).clamp(WORK_BYTES.0, WORK_BYTES.1)
}

/// The bytes of the reserve that work which ends by freeing memory waits for, so that it does not wait
/// again with its next row.
#[must_use]
pub fn removal_bytes() -> u64 {
    limit_bytes() / REMOVAL_PART
}

/// Whether work that ends by freeing memory may take some of the reserve: one relaxed load of the
/// same line.
///
/// # Errors
/// The reserve is used up.
#[inline]
pub fn check_reserve() -> Result<(), OverLimit> {
    if ANSWERS.is_full.load(Ordering::Relaxed) { look_at_reserve(0) } else { Ok(()) }
}

/// Whether `bytes` more are within the limit, including the reserve: for what a rollback needs.
///
/// # Errors
/// The limit does not leave that much.
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

/// The resident bytes at which the reserve counts as used up.
fn full_bytes() -> u64 {
    let limit = limit_bytes();
    limit - limit / FULL_PART
}

/// Whether `bytes` more leave other requests room within the soft limit.
///
/// # Errors
/// The soft limit does not leave that much.
pub fn room_for(bytes: usize) -> Result<(), OverLimit> {
    check()?;
    let after = resident_bytes().saturating_add(bytes as u64);
    if after <= soft_bytes() { Ok(()) } else { look_for(bytes as u64) }
}

/// Measures whether `bytes` more are within the soft limit, after freeing all that can be freed.
#[cold]
fn look_for(bytes: u64) -> Result<(), OverLimit> {
    pool::empty_depots();
    if look_at(bytes) {
        return Ok(());
    }
    REFUSALS.fetch_add(1, Ordering::Relaxed);
    Err(OverLimit)
}

/// How often a request was refused memory.
#[must_use]
pub fn refusals() -> u64 {
    REFUSALS.load(Ordering::Relaxed)
}

/// Measures the loss and decides again whether requests are refused; returns whether `bytes` more
/// are within the soft limit.
fn look_at(bytes: u64) -> bool {
    let (used, soft) = (USED.load(Ordering::Relaxed), soft_bytes());
    let idle = pool::idle_bytes() + heap::idle_bytes();
    let taken = resident_bytes().saturating_sub(idle);
    let left = signed(soft) - signed(taken);
    ROOM.store(used.saturating_add(left), Ordering::Relaxed);
    set(&ANSWERS.is_over, left < 0);
    set(&ANSWERS.is_dense, left < signed(work_bytes()));
    set(&ANSWERS.is_full, taken > full_bytes());
    taken.saturating_add(bytes) <= soft
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn set(answer: &AtomicBool, value: bool) {
    // All requests read this line: it is written only when the answer changes.
    if answer.load(Ordering::Relaxed) != value {
        answer.store(value, Ordering::Relaxed);
    }
}

/// Announces that `bytes` of addresses are about to be populated. Called with no lock held, from
/// within the allocator.
#[inline]
pub(super) fn grow(bytes: usize) {
    let after = resident_bytes().saturating_add(bytes as u64);
    if after >= LOOK_FROM.load(Ordering::Relaxed) {
        make_room(bytes as u64);
    }
}

/// Returns free memory to the system until `bytes` more are within the soft limit, as far as there
/// is free memory.
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

/// Whether little memory is left below the soft limit.
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

/// Measures, for the trimmer, the memory outside extents and heap, and the loss. Returns whether
/// memory is short.
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

/// Adds to the bytes in use; threads call it in steps of about 64 KB.
pub(super) fn book(bytes: i64) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    let room = ROOM.load(Ordering::Relaxed);
    set(&ANSWERS.is_over, used > room);
    set(&ANSWERS.is_dense, used > room.saturating_sub(signed(work_bytes())));
}
