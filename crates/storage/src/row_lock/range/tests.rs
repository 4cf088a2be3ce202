//! Tests of which ranges share keys, over all pairs of ranges of short keys.

use super::*;
use crate::row_lock::Hold;

fn bounds<'a>(lower: Bound<&'a [u8]>, upper: Bound<&'a [u8]>) -> Bounds<'a> {
    Bounds { lower, upper }
}

/// For every pair of ranges over short keys: they are apart only if no key is in both.
#[test]
fn ranges_that_are_apart_have_no_key_in_common_and_points_are_found() {
    let keys: Vec<Vec<u8>> = (0..27).map(|n| vec![n / 9, n / 3 % 3, n % 3]).collect();
    let edges: Vec<Vec<u8>> =
        vec![vec![1], vec![0, 2], vec![1, 1], vec![1, 1, 1], vec![2, 0], vec![0, 0, 2]];
    let mut all = vec![Bounds::ALL];
    for one in &edges {
        all.push(Bounds::prefix(one));
        all.push(bounds(Bound::Excluded(one), Bound::Unbounded));
        all.push(bounds(Bound::Unbounded, Bound::Excluded(one)));
        for other in &edges {
            all.push(bounds(Bound::Included(one), Bound::Included(other)));
            all.push(bounds(Bound::Included(one), Bound::Excluded(other)));
            all.push(bounds(Bound::Excluded(one), Bound::Included(other)));
        }
    }
    let (index, state) = (IndexId(1), std::ptr::null());
    for one in &all {
        let mut ranges = Ranges::default();
        let range = KeyRange::new(index, *one);
        ranges.add(&range, Held { state, hold: Hold::Shared });
        let found_in = |bounds: Bounds<'_>| {
            let mut found = 0;
            let _ = ranges.overlapping(index, bounds, &mut |_| {
                found += 1;
                ControlFlow::Continue(())
            });
            found
        };
        for other in &all {
            let shared = keys.iter().any(|key| one.contains(key) && other.contains(key));
            assert!(!shared || !are_apart(*one, *other), "{one:?} {other:?}");
            let found = found_in(*other);
            assert!(!shared || found == 1, "{one:?} {other:?}");
        }
        for key in &keys {
            assert_eq!(
                found_in(Bounds::prefix(key)),
                usize::from(one.contains(key)),
                "{one:?} {key:?}"
            );
        }
        ranges.change(&range, |holders| *holders = Holders::Nothing);
        assert!(ranges.is_empty());
        assert!(ranges.points.values().all(|points| points.lengths.is_empty()));
    }
}
