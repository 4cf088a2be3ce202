//! A batch: one write to a segment, of a header, a payload of records, and zeros up to the next
//! block. docs/log-format.md, "Batch".

use crate::bytes::{u32_at, u64_at};
use crate::error::{FormatError, Problem};
use crate::mutant::{Mutant, is_mutant};
use crate::{BLOCK_BYTES, DatabaseId, Epoch};

/// Bytes of a batch header.
pub const BATCH_HEADER_BYTES: usize = 96;

/// The longest payload: 4 GiB less 64 KiB, so that a batch with its header stays below 4 GiB.
pub const PAYLOAD_BYTES_MAX: u32 = u32::MAX - 0xffff;

const MAGIC: &[u8; 8] = b"CWBATCH1";
const CRC_AT: usize = BATCH_HEADER_BYTES - 4;
const FLAG_LAST: u32 = 1;

/// What a batch says of itself, apart from its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The database whose log this is.
    pub database: DatabaseId,
    /// That of the segment's header.
    pub generation: u64,
    /// From 1, one more per batch.
    pub number: u64,
    /// Number of the first batch of the group: the batches of one flush.
    pub group: u64,
    /// First epoch whose commits are in the group.
    pub first_epoch: Epoch,
    /// Last epoch whose commits are in the group.
    pub last_epoch: Epoch,
    /// When the batch was closed, in units of 100 ns since 0001-01-01.
    pub utc_100ns: u64,
    /// Header CRC of the batch before; 0 for the first batch of a log.
    pub previous_crc: u32,
    /// Whether the group ends here.
    pub is_last: bool,
}

/// A header as it was read, with what the payload has to match.
#[derive(Clone, Copy, Debug)]
struct Sealed {
    header: BatchHeader,
    payload_bytes: u32,
    payload_crc: u32,
    crc: u32,
}

impl Sealed {
    fn encode(&self) -> [u8; BATCH_HEADER_BYTES] {
        let header = &self.header;
        let mut bytes = [0; BATCH_HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..24].copy_from_slice(&header.database.0);
        bytes[24..32].copy_from_slice(&header.generation.to_le_bytes());
        bytes[32..40].copy_from_slice(&header.number.to_le_bytes());
        bytes[40..48].copy_from_slice(&header.group.to_le_bytes());
        bytes[48..56].copy_from_slice(&header.first_epoch.0.to_le_bytes());
        bytes[56..64].copy_from_slice(&header.last_epoch.0.to_le_bytes());
        bytes[64..72].copy_from_slice(&header.utc_100ns.to_le_bytes());
        bytes[72..76].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[76..80].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[80..84].copy_from_slice(&header.previous_crc.to_le_bytes());
        let flags = if header.is_last { FLAG_LAST } else { 0 };
        bytes[84..88].copy_from_slice(&flags.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let error = |at, problem| Err(FormatError::new(at, problem));
        let Some(bytes) = bytes.first_chunk::<BATCH_HEADER_BYTES>() else {
            return error(bytes.len(), Problem::Cut);
        };
        if bytes[..8] != *MAGIC {
            return error(0, Problem::Magic);
        }
        let crc = u32_at(bytes, CRC_AT);
        if crc32c::crc32c(&bytes[..CRC_AT]) != crc {
            return error(CRC_AT, Problem::HeaderChecksum);
        }
        let flags = u32_at(bytes, 84);
        let header = BatchHeader {
            database: DatabaseId(bytes[8..24].try_into().expect("sixteen bytes")),
            generation: u64_at(bytes, 24),
            number: u64_at(bytes, 32),
            group: u64_at(bytes, 40),
            first_epoch: Epoch(u64_at(bytes, 48)),
            last_epoch: Epoch(u64_at(bytes, 56)),
            utc_100ns: u64_at(bytes, 64),
            previous_crc: u32_at(bytes, 80),
            is_last: flags & FLAG_LAST != 0,
        };
        let (payload_bytes, payload_crc) = (u32_at(bytes, 72), u32_at(bytes, 76));
        if flags & !FLAG_LAST != 0 || u32_at(bytes, 88) != 0 {
            return error(84, Problem::NotZero);
        }
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return error(72, Problem::Field("payload length"));
        }
        if header.group == 0 || header.group > header.number {
            return error(40, Problem::Field("first batch of the group"));
        }
        if header.first_epoch > header.last_epoch {
            return error(48, Problem::Field("first epoch"));
        }
        Ok(Self { header, payload_bytes, payload_crc, crc })
    }

    /// Returns the length of the batch in whole blocks.
    fn byte_count(&self) -> usize {
        (BATCH_HEADER_BYTES + self.payload_bytes as usize).next_multiple_of(BLOCK_BYTES)
    }
}

/// Returns the header, and the length of the batch in whole blocks, if a valid header is at the
/// front. The payload is not looked at: recovery asks this of each block behind a bad batch.
///
/// # Errors
/// What is wrong with the header.
pub fn decode_batch_header(bytes: &[u8]) -> Result<(BatchHeader, usize), FormatError> {
    let sealed = Sealed::decode(bytes)?;
    Ok((sealed.header, sealed.byte_count()))
}

/// A batch that is being made: room for the header, then the payload, to which the caller appends. It
/// begins at an address that direct writes take, so that they need no copy.
#[derive(Debug)]
pub struct BatchBuffer {
    /// The batch begins at `start`.
    memory: Vec<u8>,
    start: usize,
}

