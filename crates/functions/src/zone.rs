//! AT TIME ZONE, and the time zones it knows.
//!
//! Zones have Windows' names, as in SQL Server. Each has its offset and its daylight saving rule. A
//! rule applies from a certain year on; an earlier time is error 40517, because the answer would be
//! a guess. The server's own zone is UTC.

use types::date::{DAYS_MAX, Moment, TICKS_PER_MINUTE, civil_of, days_in_month, days_of, weekday};
use types::value::ColumnType;
use types::{DataType, Length, Msg, Result, Value};

use crate::entry::{lookup, of, session, text};
use crate::{Call, Function};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;

/// Internal name of the function behind AT TIME ZONE; no text can name it.
pub const AT_TIME_ZONE: &str = "AT TIME ZONE";

pub(crate) static FUNCTIONS: &[Function] = &[
    lookup(AT_TIME_ZONE, (2, 2), bind_at, eval_at),
    session(
        "CURRENT_TIMEZONE",
        |_| Ok(of(DataType::VarChar(Length::Limited(4_000)))),
        |_| Value::varchar("(UTC) Coordinated Universal Time", types::Collation::default()),
    ),
    session(
        "CURRENT_TIMEZONE_ID",
        |_| Ok(of(DataType::VarChar(Length::Limited(4_000)))),
        |_| Value::varchar("UTC", types::Collation::default()),
    ),
];

/// The daylight saving rule of a zone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// No change since 1990 at least.
    Never,
    /// Europe since 1996: from the last Sunday of March to the last of October, at 01:00 UTC.
    Europe,
    /// North America since 2007: from the second Sunday of March to the first of November, at
    /// 02:00.
    America,
    /// South-eastern Australia since 2008: from the first Sunday of October to the first of April.
    Australia,
    /// New Zealand since 2008: from the last Sunday of September to the first of April.
    NewZealand,
}

impl Rule {
    const fn since(self) -> i32 {
        match self {
            Self::Never => 1990,
            Self::Europe => 1996,
            Self::America => 2007,
            Self::Australia | Self::NewZealand => 2009,
        }
    }
}

/// Name, minutes east of UTC in standard time, and rule.
const ZONES: &[(&str, i16, Rule)] = &[
    ("UTC", 0, Rule::Never),
    ("GMT Standard Time", 0, Rule::Europe),
    ("Greenwich Standard Time", 0, Rule::Never),
    ("W. Europe Standard Time", 60, Rule::Europe),
    ("Central Europe Standard Time", 60, Rule::Europe),
    ("Central European Standard Time", 60, Rule::Europe),
    ("Romance Standard Time", 60, Rule::Europe),
    ("W. Central Africa Standard Time", 60, Rule::Never),
    ("FLE Standard Time", 120, Rule::Europe),
    ("GTB Standard Time", 120, Rule::Europe),
    ("South Africa Standard Time", 120, Rule::Never),
    ("E. Africa Standard Time", 180, Rule::Never),
    ("Arab Standard Time", 180, Rule::Never),
    ("Arabian Standard Time", 240, Rule::Never),
    ("Afghanistan Standard Time", 270, Rule::Never),
    ("India Standard Time", 330, Rule::Never),
    ("Nepal Standard Time", 345, Rule::Never),
    ("SE Asia Standard Time", 420, Rule::Never),
    ("China Standard Time", 480, Rule::Never),
    ("Singapore Standard Time", 480, Rule::Never),
    ("Taipei Standard Time", 480, Rule::Never),
    ("Tokyo Standard Time", 540, Rule::Never),
    ("Korea Standard Time", 540, Rule::Never),
    ("AUS Central Standard Time", 570, Rule::Never),
    ("E. Australia Standard Time", 600, Rule::Never),
    ("AUS Eastern Standard Time", 600, Rule::Australia),
    ("Cen. Australia Standard Time", 570, Rule::Australia),
    ("Tasmania Standard Time", 600, Rule::Australia),
    ("New Zealand Standard Time", 720, Rule::NewZealand),
    ("Newfoundland Standard Time", -210, Rule::America),
    ("Atlantic Standard Time", -240, Rule::America),
    ("SA Western Standard Time", -240, Rule::Never),
    ("Eastern Standard Time", -300, Rule::America),
    ("SA Pacific Standard Time", -300, Rule::Never),
    ("Central Standard Time", -360, Rule::America),
    ("Central America Standard Time", -360, Rule::Never),
    ("Canada Central Standard Time", -360, Rule::Never),
    ("Mountain Standard Time", -420, Rule::America),
    ("US Mountain Standard Time", -420, Rule::Never),
    ("Pacific Standard Time", -480, Rule::America),
    ("Alaskan Standard Time", -540, Rule::America),
    ("Hawaiian Standard Time", -600, Rule::Never),
];

fn bind_at(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let scale = match arguments[0].ty.data_type {
        DataType::DateTime2(scale) | DataType::DateTimeOffset(scale) => scale,
        DataType::DateTime => 3,
        DataType::SmallDateTime => 0,
        _ if arguments[0].is_null_literal() => 7,
        other => return Err(Msg::InvalidArgumentType(other.name(), 1, "AT TIME ZONE").into()),
    };
    let zone = arguments.remove(1);
    let name = ColumnType { collation: zone.ty.collation, ..of(DataType::NVarChar(Length::Max)) };
    arguments.push(convert_to(zone, &name, types::Mode::Implicit)?);
    Ok(of(DataType::DateTimeOffset(scale)))
}

