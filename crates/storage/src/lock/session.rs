//! `SessionLocks`: the named locks that one session holds, and how it acquires and releases them.

use std::sync::Arc;
use std::time::Duration;

use crate::lock::owner::WaitsFor;
use crate::lock::resource::Asked;
use crate::lock::{
    Decision, LockKey, LockManager, LockMode, LockOwner, LockScope, Request, booked,
};
use crate::primitives::{Cancel, delay_release};

/// The result of a lock request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// Granted without a wait.
    AtOnce,
    /// Granted after other sessions had released the lock.
    AfterWait,
    /// The timeout passed before it was granted.
    TimedOut,
    /// The client cancelled the request.
    Cancelled,
    /// The wait was part of a deadlock, and the session was chosen as its victim.
    Victim,
}

/// How long a lock request may wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience<'a> {
    /// The longest wait; `None` for no limit, zero for no wait.
    pub timeout: Option<Duration>,
    /// A flag that ends the wait early.
    pub cancel: Option<&'a Cancel>,
    /// SET DEADLOCK_PRIORITY: the session with the lowest becomes the victim.
    pub deadlock_priority: i8,
}

/// The locks of a session. Owned by the session; [`SessionLocks::close`] releases everything.
#[derive(Debug)]
pub struct SessionLocks {
    owner: Arc<LockOwner>,
    /// Locks held until the transaction ends, each listed once.
    of_transaction: Vec<LockKey>,
    /// Locks held until the session ends, each listed once.
    of_session: Vec<LockKey>,
}

impl SessionLocks {
    pub(super) fn new(owner: Arc<LockOwner>) -> Self {
        Self { owner, of_transaction: Vec::new(), of_session: Vec::new() }
    }

    /// Makes the locks of a helper of a session, which takes none and is not registered.
    #[must_use]
    pub fn of_helper(session: u32) -> Self {
        Self::new(Arc::new(LockOwner::new(session)))
    }

    /// Returns the session as other sessions see it.
    #[must_use]
    pub fn owner(&self) -> &Arc<LockOwner> {
        &self.owner
    }

    /// Returns the locks held until the transaction or the session ends.
    #[must_use]
    pub fn keys(&self, scope: LockScope) -> &[LockKey] {
        match scope {
            LockScope::Transaction => &self.of_transaction,
            LockScope::Session => &self.of_session,
        }
    }

    fn held(&mut self, scope: LockScope) -> &mut Vec<LockKey> {
        match scope {
            LockScope::Transaction => &mut self.of_transaction,
            LockScope::Session => &mut self.of_session,
        }
    }

    /// Asks for a lock and waits for it. One that is held already is held in the combined mode.
    pub fn acquire(
        &mut self,
        manager: &LockManager,
        key: &LockKey,
        (scope, mode): (LockScope, LockMode),
        patience: Patience<'_>,
    ) -> Acquired {
        let had = manager.held(key, self.owner.session(), scope).is_some();
        let acquired = match booked(|| manager.ask(key, &self.owner, scope, mode)) {
            Asked::First | Asked::Again => Acquired::AtOnce,
            Asked::Queued(request) => self.wait(manager, key, &request, patience),
        };
        if matches!(acquired, Acquired::AtOnce | Acquired::AfterWait) && !had {
            booked(|| self.held(scope).push(key.clone()));
        }
        acquired
    }

