//! Builds date and time values: DATEFROMPARTS and its relatives, EOMONTH, SWITCHOFFSET,
//! TODATETIMEOFFSET.

use super::civil::{Civil, civil_of, days_in_month, days_of};
use super::part::add_months;
use super::{Moment, TICKS_PER_DAY, TICKS_PER_MINUTE, TICKS_PER_SECOND, scale_unit};
use crate::{DataType, Msg, Result, Value};

/// The largest offset from UTC, in minutes (14 hours).
const OFFSET_MAX: i16 = 14 * 60;

/// Makes a `date`.
///
/// # Errors
/// 289 if there is no such date.
pub fn from_date_parts(year: i32, month: i32, day: i32) -> Result<Value> {
    days_of(year, month, day)
        .map(Value::Date)
        .ok_or_else(|| Msg::CannotConstruct(DataType::Date.name()).into())
}

/// Makes the ticks of a time of day from hour, minute, second and a fraction in units of
/// 10^-`scale` s; `None` if one is out of range.
fn ticks_of([hour, minute, second, fraction]: [i32; 4], scale: u8) -> Option<i64> {
    let unit = scale_unit(scale);
    let fraction = i64::from(fraction);
    let valid = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..TICKS_PER_SECOND / unit).contains(&fraction);
    // Computed only after the check of the parts: others would overflow.
    valid.then(|| {
        let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
        seconds * TICKS_PER_SECOND + fraction * unit
    })
}

/// Makes a `time(scale)` from hour, minute, second and a fraction in units of 10^-`scale` s.
///
/// # Errors
/// 289 if there is no such time.
pub fn from_time_parts(time: [i32; 4], scale: u8) -> Result<Value> {
    ticks_of(time, scale)
        .map(Value::Time)
        .ok_or_else(|| Msg::CannotConstruct(DataType::Time(scale).name()).into())
}

/// Makes a value of `data_type` from year, month, day; hour, minute, second, fraction; and an
/// offset in minutes. The fraction is in units of 10^-scale s; in milliseconds for `datetime`.
///
/// # Errors
/// 289 if there is no such date and time, or the type cannot hold it.
pub fn from_date_time_parts(
    [year, month, day]: [i32; 3],
    time: [i32; 4],
    offset: i16,
    data_type: &DataType,
) -> Result<Value> {
    let scale = match data_type {
        DataType::DateTime => 3,
        other => other.scale(),
    };
    let valid_offset = (-OFFSET_MAX..=OFFSET_MAX).contains(&offset);
    let days = days_of(year, month, day).filter(|_| valid_offset);
    let moment =
        days.zip(ticks_of(time, scale)).map(|(days, ticks)| Moment { days, ticks, offset });
    moment
        .and_then(|m| m.try_to_value(data_type))
        .ok_or_else(|| Msg::CannotConstruct(data_type.name()).into())
}

/// Returns the last day of the month that is `months` after the value's, as a `date`; NULL for
/// NULL.
///
/// # Errors
/// 517 past the year 9999.
pub fn end_of_month(value: &Value, months: i32) -> Result<Value> {
    let Some(moment) = Moment::from_value(value) else { return Ok(Value::Null) };
    let last = add_months(moment, i64::from(months)).and_then(|moved| {
        let Civil { year, month, .. } = civil_of(moved.days);
        days_of(year, i32::from(month), days_in_month(year, i32::from(month))?)
    });
    last.map(Value::Date).ok_or_else(|| Msg::DateAddOverflow("date").into())
}

/// Returns the same point in time as a `datetimeoffset` with another offset, in minutes; NULL for
/// NULL.
///
/// # Errors
/// 9812 for an offset beyond 14 hours, 9813 if the local time leaves the years 1 to 9999.
pub fn switch_offset(value: &Value, offset: i32) -> Result<Value> {
    let Value::DateTimeOffset { days, ticks, .. } = *value else { return Ok(Value::Null) };
    let offset = checked_offset(offset, "switchoffset")?;
    let utc = Moment { days, ticks, offset: 0 };
    if utc.plus_ticks(i64::from(offset) * TICKS_PER_MINUTE).is_none() {
        return Err(Msg::TimeZoneOverflow("switchoffset").into());
    }
    Ok(Value::DateTimeOffset { days, ticks, offset })
}

/// Returns a local time with an offset, in minutes, as a `datetimeoffset`; NULL for NULL.
///
/// # Errors
/// 9812 for an offset beyond 14 hours, 9813 if the UTC time leaves the years 1 to 9999.
pub fn to_date_time_offset(value: &Value, offset: i32, scale: u8) -> Result<Value> {
    let Some(moment) = Moment::from_value(value) else { return Ok(Value::Null) };
    let offset = checked_offset(offset, "todatetimeoffset")?;
    debug_assert!(moment.ticks < TICKS_PER_DAY, "a moment is within its day");
    Moment { offset, ..moment }
        .try_to_value(&DataType::DateTimeOffset(scale))
        .ok_or_else(|| Msg::TimeZoneOverflow("todatetimeoffset").into())
}

fn checked_offset(offset: i32, function: &str) -> Result<i16> {
    i16::try_from(offset)
        .ok()
        .filter(|minutes| (-OFFSET_MAX..=OFFSET_MAX).contains(minutes))
        .ok_or_else(|| Msg::InvalidTimeZone(function).into())
}
