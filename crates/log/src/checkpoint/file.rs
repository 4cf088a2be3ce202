//! `FileWriter`: writes one file of a checkpoint from front to back: blocks, index, trailer.

use std::sync::Arc;

use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;

use super::RangeKey;
use super::format::{BlockHeader, FileHeader, IndexEntry, Trailer};
use super::manifest::FileEntry;
use crate::mutant::{Mutant, is_mutant};
use crate::{BLOCK_BYTES, LogError};

/// Bytes of one write, where nothing calls [`FileWriter::settle`] in between.
const WRITE_BYTES: usize = 1 << 20;
/// Bytes that go to the device at once.
const PIECE_BYTES: usize = if cfg!(test) { 1 << 12 } else { 256 << 10 };

/// A file that is being written.
#[derive(Debug)]
pub(super) struct FileWriter {
    file: Box<dyn DiskFile>,
    path: String,
    header: FileHeader,
    /// Bytes that were written, and those that are not yet.
    written: u64,
    buffer: Vec<u8>,
    /// Bytes at the front that the device has been given.
    written_back: u64,
    index: Vec<IndexEntry>,
    /// The range that is being written.
    open: IndexEntry,
    block: Vec<u8>,
    block_rows: u32,
    blocks: u32,
    block_bytes: usize,
}

impl FileWriter {
    pub(super) fn create(
        disk: &Arc<dyn Disk>,
        path: String,
        header: FileHeader,
        block_bytes: usize,
    ) -> Result<Self, LogError> {
        let file = disk.open(&path, Open::Create, WaitType::IoCompletion);
        let file = file.map_err(LogError::room(&path))?;
        Ok(Self {
            file,
            path,
            header,
            written: 0,
            written_back: 0,
            buffer: header.encode().to_vec(),
            index: Vec::new(),
            open: IndexEntry { key: RangeKey::default(), offset: 0, bytes: 0, rows: 0 },
            block: Vec::new(),
            block_rows: 0,
            blocks: 0,
            block_bytes,
        })
    }

    /// Returns the bytes of all blocks so far.
    pub(super) const fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    pub(super) const fn number(&self) -> u64 {
        self.header.number
    }

    /// Begins a range. One that was begun before and not ended is left out of the index.
    pub(super) fn begin(&mut self, key: RangeKey) {
        self.open = IndexEntry { key, offset: self.len(), bytes: 0, rows: 0 };
        self.block.clear();
        (self.block_rows, self.blocks) = (0, 0);
    }

    /// Appends a row, or a pair, by `push`, which writes to the block.
    pub(super) fn row(&mut self, push: impl FnOnce(&mut Vec<u8>)) -> Result<(), LogError> {
        push(&mut self.block);
        self.block_rows += 1;
        if self.block.len() >= self.block_bytes { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), LogError> {
        let header = BlockHeader {
            key: self.open.key,
            rows: self.block_rows,
            payload_bytes: u32::try_from(self.block.len()).expect("a row is shorter than 4 GiB"),
            payload_crc: crc32c::crc32c(&self.block),
            number: self.blocks,
        };
        self.buffer.extend_from_slice(&header.encode());
        self.buffer.append(&mut self.block);
        self.open.rows += u64::from(self.block_rows);
        self.blocks += 1;
        self.block_rows = 0;
        self.write_out(WRITE_BYTES)
    }

    /// Ends a range; returns where it is, or `None` if it has no rows.
    pub(super) fn end(&mut self) -> Result<Option<IndexEntry>, LogError> {
        if self.block_rows > 0 {
            self.end_block()?;
        }
        self.open.bytes = self.len() - self.open.offset;
        if self.open.rows == 0 {
            return Ok(None);
        }
        self.index.push(self.open);
        Ok(Some(self.open))
    }

    /// Appends the blocks of a range of another file.
    pub(super) fn copy(
        &mut self,
        key: RangeKey,
        rows: u64,
        blocks: &[u8],
    ) -> Result<IndexEntry, LogError> {
        let entry = IndexEntry { key, offset: self.len(), bytes: blocks.len() as u64, rows };
        self.buffer.extend_from_slice(blocks);
        self.index.push(entry);
        self.settle()?;
        Ok(entry)
    }

    /// Writes the buffer if it has more than this.
    fn write_out(&mut self, above: usize) -> Result<(), LogError> {
        if self.buffer.len() > above {
            let written = self.file.write_at(self.written, &self.buffer);
            written.map_err(LogError::room(&self.path))?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes what is buffered, and gives whole pieces to the device. A sync of 64 MB at the end would take
    /// tens of milliseconds, in which each sync of the log waits.
    pub(super) fn settle(&mut self) -> Result<(), LogError> {
        self.write_out(PIECE_BYTES)?;
        // The last block is written again by what follows.
        let whole = self.written - self.written % BLOCK_BYTES as u64;
        let bytes = whole.saturating_sub(self.written_back);
        if bytes >= PIECE_BYTES as u64 {
            let given = self.file.write_back(self.written_back, bytes);
            given.map_err(LogError::room(&self.path))?;
            self.written_back = whole;
        }
        Ok(())
    }

    /// Writes index and trailer and makes the file durable, but not its name.
    pub(super) fn finish(mut self) -> Result<FileEntry, LogError> {
        let index_offset = self.len();
        let mut index = Vec::new();
        self.index.iter().for_each(|entry| entry.push(&mut index));
        let trailer = Trailer {
            checkpoint: self.header.checkpoint,
            number: self.header.number,
            ranges: self.index.len() as u64,
            rows: self.index.iter().map(|entry| entry.rows).sum(),
            index_offset,
            index_crc: crc32c::crc32c(&index),
        };
        self.buffer.append(&mut index);
        self.buffer.extend_from_slice(&trailer.encode());
        self.write_out(0)?;
        if !is_mutant(Mutant::CheckpointFilesNotSynced) {
            self.file.sync().map_err(LogError::room(&self.path))?;
        }
        Ok(FileEntry { number: self.header.number, bytes: self.written })
    }
}
