//! Weights of characters: what a character contributes to each level of a linguistic comparison.
//!
//! Three levels, as in every linguistic order: the letter (primary), its marks (secondary), its
//! case, width and kana form (tertiary). A collation that ignores a difference leaves its level
//! out. Windows collations have a fourth: hyphens and apostrophes are in none of the first three,
//! and decide by place and kind where all else is equal ("word sort").
//!
//! A primary weight is the first byte of the sort key in its top byte; symbols and letters beyond
//! ASCII share a lead byte and carry their code point in the other three:
//!
//! ```text
//! 02..22 control   23 blank   24..43 ASCII symbols   44 other symbols   45..4E digits
//! 50..69 a..z      F0 other letters      (00 ends a key, 01 separates its levels)
//! ```

use super::decompose;
use super::{ACCENT_INSENSITIVE, CASE_SENSITIVE, CodePage, Collation, KANA_SENSITIVE};
use super::{Family, WIDTH_SENSITIVE};

const LEAD_SYMBOL: u8 = 0x44;
const LEAD_DIGIT: u8 = 0x45;
const LEAD_LETTER: u8 = 0x50;
const LEAD_OTHER: u8 = 0xF0;
/// The secondary and tertiary weight of a plain lower-case letter, the smallest there is.
pub(super) const PLAIN: u8 = 2;
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
        let by_sort_id =
            encoding == Encoding::CodePage && matches!(collation.base().family, Family::Sql(_));
        Self {
            ascii: if by_sort_id { &ASCII_SQL } else { &ASCII_WINDOWS },
            expands: !by_sort_id,
            accents: !collation.has(ACCENT_INSENSITIVE),
            case: collation.has(CASE_SENSITIVE),
            width: collation.has(WIDTH_SENSITIVE),
            kana: collation.has(KANA_SENSITIVE),
            words: !by_sort_id,
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

    /// Returns whether the third level counts at all.
    pub(super) const fn has_tertiary(&self) -> bool {
        self.case || self.width || self.kana
    }
}

/// The weights of one letter or of one mark.
#[derive(Clone, Copy, Default)]
pub(super) struct Element {
    /// 0 for a mark.
    pub(super) primary: u32,
    /// [`PLAIN`] for a letter, more for a mark.
    pub(super) secondary: u8,
    /// 0 for a mark.
    pub(super) tertiary: u8,
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
        if code < 0x80 {
            expansion.push_letter(code, rules);
            return expansion;
        }
        if let Some((first, second)) = ligature(code).filter(|_| rules.expands) {
            expansion.push_letter(first, rules);
            expansion.push_letter(second, rules);
            return expansion;
        }
        if let Some(mark) = combining_mark(code) {
            expansion.push_mark(mark);
            return expansion;
        }
        let (base, marks) = match u16::try_from(code).ok().and_then(decompose::find) {
            Some((base, marks)) => (u32::from(base), marks),
            None => stroked(code).unwrap_or((code, [0; 3])),
        };
        expansion.push_letter(base, rules);
        marks.iter().filter(|m| **m != 0).for_each(|m| expansion.push_mark(PLAIN + m));
        expansion
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
        let narrow = if matches!(code, 0xFF01..=0xFF5E) { code - 0xFEE0 } else { code };
        let lower = to_lower(narrow);
        let hiragana = if matches!(lower, 0x30A1..=0x30F6) { lower - 0x60 } else { lower };
        let tertiary = PLAIN
            + u8::from(rules.case && lower != narrow)
            + 2 * u8::from(rules.width && narrow != code)
            + 4 * u8::from(rules.kana && hiragana != lower);
        let primary = primary_weight(hiragana, rules);
        self.push(Element { primary, secondary: PLAIN, tertiary });
    }
}

impl Iterator for Expansion {
    type Item = Element;
    fn next(&mut self) -> Option<Element> {
        let element = self.elements().get(usize::from(self.next)).copied();
        self.next += 1;
        element
    }
}

fn primary_weight(code: u32, rules: &Rules) -> u32 {
    if let Some(weight) = usize::try_from(code).ok().and_then(|i| rules.ascii.get(i)) {
        return u32::from(*weight) << 24;
    }
    let is_letter = char::from_u32(code).is_some_and(char::is_alphanumeric);
    u32::from(if is_letter { LEAD_OTHER } else { LEAD_SYMBOL }) << 24 | code
}

/// Appends the sort-key form of a primary weight.
pub(super) fn push_primary(primary: u32, out: &mut Vec<u8>) {
    let bytes = primary.to_be_bytes();
    let is_long = matches!(bytes[0], LEAD_SYMBOL | LEAD_OTHER);
    out.extend_from_slice(if is_long { &bytes } else { &bytes[..1] });
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

fn combining_mark(code: u32) -> Option<u8> {
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
    /// UTF-8, malformed bytes as U+FFFD.
    Utf8(&'a [u8]),
    /// UTF-16LE, with surrogate pairs joined.
    Utf16(std::slice::ChunksExact<'a, u8>),
    /// UTF-16LE, with surrogates as single characters.
    Units(std::slice::ChunksExact<'a, u8>),
}

impl<'a> Characters<'a> {
    pub(super) fn of(value: &'a [u8], encoding: Encoding, collation: Collation) -> Self {
        match (encoding, collation.code_page().high_half()) {
            (Encoding::Utf16, _) => Self::Utf16(value.chunks_exact(2)),
            (Encoding::CodePage, Some(table)) => Self::SingleByte(table, value.iter()),
            (Encoding::CodePage, None) => Self::Utf8(value),
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
