//! `SessionState`: all state of a session that statements read and change.

use std::sync::Arc;

use storage::Transaction;
use storage::lock::{Acquired, LockKey, LockMode, LockScope, Patience};
use types::value::ColumnType;
use types::{Collation, ConvertOptions, Error, Msg};

use crate::accounting::Accounting;
use crate::argument::text_type;
use crate::caches::Caches;
use crate::connection::Connection;
use crate::context::Identity;
use crate::event::emit;
use crate::held::{Held, LastResults};
use crate::instance::{Instance, SessionCounter};
use crate::mars::Member;
use crate::plan_cache::ProgramKey;
use crate::request::RequestState;
use crate::stop::cancelled;
use crate::temp::TempTables;
use crate::transaction::TransactionState;
use crate::{IsolationLevel, Options};
use catalog::name::Name;
use catalog::{Catalog, Database, Object, ProcedureDef};
use plan::program::AskedFor;

/// All state of a session that statements read and change, in groups by life time. Owned by the
/// engine's `Session`; borrowed by the executor through its `Cx`.
///
/// ```text
///   group                                  begins with         ends with
///   connection, accounting, caches         login               logout
///   identity, options, temp, held, last    login               reset of the connection, logout
///   isolation                              login, SET          logout
///   transaction                            BEGIN TRANSACTION   COMMIT, ROLLBACK
///   locks                                  lock                transaction, reset, release
///   request                                message             next message
/// ```
pub struct SessionState {
    /// Instance that the session belongs to.
    pub instance: Arc<Instance>,
    /// Catalog snapshot of the running request. Its version is compared with the instance's when a
    /// request begins, and after the session's own DDL.
    pub catalog: Arc<Catalog>,
    /// What login has decided: it lasts as long as the connection.
    pub connection: Connection,
    /// Counters, times and memory of the session.
    pub accounting: Accounting,
    /// Who the session runs as, and in which database.
    pub identity: Identity,
    /// SET options in effect. A reset restores those at login.
    pub options: Options,
    /// Current isolation level. A reset does not restore it, as the protocol specifies.
    pub isolation: IsolationLevel,
    /// The open transaction, its savepoints and its definitions.
    pub transaction: TransactionState,
    /// Locks of the open transaction, and application locks that the session holds: a reset
    /// releases these.
    pub locks: storage::lock::SessionLocks,
    /// Temporary tables by scope. A reset drops them.
    pub temp: TempTables,
    /// What statements have put into the session, until a reset.
    pub held: Held,
    /// Results of the last statements, until a reset.
    pub last: LastResults,
    /// State of the running request.
    pub request: RequestState,
    /// Programs, buffers and copies that are reused.
    pub caches: Caches,
    /// The membership of a MARS connection; `None` for a session that has its connection to itself.
    pub mars: Option<Box<Member>>,
}

impl SessionState {
    /// Returns the meaning of double quotes under QUOTED_IDENTIFIER.
    pub fn quotes(&self) -> tsql::QuotedIdentifier {
        if self.options.quoted_identifier {
            tsql::QuotedIdentifier::On
        } else {
            tsql::QuotedIdentifier::Off
        }
    }

    /// Returns the cache key of a text: the same text has another meaning in another database or
    /// under another QUOTED_IDENTIFIER, and may be forbidden to another login.
    pub fn text_key(&self, parts: &[&[u8]]) -> ProgramKey {
        // What is only parsed has no types, so such a program is not one to run.
        let parsing =
            u8::from(self.options.quoted_identifier) | u8::from(self.options.parse_only) << 1;
        let mode = [parsing, self.options.meaning().byte()];
        let rights = self.identity.rights.key().to_le_bytes();
        let context: [&[u8]; 3] = [&mode, &rights, self.identity.database.as_bytes()];
        ProgramKey::Text(self.caches.programs.hash(context.iter().chain(parts)))
    }

    /// Returns the name under which tempdb stores a temporary procedure: a local one's contains the
    /// session's id, since other sessions may use the same name.
    pub fn temporary_module_name(&self, name: &str) -> String {
        if name.starts_with("##") {
            name.to_owned()
        } else {
            format!("{name}___{}", self.connection.id)
        }
    }

