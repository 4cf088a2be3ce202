//! Weights of characters: what a character contributes to each level of a linguistic comparison.
//!
//! Three levels, as in every linguistic order: the letter (primary), its marks (secondary), its
//! case, width and kana form (tertiary). A collation that ignores a difference leaves its level
//! out. Windows collations have a fourth: hyphens and apostrophes are in none of the first three,
//! and decide by place and kind where all else is equal ("word sort").
//!
//! A primary weight is the first byte of the sort key in its top byte; symbols and letters beyond
//! ASCII share a lead byte and carry their number in the other three. A letter that a language has
//! behind another one has three bytes: that of the other, FF, and its place.
//!
//! ```text
//! 02..22 control   23 blank   24..43 ASCII symbols   44 other symbols   45..4E digits
//! 50..69 a..z      F0 other letters      (00 ends a key, 01 separates its levels)
//! ```

use std::sync::OnceLock;

use super::code_page::{CodePage, Shape};
use super::decompose;
use super::double_byte::DoubleByte;
use super::kana;
use super::tailoring::{Letter, Tailoring};
use super::{
    ACCENT_INSENSITIVE, CASE_SENSITIVE, Collation, KANA_SENSITIVE, VARIATION_SENSITIVE,
    WIDTH_SENSITIVE,
};

const LEAD_SYMBOL: u8 = 0x44;
const LEAD_DIGIT: u8 = 0x45;
/// The primary weight of `a`.
pub(super) const LEAD_LETTER: u8 = 0x50;
const LEAD_OTHER: u8 = 0xF0;
/// The secondary and tertiary weight of a plain lower-case letter, the smallest there is.
pub(super) const PLAIN: u8 = 2;
/// What a letter in upper case has more at the third level.
const UPPER: u8 = 1;
/// Letters below are kept expanded: Latin, Greek, Cyrillic and Armenian ones, and their marks.
const KEPT_END: u32 = 0x590;
/// Han characters and syllables of Hangul that were letters, each by itself, in all versions of Unicode.
const HAN_FIRST: u32 = 0x4E00;
const HAN_LAST: u32 = 0x9FA5;
const HANGUL_FIRST: u32 = 0xAC00;
const HANGUL_LAST: u32 = 0xD7A3;
const APOSTROPHE: u32 = 0x27;
const HYPHEN: u32 = 0x2D;
const WIDE_APOSTROPHE: u32 = 0xFF07;
const WIDE_HYPHEN: u32 = 0xFF0D;
/// The mark of letters with a stroke, which Unicode does not decompose.
const MARK_STROKE: u8 = 0x72;
/// The mark of eth.
const MARK_ETH: u8 = 0x73;

/// ASCII symbols in the order of SQL collations: that of ASCII.
const SYMBOLS_SQL: &[u8; 32] = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
/// ASCII symbols in the order of Windows collations.
const SYMBOLS_WINDOWS: &[u8; 32] = b"_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

static ASCII_SQL: [u8; 128] = ascii_weights(SYMBOLS_SQL);
static ASCII_WINDOWS: [u8; 128] = ascii_weights(SYMBOLS_WINDOWS);

#[expect(clippy::cast_possible_truncation, reason = "indexes below 128, in a constant")]
const fn ascii_weights(symbols: &[u8; 32]) -> [u8; 128] {
    let mut table = [0; 128];
    let mut i = 0;
    while i < 32 {
        table[i] = 2 + i as u8;
        table[symbols[i] as usize] = 0x24 + i as u8;
        i += 1;
    }
    table[0x7F] = 0x22;
    table[b' ' as usize] = 0x23;
    let mut i = 0;
    while i < 26 {
        table[b'a' as usize + i] = LEAD_LETTER + i as u8;
        table[b'A' as usize + i] = LEAD_LETTER + i as u8;
        if i < 10 {
            table[b'0' as usize + i] = LEAD_DIGIT + i as u8;
        }
        i += 1;
    }
    table
}

/// The rules of a collation, ready for the inner loops.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// The primary weights of ASCII characters.
    pub(super) ascii: &'static [u8; 128],
    /// Whether `ß`, `æ` and the like compare as two letters (`ss`, `ae`).
    expands: bool,
    /// Whether accents and other marks count.
    pub(super) accents: bool,
    /// Whether upper and lower case differ.
    pub(super) case: bool,
    width: bool,
    kana: bool,
    /// Whether variation selectors count.
    variation: bool,
    /// The letters of the language, if it has own letters.
    pub(super) tailoring: Option<&'static Tailoring>,
    /// Whether hyphens and apostrophes are word marks, as in Windows' word sort.
    words: bool,
}

