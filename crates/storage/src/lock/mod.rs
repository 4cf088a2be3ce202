//! The lock manager: named locks of applications (`sp_getapplock`) and of table schemas, in a hash table
//! of shards; and deadlock detection for sessions.
//!
//! Rows need no locks here: the transaction that has written one owns it (`version/`), and readers' locks
//! on rows are in `row_lock/`. So a request that asks for no named lock runs no code of this folder,
//! except while it waits for a row: `row.rs` enters that wait into the wait-for graph. A request that
//! must wait queues under its shard's lock and parks under its own address; the session that grants it
//! unparks it.
//!
//! It does not know tables or rows. Start with [`LockManager`] for the table, `resource.rs` for the queue
//! of one lock, `deadlock.rs` for the search of cycles and the choice of the victim.

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
use crate::primitives::mutant::{Mutant, is_mutant};
use crate::primitives::sync::{AtomicU64, CachePadded, Ordering, SpinClass, SpinLock};
pub use deadlock::{Deadlock, DeadlockMember};
pub use mode::LockMode;
pub use owner::{LockOwner, TransactionRow};
pub use resource::{Decision, LockScope, Request};
pub(crate) use row::wait_for_row;
pub use session::{Acquired, Patience, SessionLocks};

/// Names a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockKey {
    /// The database that it belongs to.
    pub database: i32,
    /// The principal of that database that may use it.
    pub principal: i32,
    /// Its name, compared byte by byte.
    pub name: Arc<str>,
}

impl LockKey {
    /// The principal in the key of a lock that is of a table's schema and of no application.
    pub const SCHEMA: i32 = i32::MIN;

    /// The lock of a table's schema: held while the table is redefined, asked for by who waits for that.
    #[must_use]
    pub fn schema(table: crate::spec::definition::TableId) -> Self {
        let name = booked(|| table.0.to_string().into());
        Self { database: 0, principal: Self::SCHEMA, name }
    }

    /// The table whose schema it locks, if it does.
    #[must_use]
    pub fn table(&self) -> Option<crate::spec::definition::TableId> {
        let is_schema = self.principal == Self::SCHEMA;
        is_schema.then(|| self.name.parse().ok().map(crate::spec::definition::TableId)).flatten()
    }

    /// The name of a mode in which it is held, as views show it.
    #[must_use]
    pub fn mode_name(&self, mode: LockMode) -> &'static str {
        match (self.table(), mode) {
            (None, mode) => mode.short_name(),
            (Some(_), LockMode::Exclusive) => "Sch-M",
            (Some(_), _) => "Sch-S",
        }
    }

    /// How a wait for it is booked.
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

/// What is called for each deadlock.
type Watch = Box<dyn Fn(&Deadlock) + Send + Sync>;

type Shard = SpinLock<HashMap<LockKey, Resource, foldhash::fast::FixedState>>;

/// The locks of an instance.
pub struct LockManager {
    shards: [CachePadded<Shard>; SHARDS],
    /// The sessions that are known. Written at login and logout.
    owners: SpinLock<HashMap<u32, Arc<LockOwner>>>,
    hasher: foldhash::fast::FixedState,
    /// Waits so far, to number them.
    waits: AtomicU64,
    /// Told of deadlocks.
    watch: OnceLock<Watch>,
    #[cfg(shuttle)]
    lot: sos::park::Lot,
}

/// A lock that is held or asked for, as `sys.dm_tran_locks` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// The lock.
    pub key: LockKey,
    /// The session.
    pub session: u32,
    /// What ends the hold.
    pub scope: LockScope,
    /// What is held, or will be.
    pub mode: LockMode,
    /// Where the request stands.
    pub status: LockStatus,
    /// How often it was asked for.
    pub count: u32,
    /// Its address: a waiting thread parks under it.
    pub address: usize,
    /// The sessions that are in the way.
    pub blockers: Vec<u32>,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStatus {
    /// Held.
    Granted,
    /// Held, and waiting for more.
    Converting,
    /// Waiting.
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
    /// Makes a session known; the number must be free.
    pub fn open(&self, session: u32) -> SessionLocks {
        booked(|| {
            let owner = Arc::new(LockOwner::new(session));
            self.owners.lock().insert(session, Arc::clone(&owner));
            SessionLocks::new(owner)
        })
    }

    /// Forgets a session, after it has given everything back.
    fn close(&self, owner: &Arc<LockOwner>) {
        let mut owners = self.owners.lock();
        let is_same = |known: &&Arc<LockOwner>| Arc::ptr_eq(known, owner);
        if owners.get(&owner.session()).filter(is_same).is_some() {
            owners.remove(&owner.session());
        }
    }

    /// The sessions that are known, by number.
    #[must_use]
    pub fn owners(&self) -> Vec<Arc<LockOwner>> {
        let mut owners: Vec<_> = self.owners.lock().values().cloned().collect();
        owners.sort_unstable_by_key(|owner| owner.session());
        owners
    }

    /// Notes that a session waits, and ends the deadlocks that this closes.
    fn begin_wait(&self, owner: &Arc<LockOwner>, priority: i8, what: WaitsFor) {
        // Relaxed: only the order counts.
        let number = self.waits.fetch_add(1, Ordering::Relaxed);
        owner.begin_wait(number, priority, what);
        self.end_deadlocks(owner);
    }

    fn find_owner(&self, session: u32) -> Option<Arc<LockOwner>> {
        self.owners.lock().get(&session).cloned()
    }

    /// The session that has the row that a session waits for.
    #[must_use]
    pub fn row_blocker(&self, session: u32) -> Option<u32> {
        self.find_owner(session)?.row_blocker()
    }

    /// The lock that a session waits for.
    #[must_use]
    pub fn waiting(&self, session: u32) -> Option<LockRow> {
        let (key, request) = self.find_owner(session)?.lock_request()?;
        let mut rows = Vec::new();
        self.with_resource(&key, |resource| resource.show(&key, &mut rows));
        rows.into_iter().find(|row| row.address == request)
    }

    /// Everything that is held or asked for.
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

    /// Tells whether a session could have a lock at once.
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

    /// The mode in which a session holds a lock.
    #[must_use]
    pub fn held(&self, key: &LockKey, session: u32, scope: LockScope) -> Option<LockMode> {
        self.with_resource(key, |resource| resource.held(session, scope)).flatten()
    }

    fn shard(&self, key: &LockKey) -> &Shard {
        let hash = self.hasher.hash_one(key);
        // The table within the shard goes by the low bits.
        &self.shards[usize::try_from(hash >> 32).unwrap_or(0) % SHARDS]
    }

    /// Runs `look` on a lock, if anybody holds it or waits for it.
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

    /// Changes a lock and wakes whom that lets in, after the shard's lock has been given back.
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

    /// Ends a request that waits; false if it has just been granted, which then holds.
    fn refuse(&self, key: &LockKey, request: &Arc<Request>) -> bool {
        let refused = self.change(key, |resource| resource.refuse(request)) == Some(true);
        if refused {
            wake(self, request.key());
        }
        refused || is_mutant(Mutant::LockGrantOverlooked)
    }
}

/// Books what is allocated meanwhile on the clerk of locks.
#[cfg(not(any(loom, shuttle)))]
fn booked<R>(work: impl FnOnce() -> R) -> R {
    sos::memory::with_clerk(sos::memory::MemoryClerk::LockManager, work)
}

/// A model checker has no clerks.
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
