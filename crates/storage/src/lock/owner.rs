//! `LockOwner`: a session in the lock manager: what it waits for, which the deadlock search
//! follows, and its current transaction, for views.

use std::sync::Arc;

use crate::lock::{LockKey, LockMode, Request};
use crate::primitives::{AtomicBool, AtomicU64, Ordering, SpinClass, SpinLock};
use crate::spec::{RowId, TableId};
use crate::version::{Blocker, LockWait};

/// A session, as the lock manager knows it.
#[derive(Debug)]
pub struct LockOwner {
    session: u32,
    wait: SpinLock<Wait>,
    /// Set when the session was chosen as a deadlock victim: its wait must end.
    victim: AtomicBool,
    /// The transaction's number and its begin in ticks; 0 outside a transaction.
    transaction: AtomicU64,
    begun: AtomicU64,
    /// Whether the transaction has a name from BEGIN TRANSACTION.
    is_named: AtomicBool,
    name: SpinLock<Box<str>>,
}

/// The current transaction of a session, for views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRow {
    /// The number of the transaction.
    pub number: u64,
    /// The time when it began, in ticks.
    pub begun: u64,
    /// The name that BEGIN TRANSACTION gave it.
    pub name: Option<Box<str>>,
}

/// A wait for a row, for views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWait {
    /// The session that owns the row.
    pub session: u32,
    /// The table and the row; `None` for a row lock.
    pub row: Option<(TableId, RowId)>,
    /// The mode that it waits for.
    pub mode: LockWait,
}

/// What a session waits for, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A named lock, in a mode.
    Lock(LockKey, LockMode),
    /// A row or a key range.
    Row(RowWait),
}

/// What a waiting session waits for.
#[derive(Debug)]
pub(super) enum WaitsFor {
    Nothing,
    /// A named lock, in a mode.
    Lock {
        key: LockKey,
        request: Arc<Request>,
    },
    /// The transaction that owns a row, and that transaction's session.
    Row {
        blocker: Blocker,
        session: u32,
    },
}

#[derive(Debug)]
pub(super) struct Wait {
    /// The number of the wait, in the order of all sessions' waits.
    pub(super) number: u64,
    /// The deadlock priority: the lowest of a cycle becomes the victim.
    pub(super) priority: i8,
    pub(super) what: WaitsFor,
}

impl RowWait {
    fn new(blocker: &Blocker, session: u32) -> Self {
        Self { session, row: blocker.place(), mode: blocker.wait }
    }
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

    /// Returns the id of the session.
    #[must_use]
    pub fn session(&self) -> u32 {
        self.session
    }

    /// Records that the session has begun a transaction. Only the session itself may call this.
    /// Plain stores, and a lock if the transaction has a name.
    pub fn begin_transaction(&self, number: u64, name: &str, now_ticks: u64) {
        if !name.is_empty() {
            *self.name.lock() = name.into();
        }
        // Relaxed, as below: views may be one transaction behind.
        self.is_named.store(!name.is_empty(), Ordering::Relaxed);
        self.begun.store(now_ticks, Ordering::Relaxed);
        self.transaction.store(number, Ordering::Relaxed);
    }

    /// Records that the session's transaction has ended.
    pub fn end_transaction(&self) {
        self.transaction.store(0, Ordering::Relaxed);
    }

    /// Returns the current transaction; `None` outside one.
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
        // Drops the reference that the wait held, if any, outside the lock.
        drop(before);
    }

    /// Ends the wait; returns whether it was chosen as a deadlock victim.
    pub(super) fn end_wait(&self) -> bool {
        let mut wait = self.wait.lock();
        let before = std::mem::replace(&mut wait.what, WaitsFor::Nothing);
        drop(wait);
        drop(before);
        // Set only under the lock and during a wait, so it cannot change after this.
        self.is_victim()
    }

    /// Returns whether the wait was chosen as a deadlock victim; takes no lock.
    pub(super) fn is_victim(&self) -> bool {
        // Acquire: pairs with the Release in `choose`.
        self.victim.load(Ordering::Acquire)
    }

    /// Chooses the current wait as a deadlock victim.
    pub(super) fn choose(&self) {
        self.victim.store(true, Ordering::Release);
    }

    /// Runs `look` on the current wait; it may take no lock.
    pub(super) fn with_wait<R>(&self, look: impl FnOnce(&mut Wait) -> R) -> R {
        look(&mut self.wait.lock())
    }

    /// Returns the lock that the session waits for, and the address of its request.
    pub(super) fn lock_request(&self) -> Option<(LockKey, usize)> {
        self.with_wait(|wait| match &wait.what {
            WaitsFor::Lock { key, request } => Some((key.clone(), request.key())),
            WaitsFor::Row { .. } | WaitsFor::Nothing => None,
        })
    }

    /// Returns the wait for a row, if that is what the session does.
    pub(super) fn row_wait(&self) -> Option<RowWait> {
        self.with_wait(|wait| match &wait.what {
            WaitsFor::Row { blocker, session } if blocker.is_in_the_way() => {
                Some(RowWait::new(blocker, *session))
            }
            WaitsFor::Row { .. } | WaitsFor::Lock { .. } | WaitsFor::Nothing => None,
        })
    }

    /// Returns what the session waits for.
    pub(super) fn wanted(&self) -> Option<Wanted> {
        self.with_wait(|wait| match &wait.what {
            WaitsFor::Lock { key, request } => Some(Wanted::Lock(key.clone(), request.mode)),
            WaitsFor::Row { blocker, session } => {
                Some(Wanted::Row(RowWait::new(blocker, *session)))
            }
            WaitsFor::Nothing => None,
        })
    }
}
