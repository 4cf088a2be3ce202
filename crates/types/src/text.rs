//! Converts between `&str` and the two encodings of SQL strings, and has the kernels that string
//! functions call.

use crate::collation::CodePage;
use crate::pause::Pause;
use crate::{Bytes, Collation, Result, Value};

/// Which end of a string TRIM, LTRIM or RTRIM cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    /// The left end: LTRIM.
    Left,
    /// The right end: RTRIM.
    Right,
    /// Both ends: TRIM without LEADING or TRAILING.
    Both,
}

/// The case that a string is folded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LetterCase {
    /// Upper case, for UPPER.
    Upper,
    /// Lower case, for LOWER.
    Lower,
}

/// Length in bytes up to which a text is encoded on the stack, without an allocation.
const STACK_BYTES: usize = 64;

/// Encodes a text as UTF-16LE.
pub fn to_utf16(text: &str) -> Bytes {
    let bytes = text.as_bytes();
    if 2 * bytes.len() <= STACK_BYTES && text.is_ascii() {
        let mut units = [0; STACK_BYTES];
        units.chunks_exact_mut(2).zip(bytes).for_each(|(unit, &byte)| unit[0] = byte);
        return Bytes::copy_from(&units[..2 * bytes.len()]);
    }
    let mut units = Vec::with_capacity(2 * bytes.len());
    text.encode_utf16().for_each(|unit| units.extend_from_slice(&unit.to_le_bytes()));
    Bytes::from(units)
}

/// As [`to_utf16`]; pauses between the pieces of a long text.
pub fn to_utf16_pausing(text: &str, pause: Pause) -> Bytes {
    if text.len() <= PIECE_BYTES {
        return to_utf16(text);
    }
    let encode = |piece| pause.call().then(|| to_utf16(piece));
    let pieces: Vec<Bytes> = str_pieces(text).map_while(encode).collect();
    join_pieces(&pieces, pause)
}

/// Concatenates pieces that were made one by one: a vector that grows would be moved at once, and copied at the end.
pub(crate) fn join_pieces(pieces: &[Bytes], pause: Pause) -> Bytes {
    let parts: Vec<&[u8]> = pieces.iter().map(Bytes::as_slice).collect();
    pause.join(&parts)
}

/// Splits a text between two characters into pieces of [`PIECE_BYTES`] at most, for work that pauses between them.
pub fn str_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, tail) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        rest = tail;
        Some(piece)
    })
}

/// Returns the units of a UTF-16LE string.
pub fn utf16_units(value: &[u8]) -> impl Iterator<Item = u16> + Clone + '_ {
    value.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
}

/// Decodes UTF-16LE; unpaired surrogates become U+FFFD.
pub fn from_utf16(units: &[u8]) -> String {
    chars_utf16(units).collect()
}

/// As [`from_utf16`]; pauses between the pieces of a long string.
pub fn from_utf16_pausing(units: &[u8], pause: Pause) -> String {
    if units.len() <= PIECE_BYTES {
        return from_utf16(units);
    }
    let mut text = String::with_capacity(units.len() / 2);
    for piece in Width::Pairs.pieces(units) {
        text.extend(chars_utf16(piece));
        if !pause.call() {
            break;
        }
    }
    text
}

/// Decodes UTF-16LE; `None` if a surrogate is unpaired or a byte is left over.
pub fn try_from_utf16(units: &[u8]) -> Option<String> {
    if !units.len().is_multiple_of(2) {
        return None;
    }
    char::decode_utf16(utf16_units(units)).collect::<Result<_, _>>().ok()
}

