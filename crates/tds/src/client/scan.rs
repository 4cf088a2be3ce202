//! `DoneScanner`: finds the end of a response without decoding it.
//!
//! Every response ends with a DONE token, which has a fixed size; so the end-of-message bit in a
//! packet header and the last 13 bytes are all that a load generator needs.

use crate::error::{ProtocolError, Result};
use crate::packet::{HEADER_BYTES, PacketHeader, PacketType, Status};
use crate::response::{DoneStatus, token};
use crate::version::TdsVersion;

/// The length of a DONE token from 7.2 on, and before.
const DONE_BYTES: usize = 13;
const DONE_BYTES_OLD: usize = 9;

/// The last DONE of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalDone {
    /// Status bits of the last DONE.
    pub status: DoneStatus,
    /// The row count of the last DONE.
    pub row_count: u64,
    /// The length of the response in bytes, with headers.
    pub bytes: u64,
}

/// Finds the end of responses.
#[derive(Clone, Debug)]
pub struct DoneScanner {
    done_bytes: usize,
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    packet_left: usize,
    is_last: bool,
    /// The last payload bytes, the newest at the end.
    tail: [u8; DONE_BYTES],
    bytes: u64,
}

impl DoneScanner {
    /// Returns a scanner before a response.
    pub const fn new(version: TdsVersion) -> Self {
        Self {
            done_bytes: if version.has_wide_fields() { DONE_BYTES } else { DONE_BYTES_OLD },
            header: [0; HEADER_BYTES],
            header_filled: 0,
            packet_left: 0,
            is_last: false,
            tail: [0; DONE_BYTES],
            bytes: 0,
        }
    }

    /// Takes received bytes. Returns how many were used, and the end of the response if it is among
    /// them.
    pub fn feed(&mut self, input: &[u8]) -> Result<(usize, Option<FinalDone>)> {
        let mut rest = input;
        loop {
            if self.packet_left == 0 {
                if self.is_last {
                    return Ok((input.len() - rest.len(), Some(self.finish()?)));
                }
                let count = rest.len().min(HEADER_BYTES - self.header_filled);
                let (now, later) = rest.split_at(count);
                self.header[self.header_filled..self.header_filled + count].copy_from_slice(now);
                self.header_filled += count;
                rest = later;
                if self.header_filled < HEADER_BYTES {
                    return Ok((input.len(), None));
                }
                self.begin_packet()?;
                continue;
            }
            if rest.is_empty() {
                return Ok((input.len(), None));
            }
            let (now, later) = rest.split_at(rest.len().min(self.packet_left));
            self.packet_left -= now.len();
            self.remember(now);
            rest = later;
        }
    }

    fn begin_packet(&mut self) -> Result<()> {
        let header = PacketHeader::parse(&self.header)?;
        if header.kind != PacketType::Response {
            return Err(ProtocolError::UnexpectedMessage(header.kind));
        }
        self.header_filled = 0;
        self.packet_left = usize::from(header.length) - HEADER_BYTES;
        self.is_last = header.status.has(Status::END_OF_MESSAGE);
        self.bytes += u64::from(header.length);
        Ok(())
    }

    fn remember(&mut self, payload: &[u8]) {
        let kept = payload.len().min(DONE_BYTES);
        self.tail.copy_within(kept.., 0);
        self.tail[DONE_BYTES - kept..].copy_from_slice(&payload[payload.len() - kept..]);
    }

    fn finish(&mut self) -> Result<FinalDone> {
        let done = &self.tail[DONE_BYTES - self.done_bytes..];
        if !matches!(done[0], token::DONE | token::DONE_PROC | token::DONE_IN_PROC) {
            return Err(ProtocolError::UnknownToken(done[0]));
        }
        let mut count = [0; 8];
        count[..self.done_bytes - 5].copy_from_slice(&done[5..]);
        let end = FinalDone {
            status: DoneStatus(u16::from_le_bytes([done[1], done[2]])),
            row_count: u64::from_le_bytes(count),
            bytes: self.bytes,
        };
        self.is_last = false;
        self.bytes = 0;
        Ok(end)
    }
}
