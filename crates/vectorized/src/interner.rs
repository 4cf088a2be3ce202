//! `Interner`: assigns numbers to key values that do not fit a word, so that equal values have
//! equal numbers.
//!
//! A value's canonical form (a string's sort key) is computed only when its bytes are new: columns
//! repeat their strings, and computing the form costs far more than a look-up. In a binary collation
//! a string without its trailing blanks is its own form. Strings that come from a dictionary are
//! looked up once for each of its entries: from then on its code leads to the number.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use plan::long::group_key_asked;
use sos::sched::BytePace;
use types::batch::{ByteKind, ByteRows, DictionaryId, Selection};
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
    /// The hashes of the strings of a batch.
    hashes: Vec<u64>,
    coded: Coded,
}

/// The numbers of the strings of one dictionary.
#[derive(Clone, Default)]
struct Coded {
    dictionary: DictionaryId,
    /// By code: the number + 1, 0 for one that is not known.
    numbers: Vec<u32>,
    /// The rows of a batch whose codes are not known, and their numbers.
    unknown: Selection,
    found: Vec<Option<u32>>,
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
            hashes: Vec::new(),
            coded: Coded::default(),
        }
    }

    /// Returns its memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.raw.memory() + self.forms.memory() + self.coded.numbers.capacity() * size_of::<u32>()
    }

    /// Calls `see` with each position among the selected rows, and the number of its string.
    pub(super) fn strings(
        &mut self,
        rows: &ByteRows,
        selection: &Selection,
        unknown: Unknown,
        mut see: impl FnMut(usize, Option<u32>),
    ) {
        let Some(codes) = rows.codes() else { return self.uncoded(rows, selection, unknown, see) };
        let mut coded = std::mem::take(&mut self.coded);
        coded.follow(codes.dictionary);
        let number = |row: usize, coded: &Coded| coded.numbers[codes.rows[row] as usize];
        coded.unknown.filter(selection, |row| coded.numbers[codes.rows[row] as usize] == 0);
        coded.found.clear();
        if !coded.unknown.is_empty() {
            let found = &mut coded.found;
            self.uncoded(rows, &coded.unknown, unknown, |_, number| found.push(number));
            // A string that is not known now may be added later: its code stays unknown.
            for (row, number) in coded.unknown.iter().zip(&coded.found) {
                coded.numbers[codes.rows[row] as usize] = number.map_or(0, |number| number + 1);
            }
        }
        for (place, row) in selection.iter().enumerate() {
            see(place, number(row, &coded).checked_sub(1));
        }
        self.coded = coded;
    }

    /// As [`Self::strings`], for rows without codes.
    fn uncoded(
        &mut self,
        rows: &ByteRows,
        selection: &Selection,
        unknown: Unknown,
        mut see: impl FnMut(usize, Option<u32>),
    ) {
        if !self.are_own_forms(rows.kind) {
            let mut pace = BytePace::new();
            for (place, row) in selection.iter().enumerate() {
                let bytes = rows.get(row);
                pace.passed(bytes.len());
                see(place, self.bytes(rows.kind, bytes, unknown));
            }
            return;
        }
        // Hashes first, then the places that they lead to, so that the waits for memory overlap.
        self.hashes.clear();
        let hash = |row| match rows.get(row) {
            [byte] if self.bytes[usize::from(*byte)].is_some() => 0,
            bytes => self.forms.hash(trimmed(rows.kind, bytes)),
        };
        self.hashes.extend(selection.iter().map(hash));
        self.forms.touch(&self.hashes);
        for (place, row) in selection.iter().enumerate() {
            let bytes = rows.get(row);
            let known = match bytes {
                [byte] => self.bytes[usize::from(*byte)],
                _ => None,
            };
            let number = known.or_else(|| {
                let form = trimmed(rows.kind, bytes);
                let number = match unknown {
                    Unknown::Add => Some(self.forms.add(form, self.hashes[place]).0),
                    Unknown::Skip => self.forms.find(form, self.hashes[place]),
                };
                if let [byte] = bytes {
                    self.bytes[usize::from(*byte)] = number;
                }
                number
            });
            see(place, number);
        }
    }

    /// Returns whether strings of a kind are equal exactly if their bytes are, but for trailing
    /// blanks.
    fn are_own_forms(&self, kind: ByteKind) -> bool {
        self.collation.is_binary() && kind != ByteKind::VarBinary
    }

    /// Returns the number of a string or binary value.
    fn bytes(&mut self, kind: ByteKind, bytes: &[u8], unknown: Unknown) -> Option<u32> {
        if let [byte] = bytes
            && let Some(number) = self.bytes[usize::from(*byte)]
        {
            return Some(number);
        }
        let hash = self.raw.hash(bytes);
        if let Some(entry) = self.raw.find(bytes, hash)
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
        let (entry, is_new) = self.raw.add(bytes, hash);
        if is_new {
            self.numbers.push(None);
        }
        self.numbers[entry as usize] = Some(number);
        Some(number)
    }

    /// Returns the number of a value of any other type, or of a long one: the caller asks for the memory of its key.
    pub(super) fn value(&mut self, value: &Value, unknown: Unknown) -> Option<u32> {
        self.form.clear();
        match ByteKind::of(value) {
            Some((kind, bytes)) if self.are_own_forms(kind) => {
                self.form.extend_from_slice(trimmed(kind, bytes));
            }
            _ => group_key_asked(value, self.collation, &mut self.form),
        }
        let hash = self.forms.hash(&self.form);
        match unknown {
            Unknown::Add => Some(self.forms.add(&self.form, hash).0),
            Unknown::Skip => self.forms.find(&self.form, hash),
        }
    }
}

