//! Row groups under transactions: a group is visible as a whole or not at all, and each row is
//! read once, from the delta store or from its group.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use storage::columnstore::{GroupBuilder, Place, Trim};
use storage::{
    Bounds, Error, Isolation, Order, Read, RowLock, ScanSpec, Store, StoreOptions, Table, TableId,
    TableKind, TableSpec, Transaction, TransactionOptions,
};
use types::batch::Vector;
use types::value::ColumnType;
use types::{DataType, Value};

use crate::support::{eventually, image, key};

const SNAPSHOT: Read = Read { isolation: Isolation::Snapshot, lock: RowLock::None };

fn number() -> ColumnType {
    ColumnType::nullable(DataType::BigInt)
}

/// A table of one column, `bigint`.
struct Numbers {
    store: Arc<Store>,
    table: Arc<Table>,
}

impl Numbers {
    fn new() -> Self {
        let store = Store::new(StoreOptions::default());
        let columns = Some(vec![number()]);
        let spec = TableSpec {
            id: TableId(1),
            kind: TableKind::Ordinary,
            indexes: Vec::new(),
            columns,
            durable: None,
        };
        let table = store.create_table(spec).unwrap();
        Self { store, table }
    }

    fn begin(&self) -> Transaction {
        self.store.begin(TransactionOptions::EXPLICIT)
    }

    /// Loads numbers as a row group.
    fn load(&self, tx: &Transaction, numbers: impl IntoIterator<Item = i64>) {
        let mut builder = GroupBuilder::new(&[number()]);
        numbers.into_iter().for_each(|n| builder.push(&[Value::BigInt(n)]));
        let segments = builder.finish().unwrap();
        tx.add_row_group(&self.table, &segments, Trim::BulkLoad).unwrap();
    }

    fn insert(&self, tx: &Transaction, n: i64) {
        tx.insert(&self.table, image(&key(n))).unwrap();
    }

    /// The compressed rows that a transaction sees, each with its place.
    fn compressed(&self, tx: &Transaction, read: Read) -> Vec<(i64, Place)> {
        let mut rows = Vec::new();
        let mut vector = Vector::of_type(&DataType::BigInt);
        for group in tx.row_groups(&self.table, read).unwrap() {
            let deleted = tx.deleted_rows(&self.table, group.id(), read).unwrap();
            let mut row = 0;
            for block in 0..group.segment(0).blocks() {
                group.segment(0).block(block, &mut vector);
                for at in 0..vector.len() {
                    let Value::BigInt(n) = vector.get(at) else { panic!("a number") };
                    if deleted.binary_search(&row).is_err() {
                        rows.push((n, Place { group: group.id(), row }));
                    }
                    row += 1;
                }
            }
        }
        rows
    }

    /// All rows that a transaction sees, in order.
    fn all(&self, tx: &Transaction, read: Read) -> Vec<i64> {
        let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
        let mut scan = tx.scan(&self.table, spec).unwrap();
        let mut rows: Vec<i64> =
            self.compressed(tx, read).into_iter().map(|(number, _)| number).collect();
        while let Some(row) = scan.next().unwrap() {
            rows.push(i64::from_be_bytes(row.image().bytes.try_into().unwrap()));
        }
        rows.sort_unstable();
        rows
    }

    fn now(&self) -> Vec<i64> {
        self.all(&self.begin(), Read::COMMITTED)
    }

    /// Takes a compressed number, and deletes it or puts another in its place.
    fn change(&self, tx: &Transaction, n: i64, to: Option<i64>) -> Result<bool, Error> {
        let rows = self.compressed(tx, Read::COMMITTED);
        let Some((_, place)) = rows.into_iter().find(|(number, _)| *number == n) else {
            return Ok(false);
        };
        let row = tx.take_compressed(&self.table, place, image(&key(n)))?;
        match to {
            None => tx.delete(row)?,
            Some(to) => drop(tx.update(row, image(&key(to)), storage::Keys::Same)?),
        }
        Ok(true)
    }
}

#[test]
fn row_group_is_seen_from_its_commit_on_and_whole() {
    let numbers = Numbers::new();
    let before = numbers.begin();
    assert!(numbers.all(&before, SNAPSHOT).is_empty());
    let load = numbers.begin();
    numbers.load(&load, 0..3_000);
    assert!(numbers.now().is_empty() && numbers.table.row_count() == 0);
    load.commit().unwrap();
    assert_eq!(numbers.now(), (0..3_000).collect::<Vec<_>>());
    assert_eq!((numbers.table.row_count(), numbers.table.delta_rows()), (3_000, 0));
    assert!(numbers.all(&before, SNAPSHOT).is_empty(), "the snapshot is older");
}

#[test]
fn load_that_is_undone_leaves_nothing() {
    let numbers = Numbers::new();
    let empty = numbers.table.memory();
    let load = numbers.begin();
    numbers.load(&load, (0..3_000).map(|n| n * n * n));
    numbers.load(&load, 0..3_000);
    drop(load);
    assert!(numbers.now().is_empty() && numbers.table.row_count() == 0);
    // Heads stay allocated for reuse; the memory of the rows is freed.
    eventually(&numbers.store, || numbers.table.memory().used_rows_bytes == empty.used_rows_bytes);
}

