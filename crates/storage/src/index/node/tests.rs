//! Tests of the nodes of a range index.

use super::prefix;

#[test]
fn starts_order_as_keys_and_tell_neighbours_apart() {
    let bytes = [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF];
    let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
    for first in bytes {
        for rest in [&[][..], &[0], &[1], &[3, 0, 0, 0, 0, 0, 0, 4], &[3, 0, 0, 0, 0, 0, 0, 8, 1]] {
            for last in bytes {
                keys.push([&[first], rest, &[last]].concat());
            }
        }
    }
    keys.sort();
    for pair in keys.windows(2) {
        assert!(prefix(&pair[0]) <= prefix(&pair[1]), "{pair:?}");
    }
    let bigint = |n: u64| prefix(&[&[1], &n.to_be_bytes()[..]].concat());
    assert!(bigint(4) < bigint(8));
    assert!(bigint(4).first < bigint(8).first, "the first word is enough");
    let pair =
        |n: u32, m: u32| prefix(&[&[1], &n.to_be_bytes()[..], &[1], &m.to_be_bytes()[..]].concat());
    assert!(pair(7, 1) < pair(7, 2) && pair(7, 2) < pair(8, 1));
}
