//! `Link`: one connection to any TDS server, from the first packet to the last answer, in plain
//! text or TLS. It never blocks: its driver calls it when the socket is readable or writable.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use sos::sys::{Endpoint, Socket};
use tds::client::{self, DoneScanner, FinalDone, Token};
use tds::prelogin::Encryption;
use tds::tls_wrap::{self, Unwrapped, Unwrapper};
use tds::{Cursor, DoneStatus, Login7, Prelogin, TdsVersion};

use crate::answer::message_bytes;
use crate::generator::Login;
use crate::{Answer, tls};

/// The packet size asked for, the one of .NET's client.
const PACKET_BYTES: u32 = 8_000;
/// The length of a packet header.
const HEADER_BYTES: usize = 8;

/// How much of a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypt {
    /// Nothing, not even the password: for servers on this machine.
    Off,
    /// Everything, by TLS inside TDS. The server's certificate is not checked.
    On,
    /// Everything, by TLS around TDS 8.0. The server's certificate is not checked.
    Strict,
}

/// A server, the login for it, and the encryption.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where the server listens.
    pub address: Endpoint,
    /// Login name, password and database.
    pub login: Login,
    /// How much is encrypted.
    pub encrypt: Encrypt,
}

/// Why a link cannot be used any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the server's error, if it sent one.
    pub number: Option<i32>,
    /// What went wrong, in words for the user.
    pub text: String,
}

impl Fault {
    fn new(text: impl Into<String>) -> Self {
        Self { number: None, text: text.into() }
    }

    fn wire(error: impl fmt::Display) -> Self {
        Self::new(format!("wrong answer: {error}"))
    }

