//! Memory for long values. Space for a result of megabytes is requested before the result is built,
//! because growing a `Vec` cannot be refused.

use sos::memory;
use types::{DataType, Error, Msg, Result, Value};

/// Values of this size and more are requested; the memory limit's reserve covers shorter ones.
pub const LONG_BYTES: usize = 1 << 20;

/// Requests this many more bytes.
///
/// # Errors
/// 701 if they would exceed the memory limit.
pub fn ask(bytes: usize) -> Result<()> {
    if bytes < LONG_BYTES {
        return Ok(());
    }
    memory::wait_for_room(bytes, None).map_err(|_| Error::from(Msg::OutOfMemory))
}

/// Memory that an operation takes while it runs, as a multiple of its operands' bytes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Strings are concatenated, and the result is copied.
    Joined = 2,
    /// A function builds a growing vector, and a copy.
    Called = 4,
    /// Characters double in width, in a growing vector, and are copied.
    Converted = 6,
}

/// Requests the memory of an operation whose result has this type.
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

/// Appends to a text that grows. Requests memory for the vector when it must grow, and for the
/// final copy.
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

/// Appends to a list that grows. Requests the memory of a list that must be moved to a larger place.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn push<T>(list: &mut Vec<T>, item: T) -> Result<()> {
    if list.len() == list.capacity() {
        ask(list.capacity().saturating_mul(2 * size_of::<T>()))?;
    }
    list.push(item);
    Ok(())
}

/// The memory of a structure of many small pieces, such as a tree: requested piece by piece, a megabyte at
/// a time, before it is taken.
#[derive(Debug, Default)]
pub struct Growing {
    taken: usize,
    granted: usize,
}

impl Growing {
    /// Takes this many more bytes. A megabyte without a request is covered by the memory limit's reserve.
    ///
    /// # Errors
    /// As [`ask`].
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.taken = self.taken.saturating_add(bytes);
        if self.taken > self.granted + LONG_BYTES { self.request() } else { Ok(()) }
    }

    #[cold]
    fn request(&mut self) -> Result<()> {
        ask((self.taken - self.granted).max(LONG_BYTES))?;
        self.granted = self.taken;
        Ok(())
    }
}
