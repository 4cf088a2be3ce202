//! `Connection`: a client's connection from its first byte to its last, as a task of the scheduler.
//!
//! ```text
//!   Opening ─0x12─► Prelogin ─► [handshake in packets] ─► Login ─► Open ─► requests ..
//!      │──────0x16─► TLS ─► Prelogin (inner) ───────────────▲
//!      └──────0x10──────────────────────────────────────────┘   jTDS: no PRELOGIN
//!                                                           Login ─► Delayed ─► Open: after failed logins
//! ```
//!
//! A task processes what has arrived and returns, so a slow client does not occupy a worker. The
//! usual request is one receive into a buffer of the worker, and one send from another.

mod calls;
mod channel;
mod end;
mod execute;
mod heads;
mod held;
mod link;
mod login;
mod mars;
mod output;
mod put_off;
mod request;
mod scratch;
mod shapes;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use engine::instance::{Nudge, OnNudge};
use sos::clock;
use sos::ledger::{self, Label};
use sos::memory;
use sos::sched::{Interrupt, Next, Ready, Task, TaskWaker};
use sos::sync::Arc;
use sos::sys::{Peer, Socket};
use tds::encryption::Origin;
use tds::{MessageReader, Opening, ProtocolError, Step};
use types::{Error, Msg};

#[cfg(test)]
pub(crate) use calls::KNOWN_CALLS;
pub(crate) use end::End;
pub(crate) use output::Output;
pub(crate) use scratch::Names;
pub(crate) use shapes::Shapes;

use crate::options::Encryption;
use crate::shared::{Door, Seat, Shared};
use crate::tls::Mode;
use channel::Channel;
use held::Held;
use link::Link;
use login::{Delayed, Negotiated};
use mars::{Mux, Origin as MarsOrigin};
use request::Open;
use scratch::{Io, RECEIVE_BYTES, Scratch};

/// Bytes that count as progress within a message: a client that sends fewer in the time allowed is
/// too slow.
const PROGRESS_BYTES: usize = 4 * 1024;

/// Bytes of a message that are kept even if memory is short, so that small requests, which may free
/// memory, still work.
const MESSAGE_BYTES_AFFORDED: usize = 1 << 20;

/// One client's connection. Aligned to cache lines, because its neighbour in memory belongs to
/// another scheduler.
#[repr(align(128))]
pub(crate) struct Connection {
    /// Assembles messages. Separate from the rest, since a message borrows from it.
    reader: MessageReader,
    side: Side,
    /// When the current step must be complete, in monotonic nanoseconds.
    deadline_ns: Option<u64>,
    /// Bytes of the current message since the deadline was set.
    progress_bytes: usize,
}

/// The parts of a connection other than its reader.
struct Side {
    shared: Arc<Shared>,
    link: Arc<Link>,
    channel: Channel,
    stage: Stage,
    /// Why the current message is skipped; `None` if it is not.
    refused: Option<Error>,
    /// The answer that waits for the log.
    held: Held,
    /// Whether the last answer was left to the end of the scheduler's round.
    is_put_off: bool,
    client: Peer,
    local: Peer,
    /// The listener that it has come to.
    door: Door,
    /// The place of an administrator who has logged in at that listener.
    admin: Option<Seat>,
    /// The connection's place in the count of connections; a session of a MARS connection has none.
    _seat: Option<Seat>,
}

/// The stage of a connection.
enum Stage {
    /// No byte has arrived.
    Opening,
    /// A PRELOGIN message is expected.
    Prelogin(Origin),
    /// A LOGIN7 message is expected.
    Login(Negotiated),
    /// LOGIN7 has arrived; its answer is delayed after failed logins.
    Delayed(Box<Delayed>),
    /// Logged in: requests are expected.
    Open(Box<Open>),
    /// Logged in with MARS: frames of its sessions are expected.
    Mars(Box<Mux>),
}