    fn tls(error: impl fmt::Display) -> Self {
        Self::new(format!("TLS: {error}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

type Result<T> = std::result::Result<T, Fault>;

/// The result of advancing a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing complete has arrived.
    Waiting,
    /// The login has succeeded; requests may be sent.
    LoggedIn,
    /// The end of an answer; [`Link::answer`] has its packets.
    Answer(FinalDone),
}

/// The state of a link.
#[derive(Debug)]
enum Phase {
    /// A TLS handshake, with TDS inside TLS.
    OuterHandshake,
    Prelogin,
    /// A TLS handshake inside PRELOGIN packets.
    InnerHandshake(Unwrapper),
    LogIn,
    Ready,
    Busy,
}

/// One connection, from handshake to answers.
pub struct Link {
    address: Endpoint,
    socket: Socket,
    phase: Phase,
    /// Whether the request was cancelled: the answer ends when the server acknowledges that.
    cancels: bool,
    login: Vec<u8>,
    encrypt: Encrypt,
    tls: Option<Box<ClientConnection>>,
    /// Bytes that the kernel has not accepted yet.
    unsent: Vec<u8>,
    scanner: DoneScanner,
    /// The packets of the answer so far, decrypted.
    held: Vec<u8>,
    /// Whether an answer that arrives in one piece stays in the caller's buffer.
    in_place: bool,
    /// The length of the last answer in that buffer; 0 if it is in `held`.
    placed: usize,
}

impl Link {
    /// Begins to connect.
    ///
    /// # Errors
    /// If the address cannot be reached at all; [`Self::advance`] reports all other failures.
    pub fn open(target: &Target) -> Result<Self> {
        Self::open_as(target, "clearway stress")
    }

    /// As [`Self::open`], with another application name.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_as(target: &Target, application: &str) -> Result<Self> {
        let refused = |error: io::Error| Fault::new(format!("{}: {error}", target.address));
        let version = match target.encrypt {
            Encrypt::Strict => TdsVersion::V8_0,
            Encrypt::Off | Encrypt::On => TdsVersion::V7_4,
        };
        let login = client::login(&Login7 {
            version_code: version.code(),
            packet_size: PACKET_BYTES,
            user: target.login.user.clone(),
            password: target.login.password.clone(),
            database: target.login.database.clone(),
            application: application.to_owned(),
            ..Login7::default()
        });
        let mut link = Self {
            socket: Socket::connect_begin(target.address.clone()).map_err(refused)?,
            address: target.address.clone(),
            phase: Phase::Prelogin,
            cancels: false,
            login,
            encrypt: target.encrypt,
            tls: None,
            unsent: Vec::new(),
            scanner: DoneScanner::new(version),
            held: Vec::new(),
            in_place: false,
            placed: 0,
        };
        if target.encrypt == Encrypt::Strict {
            link.phase = Phase::OuterHandshake;
            link.begin_tls()?;
            link.send_records()?;
        } else {
            link.send_prelogin()?;
        }
        Ok(link)
    }

    /// Returns the socket, for a poller.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// From now on, leaves an answer that arrives in one piece in the buffer passed to
    /// [`Self::advance`] instead of copying it: most callers need only its end.
    pub fn leave_in_place(&mut self) {
        self.in_place = true;
    }

    /// Returns the packets of the last answer, headers included; `buffer` is the one last passed to
    /// [`Self::advance`].
    pub fn answer<'a>(&'a self, buffer: &'a [u8]) -> &'a [u8] {
        match self.placed {
            0 => &self.held,
            bytes => &buffer[..bytes],
        }
    }

    /// Sends a request. The link must have logged in, and no answer may be outstanding.
    ///
    /// # Errors
    /// If the connection is lost.
    #[inline]
    pub fn ask(&mut self, request: &[u8]) -> Result<()> {
        self.held.clear();
        self.placed = 0;
        self.phase = Phase::Busy;
        self.send(request)
    }

    /// Asks the server to cancel the current request. The answer that follows says that it was.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn cancel(&mut self) -> Result<()> {
        self.cancels = true;
        self.send(&client::attention())
    }

    /// Sends waiting bytes, reads what has arrived, and returns the resulting step. `is_over` means
    /// that the peer has closed, so that no further event announces the end behind the last bytes.
    ///
    /// # Errors
    /// If the connection is lost, the login is refused, or the answer is not TDS.
    #[inline]
    pub fn advance(&mut self, buffer: &mut [u8], is_over: bool) -> Result<Step> {
        if !self.unsent.is_empty() {
            self.flush()?;
        }
        loop {
            let count = match self.socket.recv(buffer) {
                Ok(0) => return Err(Fault::new("the server has closed the connection")),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Step::Waiting);
                }
                Err(error) => return Err(Fault::new(format!("the connection failed: {error}"))),
            };
            let step = self.take(&buffer[..count])?;
            // Fewer bytes than there was room for: another event announces the rest.
            if step != Step::Waiting || count < buffer.len() && !is_over {
                return Ok(step);
            }
        }
    }

    /// As [`Self::advance`], but reads at most once, for callers that read the answer while it
    /// arrives.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub fn advance_once(&mut self, buffer: &mut [u8]) -> Result<Step> {
        if !self.unsent.is_empty() {
            self.flush()?;
        }
        match self.socket.recv(buffer) {
            Ok(0) => Err(Fault::new("the server has closed the connection")),
            Ok(count) => self.take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Step::Waiting),
            Err(error) => Err(Fault::new(format!("the connection failed: {error}"))),
        }
    }

    /// Moves the received part of the current answer to `into`; packets may be cut anywhere.
    pub fn take_received(&mut self, into: &mut Vec<u8>) {
        into.append(&mut self.held);
    }

    /// Returns whether bytes wait for room in the kernel.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Processes bytes that have arrived.
    #[inline]
    fn take(&mut self, bytes: &[u8]) -> Result<Step> {
        match (&self.phase, &self.tls) {
            (Phase::InnerHandshake(_), _) => self.take_flight(bytes),
            (_, Some(_)) => self.take_records(bytes),
            (_, None) => self.take_plain(bytes),
        }
    }

    #[inline]
    fn take_plain(&mut self, bytes: &[u8]) -> Result<Step> {
        let is_first = self.held.is_empty() && matches!(self.phase, Phase::Busy);
        if self.in_place && is_first && self.tls.is_none() {
            let step = self.scan(bytes)?;
            match step {
                Step::Answer(_) => self.placed = bytes.len(),
                Step::Waiting | Step::LoggedIn => self.held.extend_from_slice(bytes),
            }
            return Ok(step);
        }
        self.held.extend_from_slice(bytes);
        match self.phase {
            Phase::Busy => self.scan(bytes),
            Phase::Prelogin if message_bytes(&self.held).is_some() => self.take_prelogin(),
            Phase::LogIn if message_bytes(&self.held).is_some() => self.take_login(),
            Phase::Ready => Err(Fault::new("an answer without a request")),
            _ => Ok(Step::Waiting),
        }
    }

    #[inline]
    fn scan(&mut self, mut bytes: &[u8]) -> Result<Step> {
        loop {
            let (used, end) = self.scanner.feed(bytes).map_err(Fault::wire)?;
            let Some(end) = end else { return Ok(Step::Waiting) };
            bytes = &bytes[used..];
            // A cancelled request may have ended before the cancel: its own end comes first.
            if self.cancels && !end.status.has(DoneStatus::ATTENTION) {
                continue;
            }
            if !bytes.is_empty() {
                return Err(Fault::new("more than one answer"));
            }
            self.cancels = false;
            self.phase = Phase::Ready;
            return Ok(Step::Answer(end));
        }
    }

    fn take_prelogin(&mut self) -> Result<Step> {
        let payload = self.held.get(HEADER_BYTES..).unwrap_or_default();
        let answer = Prelogin::parse(Cursor::new(payload)).map_err(Fault::wire)?;
        self.held.clear();
        match (self.encrypt, answer.encryption) {
            (Encrypt::Off, Some(Encryption::On | Encryption::Required)) => {
                Err(Fault::new("the server wants encryption: --encrypt on"))
            }
            (Encrypt::On, Some(Encryption::NotSupported | Encryption::Off) | None) => Err(
                Fault::new("the server can't encrypt: --encrypt off sends the password in plain"),
            ),
            (Encrypt::On, Some(_)) => {
                self.begin_tls()?;
                self.phase = Phase::InnerHandshake(Unwrapper::new());
                self.send_flight()?;
                Ok(Step::Waiting)
            }
            (Encrypt::Off | Encrypt::Strict, _) => self.send_login(),
        }
    }

    fn take_login(&mut self) -> Result<Step> {
        let answer = Answer::decode(&self.held).map_err(Fault::new)?;
        if let Some(error) = answer.errors().next() {
            let text = format!("error {}: {}", error.number, error.message);
            return Err(Fault { number: Some(error.number), text });
        }
        let is_in = |token: &Token| matches!(token, Token::LoginAck { .. });
        if !answer.tokens.iter().any(is_in) {
            return Err(Fault::new("the login was not acknowledged"));
        }
        self.held.clear();
        self.phase = Phase::Ready;
        Ok(Step::LoggedIn)
    }

    fn send_prelogin(&mut self) -> Result<()> {
        let encryption = match self.encrypt {
            Encrypt::Off => Encryption::NotSupported,
            Encrypt::On | Encrypt::Strict => Encryption::On,
        };
        self.phase = Phase::Prelogin;
        let options = Prelogin { encryption: Some(encryption), ..Prelogin::default() };
        self.send(&client::prelogin(&options))
    }

    fn send_login(&mut self) -> Result<Step> {
        self.phase = Phase::LogIn;
        let login = std::mem::take(&mut self.login);
        self.send(&login)?;
        Ok(Step::Waiting)
    }

    fn begin_tls(&mut self) -> Result<()> {
        let config = Arc::clone(tls::config(self.encrypt));
        let host = match &self.address {
            Endpoint::Tcp(address) => address.ip(),
            Endpoint::Unix(_) => std::net::Ipv4Addr::LOCALHOST.into(),
        };
        let name = ServerName::from(host);
        let mut tls = ClientConnection::new(config, name).map_err(Fault::tls)?;
        // A request is passed to TLS whole, however long.
        tls.set_buffer_limit(None);
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Sends the handshake's outgoing bytes in PRELOGIN packets.
    fn send_flight(&mut self) -> Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        let mut flight = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut flight).map_err(Fault::tls)?;
        }
        if !flight.is_empty() {
            tls_wrap::wrap(&flight, &mut self.unsent);
        }
        self.flush()
    }

    /// Sends TLS's outgoing bytes without packets.
    fn send_records(&mut self) -> Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while tls.wants_write() {
            tls.write_tls(&mut self.unsent).map_err(Fault::tls)?;
        }
        self.flush()
    }

    fn take_flight(&mut self, bytes: &[u8]) -> Result<Step> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (Phase::InnerHandshake(unwrapper), Some(tls)) = (&mut self.phase, &mut self.tls)
            else {
                return self.take(rest);
            };
            let unwrapped = unwrapper.next(rest).map_err(Fault::wire)?;
            let Unwrapped::Handshake { used, mut payload } = unwrapped else {
                return Err(Fault::new("the handshake's packets end too soon"));
            };
            while !payload.is_empty() {
                tls.read_tls(&mut payload).map_err(Fault::tls)?;
                tls.process_new_packets().map_err(Fault::tls)?;
            }
            rest = &rest[used..];
            let is_done = !tls.is_handshaking();
            self.send_flight()?;
            if is_done {
                self.send_login()?;
            }
        }
        Ok(Step::Waiting)
    }

    fn take_records(&mut self, bytes: &[u8]) -> Result<Step> {
        let mut rest = bytes;
        let mut step = Step::Waiting;
        while !rest.is_empty() {
            let Some(tls) = &mut self.tls else { break };
            tls.read_tls(&mut rest).map_err(Fault::tls)?;
            let state = tls.process_new_packets().map_err(Fault::tls)?;
            let mut plain = vec![0; state.plaintext_bytes_to_read()];
            tls.reader().read_exact(&mut plain).map_err(Fault::tls)?;
            let shakes = tls.is_handshaking();
            self.send_records()?;
            if matches!(self.phase, Phase::OuterHandshake) && !shakes {
                self.send_prelogin()?;
            }
            if !plain.is_empty() {
                step = self.take_plain(&plain)?;
            }
        }
        Ok(step)
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(bytes).map_err(Fault::tls)?;
            return self.send_records();
        }
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return self.flush();
        }
        let sent = self.give(bytes)?;
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends as much as the kernel accepts.
    #[inline]
    fn flush(&mut self) -> Result<()> {
        let sent = self.give(&self.unsent)?;
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Sends until the kernel accepts no more; returns how many bytes it accepted.
    #[inline]
    fn give(&self, bytes: &[u8]) -> Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket.send(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(Fault::new(format!("the connection failed: {error}"))),
            }
        }
        Ok(sent)
    }
}

/// Returns whether the end of an answer reports a failure.
pub fn has_failed(end: &FinalDone) -> bool {
    end.status.has(DoneStatus::ERROR)
}
