//! `Stream`: a connection's bytes, in plain text or through TLS, with a deadline for each wait.

use std::io::{self, Read, Write};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection};
use sos::clock;
use sos::park::{Cancel, Wake};
use sos::sched;
use sos::sync::Arc;
use sos::sys::{Direction, Socket};
use sos::wait::WaitType;

/// Bytes received at once.
const RECEIVE_BYTES: usize = 16 * 1024;
/// Longest time in which a client reads nothing of an answer.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// The client has closed it, or it failed.
    Closed,
    /// The client was too slow.
    TimedOut,
    /// The server has begun to stop.
    Stopping,
}

/// The socket of one connection, and TLS around it.
pub(crate) struct Stream {
    socket: Socket,
    tls: Option<Box<ServerConnection>>,
    received: Box<[u8]>,
}

impl Stream {
    /// Makes the stream of an accepted socket.
    pub(crate) fn new(socket: Socket, tls: Option<&Arc<ServerConfig>>) -> Result<Self, Gone> {
        let tls = tls.map(|config| ServerConnection::new(Arc::clone(config)).map(Box::new));
        let tls = tls.transpose().map_err(|_| Gone::Closed)?;
        Ok(Self { socket, tls, received: vec![0; RECEIVE_BYTES].into() })
    }

    /// Appends one byte or more to `plain`, waiting until `deadline_ns` of the monotonic clock.
    pub(crate) fn receive(
        &mut self,
        plain: &mut Vec<u8>,
        deadline_ns: u64,
        stopping: &Cancel,
    ) -> Result<(), Gone> {
        let before = plain.len();
        loop {
            match self.socket.recv(&mut self.received) {
                Ok(0) => return Err(Gone::Closed),
                Ok(count) => self.open(count, plain)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let rest = deadline_ns.saturating_sub(clock::monotonic_ns());
                    let timeout = Duration::from_nanos(rest);
                    self.wait(Direction::Readable, WaitType::ConsoleIdle, timeout, stopping)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Gone::Closed),
            }
            if plain.len() > before {
                return Ok(());
            }
        }
    }

    /// Decrypts what was received, and sends what TLS has to say.
    fn open(&mut self, count: usize, plain: &mut Vec<u8>) -> Result<(), Gone> {
        let mut received = &self.received[..count];
        let Some(tls) = &mut self.tls else {
            plain.extend_from_slice(received);
            return Ok(());
        };
        let mut reply = Vec::new();
        while !received.is_empty() {
            if tls.read_tls(&mut received).map_err(|_| Gone::Closed)? == 0 {
                return Err(Gone::Closed);
            }
            let processed = tls.process_new_packets();
            drain(tls, &mut reply);
            let Ok(state) = processed else {
                // The alert: whether it arrives does not matter.
                let _ = self.socket.send(&reply);
                return Err(Gone::Closed);
            };
            let from = plain.len();
            plain.resize(from + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain[from..]).map_err(|_| Gone::Closed)?;
            if state.peer_has_closed() && plain.len() == from {
                return Err(Gone::Closed);
            }
        }
        // Handshake messages are short: a kernel that takes them in part has a dead peer.
        if reply.is_empty() || self.socket.send(&reply).is_ok_and(|sent| sent == reply.len()) {
            return Ok(());
        }
        Err(Gone::Closed)
    }

    /// Sends all bytes, waiting for a slow client.
    pub(crate) fn send(&mut self, bytes: &[u8], stopping: &Cancel) -> Result<(), Gone> {
        let mut sealed = Vec::new();
        let Some(tls) = &mut self.tls else { return self.send_raw(bytes, stopping) };
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = tls.writer().write(rest).map_err(|_| Gone::Closed)?;
            rest = &rest[taken..];
            drain(tls, &mut sealed);
        }
        self.send_raw(&sealed, stopping)
    }

    fn send_raw(&self, mut bytes: &[u8], stopping: &Cancel) -> Result<(), Gone> {
        while !bytes.is_empty() {
            match self.socket.send(bytes) {
                Ok(0) => return Err(Gone::Closed),
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let wait = WaitType::AsyncNetworkIo;
                    self.wait(Direction::Writable, wait, SEND_TIMEOUT, stopping)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Gone::Closed),
            }
        }
        Ok(())
    }

    fn wait(
        &self,
        direction: Direction,
        wait: WaitType,
        timeout: Duration,
        stopping: &Cancel,
    ) -> Result<(), Gone> {
        match sched::wait_fd(&self.socket, direction, wait, Some(timeout), Some(stopping)) {
            Ok(Wake::Signalled) => Ok(()),
            Ok(Wake::TimedOut) => Err(Gone::TimedOut),
            Ok(Wake::Cancelled) => Err(Gone::Stopping),
            Err(_) => Err(Gone::Closed),
        }
    }

    /// Says goodbye, and reads what a client may still be sending: closing a socket with unread
    /// bytes resets the connection, and the client would not see the answer.
    pub(crate) fn close(&mut self, stopping: &Cancel) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let mut reply = Vec::new();
            drain(tls, &mut reply);
            let _ = self.socket.send(&reply);
        }
        self.socket.shutdown_send();
        let deadline_ns = clock::deadline_ns(LINGER);
        for _ in 0..LINGER_READS_MAX {
            match self.socket.recv(&mut self.received) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let rest = deadline_ns.saturating_sub(clock::monotonic_ns());
                    let rest = Duration::from_nanos(rest);
                    let wait = WaitType::ConsoleIdle;
                    if self.wait(Direction::Readable, wait, rest, stopping).is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }
}

/// Longest time that a closed connection is read.
const LINGER: Duration = Duration::from_secs(1);
/// Most reads of a closed connection.
const LINGER_READS_MAX: usize = 256;

/// Appends the records that TLS has to send.
fn drain(tls: &mut ServerConnection, target: &mut Vec<u8>) {
    while tls.wants_write() {
        // Writing to a Vec cannot fail.
        if tls.write_tls(target).is_err() {
            return;
        }
    }
}
