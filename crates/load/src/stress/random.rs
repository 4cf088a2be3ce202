//! Random numbers that need not be unpredictable, and the distributions that loads draw from.

/// A fast generator of random numbers: xorshift64* (Vigna, 2016).
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// Makes a generator with this seed.
    pub const fn new(seed: u64) -> Self {
        // Zero would stay zero; similar seeds must not begin with similar numbers.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number from 0 to below `bound`, which must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        let high = self.bits() >> 32;
        // Multiplying by the bound is even enough for 32 bits, and needs no division.
        u32::try_from((high * u64::from(bound)) >> 32).unwrap_or(bound - 1)
    }

    /// Returns a number between two, both included.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        let span = u128::from(to.abs_diff(from)) + 1;
        let drawn = (u128::from(self.bits()) * span) >> 64;
        from.wrapping_add(i64::try_from(drawn).unwrap_or(i64::MAX))
    }

    /// Returns a number from 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Zipf's law over 1 to `count`: k is drawn in proportion to `1 / k^skew`. By rejection-inversion
/// (Hoermann and Derflinger, 1996), which needs no table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    count: f64,
    skew: f64,
    /// The integral of the hat function at both ends, and the range that is accepted at once.
    first: f64,
    last: f64,
    shortcut: f64,
}

impl Zipf {
    #[expect(clippy::cast_precision_loss, reason = "keys stay below 2^53")]
    pub(super) fn new(count: u64, skew: f64) -> Self {
        let mut law = Self { count: count as f64, skew, first: 0.0, last: 0.0, shortcut: 0.0 };
        law.first = law.integral(1.5) - 1.0;
        law.last = law.integral(law.count + 0.5);
        law.shortcut = 2.0 - law.inverse(law.integral(2.5) - law.weight(2.0));
        law
    }

    /// Draws a number from 1 to the count.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number between 1 and the count"
    )]
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.last + random.unit() * (self.first - self.last);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.count);
            if k - x <= self.shortcut || u >= self.integral(k + 0.5) - self.weight(k) {
                return k as u64;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.skew)
    }

    /// Returns the integral of the weight from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let exponent = 1.0 - self.skew;
        if exponent.abs() < 1e-9 { x.ln() } else { (x.powf(exponent) - 1.0) / exponent }
    }

    fn inverse(&self, y: f64) -> f64 {
        let exponent = 1.0 - self.skew;
        if exponent.abs() < 1e-9 {
            y.exp()
        } else {
            (y * exponent + 1.0).max(0.0).powf(1.0 / exponent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_draws_in_proportion() {
        const DRAWS: u32 = 200_000;
        for skew in [0.5, 1.0, 1.5] {
            let law = Zipf::new(1_000, skew);
            let mut random = Random::new(3);
            let mut counts = [0_u32; 4];
            for _ in 0..DRAWS {
                let drawn = law.draw(&mut random);
                assert!((1..=1_000).contains(&drawn));
                if let Some(count) = usize::try_from(drawn).ok().and_then(|d| counts.get_mut(d)) {
                    *count += 1;
                }
            }
            let total: f64 = (1..=1_000).map(|k| f64::from(k).powf(-skew)).sum();
            for (k, count) in (1_u32..).zip(&counts[1..]) {
                let expected = f64::from(DRAWS) * f64::from(k).powf(-skew) / total;
                // Five standard deviations.
                assert!((f64::from(*count) - expected).abs() < 5.0 * expected.sqrt(), "{skew} {k}");
            }
        }
    }

    #[test]
    fn both_ends_are_drawn() {
        let mut random = Random::new(1);
        let drawn: Vec<i64> = (0..200).map(|_| random.between(-1, 1)).collect();
        assert!([-1, 0, 1].iter().all(|n| drawn.contains(n)) && drawn.iter().all(|n| n.abs() <= 1));
        assert_ne!(random.between(i64::MIN, i64::MAX), random.between(i64::MIN, i64::MAX));
    }
}
