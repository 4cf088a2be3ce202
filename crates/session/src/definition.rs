//! `Definitions`: changes of the catalog and of tables that an open transaction or the running DDL
//! statement has made, and how they are committed or undone.
//!
//! In a transaction the session works on a private catalog. Other sessions keep using the shared
//! one, and the changes are merged into it at commit. Tables under change are closed to writers of
//! other sessions (`storage::Table::close_for`), which wait for the lock on the table's schema.
//!
//! Storage has no versions of its set of indexes. An index that was built is removed when the transaction is rolled
//! back, and one that was dropped is suspended until the transaction ends.

use std::sync::Arc;
use std::time::Duration;

use sos::memory::{MemoryClerk, with_clerk};
use storage::lock::{Acquired, LockKey, LockMode, LockScope, Patience};
use storage::{IndexId, IndexSpec, SuspendedIndex, TableId, Transaction, TransactionOptions};
use types::Result;

use crate::SessionState;
use crate::instance::SessionCounter;
use catalog::{Catalog, TableDef, TableRows};

/// Changes that are neither committed nor undone yet.
#[derive(Default)]
pub struct Definitions {
    /// The shared catalog that the private one was copied from; `None` while there is no private
    /// one.
    base: Option<Arc<Catalog>>,
    /// Tables that are closed to other sessions, and the locks that those wait for.
    closed: Vec<(Arc<storage::Table>, LockKey)>,
    /// Locks of tables whose definition is held, while other sessions write to them.
    held: Vec<LockKey>,
    /// Ids of storage tables that were created.
    made: Vec<TableId>,
    /// Storage tables to free at commit.
    gone: Vec<Arc<storage::Table>>,
    /// Undo records for the other changes, in the order of the changes.
    undo: Vec<Undo>,
}

/// The undo record of a change outside the catalog.
enum Undo {
    /// A temporary table was created.
    TempMade(i32),
    /// A temporary table was dropped or redefined; this is the old definition.
    Temp(Arc<TableDef>),
    /// A table's identity was reseeded; this was the next value.
    Identity(Arc<TableRows>, i64),
    /// An index was built.
    IndexMade(Arc<storage::Table>, IndexId),
    /// An index was dropped in a transaction.
    IndexGone(Arc<storage::Table>, SuspendedIndex),
}

impl Undo {
    fn identity(&self) -> Option<&Arc<TableRows>> {
        match self {
            Self::Identity(rows, _) => Some(rows),
            Self::TempMade(_) | Self::Temp(_) | Self::IndexMade(..) | Self::IndexGone(..) => None,
        }
    }
}

/// A point that definitions can be undone to.
#[derive(Default)]
pub struct DefinitionMark {
    catalog: Option<Arc<Catalog>>,
    made: usize,
    gone: usize,
    undo: usize,
}

impl SessionState {
    /// Changes the catalog: the private one in a transaction, else the shared one.
    ///
    /// # Errors
    /// The error of `edit`; then nothing has changed.
    pub fn change_catalog<T>(&mut self, edit: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        let cell = &self.instance.catalog;
        if self.transaction.count == 0 {
            return cell.change(edit);
        }
        let definitions = self.transaction.definitions.get_or_insert_default();
        if definitions.base.is_none() {
            let current = cell.load();
            self.set_catalog(current);
        }
        let (next, done) = with_clerk(MemoryClerk::Metadata, || {
            let mut next = Catalog::clone(&self.catalog);
            let done = edit(&mut next)?;
            next.version = self.instance.catalog.next_own_version();
            Ok::<_, types::Error>((Arc::new(next), done))
        })?;
        let definitions = self.transaction.definitions.get_or_insert_default();
        definitions.base.get_or_insert_with(|| Arc::clone(&self.catalog));
        self.set_catalog(next);
        Ok(done)
    }

    /// Takes the current catalog: the shared one, with the session's own changes applied.
    #[cold]
    pub fn take_catalog(&mut self) {
        let cell = &self.instance.catalog;
        let own =
            self.transaction.definitions.as_mut().and_then(|definitions| definitions.base.as_mut());
        let Some(base) = own else {
            let current = cell.load();
            self.set_catalog(current);
            return;
        };
        if base.version == cell.version() {
            return;
        }
        let current = cell.load();
        let next = with_clerk(MemoryClerk::Metadata, || {
            let mut next = Catalog::clone(&current);
            next.take_changes(base, &self.catalog);
            next.version = cell.next_own_version();
            *base = current;
            Arc::new(next)
        });
        self.set_catalog(next);
    }

