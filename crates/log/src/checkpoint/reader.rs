//! `CheckpointReader`: reads the ranges and definitions of a checkpoint. Threads may use it at once,
//! each with a buffer of its own.

use std::collections::BTreeMap;
use std::io;

use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;

use super::RangeKey;
use super::format::{
    BLOCK_HEADER_BYTES, BlockHeader, FILE_HEADER_BYTES, FileHeader, INDEX_ENTRY_BYTES, IndexEntry,
    Kind, TRAILER_BYTES, Trailer,
};
use super::manifest::{FileEntry, Manifest, RangePlace};
use super::store::{CheckpointOptions, path_of};
use crate::LogError;
use crate::bytes::Cursor;
use crate::error::{FormatError, Problem};

/// Reads what a manifest names.
#[derive(Debug)]
pub struct CheckpointReader {
    files: BTreeMap<u64, OpenFile>,
    definitions: Option<(OpenFile, RangePlace)>,
    ranges: BTreeMap<RangeKey, RangePlace>,
}

#[derive(Debug)]
struct OpenFile {
    file: Box<dyn DiskFile>,
    path: String,
    index: Vec<IndexEntry>,
}

/// Returns an error with the path, of bytes that begin at an offset of the file.
fn damaged(path: &str, base: u64) -> impl Fn(FormatError) -> LogError {
    move |FormatError { offset, problem }| {
        let path = path.to_owned();
        match problem {
            Problem::Version(version) => LogError::FileVersion { path, version },
            problem => LogError::CorruptFile { path, offset: base + offset as u64, problem },
        }
    }
}

/// Reads exactly this many bytes.
fn read_exactly(
    file: &dyn DiskFile,
    path: &str,
    offset: u64,
    into: &mut [u8],
) -> Result<(), LogError> {
    let read = file.read_at(offset, into).map_err(LogError::io(path))?;
    if read < into.len() {
        return Err(damaged(path, offset)(FormatError::new(read, Problem::Cut)));
    }
    Ok(())
}

impl CheckpointReader {
    /// Opens the files of a manifest and checks their headers, trailers and indexes.
    pub(super) fn open(
        disk: &dyn Disk,
        options: &CheckpointOptions,
        manifest: &Manifest,
    ) -> Result<Self, LogError> {
        let mut files = BTreeMap::new();
        for (number, bytes) in &manifest.files {
            let entry = FileEntry { number: *number, bytes: *bytes };
            files.insert(*number, OpenFile::open(disk, options, Kind::Ranges, entry)?);
        }
        let definitions = manifest.definitions.map(|entry| {
            let file = OpenFile::open(disk, options, Kind::Definitions, entry)?;
            let whole = file.index.first().map(|entry| entry.place(0));
            whole.map(|whole| (file, whole)).ok_or_else(|| {
                let path = path_of(&options.folder, Kind::Definitions, entry.number);
                damaged(&path, 0)(FormatError::new(0, Problem::Field("index")))
            })
        });
        let ranges = manifest.ranges.clone();
        for (key, place) in &ranges {
            let file = &files[&place.file];
            let entry = place.entry(*key);
            if file.index.binary_search_by_key(&entry.offset, |e| e.offset).map(|at| file.index[at])
                != Ok(entry)
            {
                let error = FormatError::new(0, Problem::Field("place of a range"));
                return Err(damaged(&file.path, place.offset)(error));
            }
        }
        Ok(Self { files, definitions: definitions.transpose()?, ranges })
    }

    /// Returns the ranges and where they are, by table, part and range.
    #[must_use]
    pub const fn ranges(&self) -> &BTreeMap<RangeKey, RangePlace> {
        &self.ranges
    }

    /// Reads a range into a buffer and checks it; returns its rows, none if there is no such range.
    ///
    /// # Errors
    /// [`LogError::CorruptFile`], [`LogError::Io`].
    pub fn range<'b>(
        &self,
        key: RangeKey,
        buffer: &'b mut Vec<u8>,
    ) -> Result<RangeRows<'b>, LogError> {
        let Some(place) = self.ranges.get(&key) else { return Ok(RangeRows(Items::new(&[]))) };
        self.read_blocks(key, place, buffer)?;
        Ok(RangeRows(Items::new(buffer)))
    }

    /// Reads all definitions into a buffer and checks them.
    ///
    /// # Errors
    /// As [`Self::range`].
    pub fn definitions<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<Definitions<'b>, LogError> {
        let Some((file, place)) = &self.definitions else {
            return Ok(Definitions(Items::new(&[])));
        };
        file.read_blocks(RangeKey::default(), place, buffer, pair)?;
        Ok(Definitions(Items::new(buffer)))
    }

    /// Reads the blocks of a range and checks them.
    pub(super) fn read_blocks(
        &self,
        key: RangeKey,
        place: &RangePlace,
        buffer: &mut Vec<u8>,
    ) -> Result<(), LogError> {
        self.files[&place.file].read_blocks(key, place, buffer, row)
    }
}

