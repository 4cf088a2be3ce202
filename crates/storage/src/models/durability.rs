//! Models of durability under shuttle, with a log in memory: a reader waits for each commit that it
//! has seen, timestamps order the changes of a row, and a checkpoint misses no change.

use std::collections::BTreeMap;
use std::sync::Arc;

use shuttle::thread::{ThreadId, current, spawn};
use sos::sync::{AtomicU64, Ordering};
use types::row::RowLayout;

use crate::durability::{CommitLog, Outcome, RowChange, take};
use crate::models::{BY_KEY, increment, insert, prove, spec_of};
use crate::primitives::{Mutant, PinWait, SpinClass, SpinLock, pin, wait_for_pins};
use crate::version::Heap;
use crate::{
    Bounds, IndexKind, Keys, Order, Read, RowId, RowImage, ScanSpec, Store, StoreOptions, Table,
    TableId, TableSpec, TransactionOptions,
};

/// A row: its key and a number that is raised by each change.
type Row = Vec<u8>;
type Change = (RowId, Option<Row>);

struct Commit {
    epoch: u64,
    ts: u64,
    changes: Vec<Change>,
}

#[derive(Default)]
struct Commits {
    /// Those under way, by thread.
    open: Vec<(ThreadId, u64, Vec<Change>)>,
    ended: Vec<Commit>,
    last_begun: u64,
}

struct Log {
    epoch: AtomicU64,
    durable: AtomicU64,
    commits: SpinLock<Commits>,
}

impl Log {
    fn new() -> Arc<Self> {
        let commits = SpinLock::new(SpinClass::XtpTransaction, Commits::default());
        Arc::new(Self { epoch: AtomicU64::new(1), durable: AtomicU64::new(0), commits })
    }

    /// Closes the present epoch and makes it durable.
    fn flush(&self) {
        let closed = self.epoch.fetch_add(1, Ordering::SeqCst);
        while self.commits.lock().open.iter().any(|(_, epoch, _)| *epoch <= closed) {
            sos::sync::spin_hint();
        }
        self.durable.store(closed, Ordering::SeqCst);
    }

    /// Returns the epoch of the commit that gave a row this number.
    fn epoch_of(&self, row: &[u8]) -> u64 {
        let commits = self.commits.lock();
        let made = |commit: &&Commit| commit.changes.iter().any(|(_, r)| r.as_deref() == Some(row));
        commits.ended.iter().find(made).expect("each state of a row was logged").epoch
    }
}

impl CommitLog for Log {
    fn admit(&self, _bytes: u64) -> crate::Result<()> {
        Ok(())
    }

    fn begin(&self) -> u64 {
        let mut commits = self.commits.lock();
        // Read under the lock: either `flush` meets this commit, or this is the new epoch.
        let epoch = self.epoch.load(Ordering::SeqCst);
        commits.last_begun = commits.last_begun.max(epoch);
        commits.open.push((current().id(), epoch, Vec::new()));
        epoch
    }

    fn write(&self, change: &RowChange<'_>) {
        let mut commits = self.commits.lock();
        let open = commits.open.iter_mut().find(|(thread, ..)| *thread == current().id());
        let after = change.after.map(|image| image.bytes.to_vec());
        open.expect("announced").2.push((change.row, after));
    }

    fn end(&self, outcome: Outcome) {
        let mut commits = self.commits.lock();
        let at = commits.open.iter().position(|(thread, ..)| *thread == current().id());
        let (_, epoch, changes) = commits.open.remove(at.expect("announced"));
        if let Outcome::Committed { ts, .. } = outcome {
            commits.ended.push(Commit { epoch, ts, changes });
        }
    }

    fn barrier(&self) -> u64 {
        let last = self.commits.lock().last_begun;
        if last > self.durable() { last } else { 0 }
    }

    fn durable(&self) -> u64 {
        self.durable.load(Ordering::SeqCst)
    }
}

#[derive(Clone)]
struct World {
    store: Arc<Store>,
    table: Arc<Table>,
    log: Arc<Log>,
}

