//! One lockable thing: who holds it, who waits for it, and who gets it next.
//!
//! First come, first served: a request waits if it is in conflict with a holder, or with one that
//! waits before it. Only who holds the thing already goes first: it is what the others wait for.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::lock::mode::LockMode;
use crate::lock::owner::LockOwner;
use crate::lock::{LockKey, LockRow, LockStatus};
use crate::primitives::sync::{AtomicU32, Ordering};

/// What ends the hold on a lock by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockScope {
    /// The end of the transaction.
    Transaction,
    /// The end of the session.
    Session,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It waits.
    Waiting,
    /// It has the lock.
    Granted,
    /// It was given up, or chosen to end a deadlock.
    Refused,
}

/// One request for a lock; its address names it.
#[derive(Debug)]
pub struct Request {
    pub(super) owner: Arc<LockOwner>,
    pub(super) scope: LockScope,
    /// What the owner has once this is granted.
    pub(super) mode: LockMode,
    pub(super) is_conversion: bool,
    decision: AtomicU32,
}

impl Request {
    fn new(owner: &Arc<LockOwner>, scope: LockScope, mode: LockMode, is_conversion: bool) -> Self {
        let decision = AtomicU32::new(Decision::Waiting as u32);
        Self { owner: Arc::clone(owner), scope, mode, is_conversion, decision }
    }

    /// Where it stands. Changes only under the lock of its resource.
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

    /// The address to park under.
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn is_of(&self, session: u32) -> bool {
        self.owner.session() == session
    }
}

/// A hold.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) request: Arc<Request>,
    pub(super) mode: LockMode,
    /// How often its owner has asked for it, and so has to give it back.
    pub(super) count: u32,
}

impl Granted {
    fn is_of(&self, session: u32, scope: LockScope) -> bool {
        self.request.is_of(session) && self.request.scope == scope
    }
}

/// What became of a request.
#[derive(Debug)]
pub(super) enum Asked {
    /// Granted; the first of its owner in this scope, or one more.
    First,
    Again,
    /// It waits.
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

    /// Tells whether a session could have the lock at once.
    pub(super) fn would_grant(&self, session: u32, scope: LockScope, asked: LockMode) -> bool {
        let is_holder = self.granted.iter().any(|granted| granted.request.is_of(session));
        let held = self.granted.iter().find(|granted| granted.is_of(session, scope));
        let mode = held.map_or(asked, |held| held.mode.with(asked));
        held.is_some_and(|held| held.mode == mode)
            || self.is_open_to(session, mode)
                && (is_holder || self.nobody_waits_for(mode, self.waiting.len()))
    }

    /// Whether nobody is in the way of a request that has so many ahead of it.
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

    /// Gives one count back; `None` if it is not held, else whether that was the last one.
    pub(super) fn release(&mut self, session: u32, scope: LockScope) -> Option<bool> {
        let place = self.granted.iter().position(|granted| granted.is_of(session, scope))?;
        self.granted[place].count -= 1;
        let is_last = self.granted[place].count == 0;
        if is_last {
            self.granted.swap_remove(place);
        }
        Some(is_last)
    }

    /// Gives all counts back.
    pub(super) fn release_all(&mut self, session: u32, scope: LockScope) {
        self.granted.retain(|granted| !granted.is_of(session, scope));
    }

    /// Takes a request out that still waits; false if it has been decided.
    pub(super) fn refuse(&mut self, request: &Arc<Request>) -> bool {
        let place = self.waiting.iter().position(|other| Arc::ptr_eq(other, request));
        let Some(place) = place else { return false };
        self.waiting.remove(place);
        request.decide(Decision::Refused);
        true
    }

    /// Grants what has become possible; returns whom to wake, behind the lock.
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

    /// The mode in which a session holds it.
    pub(super) fn held(&self, session: u32, scope: LockScope) -> Option<LockMode> {
        self.granted.iter().find(|held| held.is_of(session, scope)).map(|held| held.mode)
    }

    /// Adds a row for each hold and each request that waits.
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

    /// Follows from a waiting request who is in its way, through those that wait before it, down to
    /// holders. A request that waits here waits for nothing else, so only holders lead on.
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
                // One of a mode stands for all of them, but for those that hold the thing themselves.
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

    /// The sessions that are directly in the way of a waiting request: holders, or if there is none
    /// among them, who waits before it.
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

/// Who is in the way of a request, directly or not.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// Sessions that wait before it.
    pub(super) waiters: Vec<u32>,
    /// Sessions that hold what it, or one of those, waits for.
    pub(super) holders: Vec<Arc<LockOwner>>,
}
