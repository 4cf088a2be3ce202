//! Date parts, with DATEADD, DATEDIFF, DATEPART and DATENAME.

use super::civil::{Civil, civil_of, days_in_month, days_of, weekday};
use super::{DAYS_MAX, Moment, TICKS_PER_DAY, TICKS_PER_MINUTE, TICKS_PER_SECOND};
use crate::{DataType, Language, Msg, Result, Value};

/// A date part, as DATEADD, DATEDIFF, DATEPART and DATENAME take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatePart {
    /// Written `year`, `yy` or `yyyy`.
    Year,
    /// Written `quarter`, `qq` or `q`.
    Quarter,
    /// Written `month`, `mm` or `m`.
    Month,
    /// Written `dayofyear`, `dy` or `y`.
    DayOfYear,
    /// Written `day`, `dd` or `d`.
    Day,
    /// Written `week`, `wk` or `ww`.
    Week,
    /// Written `weekday`, `dw` or `w`.
    Weekday,
    /// Written `hour` or `hh`.
    Hour,
    /// Written `minute`, `mi` or `n`.
    Minute,
    /// Written `second`, `ss` or `s`.
    Second,
    /// Written `millisecond` or `ms`.
    Millisecond,
    /// Written `microsecond` or `mcs`.
    Microsecond,
    /// Written `nanosecond` or `ns`.
    Nanosecond,
    /// Written `tzoffset` or `tz`.
    TzOffset,
    /// Written `iso_week`, `isowk` or `isoww`.
    IsoWeek,
}

/// Names and abbreviations of each part, the full name first.
const NAMES: &[(DatePart, &[&str])] = &[
    (DatePart::Year, &["year", "yy", "yyyy"]),
    (DatePart::Quarter, &["quarter", "qq", "q"]),
    (DatePart::Month, &["month", "mm", "m"]),
    (DatePart::DayOfYear, &["dayofyear", "dy", "y"]),
    (DatePart::Day, &["day", "dd", "d"]),
    (DatePart::Week, &["week", "wk", "ww"]),
    (DatePart::Weekday, &["weekday", "dw", "w"]),
    (DatePart::Hour, &["hour", "hh"]),
    (DatePart::Minute, &["minute", "mi", "n"]),
    (DatePart::Second, &["second", "ss", "s"]),
    (DatePart::Millisecond, &["millisecond", "ms"]),
    (DatePart::Microsecond, &["microsecond", "mcs"]),
    (DatePart::Nanosecond, &["nanosecond", "ns"]),
    (DatePart::TzOffset, &["tzoffset", "tz"]),
    (DatePart::IsoWeek, &["iso_week", "isowk", "isoww"]),
];

impl DatePart {
    /// Looks a part up by name or abbreviation, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        let is_named = |names: &&[&str]| names.iter().any(|n| n.eq_ignore_ascii_case(name));
        NAMES.iter().find(|(_, names)| is_named(names)).map(|(part, _)| *part)
    }

    /// Returns the full name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(part, _)| *part == self).map_or("", |(_, names)| names[0])
    }

    /// Returns the part's place in the list of all parts, from 0.
    pub fn place(self) -> usize {
        NAMES.iter().position(|(part, _)| *part == self).expect("the list has every part")
    }

    /// Returns the part at a place in the list of all parts.
    pub fn at(place: usize) -> Option<Self> {
        NAMES.get(place).map(|(part, _)| *part)
    }

    const fn is_of_date(self) -> bool {
        matches!(
            self,
            Self::Year
                | Self::Quarter
                | Self::Month
                | Self::DayOfYear
                | Self::Day
                | Self::Week
                | Self::Weekday
                | Self::IsoWeek
        )
    }

    /// Returns the length of a part of the time of day, in 100 ns ticks; 0 for other parts.
    const fn ticks(self) -> i64 {
        match self {
            Self::Hour => 60 * TICKS_PER_MINUTE,
            Self::Minute => TICKS_PER_MINUTE,
            Self::Second => TICKS_PER_SECOND,
            Self::Millisecond => 10_000,
            Self::Microsecond => 10,
            _ => 0,
        }
    }

    /// Returns whether values of a type have this part.
    const fn is_part_of(self, data_type: &DataType) -> bool {
        match (self, data_type) {
            (Self::TzOffset, DataType::DateTime2(_) | DataType::DateTimeOffset(_)) => true,
            (Self::TzOffset, _) => false,
            (_, DataType::Date) => self.is_of_date(),
            (_, DataType::Time(_)) => !self.is_of_date(),
            _ => true,
        }
    }
}

