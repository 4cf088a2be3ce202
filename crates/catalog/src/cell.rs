//! `CatalogCell`: the current catalog snapshot, and the only way to change it.
//!
//! Readers compare [`CatalogCell::version`] with the version they hold and take the lock only when
//! it differs. A change builds the next snapshot aside, one change at a time, and then swaps it in;
//! a change that fails leaves nothing behind. The listener sees each change before readers do, so
//! that a definition is in the log before any row or reply depends on it.

use std::sync::Arc;

use sos::lock::{LatchClass, RwLatch, SpinClass, SpinLock};
use sos::memory::{MemoryClerk, with_clerk};
use sos::sync::{AtomicI64, AtomicU64, CachePadded, Ordering};
use types::Result;

use super::counter::{CounterKey, CounterLog, LogSlot, Reserved, Upto};
use super::{Catalog, Counter};

/// First object id of users' objects: SQL Server's are large and positive.
const OBJECT_ID_FIRST: i64 = 901_578_250;
/// `@@DBTS` of a fresh SQL Server database.
const ROW_VERSION_FIRST: i64 = 2_001;
/// Distance between object ids: as in SQL Server, they are not consecutive.
const OBJECT_ID_STEP: i64 = 16;
/// Object ids that one record in the log reserves.
const OBJECT_ID_BLOCK: i64 = 1_024 * OBJECT_ID_STEP;
/// Storage ids that one record in the log reserves. Temporary tables take them, too.
const STORAGE_ID_BLOCK: i64 = 4_096;
/// Rowversions that one record in the log reserves.
const ROW_VERSION_BLOCK: i64 = 10_000;
/// Values of NEWSEQUENTIALID() that one record in the log reserves: a tenth of a second of ticks.
const SEQUENTIAL_ID_BLOCK: i64 = 1_000_000;

/// First version of a catalog that belongs to one session: above all shared versions.
const OWN_VERSION_FIRST: u64 = 1 << 63;

/// Returns the first value of NEWSEQUENTIALID(): the clock's ticks, so that a restart repeats none.
fn sequential_first() -> i64 {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    i64::from(days)
        .saturating_mul(864_000_000_000)
        .saturating_add(i64::try_from(ticks).unwrap_or(0))
}

/// Called with the snapshot before a change and the one after it, before the latter is published.
/// If it fails, the change fails and nothing has changed.
pub type Listener = Box<dyn Fn(&Catalog, &Catalog) -> Result<()> + Send + Sync>;

/// The current catalog snapshot of an instance.
pub struct CatalogCell {
    /// On its own cache line: every request reads it, and the ids below are written now and then.
    version: CachePadded<AtomicU64>,
    /// The last version given to a session's private catalog.
    own_version: AtomicU64,
    current: SpinLock<Arc<Catalog>>,
    /// Held while a change builds the next snapshot, so that there is one at a time.
    changing: RwLatch<Option<Listener>>,
    /// The log in which counters reserve their values, if the instance has one.
    log: LogSlot,
    object_id: Reserved,
    temporary_id: AtomicI64,
    storage_id: Reserved,
    row_version: Reserved,
    sequential_id: Reserved,
}