    /// Drops the temporary tables of the innermost scope, which ends.
    pub fn close_temp_scope(&mut self) {
        for table in self.temp.close_scope() {
            self.accounting.counters.count(SessionCounter::TempTablesDropped);
            self.instance.store.drop_table(table.rows.data.id());
        }
    }

    /// Drops the temporary tables of all scopes.
    pub fn drop_temp_tables(&mut self) {
        if !self.temp.is_empty() {
            self.undo_definitions();
            for table in self.temp.iter() {
                self.accounting.counters.count(SessionCounter::TempTablesDropped);
                self.instance.store.drop_table(table.rows.data.id());
            }
            self.temp.clear();
        }
        self.drop_globals();
    }

    /// Drops the `##` tables and temporary procedures that the session has created. Inside a
    /// transaction it drops none; the next call does.
    fn drop_globals(&mut self) {
        if self.transaction.count > 0 {
            return;
        }
        let ids = self.temp.take_globals();
        if ids.is_empty() {
            return;
        }
        let dropped = self.change_catalog(|catalog| {
            let tempdb = catalog.database_mut("tempdb").ok_or(Msg::InternalError)?;
            let own = ids.iter().filter_map(|id| tempdb.object_by_id(*id).cloned());
            let own: Vec<Object> = own.collect();
            for object in &own {
                tempdb.objects.remove(&(Name::new(object.schema()), Name::new(object.name())));
            }
            Ok(own)
        });
        for object in dropped.unwrap_or_default() {
            if let Object::Table(table) = object {
                self.accounting.counters.count(SessionCounter::TempTablesDropped);
                self.note_gone(&table.rows.data);
            }
        }
        let kept = self.keep_definitions();
        debug_assert!(kept.is_ok(), "the catalog is published already");
    }