    /// Waits until no other session writes to a table or redefines it, and excludes other sessions
    /// until the transaction or the DDL statement ends.
    ///
    /// # Errors
    /// 1222 and 1205 as for any lock; [`storage::Error::Cancelled`].
    pub fn close_table(&mut self, table: &Arc<storage::Table>) -> storage::Result<()> {
        let definitions = self.transaction.definitions.get_or_insert_default();
        if definitions.closed.iter().any(|(closed, _)| Arc::ptr_eq(closed, table)) {
            return Ok(());
        }
        let key = LockKey::schema(table.id());
        let in_transaction = self.transaction.count > 0;
        let scope = if in_transaction { LockScope::Transaction } else { LockScope::Session };
        self.lock_schema(&key, (scope, LockMode::Exclusive))?;
        let transaction = self.transaction.active.take();
        let transaction = transaction.unwrap_or_else(|| self.begin_definition());
        let closed = transaction.close_for_alone(table);
        if in_transaction {
            self.transaction.doomed |= transaction.is_doomed();
            self.transaction.active = Some(transaction);
        }
        if closed.is_err() && !in_transaction {
            self.release_lock(&key, scope);
        }
        closed?;
        let definitions = self.transaction.definitions.get_or_insert_default();
        definitions.closed.push((Arc::clone(table), key));
        Ok(())
    }

    /// Waits until no other session redefines a table, and excludes others from that until the DDL statement ends.
    /// In a transaction, the table is closed as by [`Self::close_table`].
    ///
    /// # Errors
    /// As for [`Self::close_table`].
    pub fn hold_definition(&mut self, table: &Arc<storage::Table>) -> storage::Result<()> {
        if self.transaction.count > 0 {
            return self.close_table(table);
        }
        let key = LockKey::schema(table.id());
        self.lock_schema(&key, (LockScope::Session, LockMode::Exclusive))?;
        self.transaction.definitions.get_or_insert_default().held.push(key);
        Ok(())
    }

    /// Builds an index over a table's rows, which is removed if the definition is undone.
    ///
    /// # Errors
    /// [`storage::Error::Unique`] for a duplicate, and as for a wait for a row.
    pub fn build_index(
        &mut self,
        table: &Arc<storage::Table>,
        spec: IndexSpec,
    ) -> storage::Result<()> {
        let id = spec.id;
        let transaction = self.transaction.active.take();
        let transaction = transaction.unwrap_or_else(|| self.begin_definition());
        let built = transaction.add_index(table, spec);
        if self.transaction.count > 0 {
            self.transaction.doomed |= transaction.is_doomed();
            self.transaction.active = Some(transaction);
        }
        built?;
        let made = Undo::IndexMade(Arc::clone(table), id);
        self.transaction.definitions.get_or_insert_default().undo.push(made);
        Ok(())
    }

    /// Drops an index of a table: at once, or in a transaction, for which the table is closed, when it is committed.
    /// Plans that use the index may still be running; storage lets them finish.
    pub fn drop_index(&mut self, table: &Arc<storage::Table>, index: IndexId) {
        if self.transaction.count == 0 {
            table.drop_index(index);
        } else if let Some(suspended) = table.suspend_index(index) {
            self.note_undo(Undo::IndexGone(Arc::clone(table), suspended));
        }
    }

    fn begin_definition(&self) -> Transaction {
        let explicit = self.transaction.count > 0;
        self.instance.store.begin(TransactionOptions {
            scope: if explicit { storage::Scope::Explicit } else { storage::Scope::Statement },
            lock_timeout_ms: u32::try_from(self.options.lock_timeout_ms).ok(),
            cancel: Some(Arc::clone(&self.connection.cancel)),
            session: self.tag(),
            is_lazy: false,
        })
    }

    fn lock_schema(&mut self, key: &LockKey, wanted: (LockScope, LockMode)) -> storage::Result<()> {
        let cancel = Arc::clone(&self.connection.cancel);
        let timeout = u64::try_from(self.options.lock_timeout_ms).ok().map(Duration::from_millis);
        let deadlock_priority = self.options.deadlock_priority;
        let patience = Patience { timeout, cancel: Some(&cancel), deadlock_priority };
        match self.acquire_lock(key, wanted, patience) {
            Acquired::AtOnce | Acquired::AfterWait => Ok(()),
            Acquired::TimedOut => Err(storage::Error::LockTimeout),
            Acquired::Cancelled => Err(storage::Error::Cancelled),
            Acquired::Victim => Err(storage::Error::Deadlock),
        }
    }

    /// Waits until no other session is redefining a table.
    ///
    /// # Errors
    /// As for [`Self::close_table`].
    pub fn wait_for_definition(&mut self, table: TableId) -> storage::Result<()> {
        let key = LockKey::schema(table);
        self.lock_schema(&key, (LockScope::Session, LockMode::Shared))?;
        self.release_lock(&key, LockScope::Session);
        Ok(())
    }

    /// Records a storage table to be freed if the definition is undone.
    pub fn note_made(&mut self, table: TableId) {
        self.transaction.definitions.get_or_insert_default().made.push(table);
    }

    /// Records a storage table to be freed once the definition is committed.
    pub fn note_gone(&mut self, table: &Arc<storage::Table>) {
        self.transaction.definitions.get_or_insert_default().gone.push(Arc::clone(table));
    }

    /// Records that a temporary table was created.
    pub fn note_temp_made(&mut self, id: i32) {
        self.note_undo(Undo::TempMade(id));
    }

    /// Records a temporary table before it is dropped or changed.
    pub fn note_temp(&mut self, table: Arc<TableDef>) {
        self.note_undo(Undo::Temp(table));
    }

