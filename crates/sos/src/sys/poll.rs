//! Waiting for descriptors: epoll for a scheduler's connections, poll(2) for a single wait.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::io::Errno;

use super::{SysCause, call, timespec};
use crate::clock;

/// What to wait for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Until it can be read, or the peer has gone.
    Readable,
    /// Until it can be written, or the peer has gone.
    Writable,
}

/// An event of a [`Poller`].
pub(crate) type Event = epoll::Event;

/// An epoll instance with edge-triggered members: an event says that something has arrived since the
/// last one, so that a request costs no `epoll_ctl` and a busy connection no repeated reports.
#[derive(Debug)]
pub(crate) struct Poller(OwnedFd);

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = epoll::CreateFlags::CLOEXEC;
        Ok(Self(call(SysCause::Control, || epoll::create(flags))?))
    }

    /// Adds a descriptor; what has already arrived is reported as well.
    pub(crate) fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(token);
        Ok(call(SysCause::Control, || epoll::add(&self.0, fd, data, flags))?)
    }

    /// Removes a descriptor.
    pub(crate) fn remove(&self, fd: impl AsFd) {
        // It fails when the task has closed it, which removes it too.
        let _ = call(SysCause::Control, || epoll::delete(&self.0, fd));
    }

    /// Fills `events`, waiting until the deadline (monotonic ns), for ever without one.
    pub(crate) fn wait(&self, events: &mut Vec<Event>, timeout: Timeout) {
        events.clear();
        let timeout = match timeout {
            Timeout::None => Some(timespec(0)),
            Timeout::Never => None,
            Timeout::After(ns) => Some(timespec(ns)),
        };
        let result = call(SysCause::Poll, || {
            epoll::wait(&self.0, rustix::buffer::spare_capacity(events), timeout.as_ref())
        });
        // A signal is no event; anything else would be a bug in this file.
        debug_assert!(matches!(result, Ok(_) | Err(Errno::INTR)), "epoll_wait: {result:?}");
    }
}

/// How long a [`Poller`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// Not at all.
    None,
    /// So many nanoseconds.
    After(u64),
    /// Until something happens.
    Never,
}

/// How a wait in poll(2) ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    Ready,
    Woken,
    TimedOut,
}

/// Waits for one descriptor, or for the other one that cuts the wait short.
pub(crate) fn poll_two(
    fd: impl AsFd,
    direction: Direction,
    wake: Option<&super::EventFd>,
    deadline_ns: Option<u64>,
) -> io::Result<Polled> {
    let flags = match direction {
        Direction::Readable => PollFlags::IN,
        Direction::Writable => PollFlags::OUT,
    };
    loop {
        let mut fds = vec![PollFd::new(&fd, flags)];
        fds.extend(wake.map(|wake| PollFd::new(wake, PollFlags::IN)));
        let now = clock::monotonic_ns();
        let timeout = deadline_ns.map(|deadline| timespec(deadline.saturating_sub(now)));
        match call(SysCause::Poll, || poll(&mut fds, timeout.as_ref())) {
            Ok(0) => return Ok(Polled::TimedOut),
            Ok(_) if fds.get(1).is_some_and(|wake| !wake.revents().is_empty()) => {
                return Ok(Polled::Woken);
            }
            Ok(_) => return Ok(Polled::Ready),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for one descriptor on a thread that holds no scheduler; false at the deadline.
pub fn poll_fd(fd: impl AsFd, direction: Direction, deadline_ns: Option<u64>) -> io::Result<bool> {
    Ok(poll_two(fd, direction, None, deadline_ns)? == Polled::Ready)
}
