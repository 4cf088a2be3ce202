//! The roster: the activities of a machine's threads, for readers.

use super::activity::{Activity, Installed};
use crate::lock::{SpinClass, SpinLock};
use crate::sync::Arc;

/// The activities of the threads that are alive.
#[derive(Debug)]
pub(super) struct Roster {
    present: SpinLock<Vec<Arc<Activity>>>,
}

impl Roster {
    pub(super) fn new() -> Self {
        Self { present: SpinLock::new(SpinClass::SosThreadList, Vec::new()) }
    }

    /// Enters the calling thread, until what is returned is dropped.
    pub(super) fn enter(&self, activity: &Arc<Activity>) -> OnRoster<'_> {
        self.present.lock().push(Arc::clone(activity));
        let installed = Installed::new(activity);
        OnRoster { roster: self, activity: Arc::clone(activity), _installed: installed }
    }

    pub(super) fn read(&self) -> Vec<Arc<Activity>> {
        self.present.lock().clone()
    }

    /// Finds a thread by its number in the ledger.
    pub(super) fn find(&self, number: u32) -> Option<Arc<Activity>> {
        self.present.lock().iter().find(|activity| activity.number() == number).cloned()
    }
}

/// A thread's entry.
pub(super) struct OnRoster<'a> {
    roster: &'a Roster,
    activity: Arc<Activity>,
    _installed: Installed,
}

impl Drop for OnRoster<'_> {
    fn drop(&mut self) {
        self.roster.present.lock().retain(|other| !Arc::ptr_eq(other, &self.activity));
    }
}
