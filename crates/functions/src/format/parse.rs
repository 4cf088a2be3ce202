//! PARSE and TRY_PARSE: numbers and dates as a culture writes them.

use types::convert::ConvertOptions;
use types::value::ColumnType;
use types::{Collation, DataType, Family, Length, Mode, Result, Value};

use super::culture::{self, Culture};

/// Parses a value of a type; `None` if the text is not one in the culture.
pub(crate) fn parse(text: &str, ty: &ColumnType, culture: &Culture) -> Option<Value> {
    let text = match ty.data_type.family() {
        Family::DateTime => date(text, culture)?,
        _ => number(text, ty, culture)?,
    };
    let from = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(4_000)),
        collation: Collation::default(),
        nullable: true,
    };
    let options = ConvertOptions { date_format: culture.order, ..ConvertOptions::default() };
    let value: Result<Value> =
        types::convert(&Value::nvarchar(&text), &from, ty, 0, Mode::Explicit, &options);
    value.ok().filter(|v| !v.is_null())
}

/// Returns a number in plain form: without group separators, with `.` as the point; money may have
/// its symbol on either side.
fn number(text: &str, ty: &ColumnType, culture: &Culture) -> Option<String> {
    let mut text = text.trim();
    let mut negative = false;
    if matches!(ty.data_type, DataType::Money | DataType::SmallMoney)
        && let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'))
    {
        (text, negative) = (inner.trim(), true);
    }
    let mut bare = text.to_owned();
    if matches!(ty.data_type, DataType::Money | DataType::SmallMoney) {
        bare = bare.replacen(culture.currency, "", 1).trim().to_owned();
    }
    let unsigned = match bare.strip_prefix('-').or_else(|| bare.strip_suffix('-')) {
        Some(rest) if !negative => {
            negative = true;
            rest.trim().to_owned()
        }
        Some(_) => return None,
        None => bare.strip_prefix('+').unwrap_or(&bare).to_owned(),
    };
    let (whole, fraction) = match unsigned.split_once(culture.point) {
        Some((whole, fraction)) => (whole.to_owned(), Some(fraction.to_owned())),
        None => (unsigned, None),
    };
    let float = matches!(ty.data_type, DataType::Float | DataType::Real);
    let is_plain = |t: &str| {
        t.bytes().all(|b| b.is_ascii_digit() || (float && matches!(b, b'e' | b'E' | b'+' | b'-')))
    };
    let whole = whole.replace(culture.group, "").replace(' ', "");
    let fraction = fraction.unwrap_or_default();
    if (whole.is_empty() && fraction.is_empty()) || !is_plain(&whole) || !is_plain(&fraction) {
        return None;
    }
    let sign = if negative { "-" } else { "" };
    let whole = if whole.is_empty() { "0".to_owned() } else { whole };
    if ty.data_type.is_integer() {
        // Decimals that are all zero are allowed for integers.
        let zero = fraction.bytes().all(|b| b == b'0');
        return zero.then(|| format!("{sign}{whole}"));
    }
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

/// Returns a date with English names and separators: weekdays removed, months by their English
/// names.
fn date(text: &str, culture: &Culture) -> Option<String> {
    let english = culture::default();
    let mut words = Vec::new();
    let spaced = text.replace(',', " ");
    for word in spaced.split_whitespace() {
        let bare = word.trim_end_matches('.');
        let is = |names: &[&str]| {
            names.iter().position(|n| n.trim_end_matches('.').to_lowercase() == bare.to_lowercase())
        };
        if is(&culture.days).or_else(|| is(&culture.days_short)).is_some() {
            continue;
        }
        match is(&culture.months).or_else(|| is(&culture.months_short)) {
            Some(month) => words.push(english.months[month].to_owned()),
            None if bare.bytes().all(|b| b.is_ascii_digit()) => words.push(bare.to_owned()),
            None => words.push(word.to_owned()),
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}
