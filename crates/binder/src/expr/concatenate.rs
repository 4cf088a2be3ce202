//! The types of `left || right`: concatenation as standard SQL has it.

use types::{DataType, Family, Length, Msg, Result};

/// Most characters of a number, date or identifier as text: a decimal with sign and point.
const SCALAR_UNITS_MAX: u16 = 41;

/// Returns the types that the operands convert to: strings and bytes stay what they are, and what
/// is beside a string becomes one.
///
/// # Errors
/// 402 if neither is a string or bytes, or if one does not become what the other is.
pub(super) fn operands(left: &DataType, right: &DataType) -> Result<(DataType, DataType)> {
    let (l, r) = (is_text(left), is_text(right));
    if (l && r) || (is_bytes(left) && is_bytes(right)) {
        return Ok((*left, *right));
    }
    let text = DataType::VarChar(Length::Limited(SCALAR_UNITS_MAX));
    match (l, r) {
        (true, _) if becomes_text(right) => Ok((*left, text)),
        (_, true) if becomes_text(left) => Ok((text, *right)),
        _ => Err(Msg::IncompatibleTypes(left.name(), right.name(), "concat").into()),
    }
}

fn is_text(of: &DataType) -> bool {
    of.is_string() && !matches!(of, DataType::Text | DataType::NText)
}

fn is_bytes(of: &DataType) -> bool {
    matches!(of, DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion)
}

fn becomes_text(of: &DataType) -> bool {
    match of.family() {
        Family::ExactNumeric
        | Family::ApproximateNumeric
        | Family::DateTime
        | Family::UniqueIdentifier => true,
        Family::String | Family::UnicodeString | Family::Binary | Family::Variant | Family::Xml => {
            false
        }
    }
}
