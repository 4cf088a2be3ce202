//! `Wire`: the sending side of a MARS connection, which its sessions share.
//!
//! Frames are queued in the order in which they were numbered. One thread at a time takes the queue
//! and sends it; the others wait until their frames have gone, so that a client that reads nothing at
//! all stops every session, as it does on a connection without MARS.

use std::io;
use std::time::Duration;

use sos::lock::{LatchClass, RwLatch};
use sos::park::{self, Wake};
use sos::sched::{self, TaskWaker};
use sos::sync::{Arc, AtomicBool, AtomicU64, OnceLock, Ordering};
use sos::sys::Direction;
use sos::wait::WaitType;
use tds::smp::FrameHeader;

use super::super::channel::Channel;
use super::super::end::End;
use super::super::link::Link;

/// Bytes in the queue from which on a sender that must not wait adds none.
const CONGESTED_BYTES: usize = 128 * 1024;

/// The sending side of a MARS connection.
pub(in crate::connection) struct Wire {
    /// The connection's socket and flags.
    link: Arc<Link>,
    outbound: RwLatch<Outbound>,
    /// Whether a thread is sending the queue.
    is_flushing: AtomicBool,
    /// Bytes of the queue that have been sent since the connection began.
    sent: AtomicU64,
    is_closed: AtomicBool,
    /// Whether a session has failed in a way that ends the connection.
    has_failed: AtomicBool,
    /// Wakes the connection's task.
    waker: OnceLock<TaskWaker>,
    /// Longest time that the client may read nothing.
    send_timeout: Duration,
}

/// Frames that have been queued, encrypted if the connection is.
pub(super) struct Outbound {
    channel: Channel,
    queue: Vec<u8>,
    /// Bytes queued since the connection began.
    queued: u64,
    /// Buffer for a frame before its encryption.
    frame: Vec<u8>,
}

/// What a sender does if the client does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It waits until the client reads.
    Wait,
    /// It leaves the rest to the connection's task.
    Leave,
}

impl Outbound {
    /// Queues a frame; returns the number of bytes queued since the connection began.
    pub(super) fn add(&mut self, header: FrameHeader, payload: &[u8]) -> Result<u64, End> {
        let before = self.queue.len();
        if self.channel.is_plain() {
            self.queue.extend_from_slice(&header.to_bytes());
            self.queue.extend_from_slice(payload);
        } else {
            self.frame.clear();
            self.frame.extend_from_slice(&header.to_bytes());
            self.frame.extend_from_slice(payload);
            self.channel.seal(&self.frame, &mut self.queue)?;
        }
        self.count_from(before);
        Ok(self.queued)
    }

    fn count_from(&mut self, before: usize) {
        self.queued += u64::try_from(self.queue.len() - before).unwrap_or(0);
    }
}

impl Wire {
    /// Returns the wire of a connection that has logged in.
    pub(super) fn new(link: &Arc<Link>, channel: Channel, send_timeout: Duration) -> Self {
        let outbound = Outbound { channel, queue: Vec::new(), queued: 0, frame: Vec::new() };
        Self {
            link: Arc::clone(link),
            outbound: RwLatch::new(LatchClass::Other, outbound),
            is_flushing: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            waker: OnceLock::new(),
            send_timeout,
        }
    }

    /// Sets what wakes the connection's task.
    pub(in crate::connection) fn set_waker(&self, waker: TaskWaker) {
        let _ = self.waker.set(waker);
    }

