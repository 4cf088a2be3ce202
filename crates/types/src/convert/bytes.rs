//! Converts to `binary`, `varbinary`, `image`, `rowversion` and `uniqueidentifier`.

use super::Context;
use crate::date::{DATETIME_DAYS_MAX, DATETIME_DAYS_MIN, DAYS_1900, Moment};
use crate::{Bytes, DataType, Length, Msg, Result, Value, text};

impl Context<'_> {
    /// Converts to a binary type. Numbers are right-aligned in it, all else left-aligned.
    pub(super) fn to_bytes(self, value: &Value) -> Result<Value> {
        let (bytes, is_number) = match value {
            Value::VarBinary(bytes) => (bytes.clone(), false),
            Value::VarChar(_) | Value::NVarChar(_) if self.style != 0 => {
                (self.parse_hex(value)?, false)
            }
            Value::VarChar(bytes) | Value::NVarChar(bytes) => (bytes.clone(), false),
            Value::UniqueIdentifier(guid) => (Bytes::copy_from(guid), false),
            Value::Bit(v) => (Bytes::copy_from(&[u8::from(*v)]), true),
            Value::TinyInt(v) => (Bytes::copy_from(&[*v]), true),
            Value::SmallInt(v) => (Bytes::copy_from(&v.to_be_bytes()), true),
            Value::Int(v) => (Bytes::copy_from(&v.to_be_bytes()), true),
            Value::BigInt(v) => (Bytes::copy_from(&v.to_be_bytes()), true),
            Value::Money(v) if self.from.data_type == DataType::SmallMoney => {
                (Bytes::copy_from(&v.to_be_bytes()[4..]), true)
            }
            Value::Money(v) => (Bytes::copy_from(&v.to_be_bytes()), true),
            Value::Real(v) => (Bytes::copy_from(&v.to_be_bytes()), true),
            Value::Float(v) => (Bytes::copy_from(&v.to_be_bytes()), true),
            Value::Decimal(v) => {
                let size = usize::from(crate::data_type::decimal_bytes(v.precision)) - 1;
                let mut stored = vec![v.precision, v.scale, 0, u8::from(v.mantissa() >= 0)];
                stored.extend_from_slice(&v.mantissa().unsigned_abs().to_le_bytes()[..size]);
                (Bytes::from(stored), false)
            }
            Value::DateTime { days, ticks } => {
                let stored = u64::from(days.cast_unsigned()) << 32 | u64::from(*ticks);
                (Bytes::copy_from(&stored.to_be_bytes()), true)
            }
            Value::SmallDateTime { days, minutes } => {
                let stored = u32::from(*days) << 16 | u32::from(*minutes);
                (Bytes::copy_from(&stored.to_be_bytes()), true)
            }
            _ => (self.moment_bytes(value).ok_or_else(|| self.clash())?, false),
        };
        self.fit_bytes(bytes, is_number).map(Value::VarBinary)
    }

    /// Stores a `date`, `time`, `datetime2` or `datetimeoffset`: scale, time, date, offset.
    fn moment_bytes(self, value: &Value) -> Option<Bytes> {
        let (days, ticks) = match value {
            Value::DateTimeOffset { days, ticks, .. } => (*days, *ticks),
            _ => Moment::from_value(value).map(|m| (m.days, m.ticks))?,
        };
        let scale = self.from.data_type.scale();
        let mut out = Vec::with_capacity(11);
        if !matches!(value, Value::Date(_)) {
            let size = usize::from(crate::data_type::time_bytes(scale));
            let units = ticks / 10_i64.pow(7 - u32::from(scale.min(7)));
            out.push(scale);
            out.extend_from_slice(&units.to_le_bytes()[..size]);
        }
        if !matches!(value, Value::Time(_)) {
            out.extend_from_slice(&days.to_le_bytes()[..3]);
        }
        if let Value::DateTimeOffset { offset, .. } = value {
            out.extend_from_slice(&offset.to_le_bytes());
        }
        Some(Bytes::from(out))
    }

    fn fit_bytes(self, bytes: Bytes, is_number: bool) -> Result<Bytes> {
        let limit = match self.to.data_type.length() {
            Some(Length::Limited(n)) => usize::from(n),
            Some(Length::Max) | None => return Ok(bytes),
        };
        let is_fixed = matches!(self.to.data_type, DataType::Binary(_) | DataType::RowVersion);
        if bytes.len() == limit || bytes.len() < limit && !is_fixed {
            return Ok(bytes);
        }
        if bytes.len() > limit {
            // A number that does not fit loses its highest digits.
            if is_number {
                return Ok(Bytes::copy_from(&bytes[bytes.len() - limit..]));
            }
            self.refuse_cut()?;
            return Ok(Bytes::copy_from(&bytes[..limit]));
        }
        let mut padded = vec![0; limit];
        let at = if is_number { limit - bytes.len() } else { 0 };
        padded[at..at + bytes.len()].copy_from_slice(&bytes);
        Ok(Bytes::from(padded))
    }

    /// Reads hex digits, with `0x` (style 1) or without (style 2).
    fn parse_hex(self, value: &Value) -> Result<Bytes> {
        let prefix = match self.style {
            1 => 2,
            2 => 0,
            _ => return Err(Msg::InvalidStyle(i64::from(self.style), self.source_name()).into()),
        };
        let (bytes, unit) = match value {
            Value::NVarChar(units) => (units, 2),
            Value::VarChar(bytes) => (bytes, 1),
            _ => return Err(self.clash()),
        };
        let (start, digits) = bytes.split_at_checked(prefix * unit).ok_or_else(|| self.failed())?;
        let is_start = matches!(start, [] | [b'0', b'x' | b'X'] | [b'0', 0, b'x' | b'X', 0]);
        if !is_start || !digits.len().is_multiple_of(2 * unit) {
            return Err(self.failed());
        }
        let read = |piece| {
            let bytes = if unit == 1 { hex_bytes(piece) } else { hex_bytes(&narrow(piece)) };
            bytes.map(Bytes::from).ok_or_else(|| self.failed())
        };
        if digits.len() <= text::PIECE_BYTES {
            return read(digits);
        }
        let mut pieces = Vec::with_capacity(digits.len().div_ceil(text::PIECE_BYTES));
        for piece in digits.chunks(text::PIECE_BYTES) {
            pieces.push(read(piece)?);
            if !self.options.pause.call() {
                break;
            }
        }
        Ok(text::join_pieces(&pieces, self.options.pause))
    }

    /// Converts to `uniqueidentifier`: from text or bytes.
    pub(super) fn to_guid(self, value: &Value) -> Result<Value> {
        match value {
            Value::UniqueIdentifier(_) => Ok(value.clone()),
            Value::VarChar(_) | Value::NVarChar(_) => {
                let text = text::trim(value, text::TrimSide::Left);
                parse_guid(&self.source_text(&text)?)
                    .map(Value::UniqueIdentifier)
                    .ok_or_else(|| Msg::GuidFromString.into())
            }
            Value::VarBinary(bytes) => {
                let mut guid = [0; 16];
                let len = bytes.len().min(16);
                guid[..len].copy_from_slice(&bytes[..len]);
                Ok(Value::UniqueIdentifier(guid))
            }
            _ => Err(self.clash()),
        }
    }

    /// Reads a `datetime` or `smalldatetime` from the right end of a binary value, a newer type
    /// from its stored form; `None` if the bytes are no valid date and time.
    pub(super) fn moment_of_bytes(self, bytes: &[u8]) -> Option<Moment> {
        let number = |tail: &[u8]| tail.iter().fold(0_u64, |v, b| v << 8 | u64::from(*b));
        let little = |part: &[u8]| part.iter().rev().fold(0_i64, |v, b| v << 8 | i64::from(*b));
        let last = |size: usize| number(&bytes[bytes.len().saturating_sub(size)..]);
        match self.to.data_type {
            DataType::DateTime => {
                let stored = last(8);
                let days = u32::try_from(stored >> 32).ok()?.cast_signed();
                let ticks = u32::try_from(stored & u64::from(u32::MAX)).ok()?;
                let valid = u64::from(ticks) < crate::date::DATETIME_TICKS_PER_DAY.unsigned_abs()
                    && (DATETIME_DAYS_MIN..=DATETIME_DAYS_MAX).contains(&days);
                valid.then(|| Moment::from_value(&Value::DateTime { days, ticks })).flatten()
            }
            DataType::SmallDateTime => {
                let stored = last(4);
                let days = u16::try_from(stored >> 16).ok()?;
                let minutes = u16::try_from(stored & 0xFFFF).ok().filter(|m| *m < 1_440)?;
                Moment::from_value(&Value::SmallDateTime { days, minutes })
            }
            _ => {
                let (time, rest) = match self.to.data_type {
                    DataType::Date => (0, bytes),
                    _ => {
                        let (scale, rest) = bytes.split_first()?;
                        let size = usize::from(crate::data_type::time_bytes(*scale));
                        let (time, rest) = rest.split_at_checked(size)?;
                        let unit = 10_i64.pow(7_u32.checked_sub(u32::from(*scale))?);
                        (little(time).checked_mul(unit)?, rest)
                    }
                };
                let is_time = matches!(self.to.data_type, DataType::Time(_));
                let days = match rest {
                    _ if is_time => DAYS_1900,
                    [a, b, c, ..] => i32::try_from(little(&[*a, *b, *c])).ok()?,
                    _ => return None,
                };
                let offset = match rest {
                    [_, _, _, a, b] => i16::from_le_bytes([*a, *b]),
                    _ => 0,
                };
                let valid = (0..crate::date::TICKS_PER_DAY).contains(&time)
                    && (0..=crate::date::DAYS_MAX).contains(&days);
                let moment = Moment { days, ticks: time, offset: 0 };
                let local = i64::from(offset) * crate::date::TICKS_PER_MINUTE;
                moment.plus_ticks(local).map(|m| Moment { offset, ..m }).filter(|_| valid)
            }
        }
    }
}

