//! The encoding: how values become bytes, and back.
//!
//! A record is a list of fields by rising tag: tag, length, content. A field whose value is the
//! usual one (`false`, `None`, an empty list) is left out. So a later version can add a field, and
//! still reads records that do not have it.
//!
//! ```text
//!   record   field field ..
//!   field    tag: 1 byte, 1 to 255    length: varint    content
//!   list     length of item: varint, content of item, ..
//!   number   little-endian, of its size
//! ```
//!
//! A length is checked against the bytes that are left before anything is read or allocated, so
//! damaged bytes give an error and no more memory than a multiple of their size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::CounterLog;
use storage::TableId;

use crate::{EventNames, TableMaker};

/// Largest number of bytes of a varint.
const VARINT_BYTES_MAX: usize = 10;

/// The defect of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) String);

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// Returns an error with this reason.
pub(crate) fn fault<T>(reason: impl Into<String>) -> Result<T> {
    Err(Fault(reason.into()))
}

/// What decoding needs besides the bytes.
pub(crate) struct Cx<'a> {
    /// Where sequences reserve their values.
    pub(crate) counter_log: Option<&'a Arc<dyn CounterLog>>,
    pub(crate) tables: &'a mut dyn TableMaker,
    pub(crate) names: &'a EventNames,
    /// Storage ids of the tables so far.
    pub(crate) storages: BTreeSet<TableId>,
}

/// A value with an encoding.
pub(crate) trait Code: Sized {
    /// Appends the content of the value.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads the content, which is all of `bytes`.
    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self>;

    /// Returns whether the field of a record is left out.
    fn is_usual(&self) -> bool {
        false
    }

    /// Returns the value of a field that is left out.
    fn usual() -> Option<Self> {
        None
    }
}

/// Appends a number in groups of seven bits, the lowest first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7F).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or(0));
}

/// Splits a number off the front.
fn split_varint(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let mut number = 0_usize;
    for (at, &byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        let part = usize::from(byte & 0x7F);
        let shift = u32::try_from(at).unwrap_or(0) * 7;
        let shifted = part.checked_shl(shift).filter(|shifted| shifted >> shift == part);
        let Some(shifted) = shifted else { return fault("a length is too large") };
        number |= shifted;
        if byte < 0x80 {
            return Ok((number, &bytes[at + 1..]));
        }
    }
    fault("a length is cut off")
}

/// Appends a length and the content that `put` writes.
pub(crate) fn put_sized(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    // The length takes a byte in most cases; otherwise the content moves.
    let at = out.len();
    out.push(0);
    put(out);
    let length = out.len() - at - 1;
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out[at] = short,
        _ => {
            let mut prefix = Vec::with_capacity(VARINT_BYTES_MAX);
            put_varint(&mut prefix, length);
            out.splice(at..=at, prefix);
        }
    }
}

/// Splits a length and its content off the front.
pub(crate) fn split_sized(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let (length, rest) = split_varint(bytes)?;
    if length > rest.len() {
        return fault(format!("a length of {length} with {} bytes left", rest.len()));
    }
    Ok(rest.split_at(length))
}

/// Appends a field, unless its value is the usual one.
pub(crate) fn put_field<T: Code>(out: &mut Vec<u8>, tag: u8, value: &T) {
    if !value.is_usual() {
        out.push(tag);
        put_sized(out, |out| value.put(out));
    }
}

/// The fields of a record that are not read yet.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn next(&mut self, tag: u8) -> Result<Option<&'a [u8]>> {
        match self.0.split_first() {
            Some((found, rest)) if *found == tag => {
                let (content, rest) = split_sized(rest)?;
                self.0 = rest;
                Ok(Some(content))
            }
            _ => Ok(None),
        }
    }

    /// Returns the content of the field with a tag; passes over those before it.
    pub(crate) fn find(&mut self, tag: u8) -> Result<Option<&'a [u8]>> {
        while let Some((found, rest)) = self.0.split_first() {
            let (content, rest) = split_sized(rest)?;
            if *found == tag {
                return Ok(Some(content));
            }
            self.0 = rest;
        }
        Ok(None)
    }

    /// Reads the field with a tag, which must be the next one.
    pub(crate) fn take<T: Code>(&mut self, tag: u8, cx: &mut Cx<'_>) -> Result<T> {
        match self.next(tag)? {
            Some(content) => {
                T::get(content, cx).map_err(|Fault(reason)| Fault(format!("field {tag}: {reason}")))
            }
            None => T::usual().ok_or_else(|| Fault(format!("field {tag} is missing"))),
        }
    }

    /// Reads a field that records of an earlier version do not have.
    #[cfg(test)]
    pub(crate) fn take_or<T: Code>(
        &mut self,
        tag: u8,
        cx: &mut Cx<'_>,
        earlier: impl FnOnce() -> T,
    ) -> Result<T> {
        match self.0.first() {
            Some(found) if *found == tag => self.take(tag, cx),
            _ => Ok(earlier()),
        }
    }

    /// Checks that all fields have been read.
    pub(crate) fn end(self) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some(tag) => fault(format!("field {tag} is not known here")),
        }
    }
}

