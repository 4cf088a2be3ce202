//! The tuple mover: rows move from the delta store to row groups while other sessions change them.

use std::collections::BTreeSet;
use std::sync::Arc;

use sos::sync::{AtomicBool, Ordering};
use storage::columnstore::{GroupBuilder, Moved, Trim};
use storage::{
    Bounds, Claim, Error, Isolation, Keys, Order, Read, RowLock, RowRef, ScanSpec, Store,
    StoreOptions, Table, TableId, TableKind, TableSpec, Transaction, TransactionOptions, WhenOwned,
};
use types::batch::Vector;
use types::value::ColumnType;
use types::{DataType, Value};

use crate::support::{image, key};

const SNAPSHOT: Read = Read { isolation: Isolation::Snapshot, lock: RowLock::None };

fn number() -> ColumnType {
    ColumnType::nullable(DataType::BigInt)
}

fn number_of(row: &RowRef<'_>) -> i64 {
    i64::from_be_bytes(row.image().bytes.try_into().unwrap())
}

/// A table of one column, `bigint`.
struct Numbers {
    store: Arc<Store>,
    table: Arc<Table>,
}

impl Numbers {
    /// Makes the table with these numbers in its delta store.
    fn with(numbers: impl IntoIterator<Item = i64>) -> Self {
        let store = Store::new(StoreOptions::default());
        let columns = Some(vec![number()]);
        let (id, kind, indexes) = (TableId(1), TableKind::Ordinary, Vec::new());
        let table =
            store.create_table(TableSpec { id, kind, indexes, columns, durable: None }).unwrap();
        let numbers_of = Self { store, table };
        let load = numbers_of.begin();
        numbers.into_iter().for_each(|n| drop(load.insert(&numbers_of.table, image(&key(n)))));
        load.commit().unwrap();
        numbers_of
    }

    fn begin(&self) -> Transaction {
        self.store.begin(TransactionOptions::EXPLICIT)
    }

    /// Moves up to `rows_max` rows; `between` runs after they were read.
    fn move_rows(
        &self,
        rows_max: usize,
        between: impl FnOnce(),
        go_on: impl FnMut() -> bool,
    ) -> Result<Moved, Error> {
        let reader = self.store.begin(TransactionOptions::STATEMENT);
        let rows = reader.delta_rows(&self.table, rows_max)?;
        if rows.is_empty() {
            return Ok(Moved::default());
        }
        let mut builder = GroupBuilder::new(&[number()]);
        rows.iter().for_each(|row| builder.push(&[Value::BigInt(number_of(row))]));
        let segments = builder.finish().unwrap();
        between();
        self.table.move_rows(&rows, &segments, Trim::Moved, go_on)
    }

    /// All numbers that a transaction sees, in order.
    fn all(&self, transaction: &Transaction, read: Read) -> Vec<i64> {
        let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
        let mut scan = transaction.scan(&self.table, spec).unwrap();
        let mut seen = Vec::new();
        while let Some(row) = scan.next().unwrap() {
            seen.push(number_of(&row));
        }
        let mut vector = Vector::of_type(&DataType::BigInt);
        for group in transaction.row_groups(&self.table, read).unwrap() {
            let deleted = transaction.deleted_rows(&self.table, group.id(), read).unwrap();
            let mut row = 0;
            for block in 0..group.segment(0).blocks() {
                group.segment(0).block(block, &mut vector);
                for at in 0..vector.len() {
                    let Value::BigInt(n) = vector.get(at) else { panic!("a number") };
                    if deleted.binary_search(&row).is_err() {
                        seen.push(n);
                    }
                    row += 1;
                }
            }
        }
        seen.sort_unstable();
        seen
    }

    fn now(&self) -> Vec<i64> {
        self.all(&self.begin(), Read::COMMITTED)
    }

    /// Changes those rows of the delta store that `pick` names, as a statement does: it claims what
    /// it has read. `between` runs after they were read.
    fn change(
        &self,
        transaction: &Transaction,
        pick: impl Fn(i64) -> Option<Option<i64>>,
        between: impl FnOnce(),
    ) -> Result<(), Error> {
        let read = Read::COMMITTED;
        let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
        let mut scan = transaction.scan(&self.table, spec)?;
        let mut rows = Vec::new();
        while let Some(row) = scan.next()? {
            rows.extend(pick(number_of(&row)).map(|to| (row, to)));
        }
        between();
        for (row, to) in rows {
            let (Claim::Current(row) | Claim::Changed(row)) =
                transaction.claim(row, WhenOwned::Wait)?
            else {
                continue;
            };
            let Some(to) = pick(number_of(&row)).and(Some(to)) else { continue };
            match to {
                None => transaction.delete(row)?,
                Some(to) => drop(transaction.update(row, image(&key(to)), Keys::Same)?),
            }
        }
        Ok(())
    }
}

fn nothing() {}

fn yes() -> bool {
    true
}

