//! Tests of directories that grow by levels.

use proptest::prelude::*;

use super::*;

#[test]
fn places_follow_each_other_without_a_gap() {
    let all: usize = (0..LEVELS).map(len_of).sum();
    let places: Vec<_> = (0..all).map(|number| place_of(number).expect("a place")).collect();
    assert_eq!(places[0], (0, 0));
    for two in places.windows(2) {
        let ((level, place), next) = (two[0], two[1]);
        let is_last = place + 1 == len_of(level);
        assert_eq!(next, if is_last { (level + 1, 0) } else { (level, place + 1) });
    }
    assert_eq!(place_of(all), None);
}

proptest! {
    /// Against a map: each number that was set has its value, and no other number has one.
    #[test]
    fn numbers_have_the_values_that_were_set(numbers in prop::collection::btree_set(0..5_000_usize, 0..60),
                                             seed in any::<u64>()) {
        let mut order: Vec<usize> = numbers.iter().copied().collect();
        order.sort_by_key(|number| (*number as u64 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let directory = Directory::default();
        for number in order {
            prop_assert_eq!(directory.get(number), None);
            prop_assert_eq!(directory.set(number, Box::new(number)), &number);
        }
        for number in 0..5_100 {
            let set = numbers.contains(&number).then_some(number);
            prop_assert_eq!(directory.get(number).copied(), set);
        }
    }
}

#[test]
fn values_go_with_the_directory() {
    let value = std::sync::Arc::new(());
    let directory = Directory::default();
    for number in [0, 1, 7, 300] {
        directory.set(number, Box::new(std::sync::Arc::clone(&value)));
    }
    assert_eq!(std::sync::Arc::strong_count(&value), 5);
    drop(directory);
    assert_eq!(std::sync::Arc::strong_count(&value), 1);
}
