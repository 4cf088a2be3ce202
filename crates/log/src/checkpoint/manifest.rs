//! `Manifest`: which files and ranges a checkpoint has, and where the log goes on.

use std::collections::BTreeMap;

use super::format::{check, check_version, check_zero, push_key, read_key, seal};
use super::{CHECKPOINT_VERSION, RangeKey};
use crate::bytes::{Cursor, u32_at, u64_at};
use crate::error::{FormatError, Problem};
use crate::{DatabaseId, Epoch};

const MAGIC: &[u8; 8] = b"CWMANIFE";
const HEADER_BYTES: usize = 128;

/// What belongs to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The database whose checkpoint this is.
    pub database: DatabaseId,
    /// From 1, one more per checkpoint that was begun.
    pub number: u64,
    /// The segment with which recovery begins to read the log.
    pub first_segment: u64,
    /// The first epoch whose groups recovery replays.
    pub first_epoch: Epoch,
    /// When it was published, in units of 100 ns since 0001-01-01.
    pub utc_100ns: u64,
    /// The definitions file; none without definitions.
    pub definitions: Option<FileEntry>,
    /// Bytes of the range files, by number.
    pub files: BTreeMap<u64, u64>,
    /// Numbers whose keys and meaning belong to the caller.
    pub counters: BTreeMap<u32, u64>,
    /// Where each range is.
    pub ranges: BTreeMap<RangeKey, RangePlace>,
    /// The number of the next file.
    pub(super) next_file: u64,
}

/// A file of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Number of the file, which is its name.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
}

/// Where the blocks of a range are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangePlace {
    /// Number of the range file.
    pub file: u64,
    /// Offset of the first block in it.
    pub offset: u64,
    /// Length of all blocks.
    pub bytes: u64,
    /// Number of rows.
    pub rows: u64,
}

impl Manifest {
    /// Returns the bytes of the range files that it refers to.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.ranges.values().map(|place| place.bytes).sum()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let definitions = self.definitions.unwrap_or(FileEntry { number: 0, bytes: 0 });
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&CHECKPOINT_VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.database.0);
        let fields = [
            (32, self.number),
            (40, self.first_segment),
            (48, self.first_epoch.0),
            (56, self.utc_100ns),
            (64, self.next_file),
            (72, definitions.number),
            (80, definitions.bytes),
            (96, self.ranges.len() as u64),
        ];
        for (at, field) in fields {
            bytes[at..at + 8].copy_from_slice(&field.to_le_bytes());
        }
        for (at, count) in [(88, self.files.len()), (92, self.counters.len())] {
            let count = u32::try_from(count).expect("files and counters are few");
            bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
        }
        seal(&mut bytes);
        for (number, file_bytes) in &self.files {
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes.extend_from_slice(&file_bytes.to_le_bytes());
        }
        for (key, value) in &self.counters {
            bytes.extend_from_slice(&u64::from(*key).to_le_bytes());
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        for (key, place) in &self.ranges {
            push_key(&mut bytes, *key);
            for field in [place.file, place.offset, place.bytes, place.rows] {
                bytes.extend_from_slice(&field.to_le_bytes());
            }
        }
        let crc = crc32c::crc32c(&bytes[HEADER_BYTES..]);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let error = |at, problem| Err(FormatError::new(at, problem));
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return error(bytes.len(), Problem::Cut);
        };
        check_version(header, MAGIC)?;
        check(header, MAGIC)?;
        check_zero(header, 12, 16)?;
        check_zero(header, 104, 124)?;
        let (files, counters, ranges) =
            (u32_at(header, 88), u32_at(header, 92), u64_at(header, 96));
        let rest = u64::from(files) * 16 + u64::from(counters) * 16;
        let expected = ranges.checked_mul(48).and_then(|ranges| ranges.checked_add(rest + 4));
        let body = &bytes[HEADER_BYTES..];
        if expected != Some(body.len() as u64) {
            return error(bytes.len(), Problem::Cut);
        }
        let (body, crc) = body.split_at(body.len() - 4);
        if crc32c::crc32c(body).to_le_bytes() != *crc {
            return error(HEADER_BYTES, Problem::PayloadChecksum);
        }
        let definitions = FileEntry { number: u64_at(header, 72), bytes: u64_at(header, 80) };
        let mut manifest = Self {
            database: DatabaseId(header[16..32].try_into().expect("sixteen bytes")),
            number: u64_at(header, 32),
            first_segment: u64_at(header, 40),
            first_epoch: Epoch(u64_at(header, 48)),
            utc_100ns: u64_at(header, 56),
            definitions: (definitions.number > 0).then_some(definitions),
            files: BTreeMap::new(),
            counters: BTreeMap::new(),
            ranges: BTreeMap::new(),
            next_file: u64_at(header, 64),
        };
        let mut cursor = Cursor::new(body, HEADER_BYTES);
        for _ in 0..files {
            manifest.read_file(&mut cursor)?;
        }
        for _ in 0..counters {
            manifest.read_counter(&mut cursor)?;
        }
        for _ in 0..ranges {
            manifest.read_range(&mut cursor)?;
        }
        Ok(manifest)
    }

    fn read_file(&mut self, cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
        let problem = cursor.error(Problem::Field("file number"));
        let (number, bytes) = (cursor.u64()?, cursor.u64()?);
        let is_next = self.files.last_key_value().is_none_or(|(last, _)| number > *last);
        if !is_next || number == 0 || number >= self.next_file {
            return Err(problem);
        }
        self.files.insert(number, bytes);
        Ok(())
    }

    fn read_counter(&mut self, cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
        let problem = cursor.error(Problem::Field("counter key"));
        let (key, value) = (cursor.u64()?, cursor.u64()?);
        let key = u32::try_from(key).map_err(|_| problem.clone())?;
        if self.counters.last_key_value().is_some_and(|(last, _)| key <= *last) {
            return Err(problem);
        }
        self.counters.insert(key, value);
        Ok(())
    }

    fn read_range(&mut self, cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
        let problem = cursor.error(Problem::Field("range"));
        let key = read_key(cursor)?;
        let (file, offset, bytes) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let place = RangePlace { file, offset, bytes, rows: cursor.u64()? };
        let is_next = self.ranges.last_key_value().is_none_or(|(last, _)| key > *last);
        let end = offset.checked_add(bytes);
        let is_inside = self.files.get(&file).is_some_and(|len| end.is_some_and(|end| end <= *len));
        if !is_next || !is_inside {
            return Err(problem);
        }
        self.ranges.insert(key, place);
        Ok(())
    }
}
