//! `LogReader`: reads the groups of a log from a segment on, batch by batch, each checked.
//!
//! A batch is returned only if its whole group is there: where a group of several batches begins,
//! the reader looks ahead to its end. It keeps the batches of that way in memory, up to a limit; a
//! longer group is read twice. docs/log-format.md, "Opening a log".

use std::collections::VecDeque;
use std::sync::Arc;

use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;

use super::LogError;
use super::names::{segment_path, segments, take_void};
use super::replay::OwnedBatch;
use super::search::{Found, View};
use crate::batch::{Batch, BatchHeader, decode_batch_header};
use crate::error::Problem;
use crate::mutant::{Mutant, is_mutant};
use crate::segment_header::SegmentHeader;
use crate::{BATCH_HEADER_BYTES, BLOCK_BYTES, DatabaseId, Epoch};

/// Bytes of a group that are kept in memory while the reader looks for its end.
const GROUP_BYTES_KEPT: usize = if cfg!(test) { 64 << 10 } else { 64 << 20 };

/// What the reader does with bytes that were durable once and are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Corruption is an error.
    Strict,
    /// What is damaged is skipped and reported.
    Salvage,
}

/// Where a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Header of the last segment.
    pub segment: SegmentHeader,
    /// Where in that segment the next batch goes.
    pub offset: u64,
    /// Number of the next batch.
    pub next_batch: u64,
    /// Header CRC of the last batch.
    pub previous_crc: u32,
    /// Last epoch of the log; new ones begin after it.
    pub last_epoch: Epoch,
    /// Where in that segment the part of the last group begins.
    pub last_group: u64,
    /// What is there instead of a batch.
    pub tail: Tail,
}

/// What is behind the last group of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing was written there since the file was made or recycled.
    Clean,
    /// A part of a group that was not durable, and so not acknowledged.
    Torn,
    /// Groups after the time at which the reader was to end. The log cannot go on here:
    /// [`super::SegmentWriter::create_at`] begins behind all segments.
    Cut,
}

/// A part of the log that salvage has left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The segment in which it begins, and the offset there.
    pub from: (u64, u64),
    /// The segment in which reading went on, and the offset there.
    pub to: (u64, u64),
    /// The batches that are missing: the first one, and the first one that is there again.
    pub batches: (u64, u64),
    /// What is wrong with the first of them that is damaged. Good batches of its group are left out
    /// too.
    pub problem: Problem,
}

/// Reads a log from front to back.
#[derive(Debug)]
pub struct LogReader {
    disk: Arc<dyn Disk>,
    folder: String,
    database: DatabaseId,
    mode: Mode,
    /// Numbers of the segments in the folder, rising.
    segments: Vec<u64>,
    place: Place,
    /// Number after the last batch of the group that is being returned.
    group_end: u64,
    end: Option<End>,
    skipped: Vec<Skipped>,
    /// A group that was closed later ends the log.
    until_utc_100ns: Option<u64>,
    /// The batch that was read last, which is the one that was returned last.
    buffer: BatchBytes,
    /// The batches of the present group that were read on the way to its end.
    kept: VecDeque<(Place, BatchBytes)>,
    /// Buffers without a batch.
    free: Vec<Vec<u8>>,
}

/// A batch as it was read and checked.
#[derive(Debug, Default)]
struct BatchBytes {
    /// The batch, and what was behind it in the file.
    bytes: Vec<u8>,
    checked: Option<Checked>,
}

/// What is in a buffer.
#[derive(Clone, Copy, Debug)]
struct Checked {
    header: BatchHeader,
    payload_bytes: usize,
    crc: u32,
    byte_count: usize,
}

/// Where the reader is: an open segment, and what the next batch must have.
#[derive(Clone, Debug)]
struct Place {
    file: Arc<dyn DiskFile>,
    segment: SegmentHeader,
    offset: u64,
    next_batch: u64,
    previous_crc: u32,
    last_epoch: Epoch,
    /// Where in the segment the part of the last group begins.
    last_group: u64,
    /// Length of the batch before.
    batch_bytes: usize,
    /// The group of the batch before, if it goes on.
    open_group: Option<u64>,
    /// Whether the next batch may be in the middle of a group: where reading began, and after
    /// something was skipped.
    may_be_inside: bool,
}

