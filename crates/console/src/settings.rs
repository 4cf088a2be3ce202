//! The command line's settings, as plain data with checked values.

use std::path::PathBuf;
use std::time::Duration;

use load::link::Encrypt;

use crate::render::{Format, Layout};

/// A server, the login for it, and the encryption.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The server, as `-S` has it.
    pub server: String,
    /// Name of the login.
    pub user: String,
    /// The login's password, in clear.
    pub password: String,
    /// The database; empty for the login's default.
    pub database: String,
    /// How much is encrypted; `None` chooses by the address.
    pub encrypt: Option<Encrypt>,
    /// How long connecting may take; `None` is without limit.
    pub timeout: Option<Duration>,
}

/// The source of the statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The standard input, a terminal or a pipe.
    Stdin,
    /// These files, one after the other.
    Files(Vec<PathBuf>),
    /// This text and nothing else.
    Query(String),
    /// This text, then the standard input.
    QueryThenStdin(String),
}

/// The destination of the server's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// To the output, among results.
    Output,
    /// Errors (above severity 10) to stderr.
    ErrorsApart,
    /// All messages to stderr, PRINT included.
    AllApart,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The connection to the server.
    pub connect: Connect,
    /// The source of the statements.
    pub start: Start,
    /// The file for results; `None` is stdout.
    pub output: Option<PathBuf>,
    /// Whether the first error ends the run.
    pub stop_on_error: bool,
    /// The lowest severity of an error that ends the run.
    pub severity_min: u8,
    /// The destination of the server's messages.
    pub messages: Messages,
    /// How long a batch may take; `None` is without limit.
    pub query_timeout: Option<Duration>,
    /// Scripting variables that are set at the start.
    pub variables: Vec<(String, String)>,
    /// Whether `$(name)` is replaced by a variable's value.
    pub expands: bool,
    /// Whether input is copied to the output.
    pub echo: bool,
    /// The format of results; `None` chooses by the destination.
    pub format: Option<Format>,
    /// The layout of plain results.
    pub layout: Layout,
    /// Whether each batch's time is printed.
    pub timing: bool,
}

impl Connect {
    /// Returns the connection that `:connect` asks for: a server, and other settings that change.
    ///
    /// # Errors
    /// One line that says what is wrong with it.
    pub(crate) fn with(mut self, words: &[String]) -> Result<Self, String> {
        let mut words = words.iter();
        self.server = words.next().ok_or(":connect: a server is missing")?.clone();
        while let Some(word) = words.next() {
            let mut value = || {
                let value = words.next().cloned();
                value.ok_or_else(|| format!(":connect: {word} needs a value"))
            };
            match word.as_str() {
                "-U" => self.user = value()?,
                "-P" => self.password = value()?,
                "-d" => self.database = value()?,
                "-l" => {
                    let seconds = value()?.parse().map_err(|_| ":connect: -l needs seconds")?;
                    self.timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
                }
                _ => return Err(format!(":connect: unknown option {word}")),
            }
        }
        Ok(self)
    }
}