    /// Returns the session state that a plan must match to be used now.
    #[inline]
    pub fn asked_for(&self) -> AskedFor<'_> {
        let meaning = self.options.meaning();
        AskedFor { meaning, database: &self.identity.database, rights: self.identity.rights.key() }
    }

    /// Takes the current catalog snapshot, if it is newer than the session's: one load.
    pub fn refresh_catalog(&mut self) {
        if self.instance.catalog.version() != self.catalog.version {
            self.take_catalog();
        }
    }

    /// Returns the database as the session may see it.
    pub fn sees(&self, database: &Arc<Database>) -> Arc<Database> {
        self.caches.copies.of(&self.identity.rights, &self.catalog, database)
    }

    /// Sets the catalog snapshot, and updates what depends on it.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) {
        self.caches.programs.let_go(catalog.version);
        self.caches.copies.let_go(&catalog);
        self.catalog = catalog;
        self.identity.renew(&self.catalog);
    }

    /// Makes a database the current one; returns the previous one.
    pub fn enter_database(&mut self, database: Arc<str>) -> Arc<str> {
        let id = self.catalog.database(&database).map_or(0, |d| d.id);
        self.accounting.database_counters = self.accounting.counters.of_database(id);
        let before = std::mem::replace(&mut self.identity.database, database);
        let left = self.identity.place;
        self.identity.find_place(&self.catalog);
        // What the transaction has changed was in the other database.
        self.transaction.spans_databases |=
            self.transaction.count > 0 && left.database_id != self.identity.place.database_id;
        before
    }

    /// Returns the collation of the current database.
    pub fn collation(&self) -> Collation {
        self.catalog
            .database(&self.identity.database)
            .map_or_else(Collation::default, |d| d.collation)
    }

    /// Returns `nvarchar(max)` in the database's collation.
    pub fn text_type(&self) -> ColumnType {
        text_type(self.collation())
    }

    /// Returns the settings that conversions depend on.
    pub fn convert_options(&self) -> ConvertOptions {
        ConvertOptions {
            date_format: self.options.date_format,
            language: self.options.language,
            ansi_warnings: if self.options.ansi_warnings {
                types::convert::AnsiWarnings::On
            } else {
                types::convert::AnsiWarnings::Off
            },
            round_abort: self.options.numeric_round_abort,
            pause: plan::long::PAUSE,
        }
    }

    /// Returns the schema of an object's name in a database: that written; else the one in which it
    /// is found, the default schema of the session's user or dbo.
    pub fn schema_of<'n>(
        &self,
        database: &'n Database,
        name: &'n tsql::ast::ObjectName,
    ) -> &'n str {
        let first = self.identity.rights.default_schema(database);
        database.schema_of_object(name.schema.as_deref(), first, &name.object)
    }

    /// Returns the schema of a type's name, as [`Self::schema_of`] that of an object's.
    pub fn schema_of_type<'n>(
        &self,
        database: &'n Database,
        name: &'n tsql::ast::ObjectName,
    ) -> &'n str {
        let first = self.identity.rights.default_schema(database);
        database.schema_of_type(name.schema.as_deref(), first, &name.object)
    }

    /// Finds a procedure in the current catalog.
    pub fn find_procedure(
        &self,
        database: &str,
        schema: &str,
        name: &str,
    ) -> Option<Arc<ProcedureDef>> {
        self.catalog.find_procedure(database, schema, name).map(Arc::clone)
    }

    /// Returns the session's identification for storage.
    pub fn tag(&self) -> storage::SessionTag {
        let deadlock_priority = self.options.deadlock_priority;
        let plan = self.catalog.version;
        storage::SessionTag { number: session_number(self.connection.id), deadlock_priority, plan }
    }

    /// Forgets the transaction once storage has ended it, and releases its locks.
    pub fn end_transaction(&mut self) {
        // A commit has kept its definitions before this call.
        self.undo_definitions();
        self.transaction = TransactionState::default();
        emit::lock::released_all(self, LockScope::Transaction);
        self.locks.owner().end_transaction();
        self.locks.end_transaction(self.instance.store.locks());
    }

    /// Acquires a lock, waiting for it if needed.
    pub fn acquire_lock(
        &mut self,
        key: &LockKey,
        wanted: (LockScope, LockMode),
        patience: Patience<'_>,
    ) -> Acquired {
        let asked = emit::lock::asked();
        let acquired = self.locks.acquire(self.instance.store.locks(), key, wanted, patience);
        emit::lock::answered(self, &asked, key, wanted, acquired);
        acquired
    }

    /// Releases a lock; returns whether it was held.
    pub fn release_lock(&mut self, key: &LockKey, scope: LockScope) -> bool {
        emit::lock::released(self, key, scope);
        self.locks.release(self.instance.store.locks(), key, scope)
    }

    /// Converts an error of storage to the client's error.
    pub fn storage_error(&self, error: &storage::Error) -> Error {
        match error {
            storage::Error::Deadlock => {
                self.accounting.counters.count(SessionCounter::Deadlocks);
                Msg::DeadlockVictim(i32::from(self.connection.id)).into()
            }
            storage::Error::Cancelled => cancelled(),
            storage::Error::LogFull => Msg::LogFull(&self.identity.database, "DISK_FULL").into(),
            storage::Error::LogFailed => Msg::LogNotAvailable(&self.identity.database).into(),
            other => other
                .clone()
                .into_message(i32::from(self.connection.id))
                .unwrap_or_else(|_| Msg::InternalError.into()),
        }
    }

    /// Rolls back any open transaction without a message to the client: at reset and at the end.
    pub fn roll_back_silently(&mut self) {
        if let Some(active) = self.transaction.active.take() {
            Transaction::rollback(active);
            self.accounting.counters.count(SessionCounter::Aborts);
        }
        self.end_transaction();
    }
}

/// Returns the number that storage and the machine use for a session.
pub fn session_number(id: i16) -> u32 {
    u32::from(id.cast_unsigned())
}

/// Returns the session id of such a number.
pub fn session_id(number: u32) -> Option<i16> {
    u16::try_from(number).ok().map(u16::cast_signed)
}
