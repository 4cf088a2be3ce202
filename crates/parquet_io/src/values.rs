//! Decodes the values of pages in their physical form.

use types::batch::{ByteKind, ByteRows};

use crate::delta::Delta;
use crate::page::{Encoding, Page};
use crate::rle::Hybrid;
use crate::schema::Physical;
use crate::{Error, Result};

/// Values in their physical form, without NULLs.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// Also fixed-length and 96-bit values.
    Bytes(ByteRows),
}

impl Raw {
    pub(crate) fn of(physical: Physical) -> Self {
        match physical {
            Physical::Boolean => Self::Boolean(Vec::new()),
            Physical::Int32 => Self::Int32(Vec::new()),
            Physical::Int64 => Self::Int64(Vec::new()),
            Physical::Float => Self::Float(Vec::new()),
            Physical::Double => Self::Double(Vec::new()),
            Physical::Int96 | Physical::Bytes | Physical::Fixed(_) => {
                Self::Bytes(ByteRows::new(ByteKind::VarBinary))
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Boolean(rows) => rows.clear(),
            Self::Int32(rows) => rows.clear(),
            Self::Int64(rows) => rows.clear(),
            Self::Float(rows) => rows.clear(),
            Self::Double(rows) => rows.clear(),
            Self::Bytes(rows) => rows.clear(),
        }
    }

    /// Returns the bytes of memory that the values take.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Boolean(rows) => rows.len(),
            Self::Int32(rows) => size_of_val(rows.as_slice()),
            Self::Int64(rows) => size_of_val(rows.as_slice()),
            Self::Float(rows) => size_of_val(rows.as_slice()),
            Self::Double(rows) => size_of_val(rows.as_slice()),
            Self::Bytes(rows) => rows.total() + rows.len() * size_of::<u32>(),
        }
    }

    /// Appends the dictionary's values at these indexes.
    fn look_up(&mut self, dictionary: &Self, places: &[u32]) -> Result<()> {
        match (self, dictionary) {
            (Self::Boolean(rows), Self::Boolean(of)) => gather(rows, of, places),
            (Self::Int32(rows), Self::Int32(of)) => gather(rows, of, places),
            (Self::Int64(rows), Self::Int64(of)) => gather(rows, of, places),
            (Self::Float(rows), Self::Float(of)) => gather(rows, of, places),
            (Self::Double(rows), Self::Double(of)) => gather(rows, of, places),
            (Self::Bytes(rows), Self::Bytes(of)) => places.iter().try_for_each(|place| {
                let place = usize::try_from(*place).ok().filter(|place| *place < of.len());
                push(rows, of.get(place.ok_or_else(no_entry)?))
            }),
            _ => Err(Error::damaged("a dictionary of another type")),
        }
    }
}

fn gather<T: Copy>(rows: &mut Vec<T>, of: &[T], places: &[u32]) -> Result<()> {
    rows.reserve(places.len());
    for place in places {
        let value = usize::try_from(*place).ok().and_then(|place| of.get(place));
        rows.push(*value.ok_or_else(no_entry)?);
    }
    Ok(())
}

fn no_entry() -> Error {
    Error::damaged("a value that its dictionary does not have")
}

/// The largest total length, in bytes, of one column's strings in one batch.
const BATCH_BYTES_MAX: usize = 1 << 30;

fn push(rows: &mut ByteRows, bytes: &[u8]) -> Result<()> {
    if rows.total() + bytes.len() > BATCH_BYTES_MAX {
        return Err(Error::not_supported("strings of more than 1 GB in 1,024 rows"));
    }
    rows.push(bytes);
    Ok(())
}

/// A reader's position in the values of a page, by encoding.
pub(crate) enum Values {
    /// PLAIN: the byte offset of the next value; for booleans the bit offset.
    Plain(usize),
    Dictionary(Hybrid),
    /// RLE: booleans, encoded like levels.
    Rle(Hybrid),
    Delta(Delta),
    /// DELTA_LENGTH_BYTE_ARRAY: the lengths, and the offset of the next value.
    DeltaLength(Delta, usize),
    /// DELTA_BYTE_ARRAY: lengths of the shared prefixes, lengths of the suffixes, the offset of the
    /// next suffix, and the previous value.
    DeltaBytes(Delta, Delta, usize, Vec<u8>),
    /// BYTE_STREAM_SPLIT: first all first bytes, then all second bytes, and so on. The offset, the
    /// number of values, and how many have been returned.
    Split(usize, usize, usize),
}

