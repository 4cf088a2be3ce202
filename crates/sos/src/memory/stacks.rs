//! The resident memory of thread stacks, which is outside the two spaces. The kernel reports which
//! of their pages are resident (mincore(2)).

use crate::sync::{AtomicUsize, Ordering};
use crate::sys::{self, Paging, SysCause};
use crate::thread::STACK_BYTES;

/// The most threads whose stacks are counted.
const STACKS_MAX: usize = 1 << 15;
/// The lowest address of each thread's stack; 0 for a free place.
static STACKS: [AtomicUsize; STACKS_MAX] = [const { AtomicUsize::new(0) }; STACKS_MAX];
/// Places from this one on have never been taken.
static STACKS_END: AtomicUsize = AtomicUsize::new(0);

/// Counts the calling thread's stack until dropped.
#[derive(Debug)]
pub(crate) struct StackPlace(Option<usize>);

impl StackPlace {
    /// Begins to count the calling thread's stack.
    pub(crate) fn take() -> Self {
        let Some(stack) = sys::stack_bounds() else { return Self(None) };
        // If the kernel uses huge pages without being asked, the first touch of a stack would take
        // 2 MB.
        sys::prefer_pages(SysCause::Thread, stack.low, stack.high - stack.low, Paging::Small);
        // Relaxed, here and below: a sum may include a stack that has just ended.
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

/// The resident bytes of the stacks of threads that the machine started.
pub(super) fn stacks_bytes() -> u64 {
    let stacks = &STACKS[..STACKS_END.load(Ordering::Relaxed)];
    let starts = stacks.iter().map(|place| place.load(Ordering::Relaxed)).filter(|&low| low != 0);
    starts.map(|low| sys::resident_stack(low, low + STACK_BYTES)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of a page in bytes.
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
