//! `ResponseWriter`: cuts tokens into packets as they are written.
//!
//! Bytes are written directly to the send buffer: room is left for packet headers, which are filled
//! in when a packet is full, so nothing is copied twice. A small response is one buffer, one
//! packet, one send. A big value is not copied at all: it is kept by reference and sent from its
//! own memory.
//!
//! ```text
//!   buffer   [header│tokens ......][header│tok] [en ...][header│...
//!   pieces    own ────────────────────────────┘└ shared ┘└ own ───
//! ```
//!
//! A packet is closed when the next byte does not fit, not when it is full, so that the last packet
//! is never empty. Closed packets may be sent before the response ends.

use std::io::IoSlice;
use std::ops::Range;

use types::Bytes;

use crate::packet::{HEADER_BYTES, PACKET_SIZE_DEFAULT, PacketHeader, PacketType, Status};
use crate::sink::Sink;
use crate::version::TdsVersion;

/// A value of at least this length is sent by reference, in bytes. Below, a copy costs less than
/// one more slice for the kernel to gather.
pub const SHARED_BYTES_MIN: usize = 16 * 1024;

/// The packet settings that a connection has negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireSettings {
    /// The TDS version in use.
    pub version: TdsVersion,
    /// The packet size in bytes, with header.
    pub packet_size: u16,
    /// The session's id, in every header.
    pub spid: u16,
}

impl Default for WireSettings {
    fn default() -> Self {
        Self { version: TdsVersion::V7_4, packet_size: PACKET_SIZE_DEFAULT, spid: 0 }
    }
}

/// Encodes one response after the other into packets. One writer can serve many connections, one
/// response at a time.
///
/// Calls for a response: `begin`, tokens, `finish`; at any time `slices` to send, and `consume`.
#[derive(Debug, Default)]
pub struct ResponseWriter {
    settings: WireSettings,
    buffer: Vec<u8>,
    /// The pieces that are sent before `buffer[own_start..]`; empty unless a value is sent by
    /// reference.
    pieces: Vec<Piece>,
    own_start: usize,
    /// Offset of the open packet's header in `buffer`.
    header_at: Option<usize>,
    /// Bytes that still fit into the open packet; 0 if none is open.
    room: usize,
    packet_id: u8,
    /// How many of `pieces` belong to closed packets.
    pieces_closed: usize,
    /// The end of closed packets in `buffer[own_start..]`, unless open pieces come before it.
    own_closed: usize,
    /// Bytes of closed packets, and how many of them have been sent.
    closed_bytes: usize,
    sent_bytes: usize,
}

/// A part of the bytes to send, in the buffer or by reference.
#[derive(Debug)]
enum Piece {
    Own(Range<usize>),
    Shared(Bytes, Range<usize>),
}

impl ResponseWriter {
    /// Returns an empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a response for a connection with these settings.
    ///
    /// Panics unless the previous response has been sent or discarded.
    pub fn begin(&mut self, settings: WireSettings) {
        assert!(self.buffer.is_empty(), "the response before has been sent or discarded");
        self.settings = settings;
        self.packet_id = 0;
    }

    /// Returns the settings of the response.
    pub const fn settings(&self) -> WireSettings {
        self.settings
    }

    /// Ends the response: closes its last packet with the end-of-message bit.
    ///
    /// Panics on a response without a token, which TDS does not have.
    pub fn finish(&mut self) {
        assert!(self.header_at.is_some(), "a response ends with a DONE");
        self.close(Status::END_OF_MESSAGE);
    }

    /// Closes the open packet although it is not full, so that everything so far can be sent:
    /// before a long wait in the middle of a response.
    pub fn flush(&mut self) {
        self.close(Status::NORMAL);
    }

    /// Drops everything that has not been sent, to end a connection or to answer with something
    /// else.
    pub fn discard(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        let pieces = std::mem::take(&mut self.pieces);
        *self = Self { settings: self.settings, buffer, pieces, ..Self::default() };
        self.buffer.clear();
        self.pieces.clear();
    }

    /// Frees memory if the buffer has grown beyond `bytes_max` and is empty.
    pub fn shrink_to(&mut self, bytes_max: usize) {
        if self.buffer.is_empty() && self.buffer.capacity() > bytes_max {
            self.buffer = Vec::new();
        }
    }

    /// Returns the number of bytes of closed packets that have not been sent.
    pub const fn sendable_bytes(&self) -> usize {
        self.closed_bytes - self.sent_bytes
    }

    /// Returns the bytes to send as one slice; `None` if values are sent by reference.
    pub fn as_single(&self) -> Option<&[u8]> {
        self.pieces.is_empty().then(|| &self.buffer[self.sent_bytes..self.own_closed])
    }

