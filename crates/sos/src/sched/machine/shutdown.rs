//! `Machine::stop`: refuse connections, drain requests, ask the rest to stop, end the threads.

use std::time::Duration;

use super::{ACCEPT_PAUSE, Machine};
use crate::clock;
use crate::park;
use crate::sched::scheduler::Phase;
use crate::thread;
use crate::wait::WaitType;

/// How often a stop looks for waits that it should end.
const URGE_PERIOD: Duration = Duration::from_millis(100);

/// Whether [`Machine::stop`] has ended all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// Every request finished and every thread ended.
    Clean,
    /// This many schedulers had requests that did not end in time; their threads are left behind.
    Abandoned(usize),
}

impl Machine {
    /// As [`Self::stop_with`], with nothing to call.
    pub fn stop(&self, grace: Duration) -> StopOutcome {
        self.stop_with(grace, || ())
    }

    /// Stops: refuses connections, closes the idle ones, lets requests finish for `grace`, asks the
    /// rest to stop and waits once more as long, then ends all threads. Calls `urge` every 100 ms
    /// while requests may finish: it ends waits that would take longer. Not to be called by a
    /// worker.
    pub fn stop_with(&self, grace: Duration, urge: impl Fn()) -> StopOutcome {
        self.shared.set_phase(Phase::Draining);
        self.shared.stopping.set();
        self.shared.monitor.stop();
        self.shared.stop_accepting.signal();
        self.nudge_all();
        if self.wait_for_end(grace, urge) > 0 {
            self.shared.set_phase(Phase::Stopping);
            self.nudge_all();
            for scheduler in self.schedulers.iter() {
                scheduler.stop_waiting();
            }
        }
        let left = self.wait_for_end(grace.max(ACCEPT_PAUSE), || ());
        let handles = self.shared.take_handles();
        for handle in handles {
            if left == 0 || handle.is_finished() {
                thread::join(handle);
            }
        }
        self.shared.accounts.events().stop_all();
        if left == 0 { StopOutcome::Clean } else { StopOutcome::Abandoned(left) }
    }

    fn nudge_all(&self) {
        for scheduler in self.schedulers.iter() {
            scheduler.nudge();
        }
    }

    /// Waits until every scheduler has ended or the time is up; returns how many have not. Calls
    /// `urge` each time that it looks.
    fn wait_for_end(&self, grace: Duration, urge: impl Fn()) -> usize {
        let deadline_ns = clock::deadline_ns(grace);
        let left = || self.schedulers.iter().filter(|scheduler| !scheduler.has_ended()).count();
        loop {
            let rest_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            if left() == 0 || rest_ns == 0 {
                return left();
            }
            urge();
            let timeout = Some(Duration::from_nanos(rest_ns).min(URGE_PERIOD));
            park::park(self.shared.key(), WaitType::Shutdown, || left() > 0, timeout, None);
        }
    }
}
