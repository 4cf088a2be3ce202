//! Numbers as bytes: fixed widths by offset for headers, varints and a cursor for records.

use crate::error::{FormatError, Problem};

/// The longest varint: 64 bits in groups of seven.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

/// Returns how many bytes the varint of a number takes.
pub(crate) const fn varint_bytes(value: u64) -> usize {
    // Zero takes a byte too, so it is counted as if it had one bit.
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends a number as LEB128: seven bits per byte, lowest first.
#[inline]
pub(crate) fn push_varint(buffer: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        buffer.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    buffer.push(value.to_le_bytes()[0]);
}

/// Puts a varint into `room` bytes that were left free at `at`. If it needs another number of bytes, what is
/// behind it moves.
#[inline]
pub(crate) fn put_varint(buffer: &mut Vec<u8>, at: usize, room: usize, mut value: u64) {
    let bytes = varint_bytes(value);
    if bytes != room {
        move_tail(buffer, at + room, at + bytes);
    }
    let place = &mut buffer[at..at + bytes];
    for byte in place.iter_mut() {
        *byte = value.to_le_bytes()[0] | 0x80;
        value >>= 7;
    }
    place[bytes - 1] &= 0x7f;
}

/// Moves the bytes from `from` on to `to`.
#[inline(never)]
fn move_tail(buffer: &mut Vec<u8>, from: usize, to: usize) {
    let (before, after) = (buffer.len(), buffer.len() - from + to);
    buffer.resize(before.max(after), 0);
    buffer.copy_within(from..before, to);
    buffer.truncate(after);
}

/// Returns the little-endian number at an offset of a header.
pub(crate) fn u32_at<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"))
}

/// Returns the little-endian number at an offset of a header.
pub(crate) fn u64_at<const N: usize>(header: &[u8; N], at: usize) -> u64 {
    u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"))
}

/// Reads bytes from front to back. Each read is checked against the end.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` in what the caller decodes; errors are reported relative to that.
    base: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, base }
    }

    /// Returns the offset of the next byte.
    pub(crate) const fn offset(&self) -> usize {
        self.base
    }

    /// Returns the bytes from this place on.
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the bytes between this place and a later one of the same bytes.
    pub(crate) fn until(&self, later: &Self) -> &'a [u8] {
        &self.bytes[..self.bytes.len() - later.bytes.len()]
    }

    pub(crate) const fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) const fn error(&self, problem: Problem) -> FormatError {
        FormatError::new(self.base, problem)
    }

    /// Takes the next `count` bytes.
    #[inline]
    pub(crate) fn take(&mut self, count: u64) -> Result<&'a [u8], FormatError> {
        let count = usize::try_from(count).map_err(|_| self.error(Problem::Cut))?;
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(self.error(Problem::Cut));
        };
        self.bytes = rest;
        self.base += count;
        Ok(taken)
    }

    /// Takes all bytes up to the end.
    pub(crate) fn take_all(&mut self) -> &'a [u8] {
        self.base += self.bytes.len();
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, FormatError> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    /// Takes a varint, which must have its shortest form.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, FormatError> {
        // Most are one byte long.
        if let Some((&byte, rest)) = self.bytes.split_first().filter(|(byte, _)| **byte < 0x80) {
            self.bytes = rest;
            self.base += 1;
            return Ok(u64::from(byte));
        }
        self.long_varint()
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, FormatError> {
        let start = self.base;
        let mut value = 0_u64;
        for index in 0..VARINT_BYTES_MAX {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has the 64th bit alone.
            if index == VARINT_BYTES_MAX - 1 && byte > 1 {
                return Err(FormatError::new(start, Problem::Varint));
            }
            value |= bits << (7 * index);
            if byte & 0x80 == 0 {
                let is_shortest = byte != 0 || index == 0;
                return if is_shortest {
                    Ok(value)
                } else {
                    Err(FormatError::new(start, Problem::Varint))
                };
            }
        }
        Err(FormatError::new(start, Problem::Varint))
    }

    /// Takes a varint of at most 32 bits.
    #[inline]
    pub(crate) fn varint_u32(&mut self) -> Result<u32, FormatError> {
        let start = self.base;
        u32::try_from(self.varint()?).map_err(|_| FormatError::new(start, Problem::Varint))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Cursor, push_varint, put_varint, varint_bytes};

    proptest! {
        #[test]
        fn varint_comes_back(shift in 0_u32..64, low in any::<u64>()) {
            let value = low >> shift;
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            prop_assert_eq!(bytes.len(), varint_bytes(value));
            let mut cursor = Cursor::new(&bytes, 0);
            prop_assert_eq!(cursor.varint().unwrap(), value);
            prop_assert!(cursor.is_at_end());
        }
    }

    proptest! {
        #[test]
        fn a_varint_fits_into_any_room(
            shift in 0_u32..64, low in any::<u64>(), room in 0_usize..4, tail in 0_usize..300,
        ) {
            let value = low >> shift;
            let tail: Vec<u8> = (0..tail).map(|n| n.to_le_bytes()[0]).collect();
            let mut bytes = [&[7, 9][..], &vec![0; room], &tail].concat();
            put_varint(&mut bytes, 2, room, value);
            let mut expected = vec![7, 9];
            push_varint(&mut expected, value);
            expected.extend(tail);
            prop_assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn varints_of_other_forms_are_refused() {
        let long = [0x80; 11];
        let past_64_bits = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        for bad in [&[0x80, 0][..], &[0x81, 0x80, 0], &[0x80], &[], &long, &past_64_bits] {
            assert!(Cursor::new(bad, 0).varint().is_err(), "{bad:?}");
        }
    }
}
