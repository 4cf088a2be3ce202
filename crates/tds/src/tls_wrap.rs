//! TLS inside PRELOGIN packets, the way TDS 7.x carries a handshake ([MS-TDS] 3.2.5.1, 3.3.5.2).
//!
//! Each flight of the handshake is sent as the payload of type 0x12 packets; after the handshake,
//! TLS records are sent without packets. This file only transforms bytes: the caller runs TLS and
//! knows when the handshake is done. TLS 1.3 must not be offered here: its last flight crosses the
//! boundary, and most drivers hang on it.

use crate::error::{ProtocolError, Result};
use crate::packet::{HEADER_BYTES, PACKET_SIZE_DEFAULT, PacketHeader, PacketType, Status};

/// Wraps one flight of the handshake in PRELOGIN packets and appends them to `target`.
pub fn wrap(flight: &[u8], target: &mut Vec<u8>) {
    let payload_max = usize::from(PACKET_SIZE_DEFAULT) - HEADER_BYTES;
    let mut parts = flight.chunks(payload_max).peekable();
    let mut id = 0_u8;
    while let Some(part) = parts.next() {
        id = id.wrapping_add(1);
        let is_last = parts.peek().is_none();
        let status = if is_last { Status::END_OF_MESSAGE } else { Status::NORMAL };
        let length = u16::try_from(part.len() + HEADER_BYTES).expect("a part fits a packet");
        let header = PacketHeader { kind: PacketType::Prelogin, status, length, spid: 0, id };
        target.extend_from_slice(&header.to_bytes());
        target.extend_from_slice(part);
    }
}

/// Removes the PRELOGIN packets from the handshake as it arrives.
#[derive(Debug, Default)]
pub struct Unwrapper {
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    packet_left: usize,
}

/// What was found at the front of the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwrapped<'a> {
    /// Handshake bytes within the first `used` bytes; pass them to TLS and continue with the rest.
    Handshake {
        /// The number of received bytes that are used up.
        used: usize,
        /// Bytes of the handshake, perhaps none.
        payload: &'a [u8],
    },
    /// A TLS record without packet: the wrapping has ended, all further bytes go to TLS unchanged.
    Bare,
}

impl Unwrapper {
    /// Returns an unwrapper at the start of a packet.
    pub const fn new() -> Self {
        Self { header: [0; HEADER_BYTES], header_filled: 0, packet_left: 0 }
    }

    /// Takes the next handshake bytes from the front of `input`.
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<Unwrapped<'a>> {
        let mut used = 0;
        while self.packet_left == 0 {
            let Some(&byte) = input.get(used) else {
                return Ok(Unwrapped::Handshake { used, payload: &[] });
            };
            if self.header_filled == 0 && used == 0 && is_tls_record(byte) {
                return Ok(Unwrapped::Bare);
            }
            if self.header_filled == 0 && is_tls_record(byte) {
                return Ok(Unwrapped::Handshake { used, payload: &[] });
            }
            self.header[self.header_filled] = byte;
            self.header_filled += 1;
            used += 1;
            if self.header_filled == HEADER_BYTES {
                self.header_filled = 0;
                self.begin_packet()?;
            }
        }
        let rest = &input[used..];
        let payload = &rest[..rest.len().min(self.packet_left)];
        self.packet_left -= payload.len();
        Ok(Unwrapped::Handshake { used: used + payload.len(), payload })
    }

    fn begin_packet(&mut self) -> Result<()> {
        let header = PacketHeader::parse(&self.header)?;
        if header.kind != PacketType::Prelogin {
            return Err(ProtocolError::UnexpectedMessage(header.kind));
        }
        self.packet_left = usize::from(header.length) - HEADER_BYTES;
        Ok(())
    }
}

/// Returns whether `byte` begins a TLS record: change cipher spec, alert, handshake, application
/// data.
const fn is_tls_record(byte: u8) -> bool {
    matches!(byte, 0x14..=0x17)
}
