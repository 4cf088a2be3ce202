//! The packet header: eight bytes before each part of a message ([MS-TDS] 2.2.3).
//!
//! ```text
//!   0      1        2 .. 3     4 .. 5   6        7
//!  type │ status │ length BE │ spid BE │ id     │ window
//! ```

use crate::error::{ProtocolError, Result};

/// The bytes of a packet header.
pub const HEADER_BYTES: usize = 8;
/// The smallest packet size that a client may negotiate, in bytes with header.
pub const PACKET_SIZE_MIN: u16 = 512;
/// The largest packet size that a client may negotiate, in bytes with header.
pub const PACKET_SIZE_MAX: u16 = 32_767;
/// The packet size before login, and for a client that asks for none.
pub const PACKET_SIZE_DEFAULT: u16 = 4_096;

/// The type of a message, in the header of each of its packets ([MS-TDS] 2.2.3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketType {
    /// A batch of SQL text, 1.
    SqlBatch,
    /// Remote procedure calls, 3.
    Rpc,
    /// A server's response, 4.
    Response,
    /// Cancels the running request, 6: a header without a body.
    Attention,
    /// Rows of a bulk load, 7.
    BulkLoad,
    /// A federated authentication token, 8.
    FederatedToken,
    /// A transaction manager request, 14.
    Transaction,
    /// The LOGIN7 message, 16.
    Login7,
    /// An SSPI token, 17.
    Sspi,
    /// PRELOGIN, 18; wraps a TLS handshake too.
    Prelogin,
}

impl PacketType {
    /// Returns the type with this code.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x01 => Self::SqlBatch,
            0x03 => Self::Rpc,
            0x04 => Self::Response,
            0x06 => Self::Attention,
            0x07 => Self::BulkLoad,
            0x08 => Self::FederatedToken,
            0x0E => Self::Transaction,
            0x10 => Self::Login7,
            0x11 => Self::Sspi,
            0x12 => Self::Prelogin,
            _ => return None,
        })
    }

    /// Returns the code on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Self::SqlBatch => 0x01,
            Self::Rpc => 0x03,
            Self::Response => 0x04,
            Self::Attention => 0x06,
            Self::BulkLoad => 0x07,
            Self::FederatedToken => 0x08,
            Self::Transaction => 0x0E,
            Self::Login7 => 0x10,
            Self::Sspi => 0x11,
            Self::Prelogin => 0x12,
        }
    }
}

/// The status byte of a packet header ([MS-TDS] 2.2.3.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u8);

impl Status {
    /// More packets of the message follow.
    pub const NORMAL: Self = Self(0x00);
    /// The last packet of its message.
    pub const END_OF_MESSAGE: Self = Self(0x01);
    /// Together with the end of message: the server shall ignore the message.
    pub const IGNORE: Self = Self(0x02);
    /// Reset the connection before the request is processed.
    pub const RESET_CONNECTION: Self = Self(0x08);
    /// Reset the connection, but keep its transaction.
    pub const RESET_KEEP_TRANSACTION: Self = Self(0x10);

    /// Returns whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bits of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The fields of a packet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// The type of the message.
    pub kind: PacketType,
    /// Status bits of the packet.
    pub status: Status,
    /// The packet's length in bytes, with this header.
    pub length: u16,
    /// The server's session id; clients send 0.
    pub spid: u16,
    /// Counts the packets of a message, modulo 256.
    pub id: u8,
}

impl PacketHeader {
    /// Reads a header and checks its type and length.
    pub const fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self> {
        let [kind, status, l0, l1, s0, s1, id, _window] = *bytes;
        let Some(kind) = PacketType::from_code(kind) else {
            return Err(ProtocolError::UnknownPacketType(kind));
        };
        let length = u16::from_be_bytes([l0, l1]);
        if length < 8 || length > PACKET_SIZE_MAX {
            return Err(ProtocolError::PacketLength(length));
        }
        let spid = u16::from_be_bytes([s0, s1]);
        Ok(Self { kind, status: Status(status), length, spid, id })
    }

    /// Returns the header's bytes.
    pub const fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [l0, l1] = self.length.to_be_bytes();
        let [s0, s1] = self.spid.to_be_bytes();
        [self.kind.code(), self.status.0, l0, l1, s0, s1, self.id, 0]
    }
}

/// Returns the packet size for the one asked for in LOGIN7: 0 means the default; any other is
/// limited to the legal range.
pub fn negotiated_packet_size(requested: u32) -> u16 {
    if requested == 0 {
        return PACKET_SIZE_DEFAULT;
    }
    let largest = u16::try_from(requested).unwrap_or(PACKET_SIZE_MAX);
    largest.clamp(PACKET_SIZE_MIN, PACKET_SIZE_MAX)
}

/// How a client opens the connection, by the first byte that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// PRELOGIN: TDS 7.2 to 7.4; TLS, if any, inside the packets.
    Prelogin,
    /// A TLS record: TDS 8.0, everything inside TLS.
    Tls,
    /// LOGIN7 without PRELOGIN: TDS 7.1 as jTDS speaks it, plain text.
    Login7,
    /// Not TDS; the byte that came.
    Unknown(u8),
}

impl Opening {
    /// Returns how a connection opens, given its first byte.
    pub const fn of(first_byte: u8) -> Self {
        match first_byte {
            0x12 => Self::Prelogin,
            0x16 => Self::Tls,
            0x10 => Self::Login7,
            other => Self::Unknown(other),
        }
    }
}
