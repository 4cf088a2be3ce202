//! Values as text in JSON and XML: escaping, and the form of every type. FOR JSON and FOR XML share it with functions.

use std::fmt::Write as _;

use sos::sched::Pace;
use types::text::str_pieces;
use types::value::ColumnType;
use types::{Collation, ConvertOptions, DataType, Length, Mode, Result, Value};

use super::Form;
use crate::long;

/// Writes text in the form that it has between the quotes of JSON.
pub fn escape(text: &str, out: &mut String) {
    for piece in str_pieces(text) {
        long::reserve(out, ESCAPED_TIMES * piece.len());
        escape_piece(piece, out);
        if piece.len() < text.len() && long::is_cancelled() {
            break;
        }
    }
}

/// Bytes of the longest form of a character that has one byte: `\u0000`, `&quot;`.
pub const ESCAPED_TIMES: usize = 6;

fn escape_piece(text: &str, out: &mut String) {
    let mut pace = Pace::new();
    for c in text.chars() {
        pace.tick();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                // Writing to a String can't fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// Writes a string of JSON.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Writes a value of a type as JSON.
///
/// # Errors
/// Those of converting the value to text; 701 if there is no memory for a long one.
pub fn push_value(value: &Value, ty: &ColumnType, form: Form, out: &mut String) -> Result<()> {
    /// Bytes of a long value's text, which is decoded or encoded and then escaped, for each of its bytes.
    const TIMES: usize = 4;
    long::ask(TIMES * value.string_bytes().map_or(0, <[u8]>::len))?;
    match value {
        Value::Null => out.push_str("null"),
        Value::Bit(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::VarBinary(bytes) => push_string(&base64(bytes), out),
        Value::Variant(inner) => push_value(&inner.0, &inner.1, form, out)?,
        Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_)
        | Value::Decimal(_)
        | Value::Money(_)
        | Value::Real(_)
        | Value::Float(_) => out.push_str(&number(value, ty)?),
        Value::VarChar(_) | Value::NVarChar(_) => {
            let text = long::text(value, ty.collation)?.unwrap_or_default();
            match form {
                Form::Json => {
                    long::reserve(out, text.len());
                    out.push_str(&text);
                }
                Form::Text => push_string(&text, out),
            }
        }
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime { .. }
        | Value::SmallDateTime { .. }
        | Value::DateTime2 { .. }
        | Value::DateTimeOffset { .. }
        | Value::UniqueIdentifier(_) => push_string(&xsd_text(value, ty)?, out),
    }
    Ok(())
}

fn number(value: &Value, ty: &ColumnType) -> Result<String> {
    let style = match value {
        // Money with all four decimals.
        Value::Money(_) => 2,
        Value::Float(_) => 2,
        Value::Real(_) => 1,
        _ => 0,
    };
    as_text(value, ty, style)
}

/// Converts a value to text by a style of CONVERT.
///
/// # Errors
/// Those of the conversion.
pub fn as_text(value: &Value, ty: &ColumnType, style: i32) -> Result<String> {
    let to = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(4_000)),
        collation: Collation::default(),
        nullable: true,
    };
    let text = types::convert(value, ty, &to, style, Mode::Explicit, &ConvertOptions::default())?;
    Ok(text.as_text(to.collation).unwrap_or_default())
}

/// The form of XML Schema, which JSON and XML share: ISO 8601 with a `T`, without a fraction of zero,
/// UTC as `Z`; two's decimals of floats in full.
///
/// # Errors
/// Those of converting the value to text.
pub fn xsd_text(value: &Value, ty: &ColumnType) -> Result<String> {
    let style = match value {
        Value::DateTime { .. }
        | Value::SmallDateTime { .. }
        | Value::DateTime2 { .. }
        | Value::DateTimeOffset { .. } => 126,
        Value::Float(_) | Value::Money(_) => 2,
        Value::Real(_) => 1,
        _ => 0,
    };
    let mut text = as_text(value, ty, style)?;
    if let Some(point) = text.find('.').filter(|_| is_moment(value)) {
        let rest = &text[point + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if rest[..digits].bytes().all(|b| b == b'0') {
            text.replace_range(point..=point + digits, "");
        }
    }
    if matches!(value, Value::DateTimeOffset { offset: 0, .. })
        && let Some(utc) = text.strip_suffix("+00:00")
    {
        text = format!("{utc}Z");
    }
    Ok(text)
}

fn is_moment(value: &Value) -> bool {
    matches!(
        value,
        Value::Time(_)
            | Value::DateTime { .. }
            | Value::SmallDateTime { .. }
            | Value::DateTime2 { .. }
            | Value::DateTimeOffset { .. }
    )
}

/// The base 64 form of bytes (RFC 4648, with padding).
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    let mut pace = Pace::new();
    for chunk in bytes.chunks(3) {
        pace.tick();
        let word =
            chunk.iter().fold(0_u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// Decodes a base 64 text; `None` if it is invalid.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits, mut pace) = (0_u32, 0, Pace::new());
    for byte in text.trim_end_matches('=').bytes().filter(|b| !b.is_ascii_whitespace()) {
        pace.tick();
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = word << 6 | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(word >> bits & 0xFF).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_goes_there_and_back() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(bytes), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes));
        }
        assert_eq!(from_base64("*"), None);
    }
}
