//! The census's data on a thread: its domain, and how often each of its call stacks had to fetch or
//! invalidate a line.
//!
//! Only the thread itself writes it; a report may read while the thread runs.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::stack::{self, FRAMES_MAX};
use crate::state::{Access, Cost, Domain};
use crate::table::{self, LINE_BYTES, PAIR_BYTES, Width};

/// Most threads that can take part, ended ones included.
pub(crate) const THREADS_MAX: usize = 512;
/// Most call stacks of a thread; a power of two.
const SITES_MAX: usize = 1 << 12;
const COUNTS: usize = 12;

/// One call stack of one thread.
pub(crate) struct Site {
    /// Hash of the call stack; 0 if the entry is free.
    hash: AtomicU64,
    frames: [AtomicUsize; FRAMES_MAX],
    counts: [AtomicU64; COUNTS],
    /// The call stack that last had the line before this one took it.
    taken_from: AtomicU32,
}

/// A thread that takes part in the census.
pub(crate) struct Thread {
    number: u32,
    domain: Domain,
    stack_end: usize,
    sites: &'static [Site; SITES_MAX],
    lost: AtomicU64,
}

static THREADS: [AtomicPtr<Thread>; THREADS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; THREADS_MAX];
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CURRENT: Cell<Option<&'static Thread>> = const { Cell::new(None) };
}

/// Adds the calling thread to the census; its earlier accesses are not counted.
pub fn enter(domain: Domain) {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (Some(place), Ok(short)) = (THREADS.get(number), u32::try_from(number)) else { return };
    let Some(sites) = table::map_zeroed::<[Site; SITES_MAX]>() else { return };
    // SAFETY: mapped without end, and zeroes are valid atomics.
    let sites = unsafe { &*sites };
    let stack_end = stack::end_of_own();
    let thread = Thread { number: short, domain, stack_end, sites, lost: AtomicU64::new(0) };
    let thread: &'static Thread = Box::leak(Box::new(thread));
    // Release: pairs with the Acquire in `all`.
    place.store(ptr::from_ref(thread).cast_mut(), Ordering::Release);
    CURRENT.set(Some(thread));
}

/// Removes the calling thread from the census.
pub fn leave() {
    CURRENT.set(None);
}

/// Returns the threads that take or took part.
pub(crate) fn all() -> impl Iterator<Item = &'static Thread> {
    // Acquire: pairs with the Release in `enter`.
    let threads = THREADS.iter().map(|place| place.load(Ordering::Acquire));
    // SAFETY: `enter` stored it, and it is never unmapped.
    threads.filter_map(|thread| unsafe { thread.as_ref() })
}

/// Counts an access of the calling thread. `frame` is the frame pointer of the hook.
#[inline]
pub(crate) fn look(address: usize, bytes: usize, access: Access, frame: usize) {
    let Some(thread) = CURRENT.get() else { return };
    let last = address + bytes.max(1) - 1;
    let mut at = address;
    loop {
        thread.look(at, access, frame);
        at = (at | (LINE_BYTES - 1)) + 1;
        if at > last {
            return;
        }
    }
}

impl Thread {
    #[inline]
    fn look(&self, address: usize, access: Access, frame: usize) {
        let Some(entry) = table::entry(address) else { return };
        let (before, pair_before) = (entry.state(Width::Line), entry.state(Width::Pair));
        let (after, cost) = before.after(self.domain, access);
        let (pair_after, pair_cost) = pair_before.after(self.domain, access);
        if before != after {
            entry.set_state(Width::Line, after);
        }
        if pair_before != pair_after {
            entry.set_state(Width::Pair, pair_after);
        }
        let counted = match (cost, pair_cost) {
            (Cost::Own, Cost::Own) => return,
            (Cost::Own, cost) => (Width::Pair, cost),
            (cost, _) => (Width::Line, cost),
        };
        let Some(index) = self.site(frame) else { return };
        let site = &self.sites[index];
        site.count(access, counted.1, counted.0);
        site.taken_from.store(entry.taker(), Ordering::Relaxed);
        if counted.0 == Width::Line {
            entry.set_taker(self.name_of(index));
        }
    }