#[test]
fn changed_row_moves_to_the_delta_store_and_back_if_that_is_undone() {
    let numbers = Numbers::new();
    let load = numbers.begin();
    numbers.load(&load, 0..10);
    load.commit().unwrap();
    let mut tx = numbers.begin();
    assert!(numbers.change(&tx, 3, Some(30)).unwrap());
    assert!(numbers.change(&tx, 4, None).unwrap());
    tx.next_statement();
    assert_eq!(numbers.all(&tx, Read::COMMITTED), [0, 1, 2, 5, 6, 7, 8, 9, 30]);
    assert_eq!(numbers.now(), (0..10).collect::<Vec<_>>());
    drop(tx);
    assert_eq!(numbers.now(), (0..10).collect::<Vec<_>>());
    let tx = numbers.begin();
    assert!(numbers.change(&tx, 3, Some(30)).unwrap());
    tx.commit().unwrap();
    assert_eq!(numbers.now(), [0, 1, 2, 4, 5, 6, 7, 8, 9, 30]);
    assert_eq!((numbers.table.row_count(), numbers.table.delta_rows()), (10, 1));
}

#[test]
fn second_of_two_who_change_a_compressed_row_conflicts() {
    let numbers = Numbers::new();
    let load = numbers.begin();
    numbers.load(&load, 0..10);
    load.commit().unwrap();
    let (first, second) = (numbers.begin(), numbers.begin());
    let (_, place) = numbers.compressed(&second, SNAPSHOT)[5];
    assert!(numbers.change(&first, 5, None).unwrap());
    first.commit().unwrap();
    let taken = second.take_compressed(&numbers.table, place, image(&key(5)));
    assert!(matches!(taken.map(|_| ()), Err(Error::SnapshotConflict(_))));
    // An autocommit statement runs again instead.
    let again = numbers.store.begin(TransactionOptions::STATEMENT);
    let taken = again.take_compressed(&numbers.table, place, image(&key(5)));
    assert!(matches!(taken.map(|_| ()), Err(Error::Restart)));
}

#[test]
fn truncated_table_has_no_row_anywhere() {
    let numbers = Numbers::new();
    let tx = numbers.begin();
    numbers.load(&tx, 0..10);
    numbers.insert(&tx, 10);
    tx.commit().unwrap();
    let tx = numbers.begin();
    numbers.change(&tx, 1, None).unwrap();
    tx.commit().unwrap();
    let tx = numbers.begin();
    tx.truncate(&numbers.table).unwrap();
    assert_eq!(numbers.now().len(), 10);
    tx.commit().unwrap();
    assert_eq!((numbers.now(), numbers.table.row_count()), (Vec::new(), 0));
}

#[test]
fn readers_see_all_of_a_group_or_none_while_many_load_and_change() {
    const ROWS: i64 = 64;
    let numbers = Numbers::new();
    std::thread::scope(|scope| {
        for writer in 0..3_i64 {
            let numbers = &numbers;
            scope.spawn(move || {
                for round in 0..20 {
                    let tx = numbers.begin();
                    let first = (writer * 20 + round) * ROWS;
                    numbers.load(&tx, first..first + ROWS);
                    match round % 3 {
                        0 => drop(tx),
                        _ => tx.commit().unwrap(),
                    }
                    // A negative number in the place of one: the count stays.
                    let tx = numbers.begin();
                    let moved = numbers.change(&tx, first + round, Some(-first - round - 1));
                    if moved.is_ok() {
                        tx.commit().unwrap();
                    }
                }
            });
        }
        for _ in 0..60 {
            let rows = numbers.now();
            assert_eq!(rows.len() % 64, 0, "a part of a group is seen");
            let mut seen =
                rows.iter().map(|n| if *n < 0 { -n - 1 } else { *n }).collect::<Vec<_>>();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), rows.len(), "a row is seen twice");
        }
    });
    assert_eq!(numbers.now().len(), 3 * 13 * 64);
    assert_eq!(numbers.table.row_count(), 3 * 13 * 64);
}

/// One step of a session.
#[derive(Clone, Debug)]
enum Step {
    Load(i64),
    Insert,
    Delete(usize),
    Update(usize),
    Commit,
    Undo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (1..40_i64).prop_map(Step::Load),
        3 => Just(Step::Insert),
        3 => (0..100_usize).prop_map(Step::Delete),
        3 => (0..100_usize).prop_map(Step::Update),
        2 => Just(Step::Commit),
        1 => Just(Step::Undo),
    ]
}

proptest! {
    #[test]
    fn rows_are_those_of_a_model(steps in proptest::collection::vec(step(), 0..60)) {
        let numbers = Numbers::new();
        let mut kept: BTreeMap<i64, ()> = BTreeMap::new();
        let (mut tx, mut own, mut next) = (numbers.begin(), kept.clone(), 0_i64);
        for step in steps {
            match step {
                Step::Load(rows) => {
                    numbers.load(&tx, next..next + rows);
                    own.extend((next..next + rows).map(|n| (n, ())));
                    next += rows;
                }
                Step::Insert => {
                    numbers.insert(&tx, next);
                    own.insert(next, ());
                    next += 1;
                }
                Step::Delete(pick) | Step::Update(pick) if !own.is_empty() => {
                    let n = *own.keys().nth(pick % own.len()).unwrap();
                    let to = matches!(step, Step::Update(_)).then_some(next);
                    // Rows of the delta store stay as they are here.
                    if numbers.change(&tx, n, to).unwrap() {
                        own.remove(&n);
                        own.extend(to.map(|n| (n, ())));
                        next += 1;
                    }
                }
                Step::Commit => {
                    std::mem::replace(&mut tx, numbers.begin()).commit().unwrap();
                    kept = own.clone();
                }
                Step::Undo => {
                    tx = numbers.begin();
                    own = kept.clone();
                }
                Step::Delete(_) | Step::Update(_) => {}
            }
            tx.next_statement();
            prop_assert_eq!(numbers.all(&tx, Read::COMMITTED), own.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(numbers.now(), kept.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(numbers.table.row_count(), kept.len() as u64);
        }
    }
}
