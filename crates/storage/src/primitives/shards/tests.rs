//! Tests of places per thread.

use std::sync::Barrier;

use super::*;
use crate::primitives::AtomicI64;

/// Returns the numbers of `threads` threads that live at the same time.
fn numbers(threads: usize) -> Vec<usize> {
    let all_here = Barrier::new(threads);
    let number = || {
        let number = own_number();
        all_here.wait();
        number
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(number)).collect();
        handles.into_iter().map(|handle| handle.join().expect("ends")).collect()
    })
}

#[test]
fn threads_that_live_at_the_same_time_have_numbers_of_their_own() {
    // Threads that have ended return their numbers, so these never run out.
    for _ in 0..20 {
        let mut numbers = numbers(80);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 80);
    }
    assert!(own_number() < NUMBERS);
}

#[test]
fn each_number_has_a_place_and_all_are_found() {
    let shards = Shards::<AtomicI64>::default();
    for number in (0..NUMBERS).filter(|number| !(64..512).contains(number)) {
        shards.of(number).fetch_add(i64::try_from(number).unwrap_or(0), Ordering::Relaxed);
    }
    let wanted: i64 = (0..64).chain(512..1024).sum();
    assert_eq!(shards.iter().map(|place| place.load(Ordering::Relaxed)).sum::<i64>(), wanted);
    let (mut number, mut walked) = (0, Vec::new());
    while let Some((found, place)) = shards.from(number) {
        assert_eq!(place.load(Ordering::Relaxed), i64::try_from(found).unwrap_or(-1));
        walked.push(found);
        number = found + 1;
    }
    assert!(walked.into_iter().eq((0..64).chain(512..NUMBERS)));
}