impl Coded {
    /// Forgets the numbers of another dictionary than this.
    fn follow(&mut self, dictionary: DictionaryId) {
        if self.dictionary != dictionary {
            self.dictionary = dictionary;
            self.numbers.clear();
            self.numbers.resize(dictionary.entries, 0);
        }
    }
}

/// Returns a string without its trailing blanks.
fn trimmed(kind: ByteKind, bytes: &[u8]) -> &[u8] {
    let is_blank = |unit: &[u8]| match kind {
        ByteKind::VarChar => *unit == *b" ",
        ByteKind::NVarChar => *unit == *b" \0",
        ByteKind::VarBinary => false,
    };
    let width = if kind == ByteKind::NVarChar { 2 } else { 1 };
    let blanks = bytes.rchunks_exact(width).take_while(|unit| is_blank(unit)).count();
    &bytes[..bytes.len() - blanks * width]
}

/// A set of byte strings, numbered in the order in which they are added.
#[derive(Clone, Default)]
struct Runs {
    /// The hash's low 32 bits, and the number + 1: open addressing, at most half full.
    slots: Vec<u64>,
    hasher: DefaultHashBuilder,
    hashes: Vec<u64>,
    ends: Vec<usize>,
    arena: Vec<u8>,
}

const SLOTS_MIN: usize = if cfg!(test) { 4 } else { 256 };
const TAG: u64 = 0xFFFF_FFFF;

impl Runs {
    fn memory(&self) -> usize {
        self.arena.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + (self.slots.capacity() + self.hashes.capacity()) * size_of::<u64>()
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        self.hasher.hash_one(bytes)
    }

    /// Reads what the look-ups of these hashes will read first.
    fn touch(&self, hashes: &[u64]) {
        let Some(mask) = self.slots.len().checked_sub(1) else { return };
        let read = |sum: u64, hash: &u64| {
            let slot = self.slots[place(*hash) & mask];
            let Some(number) = number_of(slot).filter(|_| slot >> 32 == *hash & TAG) else {
                return sum;
            };
            sum ^ u64::from(self.arena.get(self.start(number)).copied().unwrap_or(0))
        };
        std::hint::black_box(hashes.iter().fold(0, read));
    }

    fn start(&self, number: u32) -> usize {
        number.checked_sub(1).map_or(0, |before| self.ends[before as usize])
    }

    fn get(&self, number: u32) -> &[u8] {
        &self.arena[self.start(number)..self.ends[number as usize]]
    }

    /// Returns the number of a byte string; its hash is that of [`Self::hash`].
    fn find(&self, bytes: &[u8], hash: u64) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = place(hash) & mask;
        loop {
            let slot = self.slots[at];
            let number = number_of(slot)?;
            if slot >> 32 == hash & TAG && self.get(number) == bytes {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns the number of a byte string, and whether it is new.
    fn add(&mut self, bytes: &[u8], hash: u64) -> (u32, bool) {
        if let Some(number) = self.find(bytes, hash) {
            return (number, false);
        }
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.widen();
        }
        let number = u32::try_from(self.ends.len()).ok().filter(|number| *number < u32::MAX);
        let number = number.expect("fewer than 2^32 different keys");
        self.arena.extend_from_slice(bytes);
        self.ends.push(self.arena.len());
        self.hashes.push(hash);
        self.put(hash, number);
        (number, true)
    }

    /// Doubles the number of slots.
    fn widen(&mut self) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        self.slots.clear();
        self.slots.resize(slots, 0);
        let hashes = std::mem::take(&mut self.hashes);
        hashes.iter().zip(0..).for_each(|(hash, number)| self.put(*hash, number));
        self.hashes = hashes;
    }

    fn put(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = place(hash) & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = (hash & TAG) << 32 | (u64::from(number) + 1);
    }
}

