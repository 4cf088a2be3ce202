//! Rows are put back from range files and the log: the same rows at the same ids, in all indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use sos::sync::{AtomicBool, Ordering};
use storage::columnstore::{GroupBuilder, Trim};
use storage::durability::CommitLog;
use storage::recovery::{RowRange, Source};
use storage::{
    Bounds, Error, IndexId, Order, Read, RowId, Store, StoreOptions, Table, TableId, TableKind,
    TransactionOptions,
};
use types::value::ColumnType;
use types::{DataType, Value};

use crate::durability::columns_of;
use crate::fake_log::{Commit, FakeLog, Row};
use crate::support::{BY_GROUP, BY_HASH, BY_KEY, BY_LARGE, Bank, all, decode, encode, image, scan};

type Place = (u8, RowId);

/// What a checkpoint has written: the rows of each range.
#[derive(Default)]
struct Files(BTreeMap<(u8, RowId), Vec<(RowId, Row)>>);

impl Files {
    fn write(&mut self, table: &Table, range: RowRange) {
        let mut rows = Vec::new();
        table.read_range(range, |row, image| rows.push((row, Row::of(image))));
        self.0.insert((range.part, range.first), rows);
    }

    fn rows(&self) -> impl Iterator<Item = (Place, &Row)> {
        self.0.iter().flat_map(|((part, _), rows)| rows.iter().map(|(id, row)| ((*part, *id), row)))
    }
}

/// Puts the rows of the files back, and then what the log says, in the order of epochs and timestamps.
fn replay(table: &Table, files: &Files, commits: &[Commit]) -> Result<u64, Error> {
    let restore = table.restore();
    for ((part, id), row) in files.rows() {
        assert!(restore.put(part, id, row.image(), Source::Checkpoint).unwrap());
    }
    let mut commits: Vec<&Commit> = commits.iter().collect();
    commits.sort_by_key(|commit| (commit.epoch, commit.ts));
    for change in commits.iter().flat_map(|commit| &commit.changes) {
        let (part, id) = (change.part, change.row);
        match &change.after {
            Some(row) => assert!(restore.put(part, id, row.image(), Source::Log).unwrap()),
            None => assert!(restore.remove(part, id, Source::Log)),
        }
        assert_eq!(restore.show(part, id, |row| row.map(Row::of)), change.after);
    }
    restore.finish()
}

/// The rows of a table by row id.
fn by_id(bank: &Bank) -> BTreeMap<RowId, (i64, i64, i64)> {
    let mut rows = BTreeMap::new();
    for range in bank.table.changed_ranges(0, 0) {
        bank.table.read_range(range, |id, row| assert!(rows.insert(id, decode(row)).is_none()));
    }
    rows
}

/// Checks that each index of the table leads to the same rows as in the other.
fn assert_same(bank: &Bank, other: &Bank) {
    assert_eq!(by_id(bank), by_id(other));
    let (one, two) = (bank.begin(), other.begin());
    let of = |tx: &storage::Transaction, bank: &Bank, index: Option<IndexId>, order| {
        let mut rows = scan(tx, bank, index, Bounds::ALL, order, Read::COMMITTED).unwrap();
        if index.is_none() {
            rows.sort_unstable();
        }
        rows
    };
    let ways = [
        (None, Order::Forward),
        (Some(BY_KEY), Order::Forward),
        (Some(BY_KEY), Order::Backward),
        (Some(BY_GROUP), Order::Forward),
        (Some(BY_LARGE), Order::Forward),
    ];
    for (index, order) in ways {
        assert_eq!(of(&one, bank, index, order), of(&two, other, index, order), "{index:?}");
    }
    for row in by_id(bank).into_values() {
        let found = other.table.read_point(BY_HASH, &crate::support::key(row.0), decode).unwrap();
        assert_eq!(found, Some(row));
    }
    assert_eq!(bank.table.row_count(), other.table.row_count());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(i64, i64),
    Add(i64, i64),
    Remove(i64),
    Regroup(i64, i64),
    Checkpoint,
    Flush,
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..40_i64;
    prop_oneof![
        8 => (key.clone(), 0..5_i64).prop_map(|(n, group)| Step::Insert(n, group)),
        4 => (key.clone(), 1..9_i64).prop_map(|(n, amount)| Step::Add(n, amount)),
        4 => key.clone().prop_map(Step::Remove),
        2 => (key, 0..5_i64).prop_map(|(n, group)| Step::Regroup(n, group)),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Flush),
        2 => Just(Step::Collect),
    ]
}

/// A table with its log, and checkpoints of it.
struct Machine {
    bank: Bank,
    log: Arc<FakeLog>,
    files: Files,
    since: u64,
    first: u64,
    commits: Vec<Commit>,
}

impl Machine {
    fn new(bank: Bank) -> Self {
        let log = FakeLog::new();
        bank.store.set_log(Arc::clone(&log) as _);
        let (files, since, commits) = (Files::default(), 0, Vec::new());
        Self { bank, log, files, since, first: 0, commits }
    }

