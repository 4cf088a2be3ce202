//! `KeyTable`: a hash table that assigns dense numbers to keys, in the order in which they are
//! first added.
//!
//! ```text
//! slots: hash's low 32 bits | key number + 1      open addressing, at most half full
//! words: the keys themselves, `width` words each, by number
//! ```
//! Keys are words, never bytes: `keys.rs` encodes values as words. So a look-up compares a tag and
//! a few words, whatever the types of the key.

/// The result of a look-up for a key that is not in the table.
pub(super) const NONE: u32 = u32::MAX;

const SLOTS_MIN: usize = if cfg!(test) { 4 } else { 1024 };

/// Assigns numbers to keys of `width` words.
pub(super) struct KeyTable {
    width: usize,
    words: Vec<u64>,
    slots: Vec<u64>,
    len: usize,
}

impl KeyTable {
    /// Makes an empty table.
    pub(super) fn new(width: usize) -> Self {
        Self { width, words: Vec::new(), slots: vec![0; SLOTS_MIN], len: 0 }
    }

    /// Returns the number of keys.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the keys, `width` words each, in order of their numbers.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns its memory, in bytes.
    pub(super) const fn memory(&self) -> usize {
        (self.words.capacity() + self.slots.capacity()) * size_of::<u64>()
    }

    /// Appends the number of each of `rows` keys to `numbers`; adds new keys.
    pub(super) fn insert_all(&mut self, keys: &[u64], rows: usize, numbers: &mut Vec<u32>) {
        self.reserve(rows);
        match self.width {
            1 => in_runs(keys.iter(), numbers, |key| self.insert(&[*key])),
            0 => numbers.extend((0..rows).map(|_| self.insert(&[]))),
            width => in_runs(keys.chunks_exact(width), numbers, |key| self.insert(key)),
        }
    }

    /// Appends the number of each key to `numbers`, [`NONE`] for a key that is not in the table.
    pub(super) fn find_all(&self, keys: &[u64], rows: usize, numbers: &mut Vec<u32>) {
        match self.width {
            1 => in_runs(keys.iter(), numbers, |key| self.find(&[*key])),
            0 => numbers.extend((0..rows).map(|_| self.find(&[]))),
            width => in_runs(keys.chunks_exact(width), numbers, |key| self.find(key)),
        }
    }

    /// Makes room for `more` new keys.
    fn reserve(&mut self, more: usize) {
        let wanted = ((self.len + more) * 2).next_power_of_two();
        if wanted <= self.slots.len() {
            return;
        }
        self.slots.clear();
        self.slots.resize(wanted, 0);
        for number in 0..self.len {
            let hash = hash(&self.words[number * self.width..][..self.width]);
            let mut place = self.place(hash);
            while self.slots[place] != 0 {
                place = (place + 1) & (self.slots.len() - 1);
            }
            self.slots[place] = slot(hash, number);
        }
    }

    #[inline]
    fn insert(&mut self, key: &[u64]) -> u32 {
        let hash = hash(key);
        let mut place = self.place(hash);
        loop {
            let found = self.slots[place];
            if found == 0 {
                self.slots[place] = slot(hash, self.len);
                self.words.extend_from_slice(key);
                self.len += 1;
                return number_of(self.slots[place]);
            }
            if found >> 32 == hash & TAG && self.is(number_of(found), key) {
                return number_of(found);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn find(&self, key: &[u64]) -> u32 {
        let hash = hash(key);
        let mut place = self.place(hash);
        loop {
            let found = self.slots[place];
            if found == 0 {
                return NONE;
            }
            if found >> 32 == hash & TAG && self.is(number_of(found), key) {
                return number_of(found);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns true if the key with this number is `key`.
    #[inline]
    fn is(&self, number: u32, key: &[u64]) -> bool {
        self.words[number as usize * key.len()..][..key.len()] == *key
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        // The tag is the low half of the hash, so the position comes from the high half.
        usize::try_from(hash >> 32).unwrap_or(0) & (self.slots.len() - 1)
    }
}

/// Appends the number of each key. Equal neighbours are common, since rows are often in key order;
/// only the first of them is looked up.
#[inline]
fn in_runs<K: Copy + PartialEq>(
    keys: impl Iterator<Item = K>,
    numbers: &mut Vec<u32>,
    mut number_of: impl FnMut(K) -> u32,
) {
    let mut last: Option<(K, u32)> = None;
    numbers.extend(keys.map(|key| {
        let number = match last {
            Some((before, number)) if before == key => number,
            _ => number_of(key),
        };
        last = Some((key, number));
        number
    }));
}

const TAG: u64 = 0xFFFF_FFFF;

#[inline]
fn slot(hash: u64, number: usize) -> u64 {
    let number = u64::try_from(number).unwrap_or(u64::MAX);
    assert!(number < u64::from(NONE), "a hash table holds fewer than 2^32 keys");
    (hash & TAG) << 32 | (number + 1)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is the number")]
const fn number_of(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

/// Hashes words: both halves of a 128-bit product with an odd constant.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes the two halves of the product")]
pub(super) fn hash(words: &[u64]) -> u64 {
    let mut hash = 0x9E37_79B9_7F4A_7C15_u64;
    for word in words {
        let product = u128::from(hash ^ word) * 0xD6E8_FEB8_6659_FD93_u128;
        hash = (product >> 64) as u64 ^ product as u64;
    }
    hash
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn equal_keys_have_one_number_and_others_another() {
        for width in [1, 2, 3] {
            let mut table = KeyTable::new(width);
            let mut model: HashMap<Vec<u64>, u32> = HashMap::new();
            let mut numbers = Vec::new();
            let mut keys = Vec::new();
            for row in 0..2_000_u64 {
                let word = |column| (row * 7919 % 331) << (column * 40 % 64);
                keys.extend((0..width as u64).map(word));
            }
            for part in keys.chunks(width * 100) {
                table.insert_all(part, part.len() / width, &mut numbers);
            }
            for (key, number) in keys.chunks(width).zip(&numbers) {
                let next = u32::try_from(model.len()).unwrap();
                assert_eq!(*model.entry(key.to_vec()).or_insert(next), *number);
            }
            assert_eq!(table.len(), model.len());
            let mut found = Vec::new();
            table.find_all(&keys, numbers.len(), &mut found);
            assert_eq!(found, numbers);
            let repeated: Vec<u64> =
                keys.chunks(width).flat_map(|key| [key, key, key].concat()).collect();
            found.clear();
            table.find_all(&repeated, numbers.len() * 3, &mut found);
            assert!(found.chunks(3).zip(&numbers).all(|(run, number)| run == [*number; 3]));
            found.clear();
            table.find_all(&vec![u64::MAX; width], 1, &mut found);
            assert_eq!(found, [NONE]);
        }
    }

    #[test]
    fn key_without_words_is_one_key() {
        let mut table = KeyTable::new(0);
        let mut numbers = Vec::new();
        table.find_all(&[], 1, &mut numbers);
        table.insert_all(&[], 2, &mut numbers);
        assert_eq!(numbers, [NONE, 0, 0]);
    }
}
