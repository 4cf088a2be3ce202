//! `Connection`: one client, from its first byte to its last, as a task of the machine.
//!
//! ```text
//!   Opening ─0x12─► Prelogin ─► [handshake in packets] ─► Login ─► Open ─► requests ..
//!      │──────0x16─► TLS ─► Prelogin (inner) ───────────────▲
//!      └──────0x10──────────────────────────────────────────┘   jTDS: no PRELOGIN
//!                                                           Login ─► Delayed ─► Open: after failed logins
//! ```
//!
//! A task works on what has arrived and returns; a slow client holds no worker. The usual request is
//! one receive into a buffer of the worker's, and one send out of another.

mod channel;
mod end;
mod execute;
mod heads;
mod link;
mod login;
mod output;
mod request;
mod scratch;
mod shapes;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use engine::instance::Nudge;
use sos::clock;
use sos::ledger::{self, Label};
use sos::memory;
use sos::sched::{Interrupt, Next, Ready, Task, TaskWaker};
use sos::sync::Arc;
use sos::sys::Socket;
use tds::encryption::Origin;
use tds::{MessageReader, Opening, ProtocolError, Step};
use types::{Error, Msg};

pub(crate) use end::End;
pub(crate) use output::Output;
pub(crate) use scratch::Names;
pub(crate) use shapes::Shapes;

use crate::options::Encryption;
use crate::shared::{Seat, Shared};
use crate::tls::Mode;
use channel::Channel;
use link::Link;
use login::{Delayed, Negotiated};
use request::Open;
use scratch::{Io, RECEIVE_BYTES, Scratch};

/// Bytes that count as progress of a message: a client that sends less in the time allowed is slow.
const PROGRESS_BYTES: usize = 4 * 1024;

/// Bytes of a message that are kept even if memory is short, so that small requests can help.
const MESSAGE_BYTES_AFFORDED: usize = 1 << 20;

/// One client's connection. Aligned, because the next one in memory belongs to another scheduler.
#[repr(align(128))]
pub(crate) struct Connection {
    /// Puts messages together. Apart from the rest, since a message borrows from it.
    reader: MessageReader,
    side: Side,
    /// When the step in progress must be complete, in monotonic nanoseconds.
    deadline_ns: Option<u64>,
    /// Bytes of the message in progress since the deadline was set.
    progress_bytes: usize,
}

/// All of a connection but its reader.
struct Side {
    shared: Arc<Shared>,
    link: Arc<Link>,
    channel: Channel,
    stage: Stage,
    /// Why the message in progress is skipped.
    refused: Option<Error>,
    client: SocketAddr,
    local: SocketAddr,
    /// Keeps the connection counted.
    _seat: Seat,
}

/// How far a connection has come.
enum Stage {
    /// Nothing has arrived.
    Opening,
    /// PRELOGIN comes next.
    Prelogin(Origin),
    /// LOGIN7 comes next.
    Login(Negotiated),
    /// LOGIN7 has come, and its answer is due later.
    Delayed(Box<Delayed>),
    /// Requests come.
    Open(Box<Open>),
}

impl Connection {
    /// Makes the task of a connection just accepted.
    pub(crate) fn adopt(
        shared: &Arc<Shared>,
        seat: Seat,
        socket: Socket,
        client: SocketAddr,
    ) -> io::Result<sos::sched::Connection> {
        let local = socket.local_address()?;
        socket.set_keepalive()?;
        let link = Arc::new(Link::new(socket));
        let interrupt: Arc<dyn Interrupt> = Arc::<Link>::clone(&link);
        let side = Side {
            shared: Arc::clone(shared),
            link,
            channel: Channel::Plain,
            stage: Stage::Opening,
            refused: None,
            client,
            local,
            _seat: seat,
        };
        let deadline_ns = Some(clock::deadline_ns(shared.limits.login_timeout));
        let reader = MessageReader::new();
        let task = Self { reader, side, deadline_ns, progress_bytes: 0 };
        Ok(sos::sched::Connection { task: Box::new(task), interrupt })
    }

    /// Reads what has arrived and works on it.
    fn receive(&mut self, scratch: &mut Scratch) -> Result<(), End> {
        loop {
            let (count, room) = self.receive_once(scratch)?;
            self.side.end_between_requests()?;
            self.refuse_if_too_long();
            // Less than there was room for: nothing more is there, and arrivals will be reported.
            if count < room {
                return Ok(());
            }
        }
    }

    /// Drops a long message on its way in if memory is short; it is answered with 701 at its end.
    fn refuse_if_too_long(&mut self) {
        let is_long = self.reader.held_bytes() > MESSAGE_BYTES_AFFORDED;
        if is_long && memory::check().is_err() {
            self.reader.skip_message();
            self.side.refused = Some(Msg::OutOfMemory.into());
        }
    }

    /// Reads once and works on it; returns how much was read, and what there was room for.
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
        // Taken out, so that the rest of the scratch can be lent while it is worked on.
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

