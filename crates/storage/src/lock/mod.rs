//! The lock manager: named locks of applications (`sp_getapplock`) and of table schemas, in a hash
//! table of shards; and deadlock detection for sessions.
//!
//! Rows need no locks here: the transaction that has written one owns it (`version/`), and readers'
//! locks on rows are in `row_lock/`. So a request that asks for no named lock runs no code of this
//! folder, except while it waits for a row: `row.rs` adds that wait to the wait-for graph. A
//! request that must wait queues under its shard's lock and parks under its own address; the
//! session that grants it unparks it.
//!
//! It does not know tables or rows. Start with [`LockManager`] for the table, `resource.rs` for the
//! queue of one lock, `deadlock.rs` for the search of cycles and the choice of the victim.

mod deadlock;
mod mode;
mod owner;
mod resource;
mod row;
mod session;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use crate::lock::owner::WaitsFor;
use crate::lock::resource::{Asked, Resource};
use crate::primitives::{AtomicU64, CachePadded, Mutant, Ordering, SpinClass, SpinLock, is_mutant};
use crate::spec::TableId;
pub use deadlock::{Deadlock, DeadlockMember};
pub use mode::LockMode;
pub use owner::{LockOwner, RowWait, TransactionRow, Wanted};
pub use resource::{Decision, LockScope, Request};
pub(crate) use row::wait_for_row;
pub use session::{Acquired, Patience, SessionLocks};

/// The key of a named lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockKey {
    /// The id of the database that the lock belongs to.
    pub database: i32,
    /// The id of the database principal that may use the lock.
    pub principal: i32,
    /// The name of the lock, compared byte by byte.
    pub name: Arc<str>,
}

impl LockKey {
    /// The principal in the key of a table's schema lock, which belongs to no application.
    pub const SCHEMA: i32 = i32::MIN;

    /// Returns the key of a table's schema lock: held while the table is redefined, requested by
    /// sessions that wait for that.
    #[must_use]
    pub fn schema(table: TableId) -> Self {
        let name = booked(|| table.0.to_string().into());
        Self { database: 0, principal: Self::SCHEMA, name }
    }

    /// Returns the table whose schema this locks; `None` for an application's lock.
    #[must_use]
    pub fn table(&self) -> Option<TableId> {
        let is_schema = self.principal == Self::SCHEMA;
        is_schema.then(|| self.name.parse().ok().map(TableId)).flatten()
    }

    /// Returns the name of a mode of this lock, as `sys.dm_tran_locks` shows it.
    #[must_use]
    pub fn mode_name(&self, mode: LockMode) -> &'static str {
        match (self.table(), mode) {
            (None, mode) => mode.short_name(),
            (Some(_), LockMode::Exclusive) => "Sch-M",
            (Some(_), _) => "Sch-S",
        }
    }

    /// Returns the wait type of a wait for this lock.
    #[cfg(not(any(loom, shuttle)))]
    fn wait_type(&self, mode: LockMode) -> sos::wait::WaitType {
        match (self.principal == Self::SCHEMA, mode) {
            (false, mode) => mode.wait_type(),
            (true, LockMode::Exclusive) => sos::wait::WaitType::LockSchemaModify,
            (true, _) => sos::wait::WaitType::LockSchemaStability,
        }
    }
}

/// Shards of the table; a power of two.
const SHARDS: usize = if cfg!(any(test, shuttle)) { 2 } else { 64 };

/// The callback for each deadlock.
type Watch = Box<dyn Fn(&Deadlock) + Send + Sync>;

type Shard = SpinLock<HashMap<LockKey, Resource, foldhash::fast::FixedState>>;