/// The encoding of a string that is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// The collation's code page.
    CodePage,
    /// UTF-16LE, of `nchar` and `nvarchar`.
    Utf16,
}

impl Rules {
    pub(super) fn of(collation: Collation, encoding: Encoding) -> Self {
        // In a SQL collation `varchar` has the order of its sort id; everything else has Windows'
        // order.
        let base = collation.base();
        let by_sort_id = encoding == Encoding::CodePage && base.is_sql();
        Self {
            ascii: if by_sort_id { &ASCII_SQL } else { &ASCII_WINDOWS },
            expands: !by_sort_id,
            accents: !collation.has(ACCENT_INSENSITIVE),
            case: collation.has(CASE_SENSITIVE),
            width: collation.has(WIDTH_SENSITIVE),
            kana: collation.has(KANA_SENSITIVE),
            variation: collation.has(VARIATION_SENSITIVE),
            tailoring: if by_sort_id { None } else { base.family.alphabet.tailoring() },
            words: !by_sort_id,
        }
    }

    /// The rules of a collation without own letters in which no difference beyond accents counts.
    fn plain(expands: bool) -> Self {
        Self {
            ascii: if expands { &ASCII_WINDOWS } else { &ASCII_SQL },
            expands,
            accents: true,
            case: false,
            width: false,
            kana: false,
            variation: false,
            tailoring: None,
            words: expands,
        }
    }

    /// Returns whether a character is a word mark (hyphen or apostrophe), which counts only if the
    /// words are equal without it: `co-op` sorts right behind `coop`.
    pub(super) const fn is_word_mark(&self, code: u32) -> bool {
        self.words && matches!(code, APOSTROPHE | HYPHEN | WIDE_APOSTROPHE | WIDE_HYPHEN)
    }

    /// Returns the weight of a word mark at the last level; `None` for other characters.
    pub(super) const fn word_mark(&self, code: u32) -> Option<u8> {
        if !self.is_word_mark(code) {
            return None;
        }
        let is_wide = matches!(code, WIDE_APOSTROPHE | WIDE_HYPHEN);
        let weight = if matches!(code, HYPHEN | WIDE_HYPHEN) { 0x82 } else { 0x80 };
        Some(if is_wide && self.width { weight + 1 } else { weight })
    }

    /// Returns whether strings of ASCII alone may be compared character by character, without a look
    /// at what follows.
    pub(super) fn is_simple_in_ascii(&self) -> bool {
        self.tailoring.is_none_or(|tailoring| !tailoring.is_special)
    }

    /// Folds to lower case as the language does.
    fn lower(&self, code: u32) -> u32 {
        match code {
            0x49 if self.has_dotless_i() => 0x131,
            0x130 if self.has_dotless_i() => 0x69,
            _ => to_lower(code),
        }
    }

    fn has_dotless_i(&self) -> bool {
        self.tailoring.is_some_and(Tailoring::has_dotless_i)
    }

    /// Returns whether the third level counts at all.
    pub(super) const fn has_tertiary(&self) -> bool {
        self.case || self.width || self.kana
    }
}

/// The weights of one letter or of one mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    /// 0 for a mark.
    pub(super) primary: u32,
    /// [`PLAIN`] for a letter, more for a mark.
    pub(super) secondary: u8,
    /// 0 for a mark.
    pub(super) tertiary: u8,
}

impl Element {
    /// The element of an ASCII character, where the language has no other rule for it.
    fn ascii(code: u32, rules: &Rules) -> Self {
        let is_upper = matches!(code, 0x41..=0x5A);
        let lower = if is_upper { code + 0x20 } else { code };
        let tertiary = PLAIN + UPPER * u8::from(rules.case && is_upper);
        Self { primary: primary_weight(lower, rules), secondary: PLAIN, tertiary }
    }

    /// Returns the element as it is where case does not count, or unchanged.
    const fn without_case_if(self, is_ignored: bool) -> Self {
        let tertiary = if is_ignored { self.tertiary & !UPPER } else { self.tertiary };
        Self { tertiary, ..self }
    }
}

/// The elements of one character: a letter and up to three marks, or two letters.
#[derive(Clone, Copy, Default)]
pub(super) struct Expansion {
    items: [Element; 4],
    len: u8,
    next: u8,
}

