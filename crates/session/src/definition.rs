//! `Definitions`: what an open transaction, or the definition that runs, has changed of the catalog and
//! of the tables behind it, and how that is kept or undone.
//!
//! In a transaction the session works on a catalog of its own: others go on with the one there was, and
//! the changes are merged into theirs at the commit. Tables that are being redefined are closed to the
//! writers of other sessions (`storage::Table::close_for`), who wait under the lock of the table's schema.

use std::sync::Arc;
use std::time::Duration;

use sos::memory::{MemoryClerk, with_clerk};
use sos::sync::Ordering;
use storage::lock::{Acquired, LockKey, LockMode, LockScope, Patience};
use storage::{TableId, Transaction, TransactionOptions};
use types::Result;

use crate::SessionState;
use crate::instance::SessionCounter;
use catalog::{Catalog, TableDef, TableRows};

/// What has been defined and is neither kept nor undone yet.
#[derive(Default)]
pub struct Definitions {
    /// The catalog that the session's own one is a change of; none as long as it is the common one.
    base: Option<Arc<Catalog>>,
    /// Tables that are closed to other sessions, and the locks under which those wait.
    closed: Vec<(Arc<storage::Table>, LockKey)>,
    /// Tables of storage that were made.
    made: Vec<TableId>,
    /// Tables of storage that nobody needs once this is kept.
    gone: Vec<Arc<storage::Table>>,
    /// What undoes the rest, in the order done.
    undo: Vec<Undo>,
}

/// What undoes one change that is not of the catalog.
enum Undo {
    /// A temporary table was made.
    TempMade(i32),
    /// A temporary table was dropped, or another definition took its place.
    Temp(Arc<TableDef>),
    /// The identity of a table began anew.
    Identity(Arc<TableRows>, i64),
}

/// A point to which definitions can be undone.
#[derive(Default)]
pub struct DefinitionMark {
    catalog: Option<Arc<Catalog>>,
    made: usize,
    gone: usize,
    undo: usize,
}

impl SessionState {
    /// Changes the catalog: the session's own one in a transaction, else the common one.
    ///
    /// # Errors
    /// What `edit` returns; then nothing has changed.
    pub fn change_catalog<T>(&mut self, edit: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        let cell = &self.instance.catalog;
        if self.transaction.count == 0 {
            return cell.change(edit);
        }
        let definitions = self.definitions.get_or_insert_default();
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
        let definitions = self.definitions.get_or_insert_default();
        definitions.base.get_or_insert_with(|| Arc::clone(&self.catalog));
        self.set_catalog(next);
        Ok(done)
    }

