//! Deadlock detection. A session about to block walks the wait-for graph; the one whose wait closes
//! a cycle finds it. There is no monitor thread, so sessions that do not block pay nothing.
//!
//! A cycle is closed by its last wait, and that session searches after it has published what it
//! waits for, so no cycle is missed. The graph may change during a search, so a cycle is walked a
//! second time: waits that are the same in both walks existed at the same time in between.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use crate::lock::owner::WaitsFor;
use crate::lock::{LockKey, LockManager, LockOwner, Request, Wanted};
use crate::primitives::{Mutant, is_mutant};

/// A session of a cycle, and its wait.
#[derive(Clone)]
struct Link {
    owner: Arc<LockOwner>,
    number: u64,
    priority: i8,
}

/// A deadlock that was found, as it is reported.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// The session that was chosen as the victim.
    pub victim: u32,
    /// The sessions of the cycle: each waits for the next one, and the last one for the first.
    pub members: Vec<DeadlockMember>,
}

/// A session in a deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockMember {
    /// The id of the session.
    pub session: u32,
    /// Its SET DEADLOCK_PRIORITY value.
    pub priority: i8,
    /// What it waits for; `None` if the wait has just ended.
    pub waits_for: Option<Wanted>,
}

impl Deadlock {
    /// Iterates over the cycle: each session with the one that it waits for.
    pub fn edges(&self) -> impl Iterator<Item = (&DeadlockMember, &DeadlockMember)> {
        self.members.iter().zip(self.members.iter().cycle().skip(1))
    }

    fn of(cycle: &[Link], victim: &Link) -> Self {
        let member = |link: &Link| DeadlockMember {
            session: link.owner.session(),
            priority: link.priority,
            waits_for: link.owner.wanted(),
        };
        Self { victim: victim.owner.session(), members: cycle.iter().map(member).collect() }
    }
}

/// The edges of the wait-for graph from a waiting session.
struct Edges {
    link: Link,
    /// Sessions that wait for the same lock ahead of it.
    waiters: Vec<u32>,
    /// Sessions that hold what it needs.
    holders: Vec<Arc<LockOwner>>,
}

impl Edges {
    fn lead_to(&self, session: u32) -> bool {
        self.waiters.contains(&session)
            || self.holders.iter().any(|holder| holder.session() == session)
    }
}

/// The largest number of waits that a search follows.
const LINKS_MAX: usize = 10_000;

impl LockManager {
    /// Ends the deadlocks that the wait of `owner`, which has just begun, closes: each by ending
    /// the wait of one of its sessions, the victim.
    pub(super) fn end_deadlocks(&self, owner: &Arc<LockOwner>) {
        while let Some(cycle) = self.find_cycle(owner) {
            // The victim has the lowest priority; of equals, it is the last to wait. Every session
            // that finds this cycle must choose the same victim.
            let mut victim = cycle.iter().min_by_key(|link| (link.priority, Reverse(link.number)));
            if is_mutant(Mutant::LockVictimIsWhoSearches) {
                victim = cycle.first();
            }
            let Some(victim) = victim else { return };
            self.tell(&cycle, victim);
            self.choose(victim);
            if victim.owner.session() == owner.session() {
                return;
            }
        }
    }

    /// Reports a deadlock, unless its victim has been chosen already.
    fn tell(&self, cycle: &[Link], victim: &Link) {
        if let Some(watch) = self.watch.get()
            && !victim.owner.is_victim()
        {
            watch(&Deadlock::of(cycle, victim));
        }
    }

    /// Registers `watch`, which is called for each deadlock found from now on, on the thread that
    /// finds it, before it is ended. Returns `false` if one was registered before. If two threads
    /// find a deadlock at once, both may report it.
    pub fn watch_deadlocks(&self, watch: Box<dyn Fn(&Deadlock) + Send + Sync>) -> bool {
        self.watch.set(watch).is_ok()
    }

    fn find_cycle(&self, owner: &Arc<LockOwner>) -> Option<Vec<Link>> {
        let mut seen = HashSet::new();
        let mut path = Vec::new();
        let mut open = vec![self.edges(owner)?];
        while let Some(edges) = open.last_mut() {
            if edges.lead_to(owner.session()) {
                path.extend(open.iter().map(|edges| edges.link.clone()));
                return self.is_closed(&path).then_some(path);
            }
            let next = edges.holders.pop();
            match next.filter(|next| seen.insert(next.session())) {
                Some(next) if seen.len() < LINKS_MAX => open.extend(self.edges(&next)),
                Some(_) => return None,
                None if edges.holders.is_empty() => drop(open.pop()),
                None => {}
            }
        }
        None
    }

    /// Walks a cycle again: it is a deadlock if every wait is still the same.
    fn is_closed(&self, path: &[Link]) -> bool {
        let next = path.iter().cycle().skip(1);
        path.iter().zip(next).all(|(link, next)| {
            self.edges(&link.owner).is_some_and(|edges| {
                edges.link.number == link.number && edges.lead_to(next.owner.session())
            })
        })
    }

    /// Returns the edges from a session; `None` if it does not wait.
    fn edges(&self, owner: &Arc<LockOwner>) -> Option<Edges> {
        enum Seen {
            Row(u32),
            Lock(LockKey, Arc<Request>),
        }
        let (link, seen) = owner.with_wait(|wait| {
            let link =
                Link { owner: Arc::clone(owner), number: wait.number, priority: wait.priority };
            let seen = match &wait.what {
                WaitsFor::Nothing => None,
                WaitsFor::Row { blocker, session } => {
                    blocker.is_in_the_way().then_some(Seen::Row(*session))
                }
                WaitsFor::Lock { key, request } => {
                    Some(Seen::Lock(key.clone(), Arc::clone(request)))
                }
            };
            seen.filter(|_| !owner.is_victim()).map(|seen| (link, seen))
        })?;
        Some(match seen {
            Seen::Row(session) => {
                let holders = self.find_owner(session).into_iter().collect();
                Edges { link, waiters: Vec::new(), holders }
            }
            Seen::Lock(key, request) => {
                let followed = self.with_resource(&key, |resource| resource.follow(&request));
                let followed = followed.unwrap_or_default();
                Edges { link, waiters: followed.waiters, holders: followed.holders }
            }
        })
    }

    /// Ends the wait of the victim, if it is still the one that closed the cycle.
    fn choose(&self, victim: &Link) {
        let key = victim.owner.with_wait(|wait| {
            if wait.number != victim.number {
                return None;
            }
            victim.owner.choose();
            match &wait.what {
                WaitsFor::Nothing => None,
                WaitsFor::Row { blocker, .. } => Some(Err(blocker.key())),
                WaitsFor::Lock { key, request } => Some(Ok((key.clone(), Arc::clone(request)))),
            }
        });
        match key {
            None => {}
            // Other sessions that wait for the same transaction wake too, and wait on.
            Some(Err(address)) => super::wake(self, address),
            Some(Ok((key, request))) => {
                self.refuse(&key, &request);
            }
        }
    }
}
