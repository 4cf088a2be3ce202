//! Converts to numbers: `bit`, the integers, `decimal`, `money`, `float` and `real`.

use super::{Context, Pause, Steps};
use crate::date::{DATETIME_TICKS_PER_DAY, Moment};
use crate::decimal::{POWERS, Rounding, divide};
use crate::{DataType, Decimal, Error, Msg, Result, Value};

/// Digits behind the point of `money`.
const MONEY_SCALE: u8 = 4;
/// More characters than any message shows of a value.
const SHOWN_CHARS_MAX: usize = 4_000;

impl Context<'_> {
    /// Converts to `bit`, an integer, `decimal` or `money`.
    pub(super) fn to_exact(self, value: &Value) -> Result<Value> {
        match self.to.data_type {
            DataType::Decimal { precision, scale } => self.to_decimal(value, precision, scale),
            DataType::Money | DataType::SmallMoney => self.to_money(value),
            _ => self.to_integer(value),
        }
    }

    fn to_integer(self, value: &Value) -> Result<Value> {
        let is_bit = self.to.data_type == DataType::Bit;
        let wide = match value {
            Value::Bit(v) => i128::from(*v),
            Value::TinyInt(v) => i128::from(*v),
            Value::SmallInt(v) => i128::from(*v),
            Value::Int(v) => i128::from(*v),
            Value::BigInt(v) => i128::from(*v),
            _ if is_bit && is_nonzero_number(value) => 1,
            // Decimals and floats are truncated, money is rounded.
            Value::Decimal(v) => v.mantissa() / POWERS[usize::from(v.scale)],
            Value::Money(v) => {
                divide(i128::from(*v), POWERS[usize::from(MONEY_SCALE)], Rounding::HalfAway)
            }
            Value::Real(v) => self.truncated(f64::from(*v))?,
            Value::Float(v) => self.truncated(*v)?,
            Value::DateTime { .. } | Value::SmallDateTime { .. } => divide(
                datetime_ticks(value),
                i128::from(DATETIME_TICKS_PER_DAY),
                Rounding::HalfAway,
            ),
            Value::VarBinary(bytes) => i128::from(self.integer_of(bytes)),
            Value::VarChar(_) | Value::NVarChar(_) => match plain_number(value) {
                Some(number) => number,
                None => self.parse_integer(&self.source_text(value)?)?,
            },
            _ => return Err(self.clash()),
        };
        self.narrow(wide).ok_or_else(|| self.integer_overflow(value, wide))
    }

    /// Returns as much of a string value as a message shows.
    fn shown_text(self, value: &Value) -> String {
        value.as_text_up_to(SHOWN_CHARS_MAX, self.from.collation).unwrap_or_default()
    }

    /// Makes the target's value from an integer, if it fits.
    fn narrow(self, wide: i128) -> Option<Value> {
        Some(match self.to.data_type {
            DataType::Bit => Value::Bit(wide != 0),
            DataType::TinyInt => Value::TinyInt(u8::try_from(wide).ok()?),
            DataType::SmallInt => Value::SmallInt(i16::try_from(wide).ok()?),
            DataType::Int => Value::Int(i32::try_from(wide).ok()?),
            _ => Value::BigInt(i64::try_from(wide).ok()?),
        })
    }

    fn integer_overflow(self, value: &Value, wide: i128) -> Error {
        let name = self.target_name();
        let is_short = matches!(self.to.data_type, DataType::TinyInt | DataType::SmallInt);
        match value {
            Value::VarChar(_) | Value::NVarChar(_) => {
                let text = self.shown_text(value);
                match self.to.data_type {
                    DataType::TinyInt => {
                        Msg::StringOverflowsColumn(self.source_name(), &text, "INT1").into()
                    }
                    DataType::SmallInt => {
                        Msg::StringOverflowsColumn(self.source_name(), &text, "INT2").into()
                    }
                    DataType::Int => Msg::StringOverflowsInt(self.source_name(), &text).into(),
                    _ => self.overflow(),
                }
            }
            Value::Float(_) | Value::Real(_) => {
                let text = self.float_of(value).map_or(String::new(), |v| format!("{v:.6}"));
                Msg::ArithmeticOverflowType(name, &text).into()
            }
            Value::Decimal(_) => self.overflow(),
            _ if is_short => Msg::ArithmeticOverflowValue(name, &wide.to_string()).into(),
            _ => Msg::ArithmeticOverflow(name).into(),
        }
    }

    fn truncated(self, value: f64) -> Result<i128> {
        if value.abs() >= 1e30 {
            let text = format!("{value:.6}");
            return Err(Msg::ArithmeticOverflowType(self.target_name(), &text).into());
        }
        #[expect(clippy::cast_possible_truncation, reason = "cut off on purpose, within range")]
        Ok(value as i128)
    }

    /// Reads the last bytes of a binary value, as many as the target type has.
    fn integer_of(self, bytes: &[u8]) -> i64 {
        let size = usize::from(self.to.data_type.max_length().unsigned_abs());
        if self.to.data_type == DataType::Bit {
            return i64::from(bytes.last().is_some_and(|b| *b != 0));
        }
        let tail = &bytes[bytes.len().saturating_sub(size)..];
        let value = tail.iter().fold(0_u64, |v, b| v << 8 | u64::from(*b)).cast_signed();
        // A value of full length is read with the target's sign; a shorter one is positive, and
        // tinyint has no sign.
        let bits = u32::try_from(64 - 8 * size).unwrap_or(0);
        if self.to.data_type == DataType::TinyInt { value } else { value << bits >> bits }
    }

    /// Reads an integer: blanks around a sign and digits. An empty text is 0, as is a sign alone.
    fn parse_integer(self, text: &str) -> Result<i128> {
        let failed = || -> Error {
            match self.to.data_type {
                DataType::BigInt => self.failed(),
                _ => Msg::ConversionFailed(self.source_name(), text, self.target_name()).into(),
            }
        };
        let trimmed = text.trim_matches(' ');
        if self.to.data_type == DataType::Bit {
            if trimmed.eq_ignore_ascii_case("true") {
                return Ok(1);
            }
            if trimmed.eq_ignore_ascii_case("false") {
                return Ok(0);
            }
        }
        let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed).trim_start_matches(' ');
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(failed());
        }
        // A number of more than 128 bits overflows every target.
        let magnitude = match digits {
            "" => 0,
            _ => digits
                .trim_start_matches('0')
                .get(..30)
                .map_or_else(|| digits.parse().unwrap_or(i128::MAX), |_| i128::MAX),
        };
        Ok(if trimmed.starts_with('-') { -magnitude } else { magnitude })
    }

    fn to_decimal(self, value: &Value, precision: u8, scale: u8) -> Result<Value> {
        let fit = |d: Decimal, rounding| {
            d.rescale(precision, scale, rounding).map(Value::Decimal).ok_or_else(|| self.overflow())
        };
        let whole = |v: i128| fit(Decimal::new(v, 38, 0), Rounding::HalfAway);
        match value {
            Value::Decimal(v) => fit(*v, Rounding::HalfAway),
            Value::Bit(v) => whole(i128::from(*v)),
            Value::TinyInt(v) => whole(i128::from(*v)),
            Value::SmallInt(v) => whole(i128::from(*v)),
            Value::Int(v) => whole(i128::from(*v)),
            Value::BigInt(v) => whole(i128::from(*v)),
            Value::Money(v) => {
                fit(Decimal::new(i128::from(*v), 19, MONEY_SCALE), Rounding::HalfAway)
            }
            Value::Real(_)
            | Value::Float(_)
            | Value::DateTime { .. }
            | Value::SmallDateTime { .. } => {
                let float = self.float_of(value).ok_or_else(|| self.clash())?;
                let decimal = Decimal::from_f64(float, precision, scale);
                decimal.map(Value::Decimal).ok_or_else(|| self.overflow())
            }
            Value::VarChar(_) | Value::NVarChar(_) => {
                let text = self.source_text(value)?;
                match Decimal::parse(&text) {
                    None => Err(self.failed()),
                    Some(Err(_)) => Err(self.overflow()),
                    Some(Ok(parsed)) => fit(parsed, Rounding::HalfAway),
                }
            }
            Value::VarBinary(bytes) => {
                let stored = decimal_of_bytes(bytes).ok_or_else(|| self.failed())?;
                fit(stored, Rounding::HalfAway)
            }
            _ => Err(self.clash()),
        }
    }

    fn to_money(self, value: &Value) -> Result<Value> {
        let units = match value {
            Value::Money(v) => Some(i128::from(*v)),
            Value::Bit(v) => Some(i128::from(*v) * 10_000),
            Value::TinyInt(v) => Some(i128::from(*v) * 10_000),
            Value::SmallInt(v) => Some(i128::from(*v) * 10_000),
            Value::Int(v) => Some(i128::from(*v) * 10_000),
            Value::BigInt(v) => Some(i128::from(*v) * 10_000),
            Value::Decimal(v) => {
                v.rescale(38, MONEY_SCALE, Rounding::HalfAway).map(|d| d.mantissa())
            }
            Value::Real(_)
            | Value::Float(_)
            | Value::DateTime { .. }
            | Value::SmallDateTime { .. } => {
                let float = self.float_of(value).unwrap_or(f64::INFINITY);
                Decimal::from_f64(float, 38, MONEY_SCALE).map(|d| d.mantissa())
            }
            Value::VarBinary(bytes) => {
                let tail = &bytes[bytes.len().saturating_sub(8)..];
                let bits = tail.iter().fold(0_u64, |v, b| v << 8 | u64::from(*b));
                Some(i128::from(bits.cast_signed()))
            }
            Value::VarChar(_) | Value::NVarChar(_) => {
                return self.parse_money(&self.source_text(value)?);
            }
            _ => return Err(self.clash()),
        };
        units.and_then(|v| self.checked_money(v)).ok_or_else(|| self.overflow_of_money(value))
    }

    fn overflow_of_money(self, value: &Value) -> Error {
        match value {
            Value::Money(_) | Value::Decimal(_) => self.overflow(),
            _ => Msg::ArithmeticOverflow(self.target_name()).into(),
        }
    }

    fn checked_money(self, units: i128) -> Option<Value> {
        match self.to.data_type {
            DataType::SmallMoney => i32::try_from(units).ok().map(|v| Value::Money(i64::from(v))),
            _ => i64::try_from(units).ok().map(Value::Money),
        }
    }

    /// Reads money: a sign, a currency symbol, digits with commas, up to four decimals (more
    /// round).
    fn parse_money(self, text: &str) -> Result<Value> {
        let is_small = self.to.data_type == DataType::SmallMoney;
        let syntax = if is_small { Msg::SmallMoneySyntax } else { Msg::MoneySyntax };
        let overflow =
            if is_small { Msg::SmallMoneyFromCharOverflow } else { Msg::MoneyFromCharOverflow };
        let strip = |text| str::trim_start_matches(text, ' ');
        let text = text.trim_matches(' ');
        let (negative, body) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), strip(rest)),
            None => (false, text),
        };
        let body = body.strip_prefix(['$', '€', '£', '¥', '¢']).map_or(body, strip);
        // The sign may also be behind the currency symbol.
        let (negative, body) = match body.strip_prefix('-') {
            Some(rest) if !negative => (true, strip(rest)),
            _ => (negative, body),
        };
        let digits = significant_digits(body, self.options.pause).ok_or(syntax)?;
        let units = match Decimal::parse(&digits) {
            Some(Ok(parsed)) => {
                let money = parsed.rescale(38, MONEY_SCALE, Rounding::HalfAway);
                money.map_or(i128::MAX, |m| m.mantissa())
            }
            Some(Err(_)) | None => i128::MAX,
        };
        let units = if negative { -units } else { units };
        self.checked_money(units).ok_or_else(|| overflow.into())
    }

    /// Converts to `float` or `real`.
    pub(super) fn to_float(self, value: &Value) -> Result<Value> {
        let wide = match value {
            Value::VarChar(_) | Value::NVarChar(_) => {
                self.parse_float(&self.source_text(value)?)?
            }
            _ => self.float_of(value).ok_or_else(|| self.clash())?,
        };
        if self.to.data_type == DataType::Float {
            return Ok(Value::Float(wide));
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounding to real is meant")]
        let narrow = wide as f32;
        if narrow.is_finite() {
            return Ok(Value::Real(narrow));
        }
        Err(Msg::ArithmeticOverflowType("real", &format!("{wide:.6}")).into())
    }

    /// Reads a float. An empty text is 0.
    fn parse_float(self, text: &str) -> Result<f64> {
        let text = text.trim_matches(' ');
        if text.is_empty() {
            return Ok(0.0);
        }
        let is_number = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
        let exponent = text.trim_end_matches(['e', 'E']);
        let parsed: f64 =
            exponent.parse().ok().filter(|_| is_number).ok_or_else(|| self.failed())?;
        if parsed.is_finite() { Ok(parsed) } else { Err(self.overflow()) }
    }

    /// Returns a number or a `datetime` (in days since 1900) as a float.
    #[expect(clippy::cast_precision_loss, reason = "a float is approximate")]
    fn float_of(self, value: &Value) -> Option<f64> {
        Some(match value {
            Value::Bit(v) => f64::from(u8::from(*v)),
            Value::TinyInt(v) => f64::from(*v),
            Value::SmallInt(v) => f64::from(*v),
            Value::Int(v) => f64::from(*v),
            Value::BigInt(v) => *v as f64,
            Value::Decimal(v) => v.to_f64(),
            Value::Money(v) => *v as f64 / 10_000.0,
            Value::Real(v) => f64::from(*v),
            Value::Float(v) => *v,
            Value::DateTime { .. } | Value::SmallDateTime { .. } => {
                datetime_ticks(value) as f64 / DATETIME_TICKS_PER_DAY as f64
            }
            _ => return None,
        })
    }
}