    fn wait(
        &self,
        manager: &LockManager,
        key: &LockKey,
        request: &Arc<Request>,
        patience: Patience<'_>,
    ) -> Acquired {
        if patience.timeout == Some(Duration::ZERO) {
            return match manager.refuse(key, request) {
                true => Acquired::TimedOut,
                false => Acquired::AfterWait,
            };
        }
        let what = WaitsFor::Lock { key: key.clone(), request: Arc::clone(request) };
        manager.begin_wait(&self.owner, patience.deadlock_priority, what);
        let first = manager.with_resource(key, |resource| resource.blockers(request));
        let blocker = first.and_then(|blockers| blockers.first().copied());
        let impatient = rest((manager, key), request, patience, blocker);
        let is_victim = self.owner.end_wait();
        match (request.decision(), impatient) {
            (Decision::Granted, _) => Acquired::AfterWait,
            (Decision::Refused, _) if is_victim => Acquired::Victim,
            (Decision::Waiting | Decision::Refused, impatient) => {
                match manager.refuse(key, request) || request.decision() == Decision::Refused {
                    true => impatient,
                    false => Acquired::AfterWait,
                }
            }
        }
    }

    /// Releases a lock that was acquired once; returns whether it was held.
    pub fn release(&mut self, manager: &LockManager, key: &LockKey, scope: LockScope) -> bool {
        let session = self.owner.session();
        delay_release(|| manager.is_waited_for(key));
        let released = manager.change(key, |resource| resource.release(session, scope)).flatten();
        if released == Some(true) {
            self.held(scope).retain(|held| held != key);
        }
        released.is_some()
    }

    /// Releases the transaction's locks, because it ends.
    #[inline]
    pub fn end_transaction(&mut self, manager: &LockManager) {
        if !self.of_transaction.is_empty() {
            self.release_all(manager, LockScope::Transaction);
        }
    }

    /// Releases the session's locks, because it ends or its connection returns to a pool.
    pub fn end_session(&mut self, manager: &LockManager) {
        if !self.of_session.is_empty() {
            self.release_all(manager, LockScope::Session);
        }
    }

    /// Releases everything and removes the session.
    pub fn close(&mut self, manager: &LockManager) {
        self.end_transaction(manager);
        self.end_session(manager);
        manager.close(&self.owner);
    }

    #[cold]
    fn release_all(&mut self, manager: &LockManager, scope: LockScope) {
        let session = self.owner.session();
        for key in std::mem::take(self.held(scope)) {
            manager.change(&key, |resource| resource.release_all(session, scope));
        }
    }
}

/// Sleeps until a request is decided; else returns why it was given up.
#[cfg(not(any(loom, shuttle)))]
fn rest(
    (_, key): (&LockManager, &LockKey),
    request: &Arc<Request>,
    patience: Patience<'_>,
    blocker: Option<u32>,
) -> Acquired {
    use sos::park::{Wake, park};
    use sos::sched;

    let _blame = blocker.map(|session| sched::blame(sched::Blocker::Work(session)));
    let must_wait = || request.decision() == Decision::Waiting;
    let wait_type = key.wait_type(request.mode);
    match park(request.key(), wait_type, must_wait, patience.timeout, patience.cancel) {
        // Only the thread that decides the request wakes it.
        Wake::Signalled => Acquired::AfterWait,
        Wake::TimedOut => Acquired::TimedOut,
        Wake::Cancelled => Acquired::Cancelled,
    }
}

/// The same, with a parking lot that the model checker knows. A timeout may pass at any time.
#[cfg(shuttle)]
fn rest(
    (manager, _): (&LockManager, &LockKey),
    request: &Arc<Request>,
    patience: Patience<'_>,
    _: Option<u32>,
) -> Acquired {
    assert!(patience.cancel.is_none(), "models give up by timeout");
    if patience.timeout.is_some() {
        return Acquired::TimedOut;
    }
    let must_wait = || request.decision() == Decision::Waiting;
    if let Some(waiter) = manager.lot.enter(request.key(), must_wait) {
        waiter.word.wait(None);
    }
    Acquired::AfterWait
}

#[cfg(loom)]
fn rest(
    _: (&LockManager, &LockKey),
    request: &Arc<Request>,
    _: Patience<'_>,
    _: Option<u32>,
) -> Acquired {
    while request.decision() == Decision::Waiting {
        sos::sync::spin_hint();
    }
    Acquired::AfterWait
}
