//! A log in memory: its epochs become durable when a test says so.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{ThreadId, current};

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicU64, Ordering};
use storage::durability::{ChangeKind, CommitLog, Outcome, RowChange};
use storage::{RowId, RowImage, TableId};
use types::Bytes;

/// A row that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) bytes: Vec<u8>,
    pub(crate) blobs: Vec<Bytes>,
}

impl Row {
    pub(crate) fn of(image: RowImage<'_>) -> Self {
        Self { bytes: image.bytes.to_vec(), blobs: image.blobs.to_vec() }
    }

    pub(crate) fn image(&self) -> RowImage<'_> {
        RowImage { bytes: &self.bytes, blobs: &self.blobs }
    }
}

/// A change that was written.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) table: TableId,
    pub(crate) part: u8,
    pub(crate) row: RowId,
    pub(crate) kind: ChangeKind,
    pub(crate) before: Option<Row>,
    pub(crate) after: Option<Row>,
    pub(crate) has_layout: bool,
}

/// A commit that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) epoch: u64,
    pub(crate) ts: u64,
    pub(crate) is_lazy: bool,
    pub(crate) changes: Vec<Change>,
}

pub(crate) struct FakeLog {
    epoch: AtomicU64,
    durable: AtomicU64,
    last_begun: AtomicU64,
    open: SpinLock<HashMap<ThreadId, (u64, Vec<Change>)>>,
    commits: SpinLock<Vec<Commit>>,
    withdrawn: AtomicU64,
}

impl FakeLog {
    /// A log whose epochs begin near the end of 32 bits, so that the bits of marks are used up.
    pub(crate) fn new() -> Arc<Self> {
        let first = (1 << 32) - 2;
        Arc::new(Self {
            epoch: AtomicU64::new(first),
            durable: AtomicU64::new(first - 1),
            last_begun: AtomicU64::new(0),
            open: SpinLock::new(SpinClass::ServerOther, HashMap::new()),
            commits: SpinLock::new(SpinClass::ServerOther, Vec::new()),
            withdrawn: AtomicU64::new(0),
        })
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Begins the next epoch. At most two are not durable.
    pub(crate) fn next_epoch(&self) {
        let before = self.epoch.fetch_add(1, Ordering::SeqCst);
        assert!(before - self.durable() <= 1, "an epoch is closed when the one before is durable");
    }

    /// Makes all commits durable, when those under way have ended.
    pub(crate) fn flush(&self) {
        let before = self.epoch.fetch_add(1, Ordering::SeqCst);
        while self.open.lock().values().any(|(epoch, _)| *epoch <= before) {
            std::thread::yield_now();
        }
        self.durable.store(before, Ordering::SeqCst);
    }

    /// Returns the commits since the last call.
    pub(crate) fn take_commits(&self) -> Vec<Commit> {
        std::mem::take(&mut *self.commits.lock())
    }

    /// Returns the changes since the last call, without their commits.
    pub(crate) fn take_changes(&self) -> Vec<Change> {
        self.take_commits().into_iter().flat_map(|commit| commit.changes).collect()
    }

    pub(crate) fn withdrawn(&self) -> u64 {
        self.withdrawn.load(Ordering::SeqCst)
    }
}

impl CommitLog for FakeLog {
    fn admit(&self, _bytes: u64) -> storage::Result<()> {
        Ok(())
    }

    fn begin(&self) -> u64 {
        let mut open = self.open.lock();
        // Read under the lock: either `flush` meets this commit, or this is the new epoch.
        let epoch = self.epoch();
        self.last_begun.fetch_max(epoch, Ordering::SeqCst);
        let before = open.insert(current().id(), (epoch, Vec::new()));
        assert!(before.is_none(), "a thread makes one commit at a time");
        epoch
    }

    fn write(&self, change: &RowChange<'_>) {
        let RowChange { table, part, row, kind, .. } = *change;
        let (before, after) = (change.before.map(Row::of), change.after.map(Row::of));
        let has_layout = change.layout.is_some();
        let change = Change { table, part, row, kind, before, after, has_layout };
        self.open.lock().get_mut(&current().id()).unwrap().1.push(change);
    }

    fn end(&self, outcome: Outcome) {
        let (epoch, changes) = self.open.lock().remove(&current().id()).unwrap();
        match outcome {
            Outcome::Committed { ts, is_lazy } => {
                self.commits.lock().push(Commit { epoch, ts, is_lazy, changes });
            }
            Outcome::Nothing => {
                assert!(changes.is_empty(), "what is withdrawn has written nothing");
                self.withdrawn.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn barrier(&self) -> u64 {
        let last = self.last_begun.load(Ordering::SeqCst);
        if last > self.durable() { last } else { 0 }
    }

    fn durable(&self) -> u64 {
        self.durable.load(Ordering::SeqCst)
    }
}
