//! Models of the tuple mover under shuttle: a row is in the delta store or in its row group, never
//! in both or in neither, while other threads delete and change rows.

use std::sync::Arc;

use encoding::{GroupBuilder, Segment};
use shuttle::thread::spawn;
use types::value::ColumnType;
use types::{DataType, Value};

use crate::models::prove;
use crate::primitives::Mutant;
use crate::row_group::{Place, Trim};
use crate::{
    Bounds, Claim, Error, Keys, Order, Read, RowImage, ScanSpec, Store, StoreOptions, Table,
    TableId, TableKind, TableSpec, Transaction, TransactionOptions, WhenOwned,
};

const ALL: ScanSpec<'static> =
    ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read: Read::COMMITTED };

fn image(bytes: &[u8]) -> RowImage<'_> {
    RowImage { bytes, blobs: &[] }
}

/// Makes three rows in a delta store; a part of a group is two rows.
fn three_rows() -> (Arc<Store>, Arc<Table>) {
    let store = Store::new(StoreOptions::default());
    let columns = Some(vec![ColumnType::nullable(DataType::BigInt)]);
    let (id, kind, indexes) = (TableId(1), TableKind::Ordinary, Vec::new());
    let table =
        store.create_table(TableSpec { id, kind, indexes, columns, durable: None }).unwrap();
    let load = store.begin(TransactionOptions::STATEMENT);
    for number in [1, 2, 3] {
        load.insert(&table, image(&[number])).unwrap();
    }
    load.commit().unwrap();
    (store, table)
}

/// Moves all rows, as the tuple mover does.
fn move_all(store: &Arc<Store>, table: &Table) {
    move_parts(store, table, usize::MAX);
}

/// Like [`move_all`], but gives up after `parts_max` parts.
fn move_parts(store: &Arc<Store>, table: &Table, parts_max: usize) {
    let mut parts = 0;
    let go_on = || {
        parts += 1;
        parts <= parts_max
    };
    let reader = store.begin(TransactionOptions::STATEMENT);
    let rows = reader.delta_rows(table, 3).unwrap();
    let mut builder = GroupBuilder::new(&[ColumnType::nullable(DataType::BigInt)]);
    rows.iter().for_each(|row| builder.push(&[Value::BigInt(row.image().bytes[0].into())]));
    if let Some(segments) = builder.finish().filter(|_| !rows.is_empty()) {
        table.move_rows(&rows, &segments, Trim::Moved, go_on).unwrap();
    }
}

/// Returns the compressed rows that a transaction sees.
fn compressed(transaction: &Transaction, table: &Table) -> Vec<(u8, Place)> {
    let mut seen = Vec::new();
    for group in transaction.row_groups(table, Read::COMMITTED).unwrap() {
        let deleted = transaction.deleted_rows(table, group.id(), Read::COMMITTED).unwrap();
        let segment: Segment<'_> = group.segment(0);
        let mut numbers = types::batch::Vector::of_type(&DataType::BigInt);
        segment.block(0, &mut numbers);
        for row in 0..numbers.len() {
            let Value::BigInt(number) = numbers.get(row) else { panic!("a number") };
            let row = u32::try_from(row).unwrap();
            if deleted.binary_search(&row).is_err() {
                seen.push((u8::try_from(number).unwrap(), Place { group: group.id(), row }));
            }
        }
    }
    seen
}

/// Returns all rows that a new snapshot sees, in order.
fn look(store: &Arc<Store>, table: &Table) -> Vec<u8> {
    let transaction = store.begin(TransactionOptions::STATEMENT);
    let mut scan = transaction.scan(table, ALL).unwrap();
    let mut seen = Vec::new();
    while let Some(row) = scan.next().unwrap() {
        seen.push(row.image().bytes[0]);
    }
    seen.extend(compressed(&transaction, table).into_iter().map(|(number, _)| number));
    seen.sort_unstable();
    seen
}