/// Makes a durable table with some rows.
fn world(rows: u8) -> World {
    let (store, log) = (Store::new(StoreOptions::default()), Log::new());
    store.set_log(Arc::clone(&log) as _);
    let durable = Some(Arc::new(RowLayout::new(&[])));
    let spec = TableSpec { durable, ..spec_of(TableId(1), IndexKind::Range) };
    let table = store.create_table(spec).unwrap();
    (0..rows).for_each(|key| insert(&table, &[key, 0]).unwrap());
    World { store, table, log }
}

impl World {
    /// Raises a row's number in a transaction.
    fn raise(&self, key: u8) {
        let tx = self.store.begin(TransactionOptions::EXPLICIT);
        let row = tx.get(&self.table, BY_KEY, &[key], Read::COMMITTED).unwrap().unwrap();
        let bytes = [key, row.image().bytes[1] + 1];
        tx.update(row, RowImage { bytes: &bytes, blobs: &[] }, Keys::Same).unwrap();
        tx.commit().unwrap();
    }

    fn look(&self, way: Way) -> Row {
        let tx = self.store.begin(TransactionOptions::EXPLICIT);
        match way {
            Way::Point => {
                let seen = self.table.read_point(BY_KEY, &[0], |image| image.bytes.to_vec());
                seen.unwrap().unwrap()
            }
            Way::Get => {
                let row = tx.get(&self.table, BY_KEY, &[0], Read::SNAPSHOT).unwrap().unwrap();
                row.image().bytes.to_vec()
            }
            Way::Scan => {
                let (order, read) = (Order::Forward, Read::SNAPSHOT);
                let spec = ScanSpec { index: None, bounds: Bounds::ALL, order, read };
                let mut scan = tx.scan(&self.table, spec).unwrap();
                scan.next().unwrap().unwrap().image().bytes.to_vec()
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Point,
    Get,
    Scan,
}

/// A transaction and an autocommit statement change a row, one after the other, while the log is
/// flushed: whatever a reader has seen is durable when what it has noted is.
fn reader_waits(ways: &[Way]) {
    let world = world(1);
    let _ = take();
    let writer = {
        let world = world.clone();
        spawn(move || {
            world.raise(0);
            increment(&world.table);
        })
    };
    let flusher = {
        let log = Arc::clone(&world.log);
        spawn(move || (0..2).for_each(|_| log.flush()))
    };
    let mut seen = Vec::new();
    for way in ways {
        let row = world.look(*way);
        // From here on the reply may leave.
        seen.push((*way, row, take().max(world.log.durable())));
    }
    writer.join().unwrap();
    flusher.join().unwrap();
    for (way, row, epoch) in seen {
        assert!(world.log.epoch_of(&row) <= epoch, "{way:?} shows {row:?} too early");
    }
}

#[test]
fn reader_of_a_row_waits_until_its_version_is_durable() {
    let model = || reader_waits(&[Way::Point, Way::Get]);
    prove(model, Mutant::SeenNotNoted);
    prove(model, Mutant::HelpedUnmarked);
    prove(model, Mutant::AnnouncedAfterTime);
}

#[test]
fn scan_waits_until_what_its_snapshot_sees_is_durable() {
    let model = || reader_waits(&[Way::Scan, Way::Scan]);
    prove(model, Mutant::BarrierBeforeSnapshot);
    prove(model, Mutant::AnnouncedAfterTime);
}

/// A row is changed while the log is flushed and garbage is collected. Then the log fails: readers
/// find a version of the row, and it is durable.
fn readers_after_a_failure() {
    let world = world(1);
    world.log.flush();
    let writer = {
        let world = world.clone();
        spawn(move || (0..3).for_each(|_| increment(&world.table)))
    };
    let collector = {
        let world = world.clone();
        spawn(move || {
            for _ in 0..2 {
                world.store.collect();
            }
        })
    };
    world.log.flush();
    writer.join().unwrap();
    collector.join().unwrap();
    world.store.collect();
    let durable = world.log.durable();
    world.store.lose(durable);
    let _ = take();
    for way in [Way::Point, Way::Get, Way::Scan] {
        let row = world.look(way);
        assert!(world.log.epoch_of(&row) <= durable, "{way:?} shows {row:?}, which is lost");
        assert_eq!(take(), 0, "nothing is to be waited for");
    }
}

#[test]
fn what_is_durable_is_readable_after_a_failure() {
    prove(readers_after_a_failure, Mutant::CollectedBeforeDurable);
}

/// Three changes of one row: in the order of epochs and timestamps, each follows the one before.
fn changes_in_order() {
    let world = world(1);
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let table = Arc::clone(&world.table);
            spawn(move || increment(&table))
        })
        .collect();
    world.log.flush();
    for writer in writers {
        writer.join().unwrap();
    }
    let mut commits = std::mem::take(&mut world.log.commits.lock().ended);
    commits.sort_by_key(|commit| (commit.epoch, commit.ts, std::cmp::Reverse(number(commit))));
    let numbers: Vec<_> = commits.iter().map(number).collect();
    assert_eq!(numbers, [0, 1, 2]);
}

/// Returns the number that a commit of one change gave its row.
fn number(commit: &Commit) -> u8 {
    commit.changes[0].1.as_ref().expect("no row is deleted")[1]
}

#[test]
fn timestamps_order_the_changes_of_a_row() {
    prove(changes_in_order, Mutant::EqualTimes);
}

/// What a checkpoint has written, and from which epoch on the log is replayed over it.
#[derive(Default)]
struct Files {
    rows: BTreeMap<RowId, Row>,
    since: u64,
    first: u64,
}

impl Files {
    fn checkpoint(&mut self, world: &World) {
        let number = world.store.begin_checkpoint(None).unwrap();
        self.first = world.log.durable() + 1;
        for range in world.table.changed_ranges(0, self.since) {
            world.table.read_range(range, |id, image| {
                self.rows.insert(id, image.bytes.to_vec());
            });
        }
        self.since = number;
    }