/// Implements [`Code`] for a struct. All of its fields are named on both ways, so a field that is
/// added to the struct and not here does not compile.
macro_rules! record {
    ($type:ty { $( $tag:literal $field:ident ),+ $(,)? }) => {
        impl $crate::code::Code for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $( $field ),+ } = self;
                $( $crate::code::put_field(out, $tag, $field); )+
            }

            fn get(
                bytes: &[u8],
                cx: &mut $crate::code::Cx<'_>,
            ) -> $crate::code::Result<Self> {
                let mut fields = $crate::code::Fields::of(bytes);
                let made = Self { $( $field: fields.take($tag, cx)? ),+ };
                fields.end()?;
                Ok(made)
            }
        }
    };
}

/// Implements [`Code`] for an enum without data: a number for each variant.
macro_rules! choice {
    ($type:ty { $( $variant:ident = $number:literal ),+ $(,)? }) => {
        impl $crate::code::Code for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.push(match self { $( Self::$variant => $number ),+ });
            }

            fn get(
                bytes: &[u8],
                cx: &mut $crate::code::Cx<'_>,
            ) -> $crate::code::Result<Self> {
                match <u8 as $crate::code::Code>::get(bytes, cx)? {
                    $( $number => Ok(Self::$variant), )+
                    other => $crate::code::fault(format!("choice {other} is not known here")),
                }
            }
        }
    };
}

pub(crate) use {choice, record};

macro_rules! numbers {
    ($( $type:ty )+) => {
        $( impl Code for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8], _: &mut Cx<'_>) -> Result<Self> {
                let Ok(bytes) = bytes.try_into() else {
                    return fault(format!("a number of {} bytes", bytes.len()));
                };
                Ok(Self::from_le_bytes(bytes))
            }
        } )+
    };
}

numbers! { u8 i16 u16 i32 u32 i64 u64 i128 f32 f64 }

impl Code for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(bytes: &[u8], _: &mut Cx<'_>) -> Result<Self> {
        match bytes {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => fault("neither true nor false"),
        }
    }

    fn is_usual(&self) -> bool {
        !self
    }

    fn usual() -> Option<Self> {
        Some(false)
    }
}

impl Code for String {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn get(bytes: &[u8], _: &mut Cx<'_>) -> Result<Self> {
        match str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => fault("text that is not UTF-8"),
        }
    }
}

impl Code for Box<str> {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        String::get(bytes, cx).map(String::into_boxed_str)
    }
}

impl<T: Code> Code for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        if let Some(value) = self {
            out.push(1);
            value.put(out);
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        match bytes.split_first() {
            None => Ok(None),
            Some((1, rest)) => T::get(rest, cx).map(Some),
            Some(_) => fault("neither a value nor none"),
        }
    }

    fn is_usual(&self) -> bool {
        self.is_none()
    }

    fn usual() -> Option<Self> {
        Some(None)
    }
}

impl<T: Code> Code for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        for item in self {
            put_sized(out, |out| item.put(out));
        }
    }

    fn get(mut bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut items = Self::new();
        while !bytes.is_empty() {
            let (item, rest) = split_sized(bytes)?;
            items.push(T::get(item, cx)?);
            bytes = rest;
        }
        Ok(items)
    }

    fn is_usual(&self) -> bool {
        self.is_empty()
    }

    fn usual() -> Option<Self> {
        Some(Self::new())
    }
}

impl<K: Code + Ord + Clone, V: Code + Clone> Code for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        for (key, value) in self {
            put_sized(out, |out| key.put(out));
            put_sized(out, |out| value.put(out));
        }
    }

    fn get(mut bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut map = Self::new();
        while !bytes.is_empty() {
            let (key, rest) = split_sized(bytes)?;
            let (value, rest) = split_sized(rest)?;
            map.insert(K::get(key, cx)?, V::get(value, cx)?);
            bytes = rest;
        }
        Ok(map)
    }

    fn is_usual(&self) -> bool {
        self.is_empty()
    }

    fn usual() -> Option<Self> {
        Some(Self::new())
    }
}

impl<A: Code, B: Code> Code for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        put_sized(out, |out| self.0.put(out));
        self.1.put(out);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let (first, second) = split_sized(bytes)?;
        Ok((A::get(first, cx)?, B::get(second, cx)?))
    }
}

impl<T: Code> Code for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        T::get(bytes, cx).map(Self::new)
    }
}

impl<T: Code> Code for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        T::get(bytes, cx).map(Self::new)
    }
}

/// Bytes, which as a list of numbers would take a length each.
pub(crate) struct Binary(pub(crate) Vec<u8>);

impl Code for Binary {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn get(bytes: &[u8], _: &mut Cx<'_>) -> Result<Self> {
        Ok(Self(bytes.to_vec()))
    }

