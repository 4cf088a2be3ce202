//! The result of failed arithmetic: an error, or, with ANSI_WARNINGS and ARITHABORT both OFF, NULL
//! and a message at the end of the statement.

use types::{Error, Msg, Result, Value};

use crate::{Cx, fault};
use session::options::ArithmeticFailure;

/// Error 3623: a function got a value outside its domain, such as SQRT(-1).
const DOMAIN: i32 = 3623;
/// Error 8134: division by zero.
const DIVISION: i32 = 8134;

/// The kinds of arithmetic error that the statement has replaced with NULL so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadeNull {
    overflow: bool,
    division: bool,
    domain: bool,
}

/// Returns true for an arithmetic error: overflow, division by zero, or a value outside a
/// function's domain.
pub(crate) fn is_arithmetic(error: &Error) -> bool {
    matches!(error.number, 220 | 232 | 8115 | DIVISION | DOMAIN)
}

/// Returns true if an arithmetic error ends the batch and rolls back the transaction.
pub fn ends_batch(error: &Error, cx: &Cx<'_>) -> bool {
    is_arithmetic(error) && cx.session.options.arithmetic_failure() == ArithmeticFailure::Batch
}

/// Replaces an arithmetic error with NULL, if the session's options say so.
///
/// # Errors
/// The error itself, if they do not.
#[cold]
pub(crate) fn soften(error: Error, cx: &mut Cx<'_>) -> Result<Value> {
    if !is_arithmetic(&error) || cx.session.options.arithmetic_failure() != ArithmeticFailure::Null
    {
        return Err(error);
    }
    match error.number {
        DIVISION => cx.made_null.division = true,
        DOMAIN => cx.made_null.domain = true,
        _ => cx.made_null.overflow = true,
    }
    Ok(Value::Null)
}

/// Sends one message for each kind of error replaced with NULL, unless ARITHIGNORE is ON.
///
/// # Errors
/// The client has disconnected.
pub fn report(cx: &mut Cx<'_>) -> Result<()> {
    let made = std::mem::take(&mut cx.made_null);
    if made == MadeNull::default() || cx.session.options.arith_ignore {
        return Ok(());
    }
    let messages = [
        (made.overflow, Msg::OverflowOccurred),
        (made.division, Msg::DivisionByZeroOccurred),
        (made.domain, Msg::DomainErrorOccurred),
    ];
    for (_, message) in messages.into_iter().filter(|(told, _)| *told) {
        fault::sent_message(cx, &Error::from(message).at_line(cx.session.request.line))?;
    }
    Ok(())
}
