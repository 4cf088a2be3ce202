//! Waits for memory on behalf of a statement, with a check for cancellation. Without a statement,
//! `plan::long` is used.

use sos::memory;
use sos::park::Cancel;
use types::compare::Truth;
use types::{Collation, Error, Msg, Result, Value};

use crate::{Cx, fault};
use plan::expr::CompareOp;
pub use plan::long::{Takes, ask_for_result, encode_value, group_key, join_values};
use session::stop::cancelled;

/// Compares two values of one type. Other requests run while long ones are compared.
///
/// # Errors
/// An error that stops the statement if `cancel` is set while long values are compared.
#[inline]
pub fn compare(
    op: CompareOp,
    left: &Value,
    right: &Value,
    collation: Collation,
    cancel: &Cancel,
) -> Result<Truth> {
    plan::long::compare(op, left, right, collation, cancel).ok_or_else(cancelled)
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
