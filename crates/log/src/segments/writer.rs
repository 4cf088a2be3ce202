//! `SegmentWriter`: appends groups of batches to segments. One thread uses it.
//!
//! ```text
//! spare ── header, sync, rename, sync folder ─► current ── next is made ─► full ── recycle ─► spare
//! ```
//!
//! A segment is synced before the next one is made, so the header of a segment proves that the one
//! before it is complete.

use std::io;
use std::sync::Arc;

use sos::sys::{Disk, DiskFile, Open, is_disk_full};
use sos::wait::WaitType;

use super::names::{new_path, segment_path, segments, spare_path, spares};
use super::{End, LogError};
use crate::batch::{BATCH_HEADER_BYTES, BatchBuffer, BatchHeader};
use crate::mutant::{Mutant, is_mutant};
use crate::record::record_bytes;
use crate::segment_header::SegmentHeader;
use crate::{BLOCK_BYTES, DatabaseId, Epoch};

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
    disk: Arc<dyn Disk>,
    options: LogOptions,
    file: Box<dyn DiskFile>,
    segment: SegmentHeader,
    /// Where the next batch begins in the segment.
    offset: u64,
    next_batch: u64,
    previous_crc: u32,
    last_epoch: Epoch,
    batch: BatchBuffer,
    health: Health,
}

impl SegmentWriter {
    /// Begins a log in a folder without segments.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Full`].
    pub fn create(disk: Arc<dyn Disk>, options: LogOptions) -> Result<Self, LogError> {
        let (number, first_batch, previous_crc, last_epoch) = (1, 1, 0, Epoch(0));
        let next = Next { number, first_batch, previous_crc, last_epoch, batch_bytes: 0 };
        let (file, segment) = make_segment(&*disk, &options, &next)?;
        Ok(Self::at(disk, options, file, segment, BLOCK_BYTES as u64))
    }

    /// Goes on where a reader found the end of the log. Makes durable first what was read: after a
    /// sync that failed, the last group may be in the page cache and nowhere else, and a second sync
    /// would succeed without it. So the group is written again, with the same bytes.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Full`].
    pub fn resume(disk: Arc<dyn Disk>, options: LogOptions, end: &End) -> Result<Self, LogError> {
        let folder = &options.folder;
        // A segment without a complete group is removed: its name may not be durable, and its header
        // names batches of a torn group. From the last one on, to leave no gap.
        let is_empty = end.offset == BLOCK_BYTES as u64;
        let keep = end.segment.number - u64::from(is_empty);
        for number in segments(&*disk, folder)?.into_iter().rev().filter(|n| *n > keep) {
            let path = segment_path(folder, number);
            disk.remove(&path).map_err(LogError::io(&path))?;
            disk.sync_folder(folder).map_err(LogError::io(folder))?;
        }
        if is_empty {
            let SegmentHeader { number, first_batch, previous_crc, last_epoch, .. } = end.segment;
            let next = Next { number, first_batch, previous_crc, last_epoch, batch_bytes: 0 };
            let (file, segment) = make_segment(&*disk, &options, &next)?;
            return Ok(Self::at(disk, options, file, segment, end.offset));
        }
        let path = segment_path(folder, end.segment.number);
        let file = disk.open(&path, Open::Write, WaitType::WriteLog);
        let file = file.map_err(LogError::io(&path))?;
        if !is_mutant(Mutant::ReadIsDurable) {
            write_again(&*file, end.last_group, end.offset).map_err(LogError::io(&path))?;
        }
        file.sync().map_err(LogError::io(&path))?;
        disk.sync_folder(folder).map_err(LogError::io(folder))?;
        let mut writer = Self::at(disk, options, file, end.segment, end.offset);
        writer.next_batch = end.next_batch;
        writer.previous_crc = end.previous_crc;
        writer.last_epoch = end.last_epoch;
        Ok(writer)
    }

