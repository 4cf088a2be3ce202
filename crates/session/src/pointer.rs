//! Text pointers: the values of TEXTPTR, which READTEXT takes.
//!
//! A pointer refers to the value that its column had when TEXTPTR was evaluated. Values are shared
//! and immutable, so it costs a reference and needs no lock. It belongs to the session; the oldest
//! is dropped when there are too many.

use std::collections::VecDeque;

use types::{Bytes, Value};

/// Maximum number of pointers that a session remembers.
const POINTERS_MAX: usize = 256;
/// Length of a pointer in bytes.
pub const POINTER_BYTES: usize = 16;

/// The text pointers of a session.
#[derive(Debug, Default)]
pub struct TextPointers {
    made: u64,
    kept: VecDeque<(u64, Value)>,
}

impl TextPointers {
    /// Creates a pointer to a value.
    pub fn make(&mut self, value: &Value) -> Bytes {
        self.made += 1;
        if self.kept.len() >= POINTERS_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((self.made, value.clone()));
        let mut pointer = [0xFF; POINTER_BYTES];
        pointer[..8].copy_from_slice(&self.made.to_le_bytes());
        Bytes::copy_from(&pointer)
    }

    /// Returns the value of a pointer; `None` if it is unknown or was dropped.
    pub fn find(&self, pointer: &[u8]) -> Option<&Value> {
        let (number, rest) = pointer.split_first_chunk::<8>()?;
        if rest.len() != POINTER_BYTES - 8 || rest.iter().any(|b| *b != 0xFF) {
            return None;
        }
        let number = u64::from_le_bytes(*number);
        self.kept.iter().find(|(made, _)| *made == number).map(|(_, value)| value)
    }

    /// Drops all pointers of the session.
    pub fn clear(&mut self) {
        self.kept.clear();
    }
}
