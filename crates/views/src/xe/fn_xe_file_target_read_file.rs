//! `sys.fn_xe_file_target_read_file`: the events in files that an event_file target has written.
//!
//! The last part of the path may contain `*`. A metadata file is accepted and ignored: the files
//! describe themselves. With an initial file and offset, only later events are returned.

use sos::xe::{EventFileReader, EventRecord, XeError, event_files};
use types::{DataType, Error, Msg, Value};

use super::guid;
use crate::{Rows, Scope, SystemView};
use ::session::event::{registry, xml};
use metadata::column::{
    BIGINT, Column, GUID, NVMAX, big, col, nv, opt, or_null, rows, shape, text,
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
    let Some(path) = text_at(0) else { return Ok(Vec::new()) };
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
    let after = after.as_ref().map(|(offset, file)| (file.as_str(), *offset));
    rows(COLUMNS, events(&path, after).map_err(|error| error_of(&error))?)
}

/// Reads the events of the files; with `after`, only those after that block of that file.
fn events(path: &str, after: Option<(&str, u64)>) -> Result<Vec<FileEvent>, XeError> {
    let mut files = event_files(path)?;
    if files.is_empty() {
        return Err(XeError::File { path: path.to_owned(), reason: "no such file".to_owned() });
    }
    if let Some((first, _)) = after {
        let place = files.iter().position(|file| file == first);
        let missing =
            || XeError::File { path: first.to_owned(), reason: "no such file".to_owned() };
        files.drain(..place.ok_or_else(missing)?);
    }
    let mut found = Vec::new();
    for path in files {
        let skipped = after.filter(|(first, _)| *first == path).map(|(_, offset)| offset);
        let mut reader = EventFileReader::open(&path)?;
        while let Some(block) = reader.next_block()? {
            if skipped.is_some_and(|offset| block.offset <= offset) {
                continue;
            }
            let event = |record| FileEvent { record, path: path.clone(), offset: block.offset };
            found.extend(block.events.into_iter().map(event));
        }
    }
    Ok(found)
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