    fn at(
        disk: Arc<dyn Disk>,
        options: LogOptions,
        file: Box<dyn DiskFile>,
        segment: SegmentHeader,
        offset: u64,
    ) -> Self {
        Self {
            disk,
            options,
            file,
            segment,
            offset,
            next_batch: segment.first_batch,
            previous_crc: segment.previous_crc,
            last_epoch: segment.last_epoch,
            batch: BatchBuffer::default(),
            health: Health::Good,
        }
    }

    /// Returns the number of the segment that is being written.
    #[must_use]
    pub const fn segment_number(&self) -> u64 {
        self.segment.number
    }

    /// Writes a group, the commits of some epochs, and syncs it: on return it is durable. Each of
    /// `buffers` has whole transactions.
    ///
    /// # Errors
    /// [`LogError::Full`] if nothing was written and the call may be repeated. After any other
    /// error the writer is unusable: later calls are [`LogError::Suspect`].
    pub fn append_group(
        &mut self,
        epochs: (Epoch, Epoch),
        utc_100ns: u64,
        buffers: &[&[u8]],
    ) -> Result<(), LogError> {
        if self.health == Health::Suspect {
            return Err(LogError::Suspect);
        }
        let group = Group { number: self.next_batch, epochs, utc_100ns };
        let written = self.write_group(&group, buffers).and_then(|()| self.sync());
        self.batch.clear();
        if let Err(error) = &written {
            let is_untouched = self.next_batch == group.number;
            if !(is_untouched && matches!(error, LogError::Full { .. })) {
                self.health = Health::Suspect;
            }
        }
        written
    }

    /// Turns segments before this one into spares. The caller knows that no recovery reads them:
    /// a checkpoint that covers them is durable.
    ///
    /// # Errors
    /// [`LogError::Io`], which is final as in [`Self::append_group`].
    pub fn recycle(&mut self, before: u64) -> Result<(), LogError> {
        let recycled = self.recycle_segments(before);
        if recycled.is_err() {
            self.health = Health::Suspect;
        }
        recycled
    }

