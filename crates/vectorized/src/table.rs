//! `KeyTable`: a hash table that assigns dense numbers to keys, in the order in which they are
//! first added.
//!
//! ```text
//! slots: hash's low 32 bits | key number + 1      open addressing, at most half full
//! direct: key number + 1                          by the key itself, for small keys of one word
//! words: the keys themselves, `width` words each, by number
//! ```
//! Keys are words, never bytes: `keys.rs` encodes values as words. So a look-up compares a tag and
//! a few words, whatever the types of the key. Keys of up to four words are arrays, so that hashing
//! and comparing them is a few instructions without a loop or a call.

/// The result of a look-up for a key that is not in the table.
pub(super) const NONE: u32 = u32::MAX;

const SLOTS_MIN: usize = if cfg!(test) { 4 } else { 1024 };

/// Keys of one word below this may have a place that no other key has, and need no hash.
const DIRECT_MAX: usize = 1 << 24;
/// Places that a table may have for each key, beyond [`DIRECT_FREE`].
const DIRECT_PER_KEY: usize = 8;
/// Places that a table may have however few its keys are.
const DIRECT_FREE: usize = if cfg!(test) { 8 } else { 1 << 12 };

/// Slots from which on look-ups wait for memory, so that it is read ahead.
const AHEAD_SLOTS: usize = if cfg!(test) { 1 << 9 } else { 1 << 13 };

/// Assigns numbers to keys of `width` words.
pub(super) struct KeyTable {
    width: usize,
    words: Vec<u64>,
    slots: Vec<u64>,
    /// Numbers, plus 1, of the keys of one word that are below its length: small integers, dates,
    /// the numbers of strings. They are in no slot.
    direct: Vec<u32>,
    len: usize,
    /// Number of keys that are in slots.
    slotted: usize,
    probes: Probes,
}

/// What is read ahead for the keys of a batch, so that the waits for memory overlap.
#[derive(Default)]
struct Probes {
    hashes: Vec<u64>,
    /// The first slot of each key.
    slots: Vec<u64>,
    /// The first word of the key that this slot names.
    words: Vec<u64>,
}

impl KeyTable {
    /// Makes an empty table.
    pub(super) fn new(width: usize) -> Self {
        let slots = vec![0; SLOTS_MIN];
        let (words, direct) = (Vec::new(), Vec::new());
        Self { width, words, slots, direct, len: 0, slotted: 0, probes: Probes::default() }
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
            + self.direct.capacity() * size_of::<u32>()
    }

    /// Appends the number of each of `rows` keys to `numbers`; adds new keys.
    pub(super) fn insert_all(&mut self, keys: &[u64], rows: usize, numbers: &mut Vec<u32>) {
        match self.width {
            0 => {
                self.reserve(1);
                numbers.extend((0..rows).map(|_| self.insert(&[], hash(&[]))));
            }
            1 => {
                self.make_direct(keys);
                if self.are_direct(keys) {
                    return in_runs(keys.iter().copied(), numbers, |key, _| {
                        self.insert_direct(key)
                    });
                }
                self.insert_arrays::<1>(keys, numbers);
            }
            2 => self.insert_arrays::<2>(keys, numbers),
            3 => self.insert_arrays::<3>(keys, numbers),
            4 => self.insert_arrays::<4>(keys, numbers),
            width => self.insert_slotted(keys.chunks_exact(width), numbers),
        }
    }

    fn insert_arrays<const WIDTH: usize>(&mut self, keys: &[u64], numbers: &mut Vec<u32>) {
        self.insert_slotted(keys.as_chunks::<WIDTH>().0.iter().copied(), numbers);
    }

    /// As [`Self::insert_all`], for keys of which some may be in slots.
    #[inline]
    fn insert_slotted<K: AsRef<[u64]> + Copy + PartialEq>(
        &mut self,
        keys: impl ExactSizeIterator<Item = K> + Clone,
        numbers: &mut Vec<u32>,
    ) {
        self.reserve(keys.len());
        let mut probes = std::mem::take(&mut self.probes);
        self.read_ahead(keys.clone(), &mut probes);
        in_runs(keys, numbers, |key, row| {
            let key = key.as_ref();
            if key.len() == 1 && self.direct_at(key[0]).is_some() {
                return self.insert_direct(key[0]);
            }
            let found = probes.found(row, key, &self.words);
            found.unwrap_or_else(|| self.insert(key, probes.hash(row, key)))
        });
        self.probes = probes;
    }

    /// Appends the number of each key to `numbers`, [`NONE`] for a key that is not in the table.
    pub(super) fn find_all(&self, keys: &[u64], rows: usize, numbers: &mut Vec<u32>) {
        match self.width {
            0 => numbers.extend((0..rows).map(|_| self.find(&[], hash(&[])))),
            1 if self.slotted == 0 => numbers.extend(keys.iter().map(|key| {
                self.direct_at(*key).map_or(NONE, |place| self.direct[place].wrapping_sub(1))
            })),
            1 => self.find_arrays::<1>(keys, numbers),
            2 => self.find_arrays::<2>(keys, numbers),
            3 => self.find_arrays::<3>(keys, numbers),
            4 => self.find_arrays::<4>(keys, numbers),
            width => self.find_slotted(keys.chunks_exact(width), numbers),
        }
    }

