//! `SegmentWriter`: appends groups of batches to segments. One thread uses it.
//!
//! A segment is synced before the next one is made, so the header of a segment proves that the one
//! before it is complete. Where its files come from: `folder.rs`.

use std::io;
use std::sync::Arc;

use sos::sys::{Disk, DiskFile, Open, SyncMethod};
use sos::wait::WaitType;

use super::folder::{LogFolder, Next, PREPARE};
use super::names::segment_path;
use super::{End, LogError, Tail};
use crate::batch::{BATCH_HEADER_BYTES, BatchBuffer, BatchHeader};
use crate::mutant::{Mutant, is_mutant};
use crate::record::record_bytes;
use crate::segment_header::SegmentHeader;
use crate::{BLOCK_BYTES, DatabaseId, Epoch};

/// The part of a segment's usual size that is kept free for commits that were admitted: 4 MiB.
const RESERVE_OF_SEGMENT: u64 = 16;

/// A segment has at least this many batches of several records.
const SEGMENT_OF_BATCH: u64 = 8;

/// Bytes that are copied at once when the last group is written again.
const CHUNK_BYTES: usize = 256 * BLOCK_BYTES;

/// Where a log is and how large its parts are.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The folder of the segments, on the disk.
    pub folder: String,
    /// The database that the log belongs to.
    pub database: DatabaseId,
    /// The size of a segment: a multiple of [`BLOCK_BYTES`], usually 64 MiB.
    pub segment_bytes: u64,
    /// A group is cut into batches of about this many bytes; a longer record has a batch alone.
    pub batch_bytes: usize,
    /// How batches become durable: see [`super::probe_sync`].
    pub sync: SyncMethod,
}

impl LogOptions {
    /// Returns the bytes of a batch of several records: a small part of a segment, so that little of
    /// its end is left unused.
    fn batch_bytes_max(&self) -> usize {
        let part = usize::try_from(self.segment_bytes / SEGMENT_OF_BATCH);
        part.map_or(self.batch_bytes, |part| self.batch_bytes.min(part))
    }
}

/// Whether the writer may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Good,
    /// A write or a sync has failed: what the disk holds is unknown.
    Suspect,
}

/// Appends groups to the segments of a log.
#[derive(Debug)]
pub struct SegmentWriter {
    folder: Arc<LogFolder>,
    file: Box<dyn DiskFile>,
    segment: SegmentHeader,
    /// Where the next batch begins in the segment.
    offset: u64,
    next_batch: u64,
    previous_crc: u32,
    last_epoch: Epoch,
    batch: BatchBuffer,
    /// A group for which there was no room.
    begun: Option<Begun>,
    /// Whether the keeper was asked for the next segment.
    is_next_asked_for: bool,
    health: Health,
}

impl SegmentWriter {
    /// Begins a log in a folder without segments.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Full`].
    pub fn create(disk: Arc<dyn Disk>, options: LogOptions) -> Result<Self, LogError> {
        let folder = LogFolder::open(disk, options)?;
        let (number, first_batch, previous_crc, last_epoch) = (1, 1, 0, Epoch(0));
        let next = Next { number, first_batch, previous_crc, last_epoch, batch_bytes: 0 };
        let (file, segment) = folder.make_segment(&next)?;
        Ok(Self::at(folder, file, segment, BLOCK_BYTES as u64))
    }

    /// Begins a log in a segment with this number, behind all segments of a log that is not to go on:
    /// after a reader has ended at [`Tail::Cut`]. A checkpoint that names the segment as its first
    /// one is durable before; a start that does not find the segment makes this call again. The older
    /// segments may be retired.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Full`].
    ///
    /// # Panics
    /// If the folder has a segment with this number or a higher one.
    pub fn create_at(
        disk: Arc<dyn Disk>,
        options: LogOptions,
        number: u64,
        last_epoch: Epoch,
    ) -> Result<Self, LogError> {
        let folder = LogFolder::open(disk, options)?;
        let last = folder.last_segment();
        assert!(last.is_none_or(|last| last < number), "segment {number} is not behind the others");
        let next = Next { number, first_batch: 1, previous_crc: 0, last_epoch, batch_bytes: 0 };
        let (file, segment) = folder.make_segment(&next)?;
        Ok(Self::at(folder, file, segment, BLOCK_BYTES as u64))
    }

