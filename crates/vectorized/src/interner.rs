//! `Interner`: assigns numbers to key values that do not fit a word, so that equal values have
//! equal numbers.
//!
//! A value's canonical form (a string's sort key) is computed only when its bytes are new: columns
//! repeat their strings, and computing the form costs far more than a look-up.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use types::batch::ByteKind;
use types::compare::group_key;
use types::{Bytes, Collation, Value};

/// What happens to a value without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// The value is added and gets a number.
    Add,
    /// The value stays without a number.
    Skip,
}

/// Assigns numbers to values.
#[derive(Clone)]
pub(super) struct Interner {
    collation: Collation,
    /// The numbers of one-byte strings, which flags and codes often are.
    bytes: Box<[Option<u32>; 256]>,
    /// Byte strings as they come, numbered in `numbers`.
    raw: Runs,
    /// For each entry of `raw`, the number of its canonical form.
    numbers: Vec<Option<u32>>,
    /// The canonical forms; the position is the number.
    forms: Runs,
    form: Vec<u8>,
}

impl Interner {
    pub(super) fn new(collation: Collation) -> Self {
        Self {
            collation,
            bytes: Box::new([None; 256]),
            raw: Runs::default(),
            numbers: Vec::new(),
            forms: Runs::default(),
            form: Vec::new(),
        }
    }

    /// Returns its memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.raw.memory() + self.forms.memory()
    }

    /// Returns the number of a string or binary value.
    pub(super) fn bytes(&mut self, kind: ByteKind, bytes: &[u8], unknown: Unknown) -> Option<u32> {
        if let [byte] = bytes
            && let Some(number) = self.bytes[usize::from(*byte)]
        {
            return Some(number);
        }
        if let Some(entry) = self.raw.find(bytes)
            && let Some(number) = self.numbers[entry as usize]
        {
            return Some(number);
        }
        let value = kind.value(Bytes::copy_from(bytes));
        let number = self.value(&value, unknown)?;
        if let [byte] = bytes {
            self.bytes[usize::from(*byte)] = Some(number);
            return Some(number);
        }
        let (entry, is_new) = self.raw.add(bytes);
        if is_new {
            self.numbers.push(None);
        }
        self.numbers[entry as usize] = Some(number);
        Some(number)
    }

    /// Returns the number of a value of any other type.
    pub(super) fn value(&mut self, value: &Value, unknown: Unknown) -> Option<u32> {
        self.form.clear();
        group_key(value, self.collation, &mut self.form);
        match unknown {
            Unknown::Add => Some(self.forms.add(&self.form).0),
            Unknown::Skip => self.forms.find(&self.form),
        }
    }
}

/// A set of byte strings, numbered in the order in which they are added.
#[derive(Clone, Default)]
struct Runs {
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    ends: Vec<usize>,
    arena: Vec<u8>,
}

impl Runs {
    fn memory(&self) -> usize {
        self.arena.capacity() + (self.ends.capacity() + self.places.capacity()) * size_of::<usize>()
    }

    fn find(&self, bytes: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(bytes);
        self.places.find(hash, |number| run(&self.ends, &self.arena, *number) == bytes).copied()
    }

    /// Returns the number of a byte string, and whether it is new.
    fn add(&mut self, bytes: &[u8]) -> (u32, bool) {
        if let Some(number) = self.find(bytes) {
            return (number, false);
        }
        let number = u32::try_from(self.ends.len()).expect("fewer than 2^32 different keys");
        self.arena.extend_from_slice(bytes);
        self.ends.push(self.arena.len());
        let hash = self.hasher.hash_one(bytes);
        let (ends, arena, hasher) = (&self.ends, &self.arena, &self.hasher);
        self.places.insert_unique(hash, number, |n| hasher.hash_one(run(ends, arena, *n)));
        (number, true)
    }
}

fn run<'a>(ends: &[usize], arena: &'a [u8], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &arena[start..ends[number]]
}
