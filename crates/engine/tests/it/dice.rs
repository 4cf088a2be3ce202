//! `Dice`: pseudo-random numbers, the same in every run from the same seed.

/// A generator of pseudo-random numbers (xorshift). The seed is not zero.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    /// Returns a number below `sides`, as a column or its model has it.
    pub(crate) fn number(&mut self, sides: u64) -> i64 {
        i64::try_from(self.roll(sides)).unwrap()
    }

    /// Returns a place in a list of `len` elements.
    pub(crate) fn place(&mut self, len: usize) -> usize {
        usize::try_from(self.roll(len as u64)).unwrap()
    }

    /// Returns one of the elements.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.place(from.len())]
    }
}
