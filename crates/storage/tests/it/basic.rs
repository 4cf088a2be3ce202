//! One session: it reads what it has written, in every order, and nothing of what it rolled back.

use std::ops::Bound;

use storage::{Bounds, Error, KeyList, KeyWalk, Keys, Order, Read, TableKind};

use crate::support::{BY_GROUP, BY_HASH, BY_KEY, Bank, all, decode, encode, get, image, key, scan};

fn rows(count: i64) -> impl Iterator<Item = (i64, i64, i64)> {
    (0..count).map(|n| (n, n % 3, 100))
}

#[test]
fn inserted_row_is_found_by_every_index() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(50));
    let tx = bank.begin();
    for index in [BY_KEY, BY_HASH] {
        let row = tx.get(&bank.table, index, &key(17), Read::SNAPSHOT).unwrap().unwrap();
        assert_eq!(decode(row.image()), (17, 2, 100));
        assert!(tx.get(&bank.table, index, &key(50), Read::SNAPSHOT).unwrap().is_none());
    }
    let group = key(1);
    let bounds = Bounds::prefix(&group);
    let found = scan(&tx, &bank, Some(BY_GROUP), bounds, Order::Forward, Read::SNAPSHOT).unwrap();
    assert_eq!(found.len(), 17);
    assert!(found.iter().all(|row| row.1 == 1));
    let mut heap = scan(&tx, &bank, None, Bounds::ALL, Order::Forward, Read::SNAPSHOT).unwrap();
    heap.sort_unstable();
    assert_eq!(heap, rows(50).collect::<Vec<_>>());
    assert_eq!(bank.table.row_count(), 50);
}

#[test]
fn rows_looked_up_together_are_those_looked_up_alone() {
    let bank = Bank::with(TableKind::Ordinary, rows(200));
    let other = bank.begin();
    for n in (0..200).step_by(7) {
        let row = other.get(&bank.table, BY_KEY, &key(n), Read::COMMITTED).unwrap().unwrap();
        other.delete(row).unwrap();
    }
    let tx = bank.begin();
    let mut wanted = KeyList::default();
    let keys: Vec<i64> = (0..300).chain((0..300).rev()).chain([5, 5, 199, 0, 250]).collect();
    for n in &keys {
        wanted.push_with(|out| out.extend_from_slice(&key(*n)));
    }
    let check = |tx: &storage::Transaction| {
        for (index, read) in
            [(BY_KEY, Read::COMMITTED), (BY_HASH, Read::COMMITTED), (BY_KEY, Read::SNAPSHOT)]
        {
            let mut found = Vec::new();
            tx.get_images((&bank.table, index), &wanted, read, &mut found).unwrap();
            let found: Vec<_> =
                found.iter().map(|(place, image)| (*place as usize, decode(*image))).collect();
            let alone = keys.iter().enumerate().filter_map(|(place, n)| {
                let row = tx.get(&bank.table, index, &key(*n), read).unwrap()?;
                Some((place, decode(row.image())))
            });
            assert_eq!(found, alone.collect::<Vec<_>>());
        }
    };
    check(&tx);
    check(&other);
    other.commit().unwrap();
    check(&tx);
    check(&bank.begin());
}

/// Takes a walk to its end; returns the rows, each with the place of its key.
fn walked(
    tx: &storage::Transaction,
    bank: &Bank,
    (index, read): (storage::IndexId, Read),
    keys: &KeyList,
    walk: &mut KeyWalk,
) -> Vec<(usize, (i64, i64, i64))> {
    let mut all = Vec::new();
    while !walk.is_done() {
        let mut found = Vec::new();
        tx.walk_images((&bank.table, index), keys, read, walk, &mut found).unwrap();
        all.extend(found.iter().map(|(place, image)| (*place as usize, decode(*image))));
    }
    all
}