#[test]
fn moved_rows_are_those_there_were_and_snapshots_stay() {
    let numbers = Numbers::with(0..3_000);
    let before = numbers.begin();
    let all: Vec<i64> = (0..3_000).collect();
    assert_eq!(numbers.all(&before, SNAPSHOT), all);
    let moved = numbers.move_rows(2_500, nothing, yes).unwrap();
    assert_eq!(moved, Moved { rows: 2_500, stayed: 0, is_complete: true });
    assert_eq!(numbers.now(), all);
    assert_eq!(numbers.all(&before, SNAPSHOT), all);
    assert_eq!((numbers.table.row_count(), numbers.table.delta_rows()), (3_000, 500));
    let groups = before.row_groups(&numbers.table, SNAPSHOT).unwrap();
    assert!(groups.is_empty(), "the snapshot is older");
}

#[test]
fn move_that_ends_early_leaves_every_row_in_one_place() {
    let numbers = Numbers::with(0..3_000);
    let mut parts = 0;
    let moved = numbers.move_rows(3_000, nothing, || {
        parts += 1;
        parts < 4
    });
    let moved = moved.unwrap();
    assert!(!moved.is_complete && moved.rows > 0 && moved.rows < 3_000, "{moved:?}");
    assert_eq!(numbers.now(), (0..3_000).collect::<Vec<_>>());
    assert_eq!(numbers.table.row_count(), 3_000);
    numbers.move_rows(3_000, nothing, yes).unwrap();
    assert_eq!(numbers.now(), (0..3_000).collect::<Vec<_>>());
    assert_eq!((numbers.table.row_count(), numbers.table.delta_rows()), (3_000, 0));
}

#[test]
fn move_that_ends_early_is_settled_with_the_rows_that_came() {
    let numbers = Numbers::with(0..3_000);
    let before = numbers.begin();
    assert_eq!(numbers.all(&before, SNAPSHOT).len(), 3_000);
    // A row of the second part changes before it can move.
    let change = || {
        let tx = numbers.begin();
        numbers.change(&tx, |n| (n == 700).then_some(Some(-701)), nothing).unwrap();
        tx.commit().unwrap();
    };
    let late = numbers.begin();
    let mut came = 0;
    let move_and_settle = || {
        let mut parts = 0;
        let go_on = || {
            parts += 1;
            parts < 4
        };
        let moved = numbers.move_rows(3_000, change, go_on).unwrap();
        assert_eq!((moved.stayed, moved.is_complete), (1, false));
        came = moved.rows + moved.stayed;
        assert!(came > 700 && came < 3_000 && numbers.table.has_unsettled());
        let mut blocks = 0;
        let go_on = || {
            blocks += 1;
            blocks < 2
        };
        numbers.table.settle_moves(go_on).unwrap();
        assert!(numbers.table.has_unsettled(), "it was told not to go on");
        numbers.table.settle_moves(yes).unwrap();
        assert!(!numbers.table.has_unsettled());
    };
    // A writer that read rows before they moved finds them in the cut group.
    numbers.change(&late, |n| (n % 50 == 0).then_some(None), move_and_settle).unwrap();
    late.commit().unwrap();
    let now = numbers.begin();
    let groups = now.row_groups(&numbers.table, Read::COMMITTED).unwrap();
    let sizes: Vec<_> = groups.iter().map(|group| (group.rows(), group.is_moving())).collect();
    assert_eq!(sizes, [(came, false)]);
    // Row 700 is another one by now than the one that was to be deleted.
    let rest = (0..3_000).filter(|n| n % 50 > 0).chain([-701]);
    let expected: Vec<i64> = rest.collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!(numbers.now(), expected);
    assert_eq!(numbers.table.row_count(), expected.len() as u64);
    assert_eq!(numbers.all(&before, SNAPSHOT), (0..3_000).collect::<Vec<_>>());
    drop(before);
    numbers.move_rows(3_000, nothing, yes).unwrap();
    assert_eq!(numbers.now(), expected);
    assert_eq!((numbers.table.delta_rows(), numbers.table.has_unsettled()), (0, false));
}

#[test]
fn move_that_brought_nothing_leaves_no_group() {
    let numbers = Numbers::with(0..2_000);
    let moved = numbers.move_rows(2_000, nothing, || false).unwrap();
    assert_eq!(moved, Moved::default());
    // While the table is redefined nothing is settled.
    numbers.table.retire();
    assert!(matches!(numbers.table.settle_moves(yes), Err(Error::Closed(_))));
    let numbers = Numbers::with(0..2_000);
    numbers.move_rows(2_000, nothing, || false).unwrap();
    numbers.table.settle_moves(yes).unwrap();
    let reader = numbers.begin();
    assert!(reader.row_groups(&numbers.table, Read::COMMITTED).unwrap().is_empty());
    assert_eq!(numbers.now(), (0..2_000).collect::<Vec<_>>());
}

