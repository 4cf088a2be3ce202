//! The part of the memory that mimalloc manages: which slices are in use, and which are populated.
//! It has two mimalloc heaps, one for rows of tables and one for all else, which share no page.
//!
//! mimalloc asks for slices and frees them by one callback, [`commit`]. That asks the operating
//! system only for memory that is not populated yet: a freed slice stays populated, to be used
//! again. The trimmer returns the memory of free slices to the system; of a huge page only when at
//! least an eighth of it is free ([`super::slices`]).

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;

use super::budget;
use super::class::UNIT_BYTES;
use super::slices::{Going, Slices, Steps, UNIT_SLICES, WHOLE};
use super::space::{HEAP, keep, steps};
use super::tag::{self, TAGGED_BYTES};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use crate::sys::{Paging, SysCause, populate, prefer_pages, release};

/// mimalloc takes and frees memory in slices of this size.
const SLICE_BYTES: usize = 64 << 10;
/// The bytes of addresses that mimalloc gets first, and at most at once: its tables are in
/// proportion, and it searches from the start of what it has. A second heap's table for 1 GB would
/// be a block of 192 KB, for which it takes 4 MB.
const SHARE_BYTES: usize = 256 << 20;
const SHARE_BYTES_MAX: usize = 8 << 30;
/// The least that mimalloc accepts (`MI_ARENA_MIN_SIZE`).
const SHARE_BYTES_MIN: usize = 32 << 20;
/// The most bytes of addresses for the heap: as many as [`UNITS`] has room for.
pub(super) const HEAP_BYTES_MAX: usize = 512 << 30;

/// The state of the slices of each unit.
static UNITS: [Slices; HEAP_BYTES_MAX / UNIT_BYTES] =
    [const { Slices::new() }; HEAP_BYTES_MAX / UNIT_BYTES];

/// For each unit, the slices whose page of the tag table is populated: only those that were ever in
/// use, since a huge page brings many that never are. Written by a thread that has a slice of the
/// unit, and by the trimmer when no thread has.
static TAGGED: [AtomicU32; HEAP_BYTES_MAX / UNIT_BYTES] =
    [const { AtomicU32::new(0) }; HEAP_BYTES_MAX / UNIT_BYTES];
/// Units with small pages instead of a huge one: the trimmer has split them, they are among the
/// first ones, or memory was short when they were first used. Written by the trimmer and by the
/// thread that populates the unit.
static APART: [AtomicBool; HEAP_BYTES_MAX / UNIT_BYTES] =
    [const { AtomicBool::new(false) }; HEAP_BYTES_MAX / UNIT_BYTES];

/// These units begin with small pages, and may become huge ones when they are nearly in use as a
/// whole: a server that does nothing ends within them, and a huge page more or less would be a
/// tenth of its memory. What is in use all the time was made before, and has huge pages: without
/// them requests take 1 % more.
const GROWING_UNITS: Range<usize> = 3..5;

/// The bytes of the tag table for one slice.
const TAGS_BYTES: usize = SLICE_BYTES / TAGGED_BYTES;

const _: () = assert!(UNIT_SLICES * SLICE_BYTES == UNIT_BYTES, "slices make up a unit");

