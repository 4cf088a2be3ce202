//! Who is connected: session ids and the flags by which KILL reaches them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;

/// User sessions have ids from here on, as in SQL Server.
const FIRST_USER_SESSION: i16 = 51;

/// Ends a session from outside: told by KILL, done by whoever owns the connection.
pub type OnKill = Arc<dyn Fn() + Send + Sync>;

/// The sessions of an instance. Written at login and logout only.
pub struct Sessions {
    open: SpinLock<BTreeMap<i16, Option<Reach>>>,
}

/// How to reach a session.
#[derive(Clone)]
struct Reach {
    cancel: Arc<Cancel>,
    on_kill: Option<OnKill>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { open: SpinLock::new(SpinClass::SessionManager, BTreeMap::new()) }
    }
}

impl Sessions {
    /// Gives out the lowest free id. Past 32,767 sessions ids go on below zero, which only `@@SPID`
    /// shows.
    pub(crate) fn open_id(&self) -> i16 {
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
    pub(crate) fn register(&self, id: i16, cancel: &Arc<Cancel>) {
        let reach = Reach { cancel: Arc::clone(cancel), on_kill: None };
        self.open.lock().insert(id, Some(reach));
    }

    /// Says what KILL does besides cancelling.
    pub(crate) fn set_on_kill(&self, id: i16, on_kill: OnKill) {
        if let Some(Some(reach)) = self.open.lock().get_mut(&id) {
            reach.on_kill = Some(on_kill);
        }
    }

    /// Frees an id.
    pub(crate) fn close(&self, id: i16) {
        self.open.lock().remove(&id);
    }

    /// Cancels what a session runs and ends it; tells whether there is such a session.
    pub(crate) fn kill(&self, id: i32) -> bool {
        let Ok(id) = i16::try_from(id) else { return false };
        // Outside the lock: what follows takes other locks.
        let reach = self.open.lock().get(&id).cloned().flatten();
        let Some(reach) = reach else { return false };
        if let Some(on_kill) = &reach.on_kill {
            on_kill();
        }
        reach.cancel.set();
        true
    }

    /// Returns how many sessions are open.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }
}
