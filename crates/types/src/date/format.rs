//! Formats dates and times as text, in the styles of CONVERT.

use std::fmt::Write;

use super::civil::civil_of;
use super::{Moment, TICKS_PER_SECOND};
use crate::{DataType, Language, Msg, Result, Value};

/// A date and time in its parts, and which of them its type shows.
struct Parts<'a> {
    of: &'a DataType,
    moment: Moment,
    year: i32,
    month: u8,
    day: u8,
    hour: i64,
    minute: i64,
    second: i64,
}

/// The style of `date`, `time`, `datetime2` and `datetimeoffset` if none is given.
const STYLE_ODBC: i32 = 121;

/// Writes a date or time value of type `of` in a style of CONVERT. Style 0 is the default: that of
/// `datetime` and `smalldatetime`, and 121 for the other types (whose own style 0 is also called
/// 100). Names of months are those of `language`.
///
/// # Errors
/// 281 for an unknown style, 9809 for a style that shows no part of the type.
pub fn format(value: &Value, of: &DataType, style: i32, language: Language) -> Result<String> {
    let Some(parts) = Parts::of(value, of) else { return Ok(String::new()) };
    let style = match (style, of) {
        (0, DataType::DateTime | DataType::SmallDateTime) => 100,
        (0, _) => STYLE_ODBC,
        (9 | 13 | 14, _) => style + 100,
        (8 | 24, _) => 108,
        (20, _) => 120,
        (21 | 25, _) => STYLE_ODBC,
        (other, _) => other,
    };
    let date = parts.date_text(style, language);
    let time = parts.time_text(style);
    let (Some(date), Some(time)) = (date, time) else {
        return Err(Msg::InvalidStyle(i64::from(style), of.name()).into());
    };
    let (has_date, has_time) = (!matches!(of, DataType::Time(_)), *of != DataType::Date);
    let mut out = String::new();
    if has_date {
        out.push_str(&date);
    }
    if has_time {
        if has_date && !date.is_empty() && !time.is_empty() {
            out.push(if matches!(style, 126 | 127) { 'T' } else { ' ' });
        }
        out.push_str(&time);
        if !time.is_empty() {
            parts.push_offset(style, &mut out);
        }
    }
    if out.is_empty() {
        return Err(Msg::DateStyleNotSupported(i64::from(style), of.name(), "varchar").into());
    }
    Ok(out)
}

/// Writes an offset of minutes as `+hh:mm`.
pub(super) fn offset_text(minutes: i32) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

impl<'a> Parts<'a> {
    fn of(value: &Value, of: &'a DataType) -> Option<Self> {
        let moment = Moment::from_value(value)?;
        let civil = civil_of(moment.days);
        let seconds = moment.ticks / TICKS_PER_SECOND;
        Some(Self {
            of,
            moment,
            year: civil.year,
            month: civil.month,
            day: civil.day,
            hour: seconds / 3_600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        })
    }

    /// Writes the date of a style; empty for a style of time only, `None` for an unknown style.
    fn date_text(&self, style: i32, language: Language) -> Option<String> {
        let (y, m, d) = (self.year, self.month, self.day);
        let short = y % 100;
        let month = language.month_names_short()[usize::from(m) - 1];
        Some(match style {
            1 => format!("{m:02}/{d:02}/{short:02}"),
            101 => format!("{m:02}/{d:02}/{y:04}"),
            2 => format!("{short:02}.{m:02}.{d:02}"),
            102 => format!("{y:04}.{m:02}.{d:02}"),
            3 => format!("{d:02}/{m:02}/{short:02}"),
            103 => format!("{d:02}/{m:02}/{y:04}"),
            4 => format!("{d:02}.{m:02}.{short:02}"),
            104 => format!("{d:02}.{m:02}.{y:04}"),
            5 => format!("{d:02}-{m:02}-{short:02}"),
            105 => format!("{d:02}-{m:02}-{y:04}"),
            6 => format!("{d:02} {month} {short:02}"),
            106 | 113 => format!("{d:02} {month} {y:04}"),
            7 => format!("{month} {d:02}, {short:02}"),
            107 => format!("{month} {d:02}, {y:04}"),
            100 | 109 => format!("{month} {d:>2} {y:04}"),
            10 => format!("{m:02}-{d:02}-{short:02}"),
            110 => format!("{m:02}-{d:02}-{y:04}"),
            11 => format!("{short:02}/{m:02}/{d:02}"),
            111 => format!("{y:04}/{m:02}/{d:02}"),
            12 => format!("{short:02}{m:02}{d:02}"),
            112 => format!("{y:04}{m:02}{d:02}"),
            22 => format!("{m:02}/{d:02}/{short:02}"),
            23 | 120 | 121 => format!("{y:04}-{m:02}-{d:02}"),
            126 => format!("{y:04}-{m:02}-{d:02}"),
            127 => {
                let civil = civil_of(self.moment.to_utc().0);
                format!("{:04}-{:02}-{:02}", civil.year, civil.month, civil.day)
            }
            130 | 131 => hijri::text(self.moment.days, style),
            108 | 114 => String::new(),
            _ => return None,
        })
    }