    pub(super) fn wake_task(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    /// Appends the plain text of received bytes to `plain`.
    pub(super) fn open(&self, received: &[u8], plain: &mut Vec<u8>) -> Result<(), End> {
        let mut outbound = self.outbound.write();
        let Outbound { channel, queue, .. } = &mut *outbound;
        let before = queue.len();
        let opened = channel.open(received, plain, queue);
        outbound.count_from(before);
        opened
    }

    /// Runs `queue`, which numbers and queues frames, with the queue.
    pub(super) fn with<R>(&self, queue: impl FnOnce(&mut Outbound) -> R) -> R {
        queue(&mut self.outbound.write())
    }

    /// Returns whether so much is queued that a sender that must not wait adds nothing.
    pub(super) fn is_congested(&self) -> bool {
        self.outbound.write().queue.len() > CONGESTED_BYTES
    }

    /// Sends what is queued, at least up to `target`. Returns whether the queue is empty.
    pub(super) fn flush(&self, target: u64, patience: Patience) -> Result<bool, End> {
        loop {
            if self.is_closed.load(Ordering::Acquire) {
                return Err(End::Closed);
            }
            if !self.is_flushing.swap(true, Ordering::Acquire) {
                let flushed = self.send_queue(patience);
                self.is_flushing.store(false, Ordering::Release);
                park::unpark_all(self.key());
                match flushed {
                    Ok(true) if !self.is_empty() => continue,
                    Ok(is_empty) => return Ok(is_empty),
                    Err(end) => {
                        self.fail();
                        return Err(end);
                    }
                }
            }
            if patience == Patience::Leave || self.sent.load(Ordering::Acquire) >= target {
                return Ok(false);
            }
            let must_wait = || {
                self.is_flushing.load(Ordering::Relaxed)
                    && self.sent.load(Ordering::Relaxed) < target
                    && !self.is_closed.load(Ordering::Relaxed)
            };
            park::park(self.key(), WaitType::AsyncNetworkIo, must_wait, None, None);
        }
    }

    fn is_empty(&self) -> bool {
        self.outbound.write().queue.is_empty()
    }

    /// Sends the queue until it is empty. Returns false if the client has to read first.
    fn send_queue(&self, patience: Patience) -> Result<bool, End> {
        loop {
            let bytes = std::mem::take(&mut self.outbound.write().queue);
            if bytes.is_empty() {
                return Ok(true);
            }
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                match self.link.socket.send(rest) {
                    Ok(0) => return Err(End::Closed),
                    Ok(count) => {
                        self.link.traffic.count_write();
                        self.count_sent(count);
                        rest = &rest[count..];
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => match patience {
                        Patience::Wait => self.wait()?,
                        Patience::Leave => {
                            self.outbound.write().queue.splice(0..0, rest.iter().copied());
                            return Ok(false);
                        }
                    },
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    fn count_sent(&self, count: usize) {
        let count = u64::try_from(count).unwrap_or(0);
        self.sent.fetch_add(count, Ordering::Release);
        park::unpark_all(self.key());
    }

    /// Waits until the client has read something.
    #[cold]
    fn wait(&self) -> Result<(), End> {
        let cancel = self.link.cancel().filter(|cancel| !cancel.is_set());
        let wake = sched::wait_fd(
            &self.link.socket,
            Direction::Writable,
            WaitType::AsyncNetworkIo,
            Some(self.send_timeout),
            cancel,
        )?;
        match wake {
            Wake::TimedOut => Err(End::TimedOut("send timeout")),
            Wake::Signalled | Wake::Cancelled if self.is_closed.load(Ordering::Acquire) => {
                Err(End::Closed)
            }
            Wake::Cancelled if self.link.is_stopping() => Err(End::Stopping),
            Wake::Signalled | Wake::Cancelled => Ok(()),
        }
    }

    /// Ends the connection because of one of its sessions.
    pub(in crate::connection) fn fail(&self) {
        self.has_failed.store(true, Ordering::Release);
        self.wake_task();
    }

    /// Returns whether a session has ended the connection.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Sends the alert that ends TLS, if it can be sent now, and lets no thread wait any more.
    pub(super) fn close(&self) {
        self.with(|outbound| outbound.channel.close(&mut outbound.queue));
        // Best effort: the client may have closed the connection.
        let _ = self.flush(0, Patience::Leave);
        self.is_closed.store(true, Ordering::Release);
        self.link.socket.shutdown();
        park::unpark_all(self.key());
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}
