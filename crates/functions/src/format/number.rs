//! Numbers by .NET's standard and custom format strings.
//!
//! A number is its decimal digits and the position of its point, so that every type formats
//! exactly. `float` has 15 digits and `real` has 7, as in .NET.

use types::Value;

use super::culture::Culture;

/// A number as decimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digits {
    negative: bool,
    /// `0` to `9`, without leading zeros.
    digits: Vec<u8>,
    /// Number of digits before the point; negative if zeros follow the point, or larger than the
    /// number of digits.
    point: i32,
    /// Type of the number.
    kind: NumberKind,
}

/// The type of a number: some formats apply to some types only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    /// An integer, with its bits for `X`.
    Whole(u64),
    /// `decimal` and `money`, which keep their trailing zeros.
    Decimal,
    /// `float` and `real`, with their number of digits.
    Float(usize),
}

/// Maximum precision of a format.
const PRECISION_MAX: usize = 99;

impl Digits {
    /// Returns the digits of a number; `None` for a value of another type.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::TinyInt(n) => Self::whole(i128::from(*n), u64::from(*n)),
            Value::SmallInt(n) => Self::whole(i128::from(*n), u64::from(n.cast_unsigned())),
            Value::Int(n) => Self::whole(i128::from(*n), u64::from(n.cast_unsigned())),
            Value::BigInt(n) => Self::whole(i128::from(*n), n.cast_unsigned()),
            Value::Money(n) => Self::scaled(i128::from(*n), 4, NumberKind::Decimal),
            Value::Decimal(d) => Self::scaled(d.mantissa(), d.scale, NumberKind::Decimal),
            Value::Float(x) => Self::float(*x, 15),
            Value::Real(x) => Self::float(f64::from(*x), 7),
            _ => return None,
        })
    }

    fn whole(n: i128, bits: u64) -> Self {
        Self::scaled(n, 0, NumberKind::Whole(bits))
    }

    fn scaled(mantissa: i128, scale: u8, kind: NumberKind) -> Self {
        let text = mantissa.unsigned_abs().to_string();
        let digits: Vec<u8> = if mantissa == 0 { Vec::new() } else { text.into_bytes() };
        let point = i32::try_from(digits.len()).unwrap_or(0) - i32::from(scale);
        // A zero keeps its decimals under `G`.
        let point = if mantissa == 0 { -i32::from(scale) } else { point };
        Self { negative: mantissa < 0, digits, point, kind }
    }

    fn float(x: f64, precision: usize) -> Self {
        let text = format!("{:.*e}", precision - 1, x.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let point = if digits.is_empty() { 0 } else { exponent + 1 };
        Self { negative: x < 0.0, digits, point, kind: NumberKind::Float(precision) }
    }

    /// Rounds to this many decimals, half away from zero.
    fn rounded(&self, decimals: i32) -> Self {
        let mut rounded = self.clone();
        let keep = self.point.saturating_add(decimals);
        let Ok(keep) = usize::try_from(keep) else {
            rounded.digits.clear();
            rounded.negative = false;
            return rounded;
        };
        if keep >= self.digits.len() {
            return rounded;
        }
        let up = self.digits[keep] >= b'5';
        rounded.digits.truncate(keep);
        if up {
            let mut place = keep;
            loop {
                let Some(before) = place.checked_sub(1) else {
                    rounded.digits.insert(0, b'1');
                    rounded.point += 1;
                    break;
                };
                if rounded.digits[before] < b'9' {
                    rounded.digits[before] += 1;
                    break;
                }
                rounded.digits[before] = b'0';
                place = before;
            }
        }
        if rounded.digits.iter().all(|d| *d == b'0') {
            rounded.digits.clear();
            rounded.negative = false;
        }
        rounded
    }

    /// Returns the digit at a place: 0 is the first before the point, -1 the first after it.
    fn at(&self, place: i32) -> char {
        let index = usize::try_from(self.point - 1 - place).ok();
        index.and_then(|i| self.digits.get(i)).map_or('0', |d| char::from(*d))
    }

    fn whole_part(&self) -> String {
        if self.point <= 0 || self.digits.is_empty() {
            return "0".to_owned();
        }
        (0..self.point).rev().map(|place| self.at(place)).collect()
    }

    fn decimals(&self, count: usize) -> String {
        (1..=i32::try_from(count).unwrap_or(0)).map(|place| self.at(-place)).collect()
    }

    /// Multiplies by a power of ten.
    fn shifted(&self, places: i32) -> Self {
        Self { point: self.point + places, ..self.clone() }
    }
}