    /// Writes the time of a style; empty for a style of date only, `None` for an unknown style.
    fn time_text(&self, style: i32) -> Option<String> {
        let (h, m, s) = (self.hour, self.minute, self.second);
        let twelve = if h % 12 == 0 { 12 } else { h % 12 };
        let half = if h < 12 { "AM" } else { "PM" };
        Some(match style {
            100 => format!("{twelve:>2}:{m:02}{half}"),
            109 | 130 | 131 => format!("{twelve:>2}:{m:02}:{s:02}{}{half}", self.fraction(':')),
            22 => format!("{twelve:>2}:{m:02}:{s:02} {half}"),
            108 | 120 => format!("{h:02}:{m:02}:{s:02}"),
            113 | 114 => format!("{h:02}:{m:02}:{s:02}{}", self.fraction(':')),
            121 => format!("{h:02}:{m:02}:{s:02}{}", self.fraction('.')),
            126 => format!("{h:02}:{m:02}:{s:02}{}", self.iso_fraction()),
            127 => {
                let seconds = self.moment.to_utc().1 / TICKS_PER_SECOND;
                let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
                format!("{h:02}:{m:02}:{s:02}{}", self.iso_fraction())
            }
            1..=7 | 10..=12 | 23 | 101..=107 | 110..=112 => String::new(),
            _ => return None,
        })
    }

    /// Writes the fraction of the second with the type's decimals: `.123`; `datetime` may have a
    /// colon.
    fn fraction(&self, separator: char) -> String {
        let fraction = self.moment.ticks % TICKS_PER_SECOND;
        match self.of {
            DataType::DateTime | DataType::SmallDateTime => {
                format!("{separator}{:03}", (fraction + 5_000) / 10_000)
            }
            other => match other.scale() {
                0 => String::new(),
                scale => format!(".{}", &format!("{fraction:07}")[..usize::from(scale)]),
            },
        }
    }

    /// As [`Self::fraction`], but empty for a `datetime` without a fraction.
    fn iso_fraction(&self) -> String {
        let is_old = matches!(self.of, DataType::DateTime | DataType::SmallDateTime);
        let has_none = self.moment.ticks % TICKS_PER_SECOND == 0;
        if is_old && has_none { String::new() } else { self.fraction('.') }
    }

    fn push_offset(&self, style: i32, out: &mut String) {
        let is_offset = matches!(self.of, DataType::DateTimeOffset(_));
        let text = offset_text(i32::from(self.moment.offset));
        let written = match style {
            // The other types have no time zone that could be UTC.
            127 if is_offset => write!(out, "Z"),
            126 if is_offset => write!(out, "{text}"),
            _ if is_offset => write!(out, " {text}"),
            _ => Ok(()),
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
}

/// The Hijri calendar of styles 130 and 131, by the Kuwaiti algorithm: 30-year cycles of 10,631
/// days.
mod hijri {
    /// The Hijri date 0001-01-01 as days since 0001-01-01 (16 July 622, Julian).
    const EPOCH: i32 = 227_014;

    const MONTHS: [&str; 12] = [
        "محرم",
        "صفر",
        "ربيع الاول",
        "ربيع الثاني",
        "جمادى الاولى",
        "جمادى الثانية",
        "رجب",
        "شعبان",
        "رمضان",
        "شوال",
        "ذو القعدة",
        "ذو الحجة",
    ];

    pub(super) fn text(days: i32, style: i32) -> String {
        let (year, month, day) = date(days);
        let name = usize::try_from(month - 1).ok().and_then(|i| MONTHS.get(i)).unwrap_or(&"");
        match style {
            130 => format!("{day:>2} {name} {year:04}"),
            _ => format!("{day:>2}/{month:02}/{year:04}"),
        }
    }

    /// Returns year, month and day. Months have 30 and 29 days alternately; leap years, 11 in 30,
    /// have one day more in the last month.
    pub(super) fn date(days: i32) -> (i32, i32, i32) {
        let since = days - EPOCH;
        let start = |year: i32| (year - 1) * 354 + (3 + 11 * year).div_euclid(30);
        let mut year = (30 * since + 10_646).div_euclid(10_631);
        while start(year) > since {
            year -= 1;
        }
        while start(year + 1) <= since {
            year += 1;
        }
        let day_of_year = since - start(year);
        let month = (day_of_year * 2 / 59).min(11);
        let before = (59 * month + 1) / 2;
        let (month, before) = if before > day_of_year {
            (month - 1, (59 * (month - 1) + 1) / 2)
        } else {
            (month, before)
        };
        (year, month + 1, day_of_year - before + 1)
    }
}
