//! `Random`: the numbers that a seed gives, by splitmix64.
//!
//! "Fast Splittable Pseudorandom Number Generators", Steele, Lea and Flood, OOPSLA 2014; the
//! constants are those of its figure 17 as java.util.SplittableRandom has them.

/// A sequence of numbers that depends on its seed alone.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts the sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Returns a number below `end`, which must not be 0. Small numbers are preferred by less than
    /// one part in 2^64 / `end`.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns an index of a list of this length, which must not be 0.
    ///
    /// # Panics
    /// For an empty list.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("it is below a usize")
    }

    /// Returns true half the time.
    pub const fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the published C code by Vigna for the seed 1234567.
    #[test]
    fn numbers_are_those_of_the_published_code() {
        let mut random = Random::new(1_234_567);
        let found: Vec<_> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            found,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
