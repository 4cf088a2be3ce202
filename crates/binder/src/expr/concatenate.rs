//! `left || right`: concatenation as standard SQL has it.

use catalog::options::Meaning;
use plan::convert::convert_to;
use plan::expr::Expr;
use types::type_rules::BinaryOp;
use types::value::ColumnType;
use types::{DataType, Family, Length, Mode, Msg, Result};

use super::convert::common_collation;
use super::{adopt_null_types, arithmetic};

/// Most characters of a number, date or identifier as text: a decimal with sign and point.
const SCALAR_UNITS_MAX: u16 = 41;

/// Binds `left || right`: as `+` of strings, but NULL if an operand is NULL, under
/// CONCAT_NULL_YIELDS_NULL OFF too, and a number or date beside a string becomes a string.
///
/// # Errors
/// 402 for types that do not become strings or bytes.
#[inline(never)]
pub(super) fn bind(left: Expr, right: Expr) -> Result<Expr> {
    let text = ColumnType::nullable(DataType::VarChar(Length::Limited(1)));
    let (left, right) = match left.is_null_literal() && right.is_null_literal() {
        true => (Expr { ty: text, ..left }, Expr { ty: text, ..right }),
        false => adopt_null_types(left, right),
    };
    let (l, r) = operands(&left.ty.data_type, &right.ty.data_type)?;
    let collation = common_collation(&left, &right, "concat")?;
    let typed = |of: Expr, data_type| match of.ty.data_type == data_type {
        true => Ok(of),
        false => {
            let ty = ColumnType { data_type, collation, nullable: of.ty.nullable };
            convert_to(of, &ty, Mode::Implicit)
        }
    };
    arithmetic(BinaryOp::Add, typed(left, l)?, typed(right, r)?, Meaning::default())
}

/// Returns the types that the operands convert to: strings and bytes stay what they are, and what
/// is beside a string becomes one.
///
/// # Errors
/// 402 if neither is a string or bytes, or if one does not become what the other is.
fn operands(left: &DataType, right: &DataType) -> Result<(DataType, DataType)> {
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
