//! `EventFile`: writes events to files of limited size, one after the other, and deletes the
//! oldest.
//!
//! Only the dispatcher writes. If a write fails, the target stops and reports why; the session and
//! its other targets continue.

use std::collections::{HashSet, VecDeque};
use std::io;

use super::format::{
    BLOCK_HEADER_BYTES, EVENTS, FILE_HEADER_BYTES, SHAPE, STACK, block_header, failed, file_header,
    shape_payload, stack_payload,
};
use crate::clock;
use crate::sync::Arc;
use crate::sys::{self, FileWriter};
use crate::xe::error::XeError;
use crate::xe::record::Record;
use crate::xe::report::FileData;
use crate::xe::shape::Shape;
use crate::xe::spec::TargetSpec;
use crate::xe::target::Parameters;
use crate::xe::value::Value;

/// Days from 0001-01-01 to 1601-01-01, where file times begin.
const FILETIME_EPOCH_DAYS: u64 = 584_388;
/// The size of a block, which is written at once.
const BLOCK_BYTES: usize = 256 << 10;
const MB_DEFAULT: u64 = 1024;
const FILES_DEFAULT: u64 = 5;
/// How many names are tried for one file.
const NAMES_MAX: u64 = 100;

/// The file that is being written.
#[derive(Debug)]
struct Open {
    file: FileWriter,
    path: String,
    bytes: u64,
    /// The shapes that the file has; a shape's index is its id.
    shapes: Vec<Arc<Shape>>,
    stacks: HashSet<u32>,
}

/// The event file target.
#[derive(Debug)]
pub(in crate::xe) struct EventFile {
    base: String,
    bytes_max: u64,
    files_max: usize,
    open: Option<Open>,
    /// The files written, the present one last.
    files: VecDeque<String>,
    /// Blocks with the shapes and stacks that the events refer to.
    definitions: Vec<u8>,
    /// The block of events that is being filled.
    block: Vec<u8>,
    block_events: u64,
    events: u64,
    lost: u64,
    error: Option<String>,
}

impl EventFile {
    /// Checks the parameters; makes no file yet.
    pub(in crate::xe) fn new(spec: &TargetSpec) -> Result<Self, XeError> {
        let parameters = Parameters::of(spec)?;
        let name = parameters.text("filename").unwrap_or_default();
        let base = name.strip_suffix(".xel").unwrap_or(name).to_owned();
        let mb = parameters.number("max_file_size")?.unwrap_or(MB_DEFAULT);
        let bytes_max = if mb == 0 { u64::MAX } else { mb.saturating_mul(1 << 20) };
        let files_max = parameters.number("max_rollover_files")?.unwrap_or(FILES_DEFAULT);
        Ok(Self {
            base,
            bytes_max,
            files_max: usize::try_from(files_max).unwrap_or(usize::MAX),
            open: None,
            files: VecDeque::new(),
            definitions: Vec::new(),
            block: Vec::new(),
            block_events: 0,
            events: 0,
            lost: 0,
            error: None,
        })
    }

    /// Creates the first file.
    pub(in crate::xe) fn begin(&mut self) -> Result<(), XeError> {
        self.next_file().map_err(|error| failed(&self.base, &error))
    }

    /// Adds an event to the block.
    pub(in crate::xe) fn receive(&mut self, shape: &Arc<Shape>, record: Record<'_>, time: u64) {
        if self.error.is_some() {
            self.lost += 1;
            return;
        }
        if let Err(error) = self.add(shape, record, time) {
            self.lost += 1;
            self.fail(&error);
        }
    }

    fn add(&mut self, shape: &Arc<Shape>, record: Record<'_>, time: u64) -> io::Result<()> {
        let written = self.open.as_ref().map_or(0, |open| open.bytes);
        let pending = (self.definitions.len() + self.block.len()) as u64;
        let more = (record.bytes().len() + 2 * BLOCK_HEADER_BYTES) as u64;
        let is_begun = written > FILE_HEADER_BYTES as u64 || !self.block.is_empty();
        if is_begun && written + pending + more > self.bytes_max {
            self.flush()?;
            self.next_file()?;
        } else if self.block.len() + record.bytes().len() > BLOCK_BYTES {
            self.flush()?;
        }
        let id = self.define(shape, record);
        let start = self.block.len();
        self.block.extend_from_slice(record.bytes());
        let header = &mut self.block[start..];
        header[4..6].copy_from_slice(&id.to_le_bytes());
        header[8..16].copy_from_slice(&time.to_le_bytes());
        self.block_events += 1;
        Ok(())
    }