impl Connection {
    /// Makes the task of a newly accepted connection.
    pub(crate) fn adopt(
        shared: &Arc<Shared>,
        (seat, door): (Seat, Door),
        socket: Socket,
        client: Peer,
    ) -> io::Result<sos::sched::Connection> {
        let local = socket.local_end()?;
        socket.set_keepalive()?;
        let link = Arc::new(Link::new(socket));
        let interrupt: Arc<dyn Interrupt> = Arc::<Link>::clone(&link);
        let side = Side {
            shared: Arc::clone(shared),
            link,
            channel: Channel::Plain,
            stage: Stage::Opening,
            refused: None,
            held: Held::default(),
            is_put_off: false,
            client,
            local,
            door,
            admin: None,
            _seat: Some(seat),
        };
        let deadline_ns = Some(clock::deadline_ns(shared.limits.login_timeout));
        let reader = MessageReader::new();
        let task = Self { reader, side, deadline_ns, progress_bytes: 0 };
        Ok(sos::sched::Connection { task: Box::new(task), interrupt })
    }

    /// Makes the task of a session of a MARS connection.
    fn of_side(side: Side) -> Self {
        let mut reader = MessageReader::new();
        reader.set_message_bytes_max(side.shared.limits.message_bytes_max);
        Self { reader, side, deadline_ns: None, progress_bytes: 0 }
    }

    /// Reads and processes what has arrived.
    fn receive(&mut self, scratch: &mut Scratch) -> Result<(), End> {
        loop {
            let (count, room) = self.receive_once(scratch)?;
            self.side.end_between_requests()?;
            self.refuse_if_too_long();
            // Fewer bytes than there was room for: nothing more is there, and new bytes cause an
            // event.
            if count < room {
                return Ok(());
            }
        }
    }

    /// Skips a long message while it arrives if memory is short; it is answered with error 701 at
    /// its end.
    fn refuse_if_too_long(&mut self) {
        let is_long = self.reader.held_bytes() > MESSAGE_BYTES_AFFORDED;
        if is_long && memory::check().is_err() {
            self.reader.skip_message();
            self.side.refused = Some(Msg::OutOfMemory.into());
        }
    }

    /// Reads once and processes the bytes; returns how many were read, and how many there was room
    /// for.
    fn receive_once(&mut self, scratch: &mut Scratch) -> Result<(usize, usize), End> {
        let is_plain = self.side.channel.is_plain();
        if is_plain && let Some(spare) = self.reader.spare() {
            let room = spare.len();
            let result = self.side.link.socket.recv(spare);
            self.side.label_work();
            let Some(count) = received(result)? else {
                return Ok((0, room));
            };
            self.side.link.traffic.count_read();
            self.progress_bytes += count;
            let step = self.reader.received(count)?;
            self.side.take(step, None, &mut scratch.io)?;
            while self.reader.has_leftover() {
                self.packet(&[], &mut scratch.io)?;
            }
            return Ok((count, room));
        }
        // Taken out, so that the rest of the scratch can be borrowed.
        let mut buffer = std::mem::take(&mut scratch.received);
        let result = self.side.link.socket.recv(&mut buffer);
        self.side.label_work();
        let outcome = match received(result) {
            Ok(Some(count)) => {
                self.side.link.traffic.count_read();
                self.take_in(&buffer[..count], scratch).map(|()| count)
            }
            Ok(None) => Ok(0),
            Err(end) => Err(end),
        };
        scratch.received = buffer;
        outcome.map(|count| (count, RECEIVE_BYTES))
    }

