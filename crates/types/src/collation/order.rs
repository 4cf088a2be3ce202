//! Compares strings, and makes the sort keys whose bytes have the same order.
//!
//! Both trim trailing blanks first and then compare one level after the other (see `weights.rs`); a
//! string sorts before any longer one that starts with it. The common case, ASCII, is one table
//! look-up per character, also with hyphens and apostrophes (names, GUIDs, keys of caches); any
//! other string takes the general path from its start.

use std::cmp::Ordering;

use super::Collation;
use super::weights::{
    Characters, Element, Elements, Encoding, PLAIN, Rules, combining_mark, primary_bytes,
    push_primary,
};

/// The byte that ends a key.
pub(super) const END: u8 = 0x00;
/// Separates the levels of a key; also the escape byte of binary keys.
const LEVEL: u8 = 0x01;

impl Collation {
    /// Compares two `varchar` values; trailing blanks do not count.
    pub fn compare_varchar(self, left: &[u8], right: &[u8]) -> Ordering {
        let (left, right) = (left.trim_suffix_blanks(), right.trim_suffix_blanks());
        if self.is_binary() || left == right {
            return left.cmp(right);
        }
        let rules = Rules::of(self, Encoding::CodePage);
        if rules.tailoring.is_some()
            && !(rules.is_simple_in_ascii() && left.is_ascii() && right.is_ascii())
        {
            return self.compare_general(left, right, Encoding::CodePage);
        }
        let units = left.iter().copied().map(u32::from);
        compare_ascii(units, right.iter().copied().map(u32::from), &rules)
            .unwrap_or_else(|| self.compare_general(left, right, Encoding::CodePage))
    }

    /// Compares two `nvarchar` values (UTF-16LE); trailing blanks do not count.
    pub fn compare_nvarchar(self, left: &[u8], right: &[u8]) -> Ordering {
        let (left, right) = (trim_units(left), trim_units(right));
        if left == right {
            return Ordering::Equal;
        }
        if self.is_code_point() {
            return units(left).cmp(units(right));
        }
        if self.is_binary() {
            // BIN compares the first unit as a number and the rest byte by byte.
            let heads = units(left).next().cmp(&units(right).next());
            return heads.then_with(|| left.cmp(right));
        }
        let rules = Rules::of(self, Encoding::Utf16);
        if rules.tailoring.is_some()
            && !(rules.is_simple_in_ascii() && is_ascii(left) && is_ascii(right))
        {
            return self.compare_general(left, right, Encoding::Utf16);
        }
        let (a, b) = (units(left).map(u32::from), units(right).map(u32::from));
        compare_ascii(a, b, &rules)
            .unwrap_or_else(|| self.compare_general(left, right, Encoding::Utf16))
    }

    /// Returns whether two `varchar` values are equal, as [`Self::compare_varchar`] has it; most
    /// unequal ones differ in their first letter.
    #[inline]
    pub fn equals_varchar(self, left: &[u8], right: &[u8]) -> bool {
        if self.is_binary() {
            return is_equal_but_for_blanks(left, right);
        }
        let heads = left.first().zip(right.first());
        !heads.is_some_and(|(a, b)| starts_otherwise(*a, *b))
            && self.compare_varchar(left, right).is_eq()
    }

    /// Returns whether two `nvarchar` values are equal, as [`Self::compare_nvarchar`] has it.
    pub fn equals_nvarchar(self, left: &[u8], right: &[u8]) -> bool {
        let differs = match (left, right) {
            ([a, 0, ..], [b, 0, ..]) => starts_otherwise(*a, *b),
            _ => false,
        };
        !differs && self.compare_nvarchar(left, right).is_eq()
    }

    /// Appends the sort key of a `varchar` value: equal values have equal keys, and `memcmp` of two
    /// keys orders as [`Self::compare_varchar`]. A key has an end byte, so no key is a prefix of
    /// another.
    pub fn sort_key_varchar(self, value: &[u8], out: &mut Vec<u8>) {
        let value = value.trim_suffix_blanks();
        if self.is_binary() {
            value.iter().for_each(|b| push_escaped(*b, out));
            out.push(END);
            return;
        }
        let characters = value.iter().copied().map(u32::from);
        self.push_key(value, characters, Encoding::CodePage, out);
    }

