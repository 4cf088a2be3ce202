//! `LogFolder`: the names in the folder of a log. It makes segments of spares and new files, and
//! retires segments that no recovery reads.
//!
//! The log thread and the keeper use it, one at a time: see [`crate::desk`]. Each rename and each
//! removal is followed by a sync of the folder before the other one may change a name, so that a
//! sync that fails takes back the names of one thread only.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use sos::sync::{AtomicBool, AtomicU64, Ordering};
use sos::sys::{Disk, DiskFile, Open, is_disk_full};
use sos::wait::WaitType;
use sos::{clock, park};

use super::names::{larger_path, new_path, segment_path, segments, spare_path, spares, take_void};
use super::{LogError, LogOptions};
use crate::desk::{Desk, Failure};
use crate::hurry::Hurry;
use crate::mutant::{Mutant, is_mutant};
use crate::segment_header::{SegmentHeader, void_block};
use crate::space::{Space, SpaceCell};
use crate::{BLOCK_BYTES, Epoch};

/// On a full disk a segment may be smaller by this factor: 1 MiB instead of 64 MiB.
const SMALLER_BY_MAX: u64 = 64;

/// Spares that are kept.
const SPARES_MAX: usize = 2;

/// Bytes of zeros in one write to a new file.
const ZEROS: usize = 64 * BLOCK_BYTES;

/// The longest rest between two of them.
const REST_OF_ZEROS_MAX: Duration = Duration::from_millis(10);

/// How long the log thread and the keeper sleep between two looks whether the other one is done.
const REST: Duration = Duration::from_micros(100);

/// The keeper shall prepare a file.
pub(super) const PREPARE: u64 = 1;
/// The keeper shall retire segments.
pub(super) const RETIRE: u64 = 2;

/// The folder of a log.
#[derive(Debug)]
pub struct LogFolder {
    disk: Arc<dyn Disk>,
    pub(super) options: LogOptions,
    desk: Desk<Spare, LogError, Files>,
    /// What the keeper shall do.
    requests: AtomicU64,
    /// Segments before this one are to be retired.
    retired_before: AtomicU64,
    /// Bytes of all segments.
    log_bytes: AtomicU64,
    /// The size of the file that is ready; 0 without one. Changed by the thread at the desk.
    prepared_bytes: AtomicU64,
    /// Whether the disk has room for another file.
    space: SpaceCell,
    /// Whether a keeper looks for room. Without one the log thread does when it needs a file.
    has_keeper: AtomicBool,
    /// Whether the keeper is to end early what it does.
    hurry: Hurry,
    /// The last segment when the folder was opened.
    last_segment: Option<u64>,
}

/// The files in the folder.
#[derive(Debug, Default)]
struct Files {
    /// Numbers and sizes of the segments, rising. The last one is being written.
    segments: VecDeque<(u64, u64)>,
    /// Numbers of the spares.
    spares: VecDeque<u64>,
}

/// A file that becomes a segment.
#[derive(Debug)]
struct Spare {
    path: String,
    /// Its number if it was a segment.
    number: Option<u64>,
    file: Box<dyn DiskFile>,
    generation: u64,
    bytes: u64,
}

/// What a new segment has to say and hold.
pub(super) struct Next {
    pub(super) number: u64,
    pub(super) first_batch: u64,
    pub(super) previous_crc: u32,
    pub(super) last_epoch: Epoch,
    pub(super) batch_bytes: u64,
}

impl Failure for LogError {
    fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    fn is_final_already() -> Self {
        Self::Suspect
    }
}

fn rest() {
    park::sleep(REST, WaitType::LogBuffer, None);
}