#[test]
fn rows_under_many_keys_are_those_of_a_scan_each() {
    let bank = Bank::with(TableKind::Ordinary, rows(3_000));
    let other = bank.begin();
    for n in (0..3_000).step_by(7) {
        let row = other.get(&bank.table, BY_KEY, &key(n), Read::COMMITTED).unwrap().unwrap();
        other.delete(row).unwrap();
    }
    let mut groups = KeyList::default();
    [1, 1, 5, 0, 2, -1, 2].iter().for_each(|n| groups.push_with(|out| out.extend(key(*n))));
    // All keys with the same first seven bytes.
    let mut starts = KeyList::default();
    for n in [256, 0, 4_000, 2_900, 512, 512] {
        starts.push_with(|out| out.extend_from_slice(&key(n)[..7]));
    }
    let check = |tx: &storage::Transaction| {
        for (index, keys) in [(BY_GROUP, &groups), (BY_KEY, &starts)] {
            let under = |place: usize| {
                let bounds = Bounds::prefix(keys.get(place));
                scan(tx, &bank, Some(index), bounds, Order::Forward, Read::COMMITTED).unwrap()
            };
            let alone: Vec<_> = (0..keys.len())
                .flat_map(|place| under(place).into_iter().map(move |row| (place, row)))
                .collect();
            let mut walk = KeyWalk::new(keys, usize::MAX);
            let found = walked(tx, &bank, (index, Read::COMMITTED), keys, &mut walk);
            assert_eq!(found, alone);
            assert_eq!(walk.unfinished().count(), 0);
            for each_max in [1, 4, 100] {
                let mut walk = KeyWalk::new(keys, each_max);
                let mut parts = walked(tx, &bank, (index, Read::COMMITTED), keys, &mut walk);
                for place in 0..keys.len() {
                    let first = parts.iter().filter(|part| part.0 == place).count();
                    assert!(first <= each_max.min(under(place).len()));
                }
                for (place, mut rest) in walk.unfinished() {
                    let more = walked(tx, &bank, (index, Read::COMMITTED), keys, &mut rest);
                    assert!(more.iter().all(|part| part.0 == place));
                    parts.extend(more);
                }
                // Stable: the rows of a key stay in their order.
                parts.sort_by_key(|part| part.0);
                assert_eq!(parts, alone, "{each_max} of each first");
            }
        }
    };
    check(&bank.begin());
    check(&other);
    other.commit().unwrap();
    check(&bank.begin());
}

#[test]
fn row_that_has_left_a_key_is_not_found_under_it() {
    let bank = Bank::with(TableKind::Ordinary, rows(90));
    let before = bank.begin();
    let mut keys = KeyList::default();
    [0, 7].iter().for_each(|n| keys.push_with(|out| out.extend(key(*n))));
    let found = |tx: &storage::Transaction, read: Read| {
        let mut walk = KeyWalk::new(&keys, usize::MAX);
        let found = walked(tx, &bank, (BY_GROUP, read), &keys, &mut walk);
        found.into_iter().map(|(place, row)| (place, row.0)).collect::<Vec<_>>()
    };
    let wanted: Vec<_> = (0..90).step_by(3).map(|n| (0, n)).collect();
    assert_eq!(found(&before, Read::SNAPSHOT), wanted);
    let tx = bank.begin();
    let row = tx.get(&bank.table, BY_KEY, &key(3), Read::COMMITTED).unwrap().unwrap();
    tx.update(row, image(&encode((3, 7, 100))), Keys::MayDiffer).unwrap();
    tx.commit().unwrap();
    let moved: Vec<_> = wanted.iter().copied().filter(|w| w.1 != 3).chain([(1, 3)]).collect();
    assert_eq!(found(&bank.begin(), Read::COMMITTED), moved);
    assert_eq!(found(&before, Read::SNAPSHOT), wanted);
}

