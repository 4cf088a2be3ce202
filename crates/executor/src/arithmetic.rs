//! What arithmetic that fails gives: an error, or under SET ANSI_WARNINGS OFF and ARITHABORT OFF NULL and a
//! message at the end of the statement.

use types::{Error, Msg, Result, Value};

use crate::{Cx, fault};
use session::options::ArithmeticFailure;

/// Error 3623: a function has no value there.
const DOMAIN: i32 = 3623;
/// Error 8134.
const DIVISION: i32 = 8134;

/// What a statement has made NULL of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadeNull {
    overflow: bool,
    division: bool,
    domain: bool,
}

/// Tells whether an error is one of arithmetic: an overflow, a division by zero, a function without a value.
pub(crate) fn is_arithmetic(error: &Error) -> bool {
    matches!(error.number, 220 | 232 | 8115 | DIVISION | DOMAIN)
}

/// Tells whether an error of arithmetic ends the batch, and the transaction with it.
pub fn ends_batch(error: &Error, cx: &Cx<'_>) -> bool {
    is_arithmetic(error) && cx.session.options.arithmetic_failure() == ArithmeticFailure::Batch
}

/// Makes NULL of an error of arithmetic where the session wants that.
///
/// # Errors
/// The error, where it does not.
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

/// Tells the client what was made NULL of, unless ARITHIGNORE is ON.
///
/// # Errors
/// The client is gone.
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
        fault::sent_message(cx, &Error::from(message).at_line(cx.session.line))?;
    }
    Ok(())
}
