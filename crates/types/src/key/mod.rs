//! Binary-comparable index keys: comparing two encoded keys with `memcmp` orders the rows.
//!
//! Each value is written as a marker byte (NULL sorts first) and a form whose byte order is the
//! value order; in a descending column all bytes are inverted. Every form has a fixed length or an
//! end byte, so the key of the first n columns is a prefix of the key of all of them.
//!
//! Values of a column must have one representation, that of the column's type: the `int` 1 and the
//! `bigint` 1 have different keys.

use std::cmp::Ordering;

use crate::pause::Watched;
use crate::row::{RowText, RowView};
use crate::text::PIECE_BYTES;
use crate::value::ColumnType;
use crate::{Collation, Decimal, Value, compare};

/// The direction a key column sorts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest first; NULL is the smallest.
    Ascending,
    /// Largest first; NULL comes last.
    Descending,
}

/// How one key column is encoded. Its values must all be of one representation (the column's type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPart {
    /// The collation of a string column; ignored for others.
    pub collation: Collation,
    /// Ascending or descending order.
    pub direction: Direction,
}

const NULL: u8 = 0;
const NOT_NULL: u8 = 1;

/// Appends the key of `values`, which may be fewer than `parts` (a prefix for a range seek).
pub fn encode_key(values: &[Value], parts: &[KeyPart], out: &mut Vec<u8>) {
    for (value, part) in values.iter().zip(parts) {
        encode_value(value, *part, out);
    }
}

/// Appends the key form of one value.
pub fn encode_value(value: &Value, part: KeyPart, out: &mut Vec<u8>) {
    let start = out.len();
    push_value(value, part.collation, out);
    turn(start, part, out);
}

/// As [`encode_value`], for long strings and binary values: pauses, and ends early where the key is no longer wanted.
pub fn encode_value_watched(
    value: &Value,
    part: KeyPart,
    out: &mut Vec<u8>,
    watched: &Watched<'_>,
) {
    let start = out.len();
    match value {
        Value::VarChar(bytes) => {
            out.push(NOT_NULL);
            part.collation.sort_key_varchar_watched(bytes, out, watched);
        }
        Value::NVarChar(units) => {
            out.push(NOT_NULL);
            part.collation.sort_key_nvarchar_watched(units, out, watched);
        }
        Value::VarBinary(bytes) => {
            out.push(NOT_NULL);
            let bytes = compare::trim_zeros(bytes);
            let pieces = bytes.chunks(PIECE_BYTES).take_while(|_| watched.piece());
            pieces.for_each(|piece| push_escaped(piece, out));
            out.push(0);
        }
        _ => push_value(value, part.collation, out),
    }
    turn(start, part, out);
}

/// Appends the common start of the key forms of all strings that start like this one; other key
/// forms may have it too.
pub fn encode_start(value: &Value, part: KeyPart, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(NOT_NULL);
    match value {
        Value::VarChar(bytes) => part.collation.prefix_key_varchar(bytes, out),
        Value::NVarChar(units) => part.collation.prefix_key_nvarchar(units, out),
        _ => {}
    }
    turn(start, part, out);
}

/// Appends the key form of a column, read from its place in the encoded row; allocates nothing.
pub fn encode_column(row: &RowView<'_>, ordinal: usize, part: KeyPart, out: &mut Vec<u8>) {
    let start = out.len();
    match row.text(ordinal) {
        Some(text) => {
            out.push(NOT_NULL);
            match text {
                RowText::VarChar(bytes) => part.collation.sort_key_varchar(bytes, out),
                RowText::NVarChar(units) => part.collation.sort_key_nvarchar(units, out),
                RowText::VarBinary(bytes) => push_binary(bytes, out),
            }
        }
        None => push_value(&row.get(ordinal), part.collation, out),
    }
    turn(start, part, out);
}

