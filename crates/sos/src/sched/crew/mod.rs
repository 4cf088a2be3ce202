//! Crews: the parallel work of one request, lent to schedulers that have nothing to do.
//!
//! ```text
//!  Machine::crew ── Mail::WorkItem ──► idle schedulers      each item: waiting ──► running ──► done
//!        │ lead()                       │ help(number)                    └─────► revoked
//!        └── revoke what has not begun, wait for what runs ◄───┘ notifies
//! ```
//! This folder has the leader's side (`Crew`) and the item that travels (`SentItem`). It knows
//! neither schedulers nor workers: `machine/crew.rs` chooses the idle schedulers and sends them the
//! items, and a scheduler's loop runs them.

mod sent;

use std::marker::PhantomData;

use super::handover::work_item::{ProvenOrders, WorkItem};
use crate::park;
use crate::sync::Arc;
use crate::wait::WaitType;

pub use sent::Bell;
pub(in crate::sched) use sent::SentItem;
use sent::{CrewState, Help};

/// The work items of one leader.
pub struct Crew<'a> {
    sent: Vec<Arc<SentItem>>,
    state: Arc<CrewState>,
    _help: PhantomData<&'a ()>,
}

impl Crew<'_> {
    /// Makes `count` work items that call `help` with 0, 1, ..; runs `send` on each and then
    /// `lead`. Returns what `lead` returns, once no item runs and none can begin.
    ///
    /// # Panics
    /// If a helper panicked.
    pub(in crate::sched) fn run<R>(
        count: usize,
        help: &(dyn Fn(usize, &Bell) + Sync),
        send: impl FnMut(&Arc<SentItem>),
        lead: impl FnOnce(&Crew<'_>) -> R,
    ) -> R {
        let state = Arc::new(CrewState::new());
        // SAFETY: `Dismiss` keeps this function from returning or unwinding while an item runs or
        // can still begin, so `help` is not called after its lifetime.
        let help: Help = unsafe { std::mem::transmute(help) };
        let item = |number| {
            let (item, state) = (WorkItem::default(), Arc::clone(&state));
            Arc::new(SentItem { item, number, help, state })
        };
        let sent: Vec<Arc<SentItem>> = (0..count).map(item).collect();
        let crew = Crew { sent, state: Arc::clone(&state), _help: PhantomData };
        let dismiss = Dismiss(&crew);
        crew.sent.iter().for_each(send);
        let led = lead(&crew);
        drop(dismiss);
        let panicked = state.panicked.lock().take();
        assert!(panicked.is_none(), "a helper panicked: {}", panicked.unwrap_or_default());
        led
    }

    /// Returns how many schedulers have been sent a work item.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Returns whether no scheduler has been sent a work item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Revokes the items that no helper has begun.
    pub fn revoke(&self) {
        self.sent.iter().for_each(|sent| sent.item.revoke::<ProvenOrders>());
    }

    /// Returns whether no helper runs. After [`Crew::revoke`] none will.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state.running.is_over()
    }

    /// Waits while `must_wait`, until the leader or a helper notifies.
    ///
    /// `must_wait` may only read; it must not park, unpark, or take other locks.
    pub fn wait(&self, wait_type: WaitType, must_wait: impl FnOnce() -> bool) {
        park::park(self.state.key(), wait_type, must_wait, None, None);
    }

    /// Wakes the threads in [`Crew::wait`] and [`Bell::wait`].
    pub fn notify(&self) {
        park::unpark_all(self.state.key());
    }

    /// Returns a handle by which helpers wake, or wait for, the leader and each other.
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.state))
    }
}

/// Ends a crew when dropped, also when the leader panics: revokes the items that have not begun and
/// waits for those that run.
struct Dismiss<'c, 'a>(&'c Crew<'a>);

impl Drop for Dismiss<'_, '_> {
    fn drop(&mut self) {
        self.0.revoke();
        while !self.0.is_over() {
            self.0.wait(WaitType::CxConsumer, || !self.0.is_over());
        }
    }
}
