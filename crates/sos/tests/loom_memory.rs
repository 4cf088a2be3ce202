//! Models of the heap's units and of [`Relief`], checked by loom: no thread uses a slice whose
//! memory is being returned to the system, and an answered request finds its garbage freed; and
//! mutants, which must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_memory --target-dir target/loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use sos::lock::Proven;
use sos::memory::{Relief, ReliefOrders, SliceOrders, Slices, Steps, WHOLE};
use sos::sync::{AtomicBool, Ordering};

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

macro_rules! relief_mutant {
    ($name:ident, $ask:ident, $begin:ident, $answer:ident, $answered:ident, $first:literal) => {
        struct $name;
        impl ReliefOrders for $name {
            const ASK: Ordering = Ordering::$ask;
            const BEGIN: Ordering = Ordering::$begin;
            const ANSWER: Ordering = Ordering::$answer;
            const ANSWERED: Ordering = Ordering::$answered;
            const READS_FIRST: bool = $first;
        }
    };
}

relief_mutant!(WeakAsk, Relaxed, Acquire, Release, Acquire, true);
relief_mutant!(WeakBegin, Release, Relaxed, Release, Acquire, true);
relief_mutant!(WeakAnswer, Release, Acquire, Relaxed, Acquire, true);
relief_mutant!(WeakAnswered, Release, Acquire, Release, Relaxed, true);
relief_mutant!(ReadsLate, Release, Acquire, Release, Acquire, false);

/// A thread leaves garbage and asks for a pass, while a collector runs passes: when it is answered,
/// the garbage has been freed, and the thread may use the memory.
fn relief_model<O: ReliefOrders + Send + Sync + 'static>() {
    loom::model(|| {
        let shared = Arc::new((Relief::<O>::new(), AtomicBool::new(false), UnsafeCell::new(0_u32)));
        let collector = Arc::clone(&shared);
        let collector = thread::spawn(move || {
            for _ in 0..2 {
                collector.0.pass(|| {
                    if collector.1.load(Ordering::Acquire) {
                        // SAFETY: the model is to show this: loom finds accesses that overlap.
                        collector.2.with_mut(|memory| unsafe { *memory += 1 });
                        collector.1.store(false, Ordering::Relaxed);
                    }
                });
            }
        });
        // SAFETY: as above.
        shared.2.with_mut(|memory| unsafe { *memory = 7 });
        shared.1.store(true, Ordering::Release);
        let ticket = shared.0.ask();
        if shared.0.is_answered(ticket) {
            // SAFETY: as above.
            assert_eq!(shared.2.with(|memory| unsafe { *memory }), 8, "a pass has overlooked it");
        }
        collector.join().expect("the collector ends");
    });
}

#[test]
fn who_is_answered_finds_his_garbage_freed() {
    relief_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_that_asks_relaxed_fails() {
    relief_model::<WeakAsk>();
}

#[test]
#[should_panic]
fn mutant_pass_that_begins_relaxed_fails() {
    relief_model::<WeakBegin>();
}

#[test]
#[should_panic]
fn mutant_that_answers_relaxed_fails() {
    relief_model::<WeakAnswer>();
}

#[test]
#[should_panic]
fn mutant_that_finds_an_answer_relaxed_fails() {
    relief_model::<WeakAnswered>();
}

#[test]
#[should_panic]
fn mutant_pass_that_answers_who_asked_meanwhile_fails() {
    relief_model::<ReadsLate>();
}

/// A thread uses a slice, frees it and takes it again, while the trimmer returns the memory of free
/// slices.
fn slices_model<O: SliceOrders + Send + Sync + 'static>() {
    loom::model(|| {
        let shared = Arc::new((Slices::<O>::new(), UnsafeCell::new(0_u32)));
        let trimmer = Arc::clone(&shared);
        let trimmer = thread::spawn(move || {
            // SAFETY: the model is to show this: loom finds accesses that overlap.
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

/// A thread uses one part of a unit and takes another one, while the trimmer returns the memory of
/// free parts: slice by slice, or of a huge page, whose second half it splits from the first.
fn neighbours_model<O: SliceOrders + Send + Sync + 'static>(steps: Steps, parts: [u64; 2]) {
    loom::model(move || {
        let shared = Arc::new((Slices::<O>::new(), [UnsafeCell::new(0_u32), UnsafeCell::new(0)]));
        let write = |at: usize, value| {
            // SAFETY: the model is to show this: loom finds accesses that overlap.
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

/// A thread uses two slices and takes both again, while the trimmer and a thread that makes room
/// return the memory of free slices: none of it twice.
fn releasers_model<O: SliceOrders + Send + Sync + 'static>(steps: Steps, parts: [u64; 2]) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let shared = Arc::new((Slices::<O>::new(), [UnsafeCell::new(0_u32), UnsafeCell::new(0)]));
        shared.0.take(parts[0] | parts[1], steps);
        shared.0.give(parts[0]);
        let releasers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.release(steps, |going| {
                        for at in (0..2).filter(|at| going.slices & parts[*at] != 0) {
                            // SAFETY: the model is to show this: loom finds accesses that overlap.
                            shared.1[at].with_mut(|memory| unsafe { *memory = 0 });
                        }
                    });
                })
            })
            .collect();
        shared.0.give(parts[1]);
        shared.0.take(parts[0], steps);
        // SAFETY: as above.
        shared.1[0].with_mut(|memory| unsafe { *memory = 9 });
        for releaser in releasers {
            releaser.join().expect("a releaser ends");
        }
        // SAFETY: as above.
        assert_eq!(shared.1[0].with(|memory| unsafe { *memory }), 9);
    });
}

/// Two different slices of a unit.
const SLICES: [u64; 2] = [0b01, 0b10];
/// The two halves of a unit.
const HALVES: [u64; 2] = [0xffff, WHOLE & !0xffff];

#[test]
fn nobody_uses_a_slice_whose_memory_is_going() {
    slices_model::<Proven>();
    neighbours_model::<Proven>(Steps::Slices, SLICES);
    neighbours_model::<Proven>(Steps::Units, HALVES);
}

#[test]
fn memory_of_a_slice_goes_once_where_several_make_room() {
    releasers_model::<Proven>(Steps::Slices, SLICES);
    releasers_model::<Proven>(Steps::Units, HALVES);
}

#[test]
#[should_panic]
fn mutant_that_makes_room_of_what_the_trimmer_has_fails() {
    releasers_model::<ReleasesUntaken>(Steps::Slices, SLICES);
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
