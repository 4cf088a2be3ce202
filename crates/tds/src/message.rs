//! `MessageReader`: assembles messages from bytes as they arrive.
//!
//! The caller receives into a buffer that many connections share and feeds the bytes to the reader.
//! A message that is whole in that buffer is returned in place, without a copy and without memory
//! for this connection. Only a message that arrives in several receives is kept. The caller may
//! then receive directly behind the kept part (`spare`), so that a big message is not copied
//! either.
//!
//! ```text
//!   feed(bytes) ─► headers checked ─┬─ whole message ──────────► Step::Message, borrowed
//!                                   ├─ bulk load, a part ──────► Step::BulkPart, borrowed
//!                                   ├─ cancelled by its sender ► Step::Cancelled
//!                                   └─ more to come ───────────► kept, Step::NeedMore
//! ```

use crate::cursor::{Cursor, Raw};
use crate::error::{ProtocolError, Result};
use crate::packet::{HEADER_BYTES, PacketHeader, PacketType, Status};

/// The longest message before login, in bytes with headers: PRELOGIN and LOGIN7 are short.
pub const LOGIN_MESSAGE_BYTES_MAX: u64 = 128 * 1024;
/// The longest message after login unless configured: a `(max)` value has up to 2 GB.
pub const MESSAGE_BYTES_MAX: u64 = 1 << 31;
/// The size of the first buffer of a message that does not come whole, in bytes.
const CHUNK_BYTES_MIN: usize = 16 * 1024;
/// The size that further buffers grow to, in bytes.
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// The reset that a message asks for before it is processed ([MS-TDS] 2.2.3.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reset {
    /// The session stays as it is.
    #[default]
    No,
    /// Reset the whole session.
    Session,
    /// Reset the session, but keep its transaction.
    KeepTransaction,
}

/// A whole message: its type, the reset that it asks for, and its payload.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The type of the message.
    pub kind: PacketType,
    /// The reset to do first; always `No` for types that cannot ask for one.
    pub reset: Reset,
    /// The payload, without packet headers.
    pub body: Cursor<'a>,
}

/// The result of feeding bytes.
#[derive(Clone, Debug)]
pub enum Step<'a> {
    /// No message is complete.
    NeedMore,
    /// A message, which may be an attention. An attention in the middle of another message discards
    /// that one.
    Message(Message<'a>),
    /// A message that its sender cancelled half-way (end of message with the ignore bit), or that
    /// the reader was told to skip.
    Cancelled(PacketType),
    /// Whole packets of a bulk load; such a message is returned in parts, however long it is.
    BulkPart {
        /// The payload of the part.
        body: Cursor<'a>,
        /// Whether the message ends here.
        last: bool,
    },
}

/// Assembles the messages of one connection.
#[derive(Debug)]
pub struct MessageReader {
    scan: Scan,
    /// Received bytes of the message in progress, or of the one last returned; all chunks but the
    /// last are full.
    chunks: Vec<Box<[u8]>>,
    /// Bytes in use of the last chunk.
    last_filled: usize,
    /// Whether the chunks have been returned to the caller and are released by the next call.
    delivered: bool,
    /// Bytes behind the last message that a receive into `spare` read as well.
    leftover: Vec<u8>,
    /// Whether the message in progress is skipped instead of kept.
    skipping: bool,
    message_bytes_max: u64,
}

/// The position in a message, by its packet headers.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// The header in progress, and how many of its bytes have arrived.
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    /// The packet in progress, and its payload bytes that have not arrived.
    packet: Option<PacketHeader>,
    packet_left: usize,
    /// The first header of the message in progress.
    first: Option<PacketHeader>,
    /// The id of the packet before this one.
    last_id: u8,
    /// Bytes of the message (of the part, for a bulk load) so far, with headers.
    message_bytes: u64,
    /// The same without headers.
    payload_bytes: usize,
}

/// The end of a message or part: its first header, the length of its payload, and how it ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    first: PacketHeader,
    payload_bytes: usize,
    how: End,
}

/// How a packet ends the message before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Message,
    BulkPart,
    Cancelled,
    Attention,
}

impl Default for MessageReader {
    fn default() -> Self {
        Self::new()
    }
}

impl MessageReader {
    /// Returns a reader with the limits for messages before login.
    pub fn new() -> Self {
        Self {
            scan: Scan::default(),
            chunks: Vec::new(),
            last_filled: 0,
            delivered: false,
            leftover: Vec::new(),
            skipping: false,
            message_bytes_max: LOGIN_MESSAGE_BYTES_MAX,
        }
    }

    /// Sets the longest message accepted from now on, in bytes with headers. For a bulk load it
    /// limits each part, not the whole.
    pub const fn set_message_bytes_max(&mut self, bytes_max: u64) {
        self.message_bytes_max = bytes_max;
    }

    /// Returns whether a message has begun and not ended, so that the caller can apply a timeout.
    pub const fn is_mid_message(&self) -> bool {
        self.scan.first.is_some() || self.scan.header_filled > 0
    }

