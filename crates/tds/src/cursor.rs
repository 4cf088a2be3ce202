//! `Cursor`: reads the fields of a message in place, across the packets that it arrived in.
//!
//! A message stays in its receive buffers, packet headers included. The cursor returns borrowed
//! bytes within a packet and skips the headers in between, so that a small request needs no copy
//! and a big value exactly one: from the receive buffers into its own allocation.

use std::borrow::Cow;
use std::sync::Arc;

use types::Bytes;
use types::bytes::INLINE_MAX;

use crate::error::{ProtocolError, Result};
use crate::packet::HEADER_BYTES;

/// A position in a message. A clone is cheap and serves to look ahead.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// The rest of the current packet, as far as it is contiguous in memory.
    piece: &'a [u8],
    /// Payload bytes of the message behind `piece`.
    later: usize,
    /// Payload bytes of this packet behind `piece`, in the next buffer.
    packet_left: usize,
    /// The received bytes behind `piece`, headers included.
    raw: Raw<'a>,
}

/// Received bytes in order: the rest of one buffer, then whole ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) tail: &'a [Box<[u8]>],
}

impl<'a> Raw<'a> {
    /// Moves to the next buffer if `head` is empty and bytes are left.
    fn settle(&mut self) {
        while self.head.is_empty() {
            let Some((first, rest)) = self.tail.split_first() else { return };
            self.head = first;
            self.tail = rest;
        }
    }

    fn take(&mut self, count_max: usize) -> &'a [u8] {
        self.settle();
        let (taken, rest) = self.head.split_at(count_max.min(self.head.len()));
        self.head = rest;
        taken
    }
}

impl<'a> Cursor<'a> {
    /// Returns a cursor over bytes without packet headers.
    pub const fn new(payload: &'a [u8]) -> Self {
        Self { piece: payload, later: 0, packet_left: 0, raw: Raw { head: &[], tail: &[] } }
    }

    /// Returns a cursor over whole packets whose headers have been checked and whose payloads are
    /// `payload_bytes` long together.
    pub(crate) fn over_packets(raw: Raw<'a>, payload_bytes: usize) -> Self {
        let mut cursor = Self { piece: &[], later: payload_bytes, packet_left: 0, raw };
        cursor.fill();
        cursor
    }

    /// Returns the number of bytes left.
    pub const fn remaining(&self) -> usize {
        self.piece.len() + self.later
    }

    /// Returns whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Ends the message `count` bytes further on, unless it ends before that.
    pub fn truncate(&mut self, count: usize) {
        self.piece = &self.piece[..count.min(self.piece.len())];
        self.later = self.later.min(count - self.piece.len());
    }