impl OpenFile {
    fn open(
        disk: &dyn Disk,
        options: &CheckpointOptions,
        kind: Kind,
        entry: FileEntry,
    ) -> Result<Self, LogError> {
        let path = path_of(&options.folder, kind, entry.number);
        let file = match disk.open(&path, Open::Read, WaitType::IoCompletion) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LogError::MissingFile(path));
            }
            Err(error) => return Err(LogError::Io { path, error }),
        };
        let len = file.len().map_err(LogError::io(&path))?;
        let least = (FILE_HEADER_BYTES + TRAILER_BYTES) as u64;
        if len != entry.bytes || len < least {
            let cut = FormatError::new(0, Problem::Cut);
            return Err(damaged(&path, len.min(entry.bytes))(cut));
        }
        let mut head = [0; FILE_HEADER_BYTES];
        read_exactly(&*file, &path, 0, &mut head)?;
        let header = FileHeader::decode(&head, kind).map_err(damaged(&path, 0))?;
        if header.database != options.database {
            return Err(LogError::ForeignFile(path));
        }
        let trailer_at = len - TRAILER_BYTES as u64;
        let mut tail = [0; TRAILER_BYTES];
        read_exactly(&*file, &path, trailer_at, &mut tail)?;
        let trailer = Trailer::decode(&tail).map_err(damaged(&path, trailer_at))?;
        let is_same = header.number == entry.number
            && trailer.number == entry.number
            && trailer.checkpoint == header.checkpoint;
        if !is_same {
            return Err(damaged(&path, 40)(FormatError::new(0, Problem::Field("file number"))));
        }
        let index = read_index(&*file, &path, &trailer, trailer_at)?;
        Ok(Self { file, path, index })
    }

    fn read_blocks(
        &self,
        key: RangeKey,
        place: &RangePlace,
        buffer: &mut Vec<u8>,
        item: Parse,
    ) -> Result<(), LogError> {
        // The place was checked against the index, and that against the length of the file.
        buffer.resize(usize::try_from(place.bytes).expect("a range fits into memory"), 0);
        read_exactly(&*self.file, &self.path, place.offset, buffer)?;
        let rows = check_blocks(buffer, key, item).map_err(damaged(&self.path, place.offset))?;
        if rows != place.rows {
            let error = FormatError::new(0, Problem::Field("number of rows"));
            return Err(damaged(&self.path, place.offset)(error));
        }
        Ok(())
    }
}

fn read_index(
    file: &dyn DiskFile,
    path: &str,
    trailer: &Trailer,
    trailer_at: u64,
) -> Result<Vec<IndexEntry>, LogError> {
    let bytes = trailer.ranges.checked_mul(INDEX_ENTRY_BYTES as u64);
    let end = bytes.and_then(|bytes| trailer.index_offset.checked_add(bytes));
    if end != Some(trailer_at) {
        let error = FormatError::new(0, Problem::Field("offset of the index"));
        return Err(damaged(path, trailer_at + 40)(error));
    }
    let bytes = usize::try_from(trailer_at - trailer.index_offset).expect("an index is small");
    let mut index = vec![0; bytes];
    read_exactly(file, path, trailer.index_offset, &mut index)?;
    if crc32c::crc32c(&index) != trailer.index_crc {
        let error = FormatError::new(0, Problem::PayloadChecksum);
        return Err(damaged(path, trailer.index_offset)(error));
    }
    let mut cursor = Cursor::new(&index, 0);
    let mut entries = Vec::new();
    let (mut rows, mut last_end) = (0_u64, FILE_HEADER_BYTES as u64);
    while !cursor.is_at_end() {
        let problem = cursor.error(Problem::Field("index entry"));
        let entry = IndexEntry::read(&mut cursor).map_err(damaged(path, trailer.index_offset))?;
        let end = entry.offset.checked_add(entry.bytes);
        let Some(end) = end.filter(|end| entry.offset >= last_end && *end <= trailer.index_offset)
        else {
            return Err(damaged(path, trailer.index_offset)(problem));
        };
        (last_end, rows) = (end, rows.saturating_add(entry.rows));
        entries.push(entry);
    }
    if rows != trailer.rows {
        let error = FormatError::new(0, Problem::Field("number of rows"));
        return Err(damaged(path, trailer_at + 32)(error));
    }
    Ok(entries)
}