fn chars_utf16(units: &[u8]) -> impl Iterator<Item = char> + '_ {
    char::decode_utf16(utf16_units(units)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Encodes in the code page of `collation`; a character that the page lacks becomes its best fit or
/// `?`.
pub fn to_code_page(text: &str, collation: Collation) -> Bytes {
    let page = collation.code_page();
    if page == CodePage::Utf8 || text.is_ascii() {
        return Bytes::copy_from(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    page.encode(text.chars(), &mut bytes);
    Bytes::from(bytes)
}

/// As [`to_code_page`]; pauses between the pieces of a long text.
pub fn to_code_page_pausing(text: &str, collation: Collation, pause: Pause) -> Bytes {
    if text.len() <= PIECE_BYTES {
        return to_code_page(text, collation);
    }
    let encode = |piece| pause.call().then(|| to_code_page(piece, collation));
    let pieces: Vec<Bytes> = str_pieces(text).map_while(encode).collect();
    join_pieces(&pieces, pause)
}

/// Decodes from the code page of `collation`.
pub fn from_code_page(bytes: &[u8], collation: Collation) -> String {
    collation.code_page().decode(bytes)
}

/// Converts UTF-16LE to the code page of `collation`.
pub fn utf16_to_code_page(units: &[u8], collation: Collation) -> Bytes {
    let mut bytes = Vec::with_capacity(units.len() / 2);
    collation.code_page().encode(chars_utf16(units), &mut bytes);
    Bytes::from(bytes)
}

/// Converts the code page of `collation` to UTF-16LE.
pub fn code_page_to_utf16(bytes: &[u8], collation: Collation) -> Bytes {
    let Some(table) = collation.code_page().high_half() else {
        return to_utf16(&collation.code_page().decode(bytes));
    };
    let unit = |b: &u8| CodePage::decode_byte(table, *b).to_le_bytes();
    Bytes::from(bytes.iter().flat_map(unit).collect::<Vec<u8>>())
}

/// Cuts blanks off the ends of a string value; other values are returned unchanged.
pub fn trim(value: &Value, side: TrimSide) -> Value {
    let blank_width = match value {
        Value::VarChar(_) => 1,
        Value::NVarChar(_) => 2,
        _ => return value.clone(),
    };
    let Some(bytes) = value.string_bytes() else { return value.clone() };
    let rest = match blank_width {
        1 => without_blanks(bytes.as_chunks::<1>().0, *b" ", side).as_flattened(),
        _ => without_blanks(bytes.as_chunks::<2>().0, *b" \0", side).as_flattened(),
    };
    if rest.len() == bytes.len() {
        return value.clone();
    }
    value.with_bytes(Bytes::copy_from(rest))
}

fn without_blanks<const N: usize>(
    mut units: &[[u8; N]],
    blank: [u8; N],
    side: TrimSide,
) -> &[[u8; N]] {
    if side != TrimSide::Right {
        units = &units[units.iter().position(|unit| *unit != blank).unwrap_or(units.len())..];
    }
    if side != TrimSide::Left {
        units = &units[..units.iter().rposition(|unit| *unit != blank).map_or(0, |at| at + 1)];
    }
    units
}

/// Returns LEN of a string or binary value: characters (UTF-16 units unless the collation is `_SC`)
/// without trailing blanks; `None` for other values.
pub fn len(value: &Value, collation: Collation) -> Option<usize> {
    match trim(value, TrimSide::Right) {
        Value::VarChar(bytes) if !collation.code_page().is_single_byte() => {
            Some(Width::of_bytes(collation).count(&bytes))
        }
        Value::VarChar(bytes) | Value::VarBinary(bytes) => Some(bytes.len()),
        Value::NVarChar(units) if collation.is_supplementary_aware() => {
            Some(chars_utf16(&units).count())
        }
        Value::NVarChar(units) => Some(units.len() / 2),
        _ => None,
    }
}

/// Folds the case of a string value, character by character; other values are returned unchanged.
pub fn fold(value: &Value, case: LetterCase, collation: Collation) -> Value {
    match value {
        Value::VarChar(bytes) if bytes.is_ascii() && !collation.has_dotless_i() => {
            Value::VarChar(fold_ascii(bytes, case))
        }
        Value::VarChar(bytes) => {
            let fold = |own| {
                let folded = collation.fold_char(own, case);
                // A letter whose other case is not in the code page stays as it is.
                if has_char(collation, folded) { folded } else { own }
            };
            let text: String = from_code_page(bytes, collation).chars().map(fold).collect();
            Value::VarChar(to_code_page(&text, collation))
        }
        Value::NVarChar(units) => {
            let mut text = Vec::with_capacity(units.len());
            for c in char::decode_utf16(utf16_units(units)) {
                let mut buffer = [0; 2];
                let unpaired = c.as_ref().map_err(|e| [e.unpaired_surrogate()]);
                let folded: &[u16] = match &unpaired {
                    Ok(c) => collation.fold_char(**c, case).encode_utf16(&mut buffer),
                    Err(unit) => unit,
                };
                text.extend(folded.iter().flat_map(|unit| unit.to_le_bytes()));
            }
            Value::NVarChar(Bytes::from(text))
        }
        _ => value.clone(),
    }
}

fn fold_ascii(bytes: &[u8], case: LetterCase) -> Bytes {
    match case {
        LetterCase::Upper => Bytes::from(bytes.to_ascii_uppercase()),
        LetterCase::Lower => Bytes::from(bytes.to_ascii_lowercase()),
    }
}

fn has_char(collation: Collation, c: char) -> bool {
    let mut encoded = Vec::with_capacity(4);
    collation.code_page().encode(std::iter::once(c), &mut encoded) == 0
}

/// Folds one character if its other case is a single character too.
pub fn fold_char(c: char, case: LetterCase) -> char {
    fn single(mut folded: impl Iterator<Item = char>, own: char) -> char {
        match (folded.next(), folded.next()) {
            (Some(only), None) => only,
            _ => own,
        }
    }
    match case {
        LetterCase::Upper => single(c.to_uppercase(), c),
        LetterCase::Lower => single(c.to_lowercase(), c),
    }
}

/// Bytes that the text of a string takes while it grows, for each byte of the string: a character may have three.
const DECODED_TIMES: usize = 2;

/// Longest part of a string that long work takes at a time, in bytes.
pub const PIECE_BYTES: usize = 1 << 16;

/// How many bytes a character has, as string functions count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The same for each character.
    Fixed(usize),
    /// That of a code page whose characters differ in length.
    Page(CodePage),
    /// UTF-16LE whose surrogate pairs are one character (`_SC`).
    Pairs,
}

impl Width {
    /// Returns the width of the characters of a string or binary value.
    pub fn of(value: &Value, collation: Collation) -> Self {
        match value {
            Value::NVarChar(_) if collation.is_supplementary_aware() => Self::Pairs,
            Value::NVarChar(_) => Self::Fixed(2),
            Value::VarChar(_) => Self::of_bytes(collation),
            _ => Self::Fixed(1),
        }
    }

    /// Returns the width of the characters of a `varchar` value.
    pub fn of_bytes(collation: Collation) -> Self {
        match collation.code_page() {
            page if page.is_single_byte() => Self::Fixed(1),
            page => Self::Page(page),
        }
    }

    /// Returns the bytes of the first character of a string that is not empty.
    pub fn first(self, bytes: &[u8]) -> usize {
        match self {
            Self::Fixed(len) => len,
            Self::Page(page) => page.first_len(bytes),
            Self::Pairs => match bytes {
                [_, 0xD8..=0xDB, _, 0xDC..=0xDF, ..] => 4,
                _ => 2,
            },
        }
        .min(bytes.len())
    }

    /// Splits a string into its characters.
    pub fn split(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (first, tail) = rest.split_at(self.first(rest));
            rest = tail;
            Some(first)
        })
    }

    /// Splits a string between two characters into pieces of [`PIECE_BYTES`] at most, for work that
    /// pauses between them.
    pub fn pieces(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, tail) = rest.split_at(self.piece(rest));
            rest = tail;
            Some(piece)
        })
    }

    /// Returns the bytes of the first piece.
    fn piece(self, bytes: &[u8]) -> usize {
        if bytes.len() <= PIECE_BYTES {
            return bytes.len();
        }
        match self {
            Self::Fixed(len) => PIECE_BYTES / len * len,
            Self::Pairs if matches!(bytes[PIECE_BYTES - 1], 0xD8..=0xDB) => PIECE_BYTES - 2,
            Self::Pairs => PIECE_BYTES,
            Self::Page(_) => self.offset(bytes, PIECE_BYTES / 4),
        }
    }

    /// Returns the number of characters.
    pub fn count(self, bytes: &[u8]) -> usize {
        match self {
            Self::Fixed(len) => bytes.len() / len,
            Self::Page(_) if bytes.is_ascii() => bytes.len(),
            Self::Page(_) | Self::Pairs => self.split(bytes).count(),
        }
    }

    /// Returns the place in bytes of a character, or the length of a string that is shorter.
    pub fn offset(self, bytes: &[u8], count: usize) -> usize {
        match self {
            Self::Fixed(len) => count.saturating_mul(len).min(bytes.len()),
            Self::Page(_) | Self::Pairs => self.split(bytes).take(count).map(<[u8]>::len).sum(),
        }
    }
}

