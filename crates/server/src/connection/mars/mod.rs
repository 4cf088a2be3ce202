//! `Mux`: a logged-in connection with MARS: cuts what arrives into frames and gives each to its
//! session.
//!
//! ```text
//!   socket ─► frames ─┬─ DATA of session 0 ─► pair of sockets ─► task of session 0 ─► engine
//!                     └─ DATA of session 1 ─► pair of sockets ─► task of session 1 ─► engine
//!   socket ◄─ Wire ◄── Lane of each session, as its window allows ◄───────────────────────┘
//! ```
//!
//! A session is a task like that of a connection without MARS: it reads requests and attentions from
//! one end of a pair of sockets. A frame is acknowledged when it is in the pair, so a session that
//! reads nothing holds as much as its window, and the other sessions go on.

mod lane;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::io;

use engine::session::Session;
use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::sched::Interrupt;
use sos::sync::Arc;
use sos::sys::{Peer, Socket};
use tds::smp::{FrameHeader, FrameKind, FrameReader, Windows};
use tds::{ProtocolError, ResponseWriter, WireSettings};
use types::{Error, Msg};

pub(super) use lane::Lane;
use wire::{Patience, Wire};

use super::channel::Channel;
use super::end::End;
use super::held::Held;
use super::link::Link;
use super::login::failed;
use super::request::Open;
use super::{Connection, Side, Stage};
use crate::shared::{Door, Seat, Shared};

/// How soon the connection's task looks again whether a session or the client reads on.
const RETRY: std::time::Duration = std::time::Duration::from_millis(2);

/// The login session of a MARS connection. It ends when the connection's task and all of its sessions
/// have ended.
pub(super) struct Root(SpinLock<Option<Session>>);

impl Root {
    fn new(session: Session) -> Arc<Self> {
        Arc::new(Self(SpinLock::new(SpinClass::SessionManager, Some(session))))
    }

    /// Calls `work` with the login session. Only the connection's task does so.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut Session) -> R) -> Option<R> {
        // Not under the lock, because `work` may take others.
        let mut session = self.0.lock().take()?;
        let done = work(&mut session);
        *self.0.lock() = Some(session);
        Some(done)
    }
}

/// A logged-in connection with MARS.
pub(super) struct Mux {
    pub(super) wire: Arc<Wire>,
    pub(super) root: Arc<Root>,
    frames: FrameReader,
    ports: BTreeMap<u16, Port>,
    settings: WireSettings,
    /// The monotonic time at which to try again what could not be done at once.
    retry_ns: Option<u64>,
}

/// Where the frames of one session go.
struct Port {
    lane: Arc<Lane>,
    /// The connection's end of the pair; `None` after the session's end, and if it was refused.
    feed: Option<Socket>,
    /// Frames that did not fit into the pair; the client's window limits them.
    waiting: VecDeque<Vec<u8>>,
    /// Whether the client has sent FIN.
    is_ended: bool,
}

/// What sessions need of their connection.
pub(super) struct Origin<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) client: Peer,
    pub(super) local: Peer,
}

impl Mux {
    /// Makes a logged-in connection one with MARS.
    pub(super) fn new(
        session: Session,
        settings: WireSettings,
        link: &Arc<Link>,
        channel: Channel,
        shared: &Shared,
    ) -> Self {
        Self {
            wire: Arc::new(Wire::new(link, channel, shared.limits.send_timeout)),
            root: Root::new(session),
            frames: FrameReader::default(),
            ports: BTreeMap::new(),
            settings,
            retry_ns: None,
        }
    }