    fn find_arrays<const WIDTH: usize>(&self, keys: &[u64], numbers: &mut Vec<u32>) {
        self.find_slotted(keys.as_chunks::<WIDTH>().0.iter().copied(), numbers);
    }

    /// As [`Self::find_all`], for a table that has keys in slots.
    #[inline]
    fn find_slotted<K: AsRef<[u64]> + Copy + PartialEq>(
        &self,
        keys: impl ExactSizeIterator<Item = K> + Clone,
        numbers: &mut Vec<u32>,
    ) {
        let mut probes = Probes::default();
        self.read_ahead(keys.clone(), &mut probes);
        in_runs(keys, numbers, |key, row| {
            let key = key.as_ref();
            if key.len() == 1
                && let Some(place) = self.direct_at(key[0])
            {
                return self.direct[place].wrapping_sub(1);
            }
            let found = probes.found(row, key, &self.words);
            found.unwrap_or_else(|| self.find(key, probes.hash(row, key)))
        });
    }

    /// Makes places for the small ones of these keys of one word, as far as there are keys for them.
    fn make_direct(&mut self, keys: &[u64]) {
        let end = (DIRECT_FREE + self.len * DIRECT_PER_KEY).min(DIRECT_MAX);
        let small = |key: &u64| usize::try_from(*key).ok().filter(|key| *key < end);
        let Some(largest) = keys.iter().filter_map(small).max() else { return };
        let wanted = (largest + 1).next_power_of_two();
        if wanted <= self.direct.len() {
            return;
        }
        self.direct.resize(wanted, 0);
        if self.slotted == 0 {
            return;
        }
        // Those that had a slot so far are found at their new places from now on.
        for (key, number) in self.words.iter().zip(1..) {
            if let Some(place) = self.direct_at(*key) {
                self.direct[place] = number;
            }
        }
        self.fill_slots(self.slots.len());
    }

    fn are_direct(&self, keys: &[u64]) -> bool {
        let end = self.direct.len() as u64;
        keys.iter().fold(0, |most, key| most.max(*key)) < end
    }

    /// Returns the place of a key of one word that has one.
    #[inline]
    fn direct_at(&self, key: u64) -> Option<usize> {
        usize::try_from(key).ok().filter(|place| *place < self.direct.len())
    }

    /// Adds a key that has a place, unless it is known.
    #[inline]
    fn insert_direct(&mut self, key: u64) -> u32 {
        let Some(place) = self.direct_at(key) else { unreachable!("the caller has asked") };
        if self.direct[place] == 0 {
            self.words.push(key);
            self.len += 1;
            self.direct[place] = number_of(slot(0, self.len));
        }
        self.direct[place] - 1
    }

    /// Reads the first slot of each key, and the first word of the key that it names, if the table
    /// is large.
    #[inline]
    fn read_ahead<K: AsRef<[u64]>>(&self, keys: impl Iterator<Item = K>, probes: &mut Probes) {
        probes.hashes.clear();
        if self.slots.len() < AHEAD_SLOTS {
            return;
        }
        probes.hashes.extend(keys.map(|key| hash(key.as_ref())));
        probes.slots.clear();
        probes.slots.extend(probes.hashes.iter().map(|hash| self.slots[self.place(*hash)]));
        probes.words.clear();
        // An empty slot names no key; any word will do.
        let first = |slot: &u64| match slot {
            0 => 0,
            _ => self.words[number_of(*slot) as usize * self.width],
        };
        probes.words.extend(probes.slots.iter().map(first));
    }

    /// Adds a word to the end of each key: 0 in those that there are, whose numbers stay.
    pub(super) fn widen(&mut self) {
        let mut words = Vec::with_capacity(self.len * (self.width + 1));
        for number in 0..self.len {
            words.extend_from_slice(&self.words[number * self.width..][..self.width]);
            words.push(0);
        }
        self.words = words;
        self.width += 1;
        self.direct = Vec::new();
        let slots = (self.len * 2).next_power_of_two().max(self.slots.len());
        self.fill_slots(slots);
    }

    /// Makes room for `more` new keys in slots.
    fn reserve(&mut self, more: usize) {
        let wanted = ((self.slotted + more) * 2).next_power_of_two();
        if wanted > self.slots.len() {
            self.fill_slots(wanted);
        }
    }

    /// Makes the slots again, with the keys that have no direct place.
    fn fill_slots(&mut self, count: usize) {
        self.slots.clear();
        self.slots.resize(count, 0);
        self.slotted = 0;
        for number in 0..self.len {
            let key = &self.words[number * self.width..][..self.width];
            if self.width == 1 && self.direct_at(key[0]).is_some() {
                continue;
            }
            let hash = hash(key);
            let mut place = self.place(hash);
            while self.slots[place] != 0 {
                place = (place + 1) & (self.slots.len() - 1);
            }
            self.slots[place] = slot(hash, number);
            self.slotted += 1;
        }
    }

