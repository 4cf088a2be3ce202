//! The first block of a segment: which log it belongs to, where in that log, and the format
//! version. docs/log-format.md, "Segment".

use crate::bytes::{u32_at, u64_at};
use crate::error::{FormatError, Problem};
use crate::{BLOCK_BYTES, DatabaseId, Epoch};

/// Bytes of a segment header; the rest of its block is zero.
pub const SEGMENT_HEADER_BYTES: usize = 128;

/// The newest format version that this crate reads, and the one that it writes.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"CWLOGSEG";
/// The start of the second block of a void segment. Its number follows, and zeros.
const VOID: &[u8; 8] = b"CWLOGOLD";
const CRC_AT: usize = SEGMENT_HEADER_BYTES - 4;

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The database whose log this is.
    pub database: DatabaseId,
    /// Its place in the log, from 1; the file has this name.
    pub number: u64,
    /// How often the file was used: 1 for a new file, one more for each reuse.
    pub generation: u64,
    /// Length of the file, this header included.
    pub segment_bytes: u64,
    /// Number of the first batch in it.
    pub first_batch: u64,
    /// Header CRC of the batch before the first one; 0 for the first batch of a log.
    pub previous_crc: u32,
    /// Last epoch of the batch before the first one; 0 for the first batch of a log.
    pub last_epoch: Epoch,
}

/// Returns the second block of a void segment: one that is being removed. docs/log-format.md, "Segment".
/// The header stays, so that a write that fails leaves a segment that a start can remove.
pub(crate) fn void_block(number: u64) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block[..8].copy_from_slice(VOID);
    block[8..16].copy_from_slice(&number.to_le_bytes());
    block
}

impl SegmentHeader {
    /// Returns the first block of the segment.
    #[must_use]
    pub fn encode(&self) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        let block_bytes = u32::try_from(BLOCK_BYTES).expect("a block is 4096 bytes");
        block[..8].copy_from_slice(MAGIC);
        block[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        block[12..16].copy_from_slice(&block_bytes.to_le_bytes());
        block[16..32].copy_from_slice(&self.database.0);
        block[32..40].copy_from_slice(&self.number.to_le_bytes());
        block[40..48].copy_from_slice(&self.generation.to_le_bytes());
        block[48..56].copy_from_slice(&self.segment_bytes.to_le_bytes());
        block[56..64].copy_from_slice(&self.first_batch.to_le_bytes());
        block[64..68].copy_from_slice(&self.previous_crc.to_le_bytes());
        block[72..80].copy_from_slice(&self.last_epoch.0.to_le_bytes());
        let crc = crc32c::crc32c(&block[..CRC_AT]);
        block[CRC_AT..SEGMENT_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        block
    }

    /// Reads the first block of a segment.
    ///
    /// # Errors
    /// [`Problem::Version`] for a format that is newer, before anything but the magic number is
    /// looked at; else what is wrong with the block.
    pub fn decode(block: &[u8; BLOCK_BYTES]) -> Result<Self, FormatError> {
        let error = |at, problem| Err(FormatError::new(at, problem));
        if block[..8] != *MAGIC {
            return error(0, Problem::Magic);
        }
        let crc = u32_at(block, CRC_AT);
        let is_whole = crc32c::crc32c(&block[..CRC_AT]) == crc;
        let version = u32_at(block, 8);
        // A newer format may have its CRC elsewhere. A damaged version is not to be believed, but
        // either way the segment cannot be read.
        if version == 0 || version > FORMAT_VERSION {
            return error(8, Problem::Version(version));
        }
        if !is_whole {
            return error(CRC_AT, Problem::HeaderChecksum);
        }
        if let Some(at) = block[SEGMENT_HEADER_BYTES..].iter().position(|byte| *byte != 0) {
            return error(SEGMENT_HEADER_BYTES + at, Problem::NotZero);
        }
        let header = Self {
            database: DatabaseId(block[16..32].try_into().expect("sixteen bytes")),
            number: u64_at(block, 32),
            generation: u64_at(block, 40),
            segment_bytes: u64_at(block, 48),
            first_batch: u64_at(block, 56),
            previous_crc: u32_at(block, 64),
            last_epoch: Epoch(u64_at(block, 72)),
        };
        if u32_at(block, 12) as usize != BLOCK_BYTES {
            return error(12, Problem::Field("block size"));
        }
        if u32_at(block, 68) != 0 || block[80..CRC_AT].iter().any(|byte| *byte != 0) {
            return error(68, Problem::NotZero);
        }
        let block_bytes = BLOCK_BYTES as u64;
        if header.segment_bytes < block_bytes || !header.segment_bytes.is_multiple_of(block_bytes) {
            return error(48, Problem::Field("segment size"));
        }
        if header.number == 0 || header.generation == 0 || header.first_batch == 0 {
            return error(32, Problem::Field("number"));
        }
        Ok(header)
    }
}
