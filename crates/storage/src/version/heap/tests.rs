//! Tests of the heap: places of heads, free heads, and what a walk passes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::restore::{first_of, id_of};
use super::*;

#[test]
fn head_that_is_reused_may_have_other_keys() {
    let heap = Heap::new();
    let first = heap.allocate();
    assert!(first.has_one_key());
    let id = first.id();
    heap.release(first);
    let second = heap.allocate();
    assert!(std::ptr::eq(first, second), "the only free head is taken first");
    assert!(!second.has_one_key());
    assert_eq!(second.id(), id);
    assert!(heap.allocate().has_one_key());
}

#[test]
fn heads_of_a_small_table_have_a_line_each_and_those_of_a_large_one_share() {
    let heap = Heap::new();
    let count = SEGMENT_HEADS_MIN + SEGMENT_HEADS_MAX;
    let lines: Vec<usize> =
        (0..count).map(|_| std::ptr::from_ref(heap.allocate()).addr() / 64).collect();
    let (small, large) = lines.split_at(SEGMENT_HEADS_MIN);
    assert!(small.is_sorted_by(|a, b| a < b), "{small:?}");
    assert!(large.chunks(LINE_HEADS).all(|heads| heads.iter().all(|line| *line == heads[0])));
    let mut walked = Vec::new();
    let mut position = HeapPosition::default();
    loop {
        let mut batch = Vec::new();
        heap.walk(&mut position, &mut batch, 3);
        if batch.is_empty() {
            break;
        }
        walked.extend(batch.iter().map(|head| std::ptr::from_ref(*head).addr() / 64));
    }
    assert_eq!(walked, lines);
}

#[test]
fn segments_without_rows_are_skipped_and_the_lowest_heads_come_back_first() {
    let heap = Heap::new();
    let heads: Vec<&RowHead> = (0..20 * SEGMENT_HEADS_MAX).map(|_| heap.allocate()).collect();
    let (kept, gone) = heads.split_last().unwrap();
    gone.iter().for_each(|head| heap.release(head));
    let mut position = HeapPosition::default();
    let run = heap.run(&mut position, usize::MAX).unwrap();
    assert!(run.len() <= SEGMENT_HEADS_MAX);
    assert!(run.heads().any(|head| std::ptr::eq(head, *kept)));
    assert!(heap.run(&mut position, 1).is_none());
    let again = heap.allocate();
    assert!(usize::try_from(again.id().0 & 0xffff).unwrap() < SEGMENT_HEADS_MIN);
    let first = heap.run(&mut HeapPosition::default(), usize::MAX).unwrap();
    assert!(first.heads().any(|head| std::ptr::eq(head, again)));
}

#[test]
fn row_numbers_follow_each_other_through_the_segments() {
    let heap = Heap::new();
    let count = 5 * SEGMENT_HEADS_MAX;
    let ids: Vec<RowId> = (0..count).map(|_| heap.allocate().id()).collect();
    let (shard, first) = parts_of(ids[0]);
    assert_eq!(first, 0);
    let segments = heap.shards.of(shard).segments();
    let places = segments
        .enumerate()
        .flat_map(|(at, segment)| (0..segment.used()).map(move |slot| (at, slot)));
    for (number, place) in places.enumerate() {
        assert_eq!(place_of(number), place);
        assert_eq!(ids[number], id_of(shard, number));
        assert_eq!(first_of(place.0) + place.1, number);
    }
}

#[test]
fn ids_that_no_heap_has_are_refused() {
    let heap = Heap::new();
    assert!(heap.head_at(id_of(5_000, 0)).is_none());
    assert!(heap.head_at(RowId((1 << SHARD_SHIFT) - 1)).is_none());
    assert!(heap.is_untouched());
    assert!(heap.head_at(id_of(900, 70)).is_some());
}

proptest! {
    #[test]
    fn heads_of_the_lowest_segment_come_first(
        steps in prop::collection::vec(prop::option::of(0..300_usize), 0..400),
    ) {
        let (mut free, mut model) = (FreeHeads::default(), BTreeSet::new());
        for (number, step) in (1_usize..).zip(steps) {
            match step {
                Some(segment) => {
                    let head = NonNull::without_provenance(number.try_into().unwrap());
                    free.push(segment, head);
                    model.insert((segment, head));
                }
                None => {
                    let lowest = model.first().map(|(segment, _)| *segment);
                    let taken = free.pop();
                    prop_assert_eq!(taken.map(|(segment, _)| segment), lowest);
                    prop_assert!(taken.is_none_or(|taken| model.remove(&taken)));
                }
            }
        }
    }
}
