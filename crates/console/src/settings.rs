//! What the command line chooses, as plain data with checked values.

use std::path::PathBuf;
use std::time::Duration;

use load::link::Encrypt;

use crate::render::{Format, Layout};

/// Whom to connect to, and as whom.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The server, as `-S` has it.
    pub server: String,
    /// The login.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The database; empty for the login's own.
    pub database: String,
    /// What is encrypted; none for what suits the address.
    pub encrypt: Option<Encrypt>,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

/// Where the text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// Typed at a terminal, or piped.
    Stdin,
    /// These files, one after the other.
    Files(Vec<PathBuf>),
    /// This text, and no more.
    Query(String),
    /// This text first, then what is typed.
    QueryThenStdin(String),
}

/// Where messages of the server go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// With the results.
    Output,
    /// Those above severity 10 to stderr.
    ErrorsApart,
    /// All to stderr, those of PRINT too.
    AllApart,
}

/// How a run is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whom to connect to.
    pub connect: Connect,
    /// Where the text comes from.
    pub start: Start,
    /// Where results go; none for stdout.
    pub output: Option<PathBuf>,
    /// Whether the first error ends the run.
    pub stop_on_error: bool,
    /// The severity from which an error counts for that.
    pub severity_min: u8,
    /// Where messages go.
    pub messages: Messages,
    /// How long a batch may take.
    pub query_timeout: Option<Duration>,
    /// Scripting variables.
    pub variables: Vec<(String, String)>,
    /// Whether `$(name)` stands for a variable.
    pub expands: bool,
    /// Whether input is written to the output too.
    pub echo: bool,
    /// What results look like; none for what suits where they go.
    pub format: Option<Format>,
    /// How plain results are laid out.
    pub layout: Layout,
    /// Whether each batch's time is said.
    pub timing: bool,
}

impl Connect {
    /// Another one, as `:connect` says: a server, and what is different there.
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
                _ => return Err(format!(":connect: there is no {word}")),
            }
        }
        Ok(self)
    }
}
