//! Waits for memory on behalf of a statement, with a check for cancellation. Without a statement,
//! `plan::long` is used.

use std::sync::Arc;

use sos::memory;
use sos::park::Cancel;
use types::key::KeyPart;
use types::{Collation, Error, Msg, Result, Value};

use crate::{Cx, fault};
use plan::long;
pub use plan::long::{Takes, ask_for_result, compare, is_long, join_values};

/// Does work on long values, which may end early once `cancel` is set.
///
/// # Errors
/// Those of the work; an error that stops the statement if `cancel` was set by its end: the result may be incomplete.
pub fn until_cancelled<R>(cancel: &Arc<Cancel>, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let result = long::cancellable(cancel, work);
    if cancel.is_set() { Err(plan::stop::cancelled()) } else { result }
}

/// As [`plan::long::encode_value`]; the key of a long value ends early once `cancel` is set.
///
/// # Errors
/// 701; an error that stops the statement.
#[inline]
pub fn encode_value(
    value: &Value,
    part: KeyPart,
    out: &mut Vec<u8>,
    cancel: &Arc<Cancel>,
) -> Result<()> {
    if is_long(value) {
        return until_cancelled(cancel, || long::encode_value(value, part, out));
    }
    long::encode_value(value, part, out)
}

/// As [`plan::long::group_key`]; the form of a long value ends early once `cancel` is set.
///
/// # Errors
/// As [`encode_value`].
#[inline]
pub fn group_key(
    value: &Value,
    collation: Collation,
    out: &mut Vec<u8>,
    cancel: &Arc<Cancel>,
) -> Result<()> {
    if is_long(value) {
        return until_cancelled(cancel, || long::group_key(value, collation, out));
    }
    long::group_key(value, collation, out)
}

/// Waits until `bytes` more are within the memory limit; collectors may have to free some.
///
/// # Errors
/// 701 if there is not enough; an error that stops the statement if the client has cancelled it.
pub fn wait_for_room(bytes: usize, cx: &mut Cx<'_>) -> Result<()> {
    if memory::wait_for_room(bytes, Some(&cx.session.connection.cancel)).is_ok() {
        return Ok(());
    }
    fault::check_cancel(cx)?;
    Err(Error::from(Msg::OutOfMemory))
}
