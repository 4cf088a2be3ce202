//! The verb `events`: prints the files of an event_file target as JSON, one event to a line. It
//! needs no server, since the files describe themselves.
//!
//! Exit codes: 0 if everything was read, 2 if a file cannot be read or is not an event file.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Args;
use load::json::quote;
use sos::xe::{EventFileReader, EventRecord, OwnedValue, RecordField, XeError, event_files};

use crate::EXIT_USAGE;

/// Arguments of the verb `events`.
#[derive(Args)]
pub(crate) struct EventsArguments {
    /// A file written by an event_file target, or a pattern such as 'dir/name_*.xel'
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &EventsArguments) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    for pattern in &arguments.files {
        if let Err(problem) = write_files(pattern, &mut out) {
            // Events read before the error are still worth printing.
            let _ = out.flush();
            return match problem {
                // The reader has closed the pipe.
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

/// Why reading stops early.
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
            let text = format!("{path}, byte {offset}: the file ends inside a block");
            return Err(Problem::Input(text));
        }
    }
    Ok(())
}

/// Returns an event as a JSON object: name, package, timestamp, and its fields and actions by name.
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

/// Returns a field's value: numbers and booleans as JSON values, the rest as text; for a mapped
/// value its name.
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
