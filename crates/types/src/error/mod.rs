//! Errors and messages as a client receives them: number, severity, state, line, text.
//!
//! The registry of messages is [`Msg`], in `error/messages/mod.rs`, `error/from_8000.rs`,
//! `error/partition.rs` and `error/temporal.rs`.

#[macro_use]
mod registry;
#[macro_use]
mod partition;
#[macro_use]
mod temporal;
#[macro_use]
mod from_8000;
mod logged;
mod messages;

use std::fmt;

pub use logged::is_event_logged;
pub use messages::Msg;
pub use registry::MessageText;

/// The result of an operation that a user's request can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error or informational message, as the ERROR and INFO tokens carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ErrorBody>);

/// The fields of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    /// SQL Server's message number; 50,000 and more are the user's own.
    pub number: i32,
    /// Severity (class) 0 to 25: up to 10 informational, 11 to 16 the user's mistake, 20 and more
    /// end the connection.
    pub severity: u8,
    /// State 0 to 255.
    pub state: u8,
    /// 1-based line in the batch or procedure; 0 until the code that knows the line sets it, and for
    /// an error of a call (`is_of_call`).
    pub line: u32,
    /// Whether it is about the arguments of a procedure: it has the procedure's name, and line 0.
    pub is_of_call: bool,
    /// The procedure it was raised in; empty for a batch.
    pub procedure: String,
    /// The text of the message.
    pub message: String,
    /// Errors of the same compilation that are sent to the client before this one.
    pub earlier: Vec<Error>,
}

impl Error {
    /// Makes a message with any number and text, as RAISERROR and THROW do.
    pub fn custom(number: i32, severity: u8, state: u8, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorBody {
            number,
            severity,
            state,
            line: 0,
            is_of_call: false,
            procedure: String::new(),
            message: message.into(),
            earlier: Vec::new(),
        }))
    }

    /// Makes one error from all errors of a compilation, in order: the client receives each of
    /// them, a CATCH block the last. `None` if there are none.
    #[must_use]
    pub fn all(errors: Vec<Self>) -> Option<Self> {
        let mut flat = Vec::with_capacity(errors.len());
        for mut error in errors {
            flat.append(&mut error.0.earlier);
            flat.push(error);
        }
        let mut last = flat.pop()?;
        last.0.earlier = flat;
        Some(last)
    }

    /// Takes out the errors that are sent to the client before this one.
    pub fn take_earlier(&mut self) -> Vec<Self> {
        std::mem::take(&mut self.0.earlier)
    }

    /// Applies `place`, which sets a line or procedure that is unknown, to this error and the
    /// earlier ones.
    fn place(&mut self, place: impl Fn(&mut ErrorBody)) {
        self.0.earlier.iter_mut().for_each(|earlier| place(&mut earlier.0));
        place(&mut self.0);
    }

    /// Sets the line, unless a more precise place has set it already.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Self {
        self.place(|body| {
            if body.line == 0 && !body.is_of_call {
                body.line = line;
            }
        });
        self
    }

    /// Places the error in a procedure, before its first line: it is about the arguments of a call.
    #[must_use]
    pub fn of_call(mut self, procedure: &str) -> Self {
        self.place(|body| body.is_of_call = true);
        self.in_procedure(procedure)
    }

    /// Sets the procedure name, unless an inner procedure has set it already.
    #[must_use]
    pub fn in_procedure(mut self, procedure: &str) -> Self {
        self.place(|body| {
            if body.procedure.is_empty() {
                body.procedure = procedure.to_owned();
            }
        });
        self
    }

    /// Sets the error's state.
    #[must_use]
    pub fn with_state(mut self, state: u8) -> Self {
        self.0.state = state;
        self
    }

    /// Returns the error's fields.
    pub fn into_body(self) -> ErrorBody {
        *self.0
    }
}

impl std::ops::Deref for Error {
    type Target = ErrorBody;
    fn deref(&self) -> &ErrorBody {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number, self.severity, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for Error {}

impl From<Msg<'_>> for Error {
    fn from(msg: Msg<'_>) -> Self {
        let (number, severity) = msg.number_and_severity();
        Self::custom(number, severity, 1, msg.to_string())
    }
}
