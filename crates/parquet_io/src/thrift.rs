//! Reads the compact protocol of Thrift, as far as footers and page headers need it.
//!
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>. A structure
//! is read field by field; unknown fields are skipped.

use crate::{Error, Result};

/// The largest nesting depth of structures and lists.
const DEPTH_MAX: u32 = 32;

/// The type of a field or of a list's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    True,
    False,
    Byte,
    Int16,
    Int32,
    Int64,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Kind {
    fn of(code: u8) -> Result<Self> {
        Ok(match code {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4 => Self::Int16,
            5 => Self::Int32,
            6 => Self::Int64,
            7 => Self::Double,
            8 => Self::Binary,
            // A set is encoded like a list.
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            _ => return Err(Error::damaged("a field of no type")),
        })
    }
}

/// Reads values from a byte slice.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

/// The error text if the bytes end within a value: the caller may have more of them.
pub(crate) const END: &str = "it ends within a structure";

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0 }
    }

    /// Returns how many bytes have been read.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| Error::damaged(END))?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::damaged("a number of too many bytes"))
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads a structure: `field` is called with the number and type of each field and reads or
    /// skips it.
    pub(crate) fn fields(
        &mut self,
        field: &mut dyn FnMut(&mut Self, i16, Kind) -> Result<()>,
    ) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::damaged("structures lie too deep in each other"));
        }
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                self.depth -= 1;
                return Ok(());
            }
            id = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok(),
                delta => id.checked_add(i16::from(delta)),
            }
            .ok_or_else(|| Error::damaged("a field of no number"))?;
            field(self, id, Kind::of(head & 15)?)?;
        }
    }

    /// Reads a list of elements of one type; `element` reads each.
    pub(crate) fn list(
        &mut self,
        kind: Kind,
        of: Kind,
        element: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (found, len) = self.list_head(kind)?;
        if found != of && len > 0 {
            return Err(Error::damaged("a list of other elements"));
        }
        (0..len).try_for_each(|_| element(self))
    }

    fn list_head(&mut self, kind: Kind) -> Result<(Kind, u64)> {
        expect(kind, Kind::List)?;
        let head = self.byte()?;
        let len = match head >> 4 {
            15 => self.varint()?,
            len => u64::from(len),
        };
        // An empty list may have no element type.
        Ok((if len == 0 { Kind::Byte } else { Kind::of(head & 15)? }, len))
    }

    pub(crate) fn int32(&mut self, kind: Kind) -> Result<i32> {
        expect(kind, Kind::Int32)?;
        i32::try_from(self.zigzag()?).map_err(|_| Error::damaged("a number of more than 32 bits"))
    }

    pub(crate) fn int64(&mut self, kind: Kind) -> Result<i64> {
        expect(kind, Kind::Int64)?;
        self.zigzag()
    }

    /// Reads a size or a count, which must not be negative.
    pub(crate) fn size(&mut self, kind: Kind) -> Result<usize> {
        usize::try_from(self.int32(kind)?).map_err(|_| Error::damaged("a negative size"))
    }

    /// Like [`Self::size`], for 64 bits.
    pub(crate) fn long_size(&mut self, kind: Kind) -> Result<u64> {
        u64::try_from(self.int64(kind)?).map_err(|_| Error::damaged("a negative size"))
    }

    pub(crate) fn flag(kind: Kind) -> Result<bool> {
        match kind {
            Kind::True => Ok(true),
            Kind::False => Ok(false),
            _ => Err(Error::damaged("a field of another type")),
        }
    }

    pub(crate) fn small(&mut self, kind: Kind) -> Result<u8> {
        expect(kind, Kind::Byte)?;
        self.byte()
    }

    pub(crate) fn binary(&mut self, kind: Kind) -> Result<&'a [u8]> {
        expect(kind, Kind::Binary)?;
        let len = usize::try_from(self.varint()?).map_err(|_| Error::damaged(END))?;
        let end = self.at.checked_add(len).ok_or_else(|| Error::damaged(END))?;
        let bytes = self.bytes.get(self.at..end).ok_or_else(|| Error::damaged(END))?;
        self.at = end;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self, kind: Kind) -> Result<&'a str> {
        std::str::from_utf8(self.binary(kind)?)
            .map_err(|_| Error::damaged("a name that is no UTF-8"))
    }

    /// Skips a value of any type.
    pub(crate) fn skip(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::True | Kind::False => Ok(()),
            Kind::Byte => self.byte().map(drop),
            Kind::Int16 | Kind::Int32 | Kind::Int64 => self.varint().map(drop),
            Kind::Double => (0..8).try_for_each(|_| self.byte().map(drop)),
            Kind::Binary => self.binary(kind).map(drop),
            Kind::Struct => self.fields(&mut |reader, _, kind| reader.skip(kind)),
            Kind::List => {
                let (of, len) = self.list_head(kind)?;
                self.deeper(|reader| (0..len).try_for_each(|_| reader.skip_element(of)))
            }
            Kind::Map => {
                let len = self.varint()?;
                if len == 0 {
                    return Ok(());
                }
                let types = self.byte()?;
                let (key, value) = (Kind::of(types >> 4)?, Kind::of(types & 15)?);
                self.deeper(|reader| {
                    (0..len).try_for_each(|_| {
                        reader.skip_element(key)?;
                        reader.skip_element(value)
                    })
                })
            }
        }
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::damaged("structures lie too deep in each other"));
        }
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Skips a list element; a boolean element has a byte, unlike a boolean field.
    fn skip_element(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::True | Kind::False => self.byte().map(drop),
            _ => self.skip(kind),
        }
    }
}

fn expect(kind: Kind, wanted: Kind) -> Result<()> {
    if kind == wanted { Ok(()) } else { Err(Error::damaged("a field of another type")) }
}