impl LogFolder {
    /// Reads the names that are in the folder.
    pub(super) fn open(disk: Arc<dyn Disk>, options: LogOptions) -> Result<Self, LogError> {
        let folder = &options.folder;
        let mut files = Files { spares: spares(&*disk, folder)?.into(), ..Files::default() };
        let mut numbers = segments(&*disk, folder)?;
        for number in take_void(&*disk, folder, &mut numbers)? {
            // Again, since a sync that failed may have left it void in memory only.
            let path = segment_path(folder, number);
            make_void(&*disk, folder, number)?;
            disk.remove(&path).map_err(LogError::io(&path))?;
        }
        for number in numbers {
            let path = segment_path(folder, number);
            let file = disk.open(&path, Open::Read, WaitType::IoCompletion);
            let bytes = file.and_then(|file| file.len()).map_err(LogError::io(&path))?;
            files.segments.push_back((number, bytes));
        }
        let log_bytes = AtomicU64::new(files.bytes());
        let last_segment = files.segments.back().map(|(number, _)| *number);
        let desk = Desk::new(files);
        let (requests, retired_before) = (AtomicU64::new(0), AtomicU64::new(0));
        let (prepared_bytes, has_keeper) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self {
            disk,
            options,
            desk,
            requests,
            retired_before,
            log_bytes,
            prepared_bytes,
            space: SpaceCell::new(),
            has_keeper,
            hurry: Hurry::default(),
            last_segment,
        })
    }

    /// Returns the number of the last segment that was there when the folder was opened.
    pub(super) const fn last_segment(&self) -> Option<u64> {
        self.last_segment
    }

    /// Asks the keeper to turn segments before this one into spares. The caller knows that no
    /// recovery reads them: a checkpoint that covers them is durable.
    pub fn retire(&self, before: u64) {
        self.retired_before.fetch_max(before, Ordering::Relaxed);
        self.request(RETIRE);
    }

    /// Returns the bytes of all segments, without spares.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    /// Returns the size of the file that is prepared for the next segment; 0 without one.
    pub(super) fn prepared_bytes(&self) -> u64 {
        self.prepared_bytes.load(Ordering::Relaxed)
    }

    /// Returns whether the disk has room for another file, as the last look found it.
    pub(crate) fn space(&self) -> Space {
        self.space.get()
    }

    /// Notes that a keeper looks for room from now on.
    pub(super) fn note_keeper(&self) {
        self.has_keeper.store(true, Ordering::Relaxed);
        if self.space.get() == Space::Short {
            self.space.set(Space::Unknown);
        }
    }

    /// Asks the keeper to prepare a file, or to make the one that is prepared larger.
    pub fn ask_for_room(&self) {
        self.request(PREPARE);
    }

    /// Fails if the keeper has failed.
    pub(crate) fn see_failure(&self) -> Result<(), LogError> {
        self.desk.see()
    }

    pub(super) const fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Wakes the keeper for a request.
    pub(super) fn request(&self, request: u64) {
        // Release: pairs with the Acquire in `take_requests`, for the number of `retire`.
        self.requests.fetch_or(request, Ordering::Release);
        park::unpark_one(self.key());
    }

    /// Wakes the keeper, and ends what it does if that may be left: after a request to stop.
    pub fn wake(&self) {
        self.hurry.stop();
        park::unpark_one(self.key());
    }

    /// Returns the address under which the keeper sleeps.
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(&self.requests).addr()
    }

    pub(super) fn has_requests(&self) -> bool {
        self.requests.load(Ordering::Acquire) != 0
    }

    pub(super) fn take_requests(&self) -> u64 {
        self.requests.swap(0, Ordering::Acquire)
    }

    /// Prepares the file of the next segment, smaller than usual if there is no room. A smaller one
    /// that is there is made larger if it can be. No room is no error: the log thread looks for it
    /// when it needs it.
    pub(super) fn prepare(&self) -> Result<(), LogError> {
        let usual = self.options.segment_bytes;
        self.desk.prepare(rest, |ready, files| {
            if let Some(spare) = ready {
                return self.enlarge(spare);
            }
            let spare = match self.take_spare(files, usual)? {
                Some(spare) => spare,
                None => {
                    let spare = self.new_file_up_to(usual, BLOCK_BYTES as u64)?;
                    // Its room is there for commits, whatever is written to it.
                    self.note_prepared(spare.bytes);
                    self.write_zeros(&spare)?;
                    spare
                }
            };
            // Its length shall be durable before the log thread needs it.
            spare.file.sync().map_err(LogError::io(&spare.path))?;
            self.note_prepared(spare.bytes);
            *ready = Some(spare);
            Ok(())
        })
    }

    /// Writes zeros to a new file until it is full or the log thread waits for it. The file system then
    /// has nothing to note about a write of the log; else each first write of a block changes the
    /// file's metadata, which become durable with it: docs/decisions/0407.
    fn write_zeros(&self, spare: &Spare) -> Result<(), LogError> {
        let memory = vec![0_u8; ZEROS + BLOCK_BYTES];
        // Direct writes from other places copy.
        let zeros = &memory[memory.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES)..][..ZEROS];
        let is_written = self.options.sync.is_write_through();
        let mut offset = 0;
        while offset < spare.bytes && !self.hurry.is_on() {
            let bytes = usize::try_from(spare.bytes - offset).map_or(ZEROS, |rest| rest.min(ZEROS));
            let start_ns = clock::monotonic_ns();
            let write_back = || match is_written {
                true => Ok(()),
                false => spare.file.write_back(offset, bytes as u64),
            };
            let written = spare.file.write_at(offset, &zeros[..bytes]).and_then(|()| write_back());
            written.map_err(LogError::io(&spare.path))?;
            offset += bytes as u64;
            // The device is the log's for as long.
            let took = Duration::from_nanos(clock::monotonic_ns() - start_ns);
            park::sleep(took.min(REST_OF_ZEROS_MAX), WaitType::SleepTask, None);
        }
        Ok(())
    }

    /// Replaces a prepared file that is smaller than usual by a larger one, if there is room.
    fn enlarge(&self, spare: &mut Spare) -> Result<(), LogError> {
        let usual = self.options.segment_bytes;
        let folder = &self.options.folder;
        let names = [new_path(folder), larger_path(folder)];
        let path = names.iter().find(|name| **name != spare.path).expect("the names differ");
        for bytes in sizes(usual, spare.bytes).take_while(|bytes| *bytes > spare.bytes) {
            match self.new_file(path, bytes) {
                Err(LogError::Full { .. }) => {}
                Err(error) => return Err(error),
                Ok(larger) => {
                    larger.file.sync().map_err(LogError::io(path))?;
                    let smaller = std::mem::replace(spare, larger);
                    self.remove_if_there(&smaller.path)?;
                    break;
                }
            }
        }
        self.note_prepared(spare.bytes);
        Ok(())
    }

    /// Notes the size of a file that is there now.
    fn note_prepared(&self, bytes: u64) {
        self.prepared_bytes.store(bytes, Ordering::Relaxed);
        self.note_space(bytes);
    }

    /// Notes the size of a file that becomes a segment. There may be room for another one: a keeper
    /// finds out.
    fn note_used(&self, bytes: u64) {
        let is_usual = bytes >= self.options.segment_bytes;
        self.space.set(match (is_usual, self.has_keeper.load(Ordering::Relaxed)) {
            (true, _) => Space::Enough,
            (false, true) => Space::Unknown,
            (false, false) => Space::Short,
        });
    }

    /// Notes the size of the largest file for which there was room.
    fn note_space(&self, bytes: u64) {
        let is_usual = bytes >= self.options.segment_bytes;
        self.space.set(if is_usual { Space::Enough } else { Space::Short });
    }

    /// Retires the segments that [`Self::retire`] has named.
    pub(super) fn retire_requested(&self) -> Result<(), LogError> {
        self.retire_now(self.retired_before.load(Ordering::Relaxed))
    }

    /// Retires segments before this one, but not the one that is being written.
    pub(super) fn retire_now(&self, before: u64) -> Result<(), LogError> {
        let before = before + u64::from(is_mutant(Mutant::RecycledTooEarly));
        // Segments go one by one from the front, so that a crash leaves no gap. The log thread
        // may have the desk in between.
        while self.desk.change(rest, |files| self.retire_first(files, before))? {}
        Ok(())
    }

    fn retire_first(&self, files: &mut Files, before: u64) -> Result<bool, LogError> {
        let Some((number, bytes)) = files.segments.front().copied() else { return Ok(false) };
        if number >= before || files.segments.len() == 1 {
            return Ok(false);
        }
        let folder = &self.options.folder;
        let path = segment_path(folder, number);
        let is_kept = bytes == self.options.segment_bytes && files.spares.len() < SPARES_MAX;
        if is_kept {
            let spare = spare_path(folder, number);
            self.disk.rename(&path, &spare).map_err(LogError::io(&path))?;
            files.spares.push_back(number);
        } else {
            self.disk.remove(&path).map_err(LogError::io(&path))?;
        }
        self.disk.sync_folder(folder).map_err(LogError::io(folder))?;
        files.segments.pop_front();
        self.log_bytes.store(files.bytes(), Ordering::Relaxed);
        Ok(true)
    }

    /// Removes segments behind the end of the log, from the last one on, to leave no gap. Each is made
    /// void before: see [`take_void`]. This is the log thread's: an error is its own, not the keeper's.
    pub(super) fn remove_behind(&self, keep: u64) -> Result<(), LogError> {
        let folder = &self.options.folder;
        self.desk.take(rest, |_nothing_is_ready, files| {
            while let Some((number, _)) = files.segments.pop_back_if(|(number, _)| *number > keep) {
                let path = segment_path(folder, number);
                if !is_mutant(Mutant::RemovedNotVoid) {
                    make_void(&*self.disk, folder, number)?;
                }
                self.disk.remove(&path).map_err(LogError::io(&path))?;
                self.disk.sync_folder(folder).map_err(LogError::io(folder))?;
            }
            Ok(())
        })
    }

    /// Makes a segment of what is prepared, or of a spare, or of a new file, which is smaller than
    /// usual if there is no room. It has its name only when its header is durable.
    pub(super) fn make_segment(
        &self,
        next: &Next,
    ) -> Result<(Box<dyn DiskFile>, SegmentHeader), LogError> {
        let folder = &self.options.folder;
        self.hurry.begin_wait();
        self.desk.take(rest, |ready, files| {
            self.hurry.end_wait();
            self.prepared_bytes.store(0, Ordering::Relaxed);
            let spare = self.find_file(ready, files, BLOCK_BYTES as u64 + next.batch_bytes)?;
            self.note_used(spare.bytes);
            let header = SegmentHeader {
                database: self.options.database,
                number: next.number,
                generation: spare.generation,
                segment_bytes: spare.bytes,
                first_batch: next.first_batch,
                previous_crc: next.previous_crc,
                last_epoch: next.last_epoch,
            };
            let path = &spare.path;
            spare.file.write_at(0, &header.encode()).map_err(LogError::io(path))?;
            spare.file.sync().map_err(LogError::io(path))?;
            let named = segment_path(folder, next.number);
            self.disk.rename(path, &named).map_err(LogError::io(path))?;
            if !is_mutant(Mutant::FolderNotSynced) {
                self.disk.sync_folder(folder).map_err(LogError::io(folder))?;
            }
            files.spares.retain(|number| Some(*number) != spare.number);
            files.segments.push_back((next.number, spare.bytes));
            self.log_bytes.store(files.bytes(), Ordering::Relaxed);
            Ok((spare.file, header))
        })
    }

    /// Finds a file with room for `bytes`.
    fn find_file(
        &self,
        ready: Option<Spare>,
        files: &mut Files,
        bytes: u64,
    ) -> Result<Spare, LogError> {
        if let Some(ready) = ready.filter(|ready| ready.bytes >= bytes) {
            return Ok(ready);
        }
        let usual = self.options.segment_bytes.max(bytes);
        if let Some(spare) = self.take_spare(files, usual)? {
            return Ok(spare);
        }
        self.new_file_up_to(usual, bytes)
    }

    /// Makes a file of the largest size for which there is room, with room for `bytes` at least.
    fn new_file_up_to(&self, usual: u64, bytes: u64) -> Result<Spare, LogError> {
        let least = (self.options.segment_bytes / SMALLER_BY_MAX).max(bytes);
        let folder = &self.options.folder;
        let path = new_path(folder);
        self.remove_if_there(&larger_path(folder))?;
        let mut last = None;
        for size in sizes(usual, least) {
            match self.new_file(&path, size) {
                Err(full @ LogError::Full { .. }) => last = Some(full),
                made => return made,
            }
        }
        self.note_space(0);
        Err(last.expect("there is one size at least"))
    }

    /// Opens a spare of exactly this size. Other spares are removed: of another size, without a
    /// readable header, or with another number, since such a file may have the name of a segment as
    /// well after a folder's sync failed.
    fn take_spare(&self, files: &mut Files, bytes: u64) -> Result<Option<Spare>, LogError> {
        while let Some(number) = files.spares.front().copied() {
            let path = spare_path(&self.options.folder, number);
            let sync = self.options.sync;
            let file = self.disk.open_with(&path, Open::Write, sync, WaitType::WriteLog);
            let file = file.map_err(LogError::room(&path))?;
            let mut block = [0; BLOCK_BYTES];
            let read = file.read_at(0, &mut block).map_err(LogError::io(&path))?;
            let header = SegmentHeader::decode(&block).ok().filter(|_| read == BLOCK_BYTES);
            let found = file.len().map_err(LogError::io(&path))?;
            files.spares.pop_front();
            if let Some(header) = header
                && found == bytes
                && header.number == number
            {
                let (number, generation) = (Some(number), header.generation + 1);
                return Ok(Some(Spare { path, number, file, generation, bytes }));
            }
            self.disk.remove(&path).map_err(LogError::io(&path))?;
        }
        Ok(None)
    }

    fn remove_if_there(&self, path: &str) -> Result<(), LogError> {
        match self.disk.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(LogError::Io { path: path.to_owned(), error })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Makes a file with all its room taken. One that is left from an earlier start is not used:
    /// after a failed sync its length may not be durable.
    fn new_file(&self, path: &str, bytes: u64) -> Result<Spare, LogError> {
        self.remove_if_there(path)?;
        let sync = self.options.sync;
        let file = self.disk.open_with(path, Open::Create, sync, WaitType::WriteLog);
        let path = path.to_owned();
        let made = file.and_then(|file| {
            file.allocate(0, bytes)?;
            Ok(file)
        });
        match made {
            Ok(file) => Ok(Spare { path, number: None, file, generation: 1, bytes }),
            Err(error) => {
                if is_disk_full(&error) {
                    // It may not exist; a file that stays is removed by the next call.
                    let _ = self.disk.remove(&path);
                }
                Err(LogError::room(&path)(error))
            }
        }
    }
}

/// Makes a segment void, durably. One that has no room for a batch has nothing to hide.
fn make_void(disk: &dyn Disk, folder: &str, number: u64) -> Result<(), LogError> {
    let path = segment_path(folder, number);
    let make = || {
        let file = disk.open(&path, Open::Write, WaitType::IoCompletion)?;
        if file.len()? < 2 * BLOCK_BYTES as u64 {
            return Ok(());
        }
        file.write_at(BLOCK_BYTES as u64, &void_block(number))?;
        file.sync()
    };
    make().map_err(LogError::io(&path))
}

/// Iterates over sizes of a file, the largest first: each is half of the one before.
fn sizes(largest: u64, least: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(largest), move |size| {
        let half = (size / 2).next_multiple_of(BLOCK_BYTES as u64);
        (*size > least).then(|| half.max(least).min(size - BLOCK_BYTES as u64))
    })
}

impl Files {
    fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, bytes)| bytes).sum()
    }
}
