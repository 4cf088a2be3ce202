//! `Nulls`: a bitmap of the rows of a vector that are NULL.

/// One bit per row, set if it is NULL. Without NULLs it takes no memory and a test is one
/// comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nulls {
    /// Words behind the last set bit may be missing.
    words: Vec<u64>,
}

impl Nulls {
    /// Returns whether no row is NULL.
    #[inline]
    pub const fn is_none(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 != 0)
    }

    /// Makes a row NULL.
    pub fn set(&mut self, row: usize) {
        let word = row / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (row % 64);
    }

    /// Makes no row NULL; keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Makes the rows NULL that are NULL in `other`; NULL rows stay NULL.
    pub fn add(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    /// Returns the bits, 64 rows to a word; words behind the last NULL may be missing.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}
