//! `SessionLocks`: what one session holds, and its verbs.

use std::sync::Arc;
use std::time::Duration;

use crate::lock::mode::LockMode;
use crate::lock::owner::{LockOwner, WaitsFor};
use crate::lock::resource::{Asked, Decision, LockScope, Request};
use crate::lock::{LockKey, LockManager, booked};
use crate::primitives::park::Cancel;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It was granted at once.
    AtOnce,
    /// It was granted after others had given the lock back.
    AfterWait,
    /// It was not granted in time.
    TimedOut,
    /// The client gave it up.
    Cancelled,
    /// It would have waited for ever: it was chosen to end a deadlock.
    Victim,
}

/// How long a request may wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience<'a> {
    /// At most so long; `None` for ever, zero not at all.
    pub timeout: Option<Duration>,
    /// Ends the wait early.
    pub cancel: Option<&'a Cancel>,
    /// Of several in a deadlock, the lowest gives up.
    pub deadlock_priority: i8,
}

/// The locks of a session. Owned by the session; gives everything back with
/// [`SessionLocks::close`].
#[derive(Debug)]
pub struct SessionLocks {
    owner: Arc<LockOwner>,
    /// Locks held until the transaction ends, each once.
    of_transaction: Vec<LockKey>,
    /// Locks held until the session ends, each once.
    of_session: Vec<LockKey>,
}

impl SessionLocks {
    pub(super) fn new(owner: Arc<LockOwner>) -> Self {
        Self { owner, of_transaction: Vec::new(), of_session: Vec::new() }
    }

    /// Makes those of somebody who helps a session and takes no locks: no manager knows of them.
    #[must_use]
    pub fn of_helper(session: u32) -> Self {
        Self::new(Arc::new(LockOwner::new(session)))
    }

    /// The session as others see it.
    #[must_use]
    pub fn owner(&self) -> &Arc<LockOwner> {
        &self.owner
    }

    /// What is held until the transaction or the session ends.
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

    /// Asks for a lock and waits for it. What is held already is held once more, in a mode that
    /// includes both.
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

    /// Gives a lock back that was asked for once; true if it was held.
    pub fn release(&mut self, manager: &LockManager, key: &LockKey, scope: LockScope) -> bool {
        let session = self.owner.session();
        let released = manager.change(key, |resource| resource.release(session, scope)).flatten();
        if released == Some(true) {
            self.held(scope).retain(|held| held != key);
        }
        released.is_some()
    }

    /// Gives back what the transaction holds, because it ends.
    #[inline]
    pub fn end_transaction(&mut self, manager: &LockManager) {
        if !self.of_transaction.is_empty() {
            self.release_all(manager, LockScope::Transaction);
        }
    }

    /// Gives back what the session holds, because it ends or its connection goes back to a pool.
    pub fn end_session(&mut self, manager: &LockManager) {
        if !self.of_session.is_empty() {
            self.release_all(manager, LockScope::Session);
        }
    }

    /// Gives everything back and is forgotten.
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

/// Sleeps until a request is decided, or says why it is given up.
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
        // Only who decides the request wakes it.
        Wake::Signalled => Acquired::AfterWait,
        Wake::TimedOut => Acquired::TimedOut,
        Wake::Cancelled => Acquired::Cancelled,
    }
}

/// As above, with a lot that the model checker knows. A timeout may pass at any time: at once.
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
