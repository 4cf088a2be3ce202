//! A definition as the body of a log record: key and value.
//!
//! ```text
//! key bytes   varint of 32 bits, fixed: 4 bytes, little-endian
//! key
//! 0           removed, nothing follows
//! 1           the rest is the value
//! ```

use definitions::Entry;

/// Encodes an entry as the body of a record.
pub(crate) fn encode(entry: &Entry) -> Vec<u8> {
    let value = entry.value.as_deref();
    let mut bytes = Vec::with_capacity(5 + entry.key.len() + value.map_or(0, <[u8]>::len));
    let length = u32::try_from(entry.key.len()).expect("keys are names and numbers");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&entry.key);
    bytes.push(u8::from(value.is_some()));
    bytes.extend_from_slice(value.unwrap_or_default());
    bytes
}

/// Decodes what [`encode`] has made; `None` if the bytes are something else.
pub(crate) fn decode(bytes: &[u8]) -> Option<Entry> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (key, rest) = rest.split_at_checked(length)?;
    let (flag, rest) = rest.split_first()?;
    let value = match (flag, rest) {
        (0, []) => None,
        (1, value) => Some(value.to_vec()),
        _ => return None,
    };
    Some(Entry { key: key.to_vec(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_other_bytes_do_not() {
        for value in [None, Some(vec![]), Some(vec![1, 2, 3])] {
            let entry = Entry { key: b"a key".to_vec(), value };
            let bytes = encode(&entry);
            assert_eq!(decode(&bytes), Some(entry));
            for cut in 0..9 {
                assert_eq!(decode(&bytes[..cut]), None, "cut at {cut}");
            }
        }
        assert_eq!(decode(&[255; 12]), None);
        assert_eq!(decode(&[0, 0, 0, 0, 2]), None);
        assert_eq!(decode(&[0, 0, 0, 0, 0, 1]), None);
    }
}
