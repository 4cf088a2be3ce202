//! Why a program stops before its end, and where control goes after a step.

use types::{Error, Msg};

pub use super::class::ErrorClass;
use plan::sink::Disconnected;

/// Why a program stops before its end.
#[derive(Debug)]
pub enum Stop {
    /// An error that is not handled yet: on its way to a CATCH block or to its report.
    Error(Error),
    /// The same, raised by THROW: ends the batch even where the error alone would not.
    Thrown(Error),
    /// A name or type did not resolve when a statement was bound: it ends the batch or procedure that
    /// it is in, and only a TRY block around the call of that catches it.
    Unbound(Error),
    /// An error has been reported and ends the batch or procedure that it is in.
    Scope,
    /// An error has been reported and ends the whole batch.
    Batch,
    /// The client has cancelled the request.
    Cancelled,
    /// The client is gone.
    Disconnected,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Msg<'_>> for Stop {
    fn from(msg: Msg<'_>) -> Self {
        Self::Error(msg.into())
    }
}

impl From<Disconnected> for Stop {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

/// Where control goes after a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// To the next step.
    Next,
    /// Behind the innermost loop.
    Break,
    /// To the condition of the innermost loop.
    Continue,
    /// Out of the batch or procedure, with this return status.
    Return(i32),
    /// To a label of an enclosing statement list.
    Goto(String),
}

/// The result of running steps.
pub type Run = Result<Outcome, Stop>;

/// Number of errors that no client is told by it.
pub const INTERNAL: i32 = 0;

/// What a cancelled statement fails with, where nobody is there to tell it.
pub fn cancelled() -> Error {
    Error::custom(INTERNAL, 16, 1, "Operation cancelled by user.")
}
