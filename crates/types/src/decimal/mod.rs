//! Arithmetic, parsing and formatting of `decimal` and `money`.
//!
//! A mantissa has up to 38 digits, which fit 127 bits; products and scaled-up dividends may need
//! twice as many and are computed in `Wide`. Multiplication rounds half away from zero, division
//! truncates, as SQL Server does.

use std::cmp::Ordering;

use crate::data_type::PRECISION_MAX;
use crate::{Decimal, Error, Msg, Result};

/// Powers of ten up to 10^38, the largest in 128 bits.
pub(crate) const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// What happens to digits behind the scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Rounds to the nearest, half away from zero.
    HalfAway,
    /// Cuts them off, towards zero.
    Truncate,
}

impl Decimal {
    /// Makes a decimal if its digits fit `precision`.
    #[inline]
    pub fn checked(mantissa: i128, precision: u8, scale: u8) -> Option<Self> {
        let fits = mantissa.unsigned_abs() < POWERS[usize::from(precision)].unsigned_abs();
        fits.then_some(Self::new(mantissa, precision, scale))
    }

    /// Converts to another precision and scale; `None` on overflow.
    pub fn rescale(&self, precision: u8, scale: u8, rounding: Rounding) -> Option<Self> {
        let mantissa = match scale.cmp(&self.scale) {
            Ordering::Equal => self.mantissa(),
            Ordering::Less => {
                divide(self.mantissa(), POWERS[usize::from(self.scale - scale)], rounding)
            }
            Ordering::Greater => {
                self.mantissa().checked_mul(POWERS[usize::from(scale - self.scale)])?
            }
        };
        Self::checked(mantissa, precision, scale)
    }