    /// Processes bytes that have been received.
    fn take_in(&mut self, mut bytes: &[u8], scratch: &mut Scratch) -> Result<(), End> {
        self.progress_bytes += bytes.len();
        if let Some((mux, origin)) = self.side.mars() {
            return mux.receive(bytes, &mut scratch.opened, &origin);
        }
        if matches!(self.side.stage, Stage::Opening) {
            self.side.open(bytes[0])?;
        }
        while !bytes.is_empty() && self.side.channel.is_plain() {
            let used = self.packet(bytes, &mut scratch.io)?;
            bytes = &bytes[used..];
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let mut opened = std::mem::take(&mut scratch.opened);
        opened.clear();
        let outcome = self.side.open_tls(bytes, &mut opened, &mut scratch.io);
        let outcome = outcome.and_then(|()| self.packets(&opened, &mut scratch.io));
        scratch.opened = opened;
        outcome
    }

    /// Processes packets up to the end of `bytes`.
    fn packets(&mut self, mut bytes: &[u8], io: &mut Io) -> Result<(), End> {
        while !bytes.is_empty() {
            let used = self.packet(bytes, io)?;
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// Processes at most one message from the front of `bytes`; returns the number of bytes used.
    fn packet(&mut self, bytes: &[u8], io: &mut Io) -> Result<usize, End> {
        // Frames that came with the login.
        if let Some((mux, origin)) = self.side.mars() {
            mux.take(bytes, &origin)?;
            return Ok(bytes.len());
        }
        let (used, step) = self.reader.feed(bytes)?;
        let next = bytes.get(used).copied();
        self.side.take(step, next, io)?;
        self.side.end_between_requests()?;
        Ok(used)
    }

    /// Sets the deadline for what comes next: a message that has begun must end in time.
    fn set_deadline(&mut self) {
        if !self.side.is_open() {
            return; // The deadline of the whole login, set at the start.
        }
        let is_mid_message = match &self.side.stage {
            Stage::Mars(mux) => mux.is_mid_frame(),
            Stage::Opening
            | Stage::Prelogin(_)
            | Stage::Login(_)
            | Stage::Delayed(_)
            | Stage::Open(_) => self.reader.is_mid_message(),
        };
        if !is_mid_message {
            self.reader.set_message_bytes_max(self.side.shared.limits.message_bytes_max);
            self.deadline_ns = None;
            self.progress_bytes = 0;
            return;
        }
        if self.deadline_ns.is_none() || self.progress_bytes >= PROGRESS_BYTES {
            self.deadline_ns = Some(clock::deadline_ns(self.side.shared.limits.packet_timeout));
            self.progress_bytes = 0;
        }
    }

    fn is_late(&self) -> bool {
        self.deadline_ns.is_some_and(|deadline_ns| deadline_ns <= clock::monotonic_ns())
    }

    /// Returns the name of the limit that was exceeded.
    fn limit(&self) -> &'static str {
        if self.side.is_open() { "packet timeout" } else { "login timeout" }
    }
}

/// Converts the result of a receive: `None` if nothing was there.
fn received(result: io::Result<usize>) -> Result<Option<usize>, End> {
    match result {
        Ok(0) => Err(End::Closed),
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Task for Connection {
    fn fd(&self) -> BorrowedFd<'_> {
        self.side.link.socket.as_fd()
    }

    fn run(&mut self, ready: Ready, waker: &TaskWaker) -> Next {
        let mut scratch = Scratch::take();
        let was_open = self.side.is_open();
        let mut outcome = self.side.settle_put_off(&mut scratch.io);
        if outcome.is_ok() && self.side.held.is_some() {
            outcome = self.side.send_released(&mut scratch.io);
        }
        // A task that runs for its held answer alone has nothing to receive.
        if outcome.is_ok() && !self.side.held.is_some() && ready != Ready::RELEASED {
            outcome = self.receive(&mut scratch);
        }
        if ready.has(Ready::WOKEN) {
            self.side.let_go();
        }
        if outcome.is_ok()
            && let Stage::Mars(mux) = &mut self.side.stage
        {
            outcome = mux.retry();
        }
        if outcome.is_ok() {
            outcome = self.side.answer_if_due(&mut scratch.io);
        }
        if outcome.is_ok() {
            self.set_deadline();
            if ready.has(Ready::TIMED_OUT) && self.is_late() {
                outcome = Err(End::TimedOut(self.limit()));
            }
        }
        if !was_open {
            self.side.let_nudge(waker);
        }
        let next = match outcome {
            Ok(()) => self.side.next(),
            Err(end) => {
                self.side.end(&end, &mut scratch.io);
                Next::Close
            }
        };
        self.reader.release();
        scratch.put_back();
        next
    }

    fn release(&mut self) -> Option<Next> {
        self.side.send_at_release().map(|()| Next::Keep)
    }

    /// A login is answered, and so is an administrator, where every worker waits.
    fn is_urgent(&self) -> bool {
        !self.side.is_open() || self.side.admin.is_some()
    }

    fn deadline_ns(&self) -> Option<u64> {
        match &self.side.stage {
            Stage::Delayed(delayed) => Some(delayed.until_ns),
            Stage::Mars(mux) => self.deadline_ns.into_iter().chain(mux.retry_ns()).min(),
            Stage::Opening | Stage::Prelogin(_) | Stage::Login(_) | Stage::Open(_) => {
                self.deadline_ns
            }
        }
    }
}

impl Side {
    /// Returns whether the client has logged in.
    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_) | Stage::Mars(_))
    }

