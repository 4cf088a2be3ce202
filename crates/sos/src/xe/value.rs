//! `Value`: what an event's field or an action carries, borrowed from the emitter; and
//! [`OwnedValue`], what a reader gets.

use super::mixed;

/// One value on its way through predicates into buffers: nothing is copied before a session wants
/// it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// There is none: the emitter does not know, or the session did not ask for it.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer of any size.
    Int(i64),
    /// An unsigned integer of any size; an address; a point in time in 100 ns since 0001-01-01.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Text with bytes in it that are shown as digits: what [`mixed::MixedText::runs`] returns.
    /// Whoever reads it gets text.
    Mixed(&'a [u8]),
    /// Bytes; XML is text.
    Bytes(&'a [u8]),
    /// A GUID, in the order of its text form.
    Guid([u8; 16]),
    /// A key of the field's map.
    Map(u32),
    /// An interned call stack: its number, with [`super::STACK_AS_ADDRESSES`] if it is to be told
    /// so.
    Stack(u32),
    /// An activity of TRACK_CAUSALITY: its GUID, and the number within it.
    Activity([u8; 16], u32),
}

impl Value<'_> {
    /// Copies it.
    #[must_use]
    pub fn to_owned(self) -> OwnedValue {
        match self {
            Value::Null => OwnedValue::Null,
            Value::Bool(value) => OwnedValue::Bool(value),
            Value::Int(value) => OwnedValue::Int(value),
            Value::UInt(value) => OwnedValue::UInt(value),
            Value::Float(value) => OwnedValue::Float(value),
            Value::Text(value) => OwnedValue::Text(value.to_owned()),
            // Damaged runs, which only a damaged file has, are no value.
            Value::Mixed(runs) => mixed::text_of(runs).map_or(OwnedValue::Null, OwnedValue::Text),
            Value::Bytes(value) => OwnedValue::Bytes(value.to_owned()),
            Value::Guid(value) => OwnedValue::Guid(value),
            Value::Map(key) => OwnedValue::Map(key),
            Value::Stack(id) => OwnedValue::Stack(id),
            Value::Activity(guid, sequence) => OwnedValue::Activity(guid, sequence),
        }
    }

    /// The number it is or stands for: what a histogram can be weighted by.
    #[must_use]
    pub fn as_number(self) -> Option<u64> {
        match self {
            Value::Bool(value) => Some(u64::from(value)),
            Value::Int(value) => u64::try_from(value).ok(),
            Value::UInt(value) => Some(value),
            Value::Map(value) | Value::Stack(value) => Some(u64::from(value)),
            Value::Null
            | Value::Float(_)
            | Value::Text(_)
            | Value::Mixed(_)
            | Value::Bytes(_)
            | Value::Guid(_)
            | Value::Activity(..) => None,
        }
    }
}

/// A value that belongs to its reader. Variants as those of [`Value`].
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedValue {
    /// There is none.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, an address, or a point in time in 100 ns since 0001-01-01.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// Text; of an event file also a call stack.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A GUID, in the order of its text form.
    Guid([u8; 16]),
    /// A key of a map.
    Map(u32),
    /// An interned call stack: its number.
    Stack(u32),
    /// An activity: its GUID, and the number within it.
    Activity([u8; 16], u32),
}

impl OwnedValue {
    /// Borrows it.
    #[must_use]
    pub fn as_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::UInt(value) => Value::UInt(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Text(value) => Value::Text(value),
            Self::Bytes(value) => Value::Bytes(value),
            Self::Guid(value) => Value::Guid(*value),
            Self::Map(key) => Value::Map(*key),
            Self::Stack(id) => Value::Stack(*id),
            Self::Activity(guid, sequence) => Value::Activity(*guid, *sequence),
        }
    }
}

/// Writes a GUID as text: `60AA9FBF-673B-4553-B7ED-71DCA7F5E972`.
#[must_use]
pub fn guid_text(guid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in guid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0').to_ascii_uppercase());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_are_written_as_sql_server_writes_them() {
        let guid = std::array::from_fn(|at| u8::try_from(at * 17).unwrap_or(0));
        assert_eq!(guid_text(&guid), "00112233-4455-6677-8899-AABBCCDDEEFF");
    }

    #[test]
    fn values_survive_being_copied() {
        for value in [Value::Int(-1), Value::Text("x"), Value::Bytes(&[1]), Value::Map(3)] {
            assert_eq!(value.to_owned().as_value(), value);
        }
    }
}
