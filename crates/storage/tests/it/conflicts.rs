//! Two sessions on one row: which one wins, waits, or fails, and with which error.

use storage::{Claim, Decision, Error, Keys, Read, TableKind, TransactionOptions, WhenOwned};
use types::row::RowBuffer;

use crate::support::{
    BY_KEY, Bank, REPEATABLE, SERIALIZABLE, all, decode, encode, get, image, key,
};

fn rows(count: i64) -> impl Iterator<Item = (i64, i64, i64)> {
    (0..count).map(|n| (n, n % 3, 100))
}

#[test]
fn second_writer_of_a_memory_optimized_row_gets_41302() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(2));
    let (t1, t2) = (bank.begin(), bank.begin());
    let row1 = get(&t1, &bank, 1, Read::SNAPSHOT).unwrap().unwrap();
    let row2 = get(&t2, &bank, 1, Read::SNAPSHOT).unwrap().unwrap();
    t1.update(row1, image(&encode((1, 1, 1))), Keys::Same).unwrap();
    let error = t2.update(row2, image(&encode((1, 1, 2))), Keys::Same).unwrap_err();
    assert_eq!(error, Error::UpdateConflict);
    assert!(t2.is_doomed());
    assert_eq!(t2.commit().unwrap_err(), Error::Doomed);
    t1.commit().unwrap();
    assert_eq!(bank.amount(1), Some(1));
}

#[test]
fn row_changed_since_the_snapshot_is_41302() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(2));
    let tx = bank.begin();
    let row = get(&tx, &bank, 1, Read::SNAPSHOT).unwrap().unwrap();
    assert!(bank.add(1, 5));
    assert!(matches!(tx.claim(row, WhenOwned::Wait), Err(Error::UpdateConflict)));
}

#[test]
fn snapshot_does_not_move() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(2));
    let mut tx = bank.begin();
    assert_eq!(all(&tx, &bank, Read::SNAPSHOT).len(), 2);
    bank.add(1, 5);
    bank.insert((7, 0, 0)).unwrap();
    tx.next_statement();
    assert_eq!(all(&tx, &bank, Read::SNAPSHOT), vec![(0, 0, 100), (1, 1, 100)]);
    tx.commit().unwrap();
}

#[test]
fn read_committed_sees_each_statement_afresh() {
    let bank = Bank::with(TableKind::Ordinary, rows(2));
    let mut tx = bank.begin();
    assert_eq!(all(&tx, &bank, Read::COMMITTED)[1].2, 100);
    bank.add(1, 5);
    assert_eq!(all(&tx, &bank, Read::COMMITTED)[1].2, 100);
    tx.next_statement();
    assert_eq!(all(&tx, &bank, Read::COMMITTED)[1].2, 105);
}

#[test]
fn claim_on_an_ordinary_table_shows_the_newer_row() {
    let bank = Bank::with(TableKind::Ordinary, rows(2));
    let tx = bank.begin();
    let row = get(&tx, &bank, 1, Read::COMMITTED).unwrap().unwrap();
    bank.add(1, 5);
    let Claim::Changed(row) = tx.claim(row, WhenOwned::Wait).unwrap() else { panic!("changed") };
    assert_eq!(decode(row.image()).2, 105);
    tx.update(row, image(&encode((1, 1, 106))), Keys::Same).unwrap();
    tx.commit().unwrap();
    assert_eq!(bank.amount(1), Some(106));
}

/// Updates row 1 to `to` while another session changes it between each read and write, as it may
/// while the expressions of the statement yield.
fn update_in_spite_of_races(kind: TableKind, keys: Keys, to: (i64, i64, i64)) {
    let bank = Bank::with(kind, rows(2));
    let (mut calls, mut buffer) = (0, RowBuffer::default());
    let mut other = Ok(true);
    let options = TransactionOptions::STATEMENT;
    let changed =
        bank.table.change_point::<Error>(BY_KEY, &key(1), &options, &mut buffer, |_, buffer| {
            calls += 1;
            assert!(calls < 100, "the statement does not end");
            other = bank.try_add(1, 5);
            buffer.bytes.extend(encode(to));
            Ok(Decision::Update(keys))
        });
    assert_eq!((changed, other), (Ok(true), Err(Error::LockTimeout)), "{kind:?} {keys:?}");
    assert_eq!(bank.amount(to.0), Some(to.2));
    assert_eq!(bank.try_add(to.0, 5), Ok(true), "the row is free again");
}

#[test]
fn statement_that_loses_races_claims_its_row() {
    for kind in [TableKind::Ordinary, TableKind::MemoryOptimized] {
        update_in_spite_of_races(kind, Keys::Same, (1, 1, 7));
        update_in_spite_of_races(kind, Keys::MayDiffer, (1, 2, 7));
        update_in_spite_of_races(kind, Keys::MayDiffer, (9, 1, 7));
    }
}

