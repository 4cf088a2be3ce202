//! The tables of one instance, the snapshots in use, and garbage collection.
//!
//! `Store` and `Table` know each other, and the files of this folder form an import cycle. That is
//! essential: a store owns its tables; a table commits by the store's clock and leaves its garbage
//! in the store's queues; and the garbage collector follows notes back to a table, to unlink
//! versions, index entries and at last the table itself. What else they need is kept out of the
//! cycle: this folder does not know transactions, scans or waiting, and nothing in it blocks.
//!
//! ```text
//!  Store ─ Shared ─┬─ clock, snapshots, lock manager
//!                  ├─ garbage: notes ──► Table, head
//!                  └─ tables ──► Table ─┬─ heap of heads
//!                                       ├─ index set: indexes, gate, columnstore index
//!                                       ├─ lock book: rows and key ranges that are locked
//!                                       └─ row groups: three internal tables
//! ```
//!
//! Start with `table.rs`; `garbage.rs` says when a version is freed, and `index_entries.rs` keeps
//! the indexes true to the rows.

mod durable;
mod durable_horizon;
mod garbage;
mod gate;
mod index_entries;
mod index_set;
mod need;
mod operations;
mod pickers;
mod row_groups;
mod snapshots;
mod table;
mod uses;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::durability::CommitLog;
use crate::lock::LockManager;
#[cfg(not(any(loom, shuttle)))]
use crate::primitives::Cancel;
use crate::primitives::{AtomicU64, CachePadded, Clock, SpinClass, SpinLock};
use crate::row_lock::HoldRow;
use crate::spec::{Result, TableId, TableSpec};
use crate::store::garbage::Garbage;

pub(crate) use durable::{Durable, content_below};
pub(crate) use gate::Gate;
pub(crate) use index_entries::{
    Asker, KeyChange, KeyTaken, Moves, add_keys, add_new_keys, check_free, check_keys, link_moved,
    moves, remove_dead_keys,
};
pub(crate) use index_set::{IndexSet, Trust};
pub(crate) use need::Need;
pub use operations::Operations;
pub(crate) use pickers::{Pickers, PickersState};
pub(crate) use row_groups::BY_KEY;
pub use row_groups::{ColumnStore, Mover};
pub(crate) use snapshots::{Slot, Snapshots};
pub use table::Table;
pub use uses::{IndexUse, IndexUses, TableUses, UseTotal};

/// The number of the checkpoint on disk, or of none, before the first one of this run.
const FIRST_CHECKPOINT: u64 = 1;

/// The options of a store; there are none yet.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {}

/// The result of one pass of [`Store::collect`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Versions that were freed.
    pub versions: u64,
    /// Rows whose head and index entries were freed.
    pub rows: u64,
    /// Versions and rows that some snapshot still needs.
    pub remaining: u64,
}

/// A deliberate mistake, which tests of histories must detect. Release builds make none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// SERIALIZABLE does not lock the key ranges that it reads.
    NoRangeHolds,
    /// What a transaction read is not validated at commit.
    NoValidation,
    /// Row locks are released at the end of their statement.
    EarlyRelease,
}

/// What all handles of a store and its tables share.
pub(crate) struct Shared {
    #[cfg(debug_assertions)]
    mistake: OnceLock<Mistake>,
    pub(crate) clock: Clock,
    pub(crate) snapshots: Snapshots,
    pub(crate) garbage: Garbage,
    /// In a separate block: inside `Shared` it would make that the only block of its size class,
    /// for which the allocator takes half a megabyte.
    pub(crate) locks: Box<LockManager>,
    tables: SpinLock<HashMap<TableId, Arc<Table>>>,
    /// The log of commits to durable tables; a store without one keeps nothing.
    pub(crate) log: OnceLock<Arc<dyn CommitLog>>,
    /// The word of [`crate::durability::Lost`]: written once, when the log fails.
    pub(crate) lost: AtomicU64,
    /// The number of the newest checkpoint (`recovery/checkpoint.rs`). Each write of a durable table
    /// reads it, and it is written once per checkpoint.
    pub(crate) generation: CachePadded<AtomicU64>,
}