fn unsupported<T>(part: DatePart, function: &str, data_type: &DataType) -> Result<T> {
    Err(Msg::DatePartNotSupportedType(part.name(), function, data_type.name()).into())
}

/// Adds `number` of `part` to a date or time value of type `data_type`; NULL for NULL.
///
/// # Errors
/// 517 on overflow, 9806 and 9810 for a part that the function or the type lacks.
pub fn date_add(part: DatePart, number: i64, value: &Value, data_type: &DataType) -> Result<Value> {
    let Some(moment) = Moment::from_value(value) else { return Ok(Value::Null) };
    if matches!(part, DatePart::TzOffset | DatePart::IsoWeek) {
        return Err(Msg::DatePartNotSupported(part.name(), "dateadd").into());
    }
    let is_fine = matches!(part, DatePart::Microsecond | DatePart::Nanosecond);
    let is_coarse = matches!(data_type, DataType::DateTime | DataType::SmallDateTime);
    if !part.is_part_of(data_type) || is_fine && is_coarse {
        return unsupported(part, "dateadd", data_type);
    }
    let overflow = || Msg::DateAddOverflow(data_type.name()).into();
    let moved = match data_type {
        // A time of day wraps around midnight.
        DataType::Time(_) => add_ticks(part, number).map(|ticks| {
            let ticks = (moment.ticks + ticks % TICKS_PER_DAY).rem_euclid(TICKS_PER_DAY);
            Moment { ticks, ..moment }
        }),
        _ => add(part, number, moment),
    };
    moved.and_then(|moment| moment.try_to_value(data_type)).ok_or_else(overflow)
}

fn add(part: DatePart, number: i64, moment: Moment) -> Option<Moment> {
    match part {
        DatePart::Year => add_months(moment, number.checked_mul(12)?),
        DatePart::Quarter => add_months(moment, number.checked_mul(3)?),
        DatePart::Month => add_months(moment, number),
        DatePart::Day | DatePart::DayOfYear | DatePart::Weekday => add_days(moment, number),
        DatePart::Week => add_days(moment, number.checked_mul(7)?),
        _ => moment.plus_ticks(add_ticks(part, number)?),
    }
}

fn add_ticks(part: DatePart, number: i64) -> Option<i64> {
    match part {
        // Rounded to the nearest 100 ns.
        DatePart::Nanosecond => Some(number.saturating_add(50 * number.signum()) / 100),
        _ => number.checked_mul(part.ticks()),
    }
}

fn add_days(moment: Moment, number: i64) -> Option<Moment> {
    let days = i32::try_from(i64::from(moment.days).checked_add(number)?).ok()?;
    (0..=DAYS_MAX).contains(&days).then_some(Moment { days, ..moment })
}

/// Adds months; a day past the end of the new month becomes its last.
pub(super) fn add_months(moment: Moment, number: i64) -> Option<Moment> {
    let Civil { year, month, day } = civil_of(moment.days);
    let months = (i64::from(year) * 12 + i64::from(month) - 1).checked_add(number)?;
    let year = i32::try_from(months.div_euclid(12)).ok()?;
    let month = i32::try_from(months.rem_euclid(12)).ok()? + 1;
    let day = i32::from(day).min(days_in_month(year, month)?);
    Some(Moment { days: days_of(year, month, day)?, ..moment })
}

/// Counts the boundaries of `part` crossed from `start` to `end`, in UTC if they have offsets. Both
/// must be dates or times, not NULL.
///
/// # Errors
/// 535 on overflow of `bigint` (the caller checks `int` for DATEDIFF), 9806 for a part that has no
/// boundaries.
pub fn date_diff(part: DatePart, start: &Value, end: &Value) -> Result<i64> {
    let utc = |value| Moment::from_value(value).map_or((0, 0), Moment::to_utc);
    let ((d1, t1), (d2, t2)) = (utc(start), utc(end));
    let days = i64::from(d2) - i64::from(d1);
    let months = |days| {
        let civil = civil_of(days);
        i64::from(civil.year) * 12 + i64::from(civil.month) - 1
    };
    Ok(match part {
        DatePart::Year => i64::from(civil_of(d2).year) - i64::from(civil_of(d1).year),
        DatePart::Quarter => months(d2).div_euclid(3) - months(d1).div_euclid(3),
        DatePart::Month => months(d2) - months(d1),
        DatePart::Day | DatePart::DayOfYear | DatePart::Weekday => days,
        // Weeks begin on Sunday, regardless of SET DATEFIRST.
        DatePart::Week => {
            let week = |days: i32| i64::from(days + 1).div_euclid(7);
            week(d2) - week(d1)
        }
        DatePart::TzOffset | DatePart::IsoWeek => {
            return Err(Msg::DatePartNotSupported(part.name(), "datediff").into());
        }
        DatePart::Nanosecond => {
            let ticks = i128::from(days) * i128::from(TICKS_PER_DAY) + i128::from(t2 - t1);
            return i64::try_from(ticks * 100)
                .map_err(|_| Msg::DateDiffOverflow("datediff_big").into());
        }
        _ => {
            let unit = part.ticks();
            days * (TICKS_PER_DAY / unit) + t2.div_euclid(unit) - t1.div_euclid(unit)
        }
    })
}

