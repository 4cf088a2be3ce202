//! A nonclustered columnstore index: a snapshot reads the same rows with and without it.

use proptest::prelude::*;
use sos::sync::{AtomicBool, Ordering};
use storage::columnstore::{ColumnIndexId, GroupBuilder, Trim};
use storage::{
    Bounds, Claim, Decision, Error, Isolation, Keys, Order, Read, RowImage, RowLock, ScanSpec,
    TableKind, Transaction, TransactionOptions, WhenOwned,
};
use types::batch::Vector;
use types::row::RowBuffer;
use types::value::ColumnType;
use types::{DataType, Value};

use crate::support::{BY_KEY, Bank, Row, decode, encode, image, key};

const SNAPSHOT: Read = Read { isolation: Isolation::Snapshot, lock: RowLock::None };
const COLUMNS: usize = 3;
const INDEX: ColumnIndexId = ColumnIndexId(1);

/// Makes a group of the rows that none covers.
fn compress(bank: &Bank, rows_min: usize) -> Result<bool, Error> {
    let transaction = bank.store.begin(TransactionOptions::STATEMENT);
    let Some(loose) = transaction.loose_rows(&bank.table, INDEX, rows_min)? else {
        return Ok(false);
    };
    let number = ColumnType::nullable(DataType::BigInt);
    let mut builder = GroupBuilder::new(&[number; COLUMNS]);
    for image in loose.images() {
        let (a, b, c) = image.map_or((-1, -1, -1), decode);
        builder.push(&[a, b, c].map(Value::BigInt));
    }
    let segments = builder.finish().unwrap();
    bank.table.add_column_group(&loose, segments, Trim::Rebuild)
}

fn by_rows(transaction: &Transaction, bank: &Bank, read: Read) -> Vec<Row> {
    let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
    let mut scan = transaction.scan(&bank.table, spec).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = scan.next().unwrap() {
        rows.push(decode(row.image()));
    }
    rows.sort_unstable();
    rows
}

/// Reads what it can through the index; returns how many rows came from there as well.
fn by_columns(transaction: &Transaction, bank: &Bank, read: Read) -> (Vec<Row>, usize) {
    let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
    let mut scan = transaction.scan(&bank.table, spec).unwrap();
    let view = transaction.column_view(&bank.table, INDEX, read.isolation);
    if let Some(view) = view {
        scan.pass_over(view);
    }
    let (mut rows, mut images) = (Vec::new(), Vec::<RowImage<'_>>::new());
    loop {
        let before = images.len();
        scan.next_images(&mut images, before + 7).unwrap();
        if images.len() == before {
            break;
        }
    }
    rows.extend(images.iter().map(|image| decode(*image)));
    let loose = rows.len();
    for (place, group) in view.into_iter().flat_map(|view| view.groups().enumerate()) {
        let changed = view.unwrap().changed_rows(place);
        let mut vectors = [(); COLUMNS].map(|()| Vector::of_type(&DataType::BigInt));
        let mut row = 0;
        for block in 0..group.segment(0).blocks() {
            for (column, vector) in vectors.iter_mut().enumerate() {
                group.segment(column).block(block, vector);
            }
            for at in 0..vectors[0].len() {
                if changed.binary_search(&row).is_err() {
                    let [a, b, c] = [0, 1, 2].map(|column| match vectors[column].get(at) {
                        Value::BigInt(number) => number,
                        other => panic!("{other:?}"),
                    });
                    rows.push((a, b, c));
                }
                row += 1;
            }
        }
    }
    let compressed = rows.len() - loose;
    rows.sort_unstable();
    (rows, compressed)
}

fn bank_of(rows: i64) -> Bank {
    let bank = Bank::new(TableKind::Ordinary);
    let tx = bank.store.begin(TransactionOptions::STATEMENT);
    for n in 0..rows {
        tx.insert(&bank.table, image(&encode((n, n % 7, 100)))).unwrap();
    }
    tx.commit().unwrap();
    bank.table.add_column_index(INDEX);
    bank
}

/// Adds to the amount of the row with a key, as an autocommit statement.
fn add(bank: &Bank, n: i64, amount: i64) -> bool {
    let mut buffer = RowBuffer::default();
    let options = TransactionOptions::STATEMENT;
    let change = |before: RowImage<'_>, buffer: &mut RowBuffer| {
        let (key, group, sum) = decode(before);
        buffer.bytes.extend_from_slice(&encode((key, group, sum + amount)));
        Ok::<_, Error>(Decision::Update(Keys::Same))
    };
    bank.table.change_point(BY_KEY, &key(n), &options, &mut buffer, change).unwrap()
}

