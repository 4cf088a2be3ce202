//! `Hurry`: whether the keeper is to end early what it may leave undone. The log thread waits for a file, or
//! the keeper is to stop.

use crate::mutant::{Mutant, is_mutant};
use sos::sync::{AtomicBool, Ordering};

/// Why the keeper is to hurry. Relaxed, all of it: a hint, by which no other memory is read.
#[derive(Debug, Default)]
pub(crate) struct Hurry {
    /// The log thread waits for the desk.
    is_waited_for: AtomicBool,
    /// The keeper is to stop, which is never taken back.
    is_stopping: AtomicBool,
}

impl Hurry {
    /// Notes that the log thread waits for the desk.
    pub(crate) fn begin_wait(&self) {
        self.is_waited_for.store(true, Ordering::Relaxed);
    }

    /// Notes that the log thread has the desk.
    pub(crate) fn end_wait(&self) {
        self.is_waited_for.store(false, Ordering::Relaxed);
        if is_mutant(Mutant::StopForgotten) {
            self.is_stopping.store(false, Ordering::Relaxed);
        }
    }

    /// Notes that the keeper is to stop.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns whether the keeper is to hurry.
    pub(crate) fn is_on(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed) || self.is_waited_for.load(Ordering::Relaxed)
    }
}
