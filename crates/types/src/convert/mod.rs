//! Conversion of a value from any type to any other, as CAST, CONVERT, assignment and implicit
//! conversion do it.
//!
//! `rules.rs` has the pairs of types that convert, and whether implicitly; one file per family of
//! targets does the conversion: `number.rs`, `text.rs`, `bytes.rs`, `moment.rs`. Conversions
//! between closely related types are done here, before the rules are consulted: that is the hot
//! path.

mod bytes;
mod float_text;
mod moment;
mod number;
mod rules;
mod text;
mod xml;

pub use rules::check;

pub use crate::pause::{Lent, Pause, Steps, Watched};
use crate::{ColumnType, DataType, Decimal, Error, Family, Language, Length, Msg, Result, Value};

/// The error of a request for memory that was refused.
const NO_MEMORY: i32 = 701;

/// Why a value is converted: decides what is allowed and how a failure is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The operand of an operator or function, or the assignment of a variable.
    Implicit,
    /// CAST and CONVERT, which convert more pairs.
    Explicit,
    /// INSERT or UPDATE of a column: as `Implicit`, but a value that is cut is error 8152, which
    /// the engine turns into 2628 with the names of table and column.
    Assignment,
    /// TRY_CAST and TRY_CONVERT: NULL where the value does not convert.
    Try,
}

/// The order of day, month and year in ambiguous dates (SET DATEFORMAT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateFormat {
    /// month, day, year: us_english.
    #[default]
    Mdy,
    /// day, month, year: British, French.
    Dmy,
    /// year, month, day: ISO.
    Ymd,
    /// year, day, month; not for newer types.
    Ydm,
    /// month, year, day; no language has it.
    Myd,
    /// day, year, month; no language has it.
    Dym,
}

impl DateFormat {
    /// Returns the format of a word that SET DATEFORMAT takes, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        use DateFormat::{Dmy, Dym, Mdy, Myd, Ydm, Ymd};
        [Mdy, Dmy, Ymd, Ydm, Myd, Dym]
            .into_iter()
            .find(|format| name.eq_ignore_ascii_case(format.name()))
    }

    /// Returns the word that SET DATEFORMAT takes, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mdy => "mdy",
            Self::Dmy => "dmy",
            Self::Ymd => "ymd",
            Self::Ydm => "ydm",
            Self::Myd => "myd",
            Self::Dym => "dym",
        }
    }
}

/// The session's settings that conversion depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConvertOptions {
    /// The session's SET DATEFORMAT.
    pub date_format: DateFormat,
    /// The session's SET LANGUAGE: names of months in dates as text.
    pub language: Language,
    /// The session's SET ANSI_WARNINGS.
    pub ansi_warnings: AnsiWarnings,
    /// SET NUMERIC_ROUNDABORT: an exact number that loses decimals is error 8115.
    pub round_abort: bool,
    /// Lets others run in the middle of long conversions.
    pub pause: Pause,
}

/// SET ANSI_WARNINGS: whether truncation on INSERT and UPDATE is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnsiWarnings {
    /// Truncation is an error: the default.
    #[default]
    On,
    /// A value that is too long is cut silently.
    Off,
}

/// The source, target and settings of one conversion.
#[derive(Clone, Copy)]
struct Context<'a> {
    from: &'a ColumnType,
    to: &'a ColumnType,
    style: i32,
    mode: Mode,
    options: &'a ConvertOptions,
}

/// Converts `value` of type `from` to type `to`. `style` is CONVERT's third argument, 0 if there is
/// none; an explicit 0 for a date or time source must be passed as 100, which means the same.
///
/// A string that is too long is cut, except in [`Mode::Assignment`]; see there.
///
/// # Errors
/// Those of [`check`]; 245, 8114, 8115 and similar for values that do not convert; 8152 for values
/// cut in [`Mode::Assignment`].
pub fn convert(
    value: &Value,
    from: &ColumnType,
    to: &ColumnType,
    style: i32,
    mode: Mode,
    options: &ConvertOptions,
) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Some(number) = whole(value, &to.data_type) {
        return Ok(number);
    }
    if is_unchanged(from, to) {
        return Ok(value.clone());
    }
    check(&from.data_type, &to.data_type, mode)?;
    let context = Context { from, to, style, mode, options };
    match (context.convert(value), mode) {
        // A lack of memory says nothing about the value.
        (Err(error), Mode::Try) if error.number != NO_MEMORY => Ok(Value::Null),
        (result, _) => result,
    }
}

/// Converts between integers if the number fits: the most frequent conversions, the same in every
/// mode.
#[inline]
fn whole(value: &Value, to: &DataType) -> Option<Value> {
    let number = match value {
        Value::Bit(v) => i64::from(*v),
        Value::TinyInt(v) => i64::from(*v),
        Value::SmallInt(v) => i64::from(*v),
        Value::Int(v) => i64::from(*v),
        Value::BigInt(v) => *v,
        _ => return None,
    };
    match to {
        DataType::BigInt => Some(Value::BigInt(number)),
        DataType::Int => i32::try_from(number).ok().map(Value::Int),
        _ => None,
    }
}

