//! The stacks of threads, as far as they have been touched: memory that the process has beside the
//! two spaces. The kernel is asked which of their pages are there (mincore(2)).

use crate::sync::{AtomicUsize, Ordering};
use crate::sys::{self, Paging, SysCause};
use crate::thread::STACK_BYTES;

/// Threads whose stacks are counted, at most.
const STACKS_MAX: usize = 1 << 15;
/// Where the stack of each thread begins; 0 for none.
static STACKS: [AtomicUsize; STACKS_MAX] = [const { AtomicUsize::new(0) }; STACKS_MAX];
/// Places from this one on have never been taken.
static STACKS_END: AtomicUsize = AtomicUsize::new(0);

/// The calling thread's stack is counted as long as this is there.
#[derive(Debug)]
pub(crate) struct StackPlace(Option<usize>);

impl StackPlace {
    /// Begins to count the calling thread's stack.
    pub(crate) fn take() -> Self {
        let Some(stack) = sys::stack_bounds() else { return Self(None) };
        // Where the kernel hands out huge pages unasked, the first touch of a stack would take 2
        // MB.
        sys::prefer_pages(SysCause::Thread, stack.low, stack.high - stack.low, Paging::Small);
        // Relaxed, here and below: numbers for a sum, of which one may be there a moment too long.
        let taken = STACKS.iter().position(|place| {
            place.load(Ordering::Relaxed) == 0
                && place
                    .compare_exchange(0, stack.low, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
        });
        if let Some(place) = taken {
            STACKS_END.fetch_max(place + 1, Ordering::Relaxed);
        }
        Self(taken)
    }
}

impl Drop for StackPlace {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            STACKS[place].store(0, Ordering::Relaxed);
        }
    }
}

/// Bytes of the stacks of threads that were started here.
pub(super) fn stacks_bytes() -> u64 {
    let stacks = &STACKS[..STACKS_END.load(Ordering::Relaxed)];
    let starts = stacks.iter().map(|place| place.load(Ordering::Relaxed)).filter(|&low| low != 0);
    starts.map(|low| sys::resident_stack(low, low + STACK_BYTES)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a page.
    const PAGE: u64 = 4_096;

    #[inline(never)]
    fn touch<const BYTES: usize>() {
        let stack = std::hint::black_box([1_u8; BYTES]);
        assert_eq!(stack[BYTES / 2], 1);
    }

    #[test]
    fn stack_is_counted_as_far_as_it_has_been_touched() {
        let here = sys::stack_bounds().expect("the C library knows");
        let of_stack = || sys::resident_within(here.low, here.high - here.low);
        let before = of_stack();
        touch::<{ 256 << 10 }>();
        let after = of_stack();
        assert!(after >= before + (200 << 10) && after.is_multiple_of(PAGE), "{before}, {after}");
    }

    #[test]
    fn thread_that_has_ended_has_no_stack() {
        let low = sys::stack_bounds().expect("the C library knows").low;
        let has = || STACKS.iter().any(|place| place.load(Ordering::Relaxed) == low);
        let place = StackPlace::take();
        assert!(has() && stacks_bytes() > 0);
        drop(place);
        assert!(!has());
    }
}
