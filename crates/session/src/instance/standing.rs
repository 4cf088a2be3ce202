//! What keeps an instance's data: checkpoints and the log on request, and the end of the server.

use durable::Standing;
use sos::park::Cancel;
use sos::sched::Waiting;
use sos::sync::{AtomicBool, OnceLock, Ordering};
use sos::wait::WaitType;

use super::Instance;
use crate::session_id;

/// How a server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// By a signal: requests that run may finish, but those in WAITFOR end at once.
    Signalled,
    /// SHUTDOWN: requests that run may finish.
    Orderly,
    /// They are ended: SHUTDOWN WITH NOWAIT.
    AtOnce,
}

/// Asks the program around the engine to stop the server; the text says why, for its log.
pub type Stopper = Box<dyn Fn(&str) -> std::io::Result<()> + Send + Sync>;

/// The way to stop the server, for SHUTDOWN.
#[derive(Default)]
pub(super) struct StopSwitch {
    stopper: OnceLock<Stopper>,
    /// Whether SHUTDOWN was the reason.
    is_asked: AtomicBool,
    /// Whether it was SHUTDOWN WITH NOWAIT.
    is_at_once: AtomicBool,
}

impl Instance {
    /// Sets what SHUTDOWN calls. The first call counts.
    pub fn on_shutdown(&self, stopper: Stopper) {
        // A second one would be a second server on one instance, which there is not.
        let _ = self.stop_switch.stopper.set(stopper);
    }

    /// Asks for the server's end, which comes soon after. `None` if there is no way to ask.
    ///
    /// # Errors
    /// The system's, if it refuses.
    pub fn shut_down(&self, how: Shutdown, why: &str) -> Option<std::io::Result<()>> {
        let stopper = self.stop_switch.stopper.get()?;
        if how == Shutdown::AtOnce {
            self.stop_switch.is_at_once.store(true, Ordering::Relaxed);
        }
        // Release: pairs with the Acquire of the thread that stops the server.
        self.stop_switch.is_asked.store(true, Ordering::Release);
        Some(stopper(why))
    }

    /// Returns how the server is to stop.
    pub fn shutdown(&self) -> Shutdown {
        match self.stop_switch.is_asked.load(Ordering::Acquire) {
            false => Shutdown::Signalled,
            true if self.stop_switch.is_at_once.load(Ordering::Relaxed) => Shutdown::AtOnce,
            true => Shutdown::Orderly,
        }
    }

    /// Ends the sessions that wait in WAITFOR: a stop by a signal does not wait for them.
    pub fn end_pauses(&self) {
        let pauses = |waiting: Waiting| waiting.wait_type == WaitType::WaitFor;
        let activities = self.machine.activities();
        let pausing = activities.iter().filter(|thread| thread.waiting().is_some_and(pauses));
        for session in pausing.filter_map(|thread| session_id(thread.work()?)) {
            self.sessions.stop(session);
        }
    }

    /// Makes durable what was committed, also with delayed durability. Nothing to do in memory only.
    ///
    /// # Errors
    /// [`storage::Error::LogFailed`].
    pub fn flush_log(&self) -> storage::Result<()> {
        match self.durable().map(durable::Database::flush) {
            None | Some(Standing::Durable) => Ok(()),
            Some(Standing::Lost | Standing::Waits) => Err(storage::Error::LogFailed),
        }
    }

    /// CHECKPOINT: writes what has changed since the last one, and waits for it. Nothing to do in
    /// memory only.
    ///
    /// # Errors
    /// Why it failed; the checkpoint before counts.
    pub fn checkpoint(&self, cancel: &Cancel) -> Result<(), String> {
        self.durable().map_or(Ok(()), |database| database.checkpoint(Some(cancel)))
    }
}