    /// Goes on where a reader found the end of the log. Makes durable first what was read: after a
    /// sync that failed, the last group may be in the page cache and nowhere else, and a second sync
    /// would succeed without it. So the group is written again, with the same bytes.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Full`].
    ///
    /// # Panics
    /// For an end of [`Tail::Cut`]: see [`Self::create_at`].
    pub fn resume(disk: Arc<dyn Disk>, options: LogOptions, end: &End) -> Result<Self, LogError> {
        assert_ne!(end.tail, Tail::Cut, "behind the end are groups that were durable");
        let name = options.folder.clone();
        let folder = LogFolder::open(disk, options)?;
        // A segment without a complete group is removed: its name may not be durable, and its header
        // names batches of a torn group.
        let is_empty = end.offset == BLOCK_BYTES as u64;
        folder.remove_behind(end.segment.number - u64::from(is_empty))?;
        if is_empty {
            let SegmentHeader { number, first_batch, previous_crc, last_epoch, .. } = end.segment;
            let next = Next { number, first_batch, previous_crc, last_epoch, batch_bytes: 0 };
            let (file, segment) = folder.make_segment(&next)?;
            return Ok(Self::at(folder, file, segment, end.offset));
        }
        let path = segment_path(&name, end.segment.number);
        let disk = folder.disk();
        let sync = folder.options.sync;
        let file = disk.open_with(&path, Open::Write, sync, WaitType::WriteLog);
        let file = file.map_err(LogError::io(&path))?;
        if !is_mutant(Mutant::ReadIsDurable) {
            write_again(&*file, end.last_group, end.offset).map_err(LogError::io(&path))?;
        }
        file.sync().map_err(LogError::io(&path))?;
        disk.sync_folder(&name).map_err(LogError::io(&name))?;
        let mut writer = Self::at(folder, file, end.segment, end.offset);
        writer.next_batch = end.next_batch;
        writer.previous_crc = end.previous_crc;
        writer.last_epoch = end.last_epoch;
        Ok(writer)
    }

    fn at(folder: LogFolder, file: Box<dyn DiskFile>, segment: SegmentHeader, offset: u64) -> Self {
        Self {
            folder: Arc::new(folder),
            file,
            segment,
            offset,
            next_batch: segment.first_batch,
            previous_crc: segment.previous_crc,
            last_epoch: segment.last_epoch,
            batch: BatchBuffer::default(),
            begun: None,
            is_next_asked_for: false,
            health: Health::Good,
        }
    }

    /// Returns the number of the segment that is being written. While a group waits for room, this is
    /// the one in which it begins: groups to come begin there or later.
    #[must_use]
    pub fn segment_number(&self) -> u64 {
        self.begun.as_ref().map_or(self.segment.number, |begun| begun.segment)
    }

    /// Returns the bytes behind the last batch of the segment that is being written.
    #[must_use]
    pub const fn unused_bytes(&self) -> u64 {
        self.segment.segment_bytes.saturating_sub(self.offset)
    }

