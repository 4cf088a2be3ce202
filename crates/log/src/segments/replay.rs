//! `Replay`: hands out the groups of a log from a position on, for recovery.
//!
//! ```text
//! while let Some(mut group) = replay.next_group()? {
//!     while let Some(batch) = group.next_batch()? { /* Records::new(batch.payload, nesting) */ }
//! }
//! ```
//!
//! Records are read where they are, in the buffer of their batch. Work on several threads takes the
//! batches with their buffers: [`Group::take_batch`].

use std::sync::Arc;

use sos::sys::Disk;

use super::LogError;
use super::reader::{End, LogReader, Mode, Skipped};
use crate::batch::{Batch, BatchHeader};
use crate::{DatabaseId, Epoch};

/// What of a log is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayFrom {
    /// The first segment; none for the first one that is there.
    pub segment: Option<u64>,
    /// Groups before this epoch are left out.
    pub epoch: Epoch,
    /// The first group that was closed after this time ends the log, in units of 100 ns since
    /// 0001-01-01: see [`super::Tail::Cut`].
    pub until_utc_100ns: Option<u64>,
}

/// Reads the groups of a log.
#[derive(Debug)]
pub struct Replay {
    reader: LogReader,
    first_epoch: Epoch,
    /// What of the group that was returned last is not read yet.
    rest: Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// All batches, the first of which is in the reader.
    Whole,
    /// Batches behind the one in the reader.
    Part,
    /// It was read to its end.
    Nothing,
}

/// A group: the commits of some epochs.
#[derive(Debug)]
pub struct Group<'r> {
    replay: &'r mut Replay,
    first: BatchHeader,
}

/// A batch with its buffer.
#[derive(Debug)]
pub struct OwnedBatch {
    pub(super) header: BatchHeader,
    pub(super) bytes: Vec<u8>,
    pub(super) payload: std::ops::Range<usize>,
}

impl OwnedBatch {
    /// Returns the header of the batch.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Returns the records: see [`crate::Records`].
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.payload.clone()]
    }

    /// Returns the buffer, to be used again.
    #[must_use]
    pub fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }
}

impl Replay {
    /// Opens the log in a folder.
    ///
    /// # Errors
    /// As [`LogReader::open`].
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &str,
        database: DatabaseId,
        from: ReplayFrom,
        mode: Mode,
    ) -> Result<Self, LogError> {
        let mut reader = LogReader::open(disk, folder, database, from.segment, mode)?;
        reader.end_after(from.until_utc_100ns);
        Ok(Self { reader, first_epoch: from.epoch, rest: Rest::Nothing })
    }

    /// Returns the next group, or `None` at the end of the log. What was not read of the last one is
    /// passed over.
    ///
    /// # Errors
    /// As [`LogReader::next_batch`].
    pub fn next_group(&mut self) -> Result<Option<Group<'_>>, LogError> {
        loop {
            while self.rest != Rest::Nothing {
                self.next_batch()?;
            }
            if !self.reader.advance()? {
                return Ok(None);
            }
            self.rest = Rest::Whole;
            let first = self.reader.header();
            if first.last_epoch >= self.first_epoch {
                return Ok(Some(Group { first, replay: self }));
            }
        }
    }

    /// Goes to the next batch of the group; returns whether there is one.
    fn next_batch(&mut self) -> Result<bool, LogError> {
        match self.rest {
            Rest::Nothing => return Ok(false),
            Rest::Whole => {}
            // A group that has begun was seen to its end, unless bytes have changed since.
            Rest::Part if !self.reader.advance()? => return Ok(false),
            Rest::Part => {}
        }
        let is_last = self.reader.header().is_last;
        self.rest = if is_last { Rest::Nothing } else { Rest::Part };
        Ok(true)
    }

    /// Returns where the log ends, once [`Self::next_group`] has returned `None`.
    #[must_use]
    pub const fn end(&self) -> Option<&End> {
        self.reader.end()
    }

    /// Returns what salvage has left out so far.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        self.reader.skipped()
    }
}

impl Group<'_> {
    /// Returns the first and the last epoch whose commits are in the group.
    #[must_use]
    pub const fn epochs(&self) -> (Epoch, Epoch) {
        (self.first.first_epoch, self.first.last_epoch)
    }

    /// Returns when it was closed, in units of 100 ns since 0001-01-01.
    #[must_use]
    pub const fn utc_100ns(&self) -> u64 {
        self.first.utc_100ns
    }

    /// Returns the next batch of the group.
    ///
    /// # Errors
    /// As [`LogReader::next_batch`].
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, LogError> {
        Ok(if self.replay.next_batch()? { Some(self.replay.reader.batch()) } else { None })
    }

    /// Returns the next batch with its buffer. The reader goes on with `buffer`, whose contents do
    /// not matter.
    ///
    /// # Errors
    /// As [`LogReader::next_batch`].
    pub fn take_batch(&mut self, buffer: Vec<u8>) -> Result<Option<OwnedBatch>, LogError> {
        let is_there = self.replay.next_batch()?;
        Ok(is_there.then(|| self.replay.reader.take_batch(buffer)))
    }
}