    /// Compares two decimals, of any scales.
    pub fn order(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.mantissa().cmp(&other.mantissa());
        }
        let parts = |d: &Self| {
            let unit = POWERS[usize::from(d.scale)];
            let fraction = d.mantissa() % unit * POWERS[usize::from(38 - d.scale)];
            (d.mantissa() / unit, fraction)
        };
        parts(self).cmp(&parts(other))
    }

    /// Returns the same number with the smallest scale that represents it.
    #[must_use]
    pub fn without_trailing_zeros(&self) -> Self {
        let (mut mantissa, mut scale) = (self.mantissa(), self.scale);
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        Self::new(mantissa, self.precision, scale)
    }

    /// Adds, giving `precision` and `scale`.
    ///
    /// # Errors
    /// 8115 on overflow.
    pub fn add(&self, other: &Self, precision: u8, scale: u8) -> Result<Self> {
        let (a, b, common) = self.align(other).ok_or_else(overflow)?;
        let sum = a.checked_add(b).ok_or_else(overflow)?;
        let sum = Self::new(sum, PRECISION_MAX, common);
        sum.rescale(precision, scale, Rounding::HalfAway).ok_or_else(overflow)
    }

    /// Subtracts, giving `precision` and `scale`.
    ///
    /// # Errors
    /// 8115 on overflow.
    #[inline]
    pub fn subtract(&self, other: &Self, precision: u8, scale: u8) -> Result<Self> {
        let negated = Self::new(-other.mantissa(), other.precision, other.scale);
        self.add(&negated, precision, scale)
    }

    /// Multiplies, giving `precision` and `scale`.
    ///
    /// # Errors
    /// 8115 on overflow.
    pub fn multiply(&self, other: &Self, precision: u8, scale: u8) -> Result<Self> {
        let product = Wide::product(self.mantissa(), other.mantissa());
        let excess = self.scale + other.scale - scale.min(self.scale + other.scale);
        let mantissa = product.divide_by_power(excess, Rounding::HalfAway).ok_or_else(overflow)?;
        let exact = Self::new(mantissa, PRECISION_MAX, self.scale + other.scale - excess);
        exact.rescale(precision, scale, Rounding::HalfAway).ok_or_else(overflow)
    }

    /// Divides, giving `precision` and `scale`; digits behind the scale are cut off.
    ///
    /// # Errors
    /// 8134 on division by zero, 8115 on overflow.
    pub fn divide(&self, other: &Self, precision: u8, scale: u8) -> Result<Self> {
        if other.mantissa() == 0 {
            return Err(Msg::DivideByZero.into());
        }
        // The quotient of the mantissas has the scale s1 - s2.
        let shift = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        let shift = u32::try_from(shift.max(0)).unwrap_or(0);
        let mut dividend = Wide::product(self.mantissa(), 1);
        // Two steps, since 10^shift may need more than 127 bits.
        for step in [shift.min(38), shift.saturating_sub(38)] {
            let power = POWERS.get(usize::try_from(step).unwrap_or(usize::MAX));
            dividend = power.and_then(|p| dividend.checked_multiply(*p)).ok_or_else(overflow)?;
        }
        let quotient = dividend.divide(other.mantissa(), Rounding::Truncate);
        let quotient = quotient.ok_or_else(overflow)?;
        // Where the shift was negative the quotient has more decimals than wanted.
        let found = i32::from(self.scale) - i32::from(other.scale);
        let found = u8::try_from(found).unwrap_or(0).max(scale);
        let quotient = Self::new(quotient, PRECISION_MAX, found);
        quotient.rescale(precision, scale, Rounding::Truncate).ok_or_else(overflow)
    }

    /// Returns the remainder, with the sign of the dividend.
    ///
    /// # Errors
    /// 8134 on division by zero, 8115 on overflow.
    pub fn remainder(&self, other: &Self, precision: u8, scale: u8) -> Result<Self> {
        if other.mantissa() == 0 {
            return Err(Msg::DivideByZero.into());
        }
        let (a, b, common) = self.align(other).ok_or_else(overflow)?;
        let rest = Self::new(a % b, PRECISION_MAX, common);
        rest.rescale(precision, scale, Rounding::HalfAway).ok_or_else(overflow)
    }

    /// Converts to `float`, rounding once.
    #[expect(clippy::cast_precision_loss, reason = "a float is approximate")]
    pub fn to_f64(&self) -> f64 {
        if self.scale == 0 {
            return self.mantissa() as f64;
        }
        // If floats represent both numbers exactly, their quotient is rounded only once.
        if self.mantissa().unsigned_abs() <= 1 << 53 && self.scale <= 22 {
            return self.mantissa() as f64 / POWERS[usize::from(self.scale)] as f64;
        }
        // By way of the text: a quotient of two rounded numbers would be rounded twice.
        self.to_string().parse().unwrap_or(0.0)
    }

    /// Converts from `float`, rounding; `None` on overflow.
    pub fn from_f64(value: f64, precision: u8, scale: u8) -> Option<Self> {
        if !value.is_finite() || value.abs() >= 1e38 {
            return None;
        }
        // A float has at most 17 significant digits.
        let text = format!("{value:.16e}");
        let (digits, exponent) = text.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let mantissa: i128 = digits.replace('.', "").parse().ok()?;
        let shift = exponent - 16 + i32::from(scale);
        let mantissa = match u8::try_from(shift.unsigned_abs()) {
            Ok(up) if shift >= 0 => mantissa.checked_mul(*POWERS.get(usize::from(up))?)?,
            Ok(down) if down <= 38 => {
                divide(mantissa, POWERS[usize::from(down)], Rounding::HalfAway)
            }
            _ => 0,
        };
        Self::checked(mantissa, precision, scale)
    }

    /// Parses digits with an optional sign and point; blanks around them are ignored. `None` if the
    /// text is no such number; the error is a number with too many digits.
    pub fn parse(text: &str) -> Option<Result<Self, TooManyDigits>> {
        let text = text.trim_matches(' ');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > 38 {
            return Some(Err(TooManyDigits));
        }
        // Keeps one digit more than fits, so that rounding to 38 digits is right.
        let kept = fraction.len().min(38 - whole.len());
        let digits: i128 = format!("0{whole}{}", &fraction[..kept]).parse().ok()?;
        let rounds_up = fraction.as_bytes().get(kept).is_some_and(|b| *b >= b'5');
        let digits = digits + i128::from(rounds_up);
        let scale = u8::try_from(kept).ok()?;
        let precision = u8::try_from((whole.len() + kept).max(1)).ok()?;
        let mantissa = if text.starts_with('-') { -digits } else { digits };
        Some(
            Self::checked(mantissa, 38, scale)
                .ok_or(TooManyDigits)
                .map(|d| Self::new(d.mantissa(), precision, scale)),
        )
    }

    /// Brings both to the larger scale; `None` on overflow.
    fn align(&self, other: &Self) -> Option<(i128, i128, u8)> {
        let scale = self.scale.max(other.scale);
        let up = |d: &Self| d.mantissa().checked_mul(POWERS[usize::from(scale - d.scale)]);
        Some((up(self)?, up(other)?, scale))
    }
}

