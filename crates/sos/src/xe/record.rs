//! `Record`: the binary form of one event in a buffer or a file.
//!
//! ```text
//!   bytes u32 │ event u16 │ values u16 │ time u64 │ value ..         little endian
//!   value: tag u8, then
//!     0 null  1 false  2 true  3 int i64  4 uint u64  5 float f64  6 text u32 + UTF-8  7 bytes u32 + ..
//!     8 guid 16  9 map key u32  10 stack number u32  11 activity 16 + u32
//!     12 text with bytes in it: u32 + runs (`mixed`)
//! ```
//!
//! The values are the event's fields and then the session's actions. The time is in clock ticks in
//! a buffer, and UTC in 100 ns since 0001-01-01 after the dispatcher has handled it.

use super::value::Value;

/// The size of the header before the values.
pub(super) const HEADER_BYTES: usize = 16;

const TAG_NULL: u8 = 0;
const TAG_FALSE: u8 = 1;
const TAG_TRUE: u8 = 2;
const TAG_INT: u8 = 3;
const TAG_UINT: u8 = 4;
const TAG_FLOAT: u8 = 5;
const TAG_TEXT: u8 = 6;
const TAG_BYTES: u8 = 7;
const TAG_GUID: u8 = 8;
const TAG_MAP: u8 = 9;
const TAG_STACK: u8 = 10;
const TAG_ACTIVITY: u8 = 11;
const TAG_MIXED: u8 = 12;

/// Writes a record into a buffer; when that is full, only counts the bytes.
pub(super) struct Encoder<'a> {
    into: &'a mut [u8],
    at: usize,
    values: u16,
}

impl<'a> Encoder<'a> {
    /// Starts a record, with its header left free.
    pub(super) fn new(into: &'a mut [u8]) -> Self {
        Self { into, at: HEADER_BYTES, values: 0 }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        if let Some(room) = self.into.get_mut(self.at..end) {
            room.copy_from_slice(bytes);
        }
        self.at = end;
    }

    /// Writes the first `bytes` of a word, by one store of the whole word if there is room: the
    /// rest is overwritten by what follows, or is behind the record's end.
    #[inline]
    fn put_first(&mut self, word: u128, bytes: usize) {
        let word = word.to_le_bytes();
        match self.into.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
            Some(room) => {
                *room = word;
                self.at += bytes;
            }
            None => self.put(&word[..bytes]),
        }
    }

    #[inline]
    fn put_word(&mut self, tag: u8, word: u64) {
        self.put_first(u128::from(word) << 8 | u128::from(tag), 9);
    }

    #[inline]
    fn put_half(&mut self, tag: u8, word: u32) {
        self.put_first(u128::from(word) << 8 | u128::from(tag), 5);
    }

    fn put_long(&mut self, tag: u8, bytes: &[u8]) {
        self.put_half(tag, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.put(bytes);
    }

    /// Writes the next value.
    #[inline]
    pub(super) fn value(&mut self, value: Value<'_>) {
        self.values += 1;
        match value {
            Value::Null => self.put_first(u128::from(TAG_NULL), 1),
            Value::Bool(value) => {
                self.put_first(u128::from(if value { TAG_TRUE } else { TAG_FALSE }), 1);
            }
            Value::Int(value) => self.put_word(TAG_INT, value.cast_unsigned()),
            Value::UInt(value) => self.put_word(TAG_UINT, value),
            Value::Float(value) => self.put_word(TAG_FLOAT, value.to_bits()),
            Value::Text(text) => self.put_long(TAG_TEXT, text.as_bytes()),
            Value::Mixed(runs) => self.put_long(TAG_MIXED, runs),
            Value::Bytes(bytes) => self.put_long(TAG_BYTES, bytes),
            Value::Guid(guid) => {
                self.put(&[TAG_GUID]);
                self.put(&guid);
            }
            Value::Map(key) => self.put_half(TAG_MAP, key),
            Value::Stack(id) => self.put_half(TAG_STACK, id),
            Value::Activity(guid, sequence) => {
                self.put(&[TAG_ACTIVITY]);
                self.put(&guid);
                self.put(&sequence.to_le_bytes());
            }
        }
    }

    /// Ends the record: returns its size, or as an error the size that it would have had.
    #[inline]
    pub(super) fn finish(self, event: u16, time: u64) -> Result<usize, usize> {
        let bytes = self.at;
        let Ok(length) = u32::try_from(bytes) else { return Err(bytes) };
        let Some(header) = self.into.get_mut(..bytes).and_then(|all| all.get_mut(..HEADER_BYTES))
        else {
            return Err(bytes);
        };
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4..6].copy_from_slice(&event.to_le_bytes());
        header[6..8].copy_from_slice(&self.values.to_le_bytes());
        header[8..].copy_from_slice(&time.to_le_bytes());
        Ok(bytes)
    }
}

fn split<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    Some((*first, rest))
}

fn split_long(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = split::<4>(bytes)?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(length)).ok()?)
}

