//! Which types convert to which, and whether implicitly: the chart of the documentation (CAST and
//! CONVERT).

use super::Mode;
use crate::{DataType, Family, Length, Msg, Result};

/// Whether one type converts to another: implicitly, explicitly or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Implicit,
    Explicit,
    Never,
}

/// Checks whether a conversion between two types exists; the binder calls it without a value.
///
/// # Errors
/// 529 if not even explicitly, 257 if only explicitly, 206 if the two clash.
pub fn check(from: &DataType, to: &DataType, mode: Mode) -> Result<()> {
    let is_explicit = match mode {
        Mode::Explicit | Mode::Try => true,
        Mode::Implicit | Mode::Assignment => false,
    };
    match rule(from, to) {
        Rule::Implicit => Ok(()),
        Rule::Explicit if is_explicit => Ok(()),
        Rule::Explicit => Err(Msg::ImplicitNotAllowed(from.name(), to.name()).into()),
        Rule::Never if is_explicit => Err(Msg::ExplicitNotAllowed(from.name(), to.name()).into()),
        Rule::Never => Err(Msg::OperandClash(&clash_name(from), &clash_name(to)).into()),
    }
}

/// Message 206 distinguishes `varchar(max)` from `varchar`.
fn clash_name(of: &DataType) -> String {
    match of.length() {
        Some(Length::Max) => of.to_string(),
        Some(Length::Limited(_)) | None => of.name().to_owned(),
    }
}

fn rule(from: &DataType, to: &DataType) -> Rule {
    use DataType::{Image, NText, RowVersion, SqlVariant, Text, Xml};
    match (from, to) {
        (SqlVariant, SqlVariant) => Rule::Implicit,
        (SqlVariant, Text | NText | Image | Xml | RowVersion) => Rule::Never,
        (SqlVariant, _) => Rule::Explicit,
        (RowVersion, SqlVariant) => Rule::Never,
        (_, SqlVariant) if from.is_large() => Rule::Never,
        (_, SqlVariant) => Rule::Implicit,
        (Text | NText | Image, _) | (_, Text | NText | Image) => large_rule(from, to),
        (Xml, Xml) => Rule::Implicit,
        (Xml, _) if to.is_string() || to.family() == Family::Binary => Rule::Explicit,
        (_, Xml) if from.is_string() || from.family() == Family::Binary => Rule::Implicit,
        (Xml, _) | (_, Xml) => Rule::Never,
        _ => family_rule(from, to),
    }
}

/// The deprecated large types convert to few others: `text` to strings and XML, `image` to binary.
fn large_rule(from: &DataType, to: &DataType) -> Rule {
    let is_text = |of: &DataType| of.is_string();
    let is_bytes = |of: &DataType| of.family() == Family::Binary;
    match (from, to) {
        (DataType::Text | DataType::NText, DataType::Xml) => Rule::Implicit,
        (DataType::NText, DataType::Char(_) | DataType::VarChar(_)) => Rule::Implicit,
        (DataType::Text, DataType::NChar(_) | DataType::NVarChar(_)) => Rule::Implicit,
        (DataType::Char(_) | DataType::VarChar(_), DataType::Image) => Rule::Implicit,
        _ if is_text(from) && is_text(to) || is_bytes(from) && is_bytes(to) => Rule::Implicit,
        _ => Rule::Never,
    }
}

fn family_rule(from: &DataType, to: &DataType) -> Rule {
    use Family::{
        ApproximateNumeric, Binary, DateTime, ExactNumeric, String, UnicodeString, UniqueIdentifier,
    };
    let is_money = |of: &DataType| matches!(of, DataType::Money | DataType::SmallMoney);
    let is_old = |of: &DataType| matches!(of, DataType::DateTime | DataType::SmallDateTime);
    match (from.family(), to.family()) {
        (ExactNumeric, String | UnicodeString) if is_money(from) => Rule::Explicit,
        (ExactNumeric | ApproximateNumeric, ExactNumeric | ApproximateNumeric) => Rule::Implicit,
        (ExactNumeric | ApproximateNumeric, String | UnicodeString) => Rule::Implicit,
        (ApproximateNumeric, Binary) if *to == DataType::RowVersion => Rule::Never,
        (ExactNumeric | ApproximateNumeric, Binary) => Rule::Implicit,
        (ExactNumeric | ApproximateNumeric, DateTime) if is_old(to) => Rule::Implicit,
        (DateTime, ExactNumeric | ApproximateNumeric) if is_old(from) => Rule::Explicit,
        (ExactNumeric | ApproximateNumeric, _) | (_, ApproximateNumeric | ExactNumeric) => {
            match from.family() {
                String | UnicodeString => Rule::Implicit,
                Binary if to.family() == ExactNumeric => Rule::Implicit,
                _ => Rule::Never,
            }
        }
        (DateTime, DateTime) => match (from, to) {
            (DataType::Date, DataType::Time(_)) | (DataType::Time(_), DataType::Date) => {
                Rule::Never
            }
            _ => Rule::Implicit,
        },
        (DateTime, String | UnicodeString) | (String | UnicodeString, DateTime) => Rule::Implicit,
        (DateTime, Binary) => Rule::Explicit,
        (Binary, DateTime) if is_old(to) => Rule::Implicit,
        (Binary, DateTime) => Rule::Explicit,
        (String | UnicodeString, String | UnicodeString) => Rule::Implicit,
        (String | UnicodeString, Binary) => Rule::Explicit,
        (Binary, UnicodeString) if *from == DataType::RowVersion => Rule::Never,
        (Binary, String | UnicodeString | Binary) => Rule::Implicit,
        (UniqueIdentifier, String | UnicodeString | UniqueIdentifier) => Rule::Implicit,
        (String | UnicodeString, UniqueIdentifier) => Rule::Implicit,
        (UniqueIdentifier, Binary) | (Binary, UniqueIdentifier) => {
            let version = |of: &DataType| *of == DataType::RowVersion;
            if version(from) || version(to) { Rule::Never } else { Rule::Implicit }
        }
        _ => Rule::Never,
    }
}
