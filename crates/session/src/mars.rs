//! MARS: several sessions of one connection, as one login session.
//!
//! ```text
//!   login session ─ share ─► Shared { parts: transaction, locks, #tables, cursors .., environment }
//!                               │ one member at a time has the parts: its turn
//!            member 0 ◄─────────┼─────────► member 1 ..   each with its request, frame and caches
//! ```
//!
//! A request takes its turn when it begins and ends it with the request. A SELECT whose client does
//! not read ends its turn in between, so that other members run, and takes another to go on.
//! Options, database and principal are copied from the connection's environment when a request
//! begins, and back when it ends, as SQL Server documents for MARS.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use sos::park::{self, Cancel, Wake};
use sos::sync::{AtomicBool, AtomicU32, Ordering};
use sos::wait::WaitType;
use storage::lock::SessionLocks;
use types::{Error, Msg};

use crate::accounting::Accounting;
use crate::caches::Caches;
use crate::connection::Connection;
use crate::context::Identity;
use crate::held::{Held, LastResults};
use crate::state::session_number;
use crate::temp::TempTables;
use crate::transaction::TransactionState;
use crate::{ClientInfo, IsolationLevel, Options, SessionState};

/// What the members of a connection share.
#[derive(Debug)]
pub struct Shared {
    /// Whether a member has its turn.
    is_taken: AtomicBool,
    /// The parts, while no member has its turn.
    parts: SpinLock<Option<Box<Parts>>>,
    /// Requests that have begun and not ended.
    pending: AtomicU32,
}

/// The state of the login session that one member at a time has.
struct Parts {
    transaction: TransactionState,
    locks: SessionLocks,
    temp: TempTables,
    held: Held,
    next_descriptor: u32,
    trace_flags: Vec<i32>,
    environment: Environment,
}

/// What a request begins with, and leaves to the next.
struct Environment {
    identity: Identity,
    options: Options,
    isolation: IsolationLevel,
    last: LastResults,
    /// The version of the catalog that `identity` was computed from.
    catalog_version: u64,
}

/// A session's membership of a MARS connection.
#[derive(Debug)]
pub struct Member {
    shared: Arc<Shared>,
    /// Whether it has its turn: then the parts are in its state.
    has_turn: bool,
    /// Whether the running request has begun and counts as pending.
    is_pending: bool,
    /// Whether the transaction belongs to the connection, not to the running batch.
    keeps_transaction: bool,
}

impl Shared {
    /// Waits for the turn; `false` if `cancel` is set before.
    fn take(&self, cancel: Option<&Cancel>) -> bool {
        loop {
            // Acquire: pairs with the Release in `free`, so that the parts are there.
            if !self.is_taken.swap(true, Ordering::Acquire) {
                return true;
            }
            let is_taken = || self.is_taken.load(Ordering::Relaxed);
            match park::park(self.key(), WaitType::SleepTask, is_taken, None, cancel) {
                Wake::Signalled | Wake::TimedOut => {}
                Wake::Cancelled => return false,
            }
        }
    }

