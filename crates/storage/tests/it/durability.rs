//! What storage writes to a log about commits, and which epochs readers wait for.

use std::sync::Arc;

use storage::columnstore::{GroupBuilder, Trim};
use storage::durability::{ChangeKind, CommitLog as _, take};
use storage::{
    Bounds, Claim, Error, Isolation, KeyList, Keys, Order, Read, RowLock, ScanSpec, Store,
    StoreOptions, Table, TableId, TableKind, TableSpec, TransactionOptions, WhenOwned,
};
use types::row::{RowBuffer, RowLayout};
use types::value::ColumnType;
use types::{DataType, Value};

use crate::fake_log::{Change, FakeLog};
use crate::support::{
    BY_GROUP, BY_KEY, Bank, REPEATABLE, SERIALIZABLE, decode, encode, get, image, key, scan,
};

const LAZY: TransactionOptions =
    TransactionOptions { is_lazy: true, ..TransactionOptions::STATEMENT };

fn logged(kind: TableKind) -> (Bank, Arc<FakeLog>) {
    let log = FakeLog::new();
    let bank = Bank::durable(kind, Some(Arc::clone(&log) as _));
    take();
    (bank, log)
}

/// Amounts before and after a change.
fn amounts(change: &Change) -> (Option<i64>, Option<i64>) {
    let amount = |row: &Option<crate::fake_log::Row>| row.as_ref().map(|r| decode(r.image()).2);
    (amount(&change.before), amount(&change.after))
}

#[test]
fn autocommit_changes_are_logged_with_both_images() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 0, 10)).unwrap();
    bank.add(1, 5);
    bank.remove(1);
    let commits = log.take_commits();
    let changes: Vec<&Change> = commits.iter().flat_map(|commit| &commit.changes).collect();
    let kinds: Vec<_> = changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Insert, ChangeKind::Update, ChangeKind::Delete]);
    let seen: Vec<_> = changes.iter().map(|change| amounts(change)).collect();
    assert_eq!(seen, [(None, Some(10)), (Some(10), Some(15)), (Some(15), None)]);
    assert!(changes.iter().all(|change| change.row == changes[0].row && change.part == 0));
    assert!(changes.iter().all(|change| change.table == TableId(1) && change.has_layout));
    assert!(commits.is_sorted_by(|a, b| a.ts < b.ts), "{commits:?}");
    assert_eq!(take(), log.epoch(), "the writer waits for its commit");
}

#[test]
fn transaction_logs_its_changes_in_order_and_no_locks() {
    let (bank, log) = logged(TableKind::Ordinary);
    (1..=2).for_each(|n| bank.insert((n, 0, 10)).unwrap());
    log.take_commits();
    let tx = bank.begin();
    let row = get(&tx, &bank, 1, Read::COMMITTED).unwrap().unwrap();
    let Claim::Current(row) = tx.claim(row, WhenOwned::Wait).unwrap() else { panic!("unchanged") };
    let row = tx.update(row, image(&encode((1, 0, 20))), Keys::Same).unwrap();
    tx.update(row, image(&encode((1, 0, 30))), Keys::Same).unwrap();
    let other = get(&tx, &bank, 2, Read::COMMITTED).unwrap().unwrap();
    tx.delete(other).unwrap();
    tx.insert(&bank.table, image(&encode((3, 0, 40)))).unwrap();
    assert!(log.take_commits().is_empty(), "nothing is logged before the commit");
    tx.commit().unwrap();
    let commits = log.take_commits();
    assert_eq!((commits.len(), commits[0].epoch), (1, log.epoch()));
    let seen: Vec<_> = commits[0].changes.iter().map(amounts).collect();
    let expected = [(Some(10), Some(20)), (Some(20), Some(30)), (Some(10), None), (None, Some(40))];
    assert_eq!(seen, expected);
}

