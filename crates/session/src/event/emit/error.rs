//! Reported messages: error_reported.

use sos::xe::{self, Value};
use types::Error;

use crate::SessionState;
use crate::event::context::fire;
use crate::event::list::ERROR_REPORTED;

/// First message number that users may define.
const USER_MESSAGE_FIRST: i32 = 50_000;
/// Keys of the maps of `list/error.rs`.
const SERVER: u32 = 2;
const TO_USER: u32 = 8;
const TO_NOBODY: u32 = 16;

/// The receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// The client of the session.
    Client,
    /// A CATCH block of a procedure or batch.
    Catch,
}

/// Fires error_reported for a message.
#[inline]
pub fn reported(session: &SessionState, error: &Error, to: Receiver) {
    if xe::enabled(&ERROR_REPORTED) {
        report(session, error, to);
    }
}

/// Fires error_reported for a refused login, which has no session.
pub fn login_failed(error: &Error) {
    if xe::enabled(&ERROR_REPORTED) {
        xe::fire(&ERROR_REPORTED, &values(error, Receiver::Client));
    }
}

fn values(error: &Error, to: Receiver) -> [Value<'_>; 8] {
    let intercepted = to == Receiver::Catch;
    [
        Value::Int(i64::from(error.number)),
        Value::Int(i64::from(error.severity)),
        Value::Int(i64::from(error.state)),
        Value::Bool(error.number >= USER_MESSAGE_FIRST),
        Value::Map(SERVER),
        Value::Map(if intercepted { TO_NOBODY } else { TO_USER }),
        Value::Bool(intercepted),
        Value::Text(&error.message),
    ]
}

#[cold]
fn report(session: &SessionState, error: &Error, to: Receiver) {
    fire(session, &ERROR_REPORTED, &values(error, to));
}
