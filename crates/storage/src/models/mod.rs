//! Models under shuttle: random schedules of a few threads, thousands of times, and for each model
//! a mutant, a deliberate mistake, that it must catch.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p storage --lib models`
//!
//! This file has the runner and the models of rows, indexes and garbage; the others have those of
//! columnstore indexes, durability, heads that are used again, named locks, the tuple mover, statements
//! that pick among rows, and row locks.

mod columns;
mod durability;
mod heads;
mod locks;
mod moves;
mod picks;
mod row_locks;

use std::ops::ControlFlow;
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread::spawn;
use types::row::RowBuffer;

use crate::index::Index;
use crate::primitives::{Directory, MUTANT, Mutant, begin_run, pin};
use crate::version::{Heap, HeapPosition, RowHead};
use crate::{
    Bounds, Decision, Error, IndexId, IndexKind, IndexMask, IndexSpec, Keys, Order, Read, RowImage,
    RowLock, ScanSpec, SessionTag, Store, StoreOptions, Table, TableId, TableKind, TableSpec,
    Transaction, TransactionOptions, Uniqueness,
};

/// Runs a model under random schedules, half of them with few but long-lasting switches (PCT),
/// which find mistakes that need one thread to pause for long. The two kinds take turns, because
/// each finds some mistakes quickly that the other rarely finds.
pub(crate) fn check(model: fn(), schedules: usize) {
    let mut config = shuttle::Config::new();
    // The default of 32 KB is less than making a store needs.
    config.stack_size = 1 << 20;
    config.failure_persistence = shuttle::FailurePersistence::None;
    let run = move || {
        begin_run();
        model();
    };
    for _ in 0..schedules / TURN {
        let few = PctScheduler::new(SWITCHES, TURN / 2);
        shuttle::Runner::new(few, config.clone()).run(run);
        shuttle::Runner::new(RandomScheduler::new(TURN / 2), config.clone()).run(run);
    }
}

/// Runs a model without a mutant, which must pass, and with one, which must fail.
pub(crate) fn prove(model: fn(), mutant: Mutant) {
    check(model, 3_000);
    MUTANT.set(Some(mutant));
    let caught = std::panic::catch_unwind(|| check(model, MUTANT_SCHEDULES_MAX)).is_err();
    MUTANT.set(None);
    assert!(caught, "the model lets {mutant:?} pass");
}

/// Schedules within which a mutant must fail. Most do in the first hundreds, a mark of a head that is set too late in the
/// first hundred thousand in three of four runs.
const MUTANT_SCHEDULES_MAX: usize = 1_000_000;

/// Schedules per turn of a kind.
const TURN: usize = 1_000;

/// Thread switches of a PCT schedule.
const SWITCHES: usize = 3;

const BY_KEY: IndexId = IndexId(1);

fn table(kind: IndexKind) -> (Arc<Store>, Arc<Table>) {
    let store = Store::new(StoreOptions::default());
    let table = store.create_table(spec_of(TableId(1), kind)).unwrap();
    (store, table)
}

fn spec_of(id: TableId, kind: IndexKind) -> TableSpec {
    let extractor = Box::new(|row: RowImage<'_>, key: &mut Vec<u8>| key.push(row.bytes[0]));
    let indexes = vec![IndexSpec { id: BY_KEY, kind, uniqueness: Uniqueness::Unique, extractor }];
    TableSpec { id, kind: TableKind::MemoryOptimized, indexes, columns: None, durable: None }
}

fn insert(table: &Table, bytes: &[u8]) -> Result<(), Error> {
    table.insert_point(&TransactionOptions::STATEMENT, RowImage { bytes, blobs: &[] }).map(|_| ())
}

fn increment(table: &Table) {
    let mut buffer = RowBuffer::default();
    let options = TransactionOptions::STATEMENT;
    let changed =
        table.change_point::<Error>(BY_KEY, &[0], &options, &mut buffer, |before, buffer| {
            buffer.bytes.extend([0, before.bytes[1] + 1]);
            Ok(Decision::Update(Keys::Same))
        });
    assert_eq!(changed, Ok(true));
}

/// Two increments and a reader: no update is lost, a snapshot does not change, and what a read of
/// the newest state has shown, a later snapshot also shows.
fn commit_on_the_row() {
    let (store, table) = table(IndexKind::Hash { bucket_count: 0 });
    insert(&table, &[0, 0]).unwrap();
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let table = Arc::clone(&table);
            spawn(move || increment(&table))
        })
        .collect();
    let tx = store.begin(TransactionOptions::EXPLICIT);
    let look = || {
        let row = tx.get(&table, BY_KEY, &[0], Read::SNAPSHOT).unwrap().unwrap();
        row.image().bytes[1]
    };
    let first = look();
    let newest = table.read_point(BY_KEY, &[0], |image| image.bytes[1]).unwrap().unwrap();
    assert!(newest >= first, "the newest state is not older than a snapshot");
    let later = store.begin(TransactionOptions::EXPLICIT);
    let row = later.get(&table, BY_KEY, &[0], Read::SNAPSHOT).unwrap().unwrap();
    assert!(row.image().bytes[1] >= newest, "a later snapshot goes back in time");
    assert_eq!(look(), first, "a snapshot changed");
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(look(), first, "a snapshot changed");
    assert_eq!(table.read_point(BY_KEY, &[0], |image| image.bytes[1]), Ok(Some(2)));
}

