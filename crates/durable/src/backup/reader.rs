//! `BackupReader`: reads a backup from its beginning, and checks each byte of it.

use std::fmt;
use std::io;

use catalog::BackupFacts;
use sos::sys::{Disk, DiskFile, Open};
use sos::wait::WaitType;
use storage::RowId;
use types::row::RowBuffer;

use super::Ranges;
use super::format::{
    BACKUP_VERSION, BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, BlockHeader, HEADER_BYTES, Kind, MAGIC,
    decode_facts, file_header, is_sealed, take, u32_at, u64_at,
};
use crate::rows;

/// The first bytes of a backup of SQL Server, in the Microsoft Tape Format.
const MTF: &[u8] = b"TAPE";

/// Why a backup cannot be read.
#[derive(Debug)]
pub enum BackupError {
    /// The file cannot be opened.
    Open(io::Error),
    /// The file cannot be read.
    Io(io::Error),
    /// It is a backup of SQL Server.
    SqlServer,
    /// It is no backup.
    NotABackup,
    /// A later version of this program has written it.
    Version(u32),
    /// Its bytes are not those that were written: where, and what is wrong.
    Damaged(u64, &'static str),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) | Self::Io(error) => error.fmt(f),
            Self::SqlServer => f.write_str("it is a backup of SQL Server"),
            Self::NotABackup => f.write_str("it is no backup"),
            Self::Version(version) => write!(
                f,
                "it has backup format version {version}; this version of Clearway reads up to {BACKUP_VERSION}"
            ),
            Self::Damaged(offset, why) => write!(f, "it is damaged at offset {offset}: {why}"),
        }
    }
}

/// A part of a backup.
#[derive(Debug)]
pub enum Piece<'a> {
    /// Definitions: keys and values.
    Definitions(Vec<(&'a [u8], &'a [u8])>),
    /// Rows of a part of a table, which is named by its storage id: see [`rows_of`].
    Rows((u32, u8), &'a [u8]),
    /// Records of the log.
    Log {
        /// The records, as in a batch of the log.
        payload: &'a [u8],
        /// Whether they are the last ones of their group.
        ends_group: bool,
    },
    /// The ranges of row ids that a differential backup replaces.
    Ranges(Ranges),
}

/// A backup that is being read.
pub struct BackupReader {
    file: Box<dyn DiskFile>,
    len: u64,
    at: u64,
    blocks: u32,
    rows: u64,
    facts: BackupFacts,
    /// What the end says, and where it is.
    end: BackupFacts,
    end_at: u64,
    is_at_end: bool,
    stored: Vec<u8>,
    payload: Vec<u8>,
}

impl fmt::Debug for BackupReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupReader").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Checks that a file may be replaced as a backup: it is one, of whatever version and damaged or
/// not, or it is empty.
///
/// # Errors
/// See [`BackupError`].
pub fn check_is_backup(disk: &dyn Disk, name: &str) -> Result<(), BackupError> {
    let file = disk.open(name, Open::Read, WaitType::IoCompletion).map_err(BackupError::Open)?;
    let mut header = [0; HEADER_BYTES];
    match file.read_at(0, &mut header).map_err(BackupError::Io)? {
        0 => Ok(()),
        _ => check_magic(&header),
    }
}

fn check_magic(header: &[u8; HEADER_BYTES]) -> Result<(), BackupError> {
    if header.starts_with(MTF) {
        return Err(BackupError::SqlServer);
    }
    if header.starts_with(MAGIC) { Ok(()) } else { Err(BackupError::NotABackup) }
}