/// Reads a value and returns the rest; `None` if the bytes are damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    Some(match tag {
        TAG_NULL => (Value::Null, rest),
        TAG_FALSE => (Value::Bool(false), rest),
        TAG_TRUE => (Value::Bool(true), rest),
        TAG_INT => split(rest).map(|(word, rest)| (Value::Int(i64::from_le_bytes(word)), rest))?,
        TAG_UINT => {
            split(rest).map(|(word, rest)| (Value::UInt(u64::from_le_bytes(word)), rest))?
        }
        TAG_FLOAT => {
            split(rest).map(|(word, rest)| (Value::Float(f64::from_le_bytes(word)), rest))?
        }
        TAG_TEXT => {
            let (text, rest) = split_long(rest)?;
            (Value::Text(std::str::from_utf8(text).ok()?), rest)
        }
        TAG_MIXED => split_long(rest).map(|(runs, rest)| (Value::Mixed(runs), rest))?,
        TAG_BYTES => split_long(rest).map(|(bytes, rest)| (Value::Bytes(bytes), rest))?,
        TAG_GUID => split(rest).map(|(guid, rest)| (Value::Guid(guid), rest))?,
        TAG_MAP => split(rest).map(|(key, rest)| (Value::Map(u32::from_le_bytes(key)), rest))?,
        TAG_STACK => split(rest).map(|(id, rest)| (Value::Stack(u32::from_le_bytes(id)), rest))?,
        TAG_ACTIVITY => {
            let (guid, rest) = split(rest)?;
            let (sequence, rest) = split(rest)?;
            (Value::Activity(guid, u32::from_le_bytes(sequence)), rest)
        }
        _ => return None,
    })
}

/// A record in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// Takes the first record from a buffer; `None` if there is no complete one.
    pub(super) fn take(buffer: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (length, _) = split::<4>(buffer)?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        if length < HEADER_BYTES {
            return None;
        }
        let (bytes, rest) = buffer.split_at_checked(length)?;
        Some((Self { bytes }, rest))
    }

    /// All bytes of the record.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The event's position in the specification it was written under.
    pub(super) fn event(self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[4], self.bytes[5]]))
    }

    /// The time at which it was fired.
    pub(super) fn time(self) -> u64 {
        split(&self.bytes[8..]).map_or(0, |(time, _)| u64::from_le_bytes(time))
    }

    /// Its values; they end early if the bytes are damaged.
    pub(super) fn values(self) -> impl Iterator<Item = Value<'a>> {
        let mut rest = &self.bytes[HEADER_BYTES..];
        std::iter::from_fn(move || {
            let (value, after) = decode(rest)?;
            rest = after;
            Some(value)
        })
    }

    /// The bytes of one of its values; equal values have equal bytes.
    pub(super) fn value_bytes(self, at: usize) -> Option<&'a [u8]> {
        let mut rest = &self.bytes[HEADER_BYTES..];
        for _ in 0..at {
            rest = decode(rest)?.1;
        }
        let (_, after) = decode(rest)?;
        Some(&rest[..rest.len() - after.len()])
    }

    /// The number of values in its header.
    pub(super) fn count(self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[6], self.bytes[7]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [Value<'static>; 13] = [
        Value::Null,
        Value::Bool(true),
        Value::Bool(false),
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
        Value::Float(-0.5),
        Value::Text("Größe"),
        Value::Bytes(&[0, 255]),
        Value::Mixed(&[1, 0, 0, 0, b'x', 1, 0, 0, 0x80, 0xa5]),
        Value::Guid([7; 16]),
        Value::Map(61),
        Value::Stack(3),
        Value::Activity([9; 16], 4),
    ];

    #[test]
    fn what_is_written_is_read() {
        let mut buffer = [0; 200];
        let mut encoder = Encoder::new(&mut buffer);
        VALUES.iter().for_each(|value| encoder.value(*value));
        let bytes = encoder.finish(5, 77).expect("there is room");
        let (record, rest) = Record::take(&buffer[..bytes]).expect("a record");
        assert_eq!((record.event(), record.time(), rest.len()), (5, 77, 0));
        assert_eq!(record.values().collect::<Vec<_>>(), VALUES);
        assert_eq!(record.count(), VALUES.len());
        for (at, value) in VALUES.iter().enumerate() {
            let bytes = record.value_bytes(at).expect("the value is there");
            assert_eq!(decode(bytes).map(|(value, _)| value), Some(*value));
        }
    }

    #[test]
    fn record_fits_into_as_many_bytes_as_it_has_and_into_none_less() {
        let write = |room: &mut [u8]| {
            let mut encoder = Encoder::new(room);
            VALUES.iter().for_each(|value| encoder.value(*value));
            encoder.finish(5, 77)
        };
        let mut wide = [0; 200];
        let bytes = write(&mut wide).expect("there is room");
        let mut exact = vec![0xEE; bytes];
        assert_eq!(write(&mut exact), Ok(bytes));
        assert_eq!(exact, &wide[..bytes]);
        for length in 0..bytes {
            assert_eq!(write(&mut exact[..length]), Err(bytes), "{length}");
        }
    }

    #[test]
    fn record_without_room_says_how_large_it_is() {
        let mut buffer = [0; 20];
        let mut encoder = Encoder::new(&mut buffer);
        encoder.value(Value::Text("0123456789"));
        assert_eq!(encoder.finish(0, 0), Err(HEADER_BYTES + 15));
    }

    #[test]
    fn damaged_bytes_are_no_values() {
        for length in 0..9 {
            assert!(decode(&[TAG_UINT, 1, 2, 3, 4, 5, 6, 7, 8][..length]).is_none());
        }
        assert!(decode(&[99]).is_none());
        assert!(decode(&[TAG_TEXT, 255, 255, 255, 255]).is_none());
        assert!(decode(&[TAG_TEXT, 1, 0, 0, 0, 0xff]).is_none());
    }
}
