//! mimalloc's part of the memory: which slices of it are in use, and which have memory behind them.
//! It is two heaps of mimalloc's, one for rows of tables and one for all else, which have no page
//! in common.
//!
//! mimalloc asks for slices and gives them back by one call, [`commit`]. Neither asks the operating
//! system for anything but memory that is not there yet: what is given back keeps its memory, to be
//! used again. The trimmer takes the memory of slices that nobody has asked for; of a huge page
//! when an eighth of it is free at least ([`super::slices`]).

use std::ffi::{c_int, c_void};
use std::ptr;

use super::budget;
use super::class::UNIT_BYTES;
use super::slices::{Going, Slices, Steps, UNIT_SLICES, WHOLE};
use super::space::{HEAP, keep, steps};
use super::tag::{self, TAGGED_BYTES};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use crate::sys::{Paging, SysCause, populate, prefer_pages, release};

/// mimalloc takes memory in steps of this.
const SLICE_BYTES: usize = 64 << 10;
/// What mimalloc is given first, and at most at once: its tables are in proportion, and it looks
/// through what it has from the start. A second heap's table of 1 GB would be a block of 192 KB,
/// for which it takes 4 MB.
const SHARE_BYTES: usize = 256 << 20;
const SHARE_BYTES_MAX: usize = 8 << 30;
/// What mimalloc takes at least (`MI_ARENA_MIN_SIZE`).
const SHARE_BYTES_MIN: usize = 32 << 20;
/// Bytes of the heap's addresses at most: as many as [`UNITS`] has room for.
pub(super) const HEAP_BYTES_MAX: usize = 512 << 30;

/// What is known of each unit.
static UNITS: [Slices; HEAP_BYTES_MAX / UNIT_BYTES] =
    [const { Slices::new() }; HEAP_BYTES_MAX / UNIT_BYTES];

/// Of each unit, the slices whose part of the table of tags is populated: a page for each slice
/// that was ever in use, since a huge page brings many that never are. Written by who has a slice
/// of the unit, and by the trimmer when nobody has.
static TAGGED: [AtomicU32; HEAP_BYTES_MAX / UNIT_BYTES] =
    [const { AtomicU32::new(0) }; HEAP_BYTES_MAX / UNIT_BYTES];
/// Units whose pages are small ones: the trimmer has taken them apart, or memory was short when
/// they began. Written by the two.
static APART: [AtomicBool; HEAP_BYTES_MAX / UNIT_BYTES] =
    [const { AtomicBool::new(false) }; HEAP_BYTES_MAX / UNIT_BYTES];

/// The tags of a slice.
const TAGS_BYTES: usize = SLICE_BYTES / TAGGED_BYTES;

const _: () = assert!(UNIT_SLICES * SLICE_BYTES == UNIT_BYTES, "slices make up a unit");

unsafe extern "C" {
    fn mi_heap_new() -> *mut c_void;
    fn mi_theap_get_default() -> *mut c_void;
    // Not of mimalloc's public functions: a thread's part of a heap, if it has one, and what
    // mimalloc does with it itself when a thread ends.
    fn _mi_heap_theap_get_peek(heap: *const c_void) -> *mut c_void;
    fn _mi_theap_collect_abandon(heap: *mut c_void);
    fn mi_option_set(option: c_int, value: std::ffi::c_long);
    fn mi_manage_memory(
        start: *mut c_void,
        size: usize,
        is_committed: bool,
        is_pinned: bool,
        is_zero: bool,
        numa_node: c_int,
        exclusive: bool,
        commit: extern "C" fn(bool, *mut c_void, usize, *mut bool, *mut c_void) -> bool,
        argument: *mut c_void,
        id: *mut *mut c_void,
    ) -> bool;
}

/// `mi_option_purge_delay` of mimalloc 3.
const PURGE_DELAY: c_int = 15;

/// Gives mimalloc its first part of the heap, when there is one thread.
pub(super) fn open() {
    // Slices that it has no use for are given back at once, which is a change of a word.
    // SAFETY: sets one number that mimalloc reads at any time.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
    share();
    // SAFETY: makes one more heap, for good; null if there is no memory for it.
    ROWS.store(unsafe { mi_heap_new() }, Ordering::Relaxed);
}

/// mimalloc's heap for rows of tables: pages of their own. Rows come and go by the ten thousand;
/// what else there is of their sizes, a few hundred blocks that stay for long, would be strewn over
/// all pages that they ever took.
static ROWS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The heap for rows of tables; null if there is none of their own.
#[inline]
pub(super) fn rows() -> *mut c_void {
    // Relaxed: set before there is a second thread.
    ROWS.load(Ordering::Relaxed)
}

