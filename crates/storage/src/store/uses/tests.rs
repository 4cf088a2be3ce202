//! Tests of the counts of uses.

use super::*;

#[test]
fn uses_of_all_threads_add_up_and_the_latest_is_the_last() {
    let uses = TableUses::default();
    let own = uses.of(IndexId(2));
    own.count(IndexUse::Seek, 7);
    std::thread::scope(|scope| {
        scope.spawn(|| uses.of(IndexId(2)).count(IndexUse::Seek, 9));
    });
    own.count(IndexUse::Update, 8);
    assert_eq!(own.total(IndexUse::Seek), UseTotal { count: 2, last: 9 });
    assert_eq!(own.total(IndexUse::Scan), UseTotal::default());
    assert_eq!(own.total(IndexUse::Update), UseTotal { count: 1, last: 8 });
}

#[test]
fn an_index_that_is_created_again_starts_at_zero() {
    let uses = TableUses::default();
    uses.of(IndexId(2)).count(IndexUse::Scan, 1);
    uses.of(IndexId(3)).count(IndexUse::Scan, 1);
    uses.forget(IndexId(2));
    assert!(uses.get(IndexId(2)).is_none());
    assert_eq!(uses.of(IndexId(2)).total(IndexUse::Scan), UseTotal::default());
    assert_eq!(uses.of(IndexId(3)).total(IndexUse::Scan).count, 1);
}
