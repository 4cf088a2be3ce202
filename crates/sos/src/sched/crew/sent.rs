//! `SentItem`: one work item of a crew on its way to a scheduler, and what all items of a crew
//! share.

use crate::lock::{SpinClass, SpinLock};
use crate::park;
use crate::sched::handover::work_item::{ProvenOrders, Running, WorkItem};
use crate::sync::Arc;
use crate::thread;
use crate::wait::WaitType;

/// The function that a work item calls, with its lifetime erased.
pub(super) type Help = &'static (dyn Fn(usize, &Bell) + Sync);

/// A work item in the mail of a scheduler.
pub(in crate::sched) struct SentItem {
    pub(super) item: WorkItem,
    pub(super) number: usize,
    pub(super) help: Help,
    pub(super) state: Arc<CrewState>,
}

impl SentItem {
    /// Runs the work item, unless it has been revoked.
    pub(in crate::sched) fn run(&self) {
        self.item.run::<ProvenOrders>(&self.state.running, || {
            let helped =
                thread::contain(|| (self.help)(self.number, &Bell(Arc::clone(&self.state))));
            if let Err(message) = helped {
                self.state.panicked.lock().get_or_insert(message);
            }
        });
        park::unpark_all(self.state.key());
    }
}

/// What the leader and the helpers of a crew share. Its address is the key they park on.
pub(super) struct CrewState {
    pub(super) running: Running,
    /// The message of the first helper that panicked.
    pub(super) panicked: SpinLock<Option<String>>,
}

impl CrewState {
    pub(super) fn new() -> Self {
        let panicked = SpinLock::new(SpinClass::SosScheduler, None);
        Self { running: Running::default(), panicked }
    }

    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// Wakes, or waits with, the leader and the helpers of a crew. Clones share the crew.
#[derive(Clone)]
pub struct Bell(pub(super) Arc<CrewState>);

impl std::fmt::Debug for Bell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

impl Bell {
    /// Wakes the threads in [`Bell::wait`] and [`super::Crew::wait`].
    pub fn notify(&self) {
        park::unpark_all(self.0.key());
    }

    /// Waits while `must_wait`, until the leader or a helper notifies; see [`super::Crew::wait`].
    pub fn wait(&self, wait_type: WaitType, must_wait: impl FnOnce() -> bool) {
        park::park(self.0.key(), wait_type, must_wait, None, None);
    }
}