#[test]
fn range_scan_honours_bounds_in_both_directions() {
    let bank = Bank::with(TableKind::Ordinary, rows(40));
    let tx = bank.begin();
    let (low, high) = (key(7), key(21));
    let bounds = Bounds { lower: Bound::Excluded(&low), upper: Bound::Included(&high) };
    let keys = |order| {
        let rows = scan(&tx, &bank, Some(BY_KEY), bounds, order, Read::COMMITTED).unwrap();
        rows.into_iter().map(|row| row.0).collect::<Vec<_>>()
    };
    assert_eq!(keys(Order::Forward), (8..=21).collect::<Vec<_>>());
    assert_eq!(keys(Order::Backward), (8..=21).rev().collect::<Vec<_>>());
}

#[test]
fn duplicate_key_is_refused_and_the_transaction_goes_on() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(3));
    let tx = bank.begin();
    let error = tx.insert(&bank.table, image(&encode((2, 0, 1)))).unwrap_err();
    assert!(matches!(error, Error::Unique { index, .. } if index == BY_KEY));
    tx.insert(&bank.table, image(&encode((3, 0, 1)))).unwrap();
    tx.commit().unwrap();
    assert_eq!(bank.table.row_count(), 4);
}

#[test]
fn own_writes_are_seen_by_the_next_statement_and_not_by_their_own() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(2));
    let mut tx = bank.begin();
    let row = get(&tx, &bank, 1, Read::SNAPSHOT).unwrap().unwrap();
    tx.update(row, image(&encode((1, 1, 7))), Keys::Same).unwrap();
    tx.insert(&bank.table, image(&encode((9, 0, 9)))).unwrap();
    assert_eq!(all(&tx, &bank, Read::SNAPSHOT), vec![(0, 0, 100), (1, 1, 100)]);
    tx.next_statement();
    let row = get(&tx, &bank, 1, Read::SNAPSHOT).unwrap().unwrap();
    assert_eq!(decode(row.image()).2, 7);
    // The same row twice in one transaction is no conflict (trap 19).
    tx.update(row, image(&encode((1, 1, 8))), Keys::Same).unwrap();
    tx.next_statement();
    assert_eq!(all(&tx, &bank, Read::SNAPSHOT), vec![(0, 0, 100), (1, 1, 8), (9, 0, 9)]);
    assert_eq!(bank.amount(1), Some(100));
    tx.commit().unwrap();
    assert_eq!(bank.amount(1), Some(8));
}

#[test]
fn changed_key_is_found_under_the_new_key_only() {
    let bank = Bank::with(TableKind::Ordinary, rows(3));
    let before = bank.begin();
    assert_eq!(all(&before, &bank, Read::SNAPSHOT).len(), 3);
    let mut tx = bank.begin();
    let row = get(&tx, &bank, 1, Read::COMMITTED).unwrap().unwrap();
    tx.update(row, image(&encode((11, 1, 100))), Keys::MayDiffer).unwrap();
    tx.next_statement();
    assert!(get(&tx, &bank, 1, Read::COMMITTED).unwrap().is_none());
    assert!(get(&tx, &bank, 11, Read::COMMITTED).unwrap().is_some());
    tx.commit().unwrap();
    assert_eq!(bank.amount(1), None);
    assert_eq!(bank.amount(11), Some(100));
    // The older snapshot still finds it where it was, and once.
    assert!(get(&before, &bank, 1, Read::SNAPSHOT).unwrap().is_some());
    assert!(get(&before, &bank, 11, Read::SNAPSHOT).unwrap().is_none());
    assert_eq!(all(&before, &bank, Read::SNAPSHOT).len(), 3);
    // The old key is free again.
    bank.insert((1, 0, 5)).unwrap();
}

