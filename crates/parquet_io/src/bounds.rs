//! The minimum and maximum of a column in a row group, as T-SQL values.

use types::Value;
use types::batch::Vector;

use crate::convert;
use crate::metadata::Statistics;
use crate::schema::{Column, Meaning, Physical};
use crate::values::{self, Raw};

/// What the footer says of a column's values in a row group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// A lower bound of the values; `None` if the footer has none that can be used.
    pub least: Option<Value>,
    /// An upper bound of the values; `None` if the footer has none that can be used.
    pub greatest: Option<Value>,
    /// Whether all rows are NULL.
    pub is_null: bool,
}

/// Makes bounds from the footer's statistics. Bounds of types whose order the format never settled
/// are ignored, and so are those that are no values of the type.
pub(crate) fn of(column: &Column, known: &Statistics, rows: u64) -> Bounds {
    let is_null = known.nulls == Some(rows) && rows > 0;
    let has_order = match (column.physical, column.meaning) {
        (Physical::Int96, _) | (_, Meaning::Float16) => false,
        // Writers differ in how they compare these bytes.
        (Physical::Bytes, Meaning::Decimal(..)) => false,
        _ => true,
    };
    if !has_order {
        return Bounds { is_null, ..Bounds::default() };
    }
    let bound = |bytes: &Option<Vec<u8>>| value(column, bytes.as_ref()?);
    let (least, greatest) = (bound(&known.least), bound(&known.greatest));
    if column.meaning == Meaning::Text {
        return Bounds {
            least: least.and_then(below),
            greatest: greatest.and_then(above),
            is_null,
        };
    }
    Bounds { least, greatest, is_null }
}

fn value(column: &Column, bytes: &[u8]) -> Option<Value> {
    let mut raw = Raw::of(column.physical);
    match (&mut raw, column.physical) {
        (Raw::Bytes(rows), Physical::Bytes) => rows.push(bytes),
        _ => values::plain(bytes, &mut 0, 1, column.physical, &mut raw).ok()?,
    }
    let data_type = column.data_type.as_ref().ok()?;
    let mut vector = Vector::of_type(data_type);
    convert::append(column, &raw, None, &mut vector).ok()?;
    Some(vector.get(0))
}

/// T-SQL compares a shorter string as if it were padded with this.
const BLANK: u8 = b' ';

/// Returns a string that is not above any in the row group, as T-SQL compares them. A shorter
/// string is padded with blanks, so one with a control character in that place is below it, though
/// its bytes are not.
fn below(least: Value) -> Option<Value> {
    let Value::VarChar(bytes) = least else { return None };
    let text = std::str::from_utf8(&bytes).ok()?;
    let mut characters = text.trim_end_matches(|c: char| c <= char::from(BLANK)).chars();
    // With a lower last character, what follows it in longer strings no longer matters; without
    // one, what follows is above a blank.
    let last = characters.next_back()?;
    let mut lower = characters.as_str().to_owned();
    if last.is_ascii() && last > char::from(BLANK + 1) {
        lower.extend(char::from_u32(u32::from(last) - 1));
    }
    Some(Value::VarChar(types::Bytes::copy_from(lower.as_bytes())))
}

/// Returns a string that is not below any in the row group: the bound is cut before the first
/// character below a blank.
fn above(greatest: Value) -> Option<Value> {
    let Value::VarChar(bytes) = greatest else { return None };
    let end = bytes.iter().position(|byte| *byte < BLANK).unwrap_or(bytes.len());
    Some(Value::VarChar(types::Bytes::copy_from(&bytes[..end])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Value {
        Value::VarChar(types::Bytes::copy_from(text.as_bytes()))
    }

    /// Compares two strings, the shorter one padded with blanks.
    fn padded(one: &str, other: &str) -> std::cmp::Ordering {
        let width = one.len().max(other.len());
        let pad = |text: &str| format!("{text:<0$}", width + text.chars().count() - text.len());
        pad(one).into_bytes().cmp(&pad(other).into_bytes())
    }

    fn as_text(value: Value) -> String {
        let Value::VarChar(bytes) = value else { panic!("a text") };
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    proptest! {
        /// The bytes of strings are ordered differently from T-SQL's strings.
        #[test]
        fn bounds_of_texts_hold_with_blanks_and_control_characters(
            texts in prop::collection::vec("[a-c\u{1}\t é]{0,4}", 1..8),
        ) {
            let least = texts.iter().min().unwrap();
            let greatest = texts.iter().max().unwrap();
            if let Some(least) = below(text(least)) {
                let least = as_text(least);
                prop_assert!(texts.iter().all(|t| padded(&least, t).is_le()), "{:?} {:?}", least, texts);
            }
            let greatest = as_text(above(text(greatest)).unwrap());
            prop_assert!(texts.iter().all(|t| padded(&greatest, t).is_ge()), "{:?} {:?}", greatest, texts);
        }
    }
}