/// Converts as [`convert`] does, but takes ownership of the value, which saves a copy if it is
/// unchanged.
///
/// # Errors
/// Those of [`convert`].
pub fn convert_owned(
    value: Value,
    from: &ColumnType,
    to: &ColumnType,
    style: i32,
    mode: Mode,
    options: &ConvertOptions,
) -> Result<Value> {
    if is_unchanged(from, to) {
        return Ok(value);
    }
    convert(&value, from, to, style, mode, options)
}

/// Returns whether every value of one type is a value of the other without change, so that the
/// binder can leave out the conversion.
pub fn is_unchanged(from: &ColumnType, to: &ColumnType) -> bool {
    let same_encoding =
        || from.collation == to.collation || from.collation.code_page() == to.collation.code_page();
    if from.data_type == to.data_type {
        return from.data_type.family() != Family::String || same_encoding();
    }
    let is_longer = |short: &Length, long: &Length| match (short, long) {
        (_, Length::Max) => true,
        (Length::Max, Length::Limited(_)) => false,
        (Length::Limited(a), Length::Limited(b)) => a <= b,
    };
    match (&from.data_type, &to.data_type) {
        (DataType::VarChar(a), DataType::VarChar(b)) => is_longer(a, b) && same_encoding(),
        (DataType::Char(a), DataType::VarChar(b)) => {
            is_longer(&Length::Limited(*a), b) && same_encoding()
        }
        (DataType::NVarChar(a), DataType::NVarChar(b))
        | (DataType::VarBinary(a), DataType::VarBinary(b)) => is_longer(a, b),
        (DataType::NChar(a), DataType::NVarChar(b))
        | (DataType::Binary(a), DataType::VarBinary(b)) => is_longer(&Length::Limited(*a), b),
        _ => false,
    }
}

impl Context<'_> {
    fn convert(&self, value: &Value) -> Result<Value> {
        if let Value::Variant(inner) = value {
            if self.to.data_type == DataType::SqlVariant {
                return Ok(value.clone());
            }
            let (value, of) = &**inner;
            return convert(value, of, self.to, self.style, Mode::Explicit, self.options);
        }
        match self.to.data_type.family() {
            Family::ExactNumeric => {
                let exact = self.to_exact(value)?;
                if self.options.round_abort && is_rounded(value, &exact) {
                    return Err(self.overflow());
                }
                Ok(exact)
            }
            Family::ApproximateNumeric => self.to_float(value),
            Family::DateTime => self.to_moment(value),
            Family::String => self.to_text(value),
            Family::UnicodeString => self.to_unicode_text(value),
            Family::Xml => self.to_xml(value),
            Family::Binary => self.to_bytes(value),
            Family::UniqueIdentifier => self.to_guid(value),
            Family::Variant => {
                let of = ColumnType { nullable: true, ..*self.from };
                Ok(Value::Variant(Box::new((value.clone(), of))))
            }
        }
    }

    /// Returns the text of a string value.
    ///
    /// # Errors
    /// 701 if there is no memory for a long one.
    fn source_text(&self, value: &Value) -> Result<String> {
        let text = value.as_text_pausing(self.from.collation, self.options.pause)?;
        Ok(text.unwrap_or_default())
    }

    /// Returns the name of the source type as messages have it.
    fn source_name(&self) -> &'static str {
        message_name(&self.from.data_type)
    }

    /// Returns the name of the target type as messages have it.
    fn target_name(&self) -> &'static str {
        message_name(&self.to.data_type)
    }

    /// Makes message 8114 for the two types.
    fn failed(&self) -> Error {
        Msg::ConversionError(self.source_name(), self.target_name()).into()
    }

    /// Makes message 8115 with the source type named.
    fn overflow(&self) -> Error {
        Msg::ArithmeticOverflowConverting(self.source_name(), self.target_name()).into()
    }

    /// Makes the message for a pair of types that the rules allow but no code converts.
    fn clash(&self) -> Error {
        Msg::OperandClash(self.source_name(), self.target_name()).into()
    }
}

/// Returns whether an exact number has lost decimals that were not zero.
fn is_rounded(before: &Value, after: &Value) -> bool {
    let decimal = |value: &Value| match value {
        Value::Decimal(number) => Some(Value::Decimal(*number)),
        Value::Money(units) => Some(Value::Decimal(Decimal::new(i128::from(*units), 19, 4))),
        _ => None,
    };
    let (Some(before), Some(after)) = (decimal(before), decimal(after)) else { return false };
    crate::compare::compare(&before, &after, crate::Collation::default())
        .is_some_and(|order| order.is_ne())
}

/// Returns a type's name as conversion messages have it: `decimal` is `numeric` there.
fn message_name(of: &DataType) -> &'static str {
    match of {
        DataType::Decimal { .. } => "numeric",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests;
