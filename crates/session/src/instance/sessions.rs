//! Who is connected: session ids and the cards by which KILL and the views reach the sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};

use crate::SessionState;
use crate::instance::{CounterTotals, SessionCard};

/// User sessions have ids from here on, as in SQL Server.
const FIRST_USER_SESSION: i16 = 51;

/// What is asked of a session from outside; done by whoever owns the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nudge {
    /// To end: KILL.
    End,
    /// To let go of what the catalog has no more, when it has nothing else to do.
    LetGo,
}

/// How to ask.
pub type OnNudge = Arc<dyn Fn(Nudge) + Send + Sync>;

/// The sessions of an instance. Written at login and logout only.
pub struct Sessions {
    open: SpinLock<BTreeMap<i16, Option<Reach>>>,
    /// What the sessions that are gone have done.
    ended: SpinLock<SessionTotals>,
}

/// What all sessions have done since the instance started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionTotals {
    /// Logins.
    pub logins: u64,
    /// Sessions ended.
    pub logouts: u64,
    /// Requests: batches, RPCs, transaction manager requests, bulk loads.
    pub requests: u64,
    /// Resets of pooled connections.
    pub resets: u64,
    /// What else the sessions count.
    pub counters: CounterTotals,
}

/// How to reach a session.
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
    /// Gives out the lowest free id. Past 32,767 sessions ids go on below zero, which only `@@SPID`
    /// shows.
    pub fn open_id(&self) -> i16 {
        let mut open = self.open.lock();
        let mut id = FIRST_USER_SESSION;
        // The ids are sorted: the first gap is the lowest free one.
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

    /// Makes a session reachable.
    pub fn register(&self, card: &Arc<SessionCard>) {
        let reach = Reach { card: Arc::clone(card), on_nudge: None };
        self.open.lock().insert(card.id, Some(reach));
        self.ended.lock().logins += 1;
    }

    /// Shows what a session's card has of its state as it is now.
    pub fn publish(&self, state: &SessionState) {
        // The card's lock is taken after this one has been freed.
        let card = self
            .open
            .lock()
            .get(&state.id)
            .and_then(|reach| Some(Arc::clone(&reach.as_ref()?.card)));
        if let Some(card) = card {
            card.publish(state);
        }
    }

    /// Returns the cards of the sessions, by id.
    pub fn cards(&self) -> Vec<Arc<SessionCard>> {
        self.open.lock().values().flatten().map(|reach| Arc::clone(&reach.card)).collect()
    }

    /// Returns what all sessions have done, those that are gone included.
    pub fn totals(&self) -> SessionTotals {
        let mut totals = self.ended.lock().clone();
        for card in self.cards() {
            totals.requests += card.requests();
            totals.resets += card.resets();
            totals.counters.absorb(&card.counters);
        }
        totals
    }

    /// Says how to ask something of a session.
    pub fn set_on_nudge(&self, id: i16, on_nudge: OnNudge) {
        if let Some(Some(reach)) = self.open.lock().get_mut(&id) {
            reach.on_nudge = Some(on_nudge);
        }
    }

    /// Asks all sessions to let go of what the catalog has no more.
    pub fn let_go(&self) {
        // Outside the lock: what follows takes other locks.
        let reached: Vec<_> = {
            let open = self.open.lock();
            open.values().flatten().filter_map(|reach| reach.on_nudge.clone()).collect()
        };
        reached.iter().for_each(|on_nudge| on_nudge(Nudge::LetGo));
    }

    /// Frees an id.
    pub fn close(&self, id: i16) {
        let reach = self.open.lock().remove(&id).flatten();
        let mut ended = self.ended.lock();
        ended.logouts += 1;
        if let Some(Reach { card, .. }) = reach {
            ended.requests += card.requests();
            ended.resets += card.resets();
            ended.counters.absorb(&card.counters);
        }
    }

    /// Cancels what a session runs and ends it; tells whether there is such a session.
    pub fn kill(&self, id: i32) -> bool {
        let Ok(id) = i16::try_from(id) else { return false };
        // Outside the lock: what follows takes other locks.
        let reach = self.open.lock().get(&id).cloned().flatten();
        let Some(reach) = reach else { return false };
        if let Some(on_nudge) = &reach.on_nudge {
            on_nudge(Nudge::End);
        }
        reach.card.cancel.set();
        true
    }

    /// Returns how many sessions are open.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }
}