    /// Appends the sort key of an `nvarchar` value (UTF-16LE), as [`Self::sort_key_varchar`].
    pub fn sort_key_nvarchar(self, value: &[u8], out: &mut Vec<u8>) {
        let value = trim_units(value);
        if self.is_code_point() {
            if !push_plain_ascii(value, out) {
                units(value).for_each(|unit| push_unit(unit, out));
            }
            out.push(END);
        } else if self.is_binary() {
            let (head, tail) = value.split_at(value.len().min(2));
            head.iter().rev().chain(tail).for_each(|b| push_escaped(*b, out));
            out.push(END);
        } else {
            self.push_key(value, units(value).map(u32::from), Encoding::Utf16, out);
        }
    }

    /// Appends the common start of the sort keys of all values that start with `prefix` (other keys
    /// may have it too): the lower end of the range to seek for `LIKE 'prefix%'`.
    pub fn prefix_key_varchar(self, prefix: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        self.sort_key_varchar(self.settled(prefix, Encoding::CodePage), out);
        self.cut_to_prefix(start, out);
    }

    /// Appends the common start of the sort keys of all `nvarchar` values that start with `prefix`.
    pub fn prefix_key_nvarchar(self, prefix: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        self.sort_key_nvarchar(self.settled(prefix, Encoding::Utf16), out);
        self.cut_to_prefix(start, out);
    }

    /// Returns the start of a prefix whose letters do not depend on what follows: in a language with
    /// own letters, a mark that follows changes the last one, and of letters that are several
    /// characters nothing is certain.
    fn settled(self, prefix: &[u8], encoding: Encoding) -> &[u8] {
        if self.is_binary() {
            return prefix;
        }
        let rules = Rules::of(self, encoding);
        if rules.tailoring.is_none() {
            return prefix;
        }
        if !rules.is_simple_in_ascii() {
            return &[];
        }
        let (mut settled, mut at) = (0, 0);
        let page = self.code_page();
        for code in Characters::of(prefix, encoding, self) {
            if combining_mark(code).is_none() {
                settled = at;
            }
            at += match encoding {
                Encoding::CodePage => page.first_len(&prefix[at..]),
                Encoding::Utf16 if code > 0xFFFF => 4,
                Encoding::Utf16 => 2,
            };
        }
        &prefix[..settled]
    }

    /// Cuts a key off behind its first level.
    fn cut_to_prefix(self, start: usize, out: &mut Vec<u8>) {
        let key = &out[start..];
        let len = if self.is_binary() { key.len() - 1 } else { primary_len(key) };
        out.truncate(start + len);
    }

    fn push_key(
        self,
        value: &[u8],
        characters: impl Iterator<Item = u32> + Clone,
        encoding: Encoding,
        out: &mut Vec<u8>,
    ) {
        let rules = Rules::of(self, encoding);
        if !rules.is_simple_in_ascii() {
            return self.push_general_key(value, encoding, out);
        }
        let found = match encoding {
            Encoding::CodePage => push_ascii_weights(value.as_chunks::<1>().0, &rules, out),
            Encoding::Utf16 => push_ascii_weights(value.as_chunks::<2>().0, &rules, out),
        };
        let Some(found) = found else { return self.push_general_key(value, encoding, out) };
        let mut levels = 0;
        if found.has_upper_case && rules.case {
            push_ascii_case(characters.clone().filter(|c| !rules.is_word_mark(*c)), out);
            levels = 2;
        }
        if found.has_word_marks {
            push_word_marks(word_marks(characters, &rules), levels, out);
        }
        out.push(END);
    }

    /// Appends a key by the elements of each character: the way of all strings, for tests too.
    pub(super) fn push_general_key(self, value: &[u8], encoding: Encoding, out: &mut Vec<u8>) {
        self.push_counted_key(value, encoding, out, || true);
    }