impl Shared {
    /// Returns whether a test has asked for this mistake.
    #[inline]
    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        #[cfg(debug_assertions)]
        return self.mistake.get() == Some(&mistake);
        #[cfg(not(debug_assertions))]
        {
            let _ = mistake;
            false
        }
    }
}

/// A handle to the data of one instance.
///
/// [`Store::begin`] counts a reference on the handle, so give each session its own handle
/// ([`Store::fork`]): then beginning a transaction writes no cache line that other sessions write.
pub struct Store {
    shared: Arc<Shared>,
    owner: Ownership,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ownership {
    Original,
    Fork,
}

impl Store {
    /// Makes an empty store.
    pub fn new(options: StoreOptions) -> Arc<Self> {
        let StoreOptions {} = options;
        Arc::new(Self {
            shared: Arc::new(Shared {
                #[cfg(debug_assertions)]
                mistake: OnceLock::new(),
                clock: Clock::new(),
                snapshots: Snapshots::new(),
                garbage: Garbage::new(),
                locks: Box::default(),
                tables: SpinLock::new(SpinClass::XtpTransaction, HashMap::new()),
                log: OnceLock::new(),
                lost: AtomicU64::new(0),
                generation: CachePadded::new(AtomicU64::new(FIRST_CHECKPOINT)),
            }),
            owner: Ownership::Original,
        })
    }

    /// Returns another handle to the same data, with its own reference count.
    pub fn fork(&self) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(&self.shared), owner: Ownership::Fork })
    }

    /// Makes a handle for one transaction.
    pub(crate) fn of(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(shared), owner: Ownership::Fork })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Makes this mistake from now on.
    #[cfg(debug_assertions)]
    pub fn make(&self, mistake: Mistake) {
        let _ = self.shared.mistake.set(mistake);
    }

    /// Creates an empty table with its indexes.
    pub fn create_table(&self, spec: TableSpec) -> Result<Arc<Table>> {
        let id = spec.id;
        let table = Arc::new(Table::new(spec, Arc::clone(&self.shared)));
        let before = self.shared.tables.lock().insert(id, Arc::clone(&table));
        assert!(before.is_none(), "the catalog gives each table an id of its own");
        Ok(table)
    }

    /// Drops a table. Its memory is freed when no active transaction can access it any more and the
    /// caller has dropped its handles.
    pub fn drop_table(&self, table: TableId) {
        let removed = self.shared.tables.lock().remove(&table);
        let Some(table) = removed else { return };
        self.shared.garbage.note_table(&self.shared, table);
    }

    /// Returns the current tables.
    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        self.shared.tables.lock().values().cloned().collect()
    }

    /// Returns the tables whose rows survive a restart, those included that no definition refers to
    /// yet.
    pub fn durable_tables(&self) -> Vec<Arc<Table>> {
        let mut tables = self.tables();
        tables.retain(|table| table.durable.is_some());
        tables
    }

    /// Returns the lock manager for named locks.
    pub fn locks(&self) -> &LockManager {
        &self.shared.locks
    }

    /// Frees what no snapshot needs. Writers collect a little with every write; a background task
    /// calls this every few milliseconds for what idle sessions left.
    pub fn collect(&self) -> Collected {
        self.shared.garbage.collect(&self.shared)
    }

    /// Returns whether a dropped table could not be freed since the last call: it was still in use.
    pub fn take_held(&self) -> bool {
        self.shared.garbage.take_held()
    }

    /// Sleeps until there is garbage to collect, or `cancel` is set. Called by the one collector.
    #[cfg(not(any(loom, shuttle)))]
    pub fn wait_for_garbage(&self, cancel: &Cancel) {
        self.shared.garbage.wait(cancel);
    }

    /// Returns the number of transactions that hold a snapshot or have written.
    pub fn active_transactions(&self) -> usize {
        self.shared.snapshots.in_use()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Tables and the shared part refer to each other: this breaks that cycle.
        if self.owner == Ownership::Original {
            self.shared.garbage.clear();
            let tables = std::mem::take(&mut *self.shared.tables.lock());
            drop(tables);
        }
    }
}

impl Store {
    /// Lists the locks on rows and key ranges of all tables.
    #[must_use]
    pub fn holds(&self) -> Vec<HoldRow> {
        let mut rows = Vec::new();
        for table in self.tables() {
            table.book.show(table.id(), &mut rows);
        }
        rows
    }
}