    fn checkpoint(&mut self) {
        let number = self.bank.store.begin_checkpoint(None).unwrap();
        self.first = self.log.durable() + 1;
        for range in self.bank.table.changed_ranges(0, self.since) {
            self.files.write(&self.bank.table, range);
        }
        self.since = number;
    }

    fn run(&mut self, step: Step) {
        let bank = &self.bank;
        match step {
            Step::Insert(n, group) => drop(bank.insert((n, group, 0))),
            Step::Add(n, amount) => drop(bank.add(n, amount)),
            Step::Remove(n) => drop(bank.remove(n)),
            Step::Regroup(n, group) => {
                let tx = bank.begin();
                let found = crate::support::get(&tx, bank, n, Read::COMMITTED).unwrap();
                let Some(row) = found else { return };
                let (n, _, amount) = decode(row.image());
                let row = encode((n, group, amount));
                let found = crate::support::get(&tx, bank, n, Read::COMMITTED).unwrap().unwrap();
                tx.update(found, image(&row), storage::Keys::MayDiffer).unwrap();
                tx.commit().unwrap();
            }
            Step::Checkpoint => self.checkpoint(),
            Step::Flush => self.log.flush(),
            Step::Collect => drop(bank.store.collect()),
        }
    }

    /// Restores the table in another store, from the files and the commits behind the checkpoint.
    fn recovered(&mut self) -> Bank {
        self.commits.extend(self.log.take_commits());
        self.commits.retain(|commit| commit.epoch >= self.first);
        let other = Bank::durable(TableKind::Ordinary, None);
        let rows = replay(&other.table, &self.files, &self.commits).unwrap();
        assert_eq!(rows, self.bank.table.row_count());
        other
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A table, its restored copy, and a copy of that after more changes and one checkpoint.
    #[test]
    fn recovered_table_is_the_table(
        before in prop::collection::vec(step(), 0..150),
        after in prop::collection::vec(step(), 0..150),
    ) {
        let mut machine = Machine::new(Bank::durable(TableKind::Ordinary, None));
        before.into_iter().for_each(|step| machine.run(step));
        let recovered = machine.recovered();
        assert_same(&machine.bank, &recovered);
        // What replay has changed counts as changed since the checkpoint on disk.
        let mut next = Machine::new(recovered);
        next.since = next.bank.store.checkpoint_number();
        next.files = std::mem::take(&mut machine.files);
        next.checkpoint();
        after.into_iter().for_each(|step| next.run(step));
        let again = next.recovered();
        assert_same(&next.bank, &again);
    }
}

/// Writers change rows while checkpoints are made: the last one and the log behind it give the
/// final state.
#[test]
fn checkpoints_beside_writers_lose_nothing() {
    const WRITERS: i64 = 3;
    const CHANGES: i64 = 3_000;
    let mut machine = Machine::new(Bank::durable(TableKind::Ordinary, None));
    let ends = AtomicBool::new(false);
    let bank = Bank { store: machine.bank.store.fork(), table: Arc::clone(&machine.bank.table) };
    std::thread::scope(|scope| {
        let (bank, ends) = (&bank, &ends);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    for n in 0..CHANGES {
                        let key = (n * 7 % 100) * WRITERS + writer;
                        match n % 5 {
                            0..=2 if !bank.add(key, 1) => bank.insert((key, n % 3, 0)).unwrap(),
                            3 => {
                                let tx = bank.begin();
                                let row = encode((key + 1_000, n, 1));
                                match tx.insert(&bank.table, image(&row)) {
                                    Ok(_) => tx.commit().unwrap(),
                                    Err(_) => tx.rollback(),
                                }
                            }
                            4 => drop(bank.remove(key + 1_000 * (n % 2))),
                            _ => {}
                        }
                    }
                })
            })
            .collect();
        let flusher = {
            let log = Arc::clone(&machine.log);
            scope.spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    log.flush();
                    std::thread::yield_now();
                }
            })
        };
        while writers.iter().any(|writer| !writer.is_finished()) {
            machine.checkpoint();
        }
        ends.store(true, Ordering::Relaxed);
        flusher.join().unwrap();
    });
    let recovered = machine.recovered();
    assert_same(&machine.bank, &recovered);
}

#[test]
fn only_ranges_that_changed_are_read_again() {
    let mut machine = Machine::new(Bank::durable(TableKind::Ordinary, None));
    (0..5_000).for_each(|n| machine.bank.insert((n, 0, 0)).unwrap());
    machine.checkpoint();
    let ranges = machine.files.0.len();
    assert!(ranges > 3, "{ranges}");
    assert!(machine.bank.table.changed_ranges(0, machine.since).is_empty());
    machine.bank.add(4_000, 1);
    let changed = machine.bank.table.changed_ranges(0, machine.since);
    assert_eq!(changed.len(), 1);
    let mut amounts = Vec::new();
    machine.bank.table.read_range(changed[0], |_, row| amounts.push(decode(row).2));
    assert_eq!(amounts.iter().sum::<i64>(), 1);
    // A change that is not committed is none, and one that is made later counts for the next.
    let tx = machine.bank.begin();
    tx.insert(&machine.bank.table, image(&encode((9_000, 0, 7)))).unwrap();
    machine.checkpoint();
    assert!(machine.files.rows().all(|(_, row)| decode(row.image()).0 < 9_000));
    tx.commit().unwrap();
    machine.checkpoint();
    assert!(machine.files.rows().any(|(_, row)| decode(row.image()).0 == 9_000));
}