    /// Returns the frames' receiver of a connection with MARS, and what its sessions need.
    fn mars(&mut self) -> Option<(&mut Mux, MarsOrigin<'_>)> {
        let Self { shared, client, local, stage, .. } = self;
        match stage {
            Stage::Mars(mux) => Some((mux, MarsOrigin { shared, client: *client, local: *local })),
            Stage::Opening
            | Stage::Prelogin(_)
            | Stage::Login(_)
            | Stage::Delayed(_)
            | Stage::Open(_) => None,
        }
    }

    /// Drops cached references to objects that the catalog no longer has.
    fn let_go(&mut self) {
        match &mut self.stage {
            Stage::Open(open) => open.session.let_go(),
            Stage::Mars(mux) => drop(mux.root.with(engine::session::Session::let_go)),
            Stage::Opening | Stage::Prelogin(_) | Stage::Login(_) | Stage::Delayed(_) => {}
        }
    }

    /// Labels the work after a receive as login work before the login is over; every receive begins
    /// with the label for reading a request.
    fn label_work(&self) {
        if !self.is_open() {
            ledger::label(Label::Login);
        }
    }

    /// Examines the connection's first byte.
    fn open(&mut self, first_byte: u8) -> Result<(), End> {
        let encryption = self.shared.encryption;
        let is_strict_only = encryption == Encryption::Strict;
        match Opening::of(first_byte) {
            Opening::Tls if encryption == Encryption::Off => {
                Err(End::NoTls("encryption is off".to_owned()))
            }
            Opening::Tls => {
                let config = self.shared.tls.config(Mode::Strict).map_err(End::NoTls)?;
                self.channel = Channel::tls(config)?;
                self.stage = Stage::Prelogin(Origin::Strict);
                Ok(())
            }
            Opening::Prelogin | Opening::Login7 if is_strict_only => Err(End::Unencrypted),
            Opening::Prelogin => {
                let is_loopback = self.client.is_local();
                let origin = if is_loopback { Origin::Loopback } else { Origin::Remote };
                self.stage = Stage::Prelogin(origin);
                Ok(())
            }
            Opening::Login7 if encryption == Encryption::Required => Err(End::Unencrypted),
            Opening::Login7 => {
                self.stage = Stage::Login(Negotiated::default());
                Ok(())
            }
            Opening::Unknown(byte) => Err(ProtocolError::UnknownPacketType(byte).into()),
        }
    }

    /// Decrypts received bytes, and sends what the handshake requires.
    fn open_tls(&mut self, bytes: &[u8], opened: &mut Vec<u8>, io: &mut Io) -> Result<(), End> {
        let mut reply = std::mem::take(&mut io.sealed);
        reply.clear();
        let result = self.channel.open(bytes, opened, &mut reply);
        let sent = self.output(&mut Vec::new()).send_raw(&reply);
        io.sealed = reply;
        // The TLS error counts, even if its alert cannot be sent.
        result.and(sent)
    }