/// Formats a number; `None` for an invalid format.
pub(crate) fn format(number: &Digits, format: &str, culture: &Culture) -> Option<String> {
    let mut characters = format.chars();
    let Some(letter) = characters.next() else { return general(number, None, 'G', culture) };
    let rest = characters.as_str();
    let standard =
        letter.is_ascii_alphabetic() && rest.len() <= 2 && rest.bytes().all(|b| b.is_ascii_digit());
    if !standard {
        return Some(super::picture::format(number, format, culture));
    }
    let precision = if rest.is_empty() { None } else { rest.parse().ok() };
    let precision = precision.filter(|p| *p <= PRECISION_MAX);
    match letter.to_ascii_uppercase() {
        'C' => {
            let decimals = precision.unwrap_or(culture.currency_decimals);
            Some(patterned(number, decimals, culture.currency_patterns, culture))
        }
        'D' => whole(number, precision.unwrap_or(1)),
        'E' => Some(scientific(number, precision.unwrap_or(6), letter, 3, culture)),
        'F' => Some(fixed(number, precision.unwrap_or(2), None, culture)),
        'G' => general(number, precision.filter(|p| *p > 0), letter, culture),
        'N' => Some(fixed(number, precision.unwrap_or(2), Some(culture.group), culture)),
        'P' => {
            let decimals = precision.unwrap_or(2);
            Some(patterned(&number.shifted(2), decimals, culture.percent_patterns, culture))
        }
        'R' if matches!(number.kind, NumberKind::Float(_)) => general(number, None, 'G', culture),
        'X' => hexadecimal(number, precision.unwrap_or(1), letter),
        _ => None,
    }
}

/// Inserts a separator between groups of three digits.
pub(crate) fn grouped(digits: &str, group: &str) -> String {
    let count = digits.chars().count();
    let mut out = String::with_capacity(count + count / 3 * group.len());
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (count - i).is_multiple_of(3) {
            out.push_str(group);
        }
        out.push(digit);
    }
    out
}

fn unsigned(number: &Digits, decimals: usize, group: Option<&str>, culture: &Culture) -> String {
    let whole = number.whole_part();
    let mut out = match group {
        Some(group) => grouped(&whole, group),
        None => whole,
    };
    if decimals > 0 {
        out.push_str(culture.point);
        out.push_str(&number.decimals(decimals));
    }
    out
}

fn fixed(number: &Digits, decimals: usize, group: Option<&str>, culture: &Culture) -> String {
    let number = number.rounded(i32::try_from(decimals).unwrap_or(0));
    let sign = if number.negative { "-" } else { "" };
    format!("{sign}{}", unsigned(&number, decimals, group, culture))
}

fn patterned(number: &Digits, decimals: usize, patterns: [&str; 2], culture: &Culture) -> String {
    let number = number.rounded(i32::try_from(decimals).unwrap_or(0));
    let text = unsigned(&number, decimals, Some(culture.group), culture);
    let pattern = patterns[usize::from(number.negative)];
    pattern.replace('n', &text).replace('$', culture.currency)
}

fn whole(number: &Digits, width: usize) -> Option<String> {
    let NumberKind::Whole(_) = number.kind else { return None };
    let sign = if number.negative { "-" } else { "" };
    Some(format!("{sign}{:0>width$}", number.whole_part()))
}