    #[inline]
    fn insert(&mut self, key: &[u64], hash: u64) -> u32 {
        let mut place = self.place(hash);
        loop {
            let found = self.slots[place];
            if found == 0 {
                self.slots[place] = slot(hash, self.len);
                self.words.extend_from_slice(key);
                self.len += 1;
                self.slotted += 1;
                return number_of(self.slots[place]);
            }
            if found >> 32 == hash & TAG && self.is(number_of(found), key) {
                return number_of(found);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn find(&self, key: &[u64], hash: u64) -> u32 {
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

impl Probes {
    /// Returns the hash of a row's key.
    #[inline]
    fn hash(&self, row: usize, key: &[u64]) -> u64 {
        self.hashes.get(row).copied().unwrap_or_else(|| hash(key))
    }

    /// Returns the number of a row's key, if its first slot names it.
    #[inline]
    fn found(&self, row: usize, key: &[u64], words: &[u64]) -> Option<u32> {
        if self.hashes.is_empty() {
            return None;
        }
        let slot = self.slots[row];
        if slot == 0 || slot >> 32 != self.hashes[row] & TAG || self.words[row] != key[0] {
            return None;
        }
        let number = number_of(slot);
        let is_whole = key.len() == 1 || words[number as usize * key.len()..][..key.len()] == *key;
        is_whole.then_some(number)
    }
}

/// Appends the number of each key, which is looked up by the key and its position. Equal neighbours are common, since rows are often in key order;
/// only the first of them is looked up.
#[inline]
fn in_runs<K: Copy + PartialEq>(
    keys: impl Iterator<Item = K>,
    numbers: &mut Vec<u32>,
    mut number_of: impl FnMut(K, usize) -> u32,
) {
    let mut last: Option<(K, u32)> = None;
    numbers.extend(keys.enumerate().map(|(row, key)| {
        let number = match last {
            Some((before, number)) if before == key => number,
            _ => number_of(key, row),
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
        for width in [1, 2, 3, 4, 5] {
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
    fn small_keys_keep_their_numbers_when_they_get_places() {
        let mut table = KeyTable::new(1);
        let mut model: HashMap<u64, u32> = HashMap::new();
        let mut keys: Vec<u64> = Vec::new();
        for round in 0..300_u64 {
            // Close together, far apart, and the word of NULL, in turns.
            let more = [round, round * 37, round << 40, round % 7, u64::MAX];
            let mut numbers = Vec::new();
            table.insert_all(&more, more.len(), &mut numbers);
            for (key, number) in more.iter().zip(numbers) {
                let next = u32::try_from(model.len()).unwrap();
                assert_eq!(*model.entry(*key).or_insert(next), number, "key {key}");
            }
            keys.extend(more);
        }
        assert!(!table.direct.is_empty() && table.direct.len() < 300 * 37);
        let without_place = table.words.iter().filter(|key| table.direct_at(**key).is_none());
        assert_eq!(table.slotted, without_place.count());
        assert_eq!(table.slots.iter().filter(|slot| **slot != 0).count(), table.slotted);
        let mut found = Vec::new();
        table.find_all(&keys, keys.len(), &mut found);
        assert!(keys.iter().zip(found).all(|(key, number)| model[key] == number));
        let mut unknown = Vec::new();
        table.find_all(&[301, 5 << 20, u64::MAX - 1], 3, &mut unknown);
        assert_eq!(unknown, [NONE; 3]);
    }

    #[test]
    fn keys_that_all_have_places_take_no_slots() {
        let mut table = KeyTable::new(1);
        let keys: Vec<u64> = (0..20_000).map(|n| n * 3).collect();
        let mut numbers = Vec::new();
        for part in keys.chunks(100) {
            table.insert_all(part, part.len(), &mut numbers);
        }
        assert_eq!(table.slotted, 0);
        let mut found = Vec::new();
        table.find_all(&[0, 1, 3, 59_997, 59_998, 60_000, u64::MAX], 7, &mut found);
        assert_eq!(found, [0, NONE, 1, 19_999, NONE, NONE, NONE]);
    }

    #[test]
    fn keys_keep_their_numbers_when_they_get_a_word() {
        for width in [0, 1, 2] {
            let mut table = KeyTable::new(width);
            let keys: Vec<u64> = (0..500 * width as u64).map(|word| word * word % 1_009).collect();
            let rows = if width == 0 { 1 } else { 500 };
            let (mut before, mut after) = (Vec::new(), Vec::new());
            table.insert_all(&keys, rows, &mut before);
            table.widen();
            let with = |last: u64| -> Vec<u64> {
                let key = |row: usize| [&keys[row * width..][..width], &[last]].concat();
                (0..rows).flat_map(key).collect()
            };
            table.insert_all(&with(0), rows, &mut after);
            assert_eq!(before, after, "{width}");
            let len = u32::try_from(table.len()).unwrap();
            after.clear();
            table.insert_all(&with(5), rows, &mut after);
            assert!(after.iter().zip(&before).all(|(after, before)| *after == before + len));
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