    fn free(&self) {
        self.is_taken.store(false, Ordering::Release);
        park::unpark_one(self.key());
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Member {
    /// Returns whether other requests of the connection have begun and not ended.
    pub fn has_others(&self) -> bool {
        // Relaxed: members change it in their turns only.
        self.shared.pending.load(Ordering::Relaxed) > u32::from(self.is_pending)
    }
}

impl SessionState {
    /// Makes the login session's state the one that members share. The session itself runs no more
    /// requests.
    pub fn share(&mut self) -> Arc<Shared> {
        let shared = Shared {
            is_taken: AtomicBool::new(false),
            parts: SpinLock::new(SpinClass::SessionManager, None),
            pending: AtomicU32::new(0),
        };
        let parts = self.parts();
        *shared.parts.lock() = Some(Box::new(parts));
        Arc::new(shared)
    }

    /// Takes the shared state back when the last member has gone, to end the login session.
    pub fn unshare(&mut self, shared: &Shared) {
        let parts = shared.parts.lock().take();
        if let Some(parts) = parts {
            self.put(*parts);
        }
    }

    /// Returns the state of a new member of the login session.
    pub fn member(&self, shared: &Arc<Shared>) -> Self {
        let cancel = Arc::new(Cancel::new());
        let member = Member {
            shared: Arc::clone(shared),
            has_turn: false,
            is_pending: false,
            keeps_transaction: false,
        };
        let login = &self.connection;
        Self {
            instance: Arc::clone(&self.instance),
            catalog: Arc::clone(&self.catalog),
            connection: Connection {
                id: login.id,
                original_login: Arc::clone(&login.original_login),
                login_database: Arc::clone(&login.login_database),
                login_options: Arc::clone(&login.login_options),
                login_time: login.login_time.clone(),
                pooled: login.pooled,
                client: ClientInfo { traffic: Arc::default(), ..login.client.clone() },
                cancel: Arc::clone(&cancel),
                next_descriptor: 0,
                trace_flags: Vec::new(),
                cursors: Arc::clone(&login.cursors),
            },
            accounting: Accounting::of_member(&self.accounting, &self.instance, &cancel),
            identity: self.identity.clone(),
            options: self.options.clone(),
            isolation: self.isolation,
            transaction: TransactionState::default(),
            locks: SessionLocks::of_helper(session_number(login.id)),
            temp: TempTables::default(),
            held: Held::default(),
            last: self.last.clone(),
            request: Default::default(),
            caches: Caches::default(),
            mars: Some(Box::new(member)),
        }
    }

    /// Returns whether other requests of the same connection have begun and not ended. Always false
    /// without MARS.
    pub fn has_other_requests(&self) -> bool {
        self.mars.as_ref().is_some_and(|member| member.has_others())
    }

    /// Begins a request of a member: waits for its turn, and takes the connection's environment.
    /// Returns false if the client cancels the request before. Without MARS it does nothing.
    pub fn begin_turn(&mut self) -> bool {
        let Some(member) = &mut self.mars else { return true };
        if !member.shared.take(Some(&self.connection.cancel)) {
            return false;
        }
        member.has_turn = true;
        member.is_pending = true;
        member.shared.pending.fetch_add(1, Ordering::Relaxed);
        let parts = member.shared.parts.lock().take();
        if let Some(parts) = parts {
            // An announced bulk load belongs to its member.
            let pending_bulk = self.held.pending_bulk.take();
            self.put(*parts);
            self.held.pending_bulk = pending_bulk;
        }
        let in_transaction = self.transaction.count > 0;
        if let Some(member) = &mut self.mars {
            member.keeps_transaction = in_transaction;
        }
        true
    }

    /// Ends a request of a member. Without MARS, or without its turn, it does nothing.
    pub fn end_turn(&mut self) {
        let Some(member) = &mut self.mars else { return };
        if member.is_pending {
            member.is_pending = false;
            member.shared.pending.fetch_sub(1, Ordering::Relaxed);
        }
        if !std::mem::take(&mut member.has_turn) {
            return;
        }
        let shared = Arc::clone(&member.shared);
        let pending_bulk = self.held.pending_bulk.take();
        let parts = self.parts();
        self.held.pending_bulk = pending_bulk;
        *shared.parts.lock() = Some(Box::new(parts));
        shared.free();
    }

    /// Lets other members run while `wait` waits for the client, then takes the turn again. Without
    /// MARS it only waits.
    ///
    /// # Errors
    /// 3980 if the transaction that the request runs in has ended during the wait.
    pub fn yield_turn<R>(&mut self, wait: impl FnOnce() -> R) -> Result<R, Error> {
        let Some(shared) = self.mars.as_ref().filter(|member| member.has_turn) else {
            return Ok(wait());
        };
        let shared = Arc::clone(&shared.shared);
        let is_shared = self.is_transaction_shared();
        let descriptor = is_shared.then_some(self.transaction.descriptor);
        let (own, inner) = self.leave(descriptor.is_some());
        *shared.parts.lock() = Some(Box::new(own));
        shared.free();
        let waited = wait();
        // Not cancellable: the request needs its state to end.
        shared.take(None);
        let parts = shared.parts.lock().take();
        if let Some(parts) = parts {
            self.come_back(*parts, inner, descriptor.is_some());
        }
        match descriptor {
            Some(d) if self.transaction.count == 0 || self.transaction.descriptor != d => {
                Err(Msg::BatchAborted.into())
            }
            _ => Ok(waited),
        }
    }

    /// Moves the parts out of the state in the middle of a request, which keeps its options, its
    /// procedures' temporary tables, and a transaction that is not shared.
    fn leave(&mut self, is_shared: bool) -> (Parts, TempTables) {
        let own = (!is_shared).then(|| std::mem::take(&mut self.transaction));
        let inner = self.temp.take_inner();
        let pending_bulk = self.held.pending_bulk.take();
        let parts = self.parts();
        self.held.pending_bulk = pending_bulk;
        if let Some(own) = own {
            self.transaction = own;
        }
        (parts, inner)
    }

    fn come_back(&mut self, parts: Parts, inner: TempTables, is_shared: bool) {
        let Parts { transaction, locks, temp, held, next_descriptor, trace_flags, environment: _ } =
            parts;
        if is_shared {
            self.transaction = transaction;
        }
        let pending_bulk = self.held.pending_bulk.take();
        self.held = Held { pending_bulk, ..held };
        self.locks = locks;
        self.temp = temp;
        self.temp.put_inner(inner);
        self.connection.next_descriptor = next_descriptor;
        self.connection.trace_flags = trace_flags;
    }

    /// Moves the parts out of the state; copies the environment.
    fn parts(&mut self) -> Parts {
        let placeholder = SessionLocks::of_helper(session_number(self.connection.id));
        Parts {
            transaction: std::mem::take(&mut self.transaction),
            locks: std::mem::replace(&mut self.locks, placeholder),
            temp: std::mem::take(&mut self.temp),
            held: std::mem::take(&mut self.held),
            next_descriptor: self.connection.next_descriptor,
            trace_flags: std::mem::take(&mut self.connection.trace_flags),
            environment: Environment {
                identity: self.identity.clone(),
                options: self.options.clone(),
                isolation: self.isolation,
                last: self.last.clone(),
                catalog_version: self.catalog.version,
            },
        }
    }

    /// Moves the parts into the state, with their environment.
    fn put(&mut self, parts: Parts) {
        let Parts { transaction, locks, temp, held, next_descriptor, trace_flags, environment } =
            parts;
        self.transaction = transaction;
        self.locks = locks;
        self.temp = temp;
        self.held = held;
        self.connection.next_descriptor = next_descriptor;
        self.connection.trace_flags = trace_flags;
        let Environment { identity, options, isolation, last, catalog_version } = environment;
        let database = Arc::clone(&identity.database);
        self.identity = identity;
        if catalog_version != self.catalog.version {
            let catalog = Arc::clone(&self.catalog);
            self.identity.renew(&catalog);
        }
        self.enter_database(database);
        self.options = options;
        self.isolation = isolation;
        self.last = last;
    }

    /// Checks the transaction that a request of a member says it runs in.
    ///
    /// # Errors
    /// 3989 for none while one is open, 3971 for one that is not open.
    pub fn check_descriptor(&self, descriptor: u64) -> Result<(), Error> {
        if self.mars.is_none() {
            return Ok(());
        }
        let open = if self.transaction.count > 0 { self.transaction.descriptor } else { 0 };
        match descriptor {
            _ if descriptor == open => Ok(()),
            0 => Err(Msg::TransactionDescriptorRequired.into()),
            other => Err(Msg::TransactionNotResumed(&format!("{other:x}")).into()),
        }
    }

    /// Notes that the open transaction was begun by a request of the client's API, so that it lasts
    /// beyond its batch.
    pub fn keep_transaction(&mut self) {
        if let Some(member) = &mut self.mars {
            member.keeps_transaction = true;
        }
    }

    /// Returns whether the open transaction ends with the running batch: a batch of a MARS
    /// connection has begun it.
    pub fn is_transaction_of_batch(&self) -> bool {
        let ends = self.mars.as_ref().is_some_and(|member| !member.keeps_transaction);
        ends && self.transaction.count > 0
    }

    /// Returns whether other sessions of a MARS connection use the open transaction: it was begun
    /// by a request of the client's API.
    pub fn is_transaction_shared(&self) -> bool {
        let keeps = self.mars.as_ref().is_some_and(|member| member.keeps_transaction);
        keeps && self.transaction.count > 0
    }

    /// Checks that a request of a member may commit the transaction, or use its savepoints.
    ///
    /// # Errors
    /// 3981 while other requests of the connection are pending, unless the transaction is that of
    /// the running batch alone.
    pub fn check_alone(&self) -> Result<(), Error> {
        match self.is_transaction_shared() && self.has_other_requests() {
            true => Err(Msg::PendingRequests.into()),
            false => Ok(()),
        }
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}
