//! `Watch`: ends a part of a request that takes too long, and lets the request go on.
//!
//! ```text
//!   attention, KILL ─► request's Cancel ─┐
//!                                        ├─► part's Cancel ─► the part ends
//!   the part's time is up (a thread) ────┘
//! ```

use std::io;
use std::time::Duration;

use super::{Cancel, Listener, Wake, sleep};
use crate::clock;
use crate::lock::{SpinClass, SpinLock};
use crate::sched::Machine;
use crate::sync::Arc;
use crate::wait::WaitType;

/// Interval at which the thread looks at the clock: a part may run longer by this.
const PERIOD: Duration = Duration::from_millis(100);

/// A thread that looks at the clock while parts of a request run. It ends when this is dropped.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// When the part that runs has to end, by the monotonic clock, and its flag.
    part: SpinLock<Option<(u64, Arc<Cancel>)>>,
    over: Cancel,
}

impl Watch {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(machine: &Machine, name: &str) -> io::Result<Self> {
        let part = SpinLock::new(SpinClass::SosCancel, None);
        let shared = Arc::new(Shared { part, over: Cancel::new() });
        let watched = Arc::clone(&shared);
        // The thread ends by itself within a moment of `over`: nothing has to wait for it.
        drop(machine.spawn_apart(name, move || watched.run())?);
        Ok(Self { shared })
    }

    /// Runs a part of a request with a flag that is set when the request's is, and when `limit`
    /// has passed. The part has to look at its own flag.
    pub fn run<T>(
        &self,
        limit: Duration,
        request: &Cancel,
        part: impl FnOnce(&Arc<Cancel>) -> T,
    ) -> T {
        let cancel = Arc::new(Cancel::new());
        let listening = request.listen(Listener::Part(Arc::clone(&cancel)));
        let due = (clock::deadline_ns(limit), Arc::clone(&cancel));
        *self.shared.part.lock() = Some(due);
        let result = part(&cancel);
        *self.shared.part.lock() = None;
        drop(listening);
        result
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.over.set();
    }
}

impl Shared {
    fn run(&self) {
        while sleep(PERIOD, WaitType::SleepTask, Some(&self.over)) == Wake::TimedOut {
            let now_ns = clock::monotonic_ns();
            let due = self.part.lock().as_ref().filter(|(due_ns, _)| *due_ns <= now_ns).cloned();
            // Outside of the lock: it wakes threads.
            if let Some((_, cancel)) = due {
                cancel.set();
            }
        }
    }
}
