//! The format of an event file: encoders of its parts, and the reader.
//!
//! ```text
//!   file   "CLWEVENT" │ version u32 = 1 │ CRC u32 of the 12 bytes before │ block ..
//!   block  kind u8 │ bytes u32 │ CRC u32 of the payload │ payload             little endian
//!     1 shape   id u16 │ package │ event │ fields u16 │ parts u16 │ part ..
//!               part: package │ name │ type │ package of the type │ map keys u32 │ (key u32 │ name) ..
//!     2 stack   id u32 │ text u32 + UTF-8
//!     3 events  record .. (see record.rs), the event being a shape's id, the time UTC in 100 ns
//!   package, event, name, type: bytes u16 │ UTF-8            CRC: CRC-32C (Castagnoli)
//! ```
//!
//! A file has all its names, so that it can be read without the server that wrote it. A file that
//! ends in the middle of a block was still being written, or the disk was full: the blocks before
//! are valid.

use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::sync::Arc;
use crate::sys::{self, FileReader};
use crate::xe::error::XeError;
use crate::xe::record::Record;
use crate::xe::report::EventRecord;
use crate::xe::shape::{Part, Shape, Texts};
use crate::xe::text;

/// The size of a file's header.
pub(super) const FILE_HEADER_BYTES: usize = 16;
/// The size of a block's header.
pub(super) const BLOCK_HEADER_BYTES: usize = 9;
/// The greatest size of a block, so that a damaged length does no harm.
const BLOCK_BYTES_MAX: usize = 256 << 20;

pub(super) const SHAPE: u8 = 1;
pub(super) const STACK: u8 = 2;
pub(super) const EVENTS: u8 = 3;

const MAGIC: &[u8; 8] = b"CLWEVENT";
const VERSION: u32 = 1;

/// The header of a file.
pub(super) fn file_header() -> [u8; FILE_HEADER_BYTES] {
    let mut header = [0; FILE_HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let check = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&check.to_le_bytes());
    header
}

/// The header of a block.
pub(super) fn block_header(kind: u8, payload: &[u8]) -> [u8; BLOCK_HEADER_BYTES] {
    let mut header = [kind; BLOCK_HEADER_BYTES];
    let bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    header[1..5].copy_from_slice(&bytes.to_le_bytes());
    header[5..].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    header
}

fn put_text(into: &mut Vec<u8>, text: &str) {
    let bytes = &text.as_bytes()[..text.len().min(usize::from(u16::MAX))];
    into.extend_from_slice(&u16::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
    into.extend_from_slice(bytes);
}

fn put_u16(into: &mut Vec<u8>, number: usize) {
    into.extend_from_slice(&u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes());
}

/// The payload of a shape.
pub(super) fn shape_payload(id: u16, shape: &Shape) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.extend_from_slice(&id.to_le_bytes());
    put_text(&mut payload, &shape.package);
    put_text(&mut payload, &shape.name);
    put_u16(&mut payload, shape.fields);
    put_u16(&mut payload, shape.parts.len());
    for part in &shape.parts {
        for text in [&part.package, &part.name, &part.type_name, &part.type_package] {
            put_text(&mut payload, text);
        }
        let texts = part.texts.all();
        let count = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        payload.extend_from_slice(&count.to_le_bytes());
        for (key, text) in texts {
            payload.extend_from_slice(&key.to_le_bytes());
            put_text(&mut payload, &text);
        }
    }
    payload
}

/// The payload of a stack.
pub(super) fn stack_payload(id: u32, text: &str) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
    payload.extend_from_slice(&bytes.to_le_bytes());
    payload.extend_from_slice(text.as_bytes());
    payload
}

/// The unread rest of a payload.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let bytes = usize::from(self.u16()?);
        std::str::from_utf8(self.take(bytes)?).ok().map(Arc::from)
    }

    fn shape(&mut self) -> Option<(u16, Shape)> {
        let id = self.u16()?;
        let (package, name) = (self.text()?, self.text()?);
        let (fields, count) = (usize::from(self.u16()?), self.u16()?);
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(self.part()?);
        }
        Some((id, Shape { package, name, parts, fields }))
    }

    fn part(&mut self) -> Option<Part> {
        let (package, name) = (self.text()?, self.text()?);
        let (type_name, type_package) = (self.text()?, self.text()?);
        let keys = self.u32()?;
        let mut texts = BTreeMap::new();
        for _ in 0..keys {
            let key = self.u32()?;
            texts.insert(key, self.text()?);
        }
        let texts = if keys == 0 { Texts::None } else { Texts::Read(Arc::new(texts)) };
        Some(Part { package, name, type_name, type_package, texts })
    }

    fn stack(&mut self) -> Option<(u32, String)> {
        let id = self.u32()?;
        let bytes = usize::try_from(self.u32()?).ok()?;
        let text = std::str::from_utf8(self.take(bytes)?).ok()?;
        Some((id, text.to_owned()))
    }
}

/// One block of events, which were written together.
#[derive(Clone, Debug, PartialEq)]
pub struct FileBlock {
    /// The offset of the block in the file, in bytes.
    pub offset: u64,
    /// Its events, in the order of the file.
    pub events: Vec<EventRecord>,
}

/// Reads an event file, block by block.
#[derive(Debug)]
pub struct EventFileReader {
    file: FileReader,
    path: String,
    offset: u64,
    torn_at: Option<u64>,
    shapes: HashMap<u16, Shape>,
    stacks: HashMap<u32, String>,
}