    fn is_usual(&self) -> bool {
        self.0.is_empty()
    }

    fn usual() -> Option<Self> {
        Some(Self(Vec::new()))
    }
}

/// Finds a text among those that the program has as constants.
pub(crate) fn known<'n>(names: impl IntoIterator<Item = &'n str>, name: &str) -> Result<&'n str> {
    match names.into_iter().find(|known| *known == name) {
        Some(known) => Ok(known),
        None => fault(format!("`{name}` is not known here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewTable;

    record! { Before { 1 name, 4 flag } }
    record! { After { 1 name, 2 more, 4 flag } }

    #[derive(Debug, PartialEq)]
    struct Before {
        name: String,
        flag: bool,
    }

    #[derive(Debug, PartialEq)]
    struct After {
        name: String,
        more: Option<i32>,
        flag: bool,
    }

    struct NoTables;

    impl TableMaker for NoTables {
        fn make(&mut self, _: &NewTable<'_>) -> types::Result<Arc<catalog::TableRows>> {
            Err(types::Msg::InternalError.into())
        }
    }

    /// Runs `read` with what decoding needs.
    fn with_cx<T>(read: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        let names = EventNames {
            event: |_, _| None,
            action: |_, _| None,
            source: |_, _| None,
            target: |_, _| None,
        };
        let tables = &mut NoTables;
        read(&mut Cx { counter_log: None, tables, names: &names, storages: BTreeSet::new() })
    }

    fn bytes(value: &impl Code) -> Vec<u8> {
        let mut out = Vec::new();
        value.put(&mut out);
        out
    }

    #[test]
    fn a_record_without_a_later_field_is_read() {
        let before = Before { name: "n".to_owned(), flag: true };
        let wanted = After { name: "n".to_owned(), more: None, flag: true };
        let written = bytes(&before);
        with_cx(|cx| assert_eq!(After::get(&written, cx), Ok(wanted)));
        with_cx(|cx| {
            let mut fields = Fields::of(&written);
            assert_eq!(fields.take::<String>(1, cx), Ok("n".to_owned()));
            assert_eq!(fields.take_or(2, cx, || 7_i64), Ok(7), "a field of a later version");
            assert_eq!(fields.take::<bool>(4, cx), Ok(true));
            assert_eq!(fields.end(), Ok(()));
        });
        let later = After { name: "n".to_owned(), more: Some(5), flag: true };
        with_cx(|cx| assert!(Before::get(&bytes(&later), cx).is_err(), "an unknown field"));
    }

    #[test]
    fn lengths_survive_and_are_checked() {
        for length in [0, 1, 127, 128, 300, 20_000] {
            let mut out = vec![9];
            put_sized(&mut out, |out| out.extend(std::iter::repeat_n(7, length)));
            let (content, rest) = split_sized(&out[1..]).expect("as written");
            assert_eq!((content.len(), rest.len()), (length, 0));
            assert!(split_sized(&out[1..out.len() - 1]).is_err() || length == 0);
        }
        assert!(split_sized(&[0xFF; 12]).is_err(), "a varint that is too long");
        assert!(split_sized(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1]).is_err(), "more than is left");
        with_cx(|cx| assert!(Vec::<i32>::get(&[200, 200, 200, 1], cx).is_err()));
    }

    #[test]
    fn values_of_all_types_survive() {
        use types::value::ColumnType;
        use types::{Bytes, Collation, DataType, Decimal, Length, Value};
        let text = |text: &str| Bytes::copy_from(text.as_bytes());
        let collation = Collation::by_name("Latin1_General_100_CS_AS_SC_UTF8").expect("known");
        let ty =
            ColumnType { data_type: DataType::VarChar(Length::Max), collation, nullable: true };
        let values = [
            Value::Null,
            Value::Bit(true),
            Value::TinyInt(255),
            Value::SmallInt(-5),
            Value::Int(i32::MIN),
            Value::BigInt(i64::MAX),
            Value::Decimal(Decimal::new(-(10_i128.pow(37)), 38, 3)),
            Value::Money(-1),
            Value::Real(1.5),
            Value::Float(-0.25),
            Value::Date(700_000),
            Value::Time(1),
            Value::DateTime { days: -3, ticks: 300 },
            Value::SmallDateTime { days: 3, minutes: 1_439 },
            Value::DateTime2 { days: 1, ticks: 2 },
            Value::DateTimeOffset { days: 1, ticks: 2, offset: -90 },
            Value::VarChar(text("a")),
            Value::NVarChar(text("a\0")),
            Value::VarBinary(text("")),
            Value::UniqueIdentifier([7; 16]),
            Value::Variant(Box::new((Value::VarChar(text("inside")), ty))),
        ];
        for value in values {
            let read = with_cx(|cx| Value::get(&bytes(&value), cx));
            assert_eq!(format!("{read:?}"), format!("Ok({value:?})"));
        }
        assert_eq!(with_cx(|cx| ColumnType::get(&bytes(&ty), cx)), Ok(ty));
    }
}