/// Inverts the bytes written for a descending column.
fn turn(start: usize, part: KeyPart, out: &mut [u8]) {
    if part.direction == Direction::Descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Turns an encoded prefix into the smallest key above every key that starts with it. Returns
/// `false` if there is none; then the range has no upper end.
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

fn push_value(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(NULL);
        return;
    }
    out.push(NOT_NULL);
    match value {
        Value::Null => {}
        Value::Bit(v) => out.push(u8::from(*v)),
        Value::TinyInt(v) => out.push(*v),
        Value::SmallInt(v) => out.extend_from_slice(&flip_i16(*v)),
        Value::Int(v) => out.extend_from_slice(&flip_i32(*v)),
        Value::BigInt(v) | Value::Money(v) | Value::Time(v) => {
            out.extend_from_slice(&flip_i64(*v));
        }
        Value::Decimal(v) => out.extend_from_slice(&flip_i128(v.mantissa())),
        Value::Real(v) => push_float(f64::from(*v), out),
        Value::Float(v) => push_float(*v, out),
        Value::Date(days) => out.extend_from_slice(&flip_i32(*days)),
        Value::DateTime { days, ticks } => {
            out.extend_from_slice(&flip_i32(*days));
            out.extend_from_slice(&ticks.to_be_bytes());
        }
        Value::SmallDateTime { days, minutes } => {
            out.extend_from_slice(&days.to_be_bytes());
            out.extend_from_slice(&minutes.to_be_bytes());
        }
        // Two values that differ in offset only are equal.
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => {
            out.extend_from_slice(&flip_i32(*days));
            out.extend_from_slice(&flip_i64(*ticks));
        }
        Value::VarChar(bytes) => collation.sort_key_varchar(bytes, out),
        Value::NVarChar(units) => collation.sort_key_nvarchar(units, out),
        Value::VarBinary(bytes) => push_binary(bytes, out),
        Value::UniqueIdentifier(guid) => out.extend_from_slice(&compare::guid_order(guid)),
        Value::Variant(inner) => push_variant(&inner.0, &inner.1, out),
    }
}

fn flip_i16(v: i16) -> [u8; 2] {
    (v.cast_unsigned() ^ 1 << 15).to_be_bytes()
}

fn flip_i32(v: i32) -> [u8; 4] {
    (v.cast_unsigned() ^ 1 << 31).to_be_bytes()
}

fn flip_i64(v: i64) -> [u8; 8] {
    (v.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

fn flip_i128(v: i128) -> [u8; 16] {
    (v.cast_unsigned() ^ 1 << 127).to_be_bytes()
}

/// Appends a decimal of any scale. Trailing zeros behind the point are cut, so that 1.0 and 1.00
/// have the same key; then come the whole part and the fraction as 38 digits.
fn push_decimal(v: &Decimal, out: &mut Vec<u8>) {
    let unit = 10_u128.pow(u32::from(v.scale.min(38)));
    let mantissa = v.mantissa();
    let (whole, fraction) = (mantissa.unsigned_abs() / unit, mantissa.unsigned_abs() % unit);
    let fraction = fraction * 10_u128.pow(u32::from(38 - v.scale.min(38)));
    let mut bytes = [0; 33];
    bytes[0] = u8::from(mantissa >= 0);
    bytes[1..17].copy_from_slice(&whole.to_be_bytes());
    bytes[17..].copy_from_slice(&fraction.to_be_bytes());
    if mantissa < 0 {
        bytes[1..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    out.extend_from_slice(&bytes);
}

/// Appends a float: the bits of a positive one with the sign set, those of a negative one inverted.
fn push_float(v: f64, out: &mut Vec<u8>) {
    let bits = if v == 0.0 { 0 } else { v.to_bits() };
    let ordered = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Appends binary with trailing zeros cut, which do not count in comparison.
pub fn push_binary(bytes: &[u8], out: &mut Vec<u8>) {
    push_escaped(compare::trim_zeros(bytes), out);
    out.push(0);
}

/// Appends bytes of a binary key, which keeps 0 free for the end.
fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes.iter().copied() {
        match byte {
            0 | 1 => out.extend_from_slice(&[1, byte + 1]),
            _ => out.push(byte),
        }
    }
}

/// Appends a `sql_variant`: its family first, then the value as that family compares.
fn push_variant(value: &Value, of: &ColumnType, out: &mut Vec<u8>) {
    let (family, value) = compare::variant_form(value, of);
    out.push(family);
    if family == compare::STRINGS {
        out.extend_from_slice(&of.collation.rank());
    }
    match &value {
        Value::Decimal(v) => push_decimal(v, out),
        _ => push_value(&value, of.collation, out),
    }
}

/// Compares two rows of key values as their encoded keys compare.
pub fn compare_keys(left: &[Value], right: &[Value], parts: &[KeyPart]) -> Ordering {
    for ((a, b), part) in left.iter().zip(right).zip(parts) {
        let order = compare::order(a, b, part.collation);
        if order.is_ne() {
            return match part.direction {
                Direction::Ascending => order,
                Direction::Descending => order.reverse(),
            };
        }
    }
    left.len().cmp(&right.len())
}

#[cfg(test)]
mod tests;
