//! Messages are reported: error_reported.

use sos::xe::{self, Value};
use types::Error;

use crate::SessionState;
use crate::event::context::fire;
use crate::event::list::ERROR_REPORTED;

/// Numbers from here on are users' own.
const USER_MESSAGE_FIRST: i32 = 50_000;
/// Keys of the maps of `list/error.rs`.
const SERVER: u32 = 2;
const TO_USER: u32 = 8;
const TO_NOBODY: u32 = 16;

/// Who gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// The client.
    Client,
    /// A CATCH block.
    Catch,
}

/// Notes that a message is reported.
#[inline]
pub fn reported(session: &SessionState, error: &Error, to: Receiver) {
    if xe::enabled(&ERROR_REPORTED) {
        report(session, error, to);
    }
}

/// Notes that a login was refused: there is no session that could be asked about.
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
