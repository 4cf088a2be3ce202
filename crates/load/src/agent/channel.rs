//! `Channel`: authenticated messages between a coordinator and an agent that share a token.
//!
//! ```text
//!   each side at once:  "CLWYLOAD", length and text of the version, 16 random bytes
//!   then frames:        length (4 bytes), HMAC-SHA256 (32 bytes), payload
//! ```
//!
//! The key of the HMAC (RFC 2104) is the HMAC of both sides' random bytes under the token. Each
//! HMAC covers the sender, the number of the frame and the payload, so that no frame can be
//! repeated, used elsewhere or reordered. The first frame of each side is empty and proves the
//! token, the coordinator's before the agent's: a peer that can only reach the port learns nothing.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};
use sos::clock;
use sos::sys::{Direction, Socket, poll_fd, random_bytes};

const MAGIC: &[u8; 8] = b"CLWYLOAD";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const NONCE_BYTES: usize = 16;
const MAC_BYTES: usize = 32;
const BLOCK_BYTES: usize = 64;
/// The longest message in bytes: scripts one way, histograms the other.
const MESSAGE_MAX: usize = 64 << 20;
/// The fewest characters of a token.
const TOKEN_MIN: usize = 16;
const BUFFER_BYTES: usize = 64 * 1024;
/// The longest time that a greeting may take.
pub(super) const GREETING_MAX: Duration = Duration::from_secs(10);

/// The secret that an agent and its coordinator share.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// Makes a token of a text of at least 16 characters.
    ///
    /// # Errors
    /// If it is shorter.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.len() >= TOKEN_MIN {
            true => Ok(Self(text.as_bytes().to_vec())),
            false => Err(format!("a token must have at least {TOKEN_MIN} characters")),
        }
    }
}

/// The side of a channel that sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Coordinator,
    Agent,
}

impl Side {
    const fn mark(self) -> u8 {
        match self {
            Self::Coordinator => 1,
            Self::Agent => 2,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Coordinator => Self::Agent,
            Self::Agent => Self::Coordinator,
        }
    }
}

/// One end of a channel, after the greeting.
pub(super) struct Channel {
    socket: Socket,
    side: Side,
    key: [u8; MAC_BYTES],
    sent: u64,
    taken: u64,
    unsent: Vec<u8>,
    held: Vec<u8>,
    /// The longest payload that is accepted, in bytes.
    payload_max: usize,
}

impl Channel {
    /// Connects to an agent and exchanges greetings.
    pub(super) fn open(address: SocketAddr, token: &Token) -> Result<Self, String> {
        let end_ns = clock::deadline_ns(GREETING_MAX);
        let socket = Socket::connect_begin(address).map_err(|error| error.to_string())?;
        wait(&socket, Direction::Writable, end_ns)?;
        let mut channel = Self::greet(socket, Side::Coordinator, token, end_ns)?;
        channel.put(&[])?;
        let proof = channel.take(end_ns).map_err(|why| match why.as_str() {
            CLOSED => "it closed the connection: is its token a different one?".to_owned(),
            _ => why,
        })?;
        channel.proved(&proof).map(|()| channel)
    }

    /// Exchanges greetings with a coordinator that has connected.
    pub(super) fn answer(socket: Socket, token: &Token) -> Result<Self, String> {
        let end_ns = clock::deadline_ns(GREETING_MAX);
        let mut channel = Self::greet(socket, Side::Agent, token, end_ns)?;
        let proof = channel.take(end_ns)?;
        channel.proved(&proof)?;
        channel.put(&[])?;
        Ok(channel)
    }

    fn proved(&mut self, proof: &[u8]) -> Result<(), String> {
        self.payload_max = MESSAGE_MAX;
        if proof.is_empty() {
            Ok(())
        } else {
            Err("its first message does not prove the token".to_owned())
        }
    }

    fn greet(socket: Socket, side: Side, token: &Token, end_ns: u64) -> Result<Self, String> {
        let own: [u8; NONCE_BYTES] = random_bytes();
        let mut channel = Self {
            socket,
            side,
            key: [0; MAC_BYTES],
            sent: 0,
            taken: 0,
            unsent: Vec::new(),
            held: Vec::new(),
            payload_max: 0,
        };
        let length = u8::try_from(VERSION.len()).unwrap_or(u8::MAX);
        channel.unsent = [&MAGIC[..], &[length], VERSION.as_bytes(), &own].concat();
        channel.flush()?;
        let magic = channel.exactly(MAGIC.len(), end_ns)?;
        if magic != MAGIC {
            return Err(format!("it is not this program's {}", channel.peer_name()));
        }
        let length = channel.exactly(1, end_ns)?[0];
        let version = channel.exactly(usize::from(length), end_ns)?;
        if version != VERSION.as_bytes() {
            let theirs = String::from_utf8_lossy(&version);
            return Err(format!("it is version {theirs}, this is version {VERSION}"));
        }
        let theirs = channel.exactly(NONCE_BYTES, end_ns)?;
        let seed = match side {
            Side::Coordinator => [&own[..], &theirs].concat(),
            Side::Agent => [&theirs[..], &own].concat(),
        };
        channel.key = hmac(&token.0, &[MAGIC, &seed]);
        Ok(channel)
    }

