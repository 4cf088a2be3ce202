//! Open sessions: their ids, and the cards through which KILL and the views access them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};

use crate::SessionState;
use crate::instance::{CounterTotals, SessionCard};

/// First id of user sessions, as in SQL Server.
const FIRST_USER_SESSION: i16 = 51;

/// A request to a session from another one; carried out by the thread that owns the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nudge {
    /// KILL: end the session.
    End,
    /// The server stops: end the session, and say so.
    Stop,
    /// Drop cached references to objects that the catalog no longer has, when idle.
    LetGo,
}

/// The callback that delivers a nudge to a session.
pub type OnNudge = Arc<dyn Fn(Nudge) + Send + Sync>;

/// The open sessions of an instance. Written only at login and logout.
pub struct Sessions {
    open: SpinLock<BTreeMap<i16, Option<Reach>>>,
    /// Sums over the sessions that have ended.
    ended: SpinLock<SessionTotals>,
}

/// Sums over all sessions since the instance started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionTotals {
    /// Number of successful logins.
    pub logins: u64,
    /// Number of sessions ended.
    pub logouts: u64,
    /// Number of requests: batches, RPCs, transaction manager requests, bulk loads.
    pub requests: u64,
    /// Number of resets of pooled connections.
    pub resets: u64,
    /// Number of reads from clients that returned data.
    pub reads: u64,
    /// Number of writes to clients.
    pub writes: u64,
    /// Sums of the sessions' counters.
    pub counters: CounterTotals,
}

impl SessionTotals {
    fn add(&mut self, card: &SessionCard) {
        let traffic = card.traffic();
        self.requests += card.requests();
        self.resets += card.resets();
        self.reads += traffic.reads();
        self.writes += traffic.writes();
        self.counters.absorb(&card.counters);
    }
}

/// How to access an open session.
#[derive(Clone)]
struct Reach {
    card: Arc<SessionCard>,
    on_nudge: Option<OnNudge>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            open: SpinLock::new(SpinClass::SessionManager, BTreeMap::new()),
            ended: SpinLock::new(SpinClass::SessionManager, SessionTotals::default()),
        }
    }
}

impl Sessions {
    /// Allocates the lowest free id. Above 32,767 sessions, further ids are negative, and only
    /// `@@SPID` shows them.
    pub fn open_id(&self) -> i16 {
        let mut open = self.open.lock();
        let mut id = FIRST_USER_SESSION;
        // The ids are sorted, so the first gap is the lowest free one.
        for taken in open.range(FIRST_USER_SESSION..).map(|(id, _)| *id) {
            if taken != id {
                break;
            }
            id = id.wrapping_add(1);
        }
        if id < FIRST_USER_SESSION {
            id = (i16::MIN..0).find(|id| !open.contains_key(id)).unwrap_or(i16::MIN);
        }
        open.insert(id, None);
        id
    }

    /// Makes a session accessible to other sessions.
    pub fn register(&self, card: &Arc<SessionCard>) {
        let reach = Reach { card: Arc::clone(card), on_nudge: None };
        self.open.lock().insert(card.id, Some(reach));
        self.ended.lock().logins += 1;
    }

    /// Updates a session's card from its current state.
    pub fn publish(&self, state: &SessionState) {
        // The card's lock is taken after this lock is released.
        let card = self
            .open
            .lock()
            .get(&state.connection.id)
            .and_then(|reach| Some(Arc::clone(&reach.as_ref()?.card)));
        if let Some(card) = card {
            card.publish(state);
        }
    }

    /// Returns the cards of all sessions, in order of id.
    pub fn cards(&self) -> Vec<Arc<SessionCard>> {
        self.open.lock().values().flatten().map(|reach| Arc::clone(&reach.card)).collect()
    }

    /// Returns the sums over all sessions, including those that have ended.
    pub fn totals(&self) -> SessionTotals {
        let mut totals = self.ended.lock().clone();
        for card in self.cards() {
            totals.add(&card);
        }
        totals
    }

    /// Sets the callback that delivers nudges to a session.
    pub fn set_on_nudge(&self, id: i16, on_nudge: OnNudge) {
        if let Some(Some(reach)) = self.open.lock().get_mut(&id) {
            reach.on_nudge = Some(on_nudge);
        }
    }

    /// Asks all sessions to drop references to objects that the catalog no longer has.
    pub fn let_go(&self) {
        // Outside the lock, since the callbacks take other locks.
        let reached: Vec<_> = {
            let open = self.open.lock();
            open.values().flatten().filter_map(|reach| reach.on_nudge.clone()).collect()
        };
        reached.iter().for_each(|on_nudge| on_nudge(Nudge::LetGo));
    }

    /// Frees a session's id, and adds its counts to the sums.
    pub fn close(&self, id: i16) {
        let reach = self.open.lock().remove(&id).flatten();
        let mut ended = self.ended.lock();
        ended.logouts += 1;
        if let Some(Reach { card, .. }) = reach {
            ended.add(&card);
        }
    }

    /// Cancels a session's request and ends the session; returns whether there is such a session.
    pub fn kill(&self, id: i32) -> bool {
        let Ok(id) = i16::try_from(id) else { return false };
        // Outside the lock, since the callback takes other locks.
        let reach = self.open.lock().get(&id).cloned().flatten();
        let Some(reach) = reach else { return false };
        if let Some(on_nudge) = &reach.on_nudge {
            on_nudge(Nudge::End);
        }
        reach.card.cancel.set();
        true
    }

    /// Cancels a session's request and ends the session because the server stops.
    pub fn stop(&self, id: i16) {
        // Outside the lock, since the callback takes other locks.
        let reach = self.open.lock().get(&id).cloned().flatten();
        let Some(reach) = reach else { return };
        if let Some(on_nudge) = &reach.on_nudge {
            on_nudge(Nudge::Stop);
        }
        reach.card.cancel.set();
    }

    /// Returns the number of open sessions.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }
}
