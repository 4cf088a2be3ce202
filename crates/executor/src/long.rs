//! Waits for memory on behalf of a statement, with a check for cancellation. Without a statement,
//! `plan::long` is used.

use sos::memory;
use types::{Error, Msg, Result};

use crate::{Cx, fault};
pub use plan::long::{
    Takes, ask_for_result, compare, encode_value, group_key, is_long, join_values,
};

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