    /// Takes received bytes as they came from the socket.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        opened: &mut Vec<u8>,
        origin: &Origin<'_>,
    ) -> Result<(), End> {
        opened.clear();
        let outcome = self.wire.open(bytes, opened);
        let opened = std::mem::take(opened);
        let taken = self.take(&opened, origin);
        outcome.and(taken)
    }

    /// Takes bytes of frames.
    pub(super) fn take(&mut self, mut bytes: &[u8], origin: &Origin<'_>) -> Result<(), End> {
        while !bytes.is_empty() {
            let (used, frame) = self.frames.feed(bytes)?;
            bytes = &bytes[used..];
            if let Some(frame) = frame {
                self.frame(&frame, origin)?;
            }
        }
        self.flush()
    }

    fn frame(&mut self, frame: &FrameHeader, origin: &Origin<'_>) -> Result<(), End> {
        if frame.kind == FrameKind::Syn {
            return self.open(frame, origin);
        }
        let port = self.ports.get_mut(&frame.session).filter(|port| !port.is_ended);
        let Some(port) = port else {
            return Err(ProtocolError::Smp("A frame is of a session that is not open").into());
        };
        match frame.kind {
            FrameKind::Data => {
                port.lane.take(frame)?;
                port.waiting.push_back(self.frames.payload().to_vec());
                port.feed()
            }
            FrameKind::Fin => {
                port.is_ended = true;
                port.feed()
            }
            FrameKind::Ack | FrameKind::Syn => port.lane.take(frame),
        }
    }

    /// Opens the session that a SYN asks for, or refuses it.
    fn open(&mut self, syn: &FrameHeader, origin: &Origin<'_>) -> Result<(), End> {
        if self.ports.get(&syn.session).is_some_and(|port| !port.is_over()) {
            return Err(ProtocolError::Smp("A session is opened twice").into());
        }
        let sessions_max = origin.shared.limits.mars_sessions_max;
        if self.ports.len() >= sessions_max {
            self.ports.retain(|_, port| !port.is_over());
        }
        let lane = Arc::new(Lane::new(&self.wire, Windows::open(syn)?));
        let most = i64::try_from(sessions_max).unwrap_or(i64::MAX);
        let feed = if self.ports.len() >= sessions_max {
            self.refuse(&lane, &Msg::TooManyMarsSessions(most).into(), origin)?;
            None
        } else if let Some(seat) = origin.shared.mars.take()
            && let Ok((feed, socket)) = Socket::pair()
        {
            self.adopt(&lane, socket, (seat, origin));
            Some(feed)
        } else {
            self.refuse(&lane, &no_descriptors(), origin)?;
            None
        };
        let port = Port { lane, feed, waiting: VecDeque::new(), is_ended: false };
        self.ports.insert(syn.session, port);
        Ok(())
    }

    /// Makes the task of a session and gives it to a scheduler.
    fn adopt(&self, lane: &Arc<Lane>, socket: Socket, (seat, origin): (Seat, &Origin<'_>)) {
        let Some(session) = self.root.with(Session::member) else { return };
        let link = Arc::new(Link::of_lane(socket, Arc::clone(lane)));
        link.set_cancel(Arc::clone(session.cancel()));
        let interrupt: Arc<dyn Interrupt> = Arc::<Link>::clone(&link);
        let open = Open::member(session, self.settings, Arc::clone(&self.root));
        let side = Side {
            shared: Arc::clone(origin.shared),
            link,
            channel: Channel::Plain,
            stage: Stage::Open(Box::new(open)),
            refused: None,
            held: Held::default(),
            is_put_off: false,
            client: origin.client,
            local: origin.local,
            door: Door::Clients,
            admin: None,
            _seat: Some(seat),
        };
        let task = Box::new(Connection::of_side(side));
        origin.shared.instance.machine.adopt(sos::sched::Connection { task, interrupt });
    }

    /// Answers a session that is one too many with an error and ends it.
    fn refuse(&self, lane: &Lane, why: &Error, origin: &Origin<'_>) -> Result<(), End> {
        let mut writer = ResponseWriter::new();
        writer.begin(self.settings);
        writer.message(why, &origin.shared.server_name);
        writer.done(failed());
        writer.finish();
        lane.send_some(&mut writer)?;
        lane.finish();
        Ok(())
    }

    /// Does again what could not be done at once.
    pub(super) fn retry(&mut self) -> Result<(), End> {
        if self.wire.has_failed() {
            return Err(End::Closed);
        }
        for port in self.ports.values_mut().filter(|port| !port.waiting.is_empty()) {
            port.feed()?;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), End> {
        let is_sent = self.wire.flush(0, Patience::Leave)?;
        let is_fed = self.ports.values().all(|port| port.waiting.is_empty());
        self.retry_ns = (!is_sent || !is_fed).then(|| clock::deadline_ns(RETRY));
        Ok(())
    }

    /// Returns when to call [`Self::retry`], on the monotonic clock.
    pub(super) const fn retry_ns(&self) -> Option<u64> {
        self.retry_ns
    }

    /// Returns whether a frame has begun and not ended.
    pub(super) const fn is_mid_frame(&self) -> bool {
        self.frames.is_mid_frame()
    }

    /// Ends all sessions with the connection.
    pub(super) fn close(&mut self) {
        self.wire.close();
        for port in self.ports.values_mut() {
            port.lane.close();
            // Seen as the end of the stream; it cancels what the session runs.
            port.feed = None;
        }
    }
}

impl Port {
    /// Passes waiting frames on, as many as fit, and the end behind them.
    fn feed(&mut self) -> Result<(), End> {
        while let Some(frame) = self.waiting.front_mut() {
            if let Some(feed) = &self.feed {
                match feed.send(frame) {
                    Ok(count) if count < frame.len() => {
                        frame.drain(..count);
                        return Ok(());
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    // The session has ended: what still comes is dropped.
                    Err(_) => self.feed = None,
                }
            }
            self.waiting.pop_front();
            self.lane.taken()?;
        }
        if self.is_ended {
            self.feed = None;
        }
        Ok(())
    }

    /// Returns whether both sides have ended the session, so that its id may be used again.
    fn is_over(&self) -> bool {
        self.is_ended && self.lane.is_finished()
    }
}

/// The error of a session beyond what all connections may have.
fn no_descriptors() -> Error {
    let text = "Could not open the session because the MARS sessions of all connections have taken the file descriptors \
                that they may have. Raise the limit of open files (ulimit -n) or use fewer sessions.";
    Error::custom(17809, 16, 1, text)
}