    /// Returns whether bytes behind the last message are kept that have not been read: call
    /// [`Self::feed`], with empty input if nothing has arrived.
    pub const fn has_leftover(&self) -> bool {
        !self.leftover.is_empty()
    }

    /// Returns the memory that this reader holds, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum::<usize>() + self.leftover.capacity()
    }

    /// Frees the memory of the message last returned. Every other call does so first.
    pub fn release(&mut self) {
        if self.delivered {
            self.delivered = false;
            self.chunks = Vec::new();
            self.last_filled = 0;
        }
    }

    /// Drops the kept part of the message in progress and skips the rest: for a message that does
    /// not fit into memory. It ends as [`Step::Cancelled`].
    pub fn skip_message(&mut self) {
        self.release();
        if self.is_mid_message() {
            self.skipping = true;
            self.chunks = Vec::new();
            self.last_filled = 0;
        }
    }

    /// Takes received bytes. Returns how many of them were used, and the result.
    ///
    /// If not all were used, call again with the rest after the message has been processed. After a
    /// message that was received into [`Self::spare`], call once with empty input: the receive may
    /// have read the next message as well.
    pub fn feed<'a>(&'a mut self, input: &'a [u8]) -> Result<(usize, Step<'a>)> {
        self.release();
        if let Some(ended) = self.take_leftover()? {
            return Ok((0, self.deliver_kept(ended)));
        }
        let (used, ended) = self.scan.run(input, self.message_bytes_max)?;
        let Some(ended) = ended else {
            self.keep(&input[..used]);
            return Ok((used, Step::NeedMore));
        };
        if std::mem::take(&mut self.skipping) {
            return Ok((used, ended.skipped()));
        }
        if self.chunks.is_empty() {
            return Ok((used, ended.step(Raw { head: &input[..used], tail: &[] })));
        }
        self.keep(&input[..used]);
        Ok((used, self.deliver_kept(ended)))
    }

    /// Returns the buffer to receive into next while part of a message is kept. `None` if no part
    /// is: then receive into any shared buffer and call [`Self::feed`].
    pub fn spare(&mut self) -> Option<&mut [u8]> {
        self.release();
        if self.chunks.is_empty() || !self.leftover.is_empty() {
            return None;
        }
        self.grow_if_full();
        self.chunks.last_mut().map(|chunk| &mut chunk[self.last_filled..])
    }

    /// Takes `count` bytes that were received into [`Self::spare`].
    pub fn received(&mut self, count: usize) -> Result<Step<'_>> {
        let Some(chunk) = self.chunks.last() else { return Ok(Step::NeedMore) };
        let input = &chunk[self.last_filled..self.last_filled + count];
        let (used, ended) = self.scan.run(input, self.message_bytes_max)?;
        self.leftover.extend_from_slice(&input[used..]);
        self.last_filled += used;
        Ok(ended.map_or(Step::NeedMore, |ended| self.deliver_kept(ended)))
    }

    /// Reads the bytes behind the last message, and keeps those of the next one.
    fn take_leftover(&mut self) -> Result<Option<Ended>> {
        if self.leftover.is_empty() {
            return Ok(None);
        }
        let input = std::mem::take(&mut self.leftover);
        let (used, ended) = self.scan.run(&input, self.message_bytes_max)?;
        self.keep(&input[..used]);
        self.leftover = input[used..].to_vec();
        Ok(ended)
    }

    fn deliver_kept(&mut self, ended: Ended) -> Step<'_> {
        self.delivered = true;
        ended.step(Raw { head: &[], tail: &self.chunks })
    }

    fn keep(&mut self, mut bytes: &[u8]) {
        if self.skipping {
            return;
        }
        while !bytes.is_empty() {
            self.grow_if_full();
            let Some(chunk) = self.chunks.last_mut() else { return };
            let count = bytes.len().min(chunk.len() - self.last_filled);
            let (now, rest) = bytes.split_at(count);
            chunk[self.last_filled..self.last_filled + count].copy_from_slice(now);
            self.last_filled += count;
            bytes = rest;
        }
    }

    /// Adds a chunk if the last is full: as large as all before it together, within bounds.
    fn grow_if_full(&mut self) {
        let is_full = self.chunks.last().is_none_or(|chunk| chunk.len() == self.last_filled);
        if is_full {
            let held: usize = self.chunks.iter().map(|chunk| chunk.len()).sum();
            let size = held.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
            self.chunks.push(vec![0; size].into_boxed_slice());
            self.last_filled = 0;
        }
    }
}