    const fn peer_name(&self) -> &'static str {
        match self.side {
            Side::Coordinator => "agent",
            Side::Agent => "coordinator",
        }
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns whether received bytes have not been taken yet.
    pub(super) fn holds_some(&self) -> bool {
        !self.held.is_empty()
    }

    /// Sends a message, as much as the kernel accepts; [`Self::flush`] sends the rest.
    pub(super) fn put(&mut self, payload: &[u8]) -> Result<(), String> {
        let mac = hmac(&self.key, &[&[self.side.mark()], &self.sent.to_le_bytes(), payload]);
        self.sent += 1;
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        self.unsent.extend_from_slice(&length.to_le_bytes());
        self.unsent.extend_from_slice(&mac);
        self.unsent.extend_from_slice(payload);
        self.flush()
    }

    /// Sends bytes that the kernel has not accepted yet.
    pub(super) fn flush(&mut self) -> Result<(), String> {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.socket.send(&self.unsent[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Sends all bytes, waiting until `end_ns` at most.
    pub(super) fn drain(&mut self, end_ns: u64) -> Result<(), String> {
        self.flush()?;
        while !self.unsent.is_empty() {
            wait(&self.socket, Direction::Writable, end_ns)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Returns a message if a whole one has arrived.
    pub(super) fn try_take(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            if let Some(payload) = self.take_held()? {
                return Ok(Some(payload));
            }
            if !self.receive()? {
                return Ok(None);
            }
        }
    }

    /// Waits for a message until `end_ns` at most.
    pub(super) fn take(&mut self, end_ns: u64) -> Result<Vec<u8>, String> {
        loop {
            if let Some(payload) = self.try_take()? {
                return Ok(payload);
            }
            self.drain(end_ns)?;
            wait(&self.socket, Direction::Readable, end_ns)?;
        }
    }

    fn take_held(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some((head, rest)) = self.held.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
        if length > self.payload_max {
            return Err("a message is too long".to_owned());
        }
        let Some((mac, rest)) = rest.split_first_chunk::<MAC_BYTES>() else { return Ok(None) };
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let mark = [self.side.other().mark()];
        let expected = hmac(&self.key, &[&mark, &self.taken.to_le_bytes(), payload]);
        // All bytes are compared, so that the time does not show how many were right.
        let wrong = mac.iter().zip(expected).fold(0, |wrong, (a, b)| wrong | (a ^ b));
        if wrong != 0 {
            return Err("its token is a different one".to_owned());
        }
        self.taken += 1;
        let payload = payload.to_vec();
        self.held.drain(..4 + MAC_BYTES + length);
        Ok(Some(payload))
    }

    fn exactly(&mut self, count: usize, end_ns: u64) -> Result<Vec<u8>, String> {
        while self.held.len() < count {
            if !self.receive()? {
                wait(&self.socket, Direction::Readable, end_ns)?;
            }
        }
        Ok(self.held.drain(..count).collect())
    }

    /// Reads received bytes; returns `false` if there are none.
    fn receive(&mut self) -> Result<bool, String> {
        let mut buffer = [0; BUFFER_BYTES];
        match self.socket.recv(&mut buffer) {
            Ok(0) => Err(CLOSED.to_owned()),
            Ok(count) => {
                self.held.extend_from_slice(&buffer[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }
}

const CLOSED: &str = "it has closed the connection";

fn wait(socket: &Socket, direction: Direction, end_ns: u64) -> Result<(), String> {
    match poll_fd(socket, direction, Some(end_ns)) {
        Ok(true) => Ok(()),
        Ok(false) => Err("it does not answer".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the HMAC-SHA256 of RFC 2104.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    match block.get_mut(..key.len()) {
        Some(begin) => begin.copy_from_slice(key),
        None => block[..MAC_BYTES].copy_from_slice(&Sha256::digest(key)),
    }
    let mut inner = Sha256::new();
    inner.update(block.map(|byte| byte ^ 0x36));
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = Sha256::new();
    outer.update(block.map(|byte| byte ^ 0x5C));
    outer.update(inner.finalize());
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_hash_is_that_of_rfc_4231() {
        let found = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex(&found), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let found =
            hmac(&[0xAA; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]);
        assert_eq!(hex(&found), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    #[test]
    fn a_token_is_long_enough() {
        assert!(Token::new("short").is_err());
        assert!(Token::new(" 0123456789abcdef\n").is_ok());
    }
}