impl Expansion {
    /// Decomposes a character into its elements.
    pub(super) fn of(code: u32, rules: &Rules) -> Self {
        let mut expansion = Self::default();
        if let Some(tailoring) = rules.tailoring
            && expansion.push_tailored(code, tailoring, rules)
        {
            return expansion;
        }
        if code < 0x80 {
            expansion.push_letter(code, rules);
            return expansion;
        }
        if let Some(kept) = Self::kept(code, rules.expands) {
            expansion = *kept;
            expansion.items = expansion.items.map(|e| e.without_case_if(!rules.case));
            return expansion;
        }
        if matches!(code, HAN_FIRST..=HAN_LAST | HANGUL_FIRST..=HANGUL_LAST) {
            let primary = other_letter(code, 0);
            expansion.push(Element { primary, secondary: PLAIN, tertiary: PLAIN });
            return expansion;
        }
        expansion.push_any(code, rules);
        expansion
    }

    /// Returns the expansion of a character below [`KEPT_END`], with its case. All are made once,
    /// since each takes several searches in tables of Unicode.
    fn kept(code: u32, expands: bool) -> Option<&'static Self> {
        static KEPT: [OnceLock<Box<[Expansion]>>; 2] = [const { OnceLock::new() }; 2];
        let place = usize::try_from(code).ok().filter(|_| code < KEPT_END)?;
        let kept = KEPT[usize::from(expands)].get_or_init(|| {
            let rules = Rules { case: true, ..Rules::plain(expands) };
            let all = (0..KEPT_END).map(|code| {
                let mut expansion = Self::default();
                expansion.push_any(code, &rules);
                expansion
            });
            all.collect()
        });
        Some(&kept[place])
    }

    /// Adds the elements of any character, where the language has no other rule for it.
    fn push_any(&mut self, code: u32, rules: &Rules) {
        if let Some((first, second)) = ligature(code).filter(|_| rules.expands) {
            self.push_letter(first, rules);
            self.push_letter(second, rules);
            return;
        }
        if let Some(mark) = combining_mark(code) {
            self.push_mark(mark);
            return;
        }
        if is_variation_selector(code) && !rules.variation {
            return;
        }
        let decomposed = match rules.expands && cyrillic_place(to_lower(code)).is_some() {
            true => None,
            false => u16::try_from(code).ok().and_then(decompose::find),
        };
        let (base, marks) = match decomposed {
            Some((base, marks)) => (u32::from(base), marks),
            None => stroked(code).unwrap_or((code, [0; 3])),
        };
        self.push_letter(base, rules);
        marks.iter().filter(|m| **m != 0).for_each(|m| self.push_mark(PLAIN + m));
    }

    /// Adds a letter of the language; returns `false` if the character is none.
    fn push_tailored(&mut self, code: u32, tailoring: &Tailoring, rules: &Rules) -> bool {
        let lower = rules.lower(code);
        let upper = u8::from(lower != code);
        if let Some(letter) = tailoring.letter(lower) {
            self.push_own(letter, upper, rules);
            return true;
        }
        if let Some(primary) = tailoring.han(code) {
            self.push_own(Letter { primary, secondary: PLAIN }, 0, rules);
            return true;
        }
        if code == 0x49 || code == 0x130 {
            // Where I is the upper case of ı, what is left is i.
            if rules.has_dotless_i() {
                self.push_letter(0x69, rules);
                self.items[0].tertiary += u8::from(rules.case);
                return true;
            }
            return false;
        }
        if let Some((first, second)) = tailoring.expansion(lower) {
            let [first, second] = if upper == 1 { [first - 0x20, second] } else { [first, second] };
            self.push_letter(first, rules);
            self.push_letter(second, rules);
            self.push_mark(PLAIN + 0x70);
            return true;
        }
        // A letter of the language with one more mark, such as the tones of Vietnamese.
        let decomposed = u16::try_from(lower).ok().and_then(decompose::find);
        let Some((base, marks)) = decomposed else { return false };
        let own = marks.iter().position(|m| *m != 0 && tailoring.marked(base.into(), *m).is_some());
        let Some(own) = own else { return false };
        if let Some(letter) = tailoring.marked(base.into(), marks[own]) {
            self.push_own(letter, upper, rules);
        }
        let others = marks.iter().enumerate().filter(|(at, m)| *at != own && **m != 0);
        others.for_each(|(_, m)| self.push_mark(PLAIN + m));
        true
    }

    /// Adds a letter of the language; `upper` has a bit for each of its characters in upper case.
    fn push_own(&mut self, letter: Letter, upper: u8, rules: &Rules) {
        // The bits between are those of width and kana, which such letters do not have.
        let spread = upper & 1 | (upper & 0b110) << 2;
        let tertiary = PLAIN + if rules.case { spread } else { 0 };
        self.push(Element { primary: letter.primary, secondary: letter.secondary, tertiary });
    }

    /// Returns the elements in order.
    pub(super) fn elements(&self) -> &[Element] {
        &self.items[..usize::from(self.len)]
    }

    fn push(&mut self, element: Element) {
        self.items[usize::from(self.len)] = element;
        self.len += 1;
    }

    fn push_mark(&mut self, secondary: u8) {
        self.push(Element { primary: 0, secondary, tertiary: 0 });
    }

    fn push_letter(&mut self, code: u32, rules: &Rules) {
        if code < 0x80 {
            self.push(Element::ascii(code, rules));
            return;
        }
        if let Some(kana) = kana::find(code) {
            let tertiary = PLAIN
                + UPPER * u8::from(rules.case && kana.is_small)
                + 2 * u8::from(rules.width && kana.is_narrow)
                + 4 * u8::from(rules.kana && kana.is_katakana);
            let primary = primary_weight(kana.base, rules);
            self.push(Element { primary, secondary: PLAIN, tertiary });
            if kana.mark != 0 {
                self.push_mark(PLAIN + kana.mark);
            }
            return;
        }
        let narrow = if matches!(code, 0xFF01..=0xFF5E) { code - 0xFEE0 } else { code };
        let lower = to_lower(narrow);
        let tertiary = PLAIN
            + UPPER * u8::from(rules.case && lower != narrow)
            + 2 * u8::from(rules.width && narrow != code);
        let primary = primary_weight(lower, rules);
        self.push(Element { primary, secondary: PLAIN, tertiary });
    }
}