    /// Processes the result of feeding packets. `next_byte` is the first byte behind them, if it
    /// has arrived.
    fn take(&mut self, step: Step<'_>, next_byte: Option<u8>, io: &mut Io) -> Result<(), End> {
        match (&mut self.stage, step) {
            (_, Step::NeedMore) => Ok(()),
            (Stage::Open(_), step) => self.request(step, next_byte, io),
            (Stage::Prelogin(origin), Step::Message(message)) => {
                let origin = *origin;
                self.prelogin(message, origin, io)
            }
            (Stage::Login(_), Step::Message(message)) => self.login(message, io),
            (
                Stage::Opening
                | Stage::Prelogin(_)
                | Stage::Login(_)
                | Stage::Delayed(_)
                | Stage::Mars(_),
                step,
            ) => Err(ProtocolError::UnexpectedMessage(kind_of(&step)).into()),
        }
    }

    /// Lets other sessions KILL this one, and make it drop cached references to objects that the
    /// catalog no longer has, once it is logged in.
    fn let_nudge(&self, waker: &TaskWaker) {
        let (link, task) = (Arc::clone(&self.link), waker.clone());
        let on_nudge: OnNudge = Arc::new(move |nudge| {
            match nudge {
                Nudge::End => link.kill(),
                Nudge::Stop => link.stop(),
                // The task does that whenever it is woken.
                Nudge::LetGo => (),
            }
            task.wake();
        });
        match &self.stage {
            Stage::Open(open) => open.session.on_nudge(on_nudge),
            Stage::Mars(mux) => {
                mux.wire.set_waker(waker.clone());
                mux.root.with(|session| session.on_nudge(on_nudge));
            }
            Stage::Opening | Stage::Prelogin(_) | Stage::Login(_) | Stage::Delayed(_) => {}
        }
    }

    /// Fails if the connection has to end. No error is sent: the client would take it for the
    /// answer to its next request.
    fn end_between_requests(&self) -> Result<(), End> {
        self.link.end().map_or(Ok(()), Err)
    }

    fn output<'a>(&'a mut self, sealed: &'a mut Vec<u8>) -> Output<'a> {
        Output {
            link: &self.link,
            channel: &mut self.channel,
            sealed,
            send_timeout: self.shared.limits.send_timeout,
        }
    }

    /// Ends the connection, and reports the reason to the log and, if it can still receive, to the
    /// client.
    fn end(&mut self, end: &End, io: &mut Io) {
        // What the client is still to get depends on the log; if that has failed, nothing is left.
        let _ = self.settle_put_off(io);
        let _ = self.settle_held(io);
        io.writer.discard();
        match end {
            End::Protocol(error) => self.explain(&error.to_error(), io),
            End::Closed
            | End::Killed
            | End::Tls(_)
            | End::NoTls(_)
            | End::LoginRefused
            | End::Unencrypted
            | End::TimedOut(_)
            | End::Fatal
            | End::Panicked
            | End::LogFailed
            | End::Stopping
            | End::Socket(_) => {}
        }
        if end.is_noteworthy() {
            self.shared.client_log.line(&self.client, end);
        }
        if let Stage::Mars(mux) = &mut self.stage {
            mux.close();
        }
        self.end_lane(end);
        let mut last = Vec::new();
        self.channel.close(&mut last);
        // Best effort: the client may have closed the connection, and this does not wait.
        let _ = self.link.socket.send(&last);
        self.drop_session();
    }

    /// Ends a session of a MARS connection towards its client.
    fn end_lane(&self, end: &End) {
        if let Some(lane) = &self.link.lane {
            // An error that ends a session ends its whole connection, as in SQL Server.
            match end {
                End::Closed | End::Stopping => lane.finish(),
                End::Protocol(_)
                | End::Tls(_)
                | End::NoTls(_)
                | End::LoginRefused
                | End::Unencrypted
                | End::TimedOut(_)
                | End::Fatal
                | End::Panicked
                | End::LogFailed
                | End::Killed
                | End::Socket(_) => lane.fail(),
            }
        }
    }
}

/// Returns the type of the message to which a step belongs.
fn kind_of(step: &Step<'_>) -> tds::PacketType {
    match step {
        Step::Message(message) => message.kind,
        Step::Cancelled(kind) => *kind,
        Step::BulkPart { .. } => tds::PacketType::BulkLoad,
        Step::NeedMore => tds::PacketType::Prelogin,
    }
}
