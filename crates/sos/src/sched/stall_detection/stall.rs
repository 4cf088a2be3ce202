//! Stalls: times in which the machine, or one of its schedulers, made no progress; the latest are
//! kept in a ring for `sys.dm_os_stalls`.

use std::collections::VecDeque;

use crate::lock::{SpinClass, SpinLock};
use crate::registry::registry;

registry! {
    /// What made no progress.
    pub enum StallKind {
        /// The monitor's own thread was woken late: the whole machine was busy with something else.
        Machine => "MACHINE",
        /// A scheduler's worker did not come back to its loop.
        NonYielding => "NON_YIELDING_SCHEDULER",
        /// The same, and the operating system says that the thread was not even on a CPU or in line
        /// for one: it blocks without having handed its scheduler over.
        Blocked => "BLOCKED_SCHEDULER",
    }
}

/// One stall, which may still go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it began: UTC in units of 100 ns since 0001-01-01.
    pub began_100ns: u64,
    /// How long it lasted, as far as it was seen.
    pub duration_ns: u64,
    /// What made no progress.
    pub kind: StallKind,
    /// The number of the scheduler; `None` if the whole machine stalled.
    pub scheduler: Option<u32>,
    /// The operating system's id of the thread in question.
    pub thread_id: Option<u32>,
    /// The session id (work tag) that the thread worked for.
    pub work: Option<u32>,
    /// The name of the thread's ledger state at the first look.
    pub state: &'static str,
    /// The name of the thread's ledger label at the first look.
    pub label: &'static str,
    /// How often the monitor saw the stall while it lasted.
    pub looks: u64,
}

/// The number of stalls kept; the oldest is dropped when there are more.
const STALLS_MAX: usize = if cfg!(test) { 4 } else { 256 };

/// The latest stalls. Written by the monitor alone.
#[derive(Debug)]
pub(in crate::sched) struct Stalls {
    ring: SpinLock<VecDeque<(u64, Stall)>>,
}

impl Stalls {
    pub(in crate::sched) fn new() -> Self {
        Self { ring: SpinLock::new(SpinClass::SosThreadList, VecDeque::new()) }
    }

    /// Adds a stall under a rising number, or replaces the one with that number.
    pub(in crate::sched) fn put(&self, number: u64, stall: Stall) {
        let mut ring = self.ring.lock();
        if let Some((_, kept)) = ring.iter_mut().rev().find(|(other, _)| *other == number) {
            *kept = stall;
            return;
        }
        if ring.len() == STALLS_MAX {
            ring.pop_front();
        }
        ring.push_back((number, stall));
    }

    /// The stalls, oldest first.
    pub(in crate::sched) fn read(&self) -> Vec<Stall> {
        self.ring.lock().iter().map(|(_, stall)| stall.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall(duration_ns: u64) -> Stall {
        let kind = StallKind::Machine;
        let (scheduler, thread_id, work) = (None, None, None);
        let (state, label) = ("idle", "");
        let began_100ns = 0;
        Stall { began_100ns, duration_ns, kind, scheduler, thread_id, work, state, label, looks: 1 }
    }

    #[test]
    fn a_stall_that_goes_on_keeps_its_place_and_the_oldest_goes() {
        let stalls = Stalls::new();
        for number in 0..6 {
            stalls.put(number, stall(number));
        }
        stalls.put(4, stall(40));
        let kept: Vec<u64> = stalls.read().iter().map(|stall| stall.duration_ns).collect();
        assert_eq!(kept, [2, 3, 40, 5]);
        stalls.put(1, stall(10));
        assert_eq!(stalls.read().len(), STALLS_MAX);
    }
}
