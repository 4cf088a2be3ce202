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
    /// Until it can be read, or the peer has closed it.
    Readable,
    /// Until it can be written, or the peer has closed it.
    Writable,
}

/// An event that a [`Poller`] reports about a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The token with which the descriptor was added.
    pub token: u64,
    /// Whether the peer has closed its side.
    pub hangup: bool,
}

impl From<&epoll::Event> for Event {
    fn from(event: &epoll::Event) -> Self {
        let gone = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        // Copied out: the kernel's structure is packed.
        let flags = event.flags;
        Self { token: event.data.u64(), hangup: flags.intersects(gone) }
    }
}

/// The events of one system call, in the kernel's form, and how many of them have been taken.
pub struct Events {
    list: Vec<epoll::Event>,
    done: usize,
}

// SAFETY: the union in the kernel's structure only ever has a number here, no pointer.
unsafe impl Send for Events {}

impl Events {
    /// Makes room for `capacity` events per call.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { list: Vec::with_capacity(capacity), done: 0 }
    }

    /// Whether an event is left.
    #[must_use]
    pub fn has_next(&self) -> bool {
        self.done < self.list.len()
    }

    /// The number of events that the last call returned.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Keeps those of the remaining events for which `keep` returns true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(Event) -> bool) {
        self.list.drain(..self.done);
        self.done = 0;
        self.list.retain(|event| keep(event.into()));
    }
}

impl Iterator for Events {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let event = self.list.get(self.done)?;
        self.done += 1;
        Some(event.into())
    }
}

/// An epoll instance with edge-triggered members: an event means that data has arrived since the
/// last one, so that a request costs no `epoll_ctl` and a busy connection no repeated reports.
#[derive(Debug)]
pub struct Poller(OwnedFd);

impl Poller {
    /// Makes a poller without members.
    pub fn new() -> io::Result<Self> {
        let flags = epoll::CreateFlags::CLOEXEC;
        Ok(Self(call(SysCause::Control, || epoll::create(flags))?))
    }

    /// Adds a descriptor; data that has already arrived is reported as well.
    pub fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(token);
        Ok(call(SysCause::Control, || epoll::add(&self.0, fd, data, flags))?)
    }

    /// Adds a descriptor for which it also reports that it can be written again, or is connected.
    pub fn add_both_ways(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let both = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        let flags = both | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(token);
        Ok(call(SysCause::Control, || epoll::add(&self.0, fd, data, flags))?)
    }

    /// Removes a descriptor from the poller.
    pub fn remove(&self, fd: impl AsFd) {
        // It fails if the task has closed the descriptor, which also removes it.
        let _ = call(SysCause::Control, || epoll::delete(&self.0, fd));
    }

    /// Replaces `events` by the present ones, waiting up to `timeout` for the first.
    pub fn wait(&self, events: &mut Events, timeout: Timeout) {
        events.list.clear();
        events.done = 0;
        let _asleep = (timeout != Timeout::None).then(crate::lock::asleep);
        let timeout = match timeout {
            Timeout::None => Some(timespec(0)),
            Timeout::Never => None,
            Timeout::After(ns) => Some(timespec(ns)),
        };
        let result = call(SysCause::Poll, || {
            let room = rustix::buffer::spare_capacity(&mut events.list);
            epoll::wait(&self.0, room, timeout.as_ref())
        });
        // A signal may interrupt the call; any other error would be a bug in this file.
        debug_assert!(matches!(result, Ok(_) | Err(Errno::INTR)), "epoll_wait: {result:?}");
    }
}

/// How long a [`Poller`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Return at once, also without an event.
    None,
    /// Wait up to this many nanoseconds.
    After(u64),
    /// Wait until there is an event.
    Never,
}

/// How a wait in poll(2) ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    Ready,
    Woken,
    TimedOut,
}

/// Waits for one descriptor, or for a second one that ends the wait early.
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
        let _asleep = crate::lock::asleep();
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