    /// Returns the index of the call stack that leads to the hook.
    #[cold]
    fn site(&self, frame: usize) -> Option<usize> {
        let mut frames = [0; FRAMES_MAX];
        stack::walk(frame, self.stack_end, &mut frames);
        let hash = hash(&frames);
        for probe in 0..SITES_MAX {
            let index = (usize::try_from(hash).unwrap_or(0) + probe) & (SITES_MAX - 1);
            let site = &self.sites[index];
            match site.hash.load(Ordering::Relaxed) {
                0 => {
                    for (place, frame) in site.frames.iter().zip(frames) {
                        place.store(frame, Ordering::Relaxed);
                    }
                    // Release: pairs with the Acquire in `sites`.
                    site.hash.store(hash, Ordering::Release);
                    return Some(index);
                }
                found if found == hash => return Some(index),
                _ => {}
            }
        }
        self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        None
    }

    /// Returns a number other than 0 for a call stack of this thread; see [`find`].
    fn name_of(&self, index: usize) -> u32 {
        self.number << 16 | u32::try_from(index + 1).unwrap_or(0)
    }

    /// Returns the thread's domain.
    pub(crate) const fn domain(&self) -> Domain {
        self.domain
    }

    /// Returns how many accesses were not counted because there were too many call stacks.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns its call stacks so far.
    pub(crate) fn sites(&self) -> impl Iterator<Item = &Site> {
        // Acquire: pairs with the Release in `site`.
        self.sites.iter().filter(|site| site.hash.load(Ordering::Acquire) != 0)
    }
}

/// Returns the call stack that a number names.
pub(crate) fn find(name: u32) -> Option<&'static Site> {
    let (number, place) = (name >> 16, usize::try_from(name & 0xFFFF).ok()?);
    all().find(|thread| thread.number == number)?.sites.get(place.checked_sub(1)?)
}

/// The counts of a call stack.
impl Site {
    fn index(access: Access, cost: Cost, width: Width) -> usize {
        let access = match access {
            Access::Load => 0,
            Access::Store => 1,
            Access::ReadModifyWrite => 2,
        };
        let width = match width {
            Width::Line => 0,
            Width::Pair => 3,
        };
        match cost {
            Cost::Own | Cost::Shared => access + width,
            Cost::Background => access + width + 6,
        }
    }

    fn count(&self, access: Access, cost: Cost, width: Width) {
        let count = &self.counts[Self::index(access, cost, width)];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns how often it made such an access at such a cost.
    pub(crate) fn counted(&self, access: Access, cost: Cost, width: Width) -> u64 {
        self.counts[Self::index(access, cost, width)].load(Ordering::Relaxed)
    }

    /// Returns its code addresses, the innermost first.
    pub(crate) fn frames(&self) -> Vec<usize> {
        let frames = self.frames.iter().map(|frame| frame.load(Ordering::Relaxed));
        frames.take_while(|&frame| frame != 0).collect()
    }

    /// Returns the call stack that last had a line which this one took.
    pub(crate) fn taken_from(&self) -> Option<&'static Self> {
        find(self.taken_from.load(Ordering::Relaxed))
    }

    fn forget(&self) {
        for count in &self.counts {
            count.store(0, Ordering::Relaxed);
        }
    }
}

/// Sets every count to 0. The states of the lines are kept.
pub fn forget_counts() {
    for thread in all() {
        thread.lost.store(0, Ordering::Relaxed);
        for site in thread.sites() {
            site.forget();
        }
    }
}

/// FNV-1a over whole words, never 0.
fn hash(frames: &[usize; FRAMES_MAX]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for &frame in frames {
        hash = (hash ^ frame as u64).wrapping_mul(0x100_0000_01B3);
    }
    // The low bits choose the table's slot.
    (hash ^ hash >> 29).max(1)
}

/// A pair is two lines, so that checking either line finds the pair's state.
const _: () = assert!(PAIR_BYTES == 2 * LINE_BYTES);
