//! The calling thread's own activity: for which session it works, what blocks its waits, and the
//! begin and end of each wait.
//!
//! On a thread that has no activity the calls do nothing.

use std::cell::Cell;
use std::ptr;

use super::record::{Activity, Blocker, Standing, WaitAbout};
use crate::sync::Arc;
use crate::wait::WaitType;

thread_local! {
    static CURRENT: Cell<*const Activity> = const { Cell::new(ptr::null()) };
    static ABOUT: Cell<WaitAbout> = const { Cell::new(WaitAbout { address: 0, blocker: None }) };
}

#[inline]
fn with_current(run: impl FnOnce(&Activity)) {
    // SAFETY: `Installed` set it to an activity that it keeps alive, and clears it when dropped.
    if let Some(activity) = unsafe { CURRENT.get().as_ref() } {
        run(activity);
    }
}

/// Makes an activity that of the calling thread until dropped.
pub(super) struct Installed(
    #[expect(dead_code, reason = "kept for the pointer to it")] Arc<Activity>,
);

impl Installed {
    pub(super) fn new(activity: &Arc<Activity>) -> Self {
        CURRENT.set(Arc::as_ptr(activity));
        Self(Arc::clone(activity))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

/// Publishes for which session the calling thread works from now on: a tag of the caller's choice,
/// usually the session id; 0 for none. Costs one store to the thread's own cache line.
#[inline]
pub fn work_for(tag: u32) {
    with_current(|activity| activity.set_work(tag));
}

/// Publishes, until the result is dropped, that the calling thread helps with part `part` (1 or
/// more) of the work of `tag`. `from` is a reading of the caller's choice, such as the CPU time
/// spent so far, for readers that want the difference.
#[must_use]
pub fn help_for(tag: u32, part: u32, from: u64) -> Helping {
    with_current(|activity| {
        activity.set_part(part, from);
        activity.set_work(tag);
    });
    Helping(())
}

/// A thread's help with the work of another one's session; ends when dropped.
#[derive(Debug)]
pub struct Helping(());

impl Drop for Helping {
    fn drop(&mut self) {
        with_current(|activity| {
            activity.set_work(0);
            activity.end_part();
        });
    }
}

/// The tag for which the calling thread works, as set by [`work_for`]; 0 for none. Takes no lock.
#[must_use]
pub fn working_for() -> u32 {
    let mut tag = 0;
    with_current(|activity| tag = activity.work().unwrap_or(0));
    tag
}

/// Names the blocker of the waits that the calling thread begins before the result is dropped.
pub fn blame(blocker: Blocker) -> Blame {
    let before = ABOUT.get();
    ABOUT.set(WaitAbout { blocker: Some(blocker), ..before });
    Blame(before)
}

/// Names the resource address of the waits that the calling thread begins before the result is
/// dropped.
pub(crate) fn wait_at(address: usize) -> Blame {
    let before = ABOUT.get();
    ABOUT.set(WaitAbout { address, ..before });
    Blame(before)
}

/// What the next waits of a thread are about; the earlier value is restored when dropped.
#[must_use]
pub struct Blame(WaitAbout);

impl Drop for Blame {
    fn drop(&mut self) {
        ABOUT.set(self.0);
    }
}

/// The resource address of the calling thread's next wait; 0 if none was named.
pub(in crate::sched) fn noted_address() -> usize {
    ABOUT.get().address
}

pub(in crate::sched) fn begin_wait(wait_type: WaitType, now: u64) {
    with_current(|activity| activity.begin_wait(wait_type, now, ABOUT.get()));
}

pub(in crate::sched) fn signalled() {
    with_current(|activity| activity.stand(Standing::Runnable));
}

pub(in crate::sched) fn end_wait(now: u64) {
    with_current(|activity| activity.end_wait(now));
}
