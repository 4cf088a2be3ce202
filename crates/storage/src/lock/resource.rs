//! One named lock: its holders, its queue, and the choice of the next request.
//!
//! Requests are granted in the order of arrival: a request waits if it conflicts with a holder, or
//! with a request ahead of it. Only a session that holds the lock already goes ahead of the others,
//! because they wait for it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::lock::{LockKey, LockMode, LockOwner, LockRow, LockStatus};
use crate::primitives::{AtomicU32, Ordering};

/// When a lock is released automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockScope {
    /// At the end of the transaction.
    Transaction,
    /// At the end of the session.
    Session,
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is in the queue.
    Waiting,
    /// The lock is granted.
    Granted,
    /// It was cancelled, or chosen as a deadlock victim.
    Refused,
}

/// One request for a lock, identified by its address.
#[derive(Debug)]
pub struct Request {
    pub(super) owner: Arc<LockOwner>,
    pub(super) scope: LockScope,
    /// The mode that the owner has once this is granted.
    pub(super) mode: LockMode,
    pub(super) is_conversion: bool,
    decision: AtomicU32,
}

impl Request {
    fn new(owner: &Arc<LockOwner>, scope: LockScope, mode: LockMode, is_conversion: bool) -> Self {
        let decision = AtomicU32::new(Decision::Waiting as u32);
        Self { owner: Arc::clone(owner), scope, mode, is_conversion, decision }
    }

    /// Returns the state of the request. It changes only under the lock of its resource.
    #[must_use]
    pub fn decision(&self) -> Decision {
        // Acquire: pairs with the Release in `decide`.
        match self.decision.load(Ordering::Acquire) {
            0 => Decision::Waiting,
            1 => Decision::Granted,
            _ => Decision::Refused,
        }
    }

    pub(super) fn decide(&self, decision: Decision) {
        self.decision.store(decision as u32, Ordering::Release);
    }

    /// Returns the address under which the requester parks.
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn is_of(&self, session: u32) -> bool {
        self.owner.session() == session
    }
}

/// A granted lock of one session in one scope.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) request: Arc<Request>,
    pub(super) mode: LockMode,
    /// How often its owner has acquired it, and so must release it.
    pub(super) count: u32,
}

impl Granted {
    fn is_of(&self, session: u32, scope: LockScope) -> bool {
        self.request.is_of(session) && self.request.scope == scope
    }
}

/// The result of asking for a lock.
#[derive(Debug)]
pub(super) enum Asked {
    /// Granted, and the owner held nothing in this scope before.
    First,
    Again,
    /// The request is in the queue.
    Queued(Arc<Request>),
}

#[derive(Debug, Default)]
pub(super) struct Resource {
    pub(super) granted: Vec<Granted>,
    pub(super) waiting: VecDeque<Arc<Request>>,
}

impl Resource {
    pub(super) fn is_unused(&self) -> bool {
        self.granted.is_empty() && self.waiting.is_empty()
    }

    /// Returns whether a request is in the queue.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Asks for the lock: grants it or queues the request.
    pub(super) fn ask(
        &mut self,
        owner: &Arc<LockOwner>,
        scope: LockScope,
        asked: LockMode,
    ) -> Asked {
        let session = owner.session();
        let is_holder = self.granted.iter().any(|granted| granted.request.is_of(session));
        let held = self.granted.iter_mut().find(|granted| granted.is_of(session, scope));
        let mode = held.as_ref().map_or(asked, |held| held.mode.with(asked));
        if let Some(held) = held
            && held.mode == mode
        {
            held.count += 1;
            return Asked::Again;
        }
        let request = Arc::new(Request::new(owner, scope, mode, is_holder));
        if self.may_have(&request, self.waiting.len()) {
            return self.grant(request);
        }
        let ahead = self.waiting.iter().filter(|other| other.is_conversion).count();
        let place = if is_holder { ahead } else { self.waiting.len() };
        self.waiting.insert(place, Arc::clone(&request));
        Asked::Queued(request)
    }

    /// Returns whether a session would get the lock without waiting.
    pub(super) fn would_grant(&self, session: u32, scope: LockScope, asked: LockMode) -> bool {
        let is_holder = self.granted.iter().any(|granted| granted.request.is_of(session));
        let held = self.granted.iter().find(|granted| granted.is_of(session, scope));
        let mode = held.map_or(asked, |held| held.mode.with(asked));
        held.is_some_and(|held| held.mode == mode)
            || self.is_open_to(session, mode)
                && (is_holder || self.nobody_waits_for(mode, self.waiting.len()))
    }

    /// Returns whether no holder and none of the first `ahead` queued requests conflicts.
    fn may_have(&self, request: &Request, ahead: usize) -> bool {
        self.is_open_to(request.owner.session(), request.mode)
            && (request.is_conversion || self.nobody_waits_for(request.mode, ahead))
    }

    fn is_open_to(&self, session: u32, mode: LockMode) -> bool {
        let others = self.granted.iter().filter(|granted| !granted.request.is_of(session));
        others.map(|granted| granted.mode).all(|held| mode.is_compatible_with(held))
    }

    fn nobody_waits_for(&self, mode: LockMode, ahead: usize) -> bool {
        self.waiting.iter().take(ahead).all(|other| mode.is_compatible_with(other.mode))
    }