impl Values {
    /// Starts at the values of a page, which begin at `at`.
    pub(crate) fn new(page: &Page, at: usize, physical: Physical) -> Result<Self> {
        let (bytes, end) = (&page.bytes, page.bytes.len());
        let delta = |at: usize| {
            let delta = Delta::new(bytes, at, end)?;
            if delta.left() > u64::try_from(page.values).unwrap_or(0) {
                return Err(Error::damaged("a page with more values than its head says"));
            }
            Ok(delta)
        };
        Ok(match (page.encoding, physical) {
            (Encoding::Plain, Physical::Boolean) => Self::Plain(at * 8),
            (Encoding::Plain, _) => Self::Plain(at),
            // Without values, even the bit width may be missing.
            (Encoding::Dictionary, _) => match bytes.get(at) {
                Some(width) => Self::Dictionary(Hybrid::new(at + 1, end, *width)?),
                None => Self::Dictionary(Hybrid::new(at, end, 0)?),
            },
            (Encoding::Rle, Physical::Boolean) => {
                let (start, end) = counted(bytes, at)?;
                Self::Rle(Hybrid::new(start, end, 1)?)
            }
            (Encoding::DeltaBinaryPacked, Physical::Int32 | Physical::Int64) => {
                Self::Delta(delta(at)?)
            }
            (Encoding::DeltaLengthByteArray, Physical::Bytes) => {
                let lengths = delta(at)?;
                let (start, sum) = lengths.clone().lengths_end(bytes)?;
                check_sum(sum, end - start.min(end))?;
                Self::DeltaLength(lengths, start)
            }
            (Encoding::DeltaByteArray, Physical::Bytes | Physical::Fixed(_)) => {
                let shared = delta(at)?;
                let (start, _) = shared.clone().lengths_end(bytes)?;
                let lengths = delta(start)?;
                let (start, sum) = lengths.clone().lengths_end(bytes)?;
                check_sum(sum, end - start.min(end))?;
                Self::DeltaBytes(shared, lengths, start, Vec::new())
            }
            (Encoding::ByteStreamSplit, physical) if width_of(physical).is_some() => {
                let width = width_of(physical).unwrap_or(1);
                Self::Split(at, (end - at.min(end)) / width, 0)
            }
            (encoding, physical) => {
                let what = format!("the encoding {encoding:?} of values that are {physical:?}");
                return Err(Error::not_supported(what));
            }
        })
    }

    /// Decodes the next `count` values and appends them to `raw`. `places` is a buffer for
    /// dictionary indexes.
    pub(crate) fn read(
        &mut self,
        (bytes, count): (&[u8], usize),
        physical: Physical,
        dictionary: Option<&Raw>,
        raw: &mut Raw,
        places: &mut Vec<u32>,
    ) -> Result<()> {
        match self {
            Self::Plain(at) => plain(bytes, at, count, physical, raw),
            Self::Dictionary(hybrid) => {
                let dictionary = dictionary
                    .ok_or_else(|| Error::damaged("a page that needs a dictionary without one"))?;
                places.clear();
                hybrid.read(bytes, count, places)?;
                raw.look_up(dictionary, places)
            }
            Self::Rle(hybrid) => {
                let Raw::Boolean(rows) = raw else { return Err(other_type()) };
                places.clear();
                hybrid.read(bytes, count, places)?;
                rows.extend(places.iter().map(|bit| *bit != 0));
                Ok(())
            }
            Self::Delta(delta) => match raw {
                Raw::Int64(rows) => (0..count).try_for_each(|_| {
                    rows.push(delta.next(bytes)?);
                    Ok(())
                }),
                Raw::Int32(rows) => (0..count).try_for_each(|_| {
                    rows.push(low_half(delta.next(bytes)?));
                    Ok(())
                }),
                _ => Err(other_type()),
            },
            Self::DeltaLength(lengths, at) => {
                let Raw::Bytes(rows) = raw else { return Err(other_type()) };
                (0..count).try_for_each(|_| push(rows, counted_part(bytes, lengths, at)?))
            }
            Self::DeltaBytes(shared, lengths, at, before) => {
                let Raw::Bytes(rows) = raw else { return Err(other_type()) };
                (0..count).try_for_each(|_| {
                    let kept = usize::try_from(shared.next(bytes)?);
                    let kept = kept.ok().filter(|kept| *kept <= before.len());
                    before
                        .truncate(kept.ok_or_else(|| Error::damaged("a value that shares more"))?);
                    before.extend_from_slice(counted_part(bytes, lengths, at)?);
                    check_width(physical, before.len())?;
                    push(rows, before)
                })
            }
            Self::Split(at, values, given) => {
                if *given + count > *values {
                    return Err(ends_early());
                }
                split((bytes, *at, *values), *given..*given + count, physical, raw)?;
                *given += count;
                Ok(())
            }
        }
    }
}