impl EventFileReader {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no event file.
    pub fn open(path: &str) -> Result<Self, XeError> {
        let file = FileReader::open(path).map_err(|error| failed(path, &error))?;
        let (shapes, stacks) = (HashMap::new(), HashMap::new());
        let mut reader =
            Self { file, path: path.to_owned(), offset: 0, torn_at: None, shapes, stacks };
        let mut header = [0; FILE_HEADER_BYTES];
        let bytes = reader.fill(&mut header)?;
        let begins = bytes.min(MAGIC.len());
        if header[..begins] != MAGIC[..begins] {
            return Err(reader.damaged(0, "not an event file of Clearway"));
        }
        if bytes < FILE_HEADER_BYTES {
            reader.torn_at = Some(0);
            return Ok(reader);
        }
        if header[8..12] != VERSION.to_le_bytes() {
            return Err(reader.damaged(8, "written by another version"));
        }
        if header != file_header() {
            return Err(reader.damaged(12, "the header's checksum is wrong"));
        }
        reader.offset = FILE_HEADER_BYTES as u64;
        Ok(reader)
    }

    /// The offset of the incomplete last block, once the reader has reached it.
    #[must_use]
    pub fn torn_at(&self) -> Option<u64> {
        self.torn_at
    }

    /// Reads the next block of events; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn next_block(&mut self) -> Result<Option<FileBlock>, XeError> {
        loop {
            let offset = self.offset;
            let Some((kind, payload)) = self.block()? else { return Ok(None) };
            match kind {
                SHAPE => {
                    let shape = Cursor(&payload).shape();
                    let (id, shape) = shape.ok_or_else(|| self.damaged(offset, "bad shape"))?;
                    self.shapes.insert(id, shape);
                }
                STACK => {
                    let stack = Cursor(&payload).stack();
                    let (id, text) = stack.ok_or_else(|| self.damaged(offset, "bad stack"))?;
                    self.stacks.insert(id, text);
                }
                EVENTS => {
                    let events = self.events(offset, &payload)?;
                    return Ok(Some(FileBlock { offset, events }));
                }
                _ => return Err(self.damaged(offset, "a block of an unknown kind")),
            }
        }
    }

    fn events(&self, offset: u64, payload: &[u8]) -> Result<Vec<EventRecord>, XeError> {
        let mut events = Vec::new();
        let mut rest = payload;
        while !rest.is_empty() {
            let taken = Record::take(rest);
            let (record, after) = taken.ok_or_else(|| self.damaged(offset, "bad record"))?;
            let id = u16::try_from(record.event()).unwrap_or(u16::MAX);
            let shape = self.shapes.get(&id);
            let shape = shape.ok_or_else(|| self.damaged(offset, "a record of no shape"))?;
            if record.values().count() != record.count() {
                return Err(self.damaged(offset, "bad record"));
            }
            let stack = |id| self.stacks.get(&id).cloned();
            events.push(shape.decode_with(record, record.time(), stack));
            rest = after;
        }
        Ok(events)
    }

    /// Reads a whole block; `None` at the end or at an incomplete block.
    fn block(&mut self) -> Result<Option<(u8, Vec<u8>)>, XeError> {
        if self.torn_at.is_some() {
            return Ok(None);
        }
        let mut header = [0; BLOCK_HEADER_BYTES];
        let bytes = self.fill(&mut header)?;
        if bytes < BLOCK_HEADER_BYTES {
            self.torn_at = (bytes > 0).then_some(self.offset);
            return Ok(None);
        }
        let mut cursor = Cursor(&header[1..]);
        let (length, check) = (cursor.u32().unwrap_or(0), cursor.u32().unwrap_or(0));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > BLOCK_BYTES_MAX {
            return Err(self.damaged(self.offset, "a block too large to be one"));
        }
        let mut payload = vec![0; length];
        if self.fill(&mut payload)? < length {
            self.torn_at = Some(self.offset);
            return Ok(None);
        }
        if crc32c::crc32c(&payload) != check {
            return Err(self.damaged(self.offset, "the block's checksum is wrong"));
        }
        self.offset += (BLOCK_HEADER_BYTES + length) as u64;
        Ok(Some((header[0], payload)))
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<usize, XeError> {
        self.file.read(into).map_err(|error| failed(&self.path, &error))
    }

    fn damaged(&self, offset: u64, reason: &'static str) -> XeError {
        XeError::FileFormat { path: self.path.clone(), offset, reason }
    }
}

/// The error of a failed system call on a file.
pub(super) fn failed(path: &str, error: &io::Error) -> XeError {
    XeError::File { path: path.to_owned(), reason: error.to_string() }
}

/// The files that match a path with `*` and `?` in its last part, in the order of their names; the
/// path itself if it has neither.
///
/// # Errors
/// If the folder cannot be read.
pub fn event_files(path: &str) -> Result<Vec<String>, XeError> {
    if !path.contains(['*', '?']) {
        return Ok(vec![path.to_owned()]);
    }
    let (folder, pattern) = path.rsplit_once('/').unwrap_or((".", path));
    let shown = if folder.is_empty() { "/" } else { folder };
    let mut like = String::new();
    for character in pattern.chars() {
        match character {
            '*' => like.push('%'),
            '?' => like.push('_'),
            '%' | '_' | '[' => like.extend(['[', character, ']']),
            other => like.push(other),
        }
    }
    let mut names = sys::folder_names(shown).map_err(|error| failed(shown, &error))?;
    names.retain(|name| text::is_like(name, &like));
    names.sort();
    let whole = |name: String| match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name,
    };
    Ok(names.into_iter().map(whole).collect())
}