impl std::fmt::Display for Decimal {
    /// Writes all digits of the scale: `-0.50`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.mantissa() < 0 { "-" } else { "" };
        let digits = self.mantissa().unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let unit = POWERS[usize::from(self.scale)].unsigned_abs();
        let width = usize::from(self.scale);
        write!(f, "{sign}{}.{:0width$}", digits / unit, digits % unit)
    }
}

/// The error for a number of more than 38 digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyDigits;

fn overflow() -> Error {
    Msg::ArithmeticOverflow("numeric").into()
}

/// Divides, rounding the quotient.
pub(crate) fn divide(dividend: i128, divisor: i128, rounding: Rounding) -> i128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let up = rounding == Rounding::HalfAway
        && rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
    let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
    if up && rest != 0 { quotient + away } else { quotient }
}

/// A product of two 128-bit numbers: sign and 256 bits, most significant half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wide {
    negative: bool,
    high: u128,
    low: u128,
}

impl Wide {
    fn product(a: i128, b: i128) -> Self {
        let (high, low) = multiply_full(a.unsigned_abs(), b.unsigned_abs());
        Self { negative: (a < 0) != (b < 0), high, low }
    }

    /// Multiplies by a positive number; `None` above 256 bits.
    fn checked_multiply(self, by: i128) -> Option<Self> {
        let by = by.unsigned_abs();
        let (carry, low) = multiply_full(self.low, by);
        let high = self.high.checked_mul(by)?.checked_add(carry)?;
        Some(Self { high, low, ..self })
    }

    /// Divides by a power of ten; `None` if the quotient does not fit.
    fn divide_by_power(self, exponent: u8, rounding: Rounding) -> Option<i128> {
        let low = usize::from(exponent.min(38));
        let high = usize::from(exponent) - low;
        if high == 0 {
            return self.divide(POWERS[low], rounding);
        }
        // More than 38 decimals to drop: the first cut truncates, the second rounds.
        let (quotient, _) = self.divide_unsigned(POWERS[high].unsigned_abs());
        Self { high: quotient.0, low: quotient.1, ..self }.divide(POWERS[low], rounding)
    }

    fn divide(self, divisor: i128, rounding: Rounding) -> Option<i128> {
        let by = divisor.unsigned_abs();
        let ((high, low), rest) = self.divide_unsigned(by);
        let up = rounding == Rounding::HalfAway && rest != 0 && rest >= by - rest;
        let magnitude = low.checked_add(u128::from(up))?;
        let magnitude = i128::try_from(magnitude).ok().filter(|_| high == 0)?;
        Some(if self.negative != (divisor < 0) { -magnitude } else { magnitude })
    }

    /// Long division, bit by bit where the dividend is wider than 128 bits.
    fn divide_unsigned(self, by: u128) -> ((u128, u128), u128) {
        let (mut high, mut rest) = (self.high / by, self.high % by);
        if rest == 0 {
            return ((high, self.low / by), self.low % by);
        }
        let mut low = 0;
        for bit in (0..128).rev() {
            let carry = rest >> 127 != 0;
            rest = rest << 1 | (self.low >> bit & 1);
            low <<= 1;
            if carry || rest >= by {
                rest = rest.wrapping_sub(by);
                low |= 1;
            }
        }
        if self.high < by {
            high = 0;
        }
        ((high, low), rest)
    }
}

/// Multiplies two 128-bit numbers into 256 bits.
fn multiply_full(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = (1 << 64) - 1;
    let ((ah, al), (bh, bl)) = ((a >> 64, a & HALF), (b >> 64, b & HALF));
    let low = al * bl;
    let middle = ah * bl + (low >> 64);
    let cross = al * bh + (middle & HALF);
    (ah * bh + (middle >> 64) + (cross >> 64), (cross << 64) | (low & HALF))
}

#[cfg(test)]
mod tests;