impl Default for BatchBuffer {
    fn default() -> Self {
        Self::with_room(BLOCK_BYTES)
    }
}

impl BatchBuffer {
    /// Makes an empty one that stays where it is up to this length.
    fn with_room(bytes: usize) -> Self {
        let mut memory: Vec<u8> = Vec::with_capacity(bytes + BLOCK_BYTES);
        // No alignment would be no mistake: the write copies then.
        let start = memory.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        memory.resize(start + BATCH_HEADER_BYTES, 0);
        Self { memory, start }
    }

    /// Appends records to the payload.
    ///
    /// # Panics
    /// If the payload would pass [`PAYLOAD_BYTES_MAX`]: the caller begins another batch before.
    pub fn push(&mut self, records: &[u8]) {
        let payload_bytes = self.payload_bytes() + records.len();
        assert!(payload_bytes <= PAYLOAD_BYTES_MAX as usize, "the payload of a batch is too long");
        let bytes = (BATCH_HEADER_BYTES + payload_bytes).next_multiple_of(BLOCK_BYTES);
        if self.start + bytes > self.memory.capacity() {
            let mut larger = Self::with_room(bytes.max(2 * self.memory.len()));
            larger.memory.extend_from_slice(&self.memory[self.start + BATCH_HEADER_BYTES..]);
            *self = larger;
        }
        self.memory.extend_from_slice(records);
    }

    /// Returns the length of the payload.
    #[must_use]
    pub const fn payload_bytes(&self) -> usize {
        self.memory.len() - self.start - BATCH_HEADER_BYTES
    }

    /// Fills the header in, pads the last block with zeros, and returns the bytes to write and the
    /// header's CRC, which the next batch names.
    pub fn seal(&mut self, header: &BatchHeader) -> (&[u8], u32) {
        let payload = &self.memory[self.start + BATCH_HEADER_BYTES..];
        let payload_bytes = u32::try_from(payload.len()).expect("push has checked the length");
        let payload_crc = crc32c::crc32c(payload);
        let sealed = Sealed { header: *header, payload_bytes, payload_crc, crc: 0 };
        let (head, bytes) = (sealed.encode(), sealed.byte_count());
        self.memory[self.start..][..BATCH_HEADER_BYTES].copy_from_slice(&head);
        self.memory.resize(self.start + bytes, 0);
        (&self.memory[self.start..], u32_at(&head, CRC_AT))
    }

    /// Empties the payload and keeps the memory.
    pub fn clear(&mut self) {
        self.memory.truncate(self.start + BATCH_HEADER_BYTES);
    }
}

/// A batch as it was read: its header and payload are what was written.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The header of the batch.
    pub header: BatchHeader,
    /// The records: see [`crate::Records`].
    pub payload: &'a [u8],
    /// CRC of the header, which the next batch names.
    pub crc: u32,
    /// Length in whole blocks.
    pub byte_count: usize,
}

impl<'a> Batch<'a> {
    /// Reads the batch at the front of some blocks. The caller checks that it belongs here: database,
    /// generation, number and previous CRC.
    ///
    /// # Errors
    /// What is wrong with the header, the payload or the zeros behind it.
    pub fn decode(blocks: &'a [u8]) -> Result<Self, FormatError> {
        let sealed = Sealed::decode(blocks)?;
        let byte_count = sealed.byte_count();
        let Some(batch) = blocks.get(..byte_count) else {
            return Err(FormatError::new(blocks.len(), Problem::Cut));
        };
        let end = BATCH_HEADER_BYTES + sealed.payload_bytes as usize;
        let (payload, filler) = (&batch[BATCH_HEADER_BYTES..end], &batch[end..]);
        let is_checked = !is_mutant(Mutant::ChecksumIgnored);
        if is_checked && crc32c::crc32c(payload) != sealed.payload_crc {
            return Err(FormatError::new(BATCH_HEADER_BYTES, Problem::PayloadChecksum));
        }
        if let Some(at) = filler.iter().position(|byte| *byte != 0) {
            return Err(FormatError::new(end + at, Problem::NotZero));
        }
        Ok(Self { header: sealed.header, payload, crc: sealed.crc, byte_count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_to_write_begin_at_a_block_however_the_batch_grows() {
        let header = BatchHeader {
            database: DatabaseId([7; 16]),
            generation: 1,
            number: 1,
            group: 1,
            first_epoch: Epoch(1),
            last_epoch: Epoch(1),
            utc_100ns: 0,
            previous_crc: 0,
            is_last: true,
        };
        let mut buffer = BatchBuffer::default();
        for records in [0, 1, 5 * BLOCK_BYTES, 40, 90 * BLOCK_BYTES] {
            let piece: Vec<u8> = (0..=250).cycle().take(records).collect();
            buffer.push(&piece);
            buffer.push(b"end");
            let (blocks, _) = buffer.seal(&header);
            assert_eq!(blocks.as_ptr().addr() % BLOCK_BYTES, 0);
            assert_eq!(blocks.len() % BLOCK_BYTES, 0);
            let batch = Batch::decode(blocks).unwrap();
            assert_eq!(batch.payload, [&piece[..], b"end"].concat());
            buffer.clear();
            assert_eq!(buffer.payload_bytes(), 0);
        }
    }
}
