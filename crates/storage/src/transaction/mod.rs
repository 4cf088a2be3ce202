//! `Transaction`: what a statement or an explicit transaction reads and writes, and how it ends.
//!
//! Its methods take `&self`, so rows that it returned stay borrowed and valid while it writes. What
//! invalidates them (next statement, rollback to a savepoint, restart) takes `&mut self`, and
//! commit and rollback consume it. It is `Send` and not `Sync`: one request at a time, on any
//! thread.
//!
//! | file | what it is about |
//! |---|---|
//! | `mod.rs` | the life of a transaction: snapshots, statements, savepoints |
//! | `end.rs` | commit and rollback, and where they pause |
//! | `write.rs` | insert, claim, update, delete, and what a conflict makes of each |
//! | `read_row.rs` | reading one row as a lock hint says |
//! | `row_locks.rs` | row and key-range locks of REPEATABLE READ, SERIALIZABLE and table locks |
//! | `picks.rs` | whether several transactions pick among the rows of one table |
//! | `wait.rs` | waiting for another transaction, and deadlocks among transactions without a session |
//! | `validate.rs` | what memory-optimized tables check at commit |
//! | `undo.rs` | one write: taking it back, or stamping it with the commit time |
//! | `writes.rs` | the list of them, in pieces |
//! | `row_ref.rs` | the row version that a caller has read |
//!
//! This folder does not know how rows are found: scans and lookups are in `access/` and call
//! `read_row.rs`. Which version is visible is decided in `version/visibility.rs`.

mod end;
mod picks;
mod read_row;
mod row_locks;
mod row_ref;
mod undo;
mod validate;
mod wait;
mod write;
mod writes;

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::durability::{Lost, note};
use crate::index::Index;
use crate::primitives::{
    Cancel, Clock, Guard, Mutant, Timestamp, is_mutant, let_others_run, pin, retire_arc,
};
use crate::row_group::{ColumnIndexId, ColumnView, KeptViews};
use crate::spec::{
    Bounds, Error, IndexId, Isolation, Read, Result, RowLock, Scope, SessionTag, TableId,
    TableKind, TransactionOptions,
};
use crate::store::{Mistake, Need, Slot, Store, Table};
use crate::transaction::end::Locks;
use crate::transaction::row_locks::{Holds, hold_of};
use crate::transaction::undo::{Write, WriteKind};
use crate::transaction::validate::{RangeRead, RowRead};
use crate::transaction::writes::{PIECE, Writes};
use crate::version::{
    Begin, Blocker, Pace, TxState, TxStatus, Version, View, announce_undo, announce_withdrawal,
};

pub use picks::Pick;
pub(crate) use row_ref::Basis;
pub use row_ref::{Claim, RowRef};
pub(crate) use wait::{Patience, wait_for};

/// A point in a transaction to which its writes can be rolled back.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    writes: usize,
}

/// A transaction. Dropping it rolls it back.
pub struct Transaction {
    store: Arc<Store>,
    scope: Cell<Scope>,
    patience: Patience,
    /// Whether its commit does not wait for the log.
    is_lazy: bool,
    /// On the heap, since a statement moves its transaction several times.
    inner: Box<RefCell<Inner>>,
}

// SAFETY: the raw pointers in `Inner` are to heads and versions that the transaction's snapshot and
// its own writes keep alive, whichever thread reads them; nothing in it belongs to a thread.
unsafe impl Send for Transaction {}

#[derive(Default)]
struct Inner {
    /// Made by the first write or row lock.
    state: Option<Arc<TxState>>,
    /// In a reader: the state of the transaction that it reads for.
    lent: Option<Arc<TxState>>,
    is_reader: bool,
    slot: Option<Slot>,
    transaction_snapshot: Option<Timestamp>,
    statement_snapshot: Option<Timestamp>,
    command: u32,
    writes: Writes,
    reads: Vec<RowRead>,
    ranges: Vec<RangeRead>,
    doomed: bool,
    /// The statement's views of columnstore indexes.
    views: KeptViews,
    /// Row locks on rows and ranges that it has not changed.
    holds: Holds,
    /// The tables among whose rows its statements have picked.
    picks: Vec<picks::Note>,
    /// Copies of other transactions' uncommitted versions that this statement has read.
    copies: Vec<NonNull<Version>>,
    /// The transaction that was in the way when `Error::Restart` was returned.
    blocker: Option<Blocker>,
}

