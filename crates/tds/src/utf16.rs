//! UTF-16LE, the text of the protocol itself: names, messages, SQL.

/// Turns UTF-16LE into a string; an unpaired surrogate becomes U+FFFD.
pub fn to_string(utf16: &[u8]) -> String {
    // ASCII is the common case: every other byte, and no zero check per unit beyond this one.
    if utf16.iter().skip(1).step_by(2).all(|&high| high == 0) {
        return utf16.iter().step_by(2).map(|&low| char::from(low)).collect();
    }
    char::decode_utf16(units(utf16))
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Appends UTF-16LE to UTF-8; an unpaired surrogate becomes U+FFFD.
pub fn append_utf8(utf16: &[u8], target: &mut Vec<u8>) {
    let (pairs, _) = utf16.as_chunks::<2>();
    // Without a branch per unit, so that the compiler makes vectors of it: SQL text is ASCII.
    let is_ascii = pairs.iter().fold(0, |all, [low, high]| all | (low & 0x80) | high) == 0;
    if is_ascii {
        target.extend(pairs.iter().map(|[low, _]| *low));
        return;
    }
    let mut bytes = [0; 4];
    for unit in char::decode_utf16(units(utf16)) {
        let character = unit.unwrap_or(char::REPLACEMENT_CHARACTER);
        target.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
    }
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