    /// Works on received bytes.
    fn take_in(&mut self, mut bytes: &[u8], scratch: &mut Scratch) -> Result<(), End> {
        self.progress_bytes += bytes.len();
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

    /// Works on packets up to the end of `bytes`.
    fn packets(&mut self, mut bytes: &[u8], io: &mut Io) -> Result<(), End> {
        while !bytes.is_empty() {
            let used = self.packet(bytes, io)?;
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// Works on at most one message from the front of `bytes`; returns how many it used.
    fn packet(&mut self, bytes: &[u8], io: &mut Io) -> Result<usize, End> {
        let (used, step) = self.reader.feed(bytes)?;
        let next = bytes.get(used).copied();
        self.side.take(step, next, io)?;
        self.side.end_between_requests()?;
        Ok(used)
    }

    /// Sets the time limit of what comes next: a message that has begun has to end.
    fn set_deadline(&mut self) {
        if !matches!(self.side.stage, Stage::Open(_)) {
            return; // The limit of the login as a whole, set at the start.
        }
        if !self.reader.is_mid_message() {
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

    /// Names the limit that has been passed.
    fn limit(&self) -> &'static str {
        if matches!(self.side.stage, Stage::Open(_)) { "packet timeout" } else { "login timeout" }
    }
}

/// Reads the result of a receive: `None` if nothing was there.
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
        let was_open = matches!(self.side.stage, Stage::Open(_));
        let mut outcome = self.receive(&mut scratch);
        if ready.has(Ready::WOKEN)
            && let Stage::Open(open) = &mut self.side.stage
        {
            open.session.let_go();
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
            Ok(()) => Next::Keep,
            Err(end) => {
                self.side.end(&end, &mut scratch.io);
                Next::Close
            }
        };
        self.reader.release();
        scratch.put_back();
        next
    }

    fn deadline_ns(&self) -> Option<u64> {
        match &self.side.stage {
            Stage::Delayed(delayed) => Some(delayed.until_ns),
            Stage::Opening | Stage::Prelogin(_) | Stage::Login(_) | Stage::Open(_) => {
                self.deadline_ns
            }
        }
    }
}

impl Side {
    /// Says what comes after a receive where it is not the reading of a request, which every receive is
    /// taken for.
    fn label_work(&self) {
        if !matches!(self.stage, Stage::Open(_)) {
            ledger::label(Label::Login);
        }
    }

    /// Looks at the first byte of all.
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
                let is_loopback = self.client.ip().to_canonical().is_loopback();
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

    /// Lets TLS open received bytes, and answers what belongs to its handshake.
    fn open_tls(&mut self, bytes: &[u8], opened: &mut Vec<u8>, io: &mut Io) -> Result<(), End> {
        let mut reply = std::mem::take(&mut io.sealed);
        reply.clear();
        let result = self.channel.open(bytes, opened, &mut reply);
        let sent = self.output(&mut Vec::new()).send_raw(&reply);
        io.sealed = reply;
        // What TLS found wrong counts, even if the alert that says so cannot be sent.
        result.and(sent)
    }

    /// Works on what the packets so far amount to. `next_byte` is the first one behind it, if it has
    /// arrived already.
    fn take(&mut self, step: Step<'_>, next_byte: Option<u8>, io: &mut Io) -> Result<(), End> {
        match (&mut self.stage, step) {
            (_, Step::NeedMore) => Ok(()),
            (Stage::Open(_), step) => self.request(step, next_byte, io),
            (Stage::Prelogin(origin), Step::Message(message)) => {
                let origin = *origin;
                self.prelogin(message, origin, io)
            }
            (Stage::Login(_), Step::Message(message)) => self.login(message, io),
            (Stage::Opening | Stage::Prelogin(_) | Stage::Login(_) | Stage::Delayed(_), step) => {
                Err(ProtocolError::UnexpectedMessage(kind_of(&step)).into())
            }
        }
    }

    /// Lets others KILL the session and ask it to let go of something, once it is logged in.
    fn let_nudge(&self, waker: &TaskWaker) {
        let Stage::Open(open) = &self.stage else { return };
        let (link, waker) = (Arc::clone(&self.link), waker.clone());
        open.session.on_nudge(Arc::new(move |nudge| {
            match nudge {
                Nudge::End => link.kill(),
                // Whoever is woken does.
                Nudge::LetGo => (),
            }
            waker.wake();
        }));
    }

    /// Fails if the connection has to end. No answer is due here: the client would take an error for
    /// the answer to its next request.
    fn end_between_requests(&self) -> Result<(), End> {
        match self.link.end() {
            None => Ok(()),
            Some(End::Killed) => Err(End::KilledIdle),
            Some(end) => Err(end),
        }
    }

    fn output<'a>(&'a mut self, sealed: &'a mut Vec<u8>) -> Output<'a> {
        Output {
            link: &self.link,
            channel: &mut self.channel,
            sealed,
            send_timeout: self.shared.limits.send_timeout,
        }
    }

    /// Ends the connection: tells the client why, if that makes sense, and the log.
    fn end(&mut self, end: &End, io: &mut Io) {
        io.writer.discard();
        match end {
            End::Protocol(error) => self.explain(&error.to_error(), io),
            End::Killed => self.explain(&Msg::SessionKilled.into(), io),
            End::Closed
            | End::KilledIdle
            | End::Tls(_)
            | End::NoTls(_)
            | End::LoginRefused
            | End::Unencrypted
            | End::TimedOut(_)
            | End::Fatal
            | End::Panicked
            | End::Stopping
            | End::Socket(_) => {}
        }
        if end.is_noteworthy() {
            self.shared.client_log.line(&self.client, end);
        }
        let mut last = Vec::new();
        self.channel.close(&mut last);
        // Best effort: the client may have gone, and nobody waits for it here.
        let _ = self.link.socket.send(&last);
        self.drop_session();
    }
}

/// Returns the type of the message that a step belongs to.
fn kind_of(step: &Step<'_>) -> tds::PacketType {
    match step {
        Step::Message(message) => message.kind,
        Step::Cancelled(kind) => *kind,
        Step::BulkPart { .. } => tds::PacketType::BulkLoad,
        Step::NeedMore => tds::PacketType::Prelogin,
    }
}