impl Iterator for Expansion {
    type Item = Element;
    fn next(&mut self) -> Option<Element> {
        // The place stays at the end: this is asked before each of the characters that follow, which may be many.
        let element = self.elements().get(usize::from(self.next)).copied()?;
        self.next += 1;
        Some(element)
    }
}

/// The elements of a string, without its hyphens and apostrophes where those are word marks.
#[derive(Clone)]
pub(super) struct Elements<'a> {
    characters: Characters<'a>,
    rules: &'a Rules,
    current: Expansion,
}

impl<'a> Elements<'a> {
    pub(super) fn new(characters: Characters<'a>, rules: &'a Rules) -> Self {
        Self { characters, rules, current: Expansion::default() }
    }

    /// Expands a character of a language with own letters, and takes those that belong to
    /// it.
    fn expand(&mut self, code: u32, tailoring: &Tailoring) -> Expansion {
        let mut expansion = Expansion::default();
        let lower = self.rules.lower(code);
        let upper = u8::from(lower != code);
        if let Some((letter, more, more_upper)) =
            tailoring.contraction(lower, self.characters.clone())
        {
            self.skip(more);
            expansion.push_own(letter, upper | more_upper, self.rules);
            return expansion;
        }
        let Some(next) = self.characters.clone().next() else {
            return Expansion::of(code, self.rules);
        };
        if let Some(letter) =
            combining_mark(next).and_then(|mark| tailoring.marked(lower, mark.checked_sub(PLAIN)?))
        {
            self.skip(1);
            expansion.push_own(letter, upper, self.rules);
            return expansion;
        }
        if tailoring.is_swapped(code, next) {
            self.skip(1);
            expansion.push_letter(next, self.rules);
            expansion.push_letter(code, self.rules);
            return expansion;
        }
        Expansion::of(code, self.rules)
    }

    fn skip(&mut self, count: usize) {
        (0..count).for_each(|_| {
            self.characters.next();
        });
    }
}

impl Iterator for Elements<'_> {
    type Item = Element;

    fn next(&mut self) -> Option<Element> {
        loop {
            if let Some(element) = self.current.next() {
                return Some(element);
            }
            let code = self.characters.next()?;
            if self.rules.is_word_mark(code) {
                continue;
            }
            // Most characters are one element, which then is not copied to `current`.
            if self.rules.tailoring.is_none() {
                if code < 0x80 {
                    return Some(Element::ascii(code, self.rules));
                }
                let kept = Expansion::kept(code, self.rules.expands).map(Expansion::elements);
                if let Some([single]) = kept {
                    return Some(single.without_case_if(!self.rules.case));
                }
            }
            self.current = match self.rules.tailoring {
                None => Expansion::of(code, self.rules),
                Some(tailoring) => self.expand(code, tailoring),
            };
        }
    }
}