/// Returns the bytes of hex digits, of which there is an even number; `None` if one is no digit.
fn hex_bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let nibble = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for pair in digits.as_chunks::<2>().0 {
        bytes.push(nibble(pair[0])? << 4 | nibble(pair[1])?);
    }
    Some(bytes)
}

/// Returns the ASCII characters of UTF-16; a zero, which is no digit, for each other one.
fn narrow(units: &[u8]) -> Vec<u8> {
    units.as_chunks::<2>().0.iter().map(|unit| if unit[1] == 0 { unit[0] } else { 0 }).collect()
}

/// Writes a `uniqueidentifier` in its 36 characters, upper case.
pub(crate) fn guid_text(guid: &[u8; 16]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::with_capacity(36);
    for (i, at) in ORDER.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [guid[*at] >> 4, guid[*at] & 0xF] {
            text.extend(char::from_digit(u32::from(digit), 16).map(|c| c.to_ascii_uppercase()));
        }
    }
    text
}

/// Reads a `uniqueidentifier`, in braces or not; characters behind it are ignored.
fn parse_guid(text: &str) -> Option<[u8; 16]> {
    let text = match text.strip_prefix('{') {
        Some(inner) => inner.get(..37)?.strip_suffix('}')?,
        None => text.get(..36)?,
    };
    let mut digits = String::with_capacity(32);
    for (i, c) in text.chars().enumerate() {
        match (i, c) {
            (8 | 13 | 18 | 23, '-') => {}
            (8 | 13 | 18 | 23, _) => return None,
            _ => digits.push(c),
        }
    }
    let b: [u8; 16] = hex_bytes(digits.as_bytes())?.try_into().ok()?;
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    Some(ORDER.map(|at| b[at]))
}
