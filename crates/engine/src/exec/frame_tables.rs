//! The table variables of a frame: they go with it, however it ends.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use storage::Store;

use crate::catalog::TableRows;

/// Table variables by slot. Those that no other frame has are dropped from the store with the frame, in a panic as
/// well.
#[derive(Default)]
pub struct FrameTables {
    tables: Vec<Arc<TableRows>>,
    /// Where they are; none where they are a leader's, which its helpers do no more than read.
    store: Option<Arc<Store>>,
}

impl FrameTables {
    /// Makes the tables of a frame that are in a store.
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        Self { tables: Vec::new(), store: Some(Arc::clone(store)) }
    }

    /// Makes the tables of a helper's frame: the leader's.
    pub(crate) fn lent(tables: Vec<Arc<TableRows>>) -> Self {
        Self { tables, store: None }
    }

    /// Puts another table into a slot; the one before is dropped.
    pub(crate) fn replace(&mut self, slot: usize, table: Arc<TableRows>) {
        let before = std::mem::replace(&mut self.tables[slot], table);
        self.drop_table(before);
    }

    /// Drops the tables, except those that a caller's frame holds too.
    pub(crate) fn release(&mut self) {
        for table in std::mem::take(&mut self.tables) {
            self.drop_table(table);
        }
    }

    fn drop_table(&self, table: Arc<TableRows>) {
        if let (Some(store), Some(rows)) = (&self.store, Arc::into_inner(table)) {
            store.drop_table(rows.data.id());
        }
    }
}

impl Drop for FrameTables {
    fn drop(&mut self) {
        self.release();
    }
}

impl Deref for FrameTables {
    type Target = Vec<Arc<TableRows>>;
    fn deref(&self) -> &Self::Target {
        &self.tables
    }
}

impl DerefMut for FrameTables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.tables
    }
}