    /// As [`Self::push_general_key`]; `go_on` is asked at each element.
    pub(super) fn push_counted_key(
        self,
        value: &[u8],
        encoding: Encoding,
        out: &mut Vec<u8>,
        go_on: impl Fn() -> bool + Copy,
    ) {
        let rules = Rules::of(self, encoding);
        let elements = self.elements(value, encoding, &rules).take_while(move |_| go_on());
        let mut seen = Seen::default();
        let mut letters = elements.clone();
        while let Some(letter) = seen.next_letter(&mut letters) {
            push_primary(letter.primary, out);
        }
        let mut levels = 0;
        if seen.secondary && rules.accents {
            push_level(elements.clone().map(|e| e.secondary), out);
            levels = 1;
        }
        if seen.tertiary && rules.has_tertiary() {
            // The number of separators identifies a level, so empty levels before it have theirs
            // too.
            out.extend((levels..1).map(|_| LEVEL));
            push_level(elements.filter(|e| e.primary != 0).map(|e| e.tertiary), out);
            levels = 2;
        }
        let characters = Characters::of(value, encoding, self).take_while(move |_| go_on());
        push_word_marks(word_marks(characters, &rules), levels, out);
        out.push(END);
    }

    pub(super) fn compare_general(self, left: &[u8], right: &[u8], encoding: Encoding) -> Ordering {
        self.compare_counted(left, right, encoding, || true)
    }

    /// As [`Self::compare_general`]; `go_on` is asked at each element.
    pub(super) fn compare_counted(
        self,
        left: &[u8],
        right: &[u8],
        encoding: Encoding,
        go_on: impl Fn() -> bool + Copy,
    ) -> Ordering {
        let rules = Rules::of(self, encoding);
        let counted = move |_: &Element| go_on();
        let a = self.elements(left, encoding, &rules).take_while(counted);
        let b = self.elements(right, encoding, &rules).take_while(counted);
        let mut seen = Seen::default();
        let (mut rest_a, mut rest_b) = (a.clone(), b.clone());
        loop {
            match (seen.next_letter(&mut rest_a), seen.next_letter(&mut rest_b)) {
                (Some(x), Some(y)) if x.primary == y.primary => {}
                (Some(x), Some(y)) => return x.primary.cmp(&y.primary),
                (None, None) => break,
                (x, y) => return x.is_some().cmp(&y.is_some()),
            }
        }
        // Levels in which all is plain are equal: there are as many letters in both.
        let mut order = Ordering::Equal;
        if seen.secondary && rules.accents {
            order = a.clone().map(|e| e.secondary).cmp(b.clone().map(|e| e.secondary));
        }
        if seen.tertiary && rules.has_tertiary() {
            order = order.then_with(|| {
                let third = |e: Element| (e.primary != 0).then_some(e.tertiary);
                a.filter_map(third).cmp(b.filter_map(third))
            });
        }
        order.then_with(|| {
            let characters = |value| Characters::of(value, encoding, self);
            let counted = move |_: &u32| go_on();
            let marks = |value| word_marks(characters(value).take_while(counted), &rules);
            marks(left).cmp(marks(right))
        })
    }

    fn elements<'a>(self, value: &'a [u8], encoding: Encoding, rules: &'a Rules) -> Elements<'a> {
        Elements::new(Characters::of(value, encoding, self), rules)
    }
}

/// Which levels of one or two strings have a weight that is not plain.
#[derive(Default)]
struct Seen {
    secondary: bool,
    tertiary: bool,
}

impl Seen {
    /// Returns the next letter, and notes the weights of it and of the marks before it.
    fn next_letter(&mut self, elements: &mut impl Iterator<Item = Element>) -> Option<Element> {
        for element in elements {
            self.secondary |= element.secondary != PLAIN;
            if element.primary != 0 {
                self.tertiary |= element.tertiary != PLAIN;
                return Some(element);
            }
        }
        None
    }
}

/// Returns hyphens and apostrophes: the number of other characters before each, and its weight.
pub(super) fn word_marks(
    characters: impl Iterator<Item = u32>,
    rules: &Rules,
) -> impl Iterator<Item = (u32, u8)> {
    let mut before = 0;
    characters.filter_map(move |c| {
        let mark = rules.word_mark(c).map(|weight| (before, weight));
        before += u32::from(mark.is_none());
        mark
    })
}

/// Returns whether strings that start with these bytes differ under any collation: both are visible
/// ASCII, and not one letter in two cases. No mark that follows changes a letter's first weight.
const fn starts_otherwise(left: u8, right: u8) -> bool {
    left.is_ascii_graphic() && right.is_ascii_graphic() && !left.eq_ignore_ascii_case(&right)
}

/// Returns whether two strings are equal without their trailing blanks.
#[inline]
fn is_equal_but_for_blanks(left: &[u8], right: &[u8]) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let (start, rest) = long.split_at(short.len());
    start == short && rest.iter().all(|byte| *byte == b' ')
}

