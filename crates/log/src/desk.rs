//! `Desk`: how the log thread and the keeper share a folder. One of them at a time works at it, and
//! what the keeper has prepared waits there for the log thread.
//!
//! ```text
//! keeper      has the desk ─ makes a file ─┬─ it is there: `ready` ─────────────────┐
//!                                          ├─ no room: nothing                      ├─ leaves the desk
//!                                          └─ an error: `failure`, which is final ──┘
//! log thread  has the desk ─ the failure, or what is ready, or nothing: then it makes a file itself
//! ```
//!
//! No state says that something is being made: only having the desk does, and that ends with the
//! call, also with a panic. So the log thread never waits for a keeper that has given up.

use crate::mutant::{Mutant, is_mutant};
use sos::lock::TryCell;

/// A folder, seen from its two users. `T` is what the keeper prepares, `E` why it failed.
#[derive(Debug)]
pub(crate) struct Desk<T, E, S> {
    inner: TryCell<Inner<T, E, S>>,
}

#[derive(Debug)]
struct Inner<T, E, S> {
    ready: Option<T>,
    failure: Option<E>,
    state: S,
}

impl<T, E: Failure, S> Inner<T, E, S> {
    /// Returns the failure once, and a short form of it from then on.
    fn see(&mut self) -> Result<(), E> {
        match self.failure.take() {
            None => Ok(()),
            Some(failure) => {
                self.failure = Some(E::is_final_already());
                Err(failure)
            }
        }
    }
}

/// Why the keeper could not do something.
pub(crate) trait Failure: Sized {
    /// Returns whether it means only that there is no room now.
    fn is_full(&self) -> bool;
    /// Returns an error that says that another error was final.
    fn is_final_already() -> Self;
}

impl<T, E: Failure, S> Desk<T, E, S> {
    pub(crate) fn new(state: S) -> Self {
        Self { inner: TryCell::new(Inner { ready: None, failure: None, state }) }
    }

    /// Prepares something with `make`, which sees what is there. `rest` is called while the other
    /// thread has the desk.
    ///
    /// # Errors
    /// After a failure, which the log thread gets; no room is none.
    pub(crate) fn prepare(
        &self,
        rest: impl FnMut(),
        make: impl FnOnce(&mut Option<T>, &mut S) -> Result<(), E>,
    ) -> Result<(), E> {
        self.work(rest, |inner| match make(&mut inner.ready, &mut inner.state) {
            Err(error) if error.is_full() => Ok(()),
            made => made,
        })
    }

    /// Returns the keeper's failure if there is one, for the log thread. It does not wait: while the
    /// keeper works, there is none to be seen.
    ///
    /// # Errors
    /// The failure.
    pub(crate) fn see(&self) -> Result<(), E> {
        self.inner.try_with(Inner::see).unwrap_or(Ok(()))
    }

    /// Runs a change of the keeper.
    ///
    /// # Errors
    /// After a failure, which the log thread gets.
    pub(crate) fn change<R>(
        &self,
        rest: impl FnMut(),
        change: impl FnOnce(&mut S) -> Result<R, E>,
    ) -> Result<R, E> {
        self.work(rest, |inner| change(&mut inner.state))
    }

    /// Runs the log thread's part with what is ready.
    ///
    /// # Errors
    /// The keeper's failure, or that of `run`.
    pub(crate) fn take<R>(
        &self,
        rest: impl FnMut(),
        run: impl FnOnce(Option<T>, &mut S) -> Result<R, E>,
    ) -> Result<R, E> {
        self.inner.with(rest, |inner| {
            inner.see()?;
            run(inner.ready.take(), &mut inner.state)
        })
    }

    fn work<R>(
        &self,
        rest: impl FnMut(),
        run: impl FnOnce(&mut Inner<T, E, S>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.inner.with(rest, |inner| {
            if inner.failure.is_some() {
                return Err(E::is_final_already());
            }
            run(inner).map_err(|error| {
                if !is_mutant(Mutant::KeeperFailureDropped) {
                    inner.failure = Some(error);
                }
                E::is_final_already()
            })
        })
    }
}