/// Has mimalloc keep what it takes from the system by itself, where that has refused us addresses:
/// nobody but the trimmer is to give memory back.
pub(super) fn refused() {
    // SAFETY: as above; -1 is never.
    unsafe { mi_option_set(PURGE_DELAY, -1) };
}

/// Bytes from the start of the heap that mimalloc has been given.
static SHARED: AtomicUsize = AtomicUsize::new(0);

/// Gives mimalloc a part of the heap: at first little, then as much again.
#[cold]
fn share() {
    let given = SHARED.load(Ordering::Relaxed);
    let share = given.clamp(SHARE_BYTES, SHARE_BYTES_MAX).min(HEAP.bytes() - given);
    let next = given + share;
    // One thread at a time gives.
    if share < SHARE_BYTES_MIN
        || SHARED.compare_exchange(given, next, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return;
    }
    let start = ptr::with_exposed_provenance_mut(HEAP.start() + given);
    let (none, id) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: a fresh range of zeros, given to mimalloc for good; `commit` never unwinds. A refusal
    // leaves mimalloc to ask the system itself.
    unsafe { mi_manage_memory(start, share, false, false, true, -1, false, commit, none, id) };
}

/// mimalloc wants memory behind a part of the heap, or has no use for it any more.
extern "C" fn commit(
    wants: bool,
    start: *mut c_void,
    bytes: usize,
    _is_zero: *mut bool,
    _: *mut c_void,
) -> bool {
    let first = (start.addr() - HEAP.start()) / SLICE_BYTES;
    let end = (start.addr() - HEAP.start() + bytes).div_ceil(SLICE_BYTES);
    let mut from = first;
    while from < end {
        let unit = from / UNIT_SLICES;
        let to = end.min((unit + 1) * UNIT_SLICES);
        let slices = set_of(from % UNIT_SLICES, to - from);
        if wants {
            take(unit, slices);
        } else {
            UNITS[unit].give(slices);
        }
        from = to;
    }
    if wants {
        let shared = SHARED.load(Ordering::Relaxed);
        if HEAP.populated() > (shared - shared / 4) as u64 && shared < HEAP.bytes() {
            share();
        }
    }
    true
}

/// So many slices from one on.
const fn set_of(first: usize, count: usize) -> u64 {
    (WHOLE >> (UNIT_SLICES - count)) << first
}

/// Takes slices of a unit, and has memory put behind those that have none, and behind their tags.
fn take(unit: usize, slices: u64) {
    let lacking = UNITS[unit].lacks(slices).count_ones() as usize;
    let mut by = steps();
    if lacking > 0 {
        budget::grow(lacking * (SLICE_BYTES + TAGS_BYTES));
        if by == Steps::Units && budget::is_short() && UNITS[unit].is_new() {
            // It gets its memory slice by slice, as one that was taken apart.
            prefer_pages(SysCause::PagePopulate, unit_start(unit), UNIT_BYTES, Paging::Small);
            APART[unit].store(true, Ordering::Relaxed);
            by = Steps::Slices;
        }
    }
    let missing = UNITS[unit].take(slices, by);
    if missing != 0 {
        // A thread that finds a slice populated may touch it a moment before it is, and takes the
        // fault.
        let (start, bytes) = range_of(unit, missing);
        HEAP.note_populated(missing.count_ones() as usize * SLICE_BYTES);
        populate(start, bytes, keep());
    }
    let wanted = low(slices);
    // Relaxed: the slices are this thread's, so the trimmer's reset was before, and seen by the
    // exchange that took them; its next one comes after they were given back.
    let untagged = wanted & !TAGGED[unit].fetch_or(wanted, Ordering::Relaxed);
    if untagged != 0 {
        let (start, bytes) = range_of(unit, u64::from(untagged));
        let (table, tags) = tag::table_of(start, bytes);
        HEAP.note_populated(untagged.count_ones() as usize * TAGS_BYTES);
        populate(table, tags, keep());
    }
}

/// Where a unit begins.
fn unit_start(unit: usize) -> usize {
    HEAP.start() + unit * UNIT_BYTES
}

/// From the first to the last of some slices: address and size.
fn range_of(unit: usize, slices: u64) -> (usize, usize) {
    let (first, last) = (slices.trailing_zeros() as usize, slices.ilog2() as usize);
    let start = unit_start(unit) + first * SLICE_BYTES;
    (start, (last + 1 - first) * SLICE_BYTES)
}

