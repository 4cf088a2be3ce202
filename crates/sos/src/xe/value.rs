//! `Value`: the value of an event's field or of an action, borrowed from the thread that fires; and
//! [`OwnedValue`], which a reader gets.

use super::mixed;

/// A value on its way through predicates into buffers. It is copied only if a session collects it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value: the thread does not know it, or the session does not collect it.
    Null,
    /// A boolean value (`boolean`).
    Bool(bool),
    /// A signed integer of any size.
    Int(i64),
    /// An unsigned integer of any size; an address; a point in time in 100 ns since 0001-01-01.
    UInt(u64),
    /// A floating-point number (`float64`).
    Float(f64),
    /// Text, encoded in UTF-8.
    Text(&'a str),
    /// Text with bytes in it that are shown as digits: the runs of [`mixed::MixedText::runs`].
    /// Readers get text.
    Mixed(&'a [u8]),
    /// Binary data. (XML is text.)
    Bytes(&'a [u8]),
    /// A GUID, in the order of its text form.
    Guid([u8; 16]),
    /// A key of the field's [`super::Map`].
    Map(u32),
    /// The number of a stored call stack, with [`super::STACK_AS_ADDRESSES`] if it is to be shown
    /// as addresses.
    Stack(u32),
    /// An activity of TRACK_CAUSALITY: its GUID, and the number within it.
    Activity([u8; 16], u32),
}

impl Value<'_> {
    /// Copies the value for a reader.
    #[must_use]
    pub fn to_owned(self) -> OwnedValue {
        match self {
            Value::Null => OwnedValue::Null,
            Value::Bool(value) => OwnedValue::Bool(value),
            Value::Int(value) => OwnedValue::Int(value),
            Value::UInt(value) => OwnedValue::UInt(value),
            Value::Float(value) => OwnedValue::Float(value),
            Value::Text(value) => OwnedValue::Text(value.to_owned()),
            // Damaged runs occur only in a damaged file, and become no value.
            Value::Mixed(runs) => mixed::text_of(runs).map_or(OwnedValue::Null, OwnedValue::Text),
            Value::Bytes(value) => OwnedValue::Bytes(value.to_owned()),
            Value::Guid(value) => OwnedValue::Guid(value),
            Value::Map(key) => OwnedValue::Map(key),
            Value::Stack(id) => OwnedValue::Stack(id),
            Value::Activity(guid, sequence) => OwnedValue::Activity(guid, sequence),
        }
    }

    /// The value as a number, by which a histogram can be weighted; `None` if it is no number.
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

/// A value that its reader owns. The variants are those of [`Value`].
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedValue {
    /// No value was collected.
    Null,
    /// A boolean value (`boolean`).
    Bool(bool),
    /// A signed integer of any size.
    Int(i64),
    /// An unsigned integer, an address, or a point in time in 100 ns since 0001-01-01.
    UInt(u64),
    /// A floating-point number (`float64`).
    Float(f64),
    /// Text; from an event file also a call stack.
    Text(String),
    /// Binary data of any length.
    Bytes(Vec<u8>),
    /// A GUID, in the order of its text form.
    Guid([u8; 16]),
    /// A key of the field's [`super::Map`].
    Map(u32),
    /// The number of a stored call stack.
    Stack(u32),
    /// An activity: its GUID, and the number within it.
    Activity([u8; 16], u32),
}

impl OwnedValue {
    /// Borrows it as a [`Value`].
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
