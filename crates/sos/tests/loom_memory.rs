//! Models of the heap's units, checked by loom: nobody uses a slice whose memory is going; and mutants, which must
//! fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_memory --target-dir target/loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use sos::lock::Proven;
use sos::memory::{SliceOrders, Slices, Steps, WHOLE};
use sos::sync::Ordering;

macro_rules! slice_mutant {
    ($name:ident, $take:ident, $give:ident, $release:ident, $released:ident, $first:literal) => {
        struct $name;
        impl SliceOrders for $name {
            const TAKE: Ordering = Ordering::$take;
            const GIVE: Ordering = Ordering::$give;
            const RELEASE: Ordering = Ordering::$release;
            const RELEASED: Ordering = Ordering::$released;
            const TAKES_FIRST: bool = $first;
        }
    };
}

slice_mutant!(WeakTakeOfSlices, Relaxed, Release, Acquire, Release, true);
slice_mutant!(WeakGive, Acquire, Relaxed, Acquire, Release, true);
slice_mutant!(WeakRelease, Acquire, Release, Relaxed, Release, true);
slice_mutant!(WeakReleased, Acquire, Release, Acquire, Relaxed, true);
slice_mutant!(ReleasesUntaken, Acquire, Release, Acquire, Release, false);

/// One uses a slice, gives it back and takes it again, while the trimmer takes the memory of what is free.
fn slices_model<O: SliceOrders + Send + Sync + 'static>() {
    loom::model(|| {
        let shared = Arc::new((Slices::<O>::new(), UnsafeCell::new(0_u32)));
        let trimmer = Arc::clone(&shared);
        let trimmer = thread::spawn(move || {
            // SAFETY: what the model is to show: loom finds who is there at the same time.
            trimmer
                .0
                .release(Steps::Slices, |_| trimmer.1.with_mut(|memory| unsafe { *memory = 0 }));
        });
        for round in 1..=2 {
            shared.0.take(1, Steps::Slices);
            // SAFETY: as above.
            shared.1.with_mut(|memory| unsafe { *memory = round });
            // SAFETY: as above.
            assert_eq!(shared.1.with(|memory| unsafe { *memory }), round);
            shared.0.give(1);
        }
        trimmer.join().expect("the trimmer ends");
    });
}

/// One uses a part of a unit and takes another, while the trimmer takes the memory of what is free of it: slice by slice,
/// or of a huge page, whose second half it takes apart from the first.
fn neighbours_model<O: SliceOrders + Send + Sync + 'static>(steps: Steps, parts: [u64; 2]) {
    loom::model(move || {
        let shared = Arc::new((Slices::<O>::new(), [UnsafeCell::new(0_u32), UnsafeCell::new(0)]));
        let write = |at: usize, value| {
            // SAFETY: what the model is to show: loom finds who is there at the same time.
            shared.1[at].with_mut(|memory| unsafe { *memory = value });
        };
        // SAFETY: as above.
        let read = |at: usize| shared.1[at].with(|memory| unsafe { *memory });
        shared.0.take(parts[0] | parts[1], steps);
        write(0, 7);
        write(1, 8);
        shared.0.give(parts[1]);
        let trimmer = Arc::clone(&shared);
        let trimmer = thread::spawn(move || {
            trimmer.0.release(steps, |going| {
                for at in (0..2).filter(|at| going.slices & parts[*at] != 0) {
                    // SAFETY: as above.
                    trimmer.1[at].with_mut(|memory| unsafe { *memory = 0 });
                }
            });
        });
        shared.0.take(parts[1], steps);
        write(1, 9);
        assert_eq!((read(0), read(1)), (7, 9));
        shared.0.give(parts[0]);
        trimmer.join().expect("the trimmer ends");
        assert_eq!(read(1), 9);
    });
}

/// Two slices.
const SLICES: [u64; 2] = [0b01, 0b10];
/// The halves of a unit.
const HALVES: [u64; 2] = [0xffff, WHOLE & !0xffff];

#[test]
fn nobody_uses_a_slice_whose_memory_is_going() {
    slices_model::<Proven>();
    neighbours_model::<Proven>(Steps::Slices, SLICES);
    neighbours_model::<Proven>(Steps::Units, HALVES);
}

#[test]
#[should_panic]
fn mutant_trimmer_that_does_not_take_a_slice_first_fails() {
    neighbours_model::<ReleasesUntaken>(Steps::Slices, SLICES);
}

#[test]
#[should_panic]
fn mutant_trimmer_that_does_not_take_half_a_huge_page_first_fails() {
    neighbours_model::<ReleasesUntaken>(Steps::Units, HALVES);
}

#[test]
#[should_panic]
fn mutant_trimmer_that_gives_half_a_huge_page_back_relaxed_fails() {
    neighbours_model::<WeakReleased>(Steps::Units, HALVES);
}

#[test]
#[should_panic]
fn mutant_trimmer_that_gives_slices_back_relaxed_fails() {
    neighbours_model::<WeakReleased>(Steps::Slices, SLICES);
}

#[test]
#[should_panic]
fn mutant_that_takes_slices_relaxed_fails() {
    slices_model::<WeakTakeOfSlices>();
}

#[test]
#[should_panic]
fn mutant_that_gives_slices_relaxed_fails() {
    slices_model::<WeakGive>();
}

#[test]
#[should_panic]
fn mutant_trimmer_that_takes_a_unit_relaxed_fails() {
    slices_model::<WeakRelease>();
}

#[test]
#[should_panic]
fn mutant_trimmer_that_gives_a_unit_back_relaxed_fails() {
    slices_model::<WeakReleased>();
}

#[test]
#[should_panic]
fn mutant_trimmer_that_does_not_take_the_unit_first_fails() {
    slices_model::<ReleasesUntaken>();
}