fn hexadecimal(number: &Digits, width: usize, letter: char) -> Option<String> {
    let NumberKind::Whole(bits) = number.kind else { return None };
    let text = if letter == 'x' { format!("{bits:x}") } else { format!("{bits:X}") };
    Some(format!("{text:0>width$}"))
}

/// Formats as `1.234560E+004`, with at least `width` digits of exponent.
pub(crate) fn scientific(
    number: &Digits,
    decimals: usize,
    letter: char,
    exponent_digits: usize,
    culture: &Culture,
) -> String {
    let one = Digits { point: 1, ..number.clone() };
    let rounded = one.rounded(i32::try_from(decimals).unwrap_or(0));
    let carried = rounded.point - 1;
    let exponent = if rounded.digits.is_empty() { 0 } else { number.point - 1 + carried };
    let one = Digits { point: 1, ..rounded };
    let sign = if one.negative { "-" } else { "" };
    let mantissa = unsigned(&one, decimals, None, culture);
    let way = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{mantissa}{letter}{way}{:0exponent_digits$}", exponent.abs())
}

/// Formats in the shortest form: plain, or with an exponent where that is shorter.
fn general(
    number: &Digits,
    precision: Option<usize>,
    letter: char,
    culture: &Culture,
) -> Option<String> {
    let decimal = number.kind == NumberKind::Decimal;
    if decimal && precision.is_none() {
        let scale = usize::try_from(i32::try_from(number.digits.len()).unwrap_or(0) - number.point);
        return Some(fixed(number, scale.unwrap_or(0), None, culture));
    }
    let most = match (precision, number.kind) {
        (Some(precision), _) => precision,
        (None, NumberKind::Float(digits)) => digits,
        (None, NumberKind::Whole(_) | NumberKind::Decimal) => 38,
    };
    let most_places = i32::try_from(most).unwrap_or(i32::MAX);
    let rounded = number.rounded(most_places - number.point);
    let significant = rounded.digits.iter().rposition(|d| *d != b'0').map_or(0, |last| last + 1);
    if rounded.point > most_places || rounded.point < -4 {
        let exponent = if letter.is_ascii_uppercase() { 'E' } else { 'e' };
        return Some(scientific(&rounded, significant.saturating_sub(1), exponent, 2, culture));
    }
    let decimals = i32::try_from(significant).unwrap_or(0) - rounded.point;
    Some(fixed(&rounded, usize::try_from(decimals).unwrap_or(0), None, culture))
}

impl Digits {
    /// Returns whether it is below zero.
    pub(crate) fn is_negative(&self) -> bool {
        self.negative
    }

    /// Returns whether it is zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Returns the number without its sign.
    pub(crate) fn magnitude(&self) -> Self {
        Self { negative: false, ..self.clone() }
    }

    /// Multiplies by a power of ten, and rounds to this many decimals.
    pub(crate) fn scaled_and_rounded(&self, places: i32, decimals: usize) -> Self {
        self.shifted(places).rounded(i32::try_from(decimals).unwrap_or(0))
    }

    /// Returns the digits before the point; empty for a number below one.
    pub(crate) fn before_point(&self) -> String {
        if self.point <= 0 || self.digits.is_empty() { String::new() } else { self.whole_part() }
    }

    /// Returns the decimals without trailing zeros, at least `least` and at most `most` of them.
    pub(crate) fn behind_point(&self, least: usize, most: usize) -> String {
        let mut decimals = self.decimals(most);
        while decimals.len() > least && decimals.ends_with('0') {
            decimals.pop();
        }
        decimals
    }

    /// Extracts the exponent so that `before` digits remain before the point.
    pub(crate) fn with_exponent(&self, before: i32, decimals: usize) -> (Self, i32) {
        if self.digits.is_empty() {
            return (self.clone(), 0);
        }
        let one = Self { point: before, ..self.clone() };
        let rounded = one.rounded(i32::try_from(decimals).unwrap_or(0));
        let carried = rounded.point - before;
        (Self { point: before, ..rounded }, self.point - before + carried)
    }
}
