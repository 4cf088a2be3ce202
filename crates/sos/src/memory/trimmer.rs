//! The trimmer: a thread that returns memory that has been free for long to the operating system,
//! in steps, and not while it may soon be needed again.
//!
//! It looks once a second. Memory that was free at every look of 30 s is returned, except for a
//! reserve (a sixteenth of what was used, at least 1 MB): so a load that takes and frees in turn
//! never meets it. Near the memory limit it does not wait, and leaves no reserve. Between two steps
//! it waits with wait type RESERVED_MEMORY_FREE_EXT; the steps are kernel time with cause
//! `decommit`.

use std::time::Duration;

use super::space::{EXTENTS, HEAP};
use super::{heap, pool};
use crate::park::{self, Cancel};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use crate::wait::WaitType;
use crate::xe::machine_events;

/// The time between two looks.
pub(crate) const LOOK_PERIOD: Duration = Duration::from_secs(1);
/// The number of looks in a row that must find memory free.
const WINDOW_LOOKS: u32 = 30;
/// The reserve that stays although it is free: one such part of what was used, and at least the
/// bytes below.
const RESERVE_PART: u64 = 16;
const RESERVE_BYTES_MIN: u64 = 1 << 20;
/// The most that one step returns, and the pause after it: 400 MB a second.
const STEP_BYTES: u64 = 8 << 20;
const STEP_PAUSE: Duration = Duration::from_millis(20);

/// One trimmer at a time, whatever the number of instances: the memory is the process's.
static IS_BUSY: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicU64 = AtomicU64::new(0);

/// Bytes returned to the operating system since the start.
#[must_use]
pub fn released_bytes() -> u64 {
    RELEASED.load(Ordering::Relaxed)
}

/// Decides how much memory of one kind to return. Pure arithmetic.
#[derive(Debug)]
struct Window {
    looks: u32,
    /// The least number of bytes that was free in this window.
    least: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { looks: 0, least: u64::MAX }
    }
}

impl Window {
    /// Takes the idle and the populated bytes of one look; returns how many bytes to return.
    fn look(&mut self, idle: u64, populated: u64, is_short: bool) -> u64 {
        self.looks += 1;
        self.least = self.least.min(idle);
        if is_short {
            *self = Self::default();
            return idle;
        }
        if self.looks < WINDOW_LOOKS {
            return 0;
        }
        let least = std::mem::take(self).least;
        let used = populated.saturating_sub(least);
        least.saturating_sub((used / RESERVE_PART).max(RESERVE_BYTES_MIN))
    }
}

/// The windows of both kinds of memory: extents, and mimalloc's heap.
#[derive(Debug, Default)]
pub(crate) struct Trimmer {
    extents: Window,
    heap: Window,
}

impl Trimmer {
    /// Looks once, and returns the excess to the system.
    pub(crate) fn run(&mut self, stopping: &Cancel) {
        // Acquire here, Release below: one trimmer sees what the one before did.
        if IS_BUSY.swap(true, Ordering::Acquire) {
            return;
        }
        let is_short = super::budget::measure();
        if is_short || self.extents.looks == 0 {
            pool::empty_depots();
        }
        let idle = pool::idle_bytes();
        let excess = self.extents.look(idle, EXTENTS.populated(), is_short);
        let mut below = usize::MAX;
        trim((idle, excess), |most| pool::release_idle(&mut below, most), stopping);
        heap::rejoin();
        let idle = heap::idle_bytes();
        let excess = self.heap.look(idle, HEAP.populated(), is_short);
        let mut below = usize::MAX;
        trim((idle, excess), |most| heap::release_idle(&mut below, most), stopping);
        if is_short {
            super::budget::measure();
        }
        IS_BUSY.store(false, Ordering::Release);
    }
}

/// Returns `excess` of the idle bytes, step by step, never more. `release` returns the free memory
/// of one unit, at most the bytes that it is given.
fn trim((idle, excess): (u64, u64), mut release: impl FnMut(u64) -> u64, stopping: &Cancel) {
    let began = crate::clock::now_ticks();
    let mut gone = 0;
    let mut step = 0;
    while gone + step < excess {
        let released = release(excess - gone - step);
        step += released;
        if step >= STEP_BYTES || released == 0 {
            gone += std::mem::take(&mut step);
            park::sleep(STEP_PAUSE, WaitType::ReservedMemoryFree, Some(stopping));
        }
        if released == 0 || stopping.is_set() {
            break;
        }
    }
    RELEASED.fetch_add(gone + step, Ordering::Relaxed);
    if gone + step > 0 {
        machine_events::trimmed(idle, excess, gone + step, began);
    }
}

/// Returns all free memory at once, on the calling thread: what the published engine did, for an
/// experiment only.
pub(super) fn release_all() {
    let mut below = usize::MAX;
    loop {
        let released = pool::release_idle(&mut below, u64::MAX);
        if released == 0 {
            return;
        }
        RELEASED.fetch_add(released, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn memory_goes_back_only_when_it_was_free_for_the_whole_window() {
        let mut window = Window::default();
        for look in 1..WINDOW_LOOKS {
            assert_eq!(window.look(600 * MB, 1000 * MB, false), 0, "{look}");
        }
        // A sixteenth of what was in use is kept.
        assert_eq!(window.look(600 * MB, 1000 * MB, false), 575 * MB);
        for look in 0..10 * WINDOW_LOOKS {
            let idle = if look % 20 == 0 { 50 * MB } else { 600 * MB };
            assert_eq!(window.look(idle, 1000 * MB, false), 0, "a load that comes and goes");
        }
    }

    #[test]
    fn little_memory_stays_whether_it_is_used_or_not() {
        let mut window = Window::default();
        let looked = (0..WINDOW_LOOKS).map(|_| window.look(MB, 10 * MB, false)).max();
        assert_eq!(looked, Some(0));
        let looked = (0..WINDOW_LOOKS).map(|_| window.look(30 * MB, 30 * MB, false)).max();
        assert_eq!(looked, Some(29 * MB));
    }

    #[test]
    fn near_the_limit_all_that_is_free_goes_at_once() {
        assert_eq!(Window::default().look(100 * MB, 1000 * MB, true), 100 * MB);
    }
}