    /// Sets a table's next identity value, until the transaction is rolled back.
    pub fn set_identity(&mut self, rows: &Arc<TableRows>, next: i64) {
        self.note_undo(Undo::Identity(Arc::clone(rows), rows.identity.peek()));
        rows.identity.set(next);
        if self.transaction.count == 0 {
            rows.identity.settle();
        }
    }

    fn note_undo(&mut self, undo: Undo) {
        if self.transaction.count > 0 {
            self.transaction.definitions.get_or_insert_default().undo.push(undo);
        }
    }

    /// Returns the current point, as a target for undo.
    pub fn mark_definitions(&self) -> DefinitionMark {
        let mark = |definitions: &Definitions| DefinitionMark {
            catalog: definitions.base.as_ref().map(|_| Arc::clone(&self.catalog)),
            made: definitions.made.len(),
            gone: definitions.gone.len(),
            undo: definitions.undo.len(),
        };
        self.transaction.definitions.as_deref().map(mark).unwrap_or_default()
    }

    /// Undoes the definitions since a mark. Tables stay closed.
    pub fn undo_definitions_to(&mut self, mark: &DefinitionMark) {
        let Some(mut definitions) = self.transaction.definitions.take() else { return };
        for undo in definitions.undo.drain(mark.undo.min(definitions.undo.len())..).rev() {
            self.undo(undo);
        }
        for table in definitions.made.drain(mark.made.min(definitions.made.len())..) {
            self.instance.store.drop_table(table);
        }
        definitions.gone.truncate(mark.gone);
        match &mark.catalog {
            Some(catalog) => self.set_catalog(Arc::clone(catalog)),
            None if definitions.base.take().is_some() => {
                let current = self.instance.catalog.load();
                self.set_catalog(current);
            }
            None => {}
        }
        self.transaction.definitions = Some(definitions);
        self.refresh_catalog();
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::TempMade(id) => {
                if let Some(table) = self.temp.take(id) {
                    self.accounting.counters.count(SessionCounter::TempTablesDropped);
                    self.instance.store.drop_table(table.rows.data.id());
                }
            }
            Undo::Temp(table) => {
                if self.temp.restore(table) {
                    self.accounting.counters.count(SessionCounter::TempTablesMade);
                }
            }
            Undo::Identity(rows, next) => rows.identity.set(next),
            Undo::IndexMade(table, index) => {
                table.drop_index(index);
            }
            Undo::IndexGone(table, index) => table.resume_index(&index),
        }
    }

    /// Undoes all definitions, and reopens the tables.
    pub fn undo_definitions(&mut self) {
        if self.transaction.definitions.is_none() {
            return;
        }
        self.undo_definitions_to(&DefinitionMark::default());
        let Some(definitions) = self.transaction.definitions.take() else { return };
        for (table, key) in definitions.closed {
            table.reopen();
            self.release_lock(&key, LockScope::Session);
        }
        for key in definitions.held {
            self.release_lock(&key, LockScope::Session);
        }
    }

    /// Commits all definitions: publishes the catalog, reopens the tables for plans that were bound
    /// to it, and frees what is no longer used.
    ///
    /// # Errors
    /// The error of the catalog's listener, if the log is not available; then all definitions are
    /// undone. Does not fail without changes of the catalog.
    pub fn keep_definitions(&mut self) -> Result<()> {
        let Some(mut definitions) = self.transaction.definitions.take() else { return Ok(()) };
        if let Some(base) = definitions.base.take() {
            let mine = Arc::clone(&self.catalog);
            let merged = self.instance.catalog.change(|catalog| {
                catalog.take_changes(&base, &mine);
                Ok(())
            });
            if merged.is_err() {
                definitions.base = Some(base);
                self.transaction.definitions = Some(definitions);
                self.undo_definitions();
                return merged;
            }
            let current = self.instance.catalog.load();
            self.set_catalog(current);
        }
        let Definitions { base: _, closed, held, made: _, gone, undo } = *definitions;
        for rows in undo.iter().filter_map(Undo::identity) {
            rows.identity.settle();
        }
        for change in &undo {
            if let Undo::IndexGone(table, index) = change {
                table.remove_suspended(index);
            }
        }
        let version = self.instance.catalog.version();
        for (table, _) in &closed {
            table.open_for(version);
        }
        for table in gone {
            table.retire();
            self.instance.store.drop_table(table.id());
        }
        for (_, key) in closed {
            self.release_lock(&key, LockScope::Session);
        }
        for key in held {
            self.release_lock(&key, LockScope::Session);
        }
        self.refresh_catalog();
        Ok(())
    }

    /// Ends a DDL statement outside a transaction; inside one, undoes the statement if it failed.
    pub fn end_definition(&mut self, mark: &DefinitionMark, failed: bool) {
        match (self.transaction.count > 0, failed) {
            (true, true) => self.undo_definitions_to(mark),
            (true, false) => {}
            (false, true) => self.undo_definitions(),
            (false, false) => {
                let kept = self.keep_definitions();
                debug_assert!(kept.is_ok(), "outside a transaction, each change is published");
            }
        }
    }
}