/// The named locks of an instance.
pub struct LockManager {
    shards: [CachePadded<Shard>; SHARDS],
    /// The sessions that are logged in. Written at login and logout.
    owners: SpinLock<HashMap<u32, Arc<LockOwner>>>,
    hasher: foldhash::fast::FixedState,
    /// The number of waits so far, which numbers them.
    waits: AtomicU64,
    /// The callback for deadlocks, if one is registered.
    watch: OnceLock<Watch>,
    #[cfg(shuttle)]
    lot: sos::park::Lot,
}

/// A lock that is held or requested, as `sys.dm_tran_locks` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// The key of the lock.
    pub key: LockKey,
    /// The session id of the holder or requester.
    pub session: u32,
    /// What releases the lock: the end of the transaction or of the session.
    pub scope: LockScope,
    /// The mode that is held, or that was requested.
    pub mode: LockMode,
    /// Whether the lock is held or waited for.
    pub status: LockStatus,
    /// How often it was acquired.
    pub count: u32,
    /// The address of the request, under which its thread parks.
    pub address: usize,
    /// The ids of the sessions that block the request.
    pub blockers: Vec<u32>,
}

/// The status of a lock request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStatus {
    /// GRANT: the lock is held.
    Granted,
    /// CONVERT: held, and waiting for a stronger mode.
    Converting,
    /// WAIT: waiting for the lock.
    Waiting,
}

impl Default for LockManager {
    fn default() -> Self {
        let shard = || SpinLock::new(SpinClass::LockHash, HashMap::default());
        Self {
            shards: std::array::from_fn(|_| CachePadded::new(shard())),
            owners: SpinLock::new(SpinClass::LockHash, HashMap::new()),
            hasher: foldhash::fast::FixedState::default(),
            waits: AtomicU64::new(0),
            watch: OnceLock::new(),
            #[cfg(shuttle)]
            lot: sos::park::Lot::new(),
        }
    }
}

impl LockManager {
    /// Registers a session; its number must be free.
    pub fn open(&self, session: u32) -> SessionLocks {
        booked(|| {
            let owner = Arc::new(LockOwner::new(session));
            self.owners.lock().insert(session, Arc::clone(&owner));
            SessionLocks::new(owner)
        })
    }

    /// Removes a session that has released everything.
    fn close(&self, owner: &Arc<LockOwner>) {
        let mut owners = self.owners.lock();
        let is_same = |known: &&Arc<LockOwner>| Arc::ptr_eq(known, owner);
        if owners.get(&owner.session()).filter(is_same).is_some() {
            owners.remove(&owner.session());
        }
    }

    /// Returns the registered sessions, by number.
    #[must_use]
    pub fn owners(&self) -> Vec<Arc<LockOwner>> {
        let mut owners: Vec<_> = self.owners.lock().values().cloned().collect();
        owners.sort_unstable_by_key(|owner| owner.session());
        owners
    }

    /// Records that a session waits, and ends the deadlocks that this wait closes.
    fn begin_wait(&self, owner: &Arc<LockOwner>, priority: i8, what: WaitsFor) {
        // Relaxed: only the order of the numbers matters.
        let number = self.waits.fetch_add(1, Ordering::Relaxed);
        owner.begin_wait(number, priority, what);
        self.end_deadlocks(owner);
    }

    fn find_owner(&self, session: u32) -> Option<Arc<LockOwner>> {
        self.owners.lock().get(&session).cloned()
    }

    /// Returns the current transaction of a session; `None` outside one.
    #[must_use]
    pub fn transaction(&self, session: u32) -> Option<TransactionRow> {
        self.find_owner(session)?.transaction()
    }

    /// Returns a session's wait for a row.
    #[must_use]
    pub fn row_wait(&self, session: u32) -> Option<RowWait> {
        self.find_owner(session)?.row_wait()
    }

    /// Returns the lock that a session waits for.
    #[must_use]
    pub fn waiting(&self, session: u32) -> Option<LockRow> {
        let (key, request) = self.find_owner(session)?.lock_request()?;
        let mut rows = Vec::new();
        self.with_resource(&key, |resource| resource.show(&key, &mut rows));
        rows.into_iter().find(|row| row.address == request)
    }

