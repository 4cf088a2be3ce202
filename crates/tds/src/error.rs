//! `ProtocolError`: violations of the protocol in bytes from the network.
//!
//! Every reader of this crate returns a value or one of these errors, whatever the bytes are. A
//! protocol error means that the peer does not speak TDS as specified; a mistake in SQL is a
//! [`types::Error`].

use std::fmt;

use crate::packet::PacketType;

/// The result of a function that reads bytes from the peer.
pub type Result<T, E = ProtocolError> = std::result::Result<T, E>;

/// A violation of [MS-TDS] by the peer, or a part of TDS that this crate does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The message ends inside a field.
    Truncated,
    /// A packet header with a type that no client sends (2.2.3.1.1).
    UnknownPacketType(u8),
    /// A packet shorter than its header or longer than the largest packet (2.2.3.1.3).
    PacketLength(u16),
    /// A packet id that neither repeats nor follows the one before (2.2.3.1.5).
    PacketOrder {
        /// The id that should follow.
        expected: u8,
        /// The id in the header.
        actual: u8,
    },
    /// A packet of another type before the end of the message.
    MixedMessage {
        /// The type of the message.
        first: PacketType,
        /// The type of the packet that came in between.
        next: PacketType,
    },
    /// A message longer than the limit, in bytes with headers.
    MessageTooLong(u64),
    /// Status bits that exclude each other, as reset and reset-but-keep-transaction do.
    PacketStatus(u8),
    /// A message that is legal, but not at this point of the conversation.
    UnexpectedMessage(PacketType),
    /// A PRELOGIN that cannot be read (2.2.6.5), and why.
    Prelogin(&'static str),
    /// A LOGIN7 that cannot be read (2.2.6.4), and why.
    Login(&'static str),
    /// A TDS version older than 7.1.
    Version(u32),
    /// Request headers that cannot be read (2.2.5.3), and why.
    Headers(&'static str),
    /// An RPC that cannot be read (2.2.6.6), and why.
    Rpc(&'static str),
    /// A data type token that [MS-TDS] does not know (2.2.5.4).
    UnknownType(u8),
    /// A field whose length or precision its type does not allow.
    InvalidLength {
        /// The type or field.
        what: &'static str,
        /// The length, precision or scale that was sent.
        length: u64,
    },
    /// Bytes that are not a value of their type.
    InvalidValue(&'static str),
    /// A transaction manager request that [MS-TDS] does not know (2.2.6.9).
    UnknownTransactionRequest(u16),
    /// A frame of a MARS connection that cannot be read or is not allowed, and why ([MC-SMP]).
    Smp(&'static str),
    /// A token at a place where it is not allowed (2.2.7).
    UnknownToken(u8),
    /// A procedure call with more parameters than this limit (2.2.6.6).
    TooManyParameters(u16),
    /// A feature of TDS that is not supported here, by name.
    Unsupported(&'static str),
}

impl ProtocolError {
    /// Returns the error that is sent to the client before its connection is closed.
    ///
    /// Numbers are those of SQL Server for the same cause: 17828 before login, 8009 for a data
    /// type, 8016 for a length, 8023 for a value, 4002 for the stream itself.
    pub fn to_error(self) -> types::Error {
        let number = match self {
            Self::Prelogin(_) | Self::Login(_) | Self::Version(_) => 17828,
            Self::UnknownType(_) => 8009,
            Self::InvalidLength { .. } => 8016,
            Self::InvalidValue(_) => 8023,
            Self::Rpc(_) => 8004,
            Self::TooManyParameters(max) => {
                return types::Msg::TooManyRpcParameters(i64::from(max)).into();
            }
            Self::Unsupported(_) => 40517,
            Self::UnknownTransactionRequest(_) => 3991,
            Self::Truncated
            | Self::UnknownPacketType(_)
            | Self::PacketLength(_)
            | Self::PacketOrder { .. }
            | Self::MixedMessage { .. }
            | Self::MessageTooLong(_)
            | Self::PacketStatus(_)
            | Self::UnexpectedMessage(_)
            | Self::Headers(_)
            | Self::Smp(_)
            | Self::UnknownToken(_) => 4002,
        };
        types::Error::custom(number, self.severity(), 1, self.to_string())
    }

    /// Returns the severity: 16 if the connection can go on, 20 if it cannot.
    const fn severity(self) -> u8 {
        match self {
            Self::UnknownType(_)
            | Self::InvalidLength { .. }
            | Self::InvalidValue(_)
            | Self::Unsupported(_)
            | Self::TooManyParameters(_)
            | Self::UnknownTransactionRequest(_) => 16,
            Self::Truncated
            | Self::UnknownPacketType(_)
            | Self::PacketLength(_)
            | Self::PacketOrder { .. }
            | Self::MixedMessage { .. }
            | Self::MessageTooLong(_)
            | Self::PacketStatus(_)
            | Self::UnexpectedMessage(_)
            | Self::Prelogin(_)
            | Self::Login(_)
            | Self::Version(_)
            | Self::Headers(_)
            | Self::Rpc(_)
            | Self::Smp(_)
            | Self::UnknownToken(_) => 20,
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => return write!(f, "Clearway does not support {what} yet."),
            Self::TooManyParameters(max) => {
                return write!(f, "{}", types::Msg::TooManyRpcParameters(i64::from(*max)));
            }
            Self::Prelogin(why) => return write!(f, "The prelogin packet is invalid: {why}."),
            Self::Login(why) => return write!(f, "The login packet is invalid: {why}."),
            Self::Version(version) => {
                return write!(
                    f,
                    "TDS version 0x{version:08X} is not supported; use 7.1 or later."
                );
            }
            _ => f.write_str(
                "The incoming tabular data stream (TDS) protocol stream is incorrect. ",
            )?,
        }
        match self {
            Self::Truncated => f.write_str("The stream ended unexpectedly."),
            Self::UnknownPacketType(kind) => write!(f, "Unknown packet type 0x{kind:02X}."),
            Self::PacketLength(length) => write!(f, "Invalid packet length {length}."),
            Self::PacketOrder { expected, actual } => {
                write!(f, "Packet {actual} where packet {expected} was expected.")
            }
            Self::MixedMessage { first, next } => {
                write!(f, "A {next:?} packet inside a {first:?} message.")
            }
            Self::MessageTooLong(max) => write!(f, "The message is longer than {max} bytes."),
            Self::PacketStatus(status) => write!(f, "Invalid packet status 0x{status:02X}."),
            Self::UnexpectedMessage(kind) => write!(f, "A {kind:?} message was not expected."),
            Self::Headers(why) | Self::Rpc(why) | Self::Smp(why) => write!(f, "{why}."),
            Self::UnknownType(token) => write!(f, "Data type 0x{token:02X} is unknown."),
            Self::InvalidLength { what, length } => {
                write!(f, "Data type {what} has an invalid data length or precision ({length}).")
            }
            Self::InvalidValue(what) => {
                write!(f, "The supplied value is not a valid instance of data type {what}.")
            }
            Self::UnknownTransactionRequest(kind) => {
                write!(f, "Transaction manager request {kind} is unknown.")
            }
            Self::UnknownToken(token) => write!(f, "Token 0x{token:02X} is unknown."),
            Self::Unsupported(_)
            | Self::TooManyParameters(_)
            | Self::Prelogin(_)
            | Self::Login(_)
            | Self::Version(_) => Ok(()),
        }
    }
}

impl std::error::Error for ProtocolError {}
