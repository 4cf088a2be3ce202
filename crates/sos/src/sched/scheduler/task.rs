//! What a scheduler runs: tasks, one per connection, and the reasons for which it runs them.

use std::fmt;
use std::os::fd::BorrowedFd;

use super::connections::Token;
use super::{Mail, Scheduler};
use crate::sync::Arc;

/// Why a task runs. Several reasons may come together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready(u8);

impl Ready {
    /// The socket has data to read.
    pub const READABLE: Self = Self(1);
    /// The peer has closed its side: read on until the end of the stream, then close. Until then
    /// the task is run again and again.
    pub const HANGUP: Self = Self(2);
    /// The task's deadline has passed.
    pub const TIMED_OUT: Self = Self(4);
    /// Another thread used the task's [`TaskWaker`].
    pub const WOKEN: Self = Self(8);
    /// It asked to be run again.
    pub const AGAIN: Self = Self(16);
    /// What it was held for, with [`Next::Hold`], is released.
    pub const RELEASED: Self = Self(32);

    /// Whether a reason is among these.
    #[inline]
    #[must_use]
    pub const fn has(self, reason: Self) -> bool {
        self.0 & reason.0 != 0
    }

    /// The union of both sets of reasons.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What the scheduler does with a task that has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run it when something arrives. Arrivals are reported once: a task that returns this must
    /// have read until the socket gave less than the buffer could take, or `WouldBlock`.
    Keep,
    /// Run it again after the others: it has input that it has not handled yet.
    Again,
    /// Call [`Task::release`] when this number is released ([`crate::sched::Machine::release`]): it has
    /// an answer that may not leave before. Until then it runs for no reason; those that come are
    /// kept.
    Hold(u64),
    /// The connection has ended: drop the task.
    Close,
}

/// One connection's work. It is run by the worker that holds the scheduler, by one at a time.
pub trait Task: Send {
    /// The descriptor to poll; asked once when the task is adopted and once before it is dropped.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Works on what has arrived until it has to wait for more. May wait through [`crate::sched`]
    /// and [`crate::park`] at any point; it must not block in any other way.
    fn run(&mut self, ready: Ready, waker: &TaskWaker) -> Next;

    /// Sends the answer that was held, now that its number is released; returns what comes next, as
    /// [`Self::run`] does. `None` if the task has to run for it, with [`Ready::RELEASED`]. Must not
    /// wait.
    fn release(&mut self) -> Option<Next> {
        None
    }

    /// Whether it is run even where all workers that the limit allows wait: a login, or an
    /// administrator's connection. Asked while the task is at rest.
    fn is_urgent(&self) -> bool {
        false
    }

    /// The monotonic time (ns) at which to run it even if nothing arrives; asked after each run,
    /// and once when it is adopted. Coarse: it may be late by some milliseconds.
    fn deadline_ns(&self) -> Option<u64> {
        None
    }
}

/// The part of a connection that can be reached while its task is running.
pub trait Interrupt: Send + Sync {
    /// Called when data arrives while the task is running; the data may be an attention. The caller
    /// is the thread that holds the scheduler then; this must not wait. The task runs again for the
    /// data that this leaves unread.
    fn interrupt(&self);

    /// The machine is stopping and has waited long enough: end the request soon.
    fn stop(&self);
}

/// A connection to hand to a machine.
pub struct Connection {
    /// The task that serves it.
    pub task: Box<dyn Task>,
    /// How to reach it while it runs.
    pub interrupt: Arc<dyn Interrupt>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("fd", &self.task.fd()).finish_non_exhaustive()
    }
}

/// Makes a task run again from another thread: for work that was finished elsewhere.
#[derive(Clone)]
pub struct TaskWaker {
    pub(super) scheduler: Arc<Scheduler>,
    pub(super) token: Token,
}

impl TaskWaker {
    /// Runs the task with [`Ready::WOKEN`], now or as soon as its present run is over. Does nothing
    /// once the task is gone.
    pub fn wake(&self) {
        self.scheduler.send(Mail::Wake(self.token));
    }

    /// The number of the scheduler that the task belongs to.
    #[must_use]
    pub fn scheduler_id(&self) -> u32 {
        self.scheduler.id
    }
}

impl fmt::Debug for TaskWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskWaker").field("token", &self.token).finish_non_exhaustive()
    }
}