impl Inner {
    /// Returns the state that makes versions the transaction's own.
    fn me(&self) -> *const TxState {
        self.state.as_ref().or(self.lent.as_ref()).map_or(std::ptr::null(), Arc::as_ptr)
    }
}

impl Transaction {
    pub(crate) fn new(store: Arc<Store>, options: TransactionOptions) -> Self {
        let TransactionOptions { scope, lock_timeout_ms, cancel, session, is_lazy } = options;
        let patience = Patience { timeout_ms: lock_timeout_ms, cancel, session };
        let inner = Inner { command: 1, ..Inner::default() };
        Self {
            store,
            scope: Cell::new(scope),
            patience,
            is_lazy,
            inner: Box::new(RefCell::new(inner)),
        }
    }

    /// Makes a transaction that sees what this one does and owns nothing. [`crate::Reader`] wraps
    /// it, so it neither outlives this one nor ends as a transaction does.
    pub(crate) fn lend(&self) -> Self {
        let inner = self.inner.borrow();
        let lent = Inner {
            lent: inner.state.clone(),
            is_reader: true,
            slot: inner.slot,
            transaction_snapshot: inner.transaction_snapshot,
            statement_snapshot: inner.statement_snapshot,
            command: inner.command,
            views: inner.views.clone(),
            ..Inner::default()
        };
        Self {
            store: Arc::clone(&self.store),
            scope: self.scope.clone(),
            patience: self.patience.clone(),
            is_lazy: self.is_lazy,
            inner: Box::new(RefCell::new(lent)),
        }
    }

    /// Drops what [`Self::lend`] has lent.
    pub(crate) fn forget(&mut self) {
        let inner = self.inner.get_mut();
        assert!(inner.state.is_none() && inner.writes.is_empty(), "a reader writes nothing");
        inner.slot = None;
        inner.lent = None;
    }

    /// Begins the next statement: it sees what this transaction wrote before and, under READ
    /// COMMITTED, a new snapshot. Call it before every statement but the first.
    pub fn next_statement(&mut self) {
        let inner = self.inner.get_mut();
        inner.command += 1;
        inner.statement_snapshot = None;
        inner.views.clear();
        drop_copies(&mut inner.copies);
        if self.store.shared().makes(Mistake::EarlyRelease)
            && let Some(state) = &inner.state
        {
            inner.holds.end(state);
            announce_withdrawal(state);
        }
    }

    /// Ends a statement while the transaction stays open, for as long as its client likes. If it
    /// has only read, and its next statement takes a new snapshot, its snapshot is released. So an
    /// idle transaction under READ COMMITTED delays no garbage collection.
    pub fn rest(&mut self) {
        let inner = self.inner.get_mut();
        inner.statement_snapshot = None;
        inner.views.clear();
        drop_copies(&mut inner.copies);
        // What it has written or locked is in tables, which must stay until it has ended.
        let owns_nothing = inner.state.is_none() || is_mutant(Mutant::WrittenTableFreed);
        let has_tracked = !inner.reads.is_empty() || !inner.ranges.is_empty();
        let keeps = !owns_nothing || has_tracked || inner.transaction_snapshot.is_some();
        if let Some(slot) = inner.slot.take_if(|_| !keeps) {
            slot.release();
        }
    }

    /// Sets SET LOCK_TIMEOUT for later waits, in milliseconds; `None` for no limit.
    pub fn set_lock_timeout(&mut self, lock_timeout_ms: Option<u32>) {
        self.patience.timeout_ms = lock_timeout_ms;
    }

    /// Sets whether the commit does not wait for the log (delayed durability).
    pub fn set_lazy(&mut self, is_lazy: bool) {
        self.is_lazy = is_lazy;
    }

    /// Sets the version of the catalog that later statements are planned for.
    pub fn set_plan(&mut self, plan: u64) {
        self.patience.session.plan = plan;
    }