fn primary_weight(code: u32, rules: &Rules) -> u32 {
    if let Some(weight) = usize::try_from(code).ok().and_then(|i| rules.ascii.get(i)) {
        return u32::from(*weight) << 24;
    }
    if let Some((base, place)) = cyrillic_place(code) {
        return other_letter(base, place);
    }
    match char::from_u32(code).is_some_and(char::is_alphanumeric) {
        true => other_letter(code, 0),
        false => u32::from(LEAD_SYMBOL) << 24 | code,
    }
}

/// Returns the primary weight of a letter beyond ASCII, or of one that follows it at a place from 1
/// to 7.
pub(super) fn other_letter(code: u32, place: u32) -> u32 {
    u32::from(LEAD_OTHER) << 24 | code << 3 | place
}

/// Returns the letter that a Cyrillic letter outside the Russian alphabet follows, and its place
/// behind it. Those with a mark are separate letters too.
fn cyrillic_place(lower: u32) -> Option<(u32, u32)> {
    let (base, place) = match lower {
        0x491 => ('г', 1), // ґ
        0x452 => ('д', 1), // ђ
        0x453 => ('д', 2), // ѓ
        0x454 => ('е', 1), // є
        0x455 => ('з', 1), // ѕ
        0x439 => ('и', 1), // й
        0x456 => ('и', 2), // і
        0x457 => ('и', 3), // ї
        0x458 => ('и', 4), // ј
        0x459 => ('л', 1), // љ
        0x45A => ('н', 1), // њ
        0x45B => ('т', 1), // ћ
        0x45C => ('т', 2), // ќ
        0x45E => ('у', 1), // ў
        0x45F => ('ч', 1), // џ
        _ => return None,
    };
    Some((u32::from(base), place))
}

/// Returns whether a character only selects the form of the one before it.
fn is_variation_selector(code: u32) -> bool {
    matches!(code, 0xFE00..=0xFE0F | 0xE0100..=0xE01EF)
}

/// Appends the sort-key form of a primary weight.
pub(super) fn push_primary(primary: u32, out: &mut Vec<u8>) {
    let bytes = primary.to_be_bytes();
    out.extend_from_slice(&bytes[..primary_bytes(bytes[0], bytes[1])]);
}

/// Returns the number of bytes of a primary weight that starts with these two.
pub(super) const fn primary_bytes(first: u8, second: u8) -> usize {
    match (first, second) {
        (LEAD_SYMBOL | LEAD_OTHER, _) => 4,
        (_, 0xFF) => 3,
        _ => 1,
    }
}

/// Folds to lower case where that is one character.
pub(super) fn to_lower(code: u32) -> u32 {
    let Some(c) = char::from_u32(code) else { return code };
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(single), None) => u32::from(single),
        _ => code,
    }
}

/// Returns the weight of a mark that belongs to the letter before it.
pub(super) fn combining_mark(code: u32) -> Option<u8> {
    // Vowel signs and tones of Thai, and the voicing of kana.
    match code {
        0xE47..=0xE4E => return Some(PLAIN + 0x78 + u8::try_from(code - 0xE47).ok()?),
        0x3099 | 0xFF9E => return Some(PLAIN + kana::VOICED),
        0x309A | 0xFF9F => return Some(PLAIN + kana::HALF_VOICED),
        _ => {}
    }
    let distance = code.checked_sub(0x300).filter(|d| *d < 0x70)?;
    Some(PLAIN + 1 + u8::try_from(distance).ok()?)
}

/// Returns the two letters that a ligature compares as.
fn ligature(code: u32) -> Option<(u32, u32)> {
    let (first, second) = match char::from_u32(code)? {
        'ß' => ('s', 's'),
        'ẞ' => ('S', 'S'),
        'æ' => ('a', 'e'),
        'Æ' => ('A', 'E'),
        'œ' => ('o', 'e'),
        'Œ' => ('O', 'E'),
        'þ' => ('t', 'h'),
        'Þ' => ('T', 'H'),
        _ => return None,
    };
    Some((u32::from(first), u32::from(second)))
}

/// Returns the letter without its stroke.
pub(super) fn without_stroke(c: char) -> Option<char> {
    char::from_u32(stroked(u32::from(c))?.0)
}