#[test]
fn rollback_to_savepoint_undoes_what_came_after_it() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(3));
    let mut tx = bank.begin();
    tx.insert(&bank.table, image(&encode((10, 0, 1)))).unwrap();
    let savepoint = tx.savepoint();
    tx.insert(&bank.table, image(&encode((11, 0, 1)))).unwrap();
    let row = get(&tx, &bank, 2, Read::SNAPSHOT).unwrap().unwrap();
    tx.delete(row).unwrap();
    tx.next_statement();
    assert!(get(&tx, &bank, 2, Read::SNAPSHOT).unwrap().is_none());
    tx.rollback_to(savepoint);
    assert!(get(&tx, &bank, 2, Read::SNAPSHOT).unwrap().is_some());
    assert!(get(&tx, &bank, 11, Read::SNAPSHOT).unwrap().is_none());
    tx.insert(&bank.table, image(&encode((11, 0, 2)))).unwrap();
    tx.commit().unwrap();
    assert_eq!(bank.amount(11), Some(2));
    assert_eq!(bank.table.row_count(), 5);
}

#[test]
fn dropped_transaction_leaves_nothing() {
    let bank = Bank::with(TableKind::Ordinary, rows(3));
    let tx = bank.begin();
    tx.insert(&bank.table, image(&encode((10, 0, 1)))).unwrap();
    let row = get(&tx, &bank, 2, Read::COMMITTED).unwrap().unwrap();
    tx.delete(row).unwrap();
    drop(tx);
    assert_eq!(bank.amount(10), None);
    assert_eq!(bank.amount(2), Some(100));
    assert_eq!(bank.table.row_count(), 3);
    assert_eq!(bank.store.active_transactions(), 0);
}

#[test]
fn deleted_key_can_be_inserted_again_within_the_transaction() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(3));
    let tx = bank.begin();
    let row = get(&tx, &bank, 2, Read::SNAPSHOT).unwrap().unwrap();
    tx.delete(row).unwrap();
    tx.insert(&bank.table, image(&encode((2, 2, 55)))).unwrap();
    tx.commit().unwrap();
    assert_eq!(bank.amount(2), Some(55));
    assert_eq!(bank.table.row_count(), 3);
}

#[test]
fn suspended_scan_resumes_behind_its_last_row() {
    let bank = Bank::with(TableKind::Ordinary, rows(30));
    for index in [Some(BY_KEY), None] {
        let tx = bank.begin();
        let spec = storage::ScanSpec {
            index,
            bounds: Bounds::ALL,
            order: Order::Forward,
            read: Read::COMMITTED,
        };
        let mut scan = tx.scan(&bank.table, spec).unwrap();
        let mut keys = Vec::new();
        while let Some(row) = scan.next().unwrap() {
            keys.push(decode(row.image()).0);
            scan = tx.resume(&bank.table, scan.suspend()).unwrap();
        }
        keys.sort_unstable();
        assert_eq!(keys, (0..30).collect::<Vec<_>>());
    }
}

#[test]
fn versions_are_collected_once_no_snapshot_needs_them() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(1));
    let reader = bank.begin();
    assert_eq!(all(&reader, &bank, Read::SNAPSHOT), vec![(0, 0, 100)]);
    for _ in 0..20 {
        assert!(bank.add(0, 1));
    }
    assert!(bank.remove(0));
    bank.store.collect();
    assert_eq!(all(&reader, &bank, Read::SNAPSHOT), vec![(0, 0, 100)]);
    drop(reader);
    bank.store.collect();
    bank.store.collect();
    assert_eq!(bank.store.collect().remaining, 0);
    assert_eq!(bank.table.memory().used_rows_bytes, 0);
    for index in [BY_KEY, BY_GROUP, BY_HASH] {
        assert_eq!(bank.table.index_statistics(index).unwrap().entries, 0);
    }
}

#[test]
fn transaction_moves_between_threads() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(2));
    let tx = bank.begin();
    tx.insert(&bank.table, image(&encode((7, 0, 7)))).unwrap();
    std::thread::scope(|scope| scope.spawn(move || tx.commit().unwrap()).join().unwrap());
    assert_eq!(bank.amount(7), Some(7));
}