impl BackupReader {
    /// Opens a backup and reads what it is of.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub fn open(disk: &dyn Disk, name: &str) -> Result<Self, BackupError> {
        let file =
            disk.open(name, Open::Read, WaitType::IoCompletion).map_err(BackupError::Open)?;
        let len = file.len().map_err(BackupError::Io)?;
        let mut header = [0; HEADER_BYTES];
        let read = file.read_at(0, &mut header).map_err(BackupError::Io)?;
        check_magic(&header)?;
        if read < HEADER_BYTES {
            return Err(BackupError::Damaged(len, "the file ends too early"));
        }
        let version = u32_at(&header, 8);
        if version > BACKUP_VERSION {
            return Err(BackupError::Version(version));
        }
        let end_at = u64_at(&header, 16);
        if !is_sealed(&header) || header != file_header(end_at) {
            return Err(BackupError::Damaged(0, "the checksum of the file's header is wrong"));
        }
        let mut reader = Self {
            file,
            len,
            at: u64::try_from(HEADER_BYTES).expect("a small number"),
            blocks: 0,
            rows: 0,
            facts: BackupFacts::default(),
            end: BackupFacts::default(),
            end_at,
            is_at_end: false,
            stored: Vec::new(),
            payload: Vec::new(),
        };
        reader.read_end()?;
        let at = reader.at;
        if reader.block()?.kind != Kind::Facts {
            return Err(BackupError::Damaged(at, "the first block does not say what it is of"));
        }
        reader.facts = decode_facts(&reader.payload)
            .ok_or(BackupError::Damaged(at, "the first block is not readable"))?;
        Ok(reader)
    }

    /// Reads the last block, which has what was known only at the end.
    fn read_end(&mut self) -> Result<(), BackupError> {
        let start = std::mem::replace(&mut self.at, self.end_at);
        if self.end_at > self.len {
            return Err(BackupError::Damaged(self.len, "the file ends too early"));
        }
        let header = self.any_block()?;
        if header.kind != Kind::End {
            return Err(BackupError::Damaged(self.end_at, "a block is at the wrong place"));
        }
        if self.at != self.len {
            return Err(BackupError::Damaged(self.at, "there is more behind the end"));
        }
        self.end = decode_facts(&self.payload)
            .ok_or(BackupError::Damaged(self.end_at, "the last block is not readable"))?;
        self.at = start;
        Ok(())
    }

    /// Returns what the backup is of.
    pub fn facts(&self) -> &BackupFacts {
        &self.facts
    }

    /// Returns what the end of the backup says.
    pub fn end(&self) -> &BackupFacts {
        &self.end
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Returns how many bytes have been read.
    pub fn position(&self) -> u64 {
        self.at
    }

    fn fill(&mut self, length: usize) -> Result<(), BackupError> {
        self.stored.resize(length, 0);
        let read = self.file.read_at(self.at, &mut self.stored).map_err(BackupError::Io)?;
        if read < length {
            return Err(BackupError::Damaged(self.len, "the file ends too early"));
        }
        Ok(())
    }

    /// Reads the next block into `payload`.
    fn block(&mut self) -> Result<BlockHeader, BackupError> {
        let start = self.at;
        let header = self.any_block()?;
        if header.number != self.blocks {
            return Err(BackupError::Damaged(start, "a block is missing"));
        }
        self.blocks += 1;
        Ok(header)
    }

    /// As [`Self::block`], whatever its number is.
    fn any_block(&mut self) -> Result<BlockHeader, BackupError> {
        let start = self.at;
        let damaged = |why| BackupError::Damaged(start, why);
        self.fill(BLOCK_HEADER_BYTES)?;
        let header: &[u8; BLOCK_HEADER_BYTES] =
            self.stored.first_chunk().expect("it was filled with so many bytes");
        let header = BlockHeader::decode(header).map_err(damaged)?;
        self.at += u64::try_from(BLOCK_HEADER_BYTES).expect("a small number");
        if header.stored.max(header.bytes) > BLOCK_BYTES_MAX {
            return Err(damaged("a block is too long"));
        }
        if self.len - self.at < u64::from(header.stored) {
            return Err(BackupError::Damaged(self.len, "the file ends too early"));
        }
        let size = |bytes: u32| usize::try_from(bytes).expect("32 bits fit");
        self.fill(size(header.stored))?;
        if crc32c::crc32c(&self.stored) != header.crc {
            return Err(damaged("the checksum of a block is wrong"));
        }
        if header.is_compressed {
            let plain = lz4_flex::decompress(&self.stored, size(header.bytes));
            self.payload = plain.map_err(|_| damaged("a block cannot be decompressed"))?;
        } else {
            std::mem::swap(&mut self.payload, &mut self.stored);
        }
        if self.payload.len() != size(header.bytes) {
            return Err(damaged("a block has another length than it says"));
        }
        self.at += u64::from(header.stored);
        Ok(header)
    }

    /// Returns the next piece; `None` at the end, which is checked.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub fn next_piece(&mut self) -> Result<Option<Piece<'_>>, BackupError> {
        if self.is_at_end {
            return Ok(None);
        }
        let start = self.at;
        let damaged = |why| BackupError::Damaged(start, why);
        let header = self.block()?;
        match header.kind {
            Kind::Facts => Err(damaged("a block is at the wrong place")),
            Kind::Definitions => {
                let (mut rest, mut entries) = (&self.payload[..], Vec::new());
                while !rest.is_empty() {
                    let key = take(&mut rest);
                    let entry = key.and_then(|key| Some((key, take(&mut rest)?)));
                    entries.push(entry.ok_or(damaged("a definition is cut off"))?);
                }
                Ok(Some(Piece::Definitions(entries)))
            }
            Kind::Log => {
                Ok(Some(Piece::Log { payload: &self.payload, ends_group: header.rows == 1 }))
            }
            Kind::Ranges => match Ranges::decode(&self.payload) {
                Some(ranges) => Ok(Some(Piece::Ranges(ranges))),
                None => Err(damaged("the ranges are not readable")),
            },
            Kind::Rows => {
                self.rows += u64::from(header.rows);
                Ok(Some(Piece::Rows((header.table, header.part), &self.payload)))
            }
            Kind::End => {
                if start != self.end_at {
                    return Err(damaged("a block is at the wrong place"));
                }
                if self.end.get("rows") != self.rows.to_string() {
                    return Err(damaged("rows are missing"));
                }
                self.is_at_end = true;
                Ok(None)
            }
        }
    }

    /// Reads all pieces to the end and checks them.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub fn verify(&mut self) -> Result<(), BackupError> {
        while self.next_piece()?.is_some() {}
        Ok(())
    }
}

/// Shows each row of a piece; the result is `None` if one is not readable.
///
/// # Errors
/// The first error of `visit`.
pub fn rows_of<E>(
    mut piece: &[u8],
    mut visit: impl FnMut(RowId, &RowBuffer) -> Result<(), E>,
) -> Result<Option<()>, E> {
    let mut row = RowBuffer::default();
    while !piece.is_empty() {
        let Some((id, rest)) = piece.split_first_chunk::<8>() else { return Ok(None) };
        piece = rest;
        let Some(image) = take(&mut piece) else { return Ok(None) };
        let Some(()) = rows::decode(image, &mut row) else { return Ok(None) };
        visit(RowId(u64::from_le_bytes(*id)), &row)?;
    }
    Ok(Some(()))
}
