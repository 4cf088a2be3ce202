//! `MixedText`: text with binary data in it, which becomes hexadecimal digits only when it is read.
//!
//! ```text
//!   run ..                     run: bytes u32, little endian; its highest bit is the kind of run
//!     text     0 │ UTF-8       shown as it is
//!     binary   1 │ bytes       shown as 0x and two digits a byte
//! ```
//!
//! A kilobyte of binary data is two kilobytes of digits. An event is fired in the time of the
//! request, so the conversion is left to the reader. docs/decisions/0154.

const IS_BINARY: u32 = 1 << 31;
const LENGTH_BYTES: usize = 4;

/// A builder for text with binary data in it.
#[derive(Debug, Default)]
pub struct MixedText {
    bytes: Vec<u8>,
    /// The offset of the length of the run of text that is being extended; `None` after binary
    /// data.
    open: Option<usize>,
}

impl MixedText {
    /// Makes an empty one, without memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), open: None }
    }

    /// Makes an empty one that reuses the memory of another.
    #[must_use]
    pub fn in_memory_of(other: Self) -> Self {
        let mut bytes = other.bytes;
        bytes.clear();
        Self { bytes, open: None }
    }

    /// The size of its memory in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds the UTF-8 text that `write` appends to the vector; `write` must not change what is
    /// already there.
    #[inline]
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.open.is_none() {
            self.open = Some(self.bytes.len());
            self.bytes.extend_from_slice(&[0; LENGTH_BYTES]);
        }
        write(&mut self.bytes);
    }

    /// Adds bytes that are shown as `0x` and two digits each.
    pub fn binary(&mut self, bytes: &[u8]) {
        self.close();
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX) & !IS_BINARY;
        self.bytes.extend_from_slice(&(length | IS_BINARY).to_le_bytes());
        self.bytes.extend_from_slice(&bytes[..length as usize]);
    }

    fn close(&mut self) {
        if let Some(at) = self.open.take() {
            let length = self.bytes.len() - at - LENGTH_BYTES;
            let length = u32::try_from(length).unwrap_or(u32::MAX) & !IS_BINARY;
            self.bytes[at..at + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        }
    }

    /// Ends the last run. The runs are then complete for an event.
    pub fn finish(&mut self) {
        self.close();
    }

    /// The runs, after [`Self::finish`].
    #[must_use]
    pub fn runs(&self) -> &[u8] {
        debug_assert!(self.open.is_none(), "it has been finished");
        &self.bytes
    }
}

/// The text of runs; `None` if they are damaged.
#[must_use]
pub fn text_of(runs: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(runs.len());
    let mut rest = runs;
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<LENGTH_BYTES>()?;
        let length = u32::from_le_bytes(*length);
        let bytes = usize::try_from(length & !IS_BINARY).ok()?;
        let (run, after) = after.split_at_checked(bytes)?;
        if length & IS_BINARY == 0 {
            text.push_str(std::str::from_utf8(run).ok()?);
        } else {
            push_hex(run, &mut text);
        }
        rest = after;
    }
    Some(text)
}

/// Writes bytes as `0x` and two digits each.
fn push_hex(bytes: &[u8], to: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    to.reserve(2 + 2 * bytes.len());
    to.push_str("0x");
    for byte in bytes {
        to.push(char::from(DIGITS[usize::from(byte >> 4)]));
        to.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finished(write: impl FnOnce(&mut MixedText)) -> Vec<u8> {
        let mut mixed = MixedText::default();
        write(&mut mixed);
        mixed.finish();
        mixed.runs().to_vec()
    }

    #[test]
    fn bytes_are_shown_as_two_digits_each_between_what_is_text() {
        let runs = finished(|mixed| {
            mixed.text(|to| to.extend_from_slice(b"exec p @a="));
            mixed.binary(&[0, 0x0f, 0xa5, 0xff]);
            mixed.text(|to| to.extend_from_slice(b",@b="));
            mixed.text(|to| to.extend_from_slice("N'ä'".as_bytes()));
            mixed.text(|to| to.extend_from_slice(b",@c="));
            mixed.binary(&[]);
        });
        assert_eq!(text_of(&runs).as_deref(), Some("exec p @a=0x000FA5FF,@b=N'ä',@c=0x"));
        assert_eq!(text_of(&[]).as_deref(), Some(""));
    }

    #[test]
    fn memory_is_used_again_and_nothing_else_of_what_was_there() {
        let mut first = MixedText::default();
        first.text(|to| to.extend_from_slice(&[b'x'; 100]));
        let capacity = first.capacity();
        let mut second = MixedText::in_memory_of(first);
        second.text(|to| to.extend_from_slice(b"y"));
        second.finish();
        assert_eq!((text_of(second.runs()).as_deref(), second.capacity()), (Some("y"), capacity));
    }

    proptest! {
        #[test]
        fn what_is_cut_off_is_damaged_and_nothing_panics(
            pieces in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..9)), 1..6),
            cut in 1..4_usize,
            noise in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut wanted = String::new();
            let runs = finished(|mixed| {
                for (is_binary, bytes) in &pieces {
                    if *is_binary {
                        mixed.binary(bytes);
                        push_hex(bytes, &mut wanted);
                    } else {
                        let text = String::from_utf8_lossy(bytes);
                        mixed.text(|to| to.extend_from_slice(text.as_bytes()));
                        wanted.push_str(&text);
                    }
                }
            });
            prop_assert_eq!(text_of(&runs), Some(wanted));
            prop_assert_eq!(text_of(&runs[..runs.len() - cut.min(runs.len() - 1)]), None);
            let _ = text_of(&noise);
        }
    }
}
