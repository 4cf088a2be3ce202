//! `TokenStream`: decodes the tokens of a response while it is still arriving, so that a long
//! result need not fit into memory.

use super::token::{Token, TokenReader};
use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::packet::{HEADER_BYTES, PacketHeader, PacketType, Status};
use crate::version::TdsVersion;
use crate::wire_type::WireType;

/// Length of payload above which an incomplete token is tried again only when a quarter has been
/// added: otherwise a value of many megabytes would be read from its start with each packet.
const EAGER_BYTES: usize = 1 << 20;

/// Takes packets as they arrive and returns tokens as soon as they are complete.
#[derive(Clone, Debug)]
pub struct TokenStream {
    version: TdsVersion,
    /// The columns of the current result.
    columns: Vec<WireType>,
    /// The header in progress, and the payload bytes of its packet that have not arrived.
    header: Vec<u8>,
    packet_left: usize,
    is_last: bool,
    /// Payload; tokens before `read` have been returned.
    payload: Vec<u8>,
    read: usize,
    /// The least payload that may hold the whole next token.
    wanted: usize,
}

impl TokenStream {
    /// Returns a stream before a response.
    pub const fn new(version: TdsVersion) -> Self {
        Self {
            version,
            columns: Vec::new(),
            header: Vec::new(),
            packet_left: 0,
            is_last: false,
            payload: Vec::new(),
            read: 0,
            wanted: 0,
        }
    }

    /// Takes received bytes: packets of one response, in any pieces.
    ///
    /// # Errors
    /// If they are not packets of a response.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.payload.drain(..self.read);
        self.read = 0;
        while !bytes.is_empty() {
            if self.packet_left > 0 {
                let (now, later) = bytes.split_at(bytes.len().min(self.packet_left));
                self.payload.extend_from_slice(now);
                self.packet_left -= now.len();
                bytes = later;
                continue;
            }
            let (now, later) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.header.len()));
            self.header.extend_from_slice(now);
            bytes = later;
            if let Some(header) = self.header.first_chunk::<HEADER_BYTES>() {
                let header = PacketHeader::parse(header)?;
                if header.kind != PacketType::Response {
                    return Err(ProtocolError::UnexpectedMessage(header.kind));
                }
                self.packet_left = usize::from(header.length) - HEADER_BYTES;
                self.is_last = header.status.has(Status::END_OF_MESSAGE);
                self.header.clear();
            }
        }
        Ok(())
    }

    /// Returns whether all of the response has been fed.
    pub const fn is_complete(&self) -> bool {
        self.is_last && self.packet_left == 0
    }

    /// Reads the next token; `None` until more is fed, or at the end of the response.
    ///
    /// # Errors
    /// If the bytes are no token, or the response ends in the middle of one.
    pub fn next_token(&mut self) -> Result<Option<Token>> {
        let rest = &self.payload[self.read..];
        if rest.is_empty() || rest.len() < self.wanted && !self.is_complete() {
            return Ok(None);
        }
        let columns = std::mem::take(&mut self.columns);
        let mut reader = TokenReader::resume(Cursor::new(rest), self.version, columns);
        let found = reader.next_token();
        let (left, columns) = reader.into_rest();
        // Columns that were read in part are read again.
        self.columns = columns;
        match found {
            Ok(token) => {
                self.read = self.payload.len() - left;
                self.wanted = 0;
                Ok(token)
            }
            Err(ProtocolError::Truncated) if !self.is_complete() => {
                let is_long = rest.len() > EAGER_BYTES;
                self.wanted = if is_long { rest.len() + rest.len() / 4 } else { 0 };
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Prepares for the next response.
    pub fn reset(&mut self) {
        *self = Self::new(self.version);
    }
}
