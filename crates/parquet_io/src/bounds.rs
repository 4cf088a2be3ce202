//! The least and the greatest value of a column in a row group, as T-SQL has them.

use types::Value;
use types::batch::Vector;

use crate::convert;
use crate::metadata::Statistics;
use crate::schema::{Column, Meaning, Physical};
use crate::values::{self, Raw};

/// What is known of a column's values in a row group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// None is less.
    pub least: Option<Value>,
    /// None is greater.
    pub greatest: Option<Value>,
    /// Whether no row has a value.
    pub is_null: bool,
}

/// Makes bounds of what the footer says. What it says of types whose order was never settled is not believed, and neither is
/// what is no value of the type.
pub(crate) fn of(column: &Column, known: &Statistics, rows: u64) -> Bounds {
    let is_null = known.nulls == Some(rows) && rows > 0;
    let has_order = match (column.physical, column.meaning) {
        (Physical::Int96, _) | (_, Meaning::Float16) => false,
        // Which way round writers compared them differs.
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

/// What shorter texts are compared as if they had behind them.
const BLANK: u8 = b' ';

/// A text that none of those in a row group is below, as T-SQL compares them: a shorter text as if blanks were
/// behind it, so that one with a control character there is below it, though its bytes are not.
fn below(least: Value) -> Option<Value> {
    let Value::VarChar(bytes) = least else { return None };
    let text = std::str::from_utf8(&bytes).ok()?;
    let mut characters = text.trim_end_matches(|c: char| c <= char::from(BLANK)).chars();
    // With a last character that is lower, what follows in longer texts does not matter any more; without one, what
    // follows is above a blank.
    let last = characters.next_back()?;
    let mut lower = characters.as_str().to_owned();
    if last.is_ascii() && last > char::from(BLANK + 1) {
        lower.extend(char::from_u32(u32::from(last) - 1));
    }
    Some(Value::VarChar(types::Bytes::copy_from(lower.as_bytes())))
}

/// A text that none of those in a row group is above, likewise: without what is below a blank in it.
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

    /// Compares as if blanks were behind the shorter one.
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
        /// The bytes of texts order otherwise than T-SQL does.
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