    fn grant(&mut self, request: Arc<Request>) -> Asked {
        request.decide(Decision::Granted);
        let (session, scope) = (request.owner.session(), request.scope);
        if let Some(held) = self.granted.iter_mut().find(|held| held.is_of(session, scope)) {
            held.mode = request.mode;
            held.count += 1;
            return Asked::Again;
        }
        self.granted.push(Granted { mode: request.mode, count: 1, request });
        Asked::First
    }

    /// Releases the lock once; `None` if it is not held, else whether that was the last time.
    pub(super) fn release(&mut self, session: u32, scope: LockScope) -> Option<bool> {
        let place = self.granted.iter().position(|granted| granted.is_of(session, scope))?;
        self.granted[place].count -= 1;
        let is_last = self.granted[place].count == 0;
        if is_last {
            self.granted.swap_remove(place);
        }
        Some(is_last)
    }

    /// Releases the lock as often as it was acquired.
    pub(super) fn release_all(&mut self, session: u32, scope: LockScope) {
        self.granted.retain(|granted| !granted.is_of(session, scope));
    }

    /// Removes a request that still waits; returns `false` if it has been decided.
    pub(super) fn refuse(&mut self, request: &Arc<Request>) -> bool {
        let place = self.waiting.iter().position(|other| Arc::ptr_eq(other, request));
        let Some(place) = place else { return false };
        self.waiting.remove(place);
        request.decide(Decision::Refused);
        true
    }

    /// Grants the requests that have become possible; returns them, to be woken.
    pub(super) fn promote(&mut self) -> Vec<Arc<Request>> {
        let mut granted = Vec::new();
        let mut place = 0;
        while place < self.waiting.len() {
            if !self.may_have(&self.waiting[place], place) {
                place += 1;
                continue;
            }
            let Some(request) = self.waiting.remove(place) else { break };
            self.grant(Arc::clone(&request));
            granted.push(request);
        }
        granted
    }

    /// Returns the mode in which a session holds the lock.
    pub(super) fn held(&self, session: u32, scope: LockScope) -> Option<LockMode> {
        self.granted.iter().find(|held| held.is_of(session, scope)).map(|held| held.mode)
    }

    /// Adds a row for each holder and each waiting request.
    pub(super) fn show(&self, key: &LockKey, rows: &mut Vec<LockRow>) {
        let row = |request: &Arc<Request>, mode, status, count, blockers| LockRow {
            key: key.clone(),
            session: request.owner.session(),
            scope: request.scope,
            mode,
            status,
            count,
            address: request.key(),
            blockers,
        };
        for held in &self.granted {
            let status = LockStatus::Granted;
            rows.push(row(&held.request, held.mode, status, held.count, Vec::new()));
        }
        for request in &self.waiting {
            let has_some = self.held(request.owner.session(), request.scope).is_some();
            let status = if has_some { LockStatus::Converting } else { LockStatus::Waiting };
            rows.push(row(request, request.mode, status, 1, self.blockers(request)));
        }
    }

    /// Follows from a waiting request to the requests and holders that block it, through the queue.
    /// A waiting request waits for nothing else, so only holders have further edges.
    pub(super) fn follow(&self, request: &Arc<Request>) -> Followed {
        let mut followed = Followed::default();
        let place = self.waiting.iter().position(|other| Arc::ptr_eq(other, request));
        let Some(place) = place else { return followed };
        let mut reached = vec![Arc::clone(request)];
        for other in self.waiting.iter().take(place).rev() {
            let stops = |later: &Arc<Request>| {
                !later.is_conversion && !later.mode.is_compatible_with(other.mode)
            };
            if reached.iter().any(stops) {
                followed.waiters.push(other.owner.session());
                // One request of a mode represents all of that mode, except those of holders.
                let stands =
                    |known: &Arc<Request>| !known.is_conversion && known.mode == other.mode;
                if other.is_conversion || !reached.iter().any(stands) {
                    reached.push(Arc::clone(other));
                }
            }
        }
        for granted in &self.granted {
            let holder = &granted.request.owner;
            let stops = |waiter: &Arc<Request>| {
                !waiter.is_of(holder.session()) && !waiter.mode.is_compatible_with(granted.mode)
            };
            if reached.iter().any(stops) {
                followed.holders.push(Arc::clone(holder));
            }
        }
        followed
    }

    /// Returns the sessions that directly block a waiting request: holders or, if none of them
    /// does, requests ahead of it.
    pub(super) fn blockers(&self, request: &Arc<Request>) -> Vec<u32> {
        let session = request.owner.session();
        let others = self.granted.iter().filter(|granted| !granted.request.is_of(session));
        let in_the_way = others.filter(|granted| !request.mode.is_compatible_with(granted.mode));
        let mut blockers: Vec<u32> =
            in_the_way.map(|granted| granted.request.owner.session()).collect();
        if blockers.is_empty() {
            let before = self.waiting.iter().take_while(|other| !Arc::ptr_eq(other, request));
            let before = before.filter(|other| !request.mode.is_compatible_with(other.mode));
            blockers.extend(before.map(|other| other.owner.session()));
        }
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }
}

/// What blocks a request, directly or not.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// Sessions that wait ahead of it.
    pub(super) waiters: Vec<u32>,
    /// Sessions that hold what it, or one of the requests ahead, waits for.
    pub(super) holders: Vec<Arc<LockOwner>>,
}
