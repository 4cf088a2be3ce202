//! A `sql_variant` inside a row: its type in seven bytes, then its value.
//!
//! ```text
//! system_type_id | precision | scale | length, 0xFFFF is max (u16) | collation (u16) | value
//! ```

use super::fixed::FixedKind;
use crate::{Bytes, Collation, ColumnType, DataType, Length, Value};

const HEADER: usize = 7;
const MAX: u16 = u16::MAX;

/// Encodes a value with its type.
pub(super) fn encode(value: &Value, of: &ColumnType) -> Vec<u8> {
    let data_type = &of.data_type;
    let length = match data_type.length() {
        None => 0,
        Some(Length::Limited(n)) => n,
        Some(Length::Max) => MAX,
    };
    let mut out = vec![data_type.system_type_id(), data_type.precision(), data_type.scale()];
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&of.collation.to_stored().to_le_bytes());
    match (FixedKind::of(data_type), value.string_bytes()) {
        (Some(kind), _) => {
            out.resize(HEADER + kind.size(), 0);
            kind.write(value, &mut out[HEADER..]);
        }
        (None, Some(bytes)) => out.extend_from_slice(bytes),
        (None, None) => super::mismatch(value),
    }
    out
}

/// Decodes what [`encode`] wrote.
pub(super) fn decode(bytes: &[u8]) -> Value {
    let (head, body) = bytes.split_at(HEADER);
    let length = match u16::from_le_bytes([head[3], head[4]]) {
        MAX => Length::Max,
        n => Length::Limited(n),
    };
    let data_type = DataType::from_parts(head[0], length, head[1], head[2])
        .expect("a variant holds a type that has an id");
    let value = match FixedKind::of(&data_type) {
        Some(kind) => kind.read(body),
        None if data_type.is_unicode() => Value::NVarChar(Bytes::copy_from(body)),
        None if data_type.is_string() => Value::VarChar(Bytes::copy_from(body)),
        None => Value::VarBinary(Bytes::copy_from(body)),
    };
    let collation = Collation::from_stored(u16::from_le_bytes([head[5], head[6]]));
    Value::Variant(Box::new((value, ColumnType { data_type, collation, nullable: true })))
}