    /// Writes the definitions that a record refers to, unless the file has them; returns its
    /// shape's id.
    fn define(&mut self, shape: &Arc<Shape>, record: Record<'_>) -> u16 {
        let Some(open) = &mut self.open else { return 0 };
        let known = open.shapes.iter().position(|other| Arc::ptr_eq(other, shape));
        let at = known.unwrap_or_else(|| {
            open.shapes.push(Arc::clone(shape));
            open.shapes.len() - 1
        });
        let id = u16::try_from(at).unwrap_or(u16::MAX);
        if known.is_none() {
            put_block(&mut self.definitions, SHAPE, &shape_payload(id, shape));
        }
        if shape.has_stack() {
            for value in record.values() {
                if let Value::Stack(stack) = value
                    && open.stacks.insert(stack)
                {
                    let text = crate::xe::stack_text(stack);
                    put_block(&mut self.definitions, STACK, &stack_payload(stack, &text));
                }
            }
        }
        id
    }

    /// Ends a batch: writes the block.
    pub(in crate::xe) fn finish(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.flush()
        {
            self.fail(&error);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if self.block.is_empty() {
            return Ok(());
        }
        let header = block_header(EVENTS, &self.block);
        for bytes in [&self.definitions[..], &header, &self.block] {
            open.file.write(bytes)?;
            open.bytes += bytes.len() as u64;
        }
        self.definitions.clear();
        self.block.clear();
        self.events += std::mem::take(&mut self.block_events);
        Ok(())
    }

    fn fail(&mut self, error: &io::Error) {
        let path = self.open.take().map_or_else(|| self.base.clone(), |open| open.path);
        self.error = Some(format!("{path}: {error}"));
        self.lost += std::mem::take(&mut self.block_events);
        (self.block, self.definitions) = (Vec::new(), Vec::new());
    }

    /// Closes the file and begins the next; deletes the oldest one if there are too many.
    fn next_file(&mut self) -> io::Result<()> {
        self.open = None;
        let epoch = FILETIME_EPOCH_DAYS * clock::TICKS_100NS_PER_DAY;
        let filetime = clock::utc_100ns().saturating_sub(epoch);
        let mut made = Err(io::ErrorKind::AlreadyExists.into());
        for step in 0..NAMES_MAX {
            let path = format!("{}_0_{}.xel", self.base, filetime + step);
            made = FileWriter::create(&path).map(|file| (file, path));
            if !matches!(&made, Err(e) if e.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        let (mut file, path) = made?;
        file.write(&file_header())?;
        self.files.push_back(path.clone());
        let bytes = FILE_HEADER_BYTES as u64;
        let (shapes, stacks) = (Vec::new(), HashSet::new());
        self.open = Some(Open { file, path, bytes, shapes, stacks });
        while self.files_max > 0 && self.files.len() > self.files_max {
            if let Some(oldest) = self.files.pop_front() {
                // Another process may have deleted it or keep it: that is no reason to stop
                // writing.
                let _ = sys::remove_file(&oldest);
            }
        }
        Ok(())
    }

    /// The target's state for readers.
    pub(in crate::xe) fn data(&self) -> FileData {
        let open = self.open.as_ref();
        let path = open.map(|open| open.path.clone()).or_else(|| self.files.back().cloned());
        FileData {
            path: path.unwrap_or_else(|| self.base.clone()),
            bytes: open.map_or(0, |open| open.bytes),
            events: self.events,
            lost: self.lost,
            error: self.error.clone(),
        }
    }
}

fn put_block(into: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    into.extend_from_slice(&block_header(kind, payload));
    into.extend_from_slice(payload);
}
