//! Arithmetic, parsing and printing of `decimal` and `money`.

use std::cmp::Ordering;

use crate::Decimal;

/// Powers of ten up to 10^38, which is the largest that fits.
pub(crate) const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

impl Decimal {
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

    /// Returns the same number with the smallest scale that holds it.
    #[must_use]
    pub fn without_trailing_zeros(&self) -> Self {
        let (mut mantissa, mut scale) = (self.mantissa(), self.scale);
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        Self::new(mantissa, self.precision, scale)
    }
}