/// Returns the digits of an amount of money that its value depends on, in the form of a decimal number; `None` if it
/// has anything but digits, commas and one point. Leading zeros and decimals that are not even rounded are left out.
fn significant_digits(text: &str, pause: Pause) -> Option<String> {
    /// More digits than a decimal has.
    const DIGITS_MAX: usize = 40;
    let steps = Steps::new(pause);
    let (mut kept, mut room, mut has_point) = (String::from("0"), DIGITS_MAX, false);
    for byte in text.bytes() {
        steps.step();
        match byte {
            b',' => {}
            b'.' if !has_point => {
                (has_point, room) = (true, DIGITS_MAX);
                kept.push('.');
            }
            b'0' if kept.len() == 1 => {}
            b'0'..=b'9' if room > 0 => {
                kept.push(char::from(byte));
                room -= 1;
            }
            b'0'..=b'9' => {}
            _ => return None,
        }
    }
    Some(kept)
}

/// Reads the usual integer, of digits and blanks around them, without making text of it; `None` for
/// any other text. Digits and blanks are the same in all code pages.
fn plain_number(value: &Value) -> Option<i128> {
    match value {
        Value::VarChar(bytes) => digits(bytes.iter().map(|byte| u16::from(*byte))),
        Value::NVarChar(units) => digits(crate::text::utf16_units(units)),
        _ => None,
    }
}