impl Ended {
    /// Returns the result for a message that was skipped.
    fn skipped(&self) -> Step<'static> {
        match self.how {
            End::Attention => Self { payload_bytes: 0, ..*self }.step(Raw { head: &[], tail: &[] }),
            End::Message | End::BulkPart | End::Cancelled => Step::Cancelled(self.first.kind),
        }
    }

    fn step<'a>(&self, raw: Raw<'a>) -> Step<'a> {
        let body = Cursor::over_packets(raw, self.payload_bytes);
        match self.how {
            End::Message if self.first.kind == PacketType::BulkLoad => {
                Step::BulkPart { body, last: true }
            }
            End::BulkPart => Step::BulkPart { body, last: false },
            End::Cancelled => Step::Cancelled(self.first.kind),
            End::Attention => Step::Message(Message {
                kind: PacketType::Attention,
                reset: Reset::No,
                body: Cursor::new(&[]),
            }),
            End::Message => {
                Step::Message(Message { kind: self.first.kind, reset: self.reset(), body })
            }
        }
    }

    /// Reads the reset bits, which are valid on the first packet of three types of requests only.
    fn reset(&self) -> Reset {
        let may_reset = matches!(
            self.first.kind,
            PacketType::SqlBatch | PacketType::Rpc | PacketType::Transaction
        );
        if !may_reset {
            return Reset::No;
        }
        if self.first.status.has(Status::RESET_CONNECTION) {
            return Reset::Session;
        }
        if self.first.status.has(Status::RESET_KEEP_TRANSACTION) {
            return Reset::KeepTransaction;
        }
        Reset::No
    }
}

impl Scan {
    /// Scans `input` up to the end of a message or part; returns the number of bytes scanned.
    fn run(&mut self, input: &[u8], bytes_max: u64) -> Result<(usize, Option<Ended>)> {
        let mut rest = input;
        loop {
            if self.packet.is_none() && !self.read_header(&mut rest, bytes_max)? {
                return Ok((input.len(), None));
            }
            let step = self.packet_left.min(rest.len());
            self.packet_left -= step;
            rest = &rest[step..];
            if self.packet_left > 0 {
                return Ok((input.len(), None));
            }
            if let Some(ended) = self.end_packet() {
                return Ok((input.len() - rest.len(), Some(ended)));
            }
        }
    }

    /// Reads header bytes; returns whether the header is complete.
    fn read_header(&mut self, rest: &mut &[u8], bytes_max: u64) -> Result<bool> {
        let count = rest.len().min(HEADER_BYTES - self.header_filled);
        let (now, later) = rest.split_at(count);
        self.header[self.header_filled..self.header_filled + count].copy_from_slice(now);
        self.header_filled += count;
        *rest = later;
        if self.header_filled < HEADER_BYTES {
            return Ok(false);
        }
        self.header_filled = 0;
        let header = PacketHeader::parse(&self.header)?;
        self.begin_packet(header, bytes_max)?;
        Ok(true)
    }

    fn begin_packet(&mut self, header: PacketHeader, bytes_max: u64) -> Result<()> {
        let payload = usize::from(header.length) - HEADER_BYTES;
        if header.kind == PacketType::Attention {
            if payload > 0 {
                return Err(ProtocolError::PacketLength(header.length));
            }
        } else {
            self.check_packet(header)?;
            self.first.get_or_insert(header);
            self.last_id = header.id;
            self.message_bytes += u64::from(header.length);
            self.payload_bytes += payload;
            if self.message_bytes > bytes_max {
                return Err(ProtocolError::MessageTooLong(bytes_max));
            }
        }
        self.packet = Some(header);
        self.packet_left = payload;
        Ok(())
    }

    /// Checks a packet against its message: the same type, and the next id. FreeTDS and jTDS give
    /// every packet id 1, so an unchanged id is accepted as well.
    fn check_packet(&self, header: PacketHeader) -> Result<()> {
        let status = header.status;
        let both = Status::RESET_CONNECTION.with(Status::RESET_KEEP_TRANSACTION);
        let ignored_midway = status.has(Status::IGNORE) && !status.has(Status::END_OF_MESSAGE);
        if status.has(both) || ignored_midway {
            return Err(ProtocolError::PacketStatus(status.0));
        }
        let Some(first) = self.first else { return Ok(()) };
        if header.kind != first.kind {
            return Err(ProtocolError::MixedMessage { first: first.kind, next: header.kind });
        }
        let expected = self.last_id.wrapping_add(1);
        if header.id != expected && header.id != self.last_id {
            return Err(ProtocolError::PacketOrder { expected, actual: header.id });
        }
        Ok(())
    }

    /// Ends the packet. Returns the end of the message or part, if the packet is its last.
    fn end_packet(&mut self) -> Option<Ended> {
        let packet = self.packet.take()?;
        let how = if packet.kind == PacketType::Attention {
            End::Attention
        } else if packet.status.has(Status::END_OF_MESSAGE.with(Status::IGNORE)) {
            End::Cancelled
        } else if packet.status.has(Status::END_OF_MESSAGE) {
            End::Message
        } else if packet.kind == PacketType::BulkLoad {
            End::BulkPart
        } else {
            return None;
        };
        let first = self.first.unwrap_or(packet);
        let ended = Ended { first, payload_bytes: self.payload_bytes, how };
        self.message_bytes = 0;
        self.payload_bytes = 0;
        if how != End::BulkPart {
            self.first = None;
        }
        Some(ended)
    }
}
