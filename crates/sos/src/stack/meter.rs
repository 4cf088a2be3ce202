//! The stack meter: how much of the calling thread's stack is left.
//!
//! Recursion over client input calls [`has_room`] at each level, which costs a load and a
//! comparison as long as the stack is shallow. The last eighth of a stack is the reserve: code
//! between two such calls runs in it, so no chain of calls without a check may need more than that.
//!
//! ```text
//!   high ┌────────────┐ the thread's first frame
//!        │  shallow   │ 1 MB: stays populated between requests
//!   near ├────────────┤
//!        │  deep      │ given back when the request ends: see `give_back`
//!  floor ├────────────┤ from here on recursion is refused
//!        │  reserve   │
//!    low └────────────┘ the guard page is below
//! ```

use std::cell::Cell;

use crate::sync::{AtomicUsize, Ordering};
use crate::sys;
use crate::sys::SysCause;

/// The part of a stack, in bytes, that may stay populated between requests.
const SHALLOW_BYTES: usize = 1 << 20;
/// The reserve is one such part of a stack.
const RESERVE_PART: usize = 8;
/// Bytes below the caller of [`give_back`] that its frames may use and that must stay.
const RED_ZONE_BYTES: usize = 64 << 10;

/// The bytes that the C library takes of a thread's stack above its first function, with a margin.
const START_BYTES: usize = 256 << 10;

/// The most bytes of reserve that a request has used since the process started.
static RESERVE_USED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy)]
struct Limits {
    low: usize,
    floor: usize,
    shallow: usize,
}

thread_local! {
    /// Addresses from here on have room without a closer look; the highest address until the
    /// thread's first check.
    static NEAR: Cell<usize> = const { Cell::new(usize::MAX) };
    static LIMITS: Cell<Option<Limits>> = const { Cell::new(None) };
    /// The bounds that the machine knows for a thread that it started, if the C library does not.
    static STARTED: Cell<Option<sys::StackBounds>> = const { Cell::new(None) };
    /// Whether the stack was deeper than its shallow part since it was last returned.
    static DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether recursion may go one level deeper on the calling thread.
#[inline]
#[must_use]
pub fn has_room() -> bool {
    place() >= NEAR.get() || look(0)
}

/// Returns whether `bytes` of the calling thread's stack are left above its reserve; false for a
/// thread whose stack is not known.
#[inline(never)]
#[must_use]
pub fn has_room_for(bytes: usize) -> bool {
    look(bytes)
}

/// Records that the calling thread has just started on a stack of this size. The C library's own
/// way to find the bounds asks the kernel for the thread's CPUs, which a sandbox may forbid.
pub(crate) fn started(bytes: usize) {
    let high = place();
    STARTED.set(Some(sys::StackBounds { low: high.saturating_sub(bytes - START_BYTES), high }));
}

/// Returns the most bytes of reserve that a request has used since the process started.
#[must_use]
pub fn reserve_used() -> usize {
    // Relaxed: a statistic.
    RESERVE_USED.load(Ordering::Relaxed)
}

/// An address of the caller's frame or just below it.
#[inline(always)]
fn place() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

#[cold]
#[inline(never)]
fn look(bytes: usize) -> bool {
    let Some(limits) = LIMITS.get().or_else(learn) else { return false };
    let wanted = place().checked_sub(bytes);
    if wanted.is_none_or(|wanted| wanted < limits.shallow) {
        DEEP.set(true);
        NEAR.set(limits.floor);
    }
    wanted.is_some_and(|wanted| wanted >= limits.floor)
}

fn learn() -> Option<Limits> {
    let stack = sys::stack_bounds().or(STARTED.get())?;
    let bytes = stack.high - stack.low;
    let floor = stack.low + bytes / RESERVE_PART;
    let shallow = stack.high.saturating_sub(SHALLOW_BYTES).max(floor);
    let limits = Limits { low: stack.low, floor, shallow };
    LIMITS.set(Some(limits));
    NEAR.set(shallow);
    Some(limits)
}

/// Returns the memory of the calling thread's stack below the caller to the system, if the stack
/// was deep. Called between requests.
#[inline]
pub(crate) fn give_back() {
    if DEEP.get() {
        give_back_deep();
    }
}

#[cold]
#[inline(never)]
fn give_back_deep() {
    let Some(limits) = LIMITS.get() else { return };
    DEEP.set(false);
    NEAR.set(limits.shallow);
    let reserve = limits.floor - limits.low;
    let used = reserve - sys::untouched_from(limits.low, reserve);
    if used > 0 {
        // Relaxed: a statistic.
        RESERVE_USED.fetch_max(used, Ordering::Relaxed);
    }
    if used > reserve / 2 {
        crate::error_log::line(&format_args!(
            "A request used {used} of {reserve} bytes of the reserve of its stack"
        ));
    }
    let unused = place().saturating_sub(RED_ZONE_BYTES).saturating_sub(limits.low);
    // SAFETY: this part of the calling thread's stack is below every frame in use.
    unsafe { sys::discard(SysCause::MemoryDecommit, limits.low, unused) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recurses until the meter refuses; returns the number of levels.
    #[inline(never)]
    fn descend(level: usize) -> usize {
        let frame = std::hint::black_box([1_u8; 4096]);
        if has_room() { descend(level + usize::from(frame[level % 4096])) } else { level }
    }

    #[test]
    fn a_stack_that_only_its_start_tells_of_is_within_its_bounds() {
        let stack = sys::stack_bounds().expect("the C library knows");
        let bytes = stack.high - stack.low;
        started(bytes);
        let started = STARTED.get().expect("noted above");
        assert!(stack.low < started.low && started.high < stack.high);
        assert!(started.high - started.low > bytes / 4 * 3);
    }

    #[test]
    fn recursion_ends_before_its_stack_does_and_gives_its_memory_back() {
        let levels = descend(0);
        let stack = sys::stack_bounds().expect("the C library knows");
        let bytes = stack.high - stack.low;
        assert!(levels * 4096 > bytes / 2 && levels * 4096 < bytes, "{levels} of {bytes}");
        let before = sys::resident_within(stack.low, bytes);
        give_back();
        let after = sys::resident_within(stack.low, bytes);
        assert!(before > after + bytes as u64 / 2 && after < 1 << 20, "{before}, {after}");
        assert!(has_room() && !has_room_for(bytes) && has_room_for(bytes / 2));
    }
}
