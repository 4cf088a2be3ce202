//! `LockOwner`: a session as the lock manager knows it: what it waits for, which is what the search for
//! deadlocks follows, and its transaction, for those who ask.

use std::sync::Arc;

use crate::lock::LockKey;
use crate::lock::resource::Request;
use crate::primitives::sync::{AtomicBool, AtomicU64, Ordering, SpinClass, SpinLock};
use crate::version::blocker::Blocker;

/// A session.
#[derive(Debug)]
pub struct LockOwner {
    session: u32,
    wait: SpinLock<Wait>,
    /// The wait shall end: the session was chosen to end a deadlock.
    victim: AtomicBool,
    /// Number and begin, in ticks, of its transaction; 0 outside.
    transaction: AtomicU64,
    begun: AtomicU64,
    /// Whether the transaction has a name of its own.
    is_named: AtomicBool,
    name: SpinLock<Box<str>>,
}

/// A transaction in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRow {
    /// Its number.
    pub number: u64,
    /// Ticks at its begin.
    pub begun: u64,
    /// The name that BEGIN TRANSACTION gave it.
    pub name: Option<Box<str>>,
}

/// What a session waits for.
#[derive(Debug)]
pub(super) enum WaitsFor {
    Nothing,
    /// A lock.
    Lock {
        key: LockKey,
        request: Arc<Request>,
    },
    /// The transaction that has a row, of this session.
    Row {
        blocker: Blocker,
        session: u32,
    },
}

#[derive(Debug)]
pub(super) struct Wait {
    /// The wait's number among those of all sessions.
    pub(super) number: u64,
    /// Deadlock priority: the lowest one of a circle gives up.
    pub(super) priority: i8,
    pub(super) what: WaitsFor,
}

impl LockOwner {
    pub(super) fn new(session: u32) -> Self {
        let wait = Wait { number: 0, priority: 0, what: WaitsFor::Nothing };
        Self {
            session,
            wait: SpinLock::new(SpinClass::LockHash, wait),
            victim: AtomicBool::new(false),
            transaction: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            is_named: AtomicBool::new(false),
            name: SpinLock::new(SpinClass::LockHash, Box::default()),
        }
    }

    /// The number of the session.
    #[must_use]
    pub fn session(&self) -> u32 {
        self.session
    }

    /// Notes that the session has begun a transaction; the session itself only. Plain stores, and a
    /// lock if it has a name.
    pub fn begin_transaction(&self, number: u64, name: &str, now_ticks: u64) {
        if !name.is_empty() {
            *self.name.lock() = name.into();
        }
        // Relaxed, as below: for views, which may be one transaction behind.
        self.is_named.store(!name.is_empty(), Ordering::Relaxed);
        self.begun.store(now_ticks, Ordering::Relaxed);
        self.transaction.store(number, Ordering::Relaxed);
    }

    /// Notes that the transaction has ended.
    pub fn end_transaction(&self) {
        self.transaction.store(0, Ordering::Relaxed);
    }

    /// The transaction in progress.
    #[must_use]
    pub fn transaction(&self) -> Option<TransactionRow> {
        let number = self.transaction.load(Ordering::Relaxed);
        if number == 0 {
            return None;
        }
        let is_named = self.is_named.load(Ordering::Relaxed);
        let name = is_named.then(|| self.name.lock().clone());
        Some(TransactionRow { number, begun: self.begun.load(Ordering::Relaxed), name })
    }

    pub(super) fn begin_wait(&self, number: u64, priority: i8, what: WaitsFor) {
        let mut wait = self.wait.lock();
        (wait.number, wait.priority) = (number, priority);
        self.victim.store(false, Ordering::Relaxed);
        let before = std::mem::replace(&mut wait.what, what);
        drop(wait);
        // Gives back what it counted on, if anything, behind the lock.
        drop(before);
    }

    /// Ends the wait; tells whether it was chosen to end a deadlock.
    pub(super) fn end_wait(&self) -> bool {
        let mut wait = self.wait.lock();
        let before = std::mem::replace(&mut wait.what, WaitsFor::Nothing);
        drop(wait);
        drop(before);
        // Set under the lock, while there was a wait: not after this.
        self.is_victim()
    }

    /// Whether its wait was chosen to end a deadlock; takes no lock.
    pub(super) fn is_victim(&self) -> bool {
        // Acquire: pairs with the Release in `choose`.
        self.victim.load(Ordering::Acquire)
    }

    /// Chooses the wait in progress to end a deadlock.
    pub(super) fn choose(&self) {
        self.victim.store(true, Ordering::Release);
    }

    /// Runs `look` on the wait in progress; it may take no lock.
    pub(super) fn with_wait<R>(&self, look: impl FnOnce(&mut Wait) -> R) -> R {
        look(&mut self.wait.lock())
    }

    /// The lock that this one waits for, and the address of its request.
    pub(super) fn lock_request(&self) -> Option<(LockKey, usize)> {
        self.with_wait(|wait| match &wait.what {
            WaitsFor::Lock { key, request } => Some((key.clone(), request.key())),
            WaitsFor::Row { .. } | WaitsFor::Nothing => None,
        })
    }

    /// The session that has the row that this one waits for.
    pub(super) fn row_blocker(&self) -> Option<u32> {
        self.with_wait(|wait| match &wait.what {
            WaitsFor::Row { blocker, session } if blocker.is_in_the_way() => Some(*session),
            WaitsFor::Row { .. } | WaitsFor::Lock { .. } | WaitsFor::Nothing => None,
        })
    }
}
