//! The calendar: converts dates and times between values, parts and text.
//!
//! All arithmetic goes through [`Moment`], which every date and time type converts to without loss.
//! `date/civil.rs` computes with the calendar, `part.rs` has the date parts and DATEADD, DATEDIFF,
//! DATEPART, `build.rs` the constructors, `parse.rs` and `format.rs` the conversion from and to
//! text.

mod build;
mod civil;
mod format;
mod parse;
mod part;

pub use build::{
    end_of_month, from_date_parts, from_date_time_parts, from_time_parts, switch_offset,
    to_date_time_offset,
};
pub use civil::{Civil, civil_of, days_in_month, days_of, weekday};
pub use format::format;
pub use parse::{ParseError, parse, parse_offset};
pub use part::{DatePart, date_add, date_diff, date_name, date_part};

use crate::data_type::DataType;
use crate::type_rules::BinaryOp;
use crate::{Msg, Result, Value};

/// 100 ns ticks in a second.
pub const TICKS_PER_SECOND: i64 = 10_000_000;
/// 100 ns ticks in a minute.
pub const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND;
/// 100 ns ticks in a day.
pub const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// 1900-01-01 as days since 0001-01-01.
pub const DAYS_1900: i32 = 693_595;
/// 9999-12-31 as days since 0001-01-01.
pub const DAYS_MAX: i32 = 3_652_058;
/// The first day of `datetime`, 1753-01-01, as days since 1900-01-01.
pub const DATETIME_DAYS_MIN: i32 = -53_690;
/// The last day of `datetime`, 9999-12-31, as days since 1900-01-01.
pub const DATETIME_DAYS_MAX: i32 = DAYS_MAX - DAYS_1900;
/// 1/300 s ticks in a day.
pub const DATETIME_TICKS_PER_DAY: i64 = 86_400 * 300;
/// The last day of `smalldatetime`, 2079-06-06, as days since 1900-01-01.
const SMALL_DAYS_MAX: i32 = 65_535;

/// A point in local time with its offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// Days since 0001-01-01, local.
    pub days: i32,
    /// 100 ns ticks since midnight, local.
    pub ticks: i64,
    /// Minutes east of UTC.
    pub offset: i16,
}

impl Moment {
    /// Returns the moment of a date or time value; `None` for any other value. A `time` is on
    /// 1900-01-01, a `date` at midnight.
    pub fn from_value(value: &Value) -> Option<Self> {
        let utc = |days, ticks| Self { days, ticks, offset: 0 };
        Some(match value {
            Value::Date(days) => utc(*days, 0),
            Value::Time(ticks) => utc(DAYS_1900, *ticks),
            // Rounded to the nearest 100 ns.
            Value::DateTime { days, ticks } => {
                utc(DAYS_1900 + days, (i64::from(*ticks) * 100_000 + 1) / 3)
            }
            Value::SmallDateTime { days, minutes } => {
                utc(DAYS_1900 + i32::from(*days), i64::from(*minutes) * TICKS_PER_MINUTE)
            }
            Value::DateTime2 { days, ticks } => utc(*days, *ticks),
            Value::DateTimeOffset { days, ticks, offset } => {
                let local = ticks + i64::from(*offset) * TICKS_PER_MINUTE;
                Self { offset: *offset, ..utc(*days, 0).plus_ticks(local)? }
            }
            _ => return None,
        })
    }

    /// Makes the moment of a clock reading: seconds since 1970-01-01 and 100 ns ticks, in UTC.
    pub fn from_unix(seconds: i64, ticks: i64) -> Self {
        const DAYS_1970: i32 = 719_162;
        let day = i32::try_from(seconds.div_euclid(86_400)).unwrap_or(0);
        let ticks = seconds.rem_euclid(86_400) * TICKS_PER_SECOND + ticks;
        Self { days: (DAYS_1970 + day).clamp(0, DAYS_MAX), ticks, offset: 0 }
    }

    /// Returns days since 0001-01-01 and ticks since midnight in UTC.
    pub fn to_utc(self) -> (i32, i64) {
        let ticks = self.ticks - i64::from(self.offset) * TICKS_PER_MINUTE;
        let days = i32::try_from(ticks.div_euclid(TICKS_PER_DAY)).unwrap_or(0);
        (self.days + days, ticks.rem_euclid(TICKS_PER_DAY))
    }

    /// Adds ticks, forward or back; `None` outside the years 1 to 9999.
    #[must_use]
    pub fn plus_ticks(self, ticks: i64) -> Option<Self> {
        let sum = self.ticks.checked_add(ticks)?;
        let days = i32::try_from(sum.div_euclid(TICKS_PER_DAY)).ok()?;
        let days = self.days.checked_add(days).filter(|d| (0..=DAYS_MAX).contains(d))?;
        Some(Self { days, ticks: sum.rem_euclid(TICKS_PER_DAY), offset: self.offset })
    }