#[test]
fn what_commits_nothing_is_withdrawn_or_not_announced() {
    let (bank, log) = logged(TableKind::MemoryOptimized);
    bank.insert((1, 0, 10)).unwrap();
    log.take_commits();
    let reading = bank.begin();
    let row = get(&reading, &bank, 1, SERIALIZABLE).unwrap().unwrap();
    reading.update(row, image(&encode((1, 0, 11))), Keys::Same).unwrap();
    scan(&reading, &bank, Some(BY_KEY), Bounds::ALL, Order::Forward, SERIALIZABLE).unwrap();
    bank.insert((2, 0, 10)).unwrap();
    assert_eq!(reading.commit(), Err(Error::SerializableFailure));
    assert_eq!(log.withdrawn(), 1);
    assert_eq!(log.take_commits().len(), 1, "the insert alone");
    let rolled_back = bank.begin();
    rolled_back.insert(&bank.table, image(&encode((3, 0, 1)))).unwrap();
    rolled_back.rollback();
    assert!(matches!(bank.insert((1, 0, 1)), Err(Error::Unique { .. })));
    let only_reads = bank.begin();
    get(&only_reads, &bank, 1, Read::COMMITTED).unwrap();
    only_reads.commit().unwrap();
    assert!(log.take_commits().is_empty());
}

#[test]
fn reader_of_a_row_waits_for_its_version_only() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 0, 10)).unwrap();
    let first = log.epoch();
    log.next_epoch();
    bank.insert((2, 0, 10)).unwrap();
    take();
    bank.amount(1);
    assert_eq!(take(), first);
    bank.amount(2);
    assert_eq!(take(), first + 1);
    let tx = bank.begin();
    get(&tx, &bank, 1, Read::COMMITTED).unwrap();
    assert_eq!(take(), first);
    log.flush();
    bank.amount(1);
    bank.amount(2);
    bank.amount(3);
    get(&tx, &bank, 2, Read::COMMITTED).unwrap();
    assert_eq!(take(), 0, "all is durable");
    bank.insert((4, 0, 10)).unwrap();
    take();
    bank.amount(1);
    assert_eq!(take(), 0, "its version is durable");
}

#[test]
fn reader_that_finds_nothing_waits_for_all_that_is_visible() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 0, 10)).unwrap();
    log.flush();
    bank.remove(1);
    take();
    let epoch = log.epoch();
    bank.amount(1);
    assert_eq!(take(), epoch);
    let tx = bank.begin();
    assert!(get(&tx, &bank, 1, Read::COMMITTED).unwrap().is_none());
    assert_eq!(take(), epoch);
    assert!(!bank.add(1, 1));
    assert_eq!(take(), epoch);
}

#[test]
fn scans_and_lists_of_keys_wait_for_all_that_is_visible() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 7, 10)).unwrap();
    take();
    let epoch = log.epoch();
    let tx = bank.begin();
    for index in [None, Some(BY_GROUP)] {
        scan(&tx, &bank, index, Bounds::ALL, Order::Forward, Read::COMMITTED).unwrap();
        assert_eq!(take(), epoch);
    }
    let mut keys = KeyList::default();
    keys.push_with(|bytes| bytes.extend(key(5)));
    tx.get_images((&bank.table, BY_KEY), &keys, Read::COMMITTED, &mut Vec::new()).unwrap();
    assert_eq!(take(), epoch);
    log.flush();
    scan(&tx, &bank, None, Bounds::ALL, Order::Forward, Read::COMMITTED).unwrap();
    assert_eq!(take(), 0);
}

#[test]
fn row_that_is_newer_than_the_snapshot_is_waited_for() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 7, 10)).unwrap();
    log.flush();
    for lock in [RowLock::Committed(WhenOwned::Wait), RowLock::Update(WhenOwned::Wait)] {
        let tx = bank.begin();
        let read = Read { isolation: Isolation::ReadCommitted, lock };
        let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
        let mut scan = tx.scan(&bank.table, spec).unwrap();
        bank.add(1, 1);
        take();
        scan.next().unwrap().unwrap();
        assert_eq!(take(), log.epoch(), "{lock:?}");
        log.flush();
    }
    let tx = bank.begin();
    let row = get(&tx, &bank, 1, Read::COMMITTED).unwrap().unwrap();
    bank.remove(1);
    take();
    assert!(matches!(tx.claim(row, WhenOwned::Wait), Ok(Claim::Gone)));
    assert_eq!(take(), log.epoch());
}

#[test]
fn duplicate_key_waits_for_the_row_that_has_it() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 0, 10)).unwrap();
    take();
    assert!(matches!(bank.insert((1, 0, 1)), Err(Error::Unique { .. })));
    assert_eq!(take(), log.epoch());
}

