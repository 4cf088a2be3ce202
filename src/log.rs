//! The verb `log`: prints the records of a folder's log as JSON, one to a line. It only reads, so a
//! server may have the folder open.
//!
//! Exit codes: 0 if everything was read, 2 if the folder or its log cannot be read.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Args;

use crate::EXIT_USAGE;

/// Arguments of the verb `log`.
#[derive(Args)]
pub(crate) struct LogArguments {
    /// The folder that a server's --data names
    #[arg(value_name = "DIR")]
    folder: String,
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &LogArguments) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    // The reader has closed the pipe: it has seen enough.
    let mut is_closed = false;
    let read = engine::log_lines(&arguments.folder, |line| {
        writeln!(out, "{line}").map_err(|error| {
            is_closed = error.kind() == io::ErrorKind::BrokenPipe;
            format!("the output: {error}")
        })
    });
    // Records read before an error are still worth printing.
    let flushed = out.flush().or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(format!("the output: {error}")),
    });
    match read.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if is_closed => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}