    /// Returns the bytes of records that the rest of the segment and the prepared file take for
    /// certain, whatever the groups.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.certain_room(self.unused_bytes()) + self.certain_room(self.folder.prepared_bytes())
    }

    /// The end of a file is not used if the next batch does not fit.
    fn certain_room(&self, file_bytes: u64) -> u64 {
        let unused = self.folder.options.batch_bytes_max().saturating_add(2 * BLOCK_BYTES);
        file_bytes.saturating_sub(unused as u64)
    }

    /// Returns the room below which commits are not admitted.
    #[must_use]
    pub fn reserve(&self) -> u64 {
        self.folder.options.segment_bytes / RESERVE_OF_SEGMENT
    }

    /// Returns the folder, for a keeper and for [`LogFolder::retire`].
    #[must_use]
    pub const fn folder(&self) -> &Arc<LogFolder> {
        &self.folder
    }

    /// Writes a group, the commits of some epochs, and syncs it: on return it is durable. Each of
    /// `buffers` has whole transactions.
    ///
    /// # Errors
    /// [`LogError::Full`]: the next call must have the same arguments, and goes on where this one
    /// has stopped. After any other error the writer is unusable: later calls are
    /// [`LogError::Suspect`].
    pub fn append_group(
        &mut self,
        epochs: (Epoch, Epoch),
        utc_100ns: u64,
        buffers: &[&[u8]],
    ) -> Result<(), LogError> {
        if self.health == Health::Suspect {
            return Err(LogError::Suspect);
        }
        let mut begun = self.begun.take().unwrap_or(Begun {
            group: Group { number: self.next_batch, epochs, utc_100ns },
            segment: self.segment.number,
            buffer: 0,
            taken: 0,
        });
        assert_eq!(begun.group.epochs, epochs, "a group that has begun is written to its end");
        let written = self.write_group(&mut begun, buffers).and_then(|()| self.sync());
        match &written {
            Ok(()) => self.ask_for_next(),
            Err(LogError::Full { .. }) => self.begun = Some(begun),
            Err(_) => self.health = Health::Suspect,
        }
        written
    }

    /// Turns segments before this one into spares: see [`LogFolder::retire`], which leaves it to
    /// the keeper.
    ///
    /// # Errors
    /// [`LogError::Io`], which is final as in [`Self::append_group`].
    pub fn recycle(&mut self, before: u64) -> Result<(), LogError> {
        let recycled = self.folder.retire_now(before);
        if recycled.is_err() {
            self.health = Health::Suspect;
        }
        recycled
    }

    /// Asks the keeper for the next segment when half of this one is written.
    fn ask_for_next(&mut self) {
        if !self.is_next_asked_for && self.offset > self.segment.segment_bytes / 2 {
            self.is_next_asked_for = true;
            self.folder.request(PREPARE);
        }
    }

    fn sync(&self) -> Result<(), LogError> {
        #[cfg(not(any(loom, shuttle)))]
        sos::inject::pass(sos::inject::Point::Log);
        if self.folder.options.sync.is_write_through() {
            return Ok(());
        }
        if is_mutant(Mutant::SyncRetried) && self.file.sync().is_ok() {
            return Ok(());
        }
        self.file.sync().map_err(|error| self.failed(error))
    }

    /// Names the segment in an error. The name is made for an error only: a flush has two calls.
    #[cold]
    fn failed(&self, error: io::Error) -> LogError {
        LogError::io(&segment_path(&self.folder.options.folder, self.segment.number))(error)
    }

    fn write_group(&mut self, begun: &mut Begun, buffers: &[&[u8]]) -> Result<(), LogError> {
        while let Some(buffer) = buffers.get(begun.buffer) {
            let rest = &buffer[begun.taken..];
            if rest.is_empty() {
                (begun.buffer, begun.taken) = (begun.buffer + 1, 0);
                continue;
            }
            let batch_bytes = self.folder.options.batch_bytes_max();
            let room = batch_bytes.saturating_sub(self.batch.payload_bytes());
            let taken = whole_records(rest, room, self.batch.payload_bytes() == 0);
            if taken == 0 {
                self.write_batch(&begun.group, false)?;
                continue;
            }
            self.batch.push(&rest[..taken]);
            begun.taken += taken;
        }
        self.write_batch(&begun.group, true)
    }

    fn write_batch(&mut self, group: &Group, is_last: bool) -> Result<(), LogError> {
        let bytes = BATCH_HEADER_BYTES + self.batch.payload_bytes();
        let bytes = bytes.next_multiple_of(BLOCK_BYTES) as u64;
        if self.offset + bytes > self.segment.segment_bytes {
            self.begin_segment(bytes)?;
        }
        let header = BatchHeader {
            database: self.folder.options.database,
            generation: self.segment.generation,
            number: self.next_batch,
            group: group.number,
            first_epoch: group.epochs.0,
            last_epoch: group.epochs.1,
            utc_100ns: group.utc_100ns,
            previous_crc: self.previous_crc,
            is_last,
        };
        let (blocks, crc) = self.batch.seal(&header);
        // The number is used even if the write fails: a part of the batch may be on the disk.
        self.next_batch += 1;
        self.file.write_at(self.offset, blocks).map_err(|error| self.failed(error))?;
        self.offset += bytes;
        self.previous_crc = crc;
        self.last_epoch = group.epochs.1;
        self.batch.clear();
        Ok(())
    }

    /// Goes to a new segment that has room for a batch.
    fn begin_segment(&mut self, batch_bytes: u64) -> Result<(), LogError> {
        self.sync()?;
        let next = Next {
            number: self.segment.number + 1,
            first_batch: self.next_batch,
            previous_crc: self.previous_crc,
            last_epoch: self.last_epoch,
            batch_bytes,
        };
        let (file, segment) = self.folder.make_segment(&next)?;
        (self.file, self.segment, self.offset) = (file, segment, BLOCK_BYTES as u64);
        self.is_next_asked_for = false;
        Ok(())
    }
}

/// What the batches of a group have in common.
#[derive(Debug)]
struct Group {
    /// Number of its first batch.
    number: u64,
    epochs: (Epoch, Epoch),
    utc_100ns: u64,
}

/// How far a group is written. What was taken of the buffers and not written is in the batch.
#[derive(Debug)]
struct Begun {
    group: Group,
    /// Number of the segment in which it begins, or of the one before.
    segment: u64,
    /// The buffer that comes next, and what was taken of it.
    buffer: usize,
    taken: usize,
}

/// Writes a part of a file again, with the same bytes.
fn write_again(file: &dyn DiskFile, mut offset: u64, end: u64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    while offset < end {
        let bytes = usize::try_from(end - offset).map_or(CHUNK_BYTES, |b| b.min(CHUNK_BYTES));
        let read = file.read_at(offset, &mut chunk[..bytes])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_at(offset, &chunk[..read])?;
        offset += read as u64;
    }
    Ok(())
}

/// Returns the length of the records at the front that fit into `room`: at least one record if
/// `must_take`.
fn whole_records(records: &[u8], room: usize, must_take: bool) -> usize {
    if records.len() <= room {
        return records.len();
    }
    let mut taken = 0;
    while taken < records.len() {
        let next = taken + record_bytes(&records[taken..]).expect("the buffer has whole records");
        if next > room && !(must_take && taken == 0) {
            break;
        }
        taken = next;
    }
    taken
}
