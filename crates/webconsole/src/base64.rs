//! Base64 without line breaks, as HTTP's Basic credentials have it. RFC 4648, clause 4.

/// Decodes a text; `None` if it is not Base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let bare = text.trim_end_matches('=');
    let padding = text.len() - bare.len();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(bare.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for letter in bare.bytes() {
        bits = bits << 6 | u32::from(digit(letter)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    // Bits past the last byte must be zero.
    (bits & ((1 << count) - 1) == 0).then_some(bytes)
}

const fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, clause 10.
    #[test]
    fn vectors_of_the_rfc() {
        let vectors = [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ];
        for (text, bytes) in vectors {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for wrong in ["Z", "Zg", "Zg=", "Z===", "Zm9v!", "Zh==", "Zm9v\n"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