impl Collation {
    /// Folds one character as the language does, if its other case is a single character too.
    fn fold_char(self, c: char, case: LetterCase) -> char {
        if self.has_dotless_i() {
            match (c, case) {
                ('i', LetterCase::Upper) => return 'İ',
                ('I', LetterCase::Lower) => return 'ı',
                ('ı', LetterCase::Upper) => return 'I',
                ('İ', LetterCase::Lower) => return 'i',
                _ => {}
            }
        }
        fold_char(c, case)
    }
}

impl Value {
    /// Makes an `nvarchar` value.
    pub fn nvarchar(text: &str) -> Self {
        Self::NVarChar(to_utf16(text))
    }

    /// Makes a `varchar` value in the code page of `collation`.
    pub fn varchar(text: &str, collation: Collation) -> Self {
        Self::VarChar(to_code_page(text, collation))
    }

    /// Returns the text of a string value, `None` for any other.
    pub fn as_text(&self, collation: Collation) -> Option<String> {
        match self {
            Self::VarChar(bytes) => Some(from_code_page(bytes, collation)),
            Self::NVarChar(units) => Some(from_utf16(units)),
            _ => None,
        }
    }

    /// As [`Self::as_text`]; requests the memory of a long string, and pauses between its pieces.
    ///
    /// # Errors
    /// 701 if there is no memory for a long string.
    pub fn as_text_pausing(&self, collation: Collation, pause: Pause) -> Result<Option<String>> {
        Ok(match self {
            Self::VarChar(bytes) if bytes.len() > PIECE_BYTES => {
                pause.ask(DECODED_TIMES * bytes.len())?;
                let mut text = String::with_capacity(bytes.len());
                for piece in Width::of_bytes(collation).pieces(bytes) {
                    text.push_str(&from_code_page(piece, collation));
                    if !pause.call() {
                        break;
                    }
                }
                Some(text)
            }
            Self::NVarChar(units) if units.len() > PIECE_BYTES => {
                pause.ask(DECODED_TIMES * units.len())?;
                Some(from_utf16_pausing(units, pause))
            }
            _ => self.as_text(collation),
        })
    }