/// Deletes row 2 or changes its number, as a statement does: it claims what its scan has returned.
/// `false` if it is to run again.
fn try_change(store: &Arc<Store>, table: &Table, to: Option<u8>) -> Result<bool, Error> {
    let transaction = store.begin(TransactionOptions::STATEMENT);
    let mut scan = transaction.scan(table, ALL)?;
    let mut found = None;
    while let Some(row) = scan.next()? {
        if row.image().bytes[0] == 2 {
            found = Some(row);
        }
    }
    let row = match found {
        Some(row) => match transaction.claim(row, WhenOwned::Wait)? {
            Claim::Current(row) | Claim::Changed(row) => row,
            Claim::Gone | Claim::Skipped => return Ok(true),
        },
        None => {
            let place = compressed(&transaction, table).into_iter().find(|(n, _)| *n == 2);
            let Some((_, place)) = place else { return Ok(true) };
            transaction.take_compressed(table, place, image(&[2]))?
        }
    };
    match to {
        None => transaction.delete(row)?,
        Some(to) => drop(transaction.update(row, image(&[to]), Keys::Same)?),
    }
    transaction.commit()?;
    Ok(true)
}

fn change(store: &Arc<Store>, table: &Table, to: Option<u8>) {
    loop {
        match try_change(store, table, to) {
            Ok(_) => return,
            Err(Error::Restart) => sos::sync::spin_hint(),
            Err(other) => panic!("{other}"),
        }
    }
}

/// The mover, a thread that deletes row 2, and a reader.
fn delete_while_moving() {
    let (store, table) = three_rows();
    let mover = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || move_all(&store, &table))
    };
    let deleter = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || change(&store, &table, None))
    };
    let mut is_gone = false;
    for _ in 0..2 {
        let seen = look(&store, &table);
        is_gone |= seen == [1, 3];
        assert!(seen == [1, 3] || (!is_gone && seen == [1, 2, 3]), "{seen:?}");
    }
    mover.join().unwrap();
    deleter.join().unwrap();
    assert_eq!(look(&store, &table), [1, 3]);
    assert_eq!(table.row_count(), 2);
}

/// The mover, a thread that changes row 2 to 4, and one that changes it to 5: only one of them can.
fn change_while_moving() {
    let (store, table) = three_rows();
    let threads = [None, Some(Some(4)), Some(Some(5))].map(|step: Option<Option<u8>>| {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || match step {
            None => move_all(&store, &table),
            Some(to) => change(&store, &table, to),
        })
    });
    let seen = look(&store, &table);
    assert!([[1, 2, 3], [1, 3, 4], [1, 3, 5]].contains(&<[u8; 3]>::try_from(&*seen).unwrap()));
    for thread in threads {
        thread.join().unwrap();
    }
    let seen = look(&store, &table);
    assert!(seen == [1, 3, 4] || seen == [1, 3, 5], "{seen:?}");
}

/// A move is given up after its first part and settled, beside a writer and a reader.
fn settle_while_changing() {
    let (store, table) = three_rows();
    let mover = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || {
            move_parts(&store, &table, 1);
            table.settle_moves(|| true).unwrap();
        })
    };
    let changer = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || change(&store, &table, Some(4)))
    };
    for _ in 0..2 {
        let seen = look(&store, &table);
        assert!(seen == [1, 2, 3] || seen == [1, 3, 4], "{seen:?}");
    }
    mover.join().unwrap();
    changer.join().unwrap();
    assert_eq!(look(&store, &table), [1, 3, 4]);
    assert_eq!(table.row_count(), 3);
    let reader = store.begin(TransactionOptions::STATEMENT);
    let groups = reader.row_groups(&table, Read::COMMITTED).unwrap();
    assert!(groups.iter().all(|group| !group.is_moving() && group.rows() <= 2), "not settled");
    assert!(!table.has_unsettled());
}

#[test]
fn move_that_is_given_up_and_settled_shows_each_row_once() {
    prove(settle_while_changing, Mutant::HiddenRowsShown);
}

#[test]
fn row_that_is_deleted_while_it_moves_is_gone() {
    prove(delete_while_moving, Mutant::ChangedRowShown);
}

#[test]
fn rows_that_move_are_seen_once() {
    prove(delete_while_moving, Mutant::PartNotShown);
}

#[test]
fn row_that_has_moved_is_found_by_who_read_it_before() {
    prove(change_while_moving, Mutant::MovedIsGone);
}