/// The position that a hash leads to, before it is cut to the number of slots: its high half, since
/// the low half is the tag.
#[inline]
fn place(hash: u64) -> usize {
    usize::try_from(hash >> 32).unwrap_or(0)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is the number")]
const fn number_of(slot: u64) -> Option<u32> {
    (slot as u32).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_blanks_do_not_count() {
        assert_eq!(trimmed(ByteKind::VarChar, b" a  "), b" a");
        assert_eq!(trimmed(ByteKind::VarChar, b"  "), b"");
        assert_eq!(trimmed(ByteKind::NVarChar, b"a\0 \0 \0"), b"a\0");
        // The byte of a blank, in other characters.
        assert_eq!(trimmed(ByteKind::NVarChar, b" \x20"), b" \x20");
        assert_eq!(trimmed(ByteKind::VarBinary, b"a "), b"a ");
    }

    #[test]
    fn strings_of_a_binary_collation_are_numbered_by_their_bytes() {
        let collation = Collation::by_name("Latin1_General_BIN2").expect("a collation");
        let mut interner = Interner::new(collation);
        let text = |n: usize| ["", "x", "X", "abc"][n % 4].repeat(n / 4 % 70);
        let mut model: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
        for round in 0..5 {
            let mut rows = ByteRows::new(ByteKind::VarChar);
            let texts: Vec<String> = (round * 90..round * 90 + 200).map(text).collect();
            let blanks = " ".repeat(round % 3);
            texts.iter().for_each(|text| rows.push(format!("{text}{blanks}").as_bytes()));
            let all = Selection::all(texts.len());
            interner.strings(&rows, &all, Unknown::Add, |place, number| {
                let next = u32::try_from(model.len()).expect("few");
                let wanted = *model.entry(texts[place].clone()).or_insert(next);
                assert_eq!(number, Some(wanted), "{:?}", texts[place]);
            });
        }
        // One value at a time, by either way, and one that is not there.
        for (text, number) in &model {
            let value = ByteKind::VarChar.value(Bytes::copy_from(format!("{text} ").as_bytes()));
            assert_eq!(interner.value(&value, Unknown::Skip), Some(*number));
        }
        let mut rows = ByteRows::new(ByteKind::VarChar);
        ["absent", "y"].iter().for_each(|text| rows.push(text.as_bytes()));
        let all = Selection::all(2);
        interner.strings(&rows, &all, Unknown::Skip, |_, number| assert_eq!(number, None));
    }

    /// Rows with codes get the numbers of the same rows without, from one dictionary after the
    /// other, whether or not they are among the selected ones.
    #[test]
    fn codes_lead_to_the_numbers_of_their_strings() {
        for name in ["Latin1_General_BIN2", "Latin1_General_CI_AS"] {
            let collation = Collation::by_name(name).expect("a collation");
            let (mut coded, mut plain) = (Interner::new(collation), Interner::new(collation));
            for round in 0..12_u32 {
                // Two rounds for each dictionary; those after the first have some of its strings.
                let id = DictionaryId { address: 100 + round as usize / 2, entries: 40 };
                let string = |code: u32| {
                    format!(
                        "{}{}",
                        if code.is_multiple_of(2) { "s" } else { "S" },
                        code / 2 + round / 2
                    )
                };
                let codes = (0..50_u32).map(|row| (row * 7 + round * 11) % 40);
                let mut rows = ByteRows::new(ByteKind::VarChar);
                codes.clone().for_each(|code| rows.push(string(code).as_bytes()));
                let without = rows.clone();
                rows.set_codes(id, codes);
                let mut selection = Selection::default();
                selection
                    .filter(&Selection::all(50), |row| !(row + round as usize).is_multiple_of(3));
                let unknown = if round % 4 == 3 { Unknown::Skip } else { Unknown::Add };
                let (mut found, mut wanted) = (Vec::new(), Vec::new());
                coded.strings(&rows, &selection, unknown, |at, number| found.push((at, number)));
                plain
                    .strings(&without, &selection, unknown, |at, number| wanted.push((at, number)));
                assert_eq!(found, wanted, "{name}: round {round}");
            }
        }
    }

    #[test]
    fn codes_are_void_once_a_row_is_added() {
        let mut rows = ByteRows::new(ByteKind::VarChar);
        rows.push(b"a");
        rows.set_codes(DictionaryId { address: 1, entries: 1 }, std::iter::once(0));
        assert_eq!(rows.codes().map(|codes| codes.rows), Some(&[0][..]));
        rows.push(b"b");
        assert!(rows.codes().is_none());
        rows.clear();
        rows.push(b"c");
        assert!(rows.codes().is_none());
    }
}
