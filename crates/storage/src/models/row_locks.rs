//! Models of row locks under shuttle: what a reader under SERIALIZABLE or REPEATABLE READ has read
//! does not change until it ends, whichever path a writer takes; and two threads that do the same
//! upsert do it one after the other.

use std::sync::Arc;

use shuttle::thread::spawn;
use types::row::RowBuffer;

use crate::models::{check, prove};
use crate::primitives::Mutant;
use crate::{
    Bounds, Claim, Decision, Error, Hold, IndexId, IndexKind, IndexSpec, Isolation, Keys, Order,
    Read, RowImage, RowLock, ScanSpec, Store, StoreOptions, Table, TableId, TableKind, TableSpec,
    Transaction, TransactionOptions, Uniqueness, WhenOwned,
};

pub(super) const BY_KEY: IndexId = IndexId(1);
const READER: Read = Read { isolation: Isolation::Serializable, lock: RowLock::None };
const ROWS: Read = Read { isolation: Isolation::RepeatableRead, lock: RowLock::None };
const UPSERT: Read =
    Read { isolation: Isolation::Serializable, lock: RowLock::Update(WhenOwned::Wait) };

/// An ordinary table with a row.
pub(super) fn table() -> (Arc<Store>, Arc<Table>) {
    let store = Store::new(StoreOptions::default());
    let extractor = Box::new(|row: RowImage<'_>, key: &mut Vec<u8>| key.push(row.bytes[0]));
    let (kind, uniqueness) = (IndexKind::Range, Uniqueness::Unique);
    let indexes = vec![IndexSpec { id: BY_KEY, kind, uniqueness, extractor }];
    let kind = TableKind::Ordinary;
    let spec = TableSpec { id: TableId(1), kind, indexes, columns: None, durable: None };
    let table = store.create_table(spec).unwrap();
    insert_at_once(&store, &table, 1);
    (store, table)
}

fn image(bytes: &[u8]) -> RowImage<'_> {
    RowImage { bytes, blobs: &[] }
}

pub(super) fn insert_at_once(_: &Arc<Store>, table: &Table, key: u8) {
    table.insert_point(&TransactionOptions::STATEMENT, image(&[key, 0])).unwrap();
}

fn insert(store: &Arc<Store>, table: &Table, key: u8) {
    let tx = store.begin(TransactionOptions::EXPLICIT);
    tx.insert(table, image(&[key, 0])).unwrap();
    tx.commit().unwrap();
}

fn change_at_once(_: &Arc<Store>, table: &Table, _: u8) {
    let mut buffer = RowBuffer::default();
    let options = TransactionOptions::STATEMENT;
    let changed =
        table.change_point::<Error>(BY_KEY, &[1], &options, &mut buffer, |before, buffer| {
            buffer.bytes.extend([1, before.bytes[1] + 1]);
            Ok(Decision::Update(Keys::Same))
        });
    assert_eq!(changed, Ok(true));
}

/// Returns all rows of the table, by key.
fn rows(tx: &Transaction, table: &Table, read: Read) -> Vec<Vec<u8>> {
    let (index, bounds) = (Some(BY_KEY), Bounds::ALL);
    let spec = ScanSpec { index, bounds, order: Order::Forward, read };
    let mut scan = tx.scan(table, spec).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = scan.next().unwrap() {
        rows.push(row.image().bytes.to_vec());
    }
    rows
}

/// One thread reads twice in a transaction while another writes.
fn read_twice(read: Read, write: fn(&Arc<Store>, &Table, u8)) {
    let (store, table) = table();
    let writer = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || write(&store, &table, 5))
    };
    let mut tx = store.begin(TransactionOptions::EXPLICIT);
    let before = rows(&tx, &table, read);
    tx.next_statement();
    assert_eq!(rows(&tx, &table, read), before, "what was read has changed");
    tx.commit().unwrap();
    writer.join().unwrap();
}

/// Two threads each insert the row if it is missing, and else add to it.
fn upserts() {
    let (store, table) = table();
    let both: Vec<_> = (0..2)
        .map(|_| {
            let (store, table) = (Arc::clone(&store), Arc::clone(&table));
            spawn(move || {
                let tx = store.begin(TransactionOptions::EXPLICIT);
                match tx.get(&table, BY_KEY, &[5], UPSERT).unwrap() {
                    None => drop(tx.insert(&table, image(&[5, 1])).unwrap()),
                    Some(row) => {
                        let next = [5, row.image().bytes[1] + 1];
                        tx.update(row, image(&next), Keys::Same).unwrap();
                    }
                }
                tx.commit().unwrap();
            })
        })
        .collect();
    both.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(table.read_point(BY_KEY, &[5], |image| image.bytes[1]), Ok(Some(2)));
}

/// One thread locks a table against changes and then against readers, too, while another claims a
/// row before it changes it. Where each waits for the other, one of them ends without a change.
fn lock_twice() {
    let (store, table) = table();
    let writer = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || {
            let tx = store.begin(TransactionOptions::EXPLICIT);
            let add = || {
                let row = tx.get(&table, BY_KEY, &[1], Read::COMMITTED)?.expect("it is there");
                let Claim::Current(row) = tx.claim(row, WhenOwned::Wait)? else {
                    panic!("it waits")
                };
                tx.update(row, image(&[1, 5]), Keys::Same)
            };
            match add() {
                Ok(_) => tx.commit().map(drop).unwrap(),
                Err(error) => assert_eq!(error, Error::Deadlock),
            }
        })
    };
    let mut tx = store.begin(TransactionOptions::EXPLICIT);
    let read = Read { isolation: Isolation::ReadCommitted, lock: RowLock::None };
    if tx.hold_table(&table, Hold::Shared, WhenOwned::Wait).is_ok() {
        let before = rows(&tx, &table, read);
        tx.next_statement();
        match tx.hold_table(&table, Hold::Exclusive, WhenOwned::Wait) {
            Err(error) => assert_eq!(error, Error::Deadlock),
            Ok(()) => assert_eq!(rows(&tx, &table, read), before, "what was locked has changed"),
        }
    }
    tx.rollback();
    writer.join().unwrap();
}

#[test]
fn models_row_locks_are_kept_when_a_stronger_one_is_taken_back() {
    prove(lock_twice, Mutant::OlderHoldsWithdrawn);
}

#[test]
fn models_ranges_that_are_held_get_no_rows() {
    prove(|| read_twice(READER, insert_at_once), Mutant::BookWithoutWait);
    prove(|| read_twice(READER, insert), Mutant::HoldWithoutLook);
    prove(|| read_twice(READER, insert), Mutant::HoldsSeenBeforeLink);
}

#[test]
fn models_rows_that_are_held_do_not_change() {
    prove(|| read_twice(ROWS, change_at_once), Mutant::BookWithoutWait);
}

#[test]
fn models_upserts_come_one_after_the_other() {
    check(upserts, 3_000);
}
