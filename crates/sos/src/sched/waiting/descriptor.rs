//! `wait_fd`: waits until a file descriptor, usually the connection's socket, is ready.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use super::{Unblocked, blocking};
use crate::clock;
use crate::park::{Cancel, Listener, Wake};
use crate::sync::Arc;
use crate::sys::{self, Direction, EventFd, Polled};
use crate::wait::WaitType;

/// Waits until a descriptor is ready: `Signalled` when it is, or when the peer has closed it.
///
/// While a task waits in this way to read its own socket, arriving data is also reported to its
/// [`crate::sched::Interrupt`], which must then leave the data unread.
pub fn wait_fd(
    fd: impl AsFd,
    direction: Direction,
    wait_type: WaitType,
    timeout: Option<Duration>,
    cancel: Option<&Cancel>,
) -> io::Result<Wake> {
    let deadline_ns = timeout.map(clock::deadline_ns);
    let event = cancel.map(|_| EventFd::new().map(Arc::new)).transpose()?;
    let listening = match (cancel, &event) {
        (Some(cancel), Some(event)) => Some(cancel.listen(Listener::Polling(Arc::clone(event)))),
        (None, _) | (_, None) => None,
    };
    let mut polled = Ok(Polled::TimedOut);
    blocking(wait_type, || {
        polled = sys::poll_two(&fd, direction, event.as_deref(), deadline_ns);
        Unblocked::Now
    });
    drop(listening);
    Ok(match polled? {
        Polled::Ready => Wake::Signalled,
        Polled::Woken => Wake::Cancelled,
        Polled::TimedOut => Wake::TimedOut,
    })
}