#[test]
fn leader_waits_for_what_its_readers_see() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 0, 10)).unwrap();
    take();
    let tx = bank.begin();
    tx.fix_snapshot(&bank.table, Isolation::ReadCommitted);
    let reader = tx.reader();
    assert_eq!(take(), log.epoch());
    let bank = &bank;
    std::thread::scope(|scope| {
        // A transaction belongs to one thread at a time.
        scope.spawn(move || {
            assert!(get(&reader, bank, 1, Read::COMMITTED).unwrap().is_some());
            scan(&reader, bank, None, Bounds::ALL, Order::Forward, Read::COMMITTED).unwrap();
            assert_eq!(take(), 0, "a reader notes nothing");
        });
    });
}

#[test]
fn lazy_commits_are_logged_and_not_waited_for() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.table.insert_point(&LAZY, image(&encode((1, 0, 10)))).unwrap();
    let tx = bank.store.begin(LAZY);
    tx.insert(&bank.table, image(&encode((2, 0, 10)))).unwrap();
    tx.commit().unwrap();
    bank.amount(1);
    bank.amount(2);
    assert_eq!(take(), 0);
    let commits = log.take_commits();
    assert_eq!(commits.iter().map(|commit| commit.is_lazy).collect::<Vec<_>>(), [true, true]);
    // What it has read of others is waited for.
    bank.insert((3, 0, 10)).unwrap();
    take();
    let mut buffer = RowBuffer::default();
    let change = |before: storage::RowImage<'_>, buffer: &mut RowBuffer| {
        buffer.bytes.extend(before.bytes);
        Ok::<_, Error>(storage::Decision::Update(Keys::Same))
    };
    bank.table.change_point(BY_KEY, &key(3), &LAZY, &mut buffer, change).unwrap();
    assert_eq!(take(), log.epoch());
}

#[test]
fn table_that_is_not_durable_tells_the_log_nothing() {
    let log = FakeLog::new();
    let bank = Bank::new(TableKind::Ordinary);
    bank.store.set_log(Arc::clone(&log) as _);
    bank.insert((1, 0, 10)).unwrap();
    bank.add(1, 1);
    let tx = bank.begin();
    scan(&tx, &bank, None, Bounds::ALL, Order::Forward, Read::COMMITTED).unwrap();
    tx.insert(&bank.table, image(&encode((2, 0, 10)))).unwrap();
    tx.commit().unwrap();
    bank.amount(9);
    assert_eq!((take(), log.take_commits().len()), (0, 0));
}

fn numbers() -> ColumnType {
    ColumnType::nullable(DataType::BigInt)
}

/// Makes a durable table of one column with a clustered columnstore.
pub(crate) fn columns_of(store: &Arc<Store>) -> Arc<Table> {
    let columns = Some(vec![numbers()]);
    let durable = Some(Arc::new(RowLayout::new(&[numbers()])));
    let (id, kind, indexes) = (TableId(2), TableKind::Ordinary, Vec::new());
    store.create_table(TableSpec { id, kind, indexes, columns, durable }).unwrap()
}

#[test]
fn row_groups_and_moves_are_changes_of_the_internal_tables() {
    let store = Store::new(StoreOptions::default());
    let log = FakeLog::new();
    store.set_log(Arc::clone(&log) as _);
    let table = columns_of(&store);
    let load = store.begin(TransactionOptions::EXPLICIT);
    (0..3).for_each(|n| assert!(load.insert(&table, image(&key(n))).is_ok()));
    load.commit().unwrap();
    log.take_commits();
    let reader = store.begin(TransactionOptions::STATEMENT);
    let rows = reader.delta_rows(&table, 3).unwrap();
    let mut builder = GroupBuilder::new(&[numbers()]);
    (0..3).for_each(|n| builder.push(&[Value::BigInt(n)]));
    let segments = builder.finish().unwrap();
    table.move_rows(&rows, &segments, Trim::Moved, || true).unwrap();
    let changes = log.take_changes();
    let count = |part: u8, kind: ChangeKind| {
        changes.iter().filter(|change| (change.part, change.kind) == (part, kind)).count()
    };
    assert_eq!(count(0, ChangeKind::Delete), 3, "a row that moves is deleted in the delta store");
    assert_eq!((count(1, ChangeKind::Insert), count(1, ChangeKind::Update)), (1, 1));
    assert!(count(3, ChangeKind::Insert) > 0);
    assert_eq!(count(3, ChangeKind::Insert), count(3, ChangeKind::Delete));
    assert!(changes.iter().all(|change| change.has_layout == (change.part == 0)));
    let group = changes.iter().find(|change| change.part == 1).unwrap();
    assert_eq!(group.after.as_ref().map(|row| row.blobs.len()), Some(1), "segments are blobs");
}

