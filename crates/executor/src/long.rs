//! Waiting for memory on behalf of a statement, which may be cancelled meanwhile. What asks without one is
//! `plan::long`.

use sos::memory;
use types::{Error, Msg, Result};

use crate::{Cx, fault};
pub use plan::long::{Takes, ask_for_result};

/// Waits until so many bytes more are within the limit, of which the collectors may have to free some.
///
/// # Errors
/// 701 if that is not to be had; the client gave up.
pub fn wait_for_room(bytes: usize, cx: &mut Cx<'_>) -> Result<()> {
    if memory::wait_for_room(bytes, Some(&cx.session.cancel)).is_ok() {
        return Ok(());
    }
    fault::check_cancel(cx)?;
    Err(Error::from(Msg::OutOfMemory))
}