/// What is at a place.
enum Step {
    /// A batch, in the buffer.
    Batch(BatchHeader),
    /// The end of the log.
    End(Tail),
    /// Damage, and what is behind it.
    Corrupt { problem: Problem, found: Found },
}

/// What looking ahead for the end of a group has found.
enum Ahead {
    /// The group is complete and is one batch, which is in the buffer.
    Single(Place),
    /// The group is complete and has several batches.
    Several,
    /// The log ends, or the reader's place has changed.
    Elsewhere,
}

impl LogReader {
    /// Opens the log in a folder at its first segment, or at a given one.
    ///
    /// # Errors
    /// [`LogError::NoSegment`] if it is not there, and all others but [`LogError::Full`].
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &str,
        database: DatabaseId,
        first_segment: Option<u64>,
        mode: Mode,
    ) -> Result<Self, LogError> {
        let mut segments = segments(&*disk, folder)?;
        take_void(&*disk, folder, &mut segments)?;
        let first = first_segment.or(segments.first().copied()).ok_or(LogError::NoSegment)?;
        segments.retain(|number| *number >= first);
        let last = *segments.last().ok_or(LogError::NoSegment)?;
        let missing = (first..=last).zip(&segments).find(|(due, number)| due != *number);
        if let Some((missing, _)) = missing.filter(|_| mode == Mode::Strict) {
            return Err(LogError::MissingSegment(missing));
        }
        let place = open_segment(&*disk, folder, database, first)?;
        Ok(Self {
            disk,
            folder: folder.to_owned(),
            database,
            mode,
            segments,
            group_end: place.next_batch,
            place: Place { may_be_inside: true, ..place },
            end: None,
            skipped: Vec::new(),
            until_utc_100ns: None,
            buffer: BatchBytes::default(),
            kept: VecDeque::new(),
            free: Vec::new(),
        })
    }

    /// Lets the log end before the first group that was closed after this time.
    pub(super) const fn end_after(&mut self, utc_100ns: Option<u64>) {
        self.until_utc_100ns = utc_100ns;
    }

    /// Returns the next batch, or `None` at the end of the log. The batches of one group come one
    /// after another, from `number == group` to `is_last`.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] where a batch is damaged that was durable, [`LogError::Io`].
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, LogError> {
        Ok(if self.advance()? { Some(self.batch()) } else { None })
    }

    /// Reads the next batch; returns false at the end of the log.
    pub(super) fn advance(&mut self) -> Result<bool, LogError> {
        loop {
            if self.end.is_some() {
                return Ok(false);
            }
            if self.place.next_batch < self.group_end {
                break;
            }
            match self.look_ahead()? {
                Ahead::Single(behind) => {
                    self.place = behind;
                    return Ok(true);
                }
                Ahead::Several => break,
                Ahead::Elsewhere => self.forget_kept(),
            }
        }
        if let Some((behind, batch)) = self.kept.pop_front() {
            let before = std::mem::replace(&mut self.buffer, batch);
            self.free.push(before.bytes);
            self.place = behind;
            return Ok(true);
        }
        let mut behind = self.place.clone();
        let Step::Batch(_) = self.step(&mut behind)? else {
            return Err(self.corrupt(&behind, Problem::PayloadChecksum));
        };
        self.place = behind;
        Ok(true)
    }

    fn checked(&self) -> &Checked {
        self.buffer.checked.as_ref().expect("a batch was read before it is asked for")
    }

    /// Returns the header of the batch that was read last.
    pub(super) fn header(&self) -> BatchHeader {
        self.checked().header
    }

    /// Returns the batch that was read last.
    pub(super) fn batch(&self) -> Batch<'_> {
        let Checked { header, payload_bytes, crc, byte_count } = *self.checked();
        let payload = &self.buffer.bytes[BATCH_HEADER_BYTES..BATCH_HEADER_BYTES + payload_bytes];
        Batch { header, payload, crc, byte_count }
    }

    /// Returns the batch that was read last with its buffer, and takes another buffer for it.
    pub(super) fn take_batch(&mut self, buffer: Vec<u8>) -> OwnedBatch {
        let Checked { header, payload_bytes, .. } = *self.checked();
        let bytes = std::mem::replace(&mut self.buffer.bytes, buffer);
        self.buffer.checked = None;
        let payload = BATCH_HEADER_BYTES..BATCH_HEADER_BYTES + payload_bytes;
        OwnedBatch { header, bytes, payload }
    }

    /// Returns where the log ends, once [`Self::next_batch`] has returned `None`.
    #[must_use]
    pub const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Returns what salvage has left out so far.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    fn corrupt(&self, place: &Place, problem: Problem) -> LogError {
        LogError::Corrupt { segment: place.segment.number, offset: place.offset, problem }
    }

    /// Keeps the batch that was read in memory, unless the group is too long; then none is kept.
    fn keep(&mut self, behind: &Place, is_kept: &mut bool) {
        let bytes: usize = self.kept.iter().map(|(_, batch)| batch.bytes.len()).sum();
        *is_kept &= bytes + self.buffer.bytes.len() <= GROUP_BYTES_KEPT;
        if !*is_kept {
            return self.forget_kept();
        }
        let next = BatchBytes { bytes: self.free.pop().unwrap_or_default(), checked: None };
        let batch = std::mem::replace(&mut self.buffer, next);
        self.kept.push_back((behind.clone(), batch));
    }

    fn forget_kept(&mut self) {
        self.free.extend(self.kept.drain(..).map(|(_, batch)| batch.bytes));
    }

    /// Finds the end of the group that begins here.
    fn look_ahead(&mut self) -> Result<Ahead, LogError> {
        let mut ahead = self.place.clone();
        let mut is_kept = true;
        self.forget_kept();
        loop {
            match self.step(&mut ahead)? {
                Step::Batch(header) if header.group < self.place.next_batch => {
                    self.leave_out(ahead);
                    return Ok(Ahead::Elsewhere);
                }
                Step::Batch(header)
                    if self.until_utc_100ns.is_some_and(|until| header.utc_100ns > until) =>
                {
                    self.end = Some(self.place.end(Tail::Cut));
                    return Ok(Ahead::Elsewhere);
                }
                Step::Batch(header) if header.is_last => {
                    self.group_end = header.number + 1;
                    if header.number == self.place.next_batch {
                        return Ok(Ahead::Single(ahead));
                    }
                    self.keep(&ahead, &mut is_kept);
                    return Ok(Ahead::Several);
                }
                Step::Batch(_) => self.keep(&ahead, &mut is_kept),
                Step::End(_) if is_mutant(Mutant::TornGroupKept) && ahead.open_group.is_some() => {
                    self.group_end = ahead.next_batch;
                    return Ok(Ahead::Several);
                }
                Step::End(tail) => {
                    // Batches of a group without its end are torn, even if nothing follows them.
                    let is_begun = ahead.next_batch != self.place.next_batch;
                    self.end = Some(self.place.end(if is_begun { Tail::Torn } else { tail }));
                    return Ok(Ahead::Elsewhere);
                }
                Step::Corrupt { problem, .. } if self.mode == Mode::Strict => {
                    return Err(self.corrupt(&ahead, problem));
                }
                Step::Corrupt { problem, found } => {
                    self.skip(&ahead, found, problem);
                    return Ok(Ahead::Elsewhere);
                }
            }
        }
    }

    /// Passes over a batch whose group began before the place where reading began or went on.
    fn leave_out(&mut self, behind: Place) {
        if let Some(skipped) = self.skipped.last_mut() {
            skipped.to = (behind.segment.number, behind.offset);
            skipped.batches.1 = behind.next_batch;
        }
        self.place = behind;
    }

    /// Goes on behind damage, in this segment or in the next one that can be opened, and notes what
    /// is left out. Without one the log ends at its last complete group.
    fn skip(&mut self, damaged: &Place, found: Found, problem: Problem) {
        let from = (self.place.segment.number, self.place.offset);
        let first = self.place.next_batch;
        let next = match found {
            Found::Batch { offset, header } => Some(Place {
                offset,
                next_batch: header.number,
                previous_crc: header.previous_crc,
                ..damaged.clone()
            }),
            Found::Nothing(_) => self
                .segments
                .iter()
                .filter(|number| **number > damaged.segment.number)
                .find_map(|n| open_segment(&*self.disk, &self.folder, self.database, *n).ok()),
        };
        let Some(next) = next else {
            let to = (damaged.segment.number, damaged.segment.segment_bytes);
            self.skipped.push(Skipped { from, to, batches: (first, first), problem });
            self.end = Some(self.place.end(Tail::Torn));
            return;
        };
        let to = (next.segment.number, next.offset);
        self.skipped.push(Skipped { from, to, batches: (first, next.next_batch), problem });
        self.group_end = next.next_batch;
        self.place = Place { open_group: None, may_be_inside: true, ..next };
    }

    fn open_next(&self, place: &Place) -> Result<Option<Place>, LogError> {
        let next = self.segments.iter().find(|number| **number > place.segment.number);
        let Some(next) = next else { return Ok(None) };
        open_segment(&*self.disk, &self.folder, self.database, *next).map(Some)
    }

    /// Reads the batch at a place into the buffer and moves the place behind it.
    fn step(&mut self, place: &mut Place) -> Result<Step, LogError> {
        loop {
            let problem = match self.read_batch(place)? {
                Ok(header) => return Ok(Step::Batch(header)),
                Err(problem) => problem,
            };
            let next = match self.open_next(place) {
                Err(LogError::Corrupt { .. }) if self.mode == Mode::Salvage => None,
                next => next?,
            };
            if let Some(next) = next.filter(|next| next.follows(place)) {
                let Place { open_group, may_be_inside, batch_bytes, .. } = *place;
                *place = Place { open_group, may_be_inside, batch_bytes, ..next };
                continue;
            }
            let found = place.view(&self.folder).search()?;
            let is_last = Some(&place.segment.number) == self.segments.last();
            return Ok(match found {
                Found::Nothing(tail) if is_last => Step::End(tail),
                found => Step::Corrupt { problem, found },
            });
        }
    }

    /// Reads the batch that belongs at a place into the buffer, or returns what is wrong with it.
    fn read_batch(&mut self, place: &mut Place) -> Result<Result<BatchHeader, Problem>, LogError> {
        // Most batches are about as long as the one before: they need one read.
        let guess = place.batch_bytes.max(BLOCK_BYTES);
        let file_rest = place.segment.segment_bytes.saturating_sub(place.offset);
        let guess = usize::try_from(file_rest).map_or(guess, |rest| guess.min(rest));
        self.buffer.checked = None;
        let mut filled = self.read(place, 0, guess)?;
        let (header, byte_count) = match decode_batch_header(&self.buffer.bytes[..filled]) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error.problem)),
        };
        if !place.is_due(&header) {
            return Ok(Err(Problem::Field("place in the log")));
        }
        // Checked against the file before memory is taken for it.
        if byte_count as u64 > file_rest {
            return Ok(Err(Problem::Cut));
        }
        if byte_count > filled {
            filled += self.read(place, filled, byte_count - filled)?;
        }
        let checked = match Batch::decode(&self.buffer.bytes[..filled.min(byte_count)]) {
            Ok(Batch { header, payload, crc, byte_count }) => {
                Checked { header, payload_bytes: payload.len(), crc, byte_count }
            }
            Err(error) => return Ok(Err(error.problem)),
        };
        if header.group == header.number {
            place.last_group = place.offset;
        }
        place.batch_bytes = byte_count;
        place.offset += byte_count as u64;
        place.next_batch += 1;
        place.previous_crc = checked.crc;
        place.last_epoch = header.last_epoch;
        place.open_group = (!header.is_last).then_some(header.group);
        place.may_be_inside = false;
        self.buffer.checked = Some(checked);
        Ok(Ok(header))
    }

    /// Reads bytes of a batch into the buffer, from an offset on; returns how many there are.
    fn read(&mut self, place: &Place, from: usize, bytes: usize) -> Result<usize, LogError> {
        let buffer = &mut self.buffer.bytes;
        if buffer.len() < from + bytes {
            buffer.resize(from + bytes, 0);
        }
        let read = place.file.read_at(place.offset + from as u64, &mut buffer[from..from + bytes]);
        let path = || segment_path(&self.folder, place.segment.number);
        read.map_err(|error| LogError::Io { path: path(), error })
    }
}