    /// Returns the session that runs the transaction.
    pub(crate) fn session(&self) -> SessionTag {
        self.patience.session
    }

    /// Returns the limits of its waits.
    pub(crate) fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Returns the address of its state, which its versions hold; null before the first write.
    pub(crate) fn state_address(&self) -> *const TxState {
        self.inner.borrow().state.as_ref().map_or(std::ptr::null(), Arc::as_ptr)
    }

    /// Returns whether the transaction has written to a table.
    pub(crate) fn has_written_to(&self, table: &Table) -> bool {
        self.inner.borrow().writes.iter().any(|write| write.is_to(table))
    }

    /// Sets SET DEADLOCK_PRIORITY for later waits.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.patience.session.deadlock_priority = priority;
    }

    /// Returns the current point, for [`Self::rollback_to`].
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { writes: self.inner.borrow().writes.len() }
    }

    /// Rolls back all writes since `savepoint`. Claimed rows stay owned.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.undo_from(savepoint.writes, Locks::Keep);
        if let Some(state) = &self.inner.get_mut().state {
            announce_undo(state);
        }
    }

    /// Rolls back all writes since `savepoint`, and gives up the rows that were claimed since, for a
    /// statement that begins again; also after [`crate::Error::Deadlock`].
    pub fn withdraw_to(&mut self, savepoint: Savepoint) {
        self.undo_from(savepoint.writes, Locks::Release);
        self.inner.get_mut().doomed = false;
        if let Some(state) = &self.inner.get_mut().state {
            announce_undo(state);
        }
    }

    /// After [`crate::Error::Restart`]: rolls everything back, waits for the transaction that was
    /// in the way while owning nothing, and starts again.
    pub fn restart(&mut self) -> Result<()> {
        self.end(TxStatus::Aborted);
        let blocker = self.inner.get_mut().blocker.take();
        *self.inner.get_mut() = Inner { command: 1, ..Inner::default() };
        let Some(blocker) = blocker else { return Ok(()) };
        wait_for(&self.store.shared().locks, None, blocker, &self.patience)
    }

    /// Returns whether an error has made commit impossible (`XACT_STATE() = -1`).
    pub fn is_doomed(&self) -> bool {
        self.inner.borrow().doomed
    }

    /// Returns whether the transaction has written anything.
    pub fn has_written(&self) -> bool {
        self.inner.borrow().writes.iter().any(|write| write.kind != WriteKind::Lock)
    }

    /// Takes a slot, so that the versions of its snapshots are kept.
    pub(crate) fn ensure_slot(&self) {
        let inner = &mut *self.inner.borrow_mut();
        inner.slot.get_or_insert_with(|| self.store.shared().snapshots.acquire());
    }

    /// Returns the view of an access, and whether it is the statement's or the transaction's.
    pub(crate) fn view(&self, table: &Table, isolation: Isolation) -> (View, Basis) {
        let basis = match (self.scope.get(), table.kind(), isolation) {
            (Scope::Statement, _, _) | (_, _, Isolation::ReadCommitted) => Basis::Statement,
            (_, TableKind::Ordinary, Isolation::RepeatableRead | Isolation::Serializable) => {
                Basis::Statement
            }
            (Scope::Explicit, _, _) => Basis::Transaction,
        };
        self.ensure_slot();
        let clock = &self.store.shared().clock;
        let inner = &mut *self.inner.borrow_mut();
        let slot = inner.slot.expect("ensured above");
        let fixed = match basis {
            Basis::Statement => inner.statement_snapshot,
            Basis::Transaction => inner.transaction_snapshot,
        };
        assert!(!inner.is_reader || fixed.is_some(), "a reader's snapshots are fixed before");
        let snapshot = match basis {
            Basis::Statement => *inner
                .statement_snapshot
                .get_or_insert_with(|| slot.take(clock, inner.transaction_snapshot)),
            Basis::Transaction => *inner
                .transaction_snapshot
                .get_or_insert_with(|| slot.take(clock, inner.statement_snapshot)),
        };
        let me = inner.me();
        let lost = table.lost();
        (View { me, command: inner.command, snapshot, is_dirty: false, lost }, basis)
    }

    /// Like [`Self::view`], for a read. Rows that are locked are read as they are now, because no
    /// other transaction can change them.
    pub(crate) fn view_of(&self, table: &Table, read: Read) -> (View, Basis) {
        let (mut view, basis) = self.view(table, read.isolation);
        if hold_of(table, read).is_some() {
            // Later than the snapshots of the slot, so the versions that it sees are kept as well.
            view.snapshot = self.clock().snapshot();
        }
        view.is_dirty = read.lock == RowLock::Dirty;
        (view, basis)
    }

    /// Like [`Self::view_of`], for an access that may read many rows or none: notes what is visible
    /// when the snapshot has been taken. A [`crate::Reader`] notes nothing: its leader has done so.
    pub(crate) fn noted_view(&self, table: &Table, read: Read) -> (View, Basis) {
        if is_mutant(Mutant::BarrierBeforeSnapshot) {
            table.note_barrier();
            return self.view_of(table, read);
        }
        let from = self.view_of(table, read);
        if table.durable.is_some() && !self.is_lent() {
            table.note_barrier_of(from.0.lost);
        }
        from
    }

    /// Notes everything that is visible now, in all tables.
    pub(crate) fn note_all(&self) {
        let shared = self.store.shared();
        if let Some(log) = self.store.log()
            && shared.lost().is_nothing()
        {
            note(log.barrier());
        }
    }

    /// Notes what a read of one row depends on: its version, or that there is none.
    pub(crate) fn note_found(&self, table: &Table, lost: Lost, row: Option<&Version>) {
        if table.durable.is_none() || self.is_lent() {
            return;
        }
        match row {
            Some(version) => table.note_version(version),
            None => table.note_barrier_of(lost),
        }
    }

    /// Returns whether such a read of the table must be remembered: it claims or locks rows, or
    /// validates them at commit.
    pub(crate) fn remembers(&self, table: &Table, read: Read) -> bool {
        let is_lock = !matches!(read.lock, RowLock::None | RowLock::Dirty);
        is_lock || hold_of(table, read).is_some() || self.is_tracked(table, read.isolation)
    }

    /// Returns the state under which the transaction writes; null if it has written nothing.
    pub(crate) fn me(&self) -> *const TxState {
        self.inner.borrow().me()
    }

    /// Returns the statement's view of a table's columnstore index, if it has one.
    pub(crate) fn known_view(&self, index: (TableId, ColumnIndexId)) -> Option<&ColumnView> {
        let inner = self.inner.borrow();
        let (_, view) = inner.views.iter().find(|(of, _)| *of == index)?;
        // SAFETY: views are dropped by the next statement and by the end, which take `&mut self`.
        Some(unsafe { &*Arc::as_ptr(view) })
    }

    /// Returns whether this belongs to a [`crate::Reader`].
    pub(crate) fn is_lent(&self) -> bool {
        self.inner.borrow().is_reader
    }

    /// Keeps a view of a columnstore index until the statement ends.
    pub(crate) fn keep_view(
        &self,
        index: (TableId, ColumnIndexId),
        view: ColumnView,
    ) -> &ColumnView {
        let view = Arc::new(view);
        let kept = Arc::as_ptr(&view);
        self.inner.borrow_mut().views.push((index, view));
        // SAFETY: as in `known_view`.
        unsafe { &*kept }
    }

    /// Waits until there is memory for another row of a table. The caller holds no pin.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Cancelled`].
    #[inline]
    pub(crate) fn wait_for_memory(&self, table: &Table, pace: Pace) -> Result<()> {
        let need = table.need();
        if need.check().is_ok() || pace == Pace::Brief {
            return Ok(());
        }
        self.look_from_now();
        need.wait(self.patience.cancel.as_deref())
    }

    /// Waits until there is memory for another row lock or range lock: a transaction may have one for
    /// each row that it reads. The caller holds no pin.
    ///
    /// # Errors
    /// [`Error::OutOfLocks`]; [`Error::Cancelled`].
    #[inline]
    pub(crate) fn wait_for_lock_memory(&self, pace: Pace) -> Result<()> {
        if Need::Work.check().is_ok() || pace == Pace::Brief {
            return Ok(());
        }
        self.wait_for_lock_bytes(0)
    }

    /// Waits until there is memory for `bytes` of row locks at once. The caller holds no pin.
    ///
    /// # Errors
    /// As [`Self::wait_for_lock_memory`].
    #[cold]
    pub(crate) fn wait_for_lock_bytes(&self, bytes: usize) -> Result<()> {
        self.look_from_now();
        match Need::wait_for_bytes(bytes, self.patience.cancel.as_deref()) {
            Err(Error::OutOfMemory) => Err(Error::OutOfLocks),
            other => other,
        }
    }

    /// Waits until there is memory to delete a row, where the reserve is used up: what was deleted
    /// before may not have been freed yet. The caller holds no pin.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Cancelled`].
    #[inline]
    pub(crate) fn wait_for_removal(&self, pace: Pace) -> Result<()> {
        if Need::Removal.check().is_ok() || pace == Pace::Brief {
            return Ok(());
        }
        self.look_from_now();
        match Need::Removal.wait(self.patience.cancel.as_deref()) {
            // Something of the reserve is enough.
            Err(Error::OutOfMemory) => Need::Removal.check(),
            other => other,
        }
    }

    /// Releases versions that only earlier statements could see, if this one has not read yet.
    #[cold]
    fn look_from_now(&self) {
        let inner = &mut *self.inner.borrow_mut();
        let has_looked = inner.transaction_snapshot.is_some() || inner.statement_snapshot.is_some();
        if let (Some(slot), false) = (inner.slot, has_looked) {
            slot.take(self.clock(), None);
        }
    }

    /// Returns the store's clock.
    pub(crate) fn clock(&self) -> &Clock {
        &self.store.shared().clock
    }

    /// Finds an index; the reference is valid while the transaction's snapshot is held.
    pub(crate) fn index_of<'t>(&'t self, table: &'t Table, index: IndexId) -> Result<&'t Index> {
        debug_assert!(self.inner.borrow().slot.is_some(), "view() has taken a slot");
        let guard = pin();
        let index: &Index = table.index(index, &guard)?;
        // SAFETY: a dropped index is freed when the snapshots of its time are gone.
        Ok(unsafe { &*std::ptr::from_ref(index) })
    }

    /// Lets other requests run if this one has held its scheduler for a quantum, which is also when a
    /// cancellation arrives. For loops that pass no rows to the executor; the caller may hold pins.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    #[inline]
    pub(crate) fn pause(&self) -> Result<()> {
        self.inner.borrow().pause();
        let cancel = self.patience.cancel.as_deref();
        if cancel.is_some_and(Cancel::is_set) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Waits for another transaction while keeping its own rows.
    pub(crate) fn wait_for(&self, other: Blocker) -> Result<()> {
        let state = self.inner.borrow().state.clone();
        let waited = wait_for(&self.store.shared().locks, state.as_deref(), other, &self.patience);
        let guard = pin();
        if let Some(state) = state {
            retire_arc(&guard, state);
        }
        if waited == Err(Error::Deadlock) {
            self.inner.borrow_mut().doomed = true;
        }
        waited
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope.get()
    }

    pub(crate) fn set_scope(&self, scope: Scope) {
        self.scope.set(scope);
    }

    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        self.store.shared().makes(mistake)
    }

    /// Runs `change` on the transaction's row locks.
    pub(crate) fn with_holds<R>(&self, change: impl FnOnce(&mut Holds) -> R) -> R {
        change(&mut self.inner.borrow_mut().holds)
    }

    /// Keeps a copy of a version until the statement ends.
    pub(crate) fn keep_copy(&self, copy: NonNull<Version>) {
        self.inner.borrow_mut().copies.push(copy);
    }

    pub(crate) fn command(&self) -> u32 {
        self.inner.borrow().command
    }

    pub(crate) fn owns_nothing(&self) -> bool {
        self.inner.borrow().writes.is_empty()
    }

    pub(crate) fn push_write(&self, write: Write) {
        self.inner.borrow_mut().writes.push(write);
    }

    /// Makes commit impossible; returns the error.
    pub(crate) fn doom(&self, error: Error) -> Error {
        self.inner.borrow_mut().doomed = true;
        error
    }

    /// Records the transaction that is in the way, for `restart` to wait for.
    pub(crate) fn restart_behind(&self, other: Blocker) -> Error {
        self.inner.borrow_mut().blocker = Some(other);
        Error::Restart
    }

    /// Returns the state that own versions refer to; the first write makes it.
    pub(crate) fn writing_state(&self) -> Result<Arc<TxState>> {
        self.ensure_slot();
        let inner = &mut *self.inner.borrow_mut();
        assert!(!inner.is_reader, "a reader writes nothing");
        if inner.doomed {
            return Err(Error::Doomed);
        }
        inner.writes.ask()?;
        Ok(Arc::clone(
            inner
                .state
                .get_or_insert_with(|| TxState::new(self.patience.session.number, Pace::Any)),
        ))
    }

    /// Makes the state of a transaction that ends at once ([`Pace::Brief`]).
    pub(crate) fn begin_briefly(&self) -> Result<()> {
        self.ensure_slot();
        let state = TxState::new(self.patience.session.number, Pace::Brief);
        let before = self.inner.borrow_mut().state.replace(state);
        assert!(before.is_none(), "it has not written yet");
        Ok(())
    }

    pub(crate) fn note_row(&self, row: RowRef<'_>, isolation: Isolation) {
        let is_tracked = self.is_tracked(row.table, isolation);
        let inner = &mut *self.inner.borrow_mut();
        if is_tracked && !is_own(row.version, inner) {
            inner.reads.push(RowRead { head: row.head, version: row.version });
        }
    }

    /// Records a range of keys that was read, if commit has to validate it.
    pub(crate) fn note_range(
        &self,
        table: &Table,
        index: Option<IndexId>,
        bounds: Bounds<'_>,
        isolation: Isolation,
    ) {
        if isolation != Isolation::Serializable || !self.is_tracked(table, isolation) {
            return;
        }
        let (view, _) = self.view(table, isolation);
        let range = RangeRead::new(table, index, bounds, view.snapshot);
        self.inner.borrow_mut().ranges.push(range);
    }

    fn is_tracked(&self, table: &Table, isolation: Isolation) -> bool {
        self.scope.get() == Scope::Explicit
            && table.kind() == TableKind::MemoryOptimized
            && isolation >= Isolation::RepeatableRead
    }
}

