//! Headers, blocks, index entries and trailers as bytes. docs/checkpoint-format.md, "Range files and
//! the definitions file".

use super::{CHECKPOINT_VERSION, RangeKey};
use crate::DatabaseId;
use crate::bytes::{Cursor, u32_at, u64_at};
use crate::error::{FormatError, Problem};

pub(super) const FILE_HEADER_BYTES: usize = 64;
pub(super) const BLOCK_HEADER_BYTES: usize = 40;
pub(super) const INDEX_ENTRY_BYTES: usize = 40;
pub(super) const TRAILER_BYTES: usize = 64;

const BLOCK_MAGIC: &[u8; 4] = b"CWRB";
const TRAILER_MAGIC: &[u8; 8] = b"CWRNGEND";

/// What a file of a checkpoint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ranges,
    Definitions,
}

impl Kind {
    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Ranges => b"CWRANGES",
            Self::Definitions => b"CWDEFINS",
        }
    }
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub(super) kind: Kind,
    pub(super) database: DatabaseId,
    pub(super) checkpoint: u64,
    pub(super) number: u64,
}

/// Writes the CRC of what is before it to the last four bytes.
pub(super) fn seal(bytes: &mut [u8]) {
    let (rest, crc) = bytes.split_at_mut(bytes.len() - 4);
    crc.copy_from_slice(&crc32c::crc32c(rest).to_le_bytes());
}

/// Checks the magic number, and the CRC in the last four bytes.
pub(super) fn check<const N: usize>(bytes: &[u8; N], magic: &[u8]) -> Result<(), FormatError> {
    if !bytes.starts_with(magic) {
        return Err(FormatError::new(0, Problem::Magic));
    }
    if crc32c::crc32c(&bytes[..N - 4]) != u32_at(bytes, N - 4) {
        return Err(FormatError::new(N - 4, Problem::HeaderChecksum));
    }
    Ok(())
}

/// Checks that bytes which have no meaning are zero.
pub(super) fn check_zero(bytes: &[u8], from: usize, to: usize) -> Result<(), FormatError> {
    match bytes[from..to].iter().position(|byte| *byte != 0) {
        Some(at) => Err(FormatError::new(from + at, Problem::NotZero)),
        None => Ok(()),
    }
}

/// Checks the version at byte 8, before anything but the magic number: a newer format may have its
/// CRC elsewhere.
pub(super) fn check_version<const N: usize>(
    bytes: &[u8; N],
    magic: &[u8],
) -> Result<(), FormatError> {
    if !bytes.starts_with(magic) {
        return Err(FormatError::new(0, Problem::Magic));
    }
    let version = u32_at(bytes, 8);
    if version == 0 || version > CHECKPOINT_VERSION {
        return Err(FormatError::new(8, Problem::Version(version)));
    }
    Ok(())
}

impl FileHeader {
    pub(super) fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[..8].copy_from_slice(self.kind.magic());
        bytes[8..12].copy_from_slice(&CHECKPOINT_VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.database.0);
        bytes[32..40].copy_from_slice(&self.checkpoint.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.number.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    pub(super) fn decode(bytes: &[u8; FILE_HEADER_BYTES], kind: Kind) -> Result<Self, FormatError> {
        check_version(bytes, kind.magic())?;
        check(bytes, kind.magic())?;
        check_zero(bytes, 12, 16)?;
        check_zero(bytes, 48, 60)?;
        Ok(Self {
            kind,
            database: DatabaseId(bytes[16..32].try_into().expect("sixteen bytes")),
            checkpoint: u64_at(bytes, 32),
            number: u64_at(bytes, 40),
        })
    }
}

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) key: RangeKey,
    pub(super) rows: u32,
    pub(super) payload_bytes: u32,
    pub(super) payload_crc: u32,
    /// Its number in the range, from 0.
    pub(super) number: u32,
}

impl BlockHeader {
    pub(super) fn encode(&self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes[..4].copy_from_slice(BLOCK_MAGIC);
        bytes[4..8].copy_from_slice(&self.key.table.to_le_bytes());
        bytes[8] = self.key.part;
        bytes[12..16].copy_from_slice(&self.rows.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.key.range.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.number.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    pub(super) fn decode(bytes: &[u8; BLOCK_HEADER_BYTES]) -> Result<Self, FormatError> {
        check(bytes, BLOCK_MAGIC)?;
        check_zero(bytes, 9, 12)?;
        let key = RangeKey { table: u32_at(bytes, 4), part: bytes[8], range: u64_at(bytes, 16) };
        Ok(Self {
            key,
            rows: u32_at(bytes, 12),
            payload_bytes: u32_at(bytes, 24),
            payload_crc: u32_at(bytes, 28),
            number: u32_at(bytes, 32),
        })
    }
}

/// Where a range is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) key: RangeKey,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) rows: u64,
}

impl IndexEntry {
    pub(super) fn push(&self, to: &mut Vec<u8>) {
        push_key(to, self.key);
        for field in [self.offset, self.bytes, self.rows] {
            to.extend_from_slice(&field.to_le_bytes());
        }
    }

    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let key = read_key(cursor)?;
        Ok(Self { key, offset: cursor.u64()?, bytes: cursor.u64()?, rows: cursor.u64()? })
    }
}

/// Appends the 16 bytes of a key.
pub(super) fn push_key(to: &mut Vec<u8>, key: RangeKey) {
    to.extend_from_slice(&key.table.to_le_bytes());
    to.extend_from_slice(&[key.part, 0, 0, 0]);
    to.extend_from_slice(&key.range.to_le_bytes());
}

/// Takes the 16 bytes of a key.
pub(super) fn read_key(cursor: &mut Cursor<'_>) -> Result<RangeKey, FormatError> {
    let start = cursor.offset();
    let fixed: &[u8; 8] = cursor.take(8)?.first_chunk().expect("eight bytes");
    check_zero(fixed, 5, 8)
        .map_err(|error| FormatError::new(start + error.offset, error.problem))?;
    Ok(RangeKey { table: u32_at(fixed, 0), part: fixed[4], range: cursor.u64()? })
}

/// The end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) checkpoint: u64,
    pub(super) number: u64,
    pub(super) ranges: u64,
    pub(super) rows: u64,
    pub(super) index_offset: u64,
    pub(super) index_crc: u32,
}

impl Trailer {
    pub(super) fn encode(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(TRAILER_MAGIC);
        bytes[8..16].copy_from_slice(&self.checkpoint.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.ranges.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.rows.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.index_offset.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.index_crc.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    pub(super) fn decode(bytes: &[u8; TRAILER_BYTES]) -> Result<Self, FormatError> {
        check(bytes, TRAILER_MAGIC)?;
        check_zero(bytes, 52, 60)?;
        Ok(Self {
            checkpoint: u64_at(bytes, 8),
            number: u64_at(bytes, 16),
            ranges: u64_at(bytes, 24),
            rows: u64_at(bytes, 32),
            index_offset: u64_at(bytes, 40),
            index_crc: u32_at(bytes, 48),
        })
    }
}
