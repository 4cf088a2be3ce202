//! UTF-16LE, the encoding of names, messages and SQL text in the protocol.

/// Turns UTF-16LE into a string; an unpaired surrogate becomes U+FFFD.
pub fn to_string(utf16: &[u8]) -> String {
    // ASCII is the common case: every second byte is 0.
    if utf16.iter().skip(1).step_by(2).all(|&high| high == 0) {
        return utf16.iter().step_by(2).map(|&low| char::from(low)).collect();
    }
    char::decode_utf16(units(utf16))
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Appends UTF-16LE to UTF-8; an unpaired surrogate becomes U+FFFD.
pub fn append_utf8(utf16: &[u8], target: &mut Vec<u8>) {
    if append_ascii(utf16, target) {
        return;
    }
    let mut bytes = [0; 4];
    for unit in char::decode_utf16(units(utf16)) {
        let character = unit.unwrap_or(char::REPLACEMENT_CHARACTER);
        target.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
    }
}

/// Appends UTF-16LE if all of it is ASCII, as most SQL text is; else appends nothing and returns
/// `false`. Four units at a time.
fn append_ascii(utf16: &[u8], target: &mut Vec<u8>) -> bool {
    let start = target.len();
    target.resize(start + utf16.len() / 2, 0);
    let (fours, rest) = utf16.as_chunks::<8>();
    let (places, last) = target[start..].as_chunks_mut::<4>();
    let mut others = 0;
    for (place, four) in places.iter_mut().zip(fours) {
        let units = u64::from_le_bytes(*four);
        others |= units & 0xFF80_FF80_FF80_FF80;
        let pairs = (units | units >> 8) & 0x0000_FFFF_0000_FFFF;
        let [a, b, c, d, ..] = (pairs | pairs >> 16).to_le_bytes();
        *place = [a, b, c, d];
    }
    for (place, [low, high]) in last.iter_mut().zip(rest.as_chunks::<2>().0) {
        others |= u64::from(low & 0x80 | high);
        *place = *low;
    }
    if others != 0 {
        target.truncate(start);
    }
    others == 0
}

/// Returns whether UTF-16LE equals this ASCII text.
pub fn is_ascii_text(utf16: &[u8], text: &str) -> bool {
    let pairs = utf16.as_chunks::<2>().0;
    let is_same = |([low, high], byte): (&[u8; 2], u8)| *low == byte && *high == 0 && byte < 0x80;
    utf16.len() == text.len() * 2 && pairs.iter().zip(text.bytes()).all(is_same)
}

/// Returns the units of UTF-16LE; an odd last byte is left out.
pub fn units(utf16: &[u8]) -> impl Iterator<Item = u16> {
    utf16.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair))
}

/// Turns a string into UTF-16LE.
pub fn from_str(text: &str) -> Vec<u8> {
    let mut target = Vec::with_capacity(text.len() * 2);
    target.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    target
}

/// Compares UTF-16LE with an ASCII string, ignoring the case of ASCII letters.
pub fn eq_ignore_ascii_case(utf16: &[u8], ascii: &str) -> bool {
    utf16.len() == ascii.len() * 2
        && units(utf16).zip(ascii.bytes()).all(|(unit, byte)| {
            u8::try_from(unit).is_ok_and(|unit| unit.eq_ignore_ascii_case(&byte))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_length_comes_over() {
        for text in
            ["", "a", "abc", "abcd", "dbo.SessionRead", "é", "abcdé", "abcdefg\u{80}", "中abcd😀"]
        {
            let mut utf8 = b"x".to_vec();
            append_utf8(&from_str(text), &mut utf8);
            assert_eq!(utf8, format!("x{text}").into_bytes());
        }
        let mut utf8 = Vec::new();
        append_utf8(&[0x41, 0, 0, 0xD8, 0x42, 0], &mut utf8);
        assert_eq!(utf8, "A\u{FFFD}B".as_bytes());
    }

    #[test]
    fn only_the_same_ascii_is_the_same_text() {
        for (sent, text) in [("@Id", "@Id"), ("", "")] {
            assert!(is_ascii_text(&from_str(sent), text));
        }
        for (sent, text) in
            [("@Id", "@id"), ("@Id", "@I"), ("@I", "@Id"), ("é", "é"), ("\u{161}", "a")]
        {
            assert!(!is_ascii_text(&from_str(sent), text));
        }
    }
}