/// Frees copies of versions that only this transaction has seen.
fn drop_copies(copies: &mut Vec<NonNull<Version>>) {
    for (number, copy) in copies.drain(..).enumerate() {
        if number % PIECE == PIECE - 1 {
            let_others_run();
        }
        // SAFETY: made by `Version::allocate` for this transaction alone; the borrows have ended.
        unsafe { Version::free(copy) };
    }
}

fn is_own(version: &Version, inner: &Inner) -> bool {
    let me = inner.state.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
    version.begin() == Begin::Transaction(me)
}

impl Store {
    /// Begins a transaction. Writes nothing shared; the snapshot is taken at the first access.
    pub fn begin(self: &Arc<Self>, options: TransactionOptions) -> Transaction {
        Transaction::new(Arc::clone(self), options)
    }
}

impl Transaction {
    /// Fails with [`Error::Closed`] if the table's gate is closed to this transaction, and with
    /// [`Error::LogFailed`] if what it writes cannot become durable.
    #[inline]
    pub(crate) fn admit(&self, table: &Table, guard: &Guard) -> Result<()> {
        if !table.lost().is_nothing() {
            return Err(Error::LogFailed);
        }
        if table.index_set(guard).gate.admits(self.session()) {
            return Ok(());
        }
        self.admit_writer(table)
    }

    #[cold]
    fn admit_writer(&self, table: &Table) -> Result<()> {
        if self.has_written_to(table) { Ok(()) } else { Err(Error::Closed(table.id())) }
    }
}
