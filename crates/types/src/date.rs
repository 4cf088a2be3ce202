//! The calendar: dates and times between their values, their parts and their texts.
//!
//! All arithmetic goes through [`Moment`], which every date and time type converts to without loss.

use crate::{DataType, Msg, Result, Value};

/// 100 ns ticks in a second.
pub const TICKS_PER_SECOND: i64 = 10_000_000;
/// 100 ns ticks in a day.
pub const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// 1900-01-01 as days since 0001-01-01.
pub const DAYS_1900: i32 = 693_595;
/// 9999-12-31 as days since 0001-01-01.
pub const DAYS_MAX: i32 = 3_652_058;

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

/// A date part, as DATEADD, DATEDIFF, DATEPART and DATENAME take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatePart {
    /// `year`, `yy`, `yyyy`
    Year,
    /// `quarter`, `qq`, `q`
    Quarter,
    /// `month`, `mm`, `m`
    Month,
    /// `dayofyear`, `dy`, `y`
    DayOfYear,
    /// `day`, `dd`, `d`
    Day,
    /// `week`, `wk`, `ww`
    Week,
    /// `weekday`, `dw`, `w`
    Weekday,
    /// `hour`, `hh`
    Hour,
    /// `minute`, `mi`, `n`
    Minute,
    /// `second`, `ss`, `s`
    Second,
    /// `millisecond`, `ms`
    Millisecond,
    /// `microsecond`, `mcs`
    Microsecond,
    /// `nanosecond`, `ns`
    Nanosecond,
    /// `tzoffset`, `tz`
    TzOffset,
    /// `iso_week`, `isowk`, `isoww`
    IsoWeek,
}

impl Moment {
    /// Takes the moment out of a date or time value; `None` for any other value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let _ = value;
        None
    }

    /// Returns days since 0001-01-01 and ticks since midnight in UTC.
    pub fn to_utc(self) -> (i32, i64) {
        let ticks = self.ticks - i64::from(self.offset) * 60 * TICKS_PER_SECOND;
        let days = i32::try_from(ticks.div_euclid(TICKS_PER_DAY)).unwrap_or(0);
        (self.days + days, ticks.rem_euclid(TICKS_PER_DAY))
    }

    /// Rounds to `data_type` and makes its value.
    ///
    /// # Errors
    /// 242 and 517 for what the type can't hold.
    pub fn to_value(self, data_type: &DataType) -> Result<Value> {
        let _ = data_type;
        Err(Msg::NotSupported("dates").into())
    }
}

/// Adds `number` of `part` to a date or time value of type `data_type`.
///
/// # Errors
/// 517 on overflow, 9810 for a part that the type lacks.
pub fn date_add(part: DatePart, number: i64, value: &Value, data_type: &DataType) -> Result<Value> {
    let _ = (part, number, value, data_type);
    Err(Msg::NotSupported("DATEADD").into())
}

/// Counts the boundaries of `part` crossed from `start` to `end`.
///
/// # Errors
/// 535 on overflow of `bigint` (the caller checks `int` for DATEDIFF).
pub fn date_diff(part: DatePart, start: &Value, end: &Value) -> Result<i64> {
    let _ = (part, start, end);
    Err(Msg::NotSupported("DATEDIFF").into())
}

/// Returns the number of `part` in a value; `first_day` is @@DATEFIRST (7 in us_english).
///
/// # Errors
/// 9810 for a part that the type lacks.
pub fn date_part(
    part: DatePart,
    value: &Value,
    data_type: &DataType,
    first_day: u8,
) -> Result<i32> {
    let _ = (part, value, data_type, first_day);
    Err(Msg::NotSupported("DATEPART").into())
}
