//! Floats and money as text, in the styles of CONVERT.

/// Writes a float as C's `%g` does with `digits` significant digits and an exponent of three: style
/// 0.
pub(super) fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = split(&text);
    if exponent < -4 || usize::try_from(exponent).is_ok_and(|e| e >= digits) {
        return with_exponent(trim_zeros(mantissa), exponent);
    }
    let decimals = i32::try_from(digits).unwrap_or(6) - 1 - exponent;
    let text = format!("{value:.*}", usize::try_from(decimals).unwrap_or(0));
    trim_zeros(&text).to_owned()
}

/// Writes a float with `digits` digits, always with an exponent: styles 1, 2 and 3.
pub(super) fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = split(&text);
    with_exponent(mantissa, exponent)
}

/// Writes money: two decimals (style 0), with commas too (1), or four decimals (2).
pub(super) fn money(units: i64, style: i32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let units = units.unsigned_abs();
    if style == 2 || style == 126 {
        return format!("{sign}{}.{:04}", units / 10_000, units % 10_000);
    }
    let cents = (units + 50) / 100;
    let whole = (cents / 100).to_string();
    let whole = if style == 1 { with_commas(&whole) } else { whole };
    format!("{sign}{whole}.{:02}", cents % 100)
}

fn split(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:03}", exponent.abs())
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn with_commas(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