fn digits(units: impl Iterator<Item = u16>) -> Option<i128> {
    const BLANK: u16 = 0x20;
    const ZERO: u16 = 0x30;
    const NINE: u16 = 0x39;
    /// As many digits as fit 64 bits.
    const DIGITS_MAX: u8 = 18;
    let (mut number, mut count, mut has_ended) = (0_i64, 0, false);
    for unit in units {
        match unit {
            BLANK => has_ended = count > 0,
            ZERO..=NINE if !has_ended && count < DIGITS_MAX => {
                number = number * 10 + i64::from(unit - ZERO);
                count += 1;
            }
            _ => return None,
        }
    }
    (count > 0).then_some(i128::from(number))
}

fn is_nonzero_number(value: &Value) -> bool {
    match value {
        Value::Decimal(v) => v.mantissa() != 0,
        Value::Money(v) => *v != 0,
        Value::Real(v) => *v != 0.0,
        Value::Float(v) => *v != 0.0,
        _ => false,
    }
}

/// Returns a `datetime` or `smalldatetime` as 1/300 s since 1900.
fn datetime_ticks(value: &Value) -> i128 {
    match Moment::from_value(value).and_then(|m| m.try_to_value(&DataType::DateTime)) {
        Some(Value::DateTime { days, ticks }) => {
            i128::from(days) * i128::from(DATETIME_TICKS_PER_DAY) + i128::from(ticks)
        }
        _ => 0,
    }
}

