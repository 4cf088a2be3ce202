//! `Channel`: the layer between a socket's bytes and TDS packets: none, or TLS.
//!
//! ```text
//!   Plain ─► Wrapped ─► Tls     PRELOGIN agreed on TLS: handshake in 0x12 packets, then bare records
//!   Plain ─────────────► Tls     the first byte is a TLS record (TDS 8.0)
//!   Tls ─► Plain                 after LOGIN7, where only the login is encrypted
//! ```
//!
//! This file only transforms bytes; the caller reads and writes the socket.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};
use tds::ProtocolError;
use tds::tls_wrap::{self, Unwrapped, Unwrapper};

use super::End;

/// The layer between a socket's bytes and TDS packets.
#[derive(Default)]
pub(super) enum Channel {
    /// No TLS: bytes are packets.
    #[default]
    Plain,
    /// A TLS handshake inside PRELOGIN packets.
    Wrapped(Box<Wrapped>),
    /// TLS records without packets.
    Tls(Box<ServerConnection>),
}

/// A handshake inside PRELOGIN packets.
pub(super) struct Wrapped {
    unwrapper: Unwrapper,
    tls: ServerConnection,
}

impl Channel {
    /// Returns a channel that expects a handshake inside packets.
    pub(super) fn wrapped(config: Arc<ServerConfig>) -> Result<Self, End> {
        let tls = ServerConnection::new(config).map_err(End::Tls)?;
        Ok(Self::Wrapped(Box::new(Wrapped { unwrapper: Unwrapper::new(), tls })))
    }

    /// Returns a channel that expects TLS from its first byte.
    pub(super) fn tls(config: Arc<ServerConfig>) -> Result<Self, End> {
        ServerConnection::new(config).map(|tls| Self::Tls(Box::new(tls))).map_err(End::Tls)
    }

    /// Returns whether bytes are packets without TLS.
    pub(super) const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Processes received bytes: appends their plain text to `plain`, and handshake messages to
    /// send back to `reply`.
    pub(super) fn open(
        &mut self,
        received: &[u8],
        plain: &mut Vec<u8>,
        reply: &mut Vec<u8>,
    ) -> Result<(), End> {
        match self {
            Self::Plain => {
                plain.extend_from_slice(received);
                Ok(())
            }
            Self::Tls(tls) => {
                let opened = open_records(tls, received, plain);
                drain(tls, reply);
                opened
            }
            Self::Wrapped(wrapped) => {
                let Some(rest) = wrapped.open(received, plain, reply)? else { return Ok(()) };
                // Records without packets follow: the wrapping has ended.
                if let Self::Wrapped(wrapped) = std::mem::take(self) {
                    *self = Self::Tls(Box::new(wrapped.tls));
                }
                self.open(rest, plain, reply)
            }
        }
    }

    /// Encrypts `plain` and appends it to `target`.
    pub(super) fn seal(&mut self, plain: &[u8], target: &mut Vec<u8>) -> Result<(), End> {
        let tls = match self {
            Self::Plain => {
                target.extend_from_slice(plain);
                return Ok(());
            }
            Self::Tls(tls) => tls,
            Self::Wrapped(wrapped) => &mut wrapped.tls,
        };
        let mut rest = plain;
        while !rest.is_empty() {
            let taken = tls.writer().write(rest).map_err(|_| End::Closed)?;
            rest = &rest[taken..];
            drain(tls, target);
        }
        Ok(())
    }

    /// Appends the alert that ends TLS, if TLS is in use.
    pub(super) fn close(&mut self, target: &mut Vec<u8>) {
        if let Self::Tls(tls) = self {
            tls.send_close_notify();
            drain(tls, target);
        }
    }
}

impl Wrapped {
    /// Unwraps handshake bytes; returns the records without packets that follow, if there are any.
    fn open<'a>(
        &mut self,
        mut received: &'a [u8],
        plain: &mut Vec<u8>,
        reply: &mut Vec<u8>,
    ) -> Result<Option<&'a [u8]>, End> {
        while !received.is_empty() {
            match self.unwrapper.next(received)? {
                Unwrapped::Bare if self.tls.is_handshaking() => {
                    return Err(End::Protocol(ProtocolError::Prelogin(
                        "a TLS record came before the end of the handshake",
                    )));
                }
                Unwrapped::Bare => return Ok(Some(received)),
                Unwrapped::Handshake { used, payload } => {
                    let opened = open_records(&mut self.tls, payload, plain);
                    let mut flight = Vec::new();
                    drain(&mut self.tls, &mut flight);
                    tls_wrap::wrap(&flight, reply);
                    opened?;
                    received = &received[used..];
                }
            }
        }
        Ok(None)
    }
}

/// Passes records to TLS and appends their plain text to `plain`.
fn open_records(
    tls: &mut ServerConnection,
    mut received: &[u8],
    plain: &mut Vec<u8>,
) -> Result<(), End> {
    while !received.is_empty() {
        // Reading from memory cannot fail, except if the peer sends after it closed.
        if tls.read_tls(&mut received).map_err(|_| End::Closed)? == 0 {
            return Err(End::Closed);
        }
        let state = tls.process_new_packets().map_err(End::Tls)?;
        let from = plain.len();
        plain.resize(from + state.plaintext_bytes_to_read(), 0);
        if state.plaintext_bytes_to_read() > 0 {
            tls.reader().read_exact(&mut plain[from..]).map_err(|_| End::Closed)?;
        }
        if state.peer_has_closed() && plain.is_empty() {
            return Err(End::Closed);
        }
    }
    Ok(())
}

/// Appends the records that TLS has to send.
fn drain(tls: &mut ServerConnection, target: &mut Vec<u8>) {
    while tls.wants_write() {
        // Writing to a Vec cannot fail.
        if tls.write_tls(target).is_err() {
            return;
        }
    }
}
