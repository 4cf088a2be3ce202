//! Long values: a result that may take megabytes is asked for before it is made, because the vector that it is made in has
//! no way to be refused memory.

use sos::memory;
use types::{DataType, Error, Msg, Result, Value};

/// Values from this size on are asked for; shorter ones are what the reserve of the limit is for.
pub const LONG_BYTES: usize = 1 << 20;

/// Asks for so many bytes more.
///
/// # Errors
/// 701 where they are not within the limit of memory.
pub fn ask(bytes: usize) -> Result<()> {
    if bytes < LONG_BYTES {
        return Ok(());
    }
    memory::wait_for_room(bytes, None).map_err(|_| Error::from(Msg::OutOfMemory))
}

/// What an operation takes while it runs: so many times the bytes of its operands.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Strings are joined, and what came out is copied.
    Joined = 2,
    /// A function makes a vector that grows, and a copy.
    Called = 4,
    /// Characters get twice as wide, in a vector that grows, and are copied.
    Converted = 6,
}

/// Asks for what an operation takes whose result is of this type.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn ask_for_result<'v>(
    takes: Takes,
    of: &DataType,
    operands: impl Iterator<Item = &'v Value>,
) -> Result<()> {
    if !of.is_large() {
        return Ok(());
    }
    let bytes: usize = operands.filter_map(Value::string_bytes).map(<[u8]>::len).sum();
    ask(bytes.saturating_mul(takes as usize))
}

/// A text that grows: asks for the room that its vector takes when it has to grow, and for the copy that it ends as.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn append(text: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    let after = text.len() + more.len();
    if after > text.capacity() && after >= LONG_BYTES {
        ask(after.saturating_mul(3))?;
    }
    text.extend_from_slice(more);
    Ok(())
}
