//! `SpreadMap` and `SpreadSet`: hash tables that grow in parts.
//!
//! ```text
//! few entries      one table
//! SPREAD_FROM ──►  PARTS tables, chosen by bits of the hash; each grows alone
//! ```
//! A full hash table moves all its entries at once. With a million keys that takes tens of milliseconds,
//! in which no other request runs on the scheduler; a part moves a few thousand. The table of a statement
//! with few rows is one part, so it costs what a plain one does.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, Equivalent, HashTable};

/// Entries from which on they are spread: so few move in well below a millisecond.
const SPREAD_FROM: usize = if cfg!(test) { 8 } else { 1 << 14 };
/// The parts of a large table; a power of two.
const PARTS: usize = if cfg!(test) { 4 } else { 256 };
/// The bits of the hash that choose the part: not those that choose the place within it, nor the tag.
const PART_SHIFT: u32 = 40;

/// A map from keys to values.
pub(crate) struct SpreadMap<K, V> {
    hasher: DefaultHashBuilder,
    few: HashTable<(K, V)>,
    /// `PARTS` tables, which have all entries; empty while there are few.
    parts: Vec<HashTable<(K, V)>>,
}

impl<K, V> Default for SpreadMap<K, V> {
    fn default() -> Self {
        Self { hasher: DefaultHashBuilder::default(), few: HashTable::new(), parts: Vec::new() }
    }
}

impl<K: Hash + Eq, V> SpreadMap<K, V> {
    /// Makes an empty map, which allocates nothing.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns the value of a key.
    #[inline]
    pub(crate) fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        let hash = self.hasher.hash_one(key);
        let table = if self.parts.is_empty() { &self.few } else { &self.parts[part_of(hash)] };
        table.find(hash, |(known, _)| key.equivalent(known)).map(|(_, value)| value)
    }

    /// Returns the value of a key, to be changed.
    #[inline]
    pub(crate) fn get_mut<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        let hash = self.hasher.hash_one(key);
        let found = self.table(hash).find_mut(hash, |(known, _)| key.equivalent(known));
        found.map(|(_, value)| value)
    }

    /// Sets the value of a key, and returns the one that it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = self.hasher.hash_one(&key);
        if let Some((_, known)) = self.table(hash).find_mut(hash, |(known, _)| *known == key) {
            return Some(std::mem::replace(known, value));
        }
        if self.parts.is_empty() && self.few.len() == SPREAD_FROM {
            self.spread();
        }
        let hasher = self.hasher.clone();
        self.table(hash).insert_unique(hash, (key, value), |(key, _)| hasher.hash_one(key));
        None
    }

    /// Returns whether there is no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.parts.is_empty()
    }

    fn table(&mut self, hash: u64) -> &mut HashTable<(K, V)> {
        if self.parts.is_empty() { &mut self.few } else { &mut self.parts[part_of(hash)] }
    }

    #[cold]
    fn spread(&mut self) {
        let room = 2 * SPREAD_FROM / PARTS;
        self.parts = (0..PARTS).map(|_| HashTable::with_capacity(room)).collect();
        for entry in std::mem::take(&mut self.few) {
            let hash = self.hasher.hash_one(&entry.0);
            let part = &mut self.parts[part_of(hash)];
            part.insert_unique(hash, entry, |(key, _)| self.hasher.hash_one(key));
        }
    }
}

fn part_of(hash: u64) -> usize {
    let bits = usize::try_from(hash >> PART_SHIFT).expect("a hash has 64 bits, as usize has");
    bits & (PARTS - 1)
}

/// A set of keys.
pub(crate) struct SpreadSet<K>(SpreadMap<K, ()>);

impl<K> Default for SpreadSet<K> {
    fn default() -> Self {
        Self(SpreadMap::default())
    }
}

impl<K: Hash + Eq> SpreadSet<K> {
    /// Makes an empty set, which allocates nothing.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a key; returns whether it is new.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }

    /// Returns whether the set has a key.
    #[inline]
    pub(crate) fn contains<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.0.get(key).is_some()
    }

    /// Returns whether there is no key.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn many_entries_in_parts_are_those_of_a_plain_map() {
        let (mut spread, mut plain) = (SpreadMap::new(), HashMap::new());
        for n in 0..200_u32 {
            let key: Box<[u8]> = (n * 7 % 90).to_le_bytes().into();
            assert_eq!(spread.insert(key.clone(), n), plain.insert(key, n), "{n}");
        }
        assert_eq!(spread.parts.len(), PARTS);
        assert!(spread.few.is_empty() && !spread.is_empty());
        assert_eq!(spread.parts.iter().map(HashTable::len).sum::<usize>(), plain.len());
        for n in 0..100_u32 {
            let key = n.to_le_bytes();
            assert_eq!(spread.get(key.as_slice()), plain.get(key.as_slice()), "{n}");
            assert_eq!(spread.get_mut(key.as_slice()), plain.get_mut(key.as_slice()), "{n}");
        }
    }

    #[test]
    fn few_entries_are_in_one_table() {
        let mut set = SpreadSet::new();
        assert!(set.is_empty() && !set.contains(&1));
        assert!(set.insert(1) && !set.insert(1) && set.contains(&1));
        assert!(!set.is_empty() && set.0.parts.is_empty());
    }
}