/// A way to read, and the rows that it finds.
type Found = (&'static str, Vec<(i64, i64, i64)>);

/// What a reader finds in each way there is to read.
fn seen(bank: &Bank) -> Vec<Found> {
    let tx = bank.begin();
    let all = |index| scan(&tx, bank, index, Bounds::ALL, Order::Forward, Read::COMMITTED).unwrap();
    let locked = bank.begin();
    let held = |read| scan(&locked, bank, Some(BY_KEY), Bounds::ALL, Order::Forward, read).unwrap();
    let by_key = |n| get(&tx, bank, n, Read::COMMITTED).unwrap().map(|row| decode(row.image()));
    let mut groups = all(Some(BY_GROUP));
    groups.sort_unstable();
    vec![
        ("by key", all(Some(BY_KEY))),
        ("by group", groups),
        ("heap", all(None)),
        ("get", (0..10).filter_map(by_key).collect()),
        ("repeatable", held(REPEATABLE)),
        ("serializable", held(SERIALIZABLE)),
        ("past", held(Read { isolation: Isolation::ReadCommitted, lock: RowLock::Past })),
    ]
}

/// Rows are changed, deleted and made, and their old versions are due for collection, when the log
/// fails. Readers see what was durable, wait for nothing, and writers fail.
#[test]
fn what_was_durable_is_read_after_a_failure() {
    for epochs in [1, 2] {
        let (bank, log) = logged(TableKind::Ordinary);
        (1..=5).for_each(|n| bank.insert((n, n % 2, 10)).unwrap());
        bank.add(5, 1);
        log.flush();
        let durable = vec![(1, 1, 10), (2, 0, 10), (3, 1, 10), (4, 0, 10), (5, 1, 11)];
        let change = |key_of_new: i64| {
            bank.add(1, 7);
            let tx = bank.begin();
            let row = get(&tx, &bank, 2, Read::COMMITTED).unwrap().unwrap();
            tx.update(row, image(&encode((2, 1, 99))), Keys::MayDiffer).unwrap();
            tx.commit().unwrap();
            bank.insert((key_of_new, 0, 1)).unwrap();
        };
        change(7);
        assert!(bank.remove(3));
        if epochs == 2 {
            log.next_epoch();
            change(8);
            assert!(bank.remove(7) && bank.remove(4));
        }
        for _ in 0..10 {
            bank.store.collect();
            sos::epoch::collect();
        }
        bank.store.lose(log.durable());
        take();
        for (way, rows) in seen(&bank) {
            assert_eq!(rows, durable, "{way}, {epochs} epochs");
        }
        let amounts: Vec<_> = (1..=8).map(|n| bank.amount(n)).collect();
        let expected = [Some(10), Some(10), Some(10), Some(10), Some(11), None, None, None];
        assert_eq!(amounts, expected);
        bank.begin().reader();
        assert_eq!(take(), 0, "nothing is to be waited for");
        let tx = bank.begin();
        let row = get(&tx, &bank, 1, Read::COMMITTED).unwrap().unwrap();
        assert_eq!(tx.delete(row), Err(Error::LogFailed));
        let inserted = tx.insert(&bank.table, image(&encode((9, 0, 0)))).map(|_| ());
        assert_eq!(inserted, Err(Error::LogFailed));
        drop(tx);
        // Garbage of other tables is still collected, and these rows stay.
        for _ in 0..10 {
            bank.store.collect();
        }
        assert_eq!(seen(&bank)[0].1, durable);
    }
}

/// Versions are kept until the commits that replaced them are durable, and not longer.
#[test]
fn garbage_waits_for_the_log() {
    let (bank, log) = logged(TableKind::Ordinary);
    bank.insert((1, 0, 10)).unwrap();
    log.flush();
    (0..5).for_each(|_| assert!(bank.add(1, 1)));
    for _ in 0..10 {
        assert_eq!(bank.store.collect().versions, 0, "no change is durable");
    }
    log.flush();
    crate::support::eventually(&bank.store, || bank.store.collect().remaining == 0);
    // Without a flush that follows: nothing else is committed.
    assert_eq!(bank.amount(1), Some(15));
}
