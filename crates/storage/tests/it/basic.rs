//! One session: what it writes it reads, in every order, and undone is undone.

use std::ops::Bound;

use storage::{Bounds, Error, KeyList, Keys, Order, Read, TableKind};

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
