//! Dates as text, for clients older than TDS 7.3, which get `nvarchar` in place of a date type.

use types::Value;
use types::data_type::DataType;

use super::ticks_per_unit;
use crate::sink::Sink;
use crate::utf16;

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND;
const TICKS_PER_DAY: i64 = 24 * 60 * TICKS_PER_MINUTE;

/// Returns the longest text of a date type, in UTF-16 units.
pub(crate) fn units_max(data_type: DataType) -> u16 {
    let fraction = |scale: u8| if scale == 0 { 0 } else { u16::from(scale) + 1 };
    match data_type {
        DataType::Time(scale) => 8 + fraction(scale),
        DataType::DateTime2(scale) => 19 + fraction(scale),
        DataType::DateTimeOffset(scale) => 26 + fraction(scale),
        _ => 10,
    }
}

/// Writes a date as the value of an `nvarchar`.
pub(crate) fn encode(target: &mut impl Sink, data_type: DataType, value: &Value) {
    let text = utf16::from_str(&render(data_type, value));
    let length = u16::try_from(text.len()).expect("a date is short");
    target.put(&length.to_le_bytes());
    target.put(&text);
}

fn render(data_type: DataType, value: &Value) -> String {
    match (data_type, value) {
        (DataType::Date, Value::Date(days)) => date(*days),
        (DataType::Time(scale), Value::Time(ticks)) => time(*ticks, scale),
        (DataType::DateTime2(scale), Value::DateTime2 { days, ticks }) => {
            format!("{} {}", date(*days), time(*ticks, scale))
        }
        (DataType::DateTimeOffset(scale), Value::DateTimeOffset { days, ticks, offset }) => {
            let local = *ticks + i64::from(*offset) * TICKS_PER_MINUTE;
            let carry = i32::from(local >= TICKS_PER_DAY) - i32::from(local < 0);
            let time = time(local.rem_euclid(TICKS_PER_DAY), scale);
            let sign = if *offset < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
            format!("{} {time} {sign}{hours:02}:{minutes:02}", date(*days + carry))
        }
        (_, other) => panic!("a column announced as {data_type} got the value {other:?}"),
    }
}

/// Renders days since 0001-01-01, by Howard Hinnant's civil calendar algorithm.
fn date(days: i32) -> String {
    // Days since 0000-03-01: in years that begin in March the leap day is the last.
    let shifted = days + 306;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i32::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time(ticks: i64, scale: u8) -> String {
    let seconds = ticks / TICKS_PER_SECOND;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let whole = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if scale == 0 {
        return whole;
    }
    let unit = i64::try_from(ticks_per_unit(scale)).expect("a tick count is small");
    let fraction = ticks % TICKS_PER_SECOND / unit;
    format!("{whole}.{fraction:0width$}", width = usize::from(scale))
}