    /// Returns the first characters of a string value as text, `None` for any other: all that is shown of a long one.
    pub fn as_text_up_to(&self, chars: usize, collation: Collation) -> Option<String> {
        /// No character has more bytes in any encoding.
        const CHAR_BYTES_MAX: usize = 4;
        let bytes = self.string_bytes()?;
        let most = chars.saturating_mul(CHAR_BYTES_MAX);
        if bytes.len() <= most {
            return self.as_text(collation).map(|text| text.chars().take(chars).collect());
        }
        let width = match self {
            Self::NVarChar(_) => Width::Pairs,
            _ => Width::of(self, collation),
        };
        let end = width.offset(&bytes[..most], chars);
        self.with_bytes(Bytes::copy_from(&bytes[..end])).as_text(collation)
    }

    /// Returns the bytes of a string or binary value.
    pub fn string_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::VarChar(b) | Self::NVarChar(b) | Self::VarBinary(b) => Some(b),
            _ => None,
        }
    }

    /// Makes a value of the same string or binary kind from other bytes; other values are returned
    /// unchanged.
    #[must_use]
    pub fn with_bytes(&self, bytes: Bytes) -> Self {
        match self {
            Self::VarChar(_) => Self::VarChar(bytes),
            Self::NVarChar(_) => Self::NVarChar(bytes),
            Self::VarBinary(_) => Self::VarBinary(bytes),
            _ => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UTF8: &str = "Latin1_General_100_CI_AS_SC_UTF8";

    /// A collation of each code page whose characters are one byte.
    const ONE_PER_PAGE: [&str; 12] = [
        "SQL_Latin1_General_CP437_BIN",
        "SQL_Latin1_General_CP850_BIN",
        "Thai_BIN",
        "Polish_BIN",
        "Cyrillic_General_BIN",
        "Latin1_General_BIN",
        "Greek_BIN",
        "Turkish_BIN",
        "Hebrew_BIN",
        "Arabic_BIN",
        "Lithuanian_BIN",
        "Vietnamese_BIN",
    ];

    fn named(name: &str) -> Collation {
        Collation::by_name(name).unwrap()
    }

    #[test]
    fn len_counts_characters_without_trailing_blanks() {
        let default = Collation::default();
        assert_eq!(len(&Value::varchar("abc  ", default), default), Some(3));
        assert_eq!(len(&Value::nvarchar(" é "), default), Some(2));
        assert_eq!(len(&Value::nvarchar("\u{1F600}"), default), Some(2), "two units");
        let sc = named("Latin1_General_100_CI_AS_SC");
        assert_eq!(len(&Value::nvarchar("\u{1F600}"), sc), Some(1), "one character under _SC");
        let utf8 = named(UTF8);
        assert_eq!(len(&Value::varchar("é€", utf8), utf8), Some(2));
        assert_eq!(len(&Value::Int(1), default), None);
        let japanese = named("Japanese_CI_AS");
        assert_eq!(len(&Value::varchar("日本 a ", japanese), japanese), Some(4));
        let pairs = Value::nvarchar("a\u{1F600}b");
        assert_eq!(Width::of(&pairs, sc).count(pairs.string_bytes().unwrap()), 3);
        assert_eq!(Width::of(&pairs, sc).offset(pairs.string_bytes().unwrap(), 2), 6);
        assert_eq!(Width::of(&pairs, named("Japanese_XJIS_140_CI_AS")), Width::Pairs);
    }

    #[test]
    fn trim_cuts_blanks_only() {
        let value = Value::nvarchar("  a b\t ");
        assert_eq!(trim(&value, TrimSide::Both), Value::nvarchar("a b\t"));
        assert_eq!(trim(&value, TrimSide::Left), Value::nvarchar("a b\t "));
        let value = Value::varchar(" a ", Collation::default());
        assert_eq!(trim(&value, TrimSide::Right), Value::varchar(" a", Collation::default()));
    }

    #[test]
    fn case_folds_within_the_code_page() {
        let default = Collation::default();
        let upper = |text: &str| fold(&Value::varchar(text, default), LetterCase::Upper, default);
        assert_eq!(upper("straße é"), Value::varchar("STRAßE É", default));
        // Code page 1252 has both cases of y with diaeresis, but only one of the micro sign.
        assert_eq!(upper("ÿ µ"), Value::varchar("Ÿ µ", default));
        let unicode = fold(&Value::nvarchar("ЖЁ\u{10400}"), LetterCase::Lower, default);
        assert_eq!(unicode, Value::nvarchar("жё\u{10428}"));
        let unpaired = Value::NVarChar(Bytes::copy_from(&[0x41, 0, 0x00, 0xD8]));
        let lower = Value::NVarChar(Bytes::copy_from(&[0x61, 0, 0x00, 0xD8]));
        assert_eq!(fold(&unpaired, LetterCase::Lower, default), lower, "a lone surrogate stays");
    }

    #[test]
    fn pieces_are_cut_between_characters() {
        // A pair of surrogates, and a character of three bytes, lie across the first cut.
        let pairs = to_utf16(&format!("a{}", "\u{1F600}".repeat(PIECE_BYTES)));
        let utf8 = "€".repeat(PIECE_BYTES);
        let page = Width::of_bytes(named(UTF8));
        for (width, bytes) in [(Width::Pairs, &*pairs), (page, utf8.as_bytes())] {
            let pieces: Vec<&[u8]> = width.pieces(bytes).collect();
            assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() <= PIECE_BYTES));
            assert_eq!(pieces.concat(), bytes);
            assert!(pieces.iter().all(|piece| match width {
                Width::Pairs => try_from_utf16(piece).is_some(),
                _ => std::str::from_utf8(piece).is_ok(),
            }));
        }
    }

    proptest! {
        #[test]
        fn unicode_comes_back(text in any::<String>()) {
            prop_assert_eq!(from_utf16(&to_utf16(&text)), text.clone());
            prop_assert_eq!(try_from_utf16(&to_utf16(&text)), Some(text.clone()));
            let utf8 = named(UTF8);
            prop_assert_eq!(from_code_page(&to_code_page(&text, utf8), utf8), text);
        }

        #[test]
        fn strings_of_double_byte_pages_come_back(text in "[ -~日本語中文한국ｱあカ漢字①]{0,20}") {
            for name in ["Japanese_BIN", "Chinese_PRC_BIN", "Chinese_Taiwan_Stroke_BIN", "Korean_Wansung_BIN"] {
                let collation = named(name);
                let bytes = to_code_page(&text, collation);
                let back = from_code_page(&bytes, collation);
                prop_assert_eq!(&to_code_page(&back, collation), &bytes, "{}", name);
                prop_assert_eq!(from_utf16(&code_page_to_utf16(&bytes, collation)), back.clone());
                let width = Width::of_bytes(collation);
                prop_assert_eq!(width.count(&bytes), text.chars().count());
                prop_assert_eq!(width.split(&bytes).map(<[u8]>::len).sum::<usize>(), bytes.len());
            }
        }

        #[test]
        fn every_code_page_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            for name in ONE_PER_PAGE {
                let collation = named(name);
                prop_assert!(collation.code_page().is_single_byte());
                let wide = code_page_to_utf16(&bytes, collation);
                prop_assert_eq!(&*utf16_to_code_page(&wide, collation), bytes.as_slice());
                let text = from_code_page(&bytes, collation);
                prop_assert_eq!(&*to_code_page(&text, collation), bytes.as_slice());
            }
        }
    }
}
