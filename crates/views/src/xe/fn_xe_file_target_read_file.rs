//! `sys.fn_xe_file_target_read_file`: the events in files that an event_file target has written.
//!
//! The last part of the path may contain `*`. A metadata file is accepted and ignored: the files
//! describe themselves. With an initial file and offset, only later events are returned.

use sos::xe::{EventFileReader, EventRecord, XeError, event_files};
use types::{DataType, Error, Msg, Value};

use super::guid;
use crate::{Rows, Scope, SystemView};
use ::session::event::{registry, xml};
use metadata::RowSet;
use metadata::column::{
    BIGINT, Column, GUID, NVMAX, big, col, list, nv, opt, or_null, shape, text,
};

/// An event read from a file.
struct FileEvent {
    record: EventRecord,
    path: String,
    /// Offset of the block that contains the event, in bytes.
    offset: u64,
}

const COLUMNS: &[Column<FileEvent>] = &[
    opt("module_guid", GUID, |r| package_guid(&r.record)),
    opt("package_guid", GUID, |r| package_guid(&r.record)),
    col("object_name", nv(256), |r| text(&r.record.name)),
    opt("event_data", NVMAX, |r| text(&xml::event(&r.record))),
    opt("file_name", nv(260), |r| text(&r.path)),
    opt("file_offset", BIGINT, |r| big(r.offset)),
    opt("timestamp_utc", DataType::DateTime2(7), |r| {
        ::session::event::datetime2_of(r.record.timestamp_100ns)
    }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_xe_file_target_read_file",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 4,
};

fn package_guid(record: &EventRecord) -> Value {
    or_null(registry::packages().find(|package| package.name == &*record.package), guid)
}

fn read(scope: &Scope<'_>) -> Rows {
    let argument = |place: usize| scope.arguments.get(place);
    let text_at = |place| argument(place).and_then(|v| v.as_text(types::Collation::default()));
    let Some(path) = text_at(0) else { return Ok(RowSet::default()) };
    let offset = match argument(3) {
        Some(Value::BigInt(offset)) => Some(*offset),
        Some(Value::Int(offset)) => Some(i64::from(*offset)),
        _ => None,
    };
    let after = match (text_at(2), offset) {
        (None, None) => None,
        (Some(file), Some(offset)) => {
            let wrong = || Error::from(Msg::EventFileOffset(offset, &file));
            Some((u64::try_from(offset).map_err(|_| wrong())?, file))
        }
        _ => return Err(Msg::EventFileStart.into()),
    };
    let mut events = Events::of(&path, after).map_err(|error| error_of(&error))?;
    // The files may be larger than the memory.
    Ok(RowSet::Batches(Box::new(move || {
        let block = events.next_block().map_err(|error| error_of(&error))?;
        block.map(|block| list(COLUMNS, block)).transpose()
    })))
}

/// Reads the events of files, block by block.
struct Events {
    files: std::vec::IntoIter<String>,
    open: Option<(EventFileReader, String)>,
    /// Only later blocks of this file count.
    after: Option<(u64, String)>,
}

impl Events {
    /// Finds the files; with `after`, only that one and later ones.
    fn of(path: &str, after: Option<(u64, String)>) -> Result<Self, XeError> {
        let mut files = event_files(path)?;
        let missing =
            |path: &str| XeError::File { path: path.to_owned(), reason: "no such file".to_owned() };
        if files.is_empty() {
            return Err(missing(path));
        }
        if let Some((_, first)) = &after {
            let place = files.iter().position(|file| file == first);
            files.drain(..place.ok_or_else(|| missing(first))?);
        }
        Ok(Self { files: files.into_iter(), open: None, after })
    }

    /// Returns the events of the next block, perhaps none; `None` behind the last block.
    fn next_block(&mut self) -> Result<Option<Vec<FileEvent>>, XeError> {
        loop {
            let Some((reader, path)) = &mut self.open else {
                let Some(path) = self.files.next() else { return Ok(None) };
                self.open = Some((EventFileReader::open(&path)?, path));
                continue;
            };
            let Some(block) = reader.next_block()? else {
                self.open = None;
                continue;
            };
            let is_before =
                |(offset, first): &(u64, String)| first == path && block.offset <= *offset;
            if self.after.as_ref().is_some_and(is_before) {
                continue;
            }
            let event = |record| FileEvent { record, path: path.clone(), offset: block.offset };
            return Ok(Some(block.events.into_iter().map(event).collect()));
        }
    }
}

fn error_of(error: &XeError) -> Error {
    match error {
        XeError::File { path, reason } if reason == "no such file" => {
            Msg::EventFileName(path).into()
        }
        XeError::File { path, reason } => {
            let (number, text) = ::session::event::error::of_system(reason);
            Msg::EventFileRead(&format!("{number}({text})"), path).into()
        }
        // The error is in the header, at offset 0: the file is not an event file.
        XeError::FileFormat { path, offset: 0, .. } => Msg::EventFileName(path).into(),
        XeError::FileFormat { path, offset, .. } => {
            let offset = i64::try_from(*offset).unwrap_or(i64::MAX);
            Msg::EventFileDamaged(path, offset).into()
        }
        other => ::session::event::error::of(other),
    }
}