    /// Fills `target` with the bytes to send, in order; returns the number of slices used. There
    /// may be more than fit: send, call [`Self::consume`], and call this again.
    pub fn slices<'a>(&'a self, target: &mut [IoSlice<'a>]) -> usize {
        let mut skip = self.sent_bytes;
        let mut used = 0;
        let own_end = if self.pieces_closed == self.pieces.len() { self.own_closed } else { 0 };
        let last = self.buffer.get(self.own_start..own_end).unwrap_or(&[]);
        let closed = self.pieces[..self.pieces_closed].iter().map(|piece| match piece {
            Piece::Own(range) => &self.buffer[range.clone()],
            Piece::Shared(bytes, range) => &bytes[range.clone()],
        });
        for slice in closed.chain(std::iter::once(last)) {
            if slice.len() <= skip {
                skip -= slice.len();
                continue;
            }
            let Some(place) = target.get_mut(used) else { break };
            *place = IoSlice::new(&slice[skip..]);
            skip = 0;
            used += 1;
        }
        used
    }

    /// Appends all bytes to send to `target`, and takes them for sent.
    pub fn move_to(&mut self, target: &mut Vec<u8>) {
        while self.sendable_bytes() > 0 {
            let mut pieces = [IoSlice::new(&[]); 16];
            let count = self.slices(&mut pieces);
            let pieces = &pieces[..count];
            pieces.iter().for_each(|piece| target.extend_from_slice(piece));
            let moved = pieces.iter().map(|piece| piece.len()).sum();
            self.consume(moved);
        }
    }

    /// Records that `count` bytes of [`Self::slices`] have been sent. Once all have, their memory
    /// is used again.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.sendable_bytes(), "no more is sent than there is");
        self.sent_bytes += count;
        if self.sendable_bytes() > 0 {
            return;
        }
        self.closed_bytes = 0;
        self.sent_bytes = 0;
        match self.header_at {
            None => {
                self.buffer.clear();
                self.pieces.clear();
                self.own_start = 0;
            }
            Some(open_at) => self.drop_before(open_at),
        }
        self.pieces_closed = 0;
        self.own_closed = 0;
    }

    /// Drops everything before the open packet.
    fn drop_before(&mut self, open_at: usize) {
        self.pieces.drain(..self.pieces_closed);
        self.buffer.drain(..open_at);
        for piece in &mut self.pieces {
            if let Piece::Own(range) = piece {
                *range = range.start - open_at..range.end - open_at;
            }
        }
        self.own_start = self.own_start.max(open_at) - open_at;
        self.header_at = Some(0);
    }

    /// Closes the open packet, if one is, and opens the next.
    #[cold]
    fn next_packet(&mut self) {
        if self.header_at.is_some() {
            self.close(Status::NORMAL);
        }
        self.header_at = Some(self.buffer.len());
        self.buffer.extend_from_slice(&[0; HEADER_BYTES]);
        self.room = usize::from(self.settings.packet_size) - HEADER_BYTES;
    }

    /// Fills in the open packet's header.
    fn close(&mut self, status: Status) {
        let Some(at) = self.header_at.take() else { return };
        self.packet_id = self.packet_id.wrapping_add(1);
        let bytes = usize::from(self.settings.packet_size) - self.room;
        let header = PacketHeader {
            kind: PacketType::Response,
            status,
            length: u16::try_from(bytes).expect("a packet is not longer than its size"),
            spid: self.settings.spid,
            id: self.packet_id,
        };
        self.buffer[at..at + HEADER_BYTES].copy_from_slice(&header.to_bytes());
        self.closed_bytes += bytes;
        self.room = 0;
        if !self.pieces.is_empty() {
            self.cut(self.buffer.len());
        }
        self.pieces_closed = self.pieces.len();
        self.own_closed = self.buffer.len();
    }

    /// Turns bytes of the buffer up to `end` into a piece.
    fn cut(&mut self, end: usize) {
        if self.own_start < end {
            self.pieces.push(Piece::Own(self.own_start..end));
            self.own_start = end;
        }
    }

    #[cold]
    fn put_across(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.room == 0 {
                self.next_packet();
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.room));
            self.buffer.extend_from_slice(now);
            self.room -= now.len();
            bytes = later;
        }
    }

    /// Queues a value by reference, cut at packet ends.
    fn put_by_reference(&mut self, bytes: &Bytes) {
        let mut start = 0;
        while start < bytes.len() {
            if self.room == 0 {
                self.next_packet();
            }
            if self.pieces_closed == self.pieces.len() {
                // Closed and open packets must not share a piece.
                let closed_end = self.own_closed.max(self.own_start);
                self.cut(closed_end);
                self.pieces_closed = self.pieces.len();
            }
            self.cut(self.buffer.len());
            let end = bytes.len().min(start + self.room);
            self.pieces.push(Piece::Shared(bytes.clone(), start..end));
            self.room -= end - start;
            start = end;
        }
    }
}

impl Sink for ResponseWriter {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > self.room {
            return self.put_across(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        self.room -= bytes.len();
    }

    fn put_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARED_BYTES_MIN || bytes.as_shared().is_none() {
            return self.put(bytes);
        }
        self.put_by_reference(bytes);
    }
}