fn eval_at(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Some(name) = text(call, values, 1)? else { return Ok(Value::Null) };
    let found = ZONES.iter().find(|(zone, ..)| zone.eq_ignore_ascii_case(&name));
    let Some(zone) = found else { return Err(Msg::UnknownTimeZone(&name).into()) };
    let given = Moment::from_value(&values[0]).ok_or(Msg::InternalError)?;
    if let Value::DateTimeOffset { days, ticks, .. } = values[0] {
        let offset = offset_at(minutes_of(days, ticks), zone)?;
        let shown = Moment { days, ticks, offset: 0 };
        let shown = shown.plus_ticks(i64::from(offset) * TICKS_PER_MINUTE);
        // A local time beyond the calendar's end is shown in UTC.
        let offset = if shown.is_some() { offset } else { 0 };
        return Ok(Value::DateTimeOffset { days, ticks, offset });
    }
    from_local(given, zone)
}

/// An entry of [`ZONES`].
type Zone = (&'static str, i16, Rule);

const MINUTES_PER_DAY: i64 = 1_440;
const HOUR: i64 = 60;
/// Minutes by which daylight saving time is ahead.
const SUMMER: i16 = 60;

/// Returns the whole minutes since 0001-01-01.
fn minutes_of(days: i32, ticks: i64) -> i64 {
    i64::from(days) * MINUTES_PER_DAY + ticks / TICKS_PER_MINUTE
}

/// Converts a local time: an ambiguous one is daylight saving time; a skipped one is standard time,
/// and so is shown an hour later.
fn from_local(local: Moment, zone: &Zone) -> Result<Value> {
    let (_, standard, _) = *zone;
    let minutes = minutes_of(local.days, local.ticks);
    let (winter, summer) = (minutes - i64::from(standard), minutes - i64::from(standard + SUMMER));
    let instant = match offset_at(summer, zone)? == standard + SUMMER {
        true => summer,
        false => winter,
    };
    let offset = offset_at(instant, zone)?;
    let days = i32::try_from(instant.div_euclid(MINUTES_PER_DAY)).unwrap_or(-1);
    if !(0..=DAYS_MAX).contains(&days) {
        return Err(Msg::TimeZoneOverflow("AT TIME ZONE").into());
    }
    let ticks = instant.rem_euclid(MINUTES_PER_DAY) * TICKS_PER_MINUTE;
    let ticks = ticks + local.ticks % TICKS_PER_MINUTE;
    Ok(Value::DateTimeOffset { days, ticks, offset })
}

/// Returns the offset at a time, in minutes from UTC.
///
/// # Errors
/// 40517 before the rule's first year.
fn offset_at(utc: i64, (name, standard, rule): &Zone) -> Result<i16> {
    if *name == "UTC" {
        return Ok(0);
    }
    let local_day = (utc + i64::from(*standard)).div_euclid(MINUTES_PER_DAY);
    let year = civil_of(i32::try_from(local_day).unwrap_or(0)).year;
    if year < rule.since() {
        let what = format!("AT TIME ZONE '{name}' before {}", rule.since());
        return Err(Msg::NotSupported(&what).into());
    }
    let in_summer = changes(year, i64::from(*standard), *rule).is_some_and(|(from, to)| {
        // On the southern hemisphere the period spans the turn of the year.
        if from <= to { (from..to).contains(&utc) } else { utc >= from || utc < to }
    });
    Ok(if in_summer { standard + SUMMER } else { *standard })
}

/// Returns when daylight saving time begins and ends in a year, in minutes of UTC.
fn changes(year: i32, standard: i64, rule: Rule) -> Option<(i64, i64)> {
    let at = |month, nth, minutes: i64| {
        sunday(year, month, nth).map(|day| i64::from(day) * MINUTES_PER_DAY + minutes)
    };
    let two = 2 * HOUR - standard;
    match rule {
        Rule::Never => None,
        Rule::Europe => at(3, LAST, HOUR).zip(at(10, LAST, HOUR)),
        Rule::America => at(3, 2, two).zip(at(11, 1, two - HOUR)),
        Rule::Australia => at(10, 1, two).zip(at(4, 1, two)),
        Rule::NewZealand => at(9, LAST, two).zip(at(4, 1, two)),
    }
}

/// Argument of [`sunday`] for the last one of the month.
const LAST: i32 = 5;

/// Returns the day of the nth Sunday of a month.
fn sunday(year: i32, month: i32, nth: i32) -> Option<i32> {
    let first = days_of(year, month, 1)?;
    let day = 6 - weekday(first) + (nth - 1) * 7;
    Some(first + if day < days_in_month(year, month)? { day } else { day - 7 })
}

/// Returns the zones with their current offset from UTC in minutes, and whether it is daylight
/// saving time.
pub fn zones_now() -> Vec<(&'static str, i16, bool)> {
    let now = catalog::clock::clock();
    let minutes = minutes_of(now.days, now.ticks);
    let of = |zone: &'static Zone| {
        let offset = offset_at(minutes, zone).ok()?;
        Some((zone.0, offset, offset != zone.1))
    };
    ZONES.iter().filter_map(of).collect()
}