/// Returns base letter and mark of a letter with a stroke.
fn stroked(code: u32) -> Option<(u32, [u8; 3])> {
    let (base, mark) = match char::from_u32(code)? {
        'ø' => ('o', MARK_STROKE),
        'Ø' => ('O', MARK_STROKE),
        'đ' => ('d', MARK_STROKE),
        'Đ' => ('D', MARK_STROKE),
        'ð' => ('d', MARK_ETH),
        'Ð' => ('D', MARK_ETH),
        'ħ' => ('h', MARK_STROKE),
        'Ħ' => ('H', MARK_STROKE),
        'ł' => ('l', MARK_STROKE),
        'Ł' => ('L', MARK_STROKE),
        'ŧ' => ('t', MARK_STROKE),
        'Ŧ' => ('T', MARK_STROKE),
        _ => return None,
    };
    Some((u32::from(base), [mark, 0, 0]))
}

/// The characters of a string, as code points; an unpaired surrogate is its own number.
#[derive(Clone)]
pub(super) enum Characters<'a> {
    /// One byte each, through a table for the upper half.
    SingleByte(&'static [u16; 128], std::slice::Iter<'a, u8>),
    /// One or two bytes each.
    DoubleByte(&'static DoubleByte, &'a [u8]),
    /// UTF-8, malformed bytes as U+FFFD.
    Utf8(&'a [u8]),
    /// UTF-16LE, with surrogate pairs joined.
    Utf16(std::slice::ChunksExact<'a, u8>),
    /// UTF-16LE, with surrogates as single characters.
    Units(std::slice::ChunksExact<'a, u8>),
}

impl<'a> Characters<'a> {
    pub(super) fn of(value: &'a [u8], encoding: Encoding, collation: Collation) -> Self {
        if encoding == Encoding::Utf16 {
            return Self::Utf16(value.chunks_exact(2));
        }
        match collation.code_page().shape() {
            Shape::Single(table) => Self::SingleByte(table, value.iter()),
            Shape::Double(table) => Self::DoubleByte(table, value),
            Shape::Utf8 => Self::Utf8(value),
        }
    }

    /// Returns how many bytes are left.
    pub(super) fn bytes_left(&self) -> usize {
        match self {
            Self::SingleByte(_, bytes) => bytes.len(),
            Self::DoubleByte(_, rest) | Self::Utf8(rest) => rest.len(),
            Self::Utf16(units) | Self::Units(units) => 2 * units.len(),
        }
    }
}

fn unit(pair: &[u8]) -> u32 {
    u32::from(u16::from_le_bytes([pair[0], pair[1]]))
}

impl Iterator for Characters<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::SingleByte(table, bytes) => {
                Some(u32::from(CodePage::decode_byte(table, *bytes.next()?)))
            }
            Self::DoubleByte(table, rest) => {
                if rest.is_empty() {
                    return None;
                }
                let (unit, len) = table.first(rest);
                *rest = &rest[len..];
                Some(u32::from(unit))
            }
            Self::Utf8(rest) => {
                let (c, len) = decode_utf8(rest)?;
                *rest = &rest[len..];
                Some(c)
            }
            Self::Units(units) => units.next().map(unit),
            Self::Utf16(units) => {
                let first = unit(units.next()?);
                if !matches!(first, 0xD800..=0xDBFF) {
                    return Some(first);
                }
                let mut ahead = units.clone();
                let Some(second @ 0xDC00..=0xDFFF) = ahead.next().map(unit) else {
                    return Some(first);
                };
                *units = ahead;
                Some(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
            }
        }
    }
}

/// Decodes the first character; a malformed byte is one U+FFFD.
fn decode_utf8(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u32::from(first), 1));
    }
    let len = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let c = bytes.get(..len).and_then(|b| std::str::from_utf8(b).ok()?.chars().next());
    Some(c.map_or((0xFFFD, 1), |c| (u32::from(c), len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept and what is short-cut is what a search in the tables finds.
    #[test]
    fn each_character_expands_as_the_tables_say() {
        for expands in [false, true] {
            for case in [false, true] {
                let rules = Rules { case, ..Rules::plain(expands) };
                for code in 0x80..0x1_1000 {
                    let mut searched = Expansion::default();
                    searched.push_any(code, &rules);
                    assert_eq!(
                        Expansion::of(code, &rules).elements(),
                        searched.elements(),
                        "{code:x} {expands} {case}"
                    );
                }
            }
        }
    }
}