#[test]
fn snapshots_stay_and_no_update_is_lost() {
    prove(commit_on_the_row, Mutant::TimeBeforeLink);
}

/// Adds to the row in the current table; retries in the other one if a table is closed.
fn increment_current(tables: &[Arc<Table>; 2], is_moved: &sos::sync::AtomicBool) {
    let mut buffer = RowBuffer::default();
    let options = TransactionOptions::STATEMENT;
    loop {
        let table = &tables[usize::from(is_moved.load(sos::sync::Ordering::Acquire))];
        let changed =
            table.change_point::<Error>(BY_KEY, &[0], &options, &mut buffer, |before, buffer| {
                buffer.bytes.extend([0, before.bytes[1] + 1]);
                Ok(Decision::Update(Keys::Same))
            });
        match changed {
            Ok(is_changed) => return assert!(is_changed, "the row is there"),
            Err(Error::Closed(_)) => sos::sync::spin_hint(),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Two writers, and a thread that copies the table and replaces it: no increment is lost.
fn copied_table() {
    let (store, old) = table(IndexKind::Hash { bucket_count: 0 });
    insert(&old, &[0, 0]).unwrap();
    let new = store.create_table(spec_of(TableId(2), IndexKind::Range)).unwrap();
    let tables = Arc::new([old, new]);
    let is_moved = Arc::new(sos::sync::AtomicBool::new(false));
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let (tables, is_moved) = (Arc::clone(&tables), Arc::clone(&is_moved));
            spawn(move || increment_current(&tables, &is_moved))
        })
        .collect();
    let session = SessionTag { number: 1, deadlock_priority: 0, plan: 1 };
    let owner = store.begin(TransactionOptions { session, ..TransactionOptions::STATEMENT });
    let [old, new] = &*tables;
    owner.close_for_alone(old).unwrap();
    let count = old.read_point(BY_KEY, &[0], |image| image.bytes[1]).unwrap().unwrap();
    insert(new, &[0, count]).unwrap();
    is_moved.store(true, sos::sync::Ordering::Release);
    old.retire();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(new.read_point(BY_KEY, &[0], |image| image.bytes[1]), Ok(Some(2)));
}

#[test]
fn no_write_is_lost_where_a_table_is_copied() {
    prove(copied_table, Mutant::GateWithoutWait);
}

/// A row is deleted, its table dropped, and two threads collect: the one that processes the row
/// while the other purges the table's notes leaves no note that would outlive the table.
fn forgotten_table() {
    let (store, table) = table(IndexKind::Hash { bucket_count: 0 });
    insert(&table, &[0, 0]).unwrap();
    // While this transaction is active, nothing is collected.
    let reader = store.begin(TransactionOptions::EXPLICIT);
    assert!(reader.get(&table, BY_KEY, &[0], Read::SNAPSHOT).unwrap().is_some());
    let mut buffer = RowBuffer::default();
    let delete = |_: RowImage<'_>, _: &mut RowBuffer| Ok::<_, Error>(Decision::Delete);
    let options = TransactionOptions::STATEMENT;
    assert_eq!(table.change_point(BY_KEY, &[0], &options, &mut buffer, delete), Ok(true));
    store.drop_table(TableId(1));
    drop(reader);
    // Advances the time, so that the drop is in the past.
    let _ = table.shared.clock.snapshot();
    let collectors: Vec<_> = (0..2)
        .map(|_| {
            let store = Arc::clone(&store);
            spawn(move || store.collect())
        })
        .collect();
    for collector in collectors {
        collector.join().unwrap();
    }
    let is_known = table.shared.garbage.knows(&table);
    assert!(!(table.is_forgotten() && is_known), "a note outlives its table");
}

#[test]
fn no_note_outlives_its_table() {
    prove(forgotten_table, Mutant::ForgottenIsNoted);
}

/// READPAST beside a writer that changes the row and commits: a row that was changed before the
/// read is not returned, though the statement's snapshot sees its old version.
fn changed_row_is_passed_over() {
    let (store, table) = table(IndexKind::Hash { bucket_count: 0 });
    insert(&table, &[0, 0]).unwrap();
    let is_changed = Arc::new(sos::sync::AtomicBool::new(false));
    let writer = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        let is_changed = Arc::clone(&is_changed);
        spawn(move || {
            let tx = store.begin(TransactionOptions::EXPLICIT);
            let row = tx.get(&table, BY_KEY, &[0], Read::SNAPSHOT).unwrap().unwrap();
            tx.update(row, RowImage { bytes: &[0, 1], blobs: &[] }, Keys::Same).unwrap();
            is_changed.store(true, sos::sync::Ordering::SeqCst);
            tx.commit().unwrap();
        })
    };
    let reader = store.begin(TransactionOptions::EXPLICIT);
    let look = |lock| {
        let read = Read { lock, ..Read::SNAPSHOT };
        reader.get(&table, BY_KEY, &[0], read).unwrap().map(|row| row.image().bytes[1])
    };
    let of_snapshot = look(RowLock::None);
    let was_changed = is_changed.load(sos::sync::Ordering::SeqCst);
    match look(RowLock::Past) {
        None => assert_eq!(of_snapshot, Some(0), "the newest state is passed over"),
        Some(1) => assert_eq!(of_snapshot, Some(1), "the snapshot has no such row"),
        Some(old) => assert!(!was_changed, "{old}: the row as it was before a change"),
    }
    writer.join().unwrap();
}

