//! `BackupWriter`: writes a backup under another name, and gives it its own name when it is whole
//! and synced. So a backup that is interrupted leaves the one before.

use std::io;

use catalog::BackupFacts;
use definitions::Entry;
use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;
use storage::{RowId, RowImage};

use super::Ranges;
use super::format::{
    BLOCK_BYTES, BLOCK_BYTES_MAX, BlockHeader, Kind, encode_facts, file_header, push,
};
use crate::report;
use crate::rows;

/// A backup that is being written. Dropping it removes the file, unless it is finished.
pub struct BackupWriter<'d> {
    disk: &'d dyn Disk,
    name: String,
    file: Option<Box<dyn DiskFile>>,
    compresses: bool,
    at: u64,
    /// Bytes of the file if nothing were compressed.
    plain: u64,
    blocks: u32,
    /// The rows of the block that is being filled, and their table and part.
    filling: Vec<u8>,
    of: (u32, u8),
    rows_in_block: u32,
    rows: u64,
    image: Vec<u8>,
}

impl std::fmt::Debug for BackupWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupWriter").field("name", &self.name).finish_non_exhaustive()
    }
}

fn temporary(name: &str) -> String {
    format!("{name}.tmp")
}

impl<'d> BackupWriter<'d> {
    /// Begins a backup with this name in the folder of `disk`.
    ///
    /// # Errors
    /// The system's error.
    pub fn begin(
        disk: &'d dyn Disk,
        name: &str,
        compresses: bool,
        facts: &BackupFacts,
    ) -> io::Result<Self> {
        let wait = WaitType::IoCompletion;
        let own = temporary(name);
        let file = match disk.open(&own, Open::Create, wait) {
            // It is left from a backup that was interrupted.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                disk.remove(&own)?;
                disk.open(&own, Open::Create, wait)?
            }
            other => other?,
        };
        let mut writer = Self {
            disk,
            name: name.to_owned(),
            file: Some(file),
            compresses,
            at: 0,
            plain: 0,
            blocks: 0,
            filling: Vec::new(),
            of: (0, 0),
            rows_in_block: 0,
            rows: 0,
            image: Vec::new(),
        };
        // The place of the end is written at the end.
        writer.write(&file_header(0))?;
        writer.block(Kind::Facts, (0, 0), 0, &encode_facts(facts))?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        file.write_at(self.at, bytes)?;
        self.at += u64::try_from(bytes.len()).expect("a length fits 64 bits");
        Ok(())
    }

    fn block(
        &mut self,
        kind: Kind,
        (table, part): (u32, u8),
        rows: u32,
        payload: &[u8],
    ) -> io::Result<()> {
        let length = |bytes: &[u8]| {
            let length = u32::try_from(bytes.len()).ok().filter(|len| *len <= BLOCK_BYTES_MAX);
            length.ok_or_else(|| io::Error::other("a row is larger than 2 GiB"))
        };
        let squeezed = if self.compresses { Some(lz4_flex::compress(payload)) } else { None };
        let squeezed = squeezed.filter(|squeezed| squeezed.len() < payload.len());
        let stored = squeezed.as_deref().unwrap_or(payload);
        let header = BlockHeader {
            kind,
            is_compressed: squeezed.is_some(),
            part,
            number: self.blocks,
            table,
            rows,
            bytes: length(payload)?,
            stored: length(stored)?,
            crc: crc32c::crc32c(stored),
        };
        let before = self.at;
        self.write(&header.encode())?;
        self.write(stored)?;
        self.plain += self.at - before + u64::from(header.bytes) - u64::from(header.stored);
        self.blocks += 1;
        Ok(())
    }

    /// Writes the definitions.
    ///
    /// # Errors
    /// The system's error.
    pub fn definitions(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut payload = Vec::new();
        for entry in entries {
            let Some(value) = &entry.value else { continue };
            push(&mut payload, &entry.key);
            push(&mut payload, value);
            if payload.len() >= BLOCK_BYTES {
                self.block(Kind::Definitions, (0, 0), 0, &payload)?;
                payload.clear();
            }
        }
        self.block(Kind::Definitions, (0, 0), 0, &payload)
    }

    /// Writes a row of a part of a table, which is named by its storage id.
    ///
    /// # Errors
    /// The system's error.
    pub fn row(&mut self, of: (u32, u8), id: RowId, row: RowImage<'_>) -> io::Result<()> {
        if self.of != of || self.filling.len() >= BLOCK_BYTES {
            self.flush()?;
            self.of = of;
        }
        rows::encode(row, &mut self.image);
        self.filling.extend_from_slice(&id.0.to_le_bytes());
        push(&mut self.filling, &self.image);
        self.rows_in_block += 1;
        self.rows += 1;
        Ok(())
    }

    /// Writes which ranges of row ids the rows of a differential backup replace.
    ///
    /// # Errors
    /// The system's error.
    pub fn ranges(&mut self, ranges: &Ranges) -> io::Result<()> {
        self.block(Kind::Ranges, (0, 0), 0, &ranges.encode())
    }

    /// Writes records of a group of the log; `ends_group` says that they are its last ones.
    ///
    /// # Errors
    /// The system's error.
    pub fn log(&mut self, records: &[u8], ends_group: bool) -> io::Result<()> {
        self.block(Kind::Log, (0, 0), u32::from(ends_group), records)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.rows_in_block == 0 {
            return Ok(());
        }
        let payload = std::mem::take(&mut self.filling);
        self.block(Kind::Rows, self.of, self.rows_in_block, &payload)?;
        self.filling = payload;
        self.filling.clear();
        self.rows_in_block = 0;
        Ok(())
    }

    /// Returns how many rows were written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the backup, and gives it its name; returns the bytes of its file, and what the end says.
    ///
    /// # Errors
    /// The system's error; then the backup before still has the name, unless the last sync failed.
    pub fn finish(mut self, mut facts: BackupFacts) -> io::Result<(u64, BackupFacts)> {
        self.flush()?;
        facts.set("rows", self.rows);
        facts.set("plain_bytes", self.plain);
        let end = self.at;
        self.block(Kind::End, (0, 0), 0, &encode_facts(&facts))?;
        if let Some(file) = &self.file {
            file.write_at(0, &file_header(end))?;
            file.sync()?;
        }
        self.file = None;
        let own = temporary(&self.name);
        if let Err(error) = self.disk.rename(&own, &self.name) {
            self.disk.remove(&own)?;
            return Err(error);
        }
        self.disk.sync_folder("")?;
        Ok((self.at, facts))
    }
}

impl Drop for BackupWriter<'_> {
    fn drop(&mut self) {
        if self.file.take().is_some()
            && let Err(error) = self.disk.remove(&temporary(&self.name))
        {
            report::line(&format_args!("The unfinished backup {}.tmp stays: {error}", self.name));
        }
    }
}