#[test]
fn repeatable_read_fails_at_commit_when_a_row_read_has_changed() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(2));
    let tx = bank.begin();
    get(&tx, &bank, 1, REPEATABLE).unwrap().unwrap();
    bank.add(1, 5);
    assert_eq!(tx.commit().unwrap_err(), Error::RepeatableReadFailure);
    let tx = bank.begin();
    get(&tx, &bank, 1, REPEATABLE).unwrap().unwrap();
    bank.add(0, 5);
    tx.commit().unwrap();
}

#[test]
fn serializable_fails_at_commit_on_a_phantom() {
    let bank = Bank::with(TableKind::MemoryOptimized, rows(2));
    let tx = bank.begin();
    assert_eq!(all(&tx, &bank, SERIALIZABLE).len(), 2);
    bank.insert((7, 0, 0)).unwrap();
    assert_eq!(tx.commit().unwrap_err(), Error::SerializableFailure);
    let tx = bank.begin();
    assert!(get(&tx, &bank, 8, SERIALIZABLE).unwrap().is_none());
    bank.insert((8, 0, 0)).unwrap();
    assert_eq!(tx.commit().unwrap_err(), Error::SerializableFailure);
    let tx = bank.begin();
    assert!(get(&tx, &bank, 9, SERIALIZABLE).unwrap().is_none());
    bank.insert((10, 0, 0)).unwrap();
    tx.insert(&bank.table, image(&encode((9, 0, 0)))).unwrap();
    tx.commit().unwrap();
}

#[test]
fn two_inserts_of_one_key_conflict_on_a_memory_optimized_table() {
    let bank = Bank::new(TableKind::MemoryOptimized);
    let (t1, t2) = (bank.begin(), bank.begin());
    t1.insert(&bank.table, image(&encode((1, 0, 1)))).unwrap();
    let error = t2.insert(&bank.table, image(&encode((1, 0, 2)))).unwrap_err();
    assert_eq!(error, Error::SerializableFailure);
    t1.rollback();
    bank.insert((1, 0, 3)).unwrap();
    assert_eq!(bank.amount(1), Some(3));
}

#[test]
fn skip_and_fail_do_not_wait_for_the_owner() {
    let bank = Bank::with(TableKind::Ordinary, rows(2));
    let (t1, t2) = (bank.begin(), bank.begin());
    let row1 = get(&t1, &bank, 1, Read::COMMITTED).unwrap().unwrap();
    assert!(matches!(t1.claim(row1, WhenOwned::Wait).unwrap(), Claim::Current(_)));
    let row2 = get(&t2, &bank, 1, Read::COMMITTED).unwrap().unwrap();
    assert!(matches!(t2.claim(row2, WhenOwned::Skip).unwrap(), Claim::Skipped));
    assert!(matches!(t2.claim(row2, WhenOwned::Fail), Err(Error::LockTimeout)));
    t1.rollback();
    assert!(matches!(t2.claim(row2, WhenOwned::Fail).unwrap(), Claim::Current(_)));
}

#[test]
fn lock_alone_changes_nothing_and_goes_at_commit() {
    let bank = Bank::with(TableKind::Ordinary, rows(1));
    for _ in 0..3 {
        let tx = bank.begin();
        let row = get(&tx, &bank, 0, Read::COMMITTED).unwrap().unwrap();
        let Claim::Current(_) = tx.claim(row, WhenOwned::Wait).unwrap() else { panic!("free") };
        tx.commit().unwrap();
    }
    assert!(bank.add(0, 1));
    assert_eq!(bank.amount(0), Some(101));
}

#[test]
fn collector_sleeps_until_there_is_garbage() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let bank = Bank::with(TableKind::Ordinary, rows(1));
    while bank.store.collect().remaining > 0 {}
    let woken = Arc::new(AtomicBool::new(false));
    let (store, flag) = (bank.store.fork(), Arc::clone(&woken));
    let sleep = move || {
        store.wait_for_garbage(&storage::Cancel::new());
        flag.store(true, Ordering::SeqCst);
    };
    let collector = sos::thread::spawn(&Arc::default(), "collector", sleep).unwrap();
    let pause = std::time::Duration::from_millis(30);
    sos::park::sleep(pause, sos::wait::WaitType::WaitFor, None);
    assert!(!woken.load(Ordering::SeqCst), "there is nothing to collect");
    assert!(bank.add(0, 5));
    collector.join().unwrap();
    // With garbage there, it does not sleep at all.
    bank.store.wait_for_garbage(&storage::Cancel::new());
    let cancelled = storage::Cancel::new();
    cancelled.set();
    while bank.store.collect().remaining > 0 {}
    bank.store.wait_for_garbage(&cancelled);
}
