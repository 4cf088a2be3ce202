//! What is behind a bad batch: another batch that proves damage, or nothing, so that the log ends
//! there.

use sos::sys::DiskFile;

use super::{LogError, Tail};
use crate::batch::{BatchHeader, decode_batch_header};
use crate::error::Problem;
use crate::segment_header::SegmentHeader;
use crate::{BATCH_HEADER_BYTES, BLOCK_BYTES};

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 * BLOCK_BYTES;

/// Where a bad batch is.
#[derive(Debug)]
pub(super) struct View<'p> {
    pub(super) file: &'p dyn DiskFile,
    pub(super) path: String,
    pub(super) file_bytes: u64,
    pub(super) segment: SegmentHeader,
    /// Offset of the bad batch.
    pub(super) offset: u64,
    /// The number that it should have.
    pub(super) next_batch: u64,
}

/// What is behind a bad batch in its segment.
#[derive(Debug)]
pub(super) enum Found {
    /// A batch of a later group, so the bad one was durable once.
    Batch { offset: u64, header: BatchHeader },
    /// No batch of a later group.
    Nothing(Tail),
}

impl View<'_> {
    /// Searches the blocks behind a bad batch. A batch of the same group proves nothing: the batches
    /// of a group are synced together.
    pub(super) fn search(&self) -> Result<Found, LogError> {
        let block = BLOCK_BYTES as u64;
        let mut offset = self.offset + block;
        let mut chunk = vec![0; CHUNK_BYTES];
        while offset < self.file_bytes {
            let read = self.file.read_at(offset, &mut chunk).map_err(LogError::io(&self.path))?;
            for (bytes, offset) in
                chunk[..read].chunks(BLOCK_BYTES).zip((offset..).step_by(BLOCK_BYTES))
            {
                if let Ok((header, _)) = decode_batch_header(bytes)
                    && self.is_of_segment(&header)
                    && header.number > self.next_batch
                    && header.group > self.next_batch
                {
                    return Ok(Found::Batch { offset, header });
                }
            }
            if read < BLOCK_BYTES {
                break;
            }
            offset += (read - read % BLOCK_BYTES) as u64;
        }
        self.tail().map(Found::Nothing)
    }

    fn is_of_segment(&self, header: &BatchHeader) -> bool {
        header.database == self.segment.database && header.generation == self.segment.generation
    }

    fn tail(&self) -> Result<Tail, LogError> {
        let mut bytes = [0; BATCH_HEADER_BYTES];
        let read = self.file.read_at(self.offset, &mut bytes);
        let read = read.map_err(LogError::io(&self.path))?;
        Ok(match decode_batch_header(&bytes[..read]) {
            Ok((header, _)) if self.is_of_segment(&header) => Tail::Torn,
            Ok(_) => Tail::Clean,
            Err(error) if error.problem == Problem::Magic || read == 0 => Tail::Clean,
            Err(_) => Tail::Torn,
        })
    }
}
