//! The code pages of Chinese, Japanese and Korean, in which a character has one or two bytes.
//!
//! Both directions are tables of 64 Ki units, made from `encoding_rs` when a page is first used, so
//! a server that never meets these languages pays nothing. A two-byte character has a lead byte of
//! 0x81 to 0xFE; ASCII is one byte in each page.

use std::sync::OnceLock;

use encoding_rs::{BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS};

use super::CodePage;

/// U+FFFD, what bytes decode to that are no character.
const REPLACEMENT: u16 = 0xFFFD;
const UNITS: usize = 1 << 16;

/// The tables of one page.
pub(super) struct DoubleByte {
    /// The UTF-16 unit of two bytes, the lead in the upper half of the index; 0 if there is none.
    units: Box<[u16]>,
    /// The UTF-16 unit of one byte; 0 if it is a lead byte or no character.
    singles: [u16; 256],
    /// The bytes of a UTF-16 unit; 0 if the page lacks it.
    bytes: Box<[u16]>,
}

impl DoubleByte {
    /// Returns the tables of a page; `None` for the other pages.
    pub(super) fn of(page: CodePage) -> Option<&'static Self> {
        static PAGES: [OnceLock<DoubleByte>; 4] = [const { OnceLock::new() }; 4];
        let (place, encoding) = match page {
            CodePage::Cp932 => (0, SHIFT_JIS),
            CodePage::Cp936 => (1, GBK),
            CodePage::Cp949 => (2, EUC_KR),
            CodePage::Cp950 => (3, BIG5),
            CodePage::Utf8
            | CodePage::Cp437
            | CodePage::Cp850
            | CodePage::Cp874
            | CodePage::Cp1250
            | CodePage::Cp1251
            | CodePage::Cp1252
            | CodePage::Cp1253
            | CodePage::Cp1254
            | CodePage::Cp1255
            | CodePage::Cp1256
            | CodePage::Cp1257
            | CodePage::Cp1258
            | CodePage::Unicode => return None,
        };
        Some(PAGES[place].get_or_init(|| Self::new(encoding)))
    }

    fn new(encoding: &'static Encoding) -> Self {
        let mut page = Self {
            units: vec![0; UNITS].into_boxed_slice(),
            singles: [0; 256],
            bytes: vec![0; UNITS].into_boxed_slice(),
        };
        for byte in 0..=u8::MAX {
            if let Some(unit) = decode(encoding, &[byte]) {
                page.singles[usize::from(byte)] = unit;
                page.bytes[usize::from(unit)] = u16::from(byte);
            }
        }
        for lead in 0x81..=0xFE {
            for trail in 0x40..=0xFE {
                let Some(unit) = decode(encoding, &[lead, trail]) else { continue };
                let pair = u16::from_be_bytes([lead, trail]);
                page.units[usize::from(pair)] = unit;
                let known = &mut page.bytes[usize::from(unit)];
                // Of two codes of a character, the encoder's is the one that Windows writes.
                let is_second = *known != 0;
                if !is_second || encode(encoding, unit) == Some(pair) {
                    *known = pair;
                }
            }
        }
        page
    }

    /// Returns the first character of a string that is not empty, and the number of its bytes.
    pub(super) fn first(&self, bytes: &[u8]) -> (u16, usize) {
        let single = self.singles[usize::from(bytes[0])];
        if single != 0 || bytes[0] == 0 {
            return (single, 1);
        }
        match bytes {
            [lead, trail, ..] => {
                match self.units[usize::from(u16::from_be_bytes([*lead, *trail]))] {
                    0 => (REPLACEMENT, 1),
                    unit => (unit, 2),
                }
            }
            _ => (REPLACEMENT, 1),
        }
    }

    /// Returns the characters of a string.
    pub(super) fn characters<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = u16> + 'a {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (unit, len) = self.first(rest);
            rest = &rest[len..];
            Some(unit)
        })
    }

    /// Returns the bytes of a UTF-16 unit as a number, 0 if the page lacks it. Where the page is in
    /// the order of a dictionary, so are these numbers.
    pub(super) fn code(&self, unit: u16) -> u16 {
        self.bytes[usize::from(unit)]
    }

    /// Appends a character; returns `false` if the page lacks it.
    pub(super) fn encode(&self, c: char, out: &mut Vec<u8>) -> bool {
        let Ok(unit) = u16::try_from(u32::from(c)) else { return false };
        match self.code(unit).to_be_bytes() {
            [0, 0] if unit != 0 => return false,
            [0, single] => out.push(single),
            pair => out.extend_from_slice(&pair),
        }
        true
    }
}

/// Decodes the bytes of one character of the basic plane.
fn decode(encoding: &'static Encoding, bytes: &[u8]) -> Option<u16> {
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
    let mut characters = text.chars();
    match (has_errors, characters.next(), characters.next()) {
        (false, Some(c), None) => u16::try_from(u32::from(c)).ok(),
        _ => None,
    }
}

/// Encodes a character of two bytes.
fn encode(encoding: &'static Encoding, unit: u16) -> Option<u16> {
    let mut buffer = [0; 4];
    let text = char::from_u32(u32::from(unit))?.encode_utf8(&mut buffer);
    let (bytes, _, has_errors) = encoding.encode(text);
    match *bytes {
        [lead, trail] if !has_errors => Some(u16::from_be_bytes([lead, trail])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tables that Unicode publishes for these code pages.
    #[test]
    fn characters_have_the_bytes_of_their_code_page() {
        for (page, text, bytes) in [
            (CodePage::Cp932, "日本ｱあ〜", &[0x93, 0xFA, 0x96, 0x7B, 0xB1, 0x82, 0xA0, b'?'][..]),
            (CodePage::Cp932, "①髙∵", &[0x87, 0x40, 0xFB, 0xFC, 0x81, 0xE6]),
            (CodePage::Cp936, "中文€a", &[0xD6, 0xD0, 0xCE, 0xC4, 0x80, b'a']),
            (CodePage::Cp949, "한국힝", &[0xC7, 0xD1, 0xB1, 0xB9, 0xC8, 0xFE]),
            (CodePage::Cp950, "中文", &[0xA4, 0xA4, 0xA4, 0xE5]),
        ] {
            let mut out = Vec::new();
            page.encode(text.chars(), &mut out);
            assert_eq!(out, bytes, "{page:?} {text}");
            let back = page.decode(&out);
            assert_eq!(back.replace('?', "〜"), text, "{page:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_character_are_one_replacement_each() {
        assert_eq!(CodePage::Cp932.decode(b"a\x81"), "a\u{FFFD}");
        assert_eq!(CodePage::Cp936.decode(b"\x81 b"), "\u{FFFD} b");
        let mut out = Vec::new();
        assert_eq!(CodePage::Cp949.encode("é\u{1F600}Ａ".chars(), &mut out), 2);
        assert_eq!(CodePage::Cp949.decode(&out), "e?Ａ");
    }
}