    /// Takes the catalog as it is now: the common one, or with the session's own changes on top.
    #[cold]
    pub fn take_catalog(&mut self) {
        let cell = &self.instance.catalog;
        let own = self.definitions.as_mut().and_then(|definitions| definitions.base.as_mut());
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

    /// Waits until nobody else writes to a table or redefines it, and keeps others from it until the
    /// transaction ends, or the definition that runs.
    ///
    /// # Errors
    /// 1222 and 1205 as for any lock; [`storage::Error::Cancelled`].
    pub fn close_table(&mut self, table: &Arc<storage::Table>) -> storage::Result<()> {
        let definitions = self.definitions.get_or_insert_default();
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
        let definitions = self.definitions.get_or_insert_default();
        definitions.closed.push((Arc::clone(table), key));
        Ok(())
    }

    fn begin_definition(&self) -> Transaction {
        let explicit = self.transaction.count > 0;
        self.instance.store.begin(TransactionOptions {
            scope: if explicit { storage::Scope::Explicit } else { storage::Scope::Statement },
            lock_timeout_ms: u32::try_from(self.options.lock_timeout_ms).ok(),
            cancel: Some(Arc::clone(&self.cancel)),
            session: self.tag(),
        })
    }

    fn lock_schema(&mut self, key: &LockKey, wanted: (LockScope, LockMode)) -> storage::Result<()> {
        let cancel = Arc::clone(&self.cancel);
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

    /// Waits until whoever redefines a table is done with it.
    ///
    /// # Errors
    /// As for [`Self::close_table`].
    pub fn wait_for_definition(&mut self, table: TableId) -> storage::Result<()> {
        let key = LockKey::schema(table);
        self.lock_schema(&key, (LockScope::Session, LockMode::Shared))?;
        self.release_lock(&key, LockScope::Session);
        Ok(())
    }

    /// Notes a table of storage that goes if the definition is undone.
    pub fn note_made(&mut self, table: TableId) {
        self.definitions.get_or_insert_default().made.push(table);
    }

    /// Notes a table of storage that nobody needs any more once the definition is kept.
    pub fn note_gone(&mut self, table: &Arc<storage::Table>) {
        self.definitions.get_or_insert_default().gone.push(Arc::clone(table));
    }

    /// Notes that a temporary table was made.
    pub fn note_temp_made(&mut self, id: i32) {
        self.note_undo(Undo::TempMade(id));
    }

    /// Notes a temporary table as it was before it is dropped or changed.
    pub fn note_temp(&mut self, table: Arc<TableDef>) {
        self.note_undo(Undo::Temp(table));
    }

    /// Notes what the next identity value was before it begins anew.
    pub fn note_identity(&mut self, rows: &Arc<TableRows>) {
        // Relaxed: the counter orders nothing else.
        let next = rows.identity_next.load(Ordering::Relaxed);
        self.note_undo(Undo::Identity(Arc::clone(rows), next));
    }

    fn note_undo(&mut self, undo: Undo) {
        if self.transaction.count > 0 {
            self.definitions.get_or_insert_default().undo.push(undo);
        }
    }

    /// The present point, to undo definitions to.
    pub fn mark_definitions(&self) -> DefinitionMark {
        let mark = |definitions: &Definitions| DefinitionMark {
            catalog: definitions.base.as_ref().map(|_| Arc::clone(&self.catalog)),
            made: definitions.made.len(),
            gone: definitions.gone.len(),
            undo: definitions.undo.len(),
        };
        self.definitions.as_deref().map(mark).unwrap_or_default()
    }

    /// Undoes the definitions since a mark. Tables stay closed.
    pub fn undo_definitions_to(&mut self, mark: &DefinitionMark) {
        let Some(mut definitions) = self.definitions.take() else { return };
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
        self.definitions = Some(definitions);
        self.refresh_catalog();
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::TempMade(id) => {
                if let Some(table) = self.temp.take(id) {
                    self.counters.count(SessionCounter::TempTablesDropped);
                    self.instance.store.drop_table(table.rows.data.id());
                }
            }
            Undo::Temp(table) => {
                if self.temp.restore(table) {
                    self.counters.count(SessionCounter::TempTablesMade);
                }
            }
            // Relaxed: the counter orders nothing else.
            Undo::Identity(rows, next) => rows.identity_next.store(next, Ordering::Relaxed),
        }
    }

    /// Undoes all definitions, and opens the tables again.
    pub fn undo_definitions(&mut self) {
        if self.definitions.is_none() {
            return;
        }
        self.undo_definitions_to(&DefinitionMark::default());
        let Some(definitions) = self.definitions.take() else { return };
        for (table, key) in definitions.closed {
            table.reopen();
            self.release_lock(&key, LockScope::Session);
        }
    }

    /// Keeps all definitions: publishes the catalog, opens the tables for plans made from it, and lets
    /// go of what nobody needs any more.
    pub fn keep_definitions(&mut self) {
        let Some(definitions) = self.definitions.take() else { return };
        let Definitions { base, closed, gone, .. } = *definitions;
        if let Some(base) = base {
            let mine = Arc::clone(&self.catalog);
            let merged = self.instance.catalog.change(|catalog| {
                catalog.take_changes(&base, &mine);
                Ok(())
            });
            debug_assert!(merged.is_ok(), "a merge does not fail");
            let current = self.instance.catalog.load();
            self.set_catalog(current);
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
        self.refresh_catalog();
    }

    /// Ends a definition that ran outside of a transaction; inside one, undoes the one that failed.
    pub fn end_definition(&mut self, mark: &DefinitionMark, failed: bool) {
        match (self.transaction.count > 0, failed) {
            (true, true) => self.undo_definitions_to(mark),
            (true, false) => {}
            (false, true) => self.undo_definitions(),
            (false, false) => self.keep_definitions(),
        }
    }
}
