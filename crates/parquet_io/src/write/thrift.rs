//! Writes structures in the compact protocol of Thrift; `crate::thrift` reads them.

use super::hybrid::varint;

/// Types of fields and of list elements.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const INT16: u8 = 4;
const INT32: u8 = 5;
const INT64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes one structure, including nested ones.
#[derive(Default)]
pub(super) struct Structure {
    bytes: Vec<u8>,
    /// The last field number of each open structure.
    last: Vec<i16>,
    field: i16,
}

impl Structure {
    /// Ends the structure and returns its bytes.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn head(&mut self, id: i16, kind: u8) {
        let delta = id - self.field;
        self.field = id;
        match u8::try_from(delta) {
            Ok(delta @ 1..=15) => self.bytes.push(delta << 4 | kind),
            _ => {
                self.bytes.push(kind);
                self.zigzag(i64::from(id));
            }
        }
    }

    fn zigzag(&mut self, value: i64) {
        varint(((value << 1) ^ (value >> 63)).cast_unsigned(), &mut self.bytes);
    }

    pub(super) fn int16(&mut self, id: i16, value: i16) {
        self.head(id, INT16);
        self.zigzag(i64::from(value));
    }

    pub(super) fn int32(&mut self, id: i16, value: i32) {
        self.head(id, INT32);
        self.zigzag(i64::from(value));
    }

    pub(super) fn int64(&mut self, id: i16, value: i64) {
        self.head(id, INT64);
        self.zigzag(value);
    }

    /// Writes a count, which is below 2^63.
    pub(super) fn count(&mut self, id: i16, value: u64) {
        self.int64(id, i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Writes a size, for which the format has 32 bits; pages are far smaller.
    pub(super) fn size(&mut self, id: i16, value: usize) {
        self.int32(id, i32::try_from(value).unwrap_or(i32::MAX));
    }

    pub(super) fn flag(&mut self, id: i16, value: bool) {
        self.head(id, if value { TRUE } else { FALSE });
    }

    pub(super) fn byte(&mut self, id: i16, value: u8) {
        self.head(id, 3);
        self.bytes.push(value);
    }

    pub(super) fn binary(&mut self, id: i16, value: &[u8]) {
        self.head(id, BINARY);
        self.put(value);
    }

    fn put(&mut self, value: &[u8]) {
        varint(u64::try_from(value.len()).unwrap_or(u64::MAX), &mut self.bytes);
        self.bytes.extend_from_slice(value);
    }

    /// Writes a structure as a field.
    pub(super) fn structure(&mut self, id: i16, inner: impl FnOnce(&mut Self)) {
        self.head(id, STRUCT);
        self.open(inner);
    }

    fn open(&mut self, inner: impl FnOnce(&mut Self)) {
        self.last.push(self.field);
        self.field = 0;
        inner(self);
        self.bytes.push(0);
        self.field = self.last.pop().unwrap_or(0);
    }

    fn list_head(&mut self, id: i16, len: usize, kind: u8) {
        self.head(id, LIST);
        match u8::try_from(len) {
            Ok(len @ 0..15) => self.bytes.push(len << 4 | kind),
            _ => {
                self.bytes.push(0xF0 | kind);
                varint(u64::try_from(len).unwrap_or(u64::MAX), &mut self.bytes);
            }
        }
    }

    pub(super) fn int32_list(&mut self, id: i16, values: &[i32]) {
        self.list_head(id, values.len(), INT32);
        values.iter().for_each(|value| self.zigzag(i64::from(*value)));
    }

    pub(super) fn binary_list(&mut self, id: i16, values: &[&[u8]]) {
        self.list_head(id, values.len(), BINARY);
        values.iter().for_each(|value| self.put(value));
    }

    pub(super) fn list<T>(
        &mut self,
        id: i16,
        items: impl ExactSizeIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T),
    ) {
        self.list_head(id, items.len(), STRUCT);
        items.for_each(|each| self.open(|structure| item(structure, each)));
    }
}
