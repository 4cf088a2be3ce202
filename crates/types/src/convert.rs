//! Conversion of a value from any type to any other, as CAST, CONVERT, assignment and implicit
//! conversion do it.

use crate::{ColumnType, DataType, Msg, Result, Value};

/// Why a value is converted: decides what is allowed and how failure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The operand of an operator or function, or the assignment of a variable.
    Implicit,
    /// CAST and CONVERT.
    Explicit,
    /// INSERT or UPDATE of a column: as `Implicit`, but a value that is cut is error 8152, which the
    /// engine turns into 2628 with the names of table and column.
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
    /// day, month, year
    Dmy,
    /// year, month, day
    Ymd,
    /// year, day, month
    Ydm,
    /// month, year, day
    Myd,
    /// day, year, month
    Dym,
}

/// The session's settings that conversion depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConvertOptions {
    /// SET DATEFORMAT.
    pub date_format: DateFormat,
    /// SET ANSI_WARNINGS.
    pub ansi_warnings: AnsiWarnings,
}

/// SET ANSI_WARNINGS: whether truncation on INSERT and UPDATE is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnsiWarnings {
    /// Truncation is an error: the default.
    #[default]
    On,
    /// Truncation is silent.
    Off,
}

/// Says whether a conversion between two types exists, without a value: what the binder asks.
///
/// # Errors
/// 529 if not even explicitly, 257 if only explicitly, 206 if the two clash.
pub fn check(from: &DataType, to: &DataType, mode: Mode) -> Result<()> {
    let _ = (from, to, mode);
    Ok(())
}

/// Converts `value` of type `from` to type `to`. `style` is CONVERT's third argument, 0 without one.
///
/// # Errors
/// Those of [`check`]; 245, 8114 and 8115 and their kin for values that do not convert; 8152 for
/// values cut in [`Mode::Assignment`].
pub fn convert(
    value: &Value,
    from: &ColumnType,
    to: &ColumnType,
    style: i32,
    mode: Mode,
    options: &ConvertOptions,
) -> Result<Value> {
    let _ = (style, mode, options);
    if from.data_type == to.data_type || value.is_null() {
        return Ok(value.clone());
    }
    Err(Msg::NotSupported("conversion").into())
}
