//! `LogReader`: reads the groups of a log from a segment on, batch by batch, each checked.
//!
//! A batch is returned only if its whole group is there: where a group of several batches begins,
//! the reader looks ahead to its end. docs/log-format.md, "Opening a log".

use std::sync::Arc;

use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;

use super::LogError;
use super::names::{segment_path, segments};
use super::search::{Found, View};
use crate::batch::{Batch, BatchHeader, decode_batch_header};
use crate::error::Problem;
use crate::mutant::{Mutant, is_mutant};
use crate::segment_header::SegmentHeader;
use crate::{BLOCK_BYTES, DatabaseId, Epoch};

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
    buffer: Vec<u8>,
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
            buffer: Vec::new(),
        })
    }

    /// Returns the next batch, or `None` at the end of the log. The batches of one group come one
    /// after another, from `number == group` to `is_last`.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] where a batch is damaged that was durable, [`LogError::Io`].
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, LogError> {
        loop {
            if self.end.is_some() {
                return Ok(None);
            }
            if self.place.next_batch >= self.group_end {
                match self.look_ahead()? {
                    Ahead::Single(behind) => {
                        self.place = behind;
                        break;
                    }
                    Ahead::Several => {}
                    Ahead::Elsewhere => continue,
                }
            }
            let mut behind = self.place.clone();
            let Step::Batch(_) = self.step(&mut behind)? else {
                return Err(self.corrupt(&behind, Problem::PayloadChecksum));
            };
            self.place = behind;
            break;
        }
        let decoded = Batch::decode(&self.buffer);
        decoded.map(Some).map_err(|error| self.corrupt(&self.place, error.problem))
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

    /// Finds the end of the group that begins here.
    fn look_ahead(&mut self) -> Result<Ahead, LogError> {
        let mut ahead = self.place.clone();
        loop {
            match self.step(&mut ahead)? {
                Step::Batch(header) if header.group < self.place.next_batch => {
                    self.leave_out(ahead);
                    return Ok(Ahead::Elsewhere);
                }
                Step::Batch(header) if header.is_last => {
                    self.group_end = header.number + 1;
                    let is_single = header.number == self.place.next_batch;
                    return Ok(if is_single { Ahead::Single(ahead) } else { Ahead::Several });
                }
                Step::Batch(_) => {}
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
                let (open_group, may_be_inside) = (place.open_group, place.may_be_inside);
                *place = Place { open_group, may_be_inside, ..next };
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
        self.read(place, BLOCK_BYTES)?;
        let (header, byte_count) = match decode_batch_header(&self.buffer) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error.problem)),
        };
        if !place.is_due(&header) {
            return Ok(Err(Problem::Field("place in the log")));
        }
        // Checked against the file before memory is taken for it.
        if place.offset + byte_count as u64 > place.segment.segment_bytes {
            return Ok(Err(Problem::Cut));
        }
        if byte_count > BLOCK_BYTES {
            self.read(place, byte_count)?;
        }
        let crc = match Batch::decode(&self.buffer) {
            Ok(batch) => batch.crc,
            Err(error) => return Ok(Err(error.problem)),
        };
        if header.group == header.number {
            place.last_group = place.offset;
        }
        place.offset += byte_count as u64;
        place.next_batch += 1;
        place.previous_crc = crc;
        place.last_epoch = header.last_epoch;
        place.open_group = (!header.is_last).then_some(header.group);
        place.may_be_inside = false;
        Ok(Ok(header))
    }

    fn read(&mut self, place: &Place, bytes: usize) -> Result<(), LogError> {
        self.buffer.resize(bytes, 0);
        let read = place.file.read_at(place.offset, &mut self.buffer);
        let path = segment_path(&self.folder, place.segment.number);
        self.buffer.truncate(read.map_err(LogError::io(&path))?);
        Ok(())
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
        open_group: None,
        may_be_inside: false,
    })
}
