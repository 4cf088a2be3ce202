//! A part of a file, read sequentially in large pieces.

use crate::{Error, Result, Source};

/// Bytes per read of the file.
const PIECE_BYTES: usize = 1 << 20;

/// A buffer over a part of a file: bytes that were read and are not used yet.
pub(crate) struct Window {
    /// The offset of the next read, and the end of the part.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Window {
    pub(crate) const fn new(start: u64, bytes: u64) -> Self {
        Self { at: start, end: start.saturating_add(bytes), buffer: Vec::new(), used: 0 }
    }

    /// Returns whether the whole part has been used.
    pub(crate) const fn is_done(&self) -> bool {
        self.at == self.end && self.used == self.buffer.len()
    }

    /// Returns the buffered bytes: at least `wanted`, unless the part has fewer left.
    pub(crate) fn peek(&mut self, source: &impl Source, wanted: usize) -> Result<&[u8]> {
        let have = self.buffer.len() - self.used;
        if have < wanted && self.at < self.end {
            self.buffer.drain(..self.used);
            self.used = 0;
            let rest = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let more = (wanted - have).max(PIECE_BYTES).min(rest);
            self.buffer.resize(have + more, 0);
            if let Err(error) = source.read_at(self.at, &mut self.buffer[have..]) {
                self.buffer.truncate(have);
                return Err(error.into());
            }
            self.at += u64::try_from(more).unwrap_or(0);
        }
        Ok(&self.buffer[self.used..])
    }

    /// Uses up `bytes` bytes and returns them.
    pub(crate) fn take(&mut self, source: &impl Source, bytes: usize) -> Result<&[u8]> {
        if self.peek(source, bytes)?.len() < bytes {
            return Err(Error::damaged("a page is longer than its column chunk"));
        }
        let start = self.used;
        self.used += bytes;
        Ok(&self.buffer[start..self.used])
    }

    /// Returns the bytes of memory that the buffer holds.
    pub(crate) const fn memory(&self) -> usize {
        self.buffer.capacity()
    }
}