#[test]
fn who_passes_over_changed_rows_shows_none_as_it_was() {
    prove(changed_row_is_passed_over, Mutant::PassesOverOwnedOnly);
}

struct World {
    index: Index,
    heap: Heap,
}

fn world(kind: IndexKind) -> Arc<World> {
    let extractor = Box::new(|_: RowImage<'_>, _: &mut Vec<u8>| unreachable!("no row has content"));
    let uniqueness = Uniqueness::NotUnique;
    let index = Index::new(IndexSpec { id: BY_KEY, kind, uniqueness, extractor });
    Arc::new(World { index, heap: Heap::new() })
}

impl World {
    fn add(&self, key: u8, part: u8) -> &RowHead {
        self.add_key(&[key], part)
    }

    fn add_key(&self, key: &[u8], part: u8) -> &RowHead {
        let head = self.heap.allocate();
        let added = self.index.add::<()>((key, head), part, &pin(), |_| Ok(()), || {});
        assert_eq!(added, Ok(()));
        head
    }

    fn has(&self, key: u8, head: &RowHead) -> bool {
        self.has_key(&[key], head)
    }

    fn has_key(&self, key: &[u8], head: &RowHead) -> bool {
        let mut is_there = false;
        self.index.find(key, &pin(), |other| {
            is_there |= std::ptr::eq(other, head);
            if is_there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        is_there
    }
}

/// Entries stay findable while `writers` threads add and remove others: splits and doublings. The index
/// has its size for this number of rows before, as the index of a table that was restored has.
fn entries_stay(kind: IndexKind, writers: u8, reserved: usize) {
    let world = world(kind);
    if reserved > 0 {
        assert!(world.index.builder(reserved).finish(&pin()).is_ok());
    }
    let keys = [10, 20, 30];
    let heads: Vec<usize> =
        keys.iter().map(|key| std::ptr::from_ref(world.add(*key, 0)).expose_provenance()).collect();
    let writers: Vec<_> = (0..writers)
        .map(|writer| {
            let world = Arc::clone(&world);
            spawn(move || {
                let added: Vec<_> =
                    (0..4).map(|n| (n * 8 + writer, world.add(n * 8 + writer, 0))).collect();
                for (key, head) in &added[..2] {
                    world.index.remove((&[*key], head), 0, &pin(), || true);
                }
            })
        })
        .collect();
    let look = || {
        for (key, head) in keys.iter().zip(&heads) {
            // SAFETY: exposed above, and the heap lives as long as the world.
            let head = unsafe { &*std::ptr::with_exposed_provenance::<RowHead>(*head) };
            assert!(world.has(*key, head), "an entry is lost");
        }
    };
    for _ in 0..4 {
        look();
    }
    for writer in writers {
        writer.join().unwrap();
    }
    look();
}

#[test]
fn hash_index_doubles_without_losing_sight_of_an_entry() {
    const KIND: IndexKind = IndexKind::Hash { bucket_count: 64 };
    check(|| entries_stay(KIND, 2, 0), 3_000);
    // The mistake lasts for one store, in which a second writer would mostly run.
    prove(|| entries_stay(KIND, 1, 0), Mutant::ClearBeforeReady);
}

#[test]
fn reserved_hash_index_doubles_without_losing_sight_of_an_entry() {
    const KIND: IndexKind = IndexKind::Hash { bucket_count: 64 };
    check(|| entries_stay(KIND, 2, 1), 3_000);
    prove(|| entries_stay(KIND, 1, 1), Mutant::ClearBeforeReady);
}

#[test]
fn range_index_splits_without_losing_sight_of_an_entry() {
    prove(|| entries_stay(IndexKind::Range, 2, 0), Mutant::LeafUnchecked);
}

/// A node's keys share their first words until a key comes that lacks them, and share again when it
/// is split. The keys that stay are found all the time.
fn shared_words_come_and_go() {
    let world = world(IndexKind::Range);
    let like = |bytes: usize, last: u8| [&[1], &vec![0x61; bytes][..], &[last]].concat();
    let stays = [like(20, 1), like(20, 3), like(20, 5)];
    let heads: Vec<usize> = stays
        .iter()
        .map(|key| std::ptr::from_ref(world.add_key(key, 0)).expose_provenance())
        .collect();
    let writer = {
        let world = Arc::clone(&world);
        spawn(move || {
            let others = [like(8, 0xF0), like(20, 2), like(0, 0xF0), like(20, 4)];
            let added: Vec<_> = others.iter().map(|key| (key, world.add_key(key, 0))).collect();
            for (key, head) in &added {
                assert!(world.has_key(key, head), "an entry is nowhere");
            }
            for (key, head) in &added[..3] {
                world.index.remove((key, head), 0, &pin(), || true);
            }
        })
    };
    let look = || {
        for (key, head) in stays.iter().zip(&heads) {
            // SAFETY: exposed above, and the heap lives as long as the world.
            let head = unsafe { &*std::ptr::with_exposed_provenance::<RowHead>(*head) };
            assert!(world.has_key(key, head), "an entry is lost");
        }
    };
    for _ in 0..3 {
        look();
    }
    writer.join().unwrap();
    look();
}

#[test]
fn nodes_share_only_what_all_their_keys_start_with() {
    prove(shared_words_come_and_go, Mutant::SharedWordsKept);
    prove(shared_words_come_and_go, Mutant::LeafUnchecked);
}

/// Two threads add to two parts, which they make: all entries are found, by key and in
/// order.
fn parts_are_read_as_one() {
    let world = world(IndexKind::Range);
    let stays: Vec<_> =
        (0..12).map(|n| (n * 10, world.add(n * 10, u8::from(n > 5)).id())).collect();
    let writers: Vec<_> = [3, 7]
        .into_iter()
        .map(|part| {
            let world = Arc::clone(&world);
            spawn(move || {
                for n in 0..3 {
                    let key = part * 3 + n * 8;
                    let head = world.add(key, part);
                    assert!(world.has(key, head), "its own entry");
                    if n == 0 {
                        world.index.remove((&[key], head), part, &pin(), || true);
                    }
                }
            })
        })
        .collect();
    let walk = || {
        let mut seen: Vec<(u8, crate::RowId)> = Vec::new();
        loop {
            let after = seen.last().map(|(key, id)| ([*key], *id));
            let after = after.as_ref().map(|(key, id)| (key.as_slice(), *id));
            let (guard, mut batch) = (pin(), Vec::new());
            world.index.walk(Bounds::ALL, Order::Forward, after, &guard, &mut batch);
            if batch.is_empty() {
                return seen;
            }
            seen.extend(batch.iter().map(|entry| (entry.key[0], entry.head.id())));
        }
    };
    let seen = walk();
    assert!(seen.windows(2).all(|two| two[0] < two[1]), "in order, and each once");
    assert!(stays.iter().all(|entry| seen.contains(entry)), "an entry is passed over");
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(walk().len(), 12 + 2 * 2);
}

#[test]
fn parts_of_a_range_index_are_read_as_one() {
    prove(parts_are_read_as_one, Mutant::RunsUncut);
    prove(parts_are_read_as_one, Mutant::TreesCutOff);
}

/// Three threads insert one key: exactly one succeeds.
fn one_key(kind: IndexKind) {
    let (_store, table) = table(kind);
    let inserters: Vec<_> = (0..3u8)
        .map(|n| {
            let table = Arc::clone(&table);
            spawn(move || u8::from(insert(&table, &[7, n]).is_ok()))
        })
        .collect();
    let wins: u8 = inserters.into_iter().map(|inserter| inserter.join().unwrap()).sum();
    assert_eq!(wins, 1);
}

#[test]
fn of_three_inserts_of_one_key_one_wins() {
    check(|| one_key(IndexKind::Hash { bucket_count: 0 }), 2_000);
    check(|| one_key(IndexKind::Range), 2_000);
}

const BY_TIME: IndexId = IndexId(2);

/// Changes the row's key in the range index that is not unique.
fn set_time(table: &Table, time: u8) {
    let mut buffer = RowBuffer::default();
    let options = TransactionOptions::STATEMENT;
    let mut mask = IndexMask::default();
    mask.insert(BY_TIME);
    let changed =
        table.change_point::<Error>(BY_KEY, &[0], &options, &mut buffer, |before, buffer| {
            buffer.bytes.extend([before.bytes[0], time]);
            Ok(Decision::Update(Keys::In(mask)))
        });
    assert_eq!(changed, Ok(true));
}

fn rows_by_time(tx: &Transaction, table: &Table) -> usize {
    let spec = ScanSpec {
        index: Some(BY_TIME),
        bounds: Bounds::ALL,
        order: Order::Forward,
        read: Read::SNAPSHOT,
    };
    let mut scan = tx.scan(table, spec).unwrap();
    std::iter::from_fn(|| scan.next().unwrap().map(|_| ())).count()
}

/// Two writers change the row's key in a range index back and forth, old versions are collected,
/// and a reader finds the row there exactly once.
fn moved_row() {
    let store = Store::new(StoreOptions::default());
    let spec = |id, kind, uniqueness, at: usize| IndexSpec {
        id,
        kind,
        uniqueness,
        extractor: Box::new(move |row: RowImage<'_>, key: &mut Vec<u8>| key.push(row.bytes[at])),
    };
    let indexes = vec![
        spec(BY_KEY, IndexKind::Hash { bucket_count: 0 }, Uniqueness::Unique, 0),
        spec(BY_TIME, IndexKind::Range, Uniqueness::NotUnique, 1),
    ];
    let spec = TableSpec {
        id: TableId(1),
        kind: TableKind::MemoryOptimized,
        indexes,
        columns: None,
        durable: None,
    };
    let table = store.create_table(spec).unwrap();
    insert(&table, &[0, 1]).unwrap();
    let writers: Vec<_> = [[2, 1], [3, 2]]
        .map(|times| {
            let (store, table) = (Arc::clone(&store), Arc::clone(&table));
            spawn(move || {
                for time in times {
                    set_time(&table, time);
                    store.collect();
                }
            })
        })
        .into();
    for _ in 0..3 {
        let tx = store.begin(TransactionOptions::EXPLICIT);
        assert_eq!(rows_by_time(&tx, &table), 1, "a row that moves is there once");
    }
    for writer in writers {
        writer.join().unwrap();
    }
    store.collect();
    let tx = store.begin(TransactionOptions::EXPLICIT);
    assert_eq!(rows_by_time(&tx, &table), 1, "the row has its entry");
}

#[test]
fn a_row_that_moves_in_a_range_index_is_there_once() {
    check(moved_row, 2_000);
}

/// Two threads set values on a level that is not allocated yet.
fn levels_come_once() {
    let directory = Arc::new(Directory::default());
    let setters = [2, 3].map(|number: usize| {
        let directory = Arc::clone(&directory);
        spawn(move || {
            directory.set(number, Box::new(number));
            assert_eq!(directory.get(number), Some(&number));
        })
    });
    let seen = [2, 3].map(|number| directory.get(number).is_some());
    let again = [2, 3].map(|number| directory.get(number).is_some());
    assert!(seen.iter().zip(again).all(|(before, now)| now || !before), "a value is gone");
    for setter in setters {
        setter.join().unwrap();
    }
    let all = [1, 2, 3, 4].map(|number| directory.get(number).copied());
    assert_eq!(all, [None, Some(2), Some(3), None]);
}

#[test]
fn values_on_a_new_level_of_a_directory_are_found() {
    prove(levels_come_once, Mutant::LevelReplaced);
}

/// A transaction is idle between two statements while a writer changes the row and the collector
/// frees versions: each statement sees one state, and none older than the one before.
fn statements_of_one_that_rests() {
    let (store, table) = table(IndexKind::Hash { bucket_count: 0 });
    insert(&table, &[0, 0]).unwrap();
    let writer = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || {
            for _ in 0..2 {
                increment(&table);
                store.collect();
            }
        })
    };
    let mut tx = store.begin(TransactionOptions::EXPLICIT);
    let mut before = 0;
    for _ in 0..2 {
        let look = || {
            let row = tx.get(&table, BY_KEY, &[0], Read::COMMITTED).unwrap();
            row.expect("the row is there at any time").image().bytes[1]
        };
        let first = look();
        assert!(first >= before, "a statement goes back in time");
        assert_eq!(look(), first, "a statement sees two states");
        before = first;
        tx.rest();
        tx.next_statement();
    }
    writer.join().unwrap();
}

#[test]
fn one_that_rests_sees_one_state_with_each_statement() {
    prove(statements_of_one_that_rests, Mutant::SnapshotUnmarked);
}

/// A table that an idle transaction has written to is dropped: it stays until the rollback.
fn table_of_one_that_rests() {
    let store = Store::new(StoreOptions::default());
    let spec = spec_of(TableId(1), IndexKind::Hash { bucket_count: 0 });
    let table = store.create_table(TableSpec { kind: TableKind::Ordinary, ..spec }).unwrap();
    let mut tx = store.begin(TransactionOptions::EXPLICIT);
    tx.insert(&table, RowImage { bytes: &[0, 0], blobs: &[] }).unwrap();
    tx.rest();
    let dropper = {
        let store = Arc::clone(&store);
        spawn(move || {
            store.drop_table(TableId(1));
            // The horizon is above the note's time from the second time on.
            for _ in 0..2 {
                store.collect();
            }
        })
    };
    tx.next_statement();
    assert!(!table.is_forgotten(), "nobody knows the table any more");
    dropper.join().unwrap();
    assert!(!table.is_forgotten(), "nobody knows the table any more");
    tx.rollback();
    store.collect();
    assert!(table.is_forgotten(), "the table stays for good");
}

#[test]
fn table_stays_for_one_that_rests_and_has_written_to_it() {
    prove(table_of_one_that_rests, Mutant::WrittenTableFreed);
}

/// Heads are allocated past several segments while another thread walks over them: each walk sees
/// all heads that an earlier one has seen, and none twice.
fn heads_are_walked() {
    let heap = Arc::new(Heap::new());
    let writer = {
        let heap = Arc::clone(&heap);
        spawn(move || {
            for _ in 0..14 {
                heap.allocate();
            }
        })
    };
    let walk = || {
        let (mut position, mut all) = (HeapPosition::default(), Vec::new());
        loop {
            let mut batch = Vec::new();
            heap.walk(&mut position, &mut batch, 3);
            if batch.is_empty() {
                return all;
            }
            all.extend(batch.iter().map(|head| std::ptr::from_ref(*head).addr()));
        }
    };
    let mut before = walk();
    for _ in 0..2 {
        let now = walk();
        assert!(now.starts_with(&before), "a walk has lost a head");
        before = now;
    }
    writer.join().unwrap();
    let mut all = walk();
    assert!(all.len() == 14 && all.starts_with(&before));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 14);
}

#[test]
fn who_walks_a_heap_that_grows_loses_no_head() {
    check(heads_are_walked, 3_000);
}
