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

/// Something that a [`Poller`] reports: about whom, and whether the peer has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What the descriptor was added with.
    pub token: u64,
    /// Whether the peer has gone.
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

/// The events of one system call, in the kernel's own form, and how many of them are done.
pub struct Events {
    list: Vec<epoll::Event>,
    done: usize,
}

// SAFETY: the pointer in the kernel's union is never used; ours are numbers.
unsafe impl Send for Events {}

impl Events {
    /// Makes room for so many events of one call.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { list: Vec::with_capacity(capacity), done: 0 }
    }

    /// Whether there is one left.
    #[must_use]
    pub fn has_next(&self) -> bool {
        self.done < self.list.len()
    }

    /// How many the last call brought.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Keeps those of the remaining ones that `keep` says.
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

/// An epoll instance with edge-triggered members: an event says that something has arrived since
/// the last one, so that a request costs no `epoll_ctl` and a busy connection no repeated reports.
#[derive(Debug)]
pub struct Poller(OwnedFd);

impl Poller {
    /// Makes one without members.
    pub fn new() -> io::Result<Self> {
        let flags = epoll::CreateFlags::CLOEXEC;
        Ok(Self(call(SysCause::Control, || epoll::create(flags))?))
    }

    /// Adds a descriptor; what has already arrived is reported as well.
    pub fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(token);
        Ok(call(SysCause::Control, || epoll::add(&self.0, fd, data, flags))?)
    }

    /// Adds a descriptor of which it also reports that it has room again, or is connected.
    pub fn add_both_ways(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let both = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        let flags = both | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(token);
        Ok(call(SysCause::Control, || epoll::add(&self.0, fd, data, flags))?)
    }

    /// Removes a descriptor.
    pub fn remove(&self, fd: impl AsFd) {
        // It fails when the task has closed it, which removes it too.
        let _ = call(SysCause::Control, || epoll::delete(&self.0, fd));
    }

    /// Replaces `events` by what has happened, waiting for the first for so long.
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
        // A signal is no event; anything else would be a bug in this file.
        debug_assert!(matches!(result, Ok(_) | Err(Errno::INTR)), "epoll_wait: {result:?}");
    }
}

/// How long a [`Poller`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
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