impl Place {
    /// Returns whether a valid batch is the next one.
    fn is_due(&self, header: &BatchHeader) -> bool {
        let is_of_group = match self.open_group {
            Some(group) => header.group == group,
            None => header.group == header.number || self.may_be_inside,
        };
        header.database == self.segment.database
            && header.generation == self.segment.generation
            && header.number == self.next_batch
            && header.previous_crc == self.previous_crc
            && is_of_group
    }

    /// Returns whether this front of a segment goes on where another segment has ended.
    fn follows(&self, end: &Self) -> bool {
        self.next_batch == end.next_batch
            && self.previous_crc == end.previous_crc
            && self.segment.number == end.segment.number + 1
    }

    fn view(&self, folder: &str) -> View<'_> {
        View {
            file: &*self.file,
            path: segment_path(folder, self.segment.number),
            file_bytes: self.segment.segment_bytes,
            segment: self.segment,
            offset: self.offset,
            next_batch: self.next_batch,
        }
    }

    const fn end(&self, tail: Tail) -> End {
        End {
            segment: self.segment,
            offset: self.offset,
            next_batch: self.next_batch,
            previous_crc: self.previous_crc,
            last_epoch: self.last_epoch,
            last_group: self.last_group,
            tail,
        }
    }
}

/// Opens a segment at its first batch.
fn open_segment(
    disk: &dyn Disk,
    folder: &str,
    database: DatabaseId,
    number: u64,
) -> Result<Place, LogError> {
    let path = segment_path(folder, number);
    let corrupt = |offset, problem| LogError::Corrupt { segment: number, offset, problem };
    let file = disk.open(&path, Open::Read, WaitType::IoCompletion);
    let file: Arc<dyn DiskFile> = file.map_err(LogError::io(&path))?.into();
    let mut block = [0; BLOCK_BYTES];
    let read = file.read_at(0, &mut block).map_err(LogError::io(&path))?;
    if read < BLOCK_BYTES {
        return Err(corrupt(read as u64, Problem::Cut));
    }
    let segment = SegmentHeader::decode(&block).map_err(|error| match error.problem {
        Problem::Version(version) => LogError::Version { segment: number, version },
        problem => corrupt(error.offset as u64, problem),
    })?;
    if segment.database != database {
        return Err(LogError::Foreign(number));
    }
    if segment.number != number {
        return Err(corrupt(32, Problem::Field("segment number")));
    }
    // The room was taken before the segment had its name.
    let file_bytes = file.len().map_err(LogError::io(&path))?;
    if file_bytes != segment.segment_bytes {
        return Err(corrupt(file_bytes.min(segment.segment_bytes), Problem::Cut));
    }
    Ok(Place {
        file,
        segment,
        offset: BLOCK_BYTES as u64,
        next_batch: segment.first_batch,
        previous_crc: segment.previous_crc,
        last_epoch: segment.last_epoch,
        last_group: BLOCK_BYTES as u64,
        batch_bytes: 0,
        open_group: None,
        may_be_inside: false,
    })
}
