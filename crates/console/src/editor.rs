//! `LineEditor`: lines typed at a terminal, with history and completion.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History};
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::complete::Words;

/// Lines that are remembered.
const HISTORY_LINES: usize = 5_000;
/// Where they are, in the user's folder.
const HISTORY_FILE: &str = ".clearway_history";

/// What came from the terminal.
pub(crate) enum Typed {
    Line(String),
    /// Ctrl-C: the batch so far is not wanted.
    Interrupt,
    /// Ctrl-D.
    End,
}

/// An editor of lines.
pub(crate) struct LineEditor {
    editor: Editor<Completion, FileHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    /// Opens the terminal.
    ///
    /// # Errors
    /// One line, when it is none that can be used.
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
            // There is none before the first use.
            let _ = editor.load_history(path);
        }
        Ok(Self { editor, history })
    }

    /// Sets what words may be completed to.
    pub(crate) fn set_words(&mut self, words: Words) {
        if let Some(helper) = self.editor.helper_mut() {
            helper.words = words;
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// One line, when the terminal is gone.
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

    /// Keeps a line, unless a password is in it.
    fn remember(&mut self, line: &str) {
        if line.trim().is_empty()
            || line.to_ascii_lowercase().contains("password")
            || line.contains(" -P")
        {
            return;
        }
        // A line like the last one is not kept twice, and is no error.
        let _ = self.editor.history_mut().add(line);
    }

    /// Keeps the history for the next time.
    pub(crate) fn close(&mut self) {
        if let Some(path) = &self.history {
            // Who may not write there has no history, and knows why.
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
