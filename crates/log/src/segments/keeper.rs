//! `Keeper`: prepares the file of the next segment before the current one is full, and retires
//! segments, so that the log thread seldom waits for the file system.
//!
//! The caller starts a thread and calls [`Keeper::run`] on it. A log works without one: the log
//! thread then makes its files itself.

use sos::park;
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::wait::WaitType;

use super::LogError;
use super::folder::{LogFolder, PREPARE, RETIRE};

/// Keeps the folder of a log in order.
#[derive(Debug)]
pub struct Keeper {
    folder: Arc<LogFolder>,
}

impl Keeper {
    /// Makes the keeper of a folder: see [`super::SegmentWriter::folder`]. There is one at most.
    #[must_use]
    pub fn new(folder: Arc<LogFolder>) -> Self {
        folder.note_keeper();
        Self { folder }
    }

    /// Does what is asked for until `stop` is set; the thread that sets it calls
    /// [`LogFolder::wake`]. `idle` is the wait type of the thread's sleep.
    ///
    /// # Errors
    /// [`LogError::Suspect`] after a failure, which the log thread gets.
    pub fn run(&mut self, stop: &AtomicBool, idle: WaitType) -> Result<(), LogError> {
        // Acquire: pairs with the Release of the thread that asks for the stop and then wakes.
        while !stop.load(Ordering::Acquire) {
            if !self.step()? {
                let must_wait = || !self.folder.has_requests() && !stop.load(Ordering::Acquire);
                park::park(self.folder.key(), idle, must_wait, None, None);
            }
        }
        Ok(())
    }

    /// Does what is asked for now; returns false if nothing was.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn step(&mut self) -> Result<bool, LogError> {
        let requests = self.folder.take_requests();
        if requests & RETIRE != 0 {
            self.folder.retire_requested()?;
        }
        if requests & PREPARE != 0 {
            self.folder.prepare()?;
        }
        Ok(requests != 0)
    }
}
