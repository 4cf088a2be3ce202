//! `LineEditor`: reads lines from a terminal, with history and completion.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History};
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::complete::Words;

/// Most lines in the history.
const HISTORY_LINES: usize = 5_000;
/// The history's file, in the user's home folder.
const HISTORY_FILE: &str = ".clearway_history";

/// The input from the terminal.
pub(crate) enum Typed {
    Line(String),
    /// Ctrl-C: discards the batch so far.
    Interrupt,
    /// Ctrl-D: the end of input.
    End,
}

/// A line editor with its history.
pub(crate) struct LineEditor {
    editor: Editor<Completion, FileHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    /// Opens the terminal.
    ///
    /// # Errors
    /// One line, if the terminal cannot be used.
    pub(crate) fn open() -> Result<Self, String> {
        let wrong = |error: ReadlineError| format!("the terminal: {error}");
        let config = Config::builder()
            .max_history_size(HISTORY_LINES)
            .map_err(wrong)?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(wrong)?;
        editor.set_helper(Some(Completion::default()));
        let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(HISTORY_FILE));
        if let Some(path) = &history {
            // The file does not exist before the first use.
            let _ = editor.load_history(path);
        }
        Ok(Self { editor, history })
    }

    /// Sets the words for completion.
    pub(crate) fn set_words(&mut self, words: Words) {
        if let Some(helper) = self.editor.helper_mut() {
            helper.words = words;
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// One line, if the terminal is lost.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Typed, String> {
        match self.editor.readline(prompt) {
            Ok(line) => {
                self.remember(&line);
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupt),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(format!("the terminal: {error}")),
        }
    }

    /// Adds a line to the history, unless it contains a password.
    fn remember(&mut self, line: &str) {
        if line.trim().is_empty()
            || line.to_ascii_lowercase().contains("password")
            || line.contains(" -P")
        {
            return;
        }
        // A line equal to the last one is not added, which is no error.
        let _ = self.editor.history_mut().add(line);
    }

    /// Writes the history's file.
    pub(crate) fn close(&mut self) {
        if let Some(path) = &self.history {
            // If the folder is not writable there is no history, and the user knows why.
            let _ = self.editor.save_history(path);
        }
    }
}

#[derive(Default)]
struct Completion {
    words: Words,
}

impl Helper for Completion {}
impl Validator for Completion {}
impl Highlighter for Completion {}

impl Hinter for Completion {
    type Hint = String;
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> Result<(usize, Vec<String>), ReadlineError> {
        Ok(self.words.complete(line, place))
    }
}
