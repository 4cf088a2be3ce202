//! `Link`: the part of a connection that other threads may use while its task runs: the socket, and
//! the flag that cancels the request.

use engine::session::Traffic;
use engine::sink::CutOff;
use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;
use sos::sched::Interrupt;
use sos::sync::{Arc, AtomicBool, OnceLock, Ordering};
use sos::sys::Socket;
use tds::PacketType;
use tds::packet::HEADER_BYTES;

use super::end::End;
use super::mars::Lane;

/// The content type of TLS application data.
const TLS_APPLICATION_DATA: u8 = 23;
/// Lengths of a TLS record whose content is one bare packet header, by cipher: ChaCha20 in TLS 1.2,
/// any in TLS 1.3, AES-GCM in TLS 1.2. Every request is longer.
const TLS_ATTENTION_LENGTHS: [usize; 3] = [HEADER_BYTES + 16, HEADER_BYTES + 17, HEADER_BYTES + 24];

/// State that a running connection shares with the other threads of its scheduler.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) socket: Socket,
    /// The session's cancel flag, once there is a session.
    cancel: OnceLock<Arc<Cancel>>,
    /// Held while an attention is looked for, and while one is acknowledged: otherwise one could be
    /// seen before its acknowledgement and cancel the next request after it.
    attention: SpinLock<()>,
    /// Whether the server wants the connection to end.
    stopping: AtomicBool,
    /// Whether another session has killed this one.
    killed: AtomicBool,
    /// Where answers go if this is a session of a MARS connection: then the socket only receives.
    pub(super) lane: Option<Arc<Lane>>,
    /// Counts of receives and sends.
    pub(super) traffic: Arc<Traffic>,
}

impl Link {
    /// Returns the link of a new connection.
    pub(super) fn new(socket: Socket) -> Self {
        Self {
            socket,
            cancel: OnceLock::new(),
            attention: SpinLock::new(SpinClass::SessionManager, ()),
            stopping: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            lane: None,
            traffic: Arc::default(),
        }
    }

    /// Returns the link of a session of a MARS connection.
    pub(super) fn of_lane(socket: Socket, lane: Arc<Lane>) -> Self {
        Self { lane: Some(lane), ..Self::new(socket) }
    }

    /// Sets the session's cancel flag.
    pub(super) fn set_cancel(&self, cancel: Arc<Cancel>) {
        let _ = self.cancel.set(cancel);
    }

    /// Returns the session's cancel flag, if there is a session.
    pub(super) fn cancel(&self) -> Option<&Cancel> {
        self.cancel.get().map(AsRef::as_ref)
    }

    /// Cancels the request that is about to run: its attention has already arrived.
    pub(super) fn cancel_next(&self) {
        if let Some(cancel) = self.cancel() {
            cancel.set();
        }
    }

    /// Records that an attention has been read from the socket.
    pub(super) fn acknowledge(&self) {
        let _guard = self.attention.lock();
        if let Some(cancel) = self.cancel() {
            cancel.clear();
        }
    }

    /// Returns whether the server wants the connection to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Ends the session on behalf of another session's KILL; the caller cancels its request.
    pub(super) fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
    }

    /// Returns why the connection has to end, if it has to.
    pub(super) fn end(&self) -> Option<End> {
        self.cut_off().map(|why| match why {
            CutOff::Killed => End::Killed,
            CutOff::Stopping => End::Stopping,
        })
    }

    /// Returns why a request that runs is cut off, if it is.
    pub(super) fn cut_off(&self) -> Option<CutOff> {
        if self.killed.load(Ordering::Relaxed) {
            return Some(CutOff::Killed);
        }
        self.is_stopping().then_some(CutOff::Stopping)
    }

    /// Returns whether the bytes waiting on the socket cancel the request: an attention, or the end
    /// of the stream. Consumes none of them.
    fn asks_to_cancel(&self) -> bool {
        let mut front = [0; 5];
        match self.socket.peek(&mut front) {
            Ok(0) => true,
            Ok(1..) if front[0] == PacketType::Attention.code() => true,
            Ok(5..) if front[0] == TLS_APPLICATION_DATA => {
                let length = usize::from(u16::from_be_bytes([front[3], front[4]]));
                TLS_ATTENTION_LENGTHS.contains(&length)
            }
            Ok(_) => false,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

impl Interrupt for Link {
    fn interrupt(&self) {
        let Some(cancel) = self.cancel() else { return };
        let _guard = self.attention.lock();
        if self.asks_to_cancel() {
            cancel.set();
        }
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(cancel) = self.cancel() {
            cancel.set();
        }
    }
}