    /// Returns the rest as one slice, if it is in one packet and one buffer.
    pub fn as_contiguous(&mut self) -> Option<&'a [u8]> {
        self.fill();
        (self.later == 0).then_some(self.piece)
    }

    /// Moves to the next piece if this one is used up.
    #[inline]
    fn fill(&mut self) {
        if self.piece.is_empty() && self.later > 0 {
            self.next_piece();
        }
    }

    #[cold]
    fn next_piece(&mut self) {
        while self.piece.is_empty() && self.later > 0 {
            if self.packet_left == 0 {
                self.packet_left = self.next_packet_payload();
                continue;
            }
            self.piece = self.raw.take(self.packet_left.min(self.later));
            assert!(!self.piece.is_empty(), "a checked message has all bytes its headers announce");
            self.packet_left -= self.piece.len();
            self.later -= self.piece.len();
        }
    }

    /// Reads the next packet header and returns the length of its payload.
    fn next_packet_payload(&mut self) -> usize {
        let mut header = [0; HEADER_BYTES];
        let mut filled = 0;
        while filled < HEADER_BYTES {
            let part = self.raw.take(HEADER_BYTES - filled);
            assert!(!part.is_empty(), "a checked message has whole headers");
            header[filled..filled + part.len()].copy_from_slice(part);
            filled += part.len();
        }
        usize::from(u16::from_be_bytes([header[2], header[3]])) - HEADER_BYTES
    }

    /// Reads `N` bytes into an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        if let Some((taken, rest)) = self.piece.split_first_chunk::<N>() {
            self.piece = rest;
            return Ok(*taken);
        }
        let mut target = [0; N];
        self.copy_to(&mut target)?;
        Ok(target)
    }

    /// Fills `target` with the next bytes, or reads nothing and fails.
    pub fn copy_to(&mut self, target: &mut [u8]) -> Result<()> {
        if target.len() > self.remaining() {
            return Err(ProtocolError::Truncated);
        }
        let mut filled = 0;
        while filled < target.len() {
            self.fill();
            let count = self.piece.len().min(target.len() - filled);
            let (taken, rest) = self.piece.split_at(count);
            target[filled..filled + count].copy_from_slice(taken);
            self.piece = rest;
            filled += count;
        }
        Ok(())
    }

    /// Skips the next `count` bytes.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        if count > self.remaining() {
            return Err(ProtocolError::Truncated);
        }
        let mut left = count;
        while left > 0 {
            self.fill();
            let step = self.piece.len().min(left);
            self.piece = &self.piece[step..];
            left -= step;
        }
        Ok(())
    }

    /// Reads `count` bytes: borrowed within a packet, copied across packets.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<Cow<'a, [u8]>> {
        self.fill();
        if let Some((taken, rest)) = self.piece.split_at_checked(count) {
            self.piece = rest;
            return Ok(Cow::Borrowed(taken));
        }
        if count > self.remaining() {
            return Err(ProtocolError::Truncated);
        }
        let mut target = vec![0; count];
        self.copy_to(&mut target)?;
        Ok(Cow::Owned(target))
    }

    /// Reads `count` bytes into an owned value: one copy, and an allocation only if it is long.
    #[inline]
    pub fn shared(&mut self, count: usize) -> Result<Bytes> {
        self.fill();
        if let Some((taken, rest)) = self.piece.split_at_checked(count) {
            self.piece = rest;
            return Ok(Bytes::copy_from(taken));
        }
        if count > self.remaining() {
            return Err(ProtocolError::Truncated);
        }
        assemble(count, |target| self.copy_to(target))
    }

    /// Reads an unsigned byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Skips `bytes` if they come next, in one packet and one buffer. Returns whether it did.
    #[inline]
    pub(crate) fn skip_same(&mut self, bytes: &[u8]) -> bool {
        self.fill();
        let Some(rest) = self.piece.strip_prefix(bytes) else { return false };
        self.piece = rest;
        true
    }

    /// Returns the bytes between here and `later`, a later position of the same cursor, if they are
    /// in one packet and one buffer.
    pub(crate) fn up_to(&self, later: &Self) -> Option<&'a [u8]> {
        // Moving to another piece changes one of the two counts.
        let is_same_piece = self.later == later.later && self.packet_left == later.packet_left;
        let count = self.piece.len().checked_sub(later.piece.len())?;
        is_same_piece.then(|| &self.piece[..count])
    }

    /// Returns the next byte without moving, `None` at the end.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.fill();
        self.piece.first().copied()
    }

    /// Reads a string of UTF-16LE behind a count of units in one byte (B_VARCHAR, 2.2.5.1.2).
    #[inline]
    pub fn b_varchar(&mut self) -> Result<Cow<'a, [u8]>> {
        let units = self.u8()?;
        self.bytes(usize::from(units) * 2)
    }

    /// Reads a string of UTF-16LE behind a count of units in two bytes (US_VARCHAR, 2.2.5.1.2).
    pub fn us_varchar(&mut self) -> Result<Cow<'a, [u8]>> {
        let units = self.u16()?;
        self.bytes(usize::from(units) * 2)
    }
}

/// Makes a value of `count` bytes that `fill` writes: inline if short, else directly in its shared
/// allocation.
pub(crate) fn assemble(count: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Bytes> {
    if count <= INLINE_MAX {
        let mut target = [0; INLINE_MAX];
        fill(&mut target[..count])?;
        return Ok(Bytes::copy_from(&target[..count]));
    }
    // `repeat_n` has a trusted length: one allocation, zeroed, then filled in place.
    let mut shared: Arc<[u8]> = std::iter::repeat_n(0, count).collect();
    fill(Arc::get_mut(&mut shared).expect("a new Arc has one owner"))?;
    Ok(Bytes::from_shared(shared))
}

/// Declares [`Cursor`]'s readers of integers.
macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $convert:ident;)+) => {
        impl Cursor<'_> {
            $($(#[$doc])*
            #[inline]
            pub fn $name(&mut self) -> Result<$type> {
                self.array().map(<$type>::$convert)
            })+
        }
    };
}

integers! {
    /// Reads two bytes, little-endian.
    u16: u16 = from_le_bytes;
    /// Reads four bytes, little-endian.
    u32: u32 = from_le_bytes;
    /// Reads eight bytes, little-endian.
    u64: u64 = from_le_bytes;
    /// Reads a signed integer of two bytes, little-endian.
    i16: i16 = from_le_bytes;
    /// Reads a signed integer of four bytes, little-endian.
    i32: i32 = from_le_bytes;
    /// Reads a signed integer of eight bytes, little-endian.
    i64: i64 = from_le_bytes;
    /// Reads two bytes, big-endian.
    u16_be: u16 = from_be_bytes;
    /// Reads four bytes, big-endian.
    u32_be: u32 = from_be_bytes;
}
