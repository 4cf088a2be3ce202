//! The roster: the list of the activities of a machine's living threads, for views and the monitor.

use super::current::Installed;
use super::record::Activity;
use crate::lock::{SpinClass, SpinLock};
use crate::sync::Arc;

/// The activities of the threads that are alive, in the order of their start.
#[derive(Debug)]
pub(in crate::sched) struct Roster {
    present: SpinLock<Vec<Arc<Activity>>>,
}

impl Roster {
    pub(in crate::sched) fn new() -> Self {
        Self { present: SpinLock::new(SpinClass::SosThreadList, Vec::new()) }
    }

    /// Adds the calling thread's activity; dropping the result removes it.
    pub(in crate::sched) fn enter(&self, activity: &Arc<Activity>) -> OnRoster<'_> {
        self.present.lock().push(Arc::clone(activity));
        let installed = Installed::new(activity);
        OnRoster { roster: self, activity: Arc::clone(activity), _installed: installed }
    }

    /// Returns the activities of the threads alive now.
    pub(in crate::sched) fn read(&self) -> Vec<Arc<Activity>> {
        self.present.lock().clone()
    }

    /// Finds a thread by its number in the ledger.
    pub(in crate::sched) fn find(&self, number: u32) -> Option<Arc<Activity>> {
        self.present.lock().iter().find(|activity| activity.number() == number).cloned()
    }
}

/// A thread's entry in the roster; removed when dropped.
pub(in crate::sched) struct OnRoster<'a> {
    roster: &'a Roster,
    activity: Arc<Activity>,
    _installed: Installed,
}

impl Drop for OnRoster<'_> {
    fn drop(&mut self) {
        self.roster.present.lock().retain(|other| !Arc::ptr_eq(other, &self.activity));
    }
}