/// Compares while all characters but word marks are ASCII; `None` if that does not decide.
pub(super) fn compare_ascii(
    left: impl Iterator<Item = u32> + Clone,
    right: impl Iterator<Item = u32> + Clone,
    rules: &Rules,
) -> Option<Ordering> {
    let (mut rest_a, mut rest_b) = (left.clone(), right.clone());
    let (mut case, mut has_marks) = (Ordering::Equal, false);
    let mut is_letter = |c: &u32| {
        let is_mark = rules.is_word_mark(*c);
        has_marks |= is_mark;
        !is_mark
    };
    loop {
        match (rest_a.find(&mut is_letter), rest_b.find(&mut is_letter)) {
            (Some(a), Some(b)) => {
                let order = ascii_weight(a, rules)?.cmp(&ascii_weight(b, rules)?);
                if order.is_ne() {
                    return Some(order);
                }
                // Equal weights of different characters are a letter in both cases: upper case is
                // smaller as a number and greater in order.
                case = case.then(b.cmp(&a));
            }
            // A combining mark in the rest would belong to the letter before: the general path
            // decides.
            (Some(a), None) => return (a < 0x80).then_some(Ordering::Greater),
            (None, Some(b)) => return (b < 0x80).then_some(Ordering::Less),
            (None, None) => break,
        }
    }
    if rules.case && case.is_ne() {
        return Some(case);
    }
    Some(match has_marks {
        true => word_marks(left, rules).cmp(word_marks(right, rules)),
        false => Ordering::Equal,
    })
}

/// Returns the weight of an ASCII character; `None` for one that needs the general path.
fn ascii_weight(code: u32, rules: &Rules) -> Option<u8> {
    rules.ascii.get(usize::try_from(code).ok()?).copied()
}

/// What an ASCII string has beside lower-case letters.
pub(super) struct Ascii {
    pub(super) has_upper_case: bool,
    pub(super) has_word_marks: bool,
}

/// Appends the primary weights of a string if it is all ASCII, and returns what it has; appends
/// nothing to any other. One pass and one reservation of memory, since most of the cost of a key is
/// here; a second pass leaves word marks out.
pub(super) fn push_ascii_weights<const UNIT: usize>(
    units: &[[u8; UNIT]],
    rules: &Rules,
    out: &mut Vec<u8>,
) -> Option<Ascii> {
    let start = out.len();
    // Reserves room for the key's end byte, too.
    out.reserve(units.len() + 1);
    let (mut low, mut high, mut has_upper_case, mut has_word_marks) = (0, 0, false, false);
    out.extend(units.iter().map(|unit| {
        low |= unit[0];
        high |= unit[1..].first().copied().unwrap_or(0);
        has_upper_case |= unit[0].is_ascii_uppercase();
        has_word_marks |= rules.is_word_mark(u32::from(unit[0]));
        rules.ascii[usize::from(unit[0] & 0x7F)]
    }));
    if low > 0x7F || high > 0 {
        out.truncate(start);
        return None;
    }
    if has_word_marks {
        out.truncate(start);
        let letters = units.iter().filter(|unit| !rules.is_word_mark(u32::from(unit[0])));
        out.extend(letters.map(|unit| rules.ascii[usize::from(unit[0])]));
    }
    Some(Ascii { has_upper_case, has_word_marks })
}

/// Appends the case level of an ASCII string that has a letter in upper case.
pub(super) fn push_ascii_case(characters: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let weights = characters.map(|c| PLAIN + u8::from(matches!(c, 0x41..=0x5A)));
    out.push(LEVEL);
    push_level(weights, out);
}

/// Appends a separator and the weights of a level up to the last one that is not plain. Appends
/// nothing and returns `false` if all are plain.
fn push_level(weights: impl Iterator<Item = u8>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut end = start;
    out.push(LEVEL);
    for weight in weights {
        out.push(weight);
        if weight != PLAIN {
            end = out.len();
        }
    }
    out.truncate(end);
    end > start
}

