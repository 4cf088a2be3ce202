//! The verb `events`: writes the events of files that an event_file target has written as JSON, an event to
//! a line. It needs no server: a file describes itself.
//!
//! Exit codes: 0 when all was read, 2 when a file cannot be read or is none of these.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Args;
use load::json::quote;
use sos::xe::{EventFileReader, EventRecord, OwnedValue, RecordField, XeError, event_files};

use crate::EXIT_USAGE;

/// Command line arguments of `events`.
#[derive(Args)]
pub(crate) struct EventsArguments {
    /// A file that an event_file target has written, or a pattern such as 'dir/name_*.xel'
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

/// Writes the events of all files as lines of JSON, and returns the exit code.
pub(crate) fn run(arguments: &EventsArguments) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    for pattern in &arguments.files {
        if let Err(problem) = write_files(pattern, &mut out) {
            // What was read before it is worth having.
            let _ = out.flush();
            return match problem {
                // The reader of the pipe has closed it.
                Problem::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    ExitCode::SUCCESS
                }
                Problem::Output(error) => fail(&format!("the output: {error}")),
                Problem::Input(text) => fail(&text),
            };
        }
    }
    match out.flush() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(&format!("the output: {error}")),
    }
}

/// Why writing the events stopped.
enum Problem {
    Input(String),
    Output(io::Error),
}

impl From<XeError> for Problem {
    fn from(error: XeError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn fail(text: &str) -> ExitCode {
    eprintln!("clearway: {text}");
    ExitCode::from(EXIT_USAGE)
}

fn write_files(pattern: &str, out: &mut impl Write) -> Result<(), Problem> {
    let files = event_files(pattern)?;
    if files.is_empty() {
        return Err(Problem::Input(format!("{pattern}: no such file")));
    }
    for path in files {
        let mut reader = EventFileReader::open(&path)?;
        while let Some(block) = reader.next_block()? {
            for event in &block.events {
                writeln!(out, "{}", line(event))?;
            }
        }
        if let Some(offset) = reader.torn_at() {
            let text = format!("{path}, byte {offset}: the file ends in the midst of a block");
            return Err(Problem::Input(text));
        }
    }
    Ok(())
}

/// An event as an object: name, package, timestamp, and its fields and actions by name.
fn line(event: &EventRecord) -> String {
    let timestamp = engine::event::xml::timestamp(event.timestamp_100ns);
    format!(
        "{{\"name\":{},\"package\":{},\"timestamp\":{},\"data\":{},\"actions\":{}}}",
        quote(&event.name),
        quote(&event.package),
        quote(&timestamp),
        object(&event.fields),
        object(&event.actions)
    )
}

fn object(fields: &[RecordField]) -> String {
    let pair = |field: &RecordField| format!("{}:{}", quote(&field.name), value(field));
    format!("{{{}}}", load::json::join(fields.iter().map(pair)))
}

/// Numbers and booleans as such; the rest as text, of a map the name.
fn value(field: &RecordField) -> String {
    if let Some(text) = &field.text {
        return quote(text);
    }
    match &field.value {
        OwnedValue::Null => "null".to_owned(),
        OwnedValue::UInt(ticks) if &*field.type_name == "filetime" => {
            quote(&engine::event::xml::timestamp(*ticks))
        }
        OwnedValue::UInt(address) if &*field.type_name == "ptr" => {
            quote(&format!("0x{address:016x}"))
        }
        OwnedValue::Float(number) if !number.is_finite() => quote(&number.to_string()),
        OwnedValue::Bool(_)
        | OwnedValue::Int(_)
        | OwnedValue::UInt(_)
        | OwnedValue::Float(_)
        | OwnedValue::Map(_) => engine::event::xml::text_of(&field.value),
        OwnedValue::Text(_)
        | OwnedValue::Bytes(_)
        | OwnedValue::Guid(_)
        | OwnedValue::Stack(_)
        | OwnedValue::Activity(..) => quote(&engine::event::xml::text_of(&field.value)),
    }
}
