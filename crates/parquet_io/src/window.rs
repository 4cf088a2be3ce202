//! A part of a file, read from front to back in large pieces.

use crate::{Error, Result, Source};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// What of a part of a file has been read and not yet been used.
pub(crate) struct Window {
    /// Where the next piece begins, and where the part ends.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Window {
    pub(crate) const fn new(start: u64, bytes: u64) -> Self {
        Self { at: start, end: start.saturating_add(bytes), buffer: Vec::new(), used: 0 }
    }

    /// Tells whether all of it has been used.
    pub(crate) const fn is_done(&self) -> bool {
        self.at == self.end && self.used == self.buffer.len()
    }

    /// Returns what is at hand, at least `wanted` bytes if there are as many.
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

    /// Takes so many bytes.
    pub(crate) fn take(&mut self, source: &impl Source, bytes: usize) -> Result<&[u8]> {
        if self.peek(source, bytes)?.len() < bytes {
            return Err(Error::damaged("a page is longer than its column chunk"));
        }
        let start = self.used;
        self.used += bytes;
        Ok(&self.buffer[start..self.used])
    }

    /// Bytes of memory that it holds.
    pub(crate) const fn memory(&self) -> usize {
        self.buffer.capacity()
    }
}
