//! `Output`: stdout, stderr or a file, as chosen with `:out`, `:error` and -o.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

use sos::sys::terminal_columns;

use crate::command::Place;

/// A destination of text.
pub(crate) struct Output {
    sink: BufWriter<Box<dyn Write>>,
    /// Its name, for error messages.
    name: String,
    is_stdout: bool,
    /// Whether the reader has closed the pipe, as `head` does when it has read enough.
    is_left: bool,
}

impl Output {
    /// Opens an output.
    ///
    /// # Errors
    /// One line, if a file cannot be created.
    pub(crate) fn open(place: &Place) -> Result<Self, String> {
        let (sink, name): (Box<dyn Write>, _) = match place {
            Place::Stdout => (Box::new(io::stdout()), "stdout".to_owned()),
            Place::Stderr => (Box::new(io::stderr()), "stderr".to_owned()),
            Place::File(path) => {
                let file = File::create(path);
                let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
                (Box::new(file), path.display().to_string())
            }
        };
        Ok(Self {
            sink: BufWriter::new(sink),
            name,
            is_stdout: *place == Place::Stdout,
            is_left: false,
        })
    }

    /// Returns the terminal's width in columns; `None` if it is no terminal.
    pub(crate) fn columns(&self) -> Option<usize> {
        let stdout = io::stdout();
        (self.is_stdout && stdout.is_terminal()).then(|| terminal_columns(&stdout).unwrap_or(80))
    }

    /// Returns whether the reader has closed the pipe.
    pub(crate) fn is_left(&self) -> bool {
        self.is_left
    }

    /// Writes text.
    ///
    /// # Errors
    /// One line, if writing fails.
    pub(crate) fn put(&mut self, text: &str) -> Result<(), String> {
        let put = self.sink.write_all(text.as_bytes());
        put.map_err(|error| self.told(&error))
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// One line, if writing fails.
    pub(crate) fn flush(&mut self) -> Result<(), String> {
        let flushed = self.sink.flush();
        flushed.map_err(|error| self.told(&error))
    }

    fn told(&mut self, error: &io::Error) -> String {
        self.is_left |= error.kind() == io::ErrorKind::BrokenPipe;
        format!("{}: {error}", self.name)
    }
}