fn delete(bank: &Bank, n: i64) -> bool {
    let mut buffer = RowBuffer::default();
    let options = TransactionOptions::STATEMENT;
    let change = |_: RowImage<'_>, _: &mut RowBuffer| Ok::<_, Error>(Decision::Delete);
    bank.table.change_point(BY_KEY, &key(n), &options, &mut buffer, change).unwrap()
}

#[test]
fn what_has_changed_is_read_as_rows_and_the_rest_from_columns() {
    let bank = bank_of(5_000);
    let before = bank.store.begin(TransactionOptions::EXPLICIT);
    let rows = by_rows(&before, &bank, SNAPSHOT);
    assert!(compress(&bank, 5_000).unwrap());
    assert!(!compress(&bank, 1).unwrap(), "no row is loose");
    // The snapshot is older than the index: it does without.
    assert_eq!(by_columns(&before, &bank, SNAPSHOT), (rows.clone(), 0));
    let now = bank.store.begin(TransactionOptions::EXPLICIT);
    assert_eq!(by_columns(&now, &bank, SNAPSHOT), (rows.clone(), 5_000));
    assert!(add(&bank, 17, 1) && delete(&bank, 4_000));
    let tx = bank.store.begin(TransactionOptions::STATEMENT);
    tx.insert(&bank.table, image(&encode((9_000, 1, 1)))).unwrap();
    tx.commit().unwrap();
    let later = bank.store.begin(TransactionOptions::EXPLICIT);
    let (seen, compressed) = by_columns(&later, &bank, SNAPSHOT);
    assert_eq!((&seen, compressed), (&by_rows(&later, &bank, SNAPSHOT), 4_998));
    assert!(seen.contains(&(17, 3, 101)) && seen.contains(&(9_000, 1, 1)));
    assert_eq!(by_columns(&now, &bank, SNAPSHOT).0, rows, "a snapshot changed");
    let groups = bank.table.column_groups().unwrap();
    assert_eq!((groups.len(), groups[0].rows, groups[0].clean), (1, 5_000, 4_998));
    bank.table.drop_column_index();
    assert!(bank.table.column_groups().is_none());
    assert_eq!(
        by_columns(&bank.store.begin(TransactionOptions::EXPLICIT), &bank, SNAPSHOT),
        (seen, 0)
    );
}

#[test]
fn own_changes_are_seen_and_those_that_are_undone_are_not() {
    let bank = bank_of(2_000);
    assert!(compress(&bank, 1).unwrap());
    let mut tx = bank.store.begin(TransactionOptions::EXPLICIT);
    let row = tx.get(&bank.table, BY_KEY, &key(3), Read::COMMITTED).unwrap().unwrap();
    let Claim::Current(row) = tx.claim(row, WhenOwned::Wait).unwrap() else { panic!("its own") };
    tx.update(row, image(&encode((3, 3, -1))), Keys::Same).unwrap();
    assert!(by_columns(&tx, &bank, Read::COMMITTED).0.contains(&(3, 3, 100)), "its statement's");
    tx.next_statement();
    assert!(by_columns(&tx, &bank, Read::COMMITTED).0.contains(&(3, 3, -1)));
    drop(tx);
    let tx = bank.store.begin(TransactionOptions::EXPLICIT);
    let (rows, compressed) = by_columns(&tx, &bank, Read::COMMITTED);
    assert_eq!((rows.len(), compressed), (2_000, 1_999));
    assert!(rows.contains(&(3, 3, 100)));
}

#[test]
fn worn_groups_are_made_anew() {
    let bank = bank_of(2_000);
    assert!(compress(&bank, 1).unwrap());
    (0..900).for_each(|n| assert!(add(&bank, n, 1)));
    bank.table.shed_column_groups();
    assert_eq!(bank.table.column_groups().unwrap().len(), 1, "most of it is clean");
    (900..1_100).for_each(|n| assert!(delete(&bank, n)));
    bank.table.shed_column_groups();
    assert_eq!(bank.table.column_groups().unwrap().len(), 0);
    assert!(compress(&bank, 1).unwrap());
    let tx = bank.store.begin(TransactionOptions::EXPLICIT);
    let (rows, compressed) = by_columns(&tx, &bank, Read::COMMITTED);
    assert_eq!((&rows, compressed), (&by_rows(&tx, &bank, Read::COMMITTED), 1_800));
}