/// Differences of 32-bit numbers wrap around at 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "takes the low half")]
const fn low_half(value: i64) -> i32 {
    value as i32
}

fn other_type() -> Error {
    Error::damaged("values of another type")
}

fn ends_early() -> Error {
    Error::damaged("a page with fewer values than its head says")
}

fn check_sum(sum: u64, have: usize) -> Result<()> {
    if usize::try_from(sum).is_ok_and(|sum| sum <= have) { Ok(()) } else { Err(ends_early()) }
}

fn check_width(physical: Physical, len: usize) -> Result<()> {
    match physical {
        Physical::Fixed(width) if width != len => {
            Err(Error::damaged("a value of another length than all have"))
        }
        _ => Ok(()),
    }
}

/// Returns the next string, whose length is the next in `lengths`.
fn counted_part<'b>(bytes: &'b [u8], lengths: &mut Delta, at: &mut usize) -> Result<&'b [u8]> {
    let len = usize::try_from(lengths.next(bytes)?).ok();
    let end = len.and_then(|len| at.checked_add(len)).ok_or_else(ends_early)?;
    let part = bytes.get(*at..end).ok_or_else(ends_early)?;
    *at = end;
    Ok(part)
}

/// Returns where the bytes behind a 4-byte length begin and end.
pub(crate) fn counted(bytes: &[u8], at: usize) -> Result<(usize, usize)> {
    let len = bytes.get(at..at.saturating_add(4)).and_then(|len| <[u8; 4]>::try_from(len).ok());
    let len = len.and_then(|len| usize::try_from(u32::from_le_bytes(len)).ok());
    let end = len.and_then(|len| (at + 4).checked_add(len)).filter(|end| *end <= bytes.len());
    Ok((at + 4, end.ok_or_else(ends_early)?))
}

/// Returns the bytes of each value; `None` if they vary.
const fn width_of(physical: Physical) -> Option<usize> {
    match physical {
        Physical::Int32 | Physical::Float => Some(4),
        Physical::Int64 | Physical::Double => Some(8),
        Physical::Int96 => Some(12),
        Physical::Fixed(width) => Some(width),
        Physical::Boolean | Physical::Bytes => None,
    }
}

/// Decodes PLAIN values and appends them to `raw`.
pub(crate) fn plain(
    bytes: &[u8],
    at: &mut usize,
    count: usize,
    physical: Physical,
    raw: &mut Raw,
) -> Result<()> {
    if let Raw::Boolean(rows) = raw {
        let end = *at + count;
        if end.div_ceil(8) > bytes.len() {
            return Err(ends_early());
        }
        rows.extend((*at..end).map(|bit| bytes[bit / 8] >> (bit % 8) & 1 != 0));
        *at = end;
        return Ok(());
    }
    let Some(width) = width_of(physical) else {
        let Raw::Bytes(rows) = raw else { return Err(other_type()) };
        for _ in 0..count {
            let (start, end) = counted(bytes, *at)?;
            push(rows, &bytes[start..end])?;
            *at = end;
        }
        return Ok(());
    };
    let size = count.checked_mul(width).ok_or_else(ends_early)?;
    let end = at.checked_add(size).ok_or_else(ends_early)?;
    let part = bytes.get(*at..end).ok_or_else(ends_early)?;
    *at = end;
    extend(part, width, raw)
}

/// Appends consecutive values of one width.
fn extend(part: &[u8], width: usize, raw: &mut Raw) -> Result<()> {
    match raw {
        Raw::Int32(rows) => rows.extend(part.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b))),
        Raw::Int64(rows) => rows.extend(part.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b))),
        Raw::Float(rows) => rows.extend(part.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))),
        Raw::Double(rows) => rows.extend(part.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b))),
        Raw::Bytes(rows) => {
            return part.chunks_exact(width).try_for_each(|value| push(rows, value));
        }
        Raw::Boolean(_) => return Err(other_type()),
    }
    Ok(())
}

/// Appends values whose bytes are in separate streams (BYTE_STREAM_SPLIT).
fn split(
    (bytes, at, values): (&[u8], usize, usize),
    rows: std::ops::Range<usize>,
    physical: Physical,
    raw: &mut Raw,
) -> Result<()> {
    let width = width_of(physical).ok_or_else(other_type)?;
    let mut value = vec![0; width];
    for row in rows {
        for (place, byte) in value.iter_mut().enumerate() {
            *byte = *bytes.get(at + place * values + row).ok_or_else(ends_early)?;
        }
        extend(&value, width, raw)?;
    }
    Ok(())
}