/// Appends the last level of a key if there are word marks; `levels` are there before it.
pub(super) fn push_word_marks(
    marks: impl Iterator<Item = (u32, u8)>,
    levels: usize,
    out: &mut Vec<u8>,
) {
    let mut marks = marks.peekable();
    if marks.peek().is_some() {
        out.extend((levels..3).map(|_| LEVEL));
        marks.for_each(|mark| push_word_mark(mark, out));
    }
}

/// Appends a word mark of the last level: its place in four bytes, none of which is 0 or 1, and its
/// weight.
fn push_word_mark((before, weight): (u32, u8), out: &mut Vec<u8>) {
    let seven = |shift: u32| 0x80 | u8::try_from(before >> shift & 0x7F).unwrap_or(0);
    out.extend_from_slice(&[seven(21), seven(14), seven(7), seven(0), weight]);
}

/// Returns the length of the first level of a linguistic key, stepping over four-byte weights.
fn primary_len(key: &[u8]) -> usize {
    let mut at = 0;
    while key[at] > LEVEL {
        at += primary_bytes(key[at], key[at + 1]);
    }
    at
}

/// Appends UTF-16LE as one byte per unit, four units at a time. Appends nothing and returns `false`
/// if a unit is not ASCII or needs an escape.
pub(super) fn push_plain_ascii(value: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + value.len() / 2, 0);
    let (fours, rest) = value.as_chunks::<8>();
    let (targets, last) = out[start..].as_chunks_mut::<4>();
    let mut is_plain = true;
    for (target, four) in targets.iter_mut().zip(fours) {
        let units = u64::from_le_bytes(*four);
        // No unit may have a bit above the lower seven; adding 0x7E to a unit above 1 sets the
        // eighth.
        is_plain &= units & 0xFF80_FF80_FF80_FF80 == 0;
        // It wraps only for units that the line above has refused.
        let above_one = units.wrapping_add(0x007E_007E_007E_007E);
        is_plain &= above_one & 0x0080_0080_0080_0080 == 0x0080_0080_0080_0080;
        let pairs = (units | units >> 8) & 0x0000_FFFF_0000_FFFF;
        let [a, b, c, d, ..] = (pairs | pairs >> 16).to_le_bytes();
        *target = [a, b, c, d];
    }
    for (target, pair) in last.iter_mut().zip(rest.chunks_exact(2)) {
        is_plain &= pair[1] == 0 && pair[0] > LEVEL && pair[0] < 0x80;
        *target = pair[0];
    }
    if !is_plain {
        out.truncate(start);
    }
    is_plain
}

/// Appends a byte of a binary key, keeping 0 free for the end.
pub(super) fn push_escaped(byte: u8, out: &mut Vec<u8>) {
    match byte {
        0 | 1 => out.extend_from_slice(&[LEVEL, byte + 1]),
        _ => out.push(byte),
    }
}

/// Appends a UTF-16 unit of a binary key in one to three bytes that order as the unit (UTF-8's way
/// of writing numbers, surrogates included).
#[expect(clippy::cast_possible_truncation, reason = "each part is masked to its bits")]
pub(super) fn push_unit(unit: u16, out: &mut Vec<u8>) {
    match unit {
        0..0x80 => push_escaped(unit as u8, out),
        0x80..0x800 => {
            out.extend_from_slice(&[0xC0 | (unit >> 6) as u8, 0x80 | (unit & 0x3F) as u8]);
        }
        _ => out.extend_from_slice(&[
            0xE0 | (unit >> 12) as u8,
            0x80 | (unit >> 6 & 0x3F) as u8,
            0x80 | (unit & 0x3F) as u8,
        ]),
    }
}

/// Returns whether UTF-16LE is all ASCII.
fn is_ascii(value: &[u8]) -> bool {
    units(value).all(|unit| unit < 0x80)
}

pub(super) fn units(value: &[u8]) -> impl Iterator<Item = u16> + Clone + '_ {
    value.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
}

/// Cuts trailing blanks off UTF-16LE.
pub(super) fn trim_units(value: &[u8]) -> &[u8] {
    let mut value = value;
    while let Some(rest) = value.strip_suffix(b" \0") {
        value = rest;
    }
    value
}

pub(super) trait TrimBlanks {
    fn trim_suffix_blanks(&self) -> &Self;
}

impl TrimBlanks for [u8] {
    /// Cuts trailing blanks off a string of bytes.
    fn trim_suffix_blanks(&self) -> &Self {
        let len = self.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
        &self[..len]
    }
}
