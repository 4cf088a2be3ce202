//! `CatalogCell`: the current catalog snapshot, and the only way to change it.
//!
//! Readers compare [`CatalogCell::version`] with the version they hold and take the lock only when
//! it differs. A change builds the next snapshot aside, one change at a time, and then swaps it in;
//! a change that fails leaves nothing behind.

use std::sync::Arc;

use sos::lock::{LatchClass, RwLatch, SpinClass, SpinLock};
use sos::memory::{MemoryClerk, with_clerk};
use sos::sync::{AtomicI64, AtomicU64, CachePadded, Ordering};
use types::Result;

use super::Catalog;

/// First object id of users' objects: SQL Server's are large and positive.
const OBJECT_ID_FIRST: i64 = 901_578_250;
/// `@@DBTS` of a fresh SQL Server database.
const ROW_VERSION_FIRST: i64 = 2_001;
/// Distance between object ids: as in SQL Server, they are not consecutive.
const OBJECT_ID_STEP: i64 = 16;

/// First version of a catalog that belongs to one session: above all shared versions.
const OWN_VERSION_FIRST: u64 = 1 << 63;

/// Returns the first value of NEWSEQUENTIALID(): the clock's ticks, so that a restart repeats none.
fn sequential_first() -> i64 {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    i64::from(days)
        .saturating_mul(864_000_000_000)
        .saturating_add(i64::try_from(ticks).unwrap_or(0))
}

/// The current catalog snapshot of an instance.
pub struct CatalogCell {
    /// On its own cache line: every request reads it, and the ids below are written now and then.
    version: CachePadded<AtomicU64>,
    /// The last version given to a session's private catalog.
    own_version: AtomicU64,
    current: SpinLock<Arc<Catalog>>,
    /// Held while a change builds the next snapshot, so that there is one at a time.
    changing: RwLatch<()>,
    object_id: AtomicI64,
    temporary_id: AtomicI64,
    storage_id: AtomicI64,
    row_version: AtomicI64,
    sequential_id: AtomicI64,
}

impl CatalogCell {
    /// Returns a cell that holds `catalog`.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            version: CachePadded::new(AtomicU64::new(catalog.version)),
            own_version: AtomicU64::new(OWN_VERSION_FIRST),
            current: SpinLock::new(SpinClass::CmedHashSet, Arc::new(catalog)),
            changing: RwLatch::new(LatchClass::Catalog, ()),
            object_id: AtomicI64::new(OBJECT_ID_FIRST),
            temporary_id: AtomicI64::new(-2),
            storage_id: AtomicI64::new(1),
            row_version: AtomicI64::new(ROW_VERSION_FIRST),
            sequential_id: AtomicI64::new(sequential_first()),
        }
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
        let mut next = Catalog::clone(&self.load());
        let done = edit(&mut next)?;
        next.version += 1;
        let version = next.version;
        let old = std::mem::replace(&mut *self.current.lock(), Arc::new(next));
        // Release: pairs with the Acquire in `version`.
        self.version.store(version, Ordering::Release);
        drop(changing);
        drop(old);
        Ok(done)
    }

    /// Allocates an id for an object of the catalog.
    pub fn next_object_id(&self) -> i32 {
        // Relaxed: only uniqueness is needed.
        let id = self.object_id.fetch_add(OBJECT_ID_STEP, Ordering::Relaxed);
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
        // Relaxed: only uniqueness is needed.
        let version = self.row_version.fetch_add(1, Ordering::Relaxed);
        types::Value::VarBinary(types::Bytes::copy_from(&version.to_be_bytes()))
    }

    /// Returns the rowversion allocated last.
    pub fn last_row_version(&self) -> types::Value {
        // Relaxed: `@@DBTS` may miss one that another session allocates at the same time.
        let version = self.row_version.load(Ordering::Relaxed) - 1;
        types::Value::VarBinary(types::Bytes::copy_from(&version.to_be_bytes()))
    }

    /// Returns the next value of NEWSEQUENTIALID(): each sorts after the one before in the order of
    /// `uniqueidentifier`, which compares the last bytes first. Its version field is that of a
    /// time-based identifier.
    pub fn next_sequential_id(&self) -> types::Value {
        // Relaxed: only uniqueness is needed.
        let [a, b, c, d, e, f, g, h] =
            self.sequential_id.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        types::Value::UniqueIdentifier([
            e, f, g, h, c, d, a, b, 0x80, 0, b'C', b'l', b'r', b'w', b'a', b'y',
        ])
    }

    /// Allocates an id for a storage table; a table that is created again gets another one.
    pub fn next_storage_id(&self) -> storage::TableId {
        // Relaxed: only uniqueness is needed.
        let id = self.storage_id.fetch_add(1, Ordering::Relaxed);
        storage::TableId(u32::try_from(id).unwrap_or(u32::MAX))
    }
}