/// Returns the number of `part` in a value of type `data_type`; `first_day` is @@DATEFIRST (1 is
/// Monday; 7, Sunday, in us_english). `None` if the value is no date or time.
///
/// # Errors
/// 9810 for a part that the type lacks.
pub fn date_part(
    part: DatePart,
    value: &Value,
    data_type: &DataType,
    first_day: u8,
) -> Result<Option<i32>> {
    let Some(moment) = Moment::from_value(value) else { return Ok(None) };
    if !part.is_part_of(data_type) {
        return unsupported(part, "datepart", data_type);
    }
    let Civil { year, month, day } = civil_of(moment.days);
    let small = |ticks: i64| i32::try_from(ticks).unwrap_or(0);
    let fraction = moment.ticks % TICKS_PER_SECOND;
    Ok(Some(match part {
        DatePart::Year => year,
        DatePart::Quarter => (i32::from(month) + 2) / 3,
        DatePart::Month => i32::from(month),
        DatePart::DayOfYear => day_of_year(moment.days),
        DatePart::Day => i32::from(day),
        DatePart::Week => {
            let first = moment.days - day_of_year(moment.days) + 1;
            (day_of_year(moment.days) + weekday_number(first, first_day) - 2) / 7 + 1
        }
        DatePart::Weekday => weekday_number(moment.days, first_day),
        DatePart::Hour => small(moment.ticks / DatePart::Hour.ticks()),
        DatePart::Minute => small(moment.ticks / TICKS_PER_MINUTE % 60),
        DatePart::Second => small(moment.ticks / TICKS_PER_SECOND % 60),
        // Multiples of 1/300 s are shown rounded to 0, 3 or 7 ms.
        DatePart::Millisecond if *data_type == DataType::DateTime => {
            small((fraction + 5_000) / 10_000)
        }
        DatePart::Millisecond => small(fraction / 10_000),
        DatePart::Microsecond => small(fraction / 10),
        DatePart::Nanosecond => small(fraction * 100),
        DatePart::TzOffset => i32::from(moment.offset),
        DatePart::IsoWeek => iso_week(moment.days),
    }))
}

/// Returns the name of `part` in a value: month and weekday in words of `language`, the rest in
/// digits. `None` if
/// the value is no date or time.
///
/// # Errors
/// 9810 for a part that the type lacks.
pub fn date_name(
    part: DatePart,
    value: &Value,
    data_type: &DataType,
    first_day: u8,
    language: Language,
) -> Result<Option<String>> {
    let Some(number) = date_part(part, value, data_type, first_day)? else { return Ok(None) };
    let days = Moment::from_value(value).map_or(0, |m| m.days);
    let named = |names: &[&str], index: i32| {
        usize::try_from(index)
            .ok()
            .and_then(|i| names.get(i))
            .map_or(String::new(), |n| (*n).into())
    };
    Ok(Some(match part {
        DatePart::Month => named(language.month_names(), number - 1),
        DatePart::Weekday => named(language.day_names(), weekday(days)),
        DatePart::TzOffset => super::format::offset_text(number),
        _ => number.to_string(),
    }))
}

fn day_of_year(days: i32) -> i32 {
    let first = days_of(civil_of(days).year, 1, 1).unwrap_or(0);
    days - first + 1
}

/// Returns the day of the week, 1 to 7, counted from `first_day` (1 is Monday).
fn weekday_number(days: i32, first_day: u8) -> i32 {
    (weekday(days) + 1 - i32::from(first_day)).rem_euclid(7) + 1
}

/// Returns the ISO 8601 week: week 1 has the year's first Thursday.
fn iso_week(days: i32) -> i32 {
    let thursday = days - weekday(days) + 3;
    (day_of_year(thursday) - 1) / 7 + 1
}
