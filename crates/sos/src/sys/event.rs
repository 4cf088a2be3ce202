//! `EventFd`: an event counter with a file descriptor, to wake a thread that polls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{EventfdFlags, eventfd};

use super::{Fd, SysCause, call};

/// A wake-up that a poller can see.
#[derive(Debug)]
pub struct EventFd(Fd);

impl EventFd {
    /// Makes an event that has not been signalled.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(call(SysCause::Control, || eventfd(0, flags))?.into()))
    }

    /// Makes the descriptor readable.
    pub fn signal(&self) {
        // It fails only if 2^64 signals have not been read, and then it is readable as well.
        let _ = call(SysCause::Wake, || rustix::io::write(&self.0, &1_u64.to_ne_bytes()));
    }

    /// Makes it unreadable again.
    pub fn clear(&self) {
        let mut count = [0; 8];
        // It fails if it is not signalled.
        let _ = call(SysCause::Wake, || rustix::io::read(&self.0, &mut count));
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