/// Takes one item of a payload.
type Parse = fn(&mut Cursor<'_>) -> Result<(), FormatError>;

fn row(cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
    take_row(cursor).map(|_| ())
}

fn pair(cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
    take_pair(cursor).map(|_| ())
}

fn take_row<'a>(cursor: &mut Cursor<'a>) -> Result<(u64, &'a [u8]), FormatError> {
    let id = cursor.varint()?;
    let bytes = cursor.varint()?;
    Ok((id, cursor.take(bytes)?))
}

fn take_pair<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a [u8], &'a [u8]), FormatError> {
    let key_bytes = cursor.varint()?;
    let key = cursor.take(key_bytes)?;
    let value_bytes = cursor.varint()?;
    Ok((key, cursor.take(value_bytes)?))
}

/// Checks all blocks of a range; returns the number of its rows.
fn check_blocks(blocks: &[u8], key: RangeKey, item: Parse) -> Result<u64, FormatError> {
    let (mut rest, mut at, mut number, mut rows) = (blocks, 0, 0, 0_u64);
    while !rest.is_empty() {
        let at_block = |error: FormatError| FormatError::new(at + error.offset, error.problem);
        let (header, payload) = split_block(rest).map_err(at_block)?;
        if header.key != key || header.number != number {
            return Err(FormatError::new(at, Problem::Field("place in its range")));
        }
        if crc32c::crc32c(payload) != header.payload_crc {
            return Err(FormatError::new(at, Problem::PayloadChecksum));
        }
        let mut cursor = Cursor::new(payload, at + BLOCK_HEADER_BYTES);
        check_items(&mut cursor, header.rows, item)?;
        rows += u64::from(header.rows);
        number += 1;
        let bytes = BLOCK_HEADER_BYTES + payload.len();
        (rest, at) = (&rest[bytes..], at + bytes);
    }
    Ok(rows)
}

fn check_items(cursor: &mut Cursor<'_>, rows: u32, item: Parse) -> Result<(), FormatError> {
    for _ in 0..rows {
        item(cursor)?;
    }
    if cursor.is_at_end() { Ok(()) } else { Err(cursor.error(Problem::RecordLength)) }
}

/// Splits the header and the payload of the first block off.
fn split_block(bytes: &[u8]) -> Result<(BlockHeader, &[u8]), FormatError> {
    let cut = || FormatError::new(bytes.len(), Problem::Cut);
    let header = bytes.first_chunk::<BLOCK_HEADER_BYTES>().ok_or_else(cut)?;
    let header = BlockHeader::decode(header)?;
    let end = BLOCK_HEADER_BYTES + header.payload_bytes as usize;
    let payload = bytes.get(BLOCK_HEADER_BYTES..end).ok_or_else(cut)?;
    Ok((header, payload))
}

/// The payloads of blocks that were checked.
#[derive(Clone, Debug)]
struct Items<'b> {
    rest: &'b [u8],
    payload: Cursor<'b>,
}

impl<'b> Items<'b> {
    const fn new(blocks: &'b [u8]) -> Self {
        Self { rest: blocks, payload: Cursor::new(&[], 0) }
    }

    fn next<T>(
        &mut self,
        take: impl FnOnce(&mut Cursor<'b>) -> Result<T, FormatError>,
    ) -> Option<T> {
        if self.payload.is_at_end() {
            if self.rest.is_empty() {
                return None;
            }
            let (_, payload) = split_block(self.rest).expect("blocks were checked");
            self.rest = &self.rest[BLOCK_HEADER_BYTES + payload.len()..];
            self.payload = Cursor::new(payload, 0);
        }
        Some(take(&mut self.payload).expect("rows were checked with their block"))
    }
}

/// The rows of a range: row id and image.
#[derive(Clone, Debug)]
pub struct RangeRows<'b>(Items<'b>);

impl<'b> Iterator for RangeRows<'b> {
    type Item = (u64, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(take_row)
    }
}

/// The definitions of a checkpoint: key and value.
#[derive(Clone, Debug)]
pub struct Definitions<'b>(Items<'b>);

impl<'b> Iterator for Definitions<'b> {
    type Item = (&'b [u8], &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(take_pair)
    }
}

impl IndexEntry {
    pub(super) const fn place(&self, file: u64) -> RangePlace {
        RangePlace { file, offset: self.offset, bytes: self.bytes, rows: self.rows }
    }
}

impl RangePlace {
    const fn entry(&self, key: RangeKey) -> IndexEntry {
        IndexEntry { key, offset: self.offset, bytes: self.bytes, rows: self.rows }
    }
}
