//! Tests of the nodes of a range index.

use super::{COMMON, Words, prefix, start};

/// Keys in order: many that start alike, of all lengths around a word's.
fn keys() -> Vec<Vec<u8>> {
    let bytes = [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF];
    let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
    for first in bytes {
        for rest in [&[][..], &[0], &[1], &[3, 0, 0, 0, 0, 0, 0, 4], &[3, 0, 0, 0, 0, 0, 0, 8, 1]] {
            for last in bytes {
                keys.push([&[first], rest, &[last]].concat());
            }
        }
        for length in 0..8 * COMMON + 12 {
            keys.push([&[first], &vec![0x61; length][..], &[0x62]].concat());
            keys.push([&[first], &vec![0x61; length][..]].concat());
        }
    }
    keys.sort();
    keys
}

#[test]
fn starts_order_as_keys_and_tell_neighbours_apart() {
    for pair in keys().windows(2) {
        assert!(prefix(&pair[0]) <= prefix(&pair[1]), "{pair:?}");
    }
    let bigint = |n: u64| prefix(&[&[1], &n.to_be_bytes()[..]].concat());
    assert!(bigint(4) < bigint(8));
    assert!(bigint(4).first < bigint(8).first, "the first word is enough");
    let pair =
        |n: u32, m: u32| prefix(&[&[1], &n.to_be_bytes()[..], &[1], &m.to_be_bytes()[..]].concat());
    assert!(pair(7, 1) < pair(7, 2) && pair(7, 2) < pair(8, 1));
}

/// All words of a key, compared one after the other, never order two keys the wrong way, and
/// tell two keys apart unless one is the other with zeros behind it.
#[test]
fn words_order_as_keys() {
    let words = |key: &[u8]| -> Vec<u64> {
        let mut words = Words::of(key);
        (0..=key.len() / 8 + 2).map(|_| words.take()).collect()
    };
    for pair in keys().windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        let longest = |key: &[u8]| {
            let mut key = words(key);
            key.resize(30, 0);
            key
        };
        assert!(longest(a) <= longest(b), "{pair:?}");
        let is_filled_up = b.starts_with(a) && b[a.len()..].iter().all(|byte| *byte == 0);
        assert_eq!(longest(a) == longest(b), a == b || is_filled_up, "{pair:?}");
    }
}

#[test]
fn start_behind_some_words_is_the_next_two() {
    for key in keys() {
        let mut words = Words::of(&key);
        let all: Vec<u64> = (0..COMMON + 2).map(|_| words.take()).collect();
        for shared in 0..=COMMON {
            let own = start(&key, shared);
            assert_eq!([own.first, own.second], all[shared..shared + 2], "{key:?} {shared}");
        }
    }
}