unsafe extern "C" {
    fn mi_heap_new() -> *mut c_void;
    fn mi_theap_get_default() -> *mut c_void;
    // Not public functions of mimalloc: one returns a thread's part of a heap, if it has one, the
    // other is what mimalloc does with that part when a thread ends.
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

/// Gives mimalloc its first part of the heap, while there is one thread.
pub(super) fn open() {
    // mimalloc frees slices that it does not use at once; here that only changes a word.
    // SAFETY: sets one number that mimalloc reads at any time.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
    share();
    // SAFETY: makes one more heap, which is never freed; null if there is no memory for it.
    ROWS.store(unsafe { mi_heap_new() }, Ordering::Relaxed);
}

/// mimalloc's heap for rows of tables, so that rows have their own pages. Rows come and go by the
/// ten thousand; a few hundred other blocks of the same sizes that live long would otherwise end up
/// spread over all pages that the rows ever took.
static ROWS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The heap for rows of tables; null if they share the default heap.
#[inline]
pub(super) fn rows() -> *mut c_void {
    // Relaxed: set before there is a second thread.
    ROWS.load(Ordering::Relaxed)
}

/// Makes mimalloc keep the memory that it takes from the system by itself, if the system has
/// refused us addresses: only the trimmer may return memory.
pub(super) fn refused() {
    // SAFETY: as above; -1 means never.
    unsafe { mi_option_set(PURGE_DELAY, -1) };
}

/// Bytes from the start of the heap that mimalloc has been given.
static SHARED: AtomicUsize = AtomicUsize::new(0);

/// Gives mimalloc a part of the heap: little at first, then as much as it has.
#[cold]
fn share() {
    let given = SHARED.load(Ordering::Relaxed);
    let share = given.clamp(SHARE_BYTES, SHARE_BYTES_MAX).min(HEAP.bytes() - given);
    let next = given + share;
    // One thread at a time gives a part.
    if share < SHARE_BYTES_MIN
        || SHARED.compare_exchange(given, next, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return;
    }
    let start = ptr::with_exposed_provenance_mut(HEAP.start() + given);
    let (none, id) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: a fresh range of zeros, which mimalloc keeps forever; `commit` never unwinds. If
    // mimalloc refuses it, it asks the system itself.
    unsafe { mi_manage_memory(start, share, false, false, true, -1, false, commit, none, id) };
}

/// Called by mimalloc when it starts to use a part of the heap, or has no use for it any more.
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

/// The bits of `count` slices from `first` on.
const fn set_of(first: usize, count: usize) -> u64 {
    (WHOLE >> (UNIT_SLICES - count)) << first
}

/// Takes slices of a unit, and populates those that are not yet, and their tags.
fn take(unit: usize, slices: u64) {
    let lacking = UNITS[unit].lacks(slices).count_ones() as usize;
    let mut by = steps();
    if lacking > 0 {
        budget::grow(lacking * (SLICE_BYTES + TAGS_BYTES));
        let begins_small = GROWING_UNITS.contains(&unit) || budget::is_short();
        if by == Steps::Units && begins_small && UNITS[unit].is_new() {
            // The unit is populated slice by slice, as one that was split.
            prefer_pages(SysCause::PagePopulate, unit_start(unit), UNIT_BYTES, Paging::Small);
            APART[unit].store(true, Ordering::Relaxed);
            by = Steps::Slices;
        }
    }
    let missing = UNITS[unit].take(slices, by);
    if missing != 0 {
        // A thread that finds a slice marked as populated may touch it a moment before it is, and
        // takes the page fault.
        let (start, bytes) = range_of(unit, missing);
        HEAP.note_populated(missing.count_ones() as usize * SLICE_BYTES);
        populate(start, bytes, keep());
    }
    let wanted = low(slices);
    // Relaxed: this thread has the slices, so the exchange that took them saw the trimmer's last
    // reset, and the next reset comes after they are freed.
    let untagged = wanted & !TAGGED[unit].fetch_or(wanted, Ordering::Relaxed);
    if untagged != 0 {
        let (start, bytes) = range_of(unit, u64::from(untagged));
        let (table, tags) = tag::table_of(start, bytes);
        HEAP.note_populated(untagged.count_ones() as usize * TAGS_BYTES);
        populate(table, tags, keep());
    }
}

/// The address of a unit's first byte.
fn unit_start(unit: usize) -> usize {
    HEAP.start() + unit * UNIT_BYTES
}

/// The address and size of the range from the first to the last of some slices.
fn range_of(unit: usize, slices: u64) -> (usize, usize) {
    let (first, last) = (slices.trailing_zeros() as usize, slices.ilog2() as usize);
    let start = unit_start(unit) + first * SLICE_BYTES;
    (start, (last + 1 - first) * SLICE_BYTES)
}

/// Bytes of populated slices of a unit, and of their populated tags.
fn with_tags(unit: usize, slices: u64) -> usize {
    // Relaxed: a measure.
    let tagged = TAGGED[unit].load(Ordering::Relaxed) & low(slices);
    slices.count_ones() as usize * SLICE_BYTES + tagged.count_ones() as usize * TAGS_BYTES
}

/// Frees the slices that the calling thread keeps without blocks, and abandons those with blocks:
/// any thread that takes a block of their size, this one included, continues with them.
///
/// A page of 64 KB has blocks of one size, and each thread has its own pages for each size: twenty
/// threads with a block or two in each of twenty pages hold 25 MB.
pub(super) fn abandon() {
    // SAFETY: returns the calling thread's heap, and makes it if there is none.
    let own = unsafe { mi_theap_get_default() };
    // SAFETY: touches only pages of the calling thread.
    unsafe { _mi_theap_collect_abandon(own) };
    let rows = rows();
    if !rows.is_null() {
        // SAFETY: the heap is never freed; the result is null if the thread has never taken a row.
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

/// Bytes of slices that are populated and not in use; of huge pages only if enough of one is free.
pub(super) fn idle_bytes() -> u64 {
    let steps = steps();
    let idle = units().iter().map(|unit| unit.idle(steps)).enumerate();
    idle.filter(|(_, free)| *free != 0).map(|(unit, free)| with_tags(unit, free) as u64).sum()
}

/// Slices of a unit as a word of [`TAGGED`].
fn low(slices: u64) -> u32 {
    // At most 32 bits are set, the lower ones.
    u32::try_from(slices).unwrap_or(u32::MAX)
}

/// Returns the memory of free slices of the highest unit below `below` that has some, at most
/// `most` bytes, to the operating system. Sets `below` to where to continue; returns the number of
/// bytes.
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
        let slices = unit.release(steps, |going| tags = decommit(*below, going));
        if slices != 0 {
            let bytes = slices.count_ones() as usize * SLICE_BYTES + tags;
            HEAP.note_released(bytes);
            return bytes as u64;
        }
    }
    0
}

/// Allows the kernel to collapse units with small pages into huge ones (khugepaged), where all of
/// them is populated and too little is free to be returned.
pub(super) fn rejoin() {
    for (unit, slices) in units().iter().enumerate() {
        if APART[unit].load(Ordering::Relaxed) && slices.is_whole() {
            allow_huge(unit);
        }
    }
}

fn allow_huge(unit: usize) {
    prefer_pages(SysCause::MemoryDecommit, unit_start(unit), UNIT_BYTES, Paging::Huge);
    APART[unit].store(false, Ordering::Relaxed);
}

/// Returns the memory of slices of a unit, and of their tags, to the system; returns the bytes of
/// the tags.
fn decommit(unit: usize, Going { slices, is_first, is_last }: Going) -> usize {
    let whole = unit_start(unit);
    if is_first {
        // Otherwise the kernel would collapse it into a huge page again, which also populates
        // pages that our counters have as free.
        prefer_pages(SysCause::MemoryDecommit, whole, UNIT_BYTES, Paging::Small);
        APART[unit].store(true, Ordering::Relaxed);
    }
    let mut left = slices;
    while left != 0 {
        let first = left.trailing_zeros();
        let run = (left >> first).trailing_ones() as usize;
        let (start, bytes) = range_of(unit, set_of(first as usize, run));
        // SAFETY: no thread gets any of these slices until this has returned (`Slices::release`).
        unsafe { release(start, bytes) };
        let (table, tags) = tag::table_of(start, bytes);
        // SAFETY: the slices have no blocks, so the tags are unused; a slice's tags have their own
        // page.
        unsafe { release(table, tags) };
        left &= !set_of(first as usize, run);
    }
    if is_last {
        allow_huge(unit);
    }
    // Relaxed: the threads that had the slices have freed them, and a thread that takes some does
    // so after the exchange that ends this release.
    let tagged = TAGGED[unit].fetch_and(!low(slices), Ordering::Relaxed) & low(slices);
    tagged.count_ones() as usize * TAGS_BYTES
}