#[test]
fn readers_see_the_same_with_and_without_while_others_change_and_compress() {
    let bank = bank_of(600);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (bank, is_done) = (&bank, &is_done);
        let keep = move || {
            let mut round = 0;
            while !is_done.load(Ordering::Acquire) {
                round += 1;
                compress(bank, 1).unwrap();
                bank.table.shed_column_groups();
                if round % 5 == 0 {
                    bank.table.add_column_index(INDEX);
                }
            }
        };
        // Two threads build groups; no row may be in two groups.
        let keepers = [scope.spawn(keep), scope.spawn(keep)];
        let writers: Vec<_> = (0..2_i64)
            .map(|writer| {
                scope.spawn(move || {
                    for round in 0..300 {
                        // From one row to the next: the sum does not change.
                        let tx = bank.store.begin(TransactionOptions::EXPLICIT);
                        let n = (round * 7 + writer * 300) % 300 + writer * 300;
                        for (n, by) in [(n, -5), ((n + 1) % 300 + (n / 300) * 300, 5)] {
                            let found = tx.get(&bank.table, BY_KEY, &key(n), Read::COMMITTED);
                            let row = found.unwrap().unwrap();
                            let claim = tx.claim(row, WhenOwned::Wait).unwrap();
                            let (Claim::Current(row) | Claim::Changed(row)) = claim else {
                                continue;
                            };
                            let (k, g, sum) = decode(row.image());
                            tx.update(row, image(&encode((k, g, sum + by))), Keys::Same).unwrap();
                        }
                        if round % 4 > 0 {
                            tx.commit().unwrap();
                        }
                        // And back, each in its own statement.
                        let own = 10_000 + writer * 1_000 + round;
                        let tx = bank.store.begin(TransactionOptions::STATEMENT);
                        tx.insert(&bank.table, image(&encode((own, 1, 0)))).unwrap();
                        tx.commit().unwrap();
                        assert!(add(bank, own, 3));
                        assert!(round % 3 > 0 || delete(bank, own));
                    }
                })
            })
            .collect();
        for round in 0..150 {
            let tx = bank.store.begin(TransactionOptions::EXPLICIT);
            let read = if round % 2 == 0 { SNAPSHOT } else { Read::COMMITTED };
            let (rows, _) = by_columns(&tx, bank, read);
            assert_eq!(rows, by_rows(&tx, bank, read));
            let sum: i64 = rows.iter().filter(|row| row.0 < 600).map(|row| row.2).sum();
            assert_eq!(sum, 60_000, "half a transaction is seen");
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_done.store(true, Ordering::Release);
        keepers.into_iter().for_each(|keeper| keeper.join().unwrap());
    });
}

/// The steps of a random history of a table with an index.
#[derive(Clone, Debug)]
enum Step {
    Insert,
    Add(i64),
    Delete(i64),
    Compress,
    Shed,
    Rebuild,
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Insert),
        3 => (0..80_i64).prop_map(Step::Add),
        3 => (0..80_i64).prop_map(Step::Delete),
        2 => Just(Step::Compress),
        1 => Just(Step::Shed),
        1 => Just(Step::Rebuild),
        1 => Just(Step::Collect),
    ]
}

proptest! {
    #[test]
    fn rows_are_those_of_a_model(steps in proptest::collection::vec(step(), 0..80)) {
        let bank = bank_of(40);
        let mut model: std::collections::BTreeMap<i64, Row> =
            (0..40).map(|n| (n, (n, n % 7, 100))).collect();
        let mut next = 40;
        for step in steps {
            match step {
                Step::Insert => {
                    let tx = bank.store.begin(TransactionOptions::STATEMENT);
                    tx.insert(&bank.table, image(&encode((next, 0, 1)))).unwrap();
                    tx.commit().unwrap();
                    model.insert(next, (next, 0, 1));
                    next += 1;
                }
                Step::Add(n) => {
                    let row = model.get_mut(&n);
                    prop_assert_eq!(add(&bank, n, 9), row.is_some());
                    if let Some(row) = row {
                        row.2 += 9;
                    }
                }
                Step::Delete(n) => {
                    prop_assert_eq!(delete(&bank, n), model.remove(&n).is_some());
                }
                Step::Compress => {
                    compress(&bank, 1).unwrap();
                }
                Step::Shed => bank.table.shed_column_groups(),
                Step::Rebuild => bank.table.add_column_index(INDEX),
                Step::Collect => {
                    bank.store.collect();
                }
            }
            let tx = bank.store.begin(TransactionOptions::EXPLICIT);
            let expected: Vec<Row> = model.values().copied().collect();
            prop_assert_eq!(by_columns(&tx, &bank, Read::COMMITTED).0, expected);
        }
    }
}