    /// Returns every lock that is held or requested.
    #[must_use]
    pub fn rows(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for shard in &self.shards {
            for (key, resource) in shard.lock().iter() {
                resource.show(key, &mut rows);
            }
        }
        rows.sort_by(|a, b| (&a.key, a.session).cmp(&(&b.key, b.session)));
        rows
    }

    /// Returns whether a session would get a lock without waiting.
    #[must_use]
    pub fn would_grant(
        &self,
        key: &LockKey,
        session: u32,
        scope: LockScope,
        mode: LockMode,
    ) -> bool {
        self.with_resource(key, |resource| resource.would_grant(session, scope, mode))
            .unwrap_or(true)
    }

    /// Returns the mode in which a session holds a lock.
    #[must_use]
    pub fn held(&self, key: &LockKey, session: u32, scope: LockScope) -> Option<LockMode> {
        self.with_resource(key, |resource| resource.held(session, scope)).flatten()
    }

    fn shard(&self, key: &LockKey) -> &Shard {
        let hash = self.hasher.hash_one(key);
        // The high bits choose the shard; the hash table within the shard uses the low ones.
        &self.shards[usize::try_from(hash >> 32).unwrap_or(0) % SHARDS]
    }

    /// Returns whether a session waits for a lock.
    fn is_waited_for(&self, key: &LockKey) -> bool {
        self.with_resource(key, Resource::is_waited_for).unwrap_or(false)
    }

    /// Runs `look` on a lock, if it is held or waited for.
    fn with_resource<R>(&self, key: &LockKey, look: impl FnOnce(&Resource) -> R) -> Option<R> {
        self.shard(key).lock().get(key).map(look)
    }

    fn ask(
        &self,
        key: &LockKey,
        owner: &Arc<LockOwner>,
        scope: LockScope,
        mode: LockMode,
    ) -> Asked {
        let mut shard = self.shard(key).lock();
        if let Some(resource) = shard.get_mut(key) {
            return resource.ask(owner, scope, mode);
        }
        shard.entry(key.clone()).or_default().ask(owner, scope, mode)
    }

    /// Changes a lock, then releases the shard's lock and wakes the requests that were granted.
    fn change<R>(&self, key: &LockKey, change: impl FnOnce(&mut Resource) -> R) -> Option<R> {
        let mut shard = self.shard(key).lock();
        let resource = shard.get_mut(key)?;
        let result = change(resource);
        let granted = match is_mutant(Mutant::LockQueueForgotten) {
            true => Vec::new(),
            false => resource.promote(),
        };
        if resource.is_unused() {
            shard.remove(key);
        }
        drop(shard);
        for request in granted {
            wake(self, request.key());
        }
        Some(result)
    }

    /// Ends a waiting request; returns `false` if it has just been granted: then the lock is held.
    fn refuse(&self, key: &LockKey, request: &Arc<Request>) -> bool {
        let refused = self.change(key, |resource| resource.refuse(request)) == Some(true);
        if refused {
            wake(self, request.key());
        }
        refused || is_mutant(Mutant::LockGrantOverlooked)
    }
}

/// Runs `work` with its memory charged to the clerk of locks.
#[cfg(not(any(loom, shuttle)))]
fn booked<R>(work: impl FnOnce() -> R) -> R {
    sos::memory::with_clerk(sos::memory::MemoryClerk::LockManager, work)
}

/// Runs `work` uncharged: a model checker has no clerks.
#[cfg(any(loom, shuttle))]
fn booked<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(not(any(loom, shuttle)))]
fn wake(_: &LockManager, address: usize) {
    sos::park::unpark_all(address);
}

#[cfg(shuttle)]
fn wake(manager: &LockManager, address: usize) {
    manager.lot.unpark_all(address, 0);
}

#[cfg(loom)]
fn wake(_: &LockManager, _: usize) {}
