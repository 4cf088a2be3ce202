//! `Store`: the tables of one instance, its running transactions, and its garbage.

use std::sync::Arc;

use crate::error::Result;
use crate::table::{Table, TableId, TableSpec};
use crate::transaction::{Transaction, TransactionOptions};

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

/// The data of one instance.
pub struct Store {}

impl Store {
    /// Makes an empty store.
    pub fn new(options: StoreOptions) -> Arc<Self> {
        let _ = options;
        todo!()
    }

    /// Creates a table.
    pub fn create_table(self: &Arc<Self>, spec: TableSpec) -> Result<Arc<Table>> {
        let _ = spec;
        todo!()
    }

    /// Drops a table. Its memory is freed when no running transaction can touch it any more and the
    /// caller's handles are gone.
    pub fn drop_table(&self, table: TableId) {
        let _ = table;
        todo!()
    }

    /// Begins a transaction. Costs nothing shared; the snapshot is taken at the first access.
    pub fn begin(self: &Arc<Self>, options: TransactionOptions) -> Transaction {
        let _ = options;
        todo!()
    }

    /// Frees what no snapshot needs. Writers collect a little as they go; call this from a background
    /// task every few milliseconds for what idle ones left behind.
    pub fn collect(&self) -> Collected {
        todo!()
    }

    /// Returns the number of transactions that hold a snapshot or have written.
    pub fn active_transactions(&self) -> usize {
        todo!()
    }
}
