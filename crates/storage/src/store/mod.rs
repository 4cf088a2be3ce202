//! The tables of one instance, the snapshots in use, and garbage collection.
//!
//! `Store` and `Table` know each other, and the files of this folder import each other in a circle. That
//! is essential: a store owns its tables; a table commits by the store's clock and leaves its garbage in
//! the store's queues; and the garbage collector follows notes back to a table, to unlink versions,
//! index entries and at last the table itself. What else they need is kept out of the circle: this
//! folder does not know transactions, scans or waiting, and nothing in it blocks.
//!
//! ```text
//!  Store ─ Shared ─┬─ clock, snapshots, lock manager
//!                  ├─ garbage: notes ──► Table, head
//!                  └─ tables ──► Table ─┬─ heap of heads
//!                                       ├─ index set: indexes, gate, columnstore index
//!                                       ├─ lock book: rows and key ranges that are locked
//!                                       └─ row groups: three tables of their own
//! ```
//!
//! Start with `table.rs`; `garbage.rs` says when a version is freed, and `index_entries.rs` keeps the
//! indexes true to the rows.

pub(crate) mod garbage;
pub(crate) mod gate;
pub(crate) mod index_entries;
pub(crate) mod index_set;
pub(crate) mod row_groups;
pub(crate) mod snapshots;
pub mod table;

use std::collections::HashMap;
use std::sync::Arc;

use crate::lock::LockManager;
use crate::primitives::clock::Clock;
use crate::primitives::sync::{SpinClass, SpinLock};
use crate::row_lock::HoldRow;
use crate::spec::definition::{TableId, TableSpec};
use crate::spec::error::Result;
use crate::store::garbage::Garbage;
use crate::store::snapshots::Snapshots;
use crate::store::table::Table;

/// Options of a store.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {}

/// What one pass of [`Store::collect`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Versions freed.
    pub versions: u64,
    /// Rows whose head and index entries were freed.
    pub rows: u64,
    /// Versions and rows that some snapshot still needs.
    pub remaining: u64,
}

/// A mistake that a store is told to make, so that a test of histories can show that it would see it. Nothing that is
/// released can be told so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// SERIALIZABLE does not hold the ranges of keys that it reads.
    NoRangeHolds,
    /// What a transaction read is not looked at again when it commits.
    NoValidation,
    /// Holds end with their statement.
    EarlyRelease,
}

/// What all handles of a store and its tables share.
pub(crate) struct Shared {
    #[cfg(debug_assertions)]
    mistake: std::sync::OnceLock<Mistake>,
    pub(crate) clock: Clock,
    pub(crate) snapshots: Snapshots,
    pub(crate) garbage: Garbage,
    /// A block of its own: together with the others it would be the only one of its size, for which a heap takes half a
    /// megabyte.
    pub(crate) locks: Box<LockManager>,
    tables: SpinLock<HashMap<TableId, Arc<Table>>>,
}

impl Shared {
    /// Tells whether a test has asked for a mistake.
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
/// [`Store::begin`] counts on the handle it is called on, so give each session a handle of its own
/// ([`Store::fork`]): then beginning a transaction writes no line that other sessions write.
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
                mistake: std::sync::OnceLock::new(),
                clock: Clock::new(),
                snapshots: Snapshots::new(),
                garbage: Garbage::new(),
                locks: Box::default(),
                tables: SpinLock::new(SpinClass::XtpTransaction, HashMap::new()),
            }),
            owner: Ownership::Original,
        })
    }

    /// Returns another handle to the same data, with a reference count of its own.
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

    /// Makes a mistake from now on.
    #[cfg(debug_assertions)]
    pub fn make(&self, mistake: Mistake) {
        let _ = self.shared.mistake.set(mistake);
    }

    /// Creates a table.
    pub fn create_table(&self, spec: TableSpec) -> Result<Arc<Table>> {
        let id = spec.id;
        let table = Arc::new(Table::new(spec, Arc::clone(&self.shared)));
        let before = self.shared.tables.lock().insert(id, Arc::clone(&table));
        assert!(before.is_none(), "the catalog gives each table an id of its own");
        Ok(table)
    }

    /// Drops a table. Its memory is freed when no running transaction can touch it any more and the
    /// caller's handles are gone.
    pub fn drop_table(&self, table: TableId) {
        let removed = self.shared.tables.lock().remove(&table);
        let Some(table) = removed else { return };
        self.shared.garbage.note_table(&self.shared, table);
    }

    /// Returns the tables that there are.
    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        self.shared.tables.lock().values().cloned().collect()
    }

    /// The locks that are asked for by name.
    pub fn locks(&self) -> &LockManager {
        &self.shared.locks
    }

    /// Frees what no snapshot needs. Writers collect a little as they go; call this from a background
    /// task every few milliseconds for what idle ones left behind.
    pub fn collect(&self) -> Collected {
        self.shared.garbage.collect(&self.shared)
    }

    /// Tells whether, since the last call, a dropped table could not be freed because of the caller's handles.
    pub fn take_held(&self) -> bool {
        self.shared.garbage.take_held()
    }

    /// Sleeps until there is garbage to collect, or until `cancel` is set. For the collector, of which
    /// there is one.
    #[cfg(not(any(loom, shuttle)))]
    pub fn wait_for_garbage(&self, cancel: &crate::primitives::park::Cancel) {
        self.shared.garbage.wait(cancel);
    }

    /// Returns the number of transactions that hold a snapshot or have written.
    pub fn active_transactions(&self) -> usize {
        self.shared.snapshots.in_use()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Tables and the shared part count on each other: the original handle unties them.
        if self.owner == Ownership::Original {
            self.shared.garbage.clear();
            let tables = std::mem::take(&mut *self.shared.tables.lock());
            drop(tables);
        }
    }
}

impl Store {
    /// Lists the holds on all tables.
    #[must_use]
    pub fn holds(&self) -> Vec<HoldRow> {
        let mut rows = Vec::new();
        for table in self.tables() {
            table.book.show(table.id(), &mut rows);
        }
        rows
    }
}