#[test]
fn two_rows_with_one_key_are_an_error_that_names_the_table() {
    for key in [2, 5] {
        let bank = Bank::durable(TableKind::Ordinary, None);
        let restore = bank.table.restore();
        let rows = [(1, 0, 0), (key, 0, 0), (3, 0, 0), (key, 0, 0)];
        for (id, row) in (0..).zip(rows) {
            let row = encode(row);
            assert_eq!(restore.put(0, RowId(id), image(&row), Source::Log), Ok(true));
        }
        let Err(Error::Unique { table, index, .. }) = restore.finish() else {
            panic!("a duplicate")
        };
        assert_eq!((table, index), (TableId(1), BY_KEY));
    }
}

#[test]
fn threads_put_rows_back_at_once_and_free_heads_are_used_again() {
    const ROWS: u64 = 6_000;
    let bank = Bank::durable(TableKind::Ordinary, None);
    let restore = bank.table.restore();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let restore = &restore;
            scope.spawn(move || {
                for id in (0..ROWS).filter(|id| id % 3 == thread && id % 5 != 0) {
                    let row = encode((i64::try_from(id).unwrap(), 0, 1));
                    restore.put(0, RowId(id), image(&row), Source::Checkpoint).unwrap();
                }
            });
        }
    });
    assert_eq!(
        restore.put(0, RowId(5_000 << 48), image(&encode((0, 0, 0))), Source::Log),
        Ok(false)
    );
    assert_eq!(restore.put(1, RowId(0), image(&encode((0, 0, 0))), Source::Log), Ok(false));
    let rows = ROWS - ROWS / 5;
    assert_eq!(restore.finish(), Ok(rows));
    assert_eq!(bank.table.row_count(), rows);
    assert!(bank.table.changed_ranges(0, bank.store.checkpoint_number()).is_empty());
    let kept = by_id(&bank);
    (0..2_000).for_each(|n| bank.insert((100_000 + n, 0, 2)).unwrap());
    let tx = bank.begin();
    assert_eq!(all(&tx, &bank, Read::COMMITTED).len() as u64, rows + 2_000);
    let now = by_id(&bank);
    assert!(kept.iter().all(|(id, row)| now.get(id) == Some(row)), "no row was overwritten");
}

/// A columnstore is restored with an interrupted move: its rows are where they were, the move can
/// be settled, and new groups get new numbers.
#[test]
fn columnstore_is_restored_in_the_middle_of_a_move() {
    let numbers = ColumnType::nullable(DataType::BigInt);
    let store = Store::new(StoreOptions::default());
    let log = FakeLog::new();
    store.set_log(Arc::clone(&log) as _);
    let table = columns_of(&store);
    let rows = 2_000;
    let load = store.begin(TransactionOptions::EXPLICIT);
    (0..rows).for_each(|n: i64| assert!(load.insert(&table, image(&n.to_be_bytes())).is_ok()));
    load.commit().unwrap();
    let segments = || {
        let mut builder = GroupBuilder::new(&[numbers]);
        (0..rows).for_each(|n| builder.push(&[Value::BigInt(n)]));
        builder.finish().unwrap()
    };
    let reader = store.begin(TransactionOptions::STATEMENT);
    let delta = reader.delta_rows(&table, usize::MAX).unwrap();
    let mut parts = 0;
    let go_on = || {
        parts += 1;
        parts < 3
    };
    let moved = table.move_rows(&delta, &segments(), Trim::Moved, go_on).unwrap();
    assert!(!moved.is_complete && moved.rows > 0);
    let other = Store::new(StoreOptions::default());
    let restored = columns_of(&other);
    replay(&restored, &Files::default(), &log.take_commits()).unwrap();
    assert_eq!(restored.row_count(), 2_000);
    assert_eq!(restored.delta_rows(), table.delta_rows());
    assert!(restored.has_unsettled());
    restored.settle_moves(|| true).unwrap();
    assert!(!restored.has_unsettled());
    let tx = other.begin(TransactionOptions::EXPLICIT);
    tx.add_row_group(&restored, &segments(), Trim::BulkLoad).unwrap();
    let groups = tx.row_groups(&restored, Read::COMMITTED).unwrap();
    assert_eq!(groups.iter().map(|group| group.id()).collect::<Vec<_>>(), [0]);
    tx.commit().unwrap();
    assert_eq!(restored.row_count(), 4_000);
}