    fn recycle_segments(&self, before: u64) -> Result<(), LogError> {
        let folder = &self.options.folder;
        let before = before + u64::from(is_mutant(Mutant::RecycledTooEarly));
        let old = segments(&*self.disk, folder)?;
        for number in old.into_iter().filter(|n| *n < before.min(self.segment.number)) {
            let (from, to) = (segment_path(folder, number), spare_path(folder, number));
            self.disk.rename(&from, &to).map_err(LogError::io(&from))?;
            // Segments go one by one from the front, so that a crash leaves no gap.
            self.disk.sync_folder(folder).map_err(LogError::io(folder))?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), LogError> {
        if is_mutant(Mutant::SyncRetried) && self.file.sync().is_ok() {
            return Ok(());
        }
        self.file.sync().map_err(LogError::io(&self.path()))
    }

    fn path(&self) -> String {
        segment_path(&self.options.folder, self.segment.number)
    }

    fn write_group(&mut self, group: &Group, buffers: &[&[u8]]) -> Result<(), LogError> {
        for buffer in buffers {
            let mut rest = *buffer;
            while !rest.is_empty() {
                let room = self.options.batch_bytes.saturating_sub(self.batch.payload_bytes());
                let taken = whole_records(rest, room, self.batch.payload_bytes() == 0);
                if taken == 0 {
                    self.write_batch(group, false)?;
                    continue;
                }
                self.batch.push(&rest[..taken]);
                rest = &rest[taken..];
            }
        }
        self.write_batch(group, true)
    }

    fn write_batch(&mut self, group: &Group, is_last: bool) -> Result<(), LogError> {
        let bytes = BATCH_HEADER_BYTES + self.batch.payload_bytes();
        let bytes = bytes.next_multiple_of(BLOCK_BYTES) as u64;
        if self.offset + bytes > self.segment.segment_bytes {
            self.begin_segment(bytes)?;
        }
        let header = BatchHeader {
            database: self.options.database,
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
        let path = segment_path(&self.options.folder, self.segment.number);
        self.file.write_at(self.offset, blocks).map_err(LogError::io(&path))?;
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
        let (file, segment) = make_segment(&*self.disk, &self.options, &next)?;
        (self.file, self.segment, self.offset) = (file, segment, BLOCK_BYTES as u64);
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

/// What a new segment has to say and hold.
struct Next {
    number: u64,
    first_batch: u64,
    previous_crc: u32,
    last_epoch: Epoch,
    batch_bytes: u64,
}

/// Makes a segment of a spare, or of a new file. It has its name only when its header is durable.
fn make_segment(
    disk: &dyn Disk,
    options: &LogOptions,
    next: &Next,
) -> Result<(Box<dyn DiskFile>, SegmentHeader), LogError> {
    let segment_bytes = options.segment_bytes.max(BLOCK_BYTES as u64 + next.batch_bytes);
    let spare = match take_spare(disk, &options.folder, segment_bytes)? {
        Some(spare) => spare,
        None => new_file(disk, &options.folder, segment_bytes)?,
    };
    let header = SegmentHeader {
        database: options.database,
        number: next.number,
        generation: spare.generation,
        segment_bytes,
        first_batch: next.first_batch,
        previous_crc: next.previous_crc,
        last_epoch: next.last_epoch,
    };
    let path = &spare.path;
    spare.file.write_at(0, &header.encode()).map_err(LogError::io(path))?;
    spare.file.sync().map_err(LogError::io(path))?;
    disk.rename(path, &segment_path(&options.folder, next.number)).map_err(LogError::io(path))?;
    if !is_mutant(Mutant::FolderNotSynced) {
        disk.sync_folder(&options.folder).map_err(LogError::io(&options.folder))?;
    }
    Ok((spare.file, header))
}

/// A file that becomes a segment.
struct Spare {
    path: String,
    file: Box<dyn DiskFile>,
    generation: u64,
}

/// Opens a spare of exactly this size. Other spares are removed: of another size, without a readable
/// header, or with another number, since such a file may have the name of a segment as well after a
/// folder's sync failed.
fn take_spare(
    disk: &dyn Disk,
    folder: &str,
    segment_bytes: u64,
) -> Result<Option<Spare>, LogError> {
    for number in spares(disk, folder)? {
        let path = spare_path(folder, number);
        let file = disk.open(&path, Open::Write, WaitType::WriteLog);
        let file = file.map_err(LogError::io(&path))?;
        let mut block = [0; BLOCK_BYTES];
        let read = file.read_at(0, &mut block).map_err(LogError::io(&path))?;
        let header = SegmentHeader::decode(&block).ok().filter(|_| read == BLOCK_BYTES);
        let bytes = file.len().map_err(LogError::io(&path))?;
        if let Some(header) = header
            && bytes == segment_bytes
            && header.number == number
        {
            return Ok(Some(Spare { path, file, generation: header.generation + 1 }));
        }
        disk.remove(&path).map_err(LogError::io(&path))?;
    }
    Ok(None)
}

/// Makes a file with all its room taken. One that is left from an earlier start is not used: after
/// a failed sync its length may not be durable.
fn new_file(disk: &dyn Disk, folder: &str, segment_bytes: u64) -> Result<Spare, LogError> {
    let path = new_path(folder);
    match disk.remove(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(LogError::Io { path, error });
        }
        Ok(()) | Err(_) => {}
    }
    let made = disk.open(&path, Open::Create, WaitType::WriteLog).and_then(|file| {
        file.allocate(0, segment_bytes)?;
        Ok(file)
    });
    match made {
        Ok(file) => Ok(Spare { path, file, generation: 1 }),
        Err(error) if is_disk_full(&error) => {
            // It may not exist; a file that stays is removed by the next call.
            let _ = disk.remove(&path);
            Err(LogError::Full { path })
        }
        Err(error) => Err(LogError::Io { path, error }),
    }
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