/// Reads a decimal out of its stored form: precision, scale, 0, sign, magnitude little-endian.
fn decimal_of_bytes(bytes: &[u8]) -> Option<Decimal> {
    let [precision, scale, _, sign, magnitude @ ..] = bytes else { return None };
    let valid = (1..=38).contains(precision) && scale <= precision && magnitude.len() <= 16;
    let magnitude = magnitude.iter().rev().fold(0_u128, |v, b| v << 8 | u128::from(*b));
    let magnitude = i128::try_from(magnitude).ok().filter(|_| valid)?;
    Decimal::checked(if *sign == 0 { -magnitude } else { magnitude }, *precision, *scale)
}

#[cfg(test)]
mod tests {
    use super::plain_number;
    use crate::{Bytes, Value};

    #[test]
    fn digits_between_blanks_are_a_number_in_both_encodings() {
        let both = |text: &str| {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let narrow = plain_number(&Value::VarChar(Bytes::copy_from(text.as_bytes())));
            let wide = plain_number(&Value::NVarChar(Bytes::copy_from(&units)));
            assert_eq!(narrow, wide, "{text:?}");
            narrow
        };
        assert_eq!(both(" 0042 "), Some(42));
        assert_eq!(both("999999999999999999"), Some(999_999_999_999_999_999));
        for text in ["", "  ", "4 2", "+4", "-4", "4a", "9999999999999999999", "\u{664}", "4."] {
            assert_eq!(both(text), None, "{text:?} is read with care");
        }
    }
}
