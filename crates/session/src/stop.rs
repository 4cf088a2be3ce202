//! The reasons why a program stops early, and where control goes after a step.

use types::{Error, Msg};

pub use super::class::ErrorClass;
use plan::sink::Disconnected;
pub use plan::stop::{GONE, INTERNAL, cancelled};

/// The reason why a program stops early.
#[derive(Debug)]
pub enum Stop {
    /// An error that is not handled yet: it is being passed to a CATCH block or to the client.
    Error(Error),
    /// The same, raised by THROW: it ends the batch even if its number alone would not.
    Thrown(Error),
    /// A name or type did not resolve when a statement was bound: it ends the batch or procedure,
    /// and only a TRY block around the call of that catches it.
    Unbound(Error),
    /// An error that was reported and ends its batch or procedure.
    Scope,
    /// An error that was reported and ends the whole batch.
    Batch,
    /// The client has cancelled the request.
    Cancelled,
    /// The connection is closed.
    Disconnected,
}

impl From<Error> for Stop {
    /// An error that is never sent to a client stops the program for the reason that it reports: it can be raised
    /// wherever long work looks for a cancellation, such as while a statement is bound.
    fn from(error: Error) -> Self {
        match (error.number, error.severity, error.state) {
            (INTERNAL, GONE, _) => Self::Disconnected,
            (INTERNAL, _, 1) => Self::Cancelled,
            _ => Self::Error(error),
        }
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
    /// Out of the innermost loop.
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