    /// Rounds to `data_type` and makes its value; `None` if the type cannot hold it, or is neither
    /// date nor time.
    pub fn try_to_value(self, data_type: &DataType) -> Option<Value> {
        Some(match data_type {
            DataType::Date => Value::Date(self.days),
            // A time of day cannot carry into the next day: where rounding gives midnight it is
            // cut.
            DataType::Time(scale) => {
                let last = TICKS_PER_DAY - scale_unit(*scale);
                Value::Time(round_ticks(self.ticks, *scale).min(last))
            }
            DataType::DateTime => {
                let (days, ticks) = self.to_datetime()?;
                Value::DateTime { days, ticks }
            }
            DataType::SmallDateTime => self.to_small_datetime()?,
            DataType::DateTime2(scale) => {
                let rounded = self.rounded(*scale);
                Value::DateTime2 { days: rounded.days, ticks: rounded.ticks }
            }
            DataType::DateTimeOffset(scale) => {
                let rounded = self.rounded(*scale);
                let (days, ticks) = rounded.to_utc();
                if !(0..=DAYS_MAX).contains(&days) {
                    return None;
                }
                Value::DateTimeOffset { days, ticks, offset: self.offset }
            }
            _ => return None,
        })
    }

    /// Rounds to `data_type` and makes its value, as [`Self::try_to_value`].
    ///
    /// # Errors
    /// 242 if the type cannot hold it.
    pub fn to_value(self, data_type: &DataType) -> Result<Value> {
        self.try_to_value(data_type)
            .ok_or_else(|| Msg::DateOutOfRange("datetime2", data_type.name()).into())
    }

    /// Rounds half up to `scale` decimals; cuts if that would be past the year 9999.
    fn rounded(self, scale: u8) -> Self {
        let ticks = round_ticks(self.ticks, scale);
        if ticks < TICKS_PER_DAY {
            return Self { ticks, ..self };
        }
        if self.days < DAYS_MAX {
            return Self { days: self.days + 1, ticks: 0, ..self };
        }
        Self { ticks: self.ticks - self.ticks % scale_unit(scale), ..self }
    }

    fn to_datetime(self) -> Option<(i32, u32)> {
        let ticks = (self.ticks * 3 + 50_000) / 100_000;
        let carry = i32::from(ticks >= DATETIME_TICKS_PER_DAY);
        let days = self.days - DAYS_1900 + carry;
        let ticks = u32::try_from(ticks % DATETIME_TICKS_PER_DAY).ok()?;
        (DATETIME_DAYS_MIN..=DATETIME_DAYS_MAX).contains(&days).then_some((days, ticks))
    }

    /// Rounds to minutes by way of `datetime`: 29.998 s down, 29.999 s up.
    fn to_small_datetime(self) -> Option<Value> {
        let (days, ticks) = self.to_datetime()?;
        let minutes = (ticks + 30 * 300) / (60 * 300);
        let carry = i32::from(minutes >= 1_440);
        let days = u16::try_from((days + carry).min(SMALL_DAYS_MAX + 1)).ok()?;
        let minutes = u16::try_from(minutes % 1_440).ok()?;
        Some(Value::SmallDateTime { days, minutes })
    }
}

/// Returns the ticks of one unit at `scale` decimals.
const fn scale_unit(scale: u8) -> i64 {
    let mut unit = 1;
    let mut i = scale;
    while i < 7 {
        unit *= 10;
        i += 1;
    }
    unit
}

/// Rounds ticks half up to `scale` decimals of a second.
pub(crate) const fn round_ticks(ticks: i64, scale: u8) -> i64 {
    let unit = scale_unit(scale);
    (ticks + unit / 2) / unit * unit
}

/// Adds or subtracts two `datetime` or two `smalldatetime` values, as days since 1900.
///
/// # Panics
/// If the values are of other types, which the operator's type rules exclude.
pub(crate) fn arithmetic(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    result: &DataType,
) -> Result<Value> {
    let overflow = || Msg::ArithmeticOverflow(result.name()).into();
    let total = |value: &Value| match value {
        Value::DateTime { days, ticks } => {
            i64::from(*days) * DATETIME_TICKS_PER_DAY + i64::from(*ticks)
        }
        Value::SmallDateTime { days, minutes } => {
            i64::from(*days) * DATETIME_TICKS_PER_DAY + i64::from(*minutes) * 60 * 300
        }
        _ => panic!("operands of {op:?} have the operator's types: {value:?}"),
    };
    let sum = match op {
        BinaryOp::Subtract => total(left) - total(right),
        _ => total(left) + total(right),
    };
    let days = i32::try_from(sum.div_euclid(DATETIME_TICKS_PER_DAY)).ok().ok_or_else(overflow)?;
    if !(DATETIME_DAYS_MIN..=DATETIME_DAYS_MAX).contains(&days) {
        return Err(overflow());
    }
    let ticks = u32::try_from(sum.rem_euclid(DATETIME_TICKS_PER_DAY)).unwrap_or(0);
    let moment = Moment::from_value(&Value::DateTime { days, ticks });
    moment.and_then(|m| m.try_to_value(result)).ok_or_else(overflow)
}

#[cfg(test)]
mod tests;