#[test]
fn rows_that_change_while_they_are_compressed_stay() {
    let numbers = Numbers::with(0..1_000);
    let open = numbers.begin();
    let change = || {
        let done = numbers.begin();
        numbers.change(&done, |n| (n == 1).then_some(None), nothing).unwrap();
        numbers.change(&done, |n| (n == 2).then_some(Some(-2)), nothing).unwrap();
        done.commit().unwrap();
        numbers.change(&open, |n| (n == 3).then_some(Some(-3)), nothing).unwrap();
        numbers.change(&open, |n| (n == 4).then_some(None), nothing).unwrap();
    };
    let moved = numbers.move_rows(1_000, change, yes).unwrap();
    assert_eq!((moved.rows, moved.stayed), (996, 4));
    let mut expected: BTreeSet<i64> = (0..1_000).collect();
    expected.remove(&1);
    expected.remove(&2);
    expected.insert(-2);
    assert_eq!(numbers.now(), expected.iter().copied().collect::<Vec<_>>());
    drop(open);
    assert_eq!(numbers.now(), expected.iter().copied().collect::<Vec<_>>());
    assert_eq!(numbers.table.row_count(), 999);
}

#[test]
fn who_has_read_a_row_changes_it_where_it_has_moved() {
    let numbers = Numbers::with(0..1_000);
    let tx = numbers.begin();
    let moves = || {
        numbers.move_rows(1_000, nothing, yes).unwrap();
    };
    numbers.change(&tx, |n| (n % 10 == 0).then_some(Some(-n - 1)), moves).unwrap();
    assert_eq!(numbers.now(), (0..1_000).collect::<Vec<_>>());
    tx.commit().unwrap();
    let expected: BTreeSet<i64> =
        (0..1_000).map(|n| if n % 10 == 0 { -n - 1 } else { n }).collect();
    assert_eq!(numbers.now(), expected.into_iter().collect::<Vec<_>>());
    assert_eq!((numbers.table.row_count(), numbers.table.delta_rows()), (1_000, 100));
}

#[test]
fn truncated_or_closed_table_ends_the_move() {
    let numbers = Numbers::with(0..2_000);
    let empty = || {
        let tx = numbers.begin();
        tx.truncate(&numbers.table).unwrap();
        tx.commit().unwrap();
    };
    let mut parts = 0;
    let moved = numbers.move_rows(2_000, nothing, || {
        parts += 1;
        if parts == 2 {
            empty();
        }
        true
    });
    assert!(matches!(moved, Err(Error::Closed(_))), "{moved:?}");
    assert_eq!((numbers.now(), numbers.table.row_count()), (Vec::new(), 0));
    let numbers = Numbers::with(0..2_000);
    let moved = numbers.move_rows(2_000, || numbers.table.retire(), yes);
    assert!(matches!(moved, Err(Error::Closed(_))), "{moved:?}");
    assert_eq!(numbers.now(), (0..2_000).collect::<Vec<_>>());
}

#[test]
fn moves_beside_changes_lose_and_double_no_row() {
    const ROWS: i64 = 2_000;
    let numbers = Numbers::with(0..ROWS);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            while !is_done.load(Ordering::Acquire) {
                numbers.move_rows(1_500, nothing, yes).unwrap();
            }
        });
        let writers: Vec<_> = (0..2_i64)
            .map(|writer| {
                let numbers = &numbers;
                scope.spawn(move || {
                    for round in 0..40 {
                        let mine = |n: i64| n.rem_euclid(2) == writer && n.rem_euclid(41) == round;
                        // Rows are changed, inserted and deleted; the count is right.
                        let tx = numbers.begin();
                        let changed = numbers.change(&tx, |n| mine(n).then_some(Some(n)), nothing);
                        let first = ROWS + (writer * 40 + round) * 64;
                        (first..first + 64)
                            .for_each(|n| drop(tx.insert(&numbers.table, image(&key(n)))));
                        if changed.is_ok() && round % 3 > 0 {
                            tx.commit().unwrap();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..60 {
            let rows = numbers.now();
            assert_eq!((rows.len() as i64 - ROWS) % 64, 0, "a row is missing, or there twice");
            assert!(rows.windows(2).all(|pair| pair[0] != pair[1]), "a row is seen twice");
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_done.store(true, Ordering::Release);
        mover.join().unwrap();
    });
    let rows = numbers.now();
    assert_eq!(rows.len() as u64, numbers.table.row_count());
    assert_eq!((0..ROWS).filter(|n| rows.binary_search(n).is_err()).count(), 0);
}

#[test]
fn who_meets_the_mover_waits_for_it_whatever_he_does_about_others() {
    let numbers = Numbers::with(0..4_000);
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| numbers.move_rows(4_000, nothing, yes).unwrap());
        loop {
            let options =
                TransactionOptions { lock_timeout_ms: Some(0), ..TransactionOptions::EXPLICIT };
            let tx = numbers.store.begin(options);
            let reader = tx.delta_rows(&numbers.table, 4_000).unwrap();
            for (row, when) in reader.iter().zip([WhenOwned::Skip, WhenOwned::Fail].repeat(350)) {
                let claimed = tx.claim(*row, when).unwrap();
                assert!(matches!(claimed, Claim::Current(_)), "the mover's rows are passed");
            }
            if mover.is_finished() {
                break;
            }
        }
        mover.join().unwrap();
    });
    assert_eq!(numbers.now(), (0..4_000).collect::<Vec<_>>());
}