impl CatalogCell {
    /// Returns a cell that holds `catalog`.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            version: CachePadded::new(AtomicU64::new(catalog.version)),
            own_version: AtomicU64::new(OWN_VERSION_FIRST),
            current: SpinLock::new(SpinClass::CmedHashSet, Arc::new(catalog)),
            changing: RwLatch::new(LatchClass::Catalog, None),
            log: LogSlot::new(),
            object_id: Reserved::new(CounterKey::ObjectId, OBJECT_ID_FIRST, OBJECT_ID_BLOCK),
            temporary_id: AtomicI64::new(-2),
            storage_id: Reserved::new(CounterKey::StorageId, 1, STORAGE_ID_BLOCK),
            row_version: Reserved::new(
                CounterKey::RowVersion,
                ROW_VERSION_FIRST,
                ROW_VERSION_BLOCK,
            ),
            sequential_id: Reserved::new(
                CounterKey::SequentialId,
                sequential_first(),
                SEQUENTIAL_ID_BLOCK,
            ),
        }
    }

    /// Calls `listener` in each later change, before the change is published. A change that
    /// [`Self::restore`] makes is not announced.
    pub fn set_listener(&self, listener: Listener) {
        *self.changing.write() = Some(listener);
    }

    /// Makes all counters reserve their values in a log. To be called once, before the first table
    /// is made: tables and sequences take the log when they are made.
    pub fn set_counter_log(&self, log: Arc<dyn CounterLog>) {
        if self.log.set(log).is_ok() {
            for counter in self.counters() {
                counter.attach();
            }
        }
    }

    /// Returns the log in which counters reserve their values, if there is one.
    pub fn counter_log(&self) -> Option<&Arc<dyn CounterLog>> {
        self.log.get()
    }

    fn counters(&self) -> [&Reserved; 4] {
        [&self.object_id, &self.storage_id, &self.row_version, &self.sequential_id]
    }

    /// Sets the instance's counters to what recovery has read from the log. Those of tables and
    /// sequences are not here: see [`crate::IdentityCounter::restore`] and
    /// [`crate::Counter::restore`].
    pub fn restore_counters(&self, read: impl IntoIterator<Item = (CounterKey, Upto)>) {
        for (key, upto) in read {
            match key {
                CounterKey::ObjectId => self.object_id.restore(upto),
                CounterKey::StorageId => self.storage_id.restore(upto),
                CounterKey::RowVersion => self.row_version.restore(upto),
                CounterKey::SequentialId => self.sequential_id.restore(upto),
                CounterKey::Identity(_) | CounterKey::Sequence(_) => {}
            }
        }
    }

    /// Makes new objects get ids beyond this one, which the restored catalog has.
    pub fn beyond_object_id(&self, id: i32) {
        self.object_id.restore(Upto::at(i64::from(id) + OBJECT_ID_STEP));
    }

    /// Returns the positions of the instance's counters for a checkpoint: behind the reserved
    /// values, or exact when the server stops and no value will be taken any more.
    pub fn counter_positions(&self, exact: bool) -> impl Iterator<Item = (CounterKey, Upto)> {
        self.counters().into_iter().map(move |counter| counter.position(exact))
    }

    /// Publishes the catalog that recovery has built, without a call of the listener.
    pub fn restore(&self, catalog: Catalog) {
        let changing = self.changing.write();
        self.publish(catalog);
        drop(changing);
    }

    /// Runs `read` on the current snapshot while no change is between its record in the log and its
    /// publication.
    pub fn while_unchanged<T>(&self, read: impl FnOnce(&Catalog) -> T) -> T {
        let changing = self.changing.write();
        let result = read(&self.load());
        drop(changing);
        result
    }

    /// Returns the version of the current snapshot: one load.
    pub fn version(&self) -> u64 {
        // Acquire: pairs with the Release in `change`, so that `load` gives at least this version.
        self.version.load(Ordering::Acquire)
    }

    /// Allocates a version for a catalog that belongs to one session: no other session's plan has
    /// it.
    pub fn next_own_version(&self) -> u64 {
        // Relaxed: only uniqueness is needed.
        self.own_version.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the current snapshot.
    pub fn load(&self) -> Arc<Catalog> {
        Arc::clone(&self.current.lock())
    }

    /// Changes a copy of the catalog and publishes it as the next version. Returns what `edit`
    /// returned; if it failed, nothing has changed.
    pub fn change<T>(&self, edit: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        with_clerk(MemoryClerk::Metadata, || self.change_booked(edit))
    }

    fn change_booked<T>(&self, edit: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        let changing = self.changing.write();
        let base = self.load();
        let mut next = Catalog::clone(&base);
        let done = edit(&mut next)?;
        if let Some(listener) = &*changing {
            listener(&base, &next)?;
        }
        self.publish(next);
        drop(changing);
        drop(base);
        Ok(done)
    }

    /// Changes parts of the catalog that no plan depends on: the history of backups. The version
    /// stays as it is, so that no session binds its plans again; sessions read these parts with
    /// [`Self::load`].
    pub fn change_aside<T>(&self, edit: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        with_clerk(MemoryClerk::Metadata, || {
            let changing = self.changing.write();
            let base = self.load();
            let mut next = Catalog::clone(&base);
            let done = edit(&mut next)?;
            if let Some(listener) = &*changing {
                listener(&base, &next)?;
            }
            let old = std::mem::replace(&mut *self.current.lock(), Arc::new(next));
            drop(changing);
            drop(old);
            Ok(done)
        })
    }

    /// Swaps in the next snapshot; the caller holds `changing`.
    fn publish(&self, mut next: Catalog) {
        next.version = self.version() + 1;
        let version = next.version;
        let old = std::mem::replace(&mut *self.current.lock(), Arc::new(next));
        // Release: pairs with the Acquire in `version`.
        self.version.store(version, Ordering::Release);
        drop(old);
    }

    /// Allocates an id for an object of the catalog.
    pub fn next_object_id(&self) -> i32 {
        let id = self.object_id.take(OBJECT_ID_STEP, &self.log);
        i32::try_from(id).unwrap_or(i32::MAX)
    }

    /// Allocates an id for a temporary table; it is negative.
    pub fn next_temporary_id(&self) -> i32 {
        // Relaxed: only uniqueness is needed.
        let id = self.temporary_id.fetch_sub(1, Ordering::Relaxed);
        i32::try_from(id).unwrap_or(i32::MIN)
    }

    /// Allocates a rowversion: 8 bytes, each larger than the one before.
    pub fn next_row_version(&self) -> types::Value {
        let version = self.row_version.take(1, &self.log);
        types::Value::VarBinary(types::Bytes::copy_from(&version.to_be_bytes()))
    }

    /// Returns the rowversion allocated last. A client may keep it and ask for rows above it, so
    /// the reply waits until the log has it.
    pub fn last_row_version(&self) -> types::Value {
        // `@@DBTS` may miss one that another session allocates at the same time.
        let version = self.row_version.peek() - 1;
        self.row_version.wait(&self.log);
        types::Value::VarBinary(types::Bytes::copy_from(&version.to_be_bytes()))
    }

    /// Returns the next value of NEWSEQUENTIALID(): each sorts after the one before in the order of
    /// `uniqueidentifier`, which compares the last bytes first. Its version field is that of a
    /// time-based identifier.
    pub fn next_sequential_id(&self) -> types::Value {
        let [a, b, c, d, e, f, g, h] = self.sequential_id.take(1, &self.log).to_be_bytes();
        types::Value::UniqueIdentifier([
            e, f, g, h, c, d, a, b, 0x80, 0, b'C', b'l', b'r', b'w', b'a', b'y',
        ])
    }

    /// Makes the counter of a sequence: a new one, or one that RESTART sets back. `durable` is false
    /// for a sequence in tempdb.
    pub fn new_sequence_counter(&self, start: i64, durable: bool) -> Arc<Counter> {
        let log = self.counter_log().filter(|_| durable);
        Arc::new(Counter::new(self.next_object_id(), start, log))
    }

    /// Allocates an id for a storage table; a table that is created again gets another one.
    pub fn next_storage_id(&self) -> storage::TableId {
        let id = self.storage_id.take(1, &self.log);
        storage::TableId(u32::try_from(id).unwrap_or(u32::MAX))
    }
}
