//! `Bits`: a bit set of the pages, or of the slots, of a unit.

use super::class::UNIT_PAGES;

const WORDS: usize = UNIT_PAGES / 64;

/// A set of numbers below [`UNIT_PAGES`]. All zero is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Bits([u64; WORDS]);

impl Bits {
    /// The numbers from `first` on, `count` of them.
    pub(super) fn span(first: usize, count: usize) -> Self {
        let below = |end: usize, word: usize| match end.saturating_sub(word * 64) {
            0 => 0,
            rest if rest >= 64 => !0,
            rest => !(!0 << rest),
        };
        Self(std::array::from_fn(|word| below(first + count, word) & !below(first, word)))
    }

    pub(super) fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == [0; WORDS]
    }

    pub(super) fn has(self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    pub(super) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(super) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// The lowest number that is not in the set.
    pub(super) fn lowest_missing(self) -> Option<usize> {
        let (word, bits) = self.0.iter().enumerate().find(|(_, bits)| **bits != !0)?;
        Some(word * 64 + bits.trailing_ones() as usize)
    }

    /// The lowest number, and one more than the highest; `None` for an empty set.
    pub(super) fn bounds(self) -> Option<(usize, usize)> {
        let first = self.0.iter().position(|&bits| bits != 0)?;
        let last = self.0.iter().rposition(|&bits| bits != 0)?;
        let from = first * 64 + self.0[first].trailing_zeros() as usize;
        Some((from, last * 64 + self.0[last].ilog2() as usize + 1))
    }

    /// The runs of consecutive numbers: the first number and the length of each.
    pub(super) fn runs(self) -> impl Iterator<Item = (usize, usize)> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = (next..UNIT_PAGES).find(|&number| self.has(number))?;
            next = (first..UNIT_PAGES).find(|&number| !self.has(number)).unwrap_or(UNIT_PAGES);
            Some((first, next - first))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_what_was_put_in() {
        let set = Bits::span(60, 70).with(Bits::span(255, 1));
        assert_eq!(set.runs().collect::<Vec<_>>(), [(60, 70), (255, 1)]);
        assert_eq!(
            (set.count(), set.has(59), set.has(60), set.has(129), set.has(130)),
            (71, false, true, true, false)
        );
        assert_eq!((set.bounds(), Bits::default().bounds()), (Some((60, 256)), None));
        assert_eq!(Bits::span(0, UNIT_PAGES).lowest_missing(), None);
        assert_eq!(Bits::span(0, UNIT_PAGES).count(), UNIT_PAGES);
        assert_eq!(Bits::span(0, 64).lowest_missing(), Some(64));
        let mut set = set.without(Bits::span(61, 200));
        set.remove(60);
        assert!(set.is_empty() && Bits::span(10, 0).is_empty());
        set.insert(64);
        assert_eq!(set, Bits::span(64, 1));
    }
}