    /// Returns the rows after recovery.
    fn replay(mut self, log: &Log) -> Vec<Row> {
        let mut commits = std::mem::take(&mut log.commits.lock().ended);
        commits.sort_by_key(|commit| (commit.epoch, commit.ts));
        for commit in commits.into_iter().filter(|commit| commit.epoch >= self.first) {
            for (id, row) in commit.changes {
                self.rows.insert(id, row.expect("no row is deleted"));
            }
        }
        self.rows.into_values().collect()
    }
}

/// Two rows of one range are changed, one in a transaction, while two checkpoints are made.
fn checkpoints_beside_writers() {
    let world = world(2);
    let mut files = Files::default();
    files.checkpoint(&world);
    let writers = [
        {
            let world = world.clone();
            spawn(move || increment(&world.table))
        },
        {
            let world = world.clone();
            spawn(move || world.raise(1))
        },
    ];
    for _ in 0..2 {
        world.log.flush();
        files.checkpoint(&world);
    }
    for writer in writers {
        writer.join().unwrap();
    }
    world.log.flush();
    files.checkpoint(&world);
    assert_eq!(files.replay(&world.log), [[0, 1], [1, 1]], "a change is lost");
}

/// Two writers of one range, reduced to what matters: each change becomes visible in the pin in
/// which its range was noted. A checkpoint beside them and one behind them read the range if it has
/// changed, and have both changes.
fn range_beside_writers() {
    let heap = Arc::new(Heap::new());
    let head = heap.allocate();
    let range = RowId(head.id().0);
    let present = Arc::new(AtomicU64::new(1));
    let visible = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let writers = [0, 1].map(|writer| {
        let (heap, present, visible) = (heap.clone(), present.clone(), visible.clone());
        spawn(move || {
            let _guard = pin();
            heap.note_change_at(range, &present);
            visible[writer].store(1, Ordering::SeqCst);
        })
    });
    let (mut since, mut read) = (1, [0, 0]);
    let mut checkpoint = || {
        let number = present.fetch_add(1, Ordering::SeqCst) + 1;
        wait_for_pins(PinWait::Checkpoint, None);
        if heap.range_at(range).unwrap().generation() >= since {
            read = [0, 1].map(|writer| visible[writer].load(Ordering::SeqCst));
        }
        since = number;
    };
    checkpoint();
    for writer in writers {
        writer.join().unwrap();
    }
    checkpoint();
    assert_eq!(read, [1, 1], "a change is lost");
}

#[test]
fn checkpoint_misses_no_range_that_changes() {
    prove(checkpoints_beside_writers, Mutant::CheckpointWithoutWait);
    prove(range_beside_writers, Mutant::RangeSetBack);
}