/// Bytes of populated slices of a unit, and of the tags that they have.
fn with_tags(unit: usize, slices: u64) -> usize {
    // Relaxed: a measure.
    let tagged = TAGGED[unit].load(Ordering::Relaxed) & low(slices);
    slices.count_ones() as usize * SLICE_BYTES + tagged.count_ones() as usize * TAGS_BYTES
}

/// Gives back the slices that the calling thread keeps and does not use, and lets go of those that
/// it does: any thread that takes a block of their size goes on with them, this one too.
///
/// A page of 64 KB has blocks of one size, and each thread has its own of each size: twenty threads
/// with a block or two in each of twenty pages are 25 MB.
pub(super) fn abandon() {
    // SAFETY: the calling thread's, which is made if it is not there.
    let own = unsafe { mi_theap_get_default() };
    // SAFETY: looks through what is the thread's own.
    unsafe { _mi_theap_collect_abandon(own) };
    let rows = rows();
    if !rows.is_null() {
        // SAFETY: a heap that stays; null if the thread has never taken a row.
        let own = unsafe { _mi_heap_theap_get_peek(rows) };
        if !own.is_null() {
            // SAFETY: as above.
            unsafe { _mi_theap_collect_abandon(own) };
        }
    }
}

/// Units that mimalloc may have used.
fn units() -> &'static [Slices] {
    &UNITS[..SHARED.load(Ordering::Relaxed) / UNIT_BYTES]
}

/// Bytes of slices that have memory behind them and are not in use; of huge pages of which at least
/// half is free.
pub(super) fn idle_bytes() -> u64 {
    let steps = steps();
    let idle = units().iter().map(|unit| unit.idle(steps)).enumerate();
    idle.filter(|(_, free)| *free != 0).map(|(unit, free)| with_tags(unit, free) as u64).sum()
}

/// The word for slices of a unit that the table of tags has.
fn low(slices: u64) -> u32 {
    // At most 32 bits are set, the lower ones.
    u32::try_from(slices).unwrap_or(u32::MAX)
}

/// Gives the memory of free slices of the highest unit below `below` that has some, and no more
/// than `most` bytes, back to the operating system, which then is where to go on; returns how many
/// bytes that were.
pub(super) fn release_idle(below: &mut usize, most: u64) -> u64 {
    *below = units().len().min(*below);
    let steps = steps();
    while *below > 0 {
        *below -= 1;
        let unit = &units()[*below];
        let mut tags = 0;
        if with_tags(*below, unit.idle(steps)) as u64 > most {
            continue;
        }
        let slices = unit.release(steps, |going| tags = let_go(*below, going));
        if slices != 0 {
            let bytes = slices.count_ones() as usize * SLICE_BYTES + tags;
            HEAP.note_released(bytes);
            return bytes as u64;
        }
    }
    0
}

/// Has the kernel make one huge page again, when it comes by, of units that were taken apart and
/// are full.
pub(super) fn rejoin() {
    for (unit, slices) in units().iter().enumerate() {
        if APART[unit].load(Ordering::Relaxed) && slices.is_full() {
            allow_huge(unit);
        }
    }
}

fn allow_huge(unit: usize) {
    prefer_pages(SysCause::MemoryDecommit, unit_start(unit), UNIT_BYTES, Paging::Huge);
    APART[unit].store(false, Ordering::Relaxed);
}

/// Gives the memory of slices of a unit back, and of their tags; returns how much the tags had.
fn let_go(unit: usize, Going { slices, is_first, is_last }: Going) -> usize {
    let whole = unit_start(unit);
    if is_first {
        // Else the kernel makes it one again in a while, memory that our books do not have among
        // it.
        prefer_pages(SysCause::MemoryDecommit, whole, UNIT_BYTES, Paging::Small);
        APART[unit].store(true, Ordering::Relaxed);
    }
    let mut left = slices;
    while left != 0 {
        let first = left.trailing_zeros();
        let run = (left >> first).trailing_ones() as usize;
        let (start, bytes) = range_of(unit, set_of(first as usize, run));
        // SAFETY: nobody gets any of these slices until this has returned (`Slices::release`).
        unsafe { release(start, bytes) };
        let (table, tags) = tag::table_of(start, bytes);
        // SAFETY: there are no blocks whose tags these were; a slice's are a page of their own.
        unsafe { release(table, tags) };
        left &= !set_of(first as usize, run);
    }
    if is_last {
        allow_huge(unit);
    }
    // Relaxed: whoever had the slices has given them back, and whoever takes some comes after what
    // ends this.
    let tagged = TAGGED[unit].fetch_and(!low(slices), Ordering::Relaxed) & low(slices);
    tagged.count_ones() as usize * TAGS_BYTES
}
