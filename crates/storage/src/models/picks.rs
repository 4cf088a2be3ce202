//! Models of statements that pick among rows, under shuttle: two transactions each keep another one of
//! two rows. One row is left, whichever way each of them has gone.

use std::sync::Arc;

use shuttle::thread::spawn;

use crate::models::prove;
use crate::models::row_locks::{BY_KEY, insert_at_once, table};
use crate::primitives::Mutant;
use crate::{
    Bounds, Claim, Isolation, Order, Read, RowLock, ScanSpec, Store, Table, Transaction,
    TransactionOptions, WhenOwned,
};

const READS: Read = Read { isolation: Isolation::ReadCommitted, lock: RowLock::None };
const CLAIMS: Read =
    Read { isolation: Isolation::ReadCommitted, lock: RowLock::Update(WhenOwned::Wait) };

/// Deletes the row that is not to be kept, if there are both. Returns false if another transaction was
/// in the way.
fn deletes_other(tx: &Transaction, table: &Table, keep: u8, read: Read) -> bool {
    let (index, bounds) = (Some(BY_KEY), Bounds::ALL);
    let spec = ScanSpec { index, bounds, order: Order::Forward, read };
    let mut scan = tx.scan(table, spec).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = scan.next().unwrap() {
        rows.push(row);
    }
    if rows.len() < 2 {
        return true;
    }
    let other = rows.into_iter().find(|row| row.image().bytes[0] != keep).unwrap();
    match tx.claim(other, WhenOwned::Wait) {
        Ok(Claim::Current(row)) => tx.delete(row).is_ok(),
        _ => false,
    }
}

/// Keeps one row of two: reads, claims and asks, and at the second attempt claims what it reads.
fn keep_one(store: &Arc<Store>, table: &Arc<Table>, keep: u8) {
    let tx = store.begin(TransactionOptions::EXPLICIT);
    let pick = tx.pick_among(table);
    if deletes_other(&tx, table, keep, READS) && tx.has_picked_alone(table, pick) {
        tx.commit().unwrap();
        return;
    }
    tx.rollback();
    let tx = store.begin(TransactionOptions::EXPLICIT);
    tx.pick_among(table);
    assert!(deletes_other(&tx, table, keep, CLAIMS), "it owns what it has read");
    tx.commit().unwrap();
}

fn two_keep_one_row_each() {
    let (store, table) = table();
    insert_at_once(&store, &table, 2);
    let both = [1, 2].map(|keep| {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || keep_one(&store, &table, keep))
    });
    both.into_iter().for_each(|one| one.join().unwrap());
    let left = [1, 2].map(|key| table.read_point(BY_KEY, &[key], |_| ()).unwrap().is_some());
    assert_ne!(left[0], left[1], "one row is left");
}

#[test]
fn models_of_two_that_pick_at_once_one_picks_again() {
    prove(two_keep_one_row_each, Mutant::PickersUnseen);
    prove(two_keep_one_row_each, Mutant::PickEndsEarly);
}
