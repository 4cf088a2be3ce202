//! Converts to strings: `char`, `varchar`, `text`, and their Unicode counterparts.

use super::float_text::{general, money, scientific};
use super::{AnsiWarnings, Context, Mode};
use crate::collation::CodePage;
use crate::text::Width;
use crate::{Bytes, DataType, Length, Msg, Result, Value, date, text};

/// What to do with a text that is too long for its target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TooLong {
    /// Cut it; an assignment is refused.
    Cut,
    /// Report an overflow: a number that is cut would be misread.
    Refuse,
    /// As `Refuse`, but write an asterisk if the target is not Unicode.
    Asterisk,
}

impl Context<'_> {
    /// Converts to a string type in a code page.
    pub(super) fn to_text(self, value: &Value) -> Result<Value> {
        let to = self.to.collation;
        let bytes = match value {
            Value::VarChar(bytes) if self.from.collation.code_page() == to.code_page() => {
                bytes.clone()
            }
            Value::VarChar(bytes) if bytes.is_ascii() => bytes.clone(),
            Value::VarChar(bytes) => {
                let from = self.from.collation;
                self.in_pieces(bytes, Width::of_bytes(from), 1, |piece| {
                    text::to_code_page(&text::from_code_page(piece, from), to)
                })
            }
            Value::NVarChar(units) => {
                self.in_pieces(units, Width::Pairs, 1, |piece| text::utf16_to_code_page(piece, to))
            }
            Value::VarBinary(bytes) => self.bytes_text(bytes, 1)?,
            _ => {
                let (text, too_long) = self.plain_text(value)?;
                let bytes = text::to_code_page(&text, to);
                return self.fit_plain(bytes, too_long, 1).map(Value::VarChar);
            }
        };
        self.fit(bytes, 1).map(Value::VarChar)
    }

    /// Converts to a Unicode string type.
    pub(super) fn to_unicode_text(self, value: &Value) -> Result<Value> {
        let units = match value {
            Value::NVarChar(units) => units.clone(),
            Value::VarChar(bytes) => {
                let from = self.from.collation;
                let width = Width::of_bytes(from);
                self.in_pieces(bytes, width, 2, |piece| text::code_page_to_utf16(piece, from))
            }
            Value::VarBinary(bytes) => self.bytes_text(bytes, 2)?,
            _ => {
                let (text, too_long) = self.plain_text(value)?;
                return self.fit_plain(text::to_utf16(&text), too_long, 2).map(Value::NVarChar);
            }
        };
        self.fit(units, 2).map(Value::NVarChar)
    }

    /// Converts a long string piece by piece, with pauses in between. `unit` is the size of a character in the target.
    fn in_pieces(
        self,
        bytes: &[u8],
        width: Width,
        unit: usize,
        convert: impl Fn(&[u8]) -> Bytes,
    ) -> Bytes {
        if bytes.len() <= text::PIECE_BYTES {
            return convert(bytes);
        }
        let most = self.kept_max(unit);
        let (mut pieces, mut made) = (Vec::new(), 0);
        for piece in width.pieces(bytes) {
            if made > most {
                break;
            }
            let piece = convert(piece);
            made += piece.len();
            pieces.push(piece);
            if !self.options.pause.call() {
                break;
            }
        }
        text::join_pieces(&pieces, self.options.pause)
    }

    /// Returns how many bytes of a result matter: those of a longer one are cut without a look at them, except where
    /// only blanks may be.
    fn kept_max(self, unit: usize) -> usize {
        let limit = self.limit(unit).filter(|_| self.refuse_cut().is_ok());
        limit.unwrap_or(usize::MAX)
    }

    /// Writes binary as text: the bytes themselves (style 0), or hex digits with `0x` (1) or
    /// without (2). `unit` is the size of a character.
    fn bytes_text(self, bytes: &Bytes, unit: usize) -> Result<Bytes> {
        /// Bytes whose digits make a piece.
        const MANY: usize = text::PIECE_BYTES / 4;
        let prefix: &[u8] = match self.style {
            0 if unit == 2 => return Ok(whole_units(bytes)),
            0 => return Ok(bytes.clone()),
            1 => b"0x",
            2 => b"",
            _ => return Err(self.invalid_style()),
        };
        // One byte more than fits: that something is cut decides about errors.
        let kept = (self.kept_max(unit) / (2 * unit)).saturating_add(1).min(bytes.len());
        if kept <= MANY {
            return Ok(hex(prefix, &bytes[..kept], unit));
        }
        let mut pieces = vec![hex(prefix, b"", unit)];
        for piece in bytes[..kept].chunks(MANY) {
            pieces.push(hex(b"", piece, unit));
            if !self.options.pause.call() {
                break;
            }
        }
        Ok(text::join_pieces(&pieces, self.options.pause))
    }

    /// Writes a value that is neither string nor binary.
    fn plain_text(self, value: &Value) -> Result<(String, TooLong)> {
        let integer = match self.from.data_type {
            DataType::BigInt => TooLong::Refuse,
            _ => TooLong::Asterisk,
        };
        Ok(match value {
            Value::Bit(v) => (u8::from(*v).to_string(), TooLong::Asterisk),
            Value::TinyInt(v) => (v.to_string(), integer),
            Value::SmallInt(v) => (v.to_string(), integer),
            Value::Int(v) => (v.to_string(), integer),
            Value::BigInt(v) => (v.to_string(), integer),
            Value::Decimal(v) => (v.to_string(), TooLong::Refuse),
            Value::Money(v) => (money(*v, self.style), TooLong::Refuse),
            Value::Real(v) => (self.float_text(f64::from(*v), 9)?, TooLong::Refuse),
            Value::Float(v) => (self.float_text(*v, 17)?, TooLong::Refuse),
            Value::UniqueIdentifier(guid) => (super::bytes::guid_text(guid), TooLong::Refuse),
            _ => {
                let text =
                    date::format(value, &self.from.data_type, self.style, self.options.language)?;
                (text, TooLong::Cut)
            }
        })
    }

    fn float_text(self, value: f64, lossless: usize) -> Result<String> {
        Ok(match self.style {
            0 => general(value, 6),
            1 => scientific(value, 8),
            2 => scientific(value, 16),
            3 => scientific(value, lossless),
            126 | 128 | 129 => general(value, lossless),
            _ => return Err(self.invalid_style()),
        })
    }

    fn invalid_style(self) -> crate::Error {
        Msg::InvalidStyle(i64::from(self.style), self.source_name()).into()
    }

    /// Fits the text of a number, a guid or a date into the target.
    fn fit_plain(self, text: Bytes, too_long: TooLong, unit: usize) -> Result<Bytes> {
        let fits = self.limit(unit).is_none_or(|limit| text.len() <= limit);
        match too_long {
            _ if fits => self.fit(text, unit),
            TooLong::Cut => self.fit(text, unit),
            TooLong::Asterisk if unit == 1 => self.fit(Bytes::copy_from(b"*"), unit),
            TooLong::Asterisk => Err(Msg::ArithmeticOverflow(self.target_name()).into()),
            TooLong::Refuse => Err(match self.from.data_type {
                DataType::UniqueIdentifier => Msg::GuidResultSpace.into(),
                DataType::Money | DataType::SmallMoney => {
                    Msg::MoneyResultSpace(self.target_name()).into()
                }
                DataType::BigInt => Msg::ArithmeticOverflow(self.target_name()).into(),
                _ => self.overflow(),
            }),
        }
    }

    /// Cuts or pads a text to the target's declared length. `unit` is the size of a character.
    fn fit(self, text: Bytes, unit: usize) -> Result<Bytes> {
        let Some(limit) = self.limit(unit) else { return Ok(text) };
        if text.len() == limit || text.len() < limit && !self.to.data_type.is_fixed_string() {
            return Ok(text);
        }
        let blank = if unit == 2 { b" \0".as_slice() } else { b" ".as_slice() };
        if text.len() < limit {
            let mut padded = Vec::with_capacity(limit);
            padded.extend_from_slice(&text);
            (text.len()..limit).step_by(unit).for_each(|_| padded.extend_from_slice(blank));
            return Ok(Bytes::from(padded));
        }
        let page = self.to.collation.code_page();
        let end = match unit == 1 && !page.is_single_byte() {
            true => last_start(&text, page, limit),
            false => limit,
        };
        let (kept, cut) = text.split_at(end);
        // Trailing blanks are cut without an error.
        if !cut.chunks(unit).all(|c| c == blank) {
            self.refuse_cut()?;
        }
        self.fit(Bytes::copy_from(kept), unit)
    }

    /// Returns the target's limit in bytes, `None` for `max`.
    fn limit(self, unit: usize) -> Option<usize> {
        match self.to.data_type.length() {
            Some(Length::Limited(n)) => Some(usize::from(n) * unit),
            Some(Length::Max) | None => None,
        }
    }

    /// Returns the error for a cut value in the modes that have one.
    pub(super) fn refuse_cut(self) -> Result<()> {
        match (self.mode, self.options.ansi_warnings) {
            (Mode::Assignment, AnsiWarnings::On) => Err(Msg::StringTruncated.into()),
            (Mode::Assignment, AnsiWarnings::Off)
            | (Mode::Implicit | Mode::Explicit | Mode::Try, _) => Ok(()),
        }
    }
}

/// Returns a prefix and hex digits, as characters of one or two bytes.
fn hex(prefix: &[u8], bytes: &[u8], unit: usize) -> Bytes {
    let mut text = Vec::with_capacity((prefix.len() + 2 * bytes.len()) * unit);
    let mut push = |character: u8| {
        text.push(character);
        if unit == 2 {
            text.push(0);
        }
    };
    prefix.iter().for_each(|character| push(*character));
    for byte in bytes {
        for digit in [byte >> 4, byte & 0xF] {
            push(b"0123456789ABCDEF"[usize::from(digit)]);
        }
    }
    Bytes::from(text)
}

/// Reads bytes as UTF-16, completing a last odd one with a zero.
fn whole_units(bytes: &Bytes) -> Bytes {
    if bytes.len().is_multiple_of(2) {
        return bytes.clone();
    }
    let mut whole = bytes.to_vec();
    whole.push(0);
    Bytes::from(whole)
}

/// Returns the last place at or before `limit` where a character begins.
fn last_start(text: &[u8], page: CodePage, limit: usize) -> usize {
    let mut at = 0;
    loop {
        let next = at + page.first_len(&text[at..]);
        if next > limit {
            return at;
        }
        at = next;
    }
}
