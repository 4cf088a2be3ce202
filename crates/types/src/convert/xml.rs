//! Converts to `xml`: parses the text and writes it back in canonical form.

use super::{Context, Pause};
use crate::xml::{self, Encoding, ROOT, Whitespace};
use crate::{Msg, Result, Value, text};

/// CONVERT's style bit that keeps white space between tags.
const STYLE_PRESERVE: i32 = 1;
/// CONVERT's style bit that allows a document type definition.
const STYLE_DTD: i32 = 2;

/// Bytes at the start of a text in which its XML declaration ends.
const DECLARATION_BYTES_MAX: usize = 1_024;

impl Context<'_> {
    /// Converts a string or binary to `xml`.
    pub(super) fn to_xml(self, value: &Value) -> Result<Value> {
        if self.style & STYLE_DTD != 0 {
            return Err(Msg::NotSupported("CONVERT to xml with a style that allows a DTD").into());
        }
        let (source, encoding) = match value {
            Value::NVarChar(_) => (self.source_text(value)?, Encoding::Wide),
            Value::VarChar(bytes) => (self.narrow_text(bytes, value)?, Encoding::Narrow),
            Value::VarBinary(bytes) => binary_text(bytes, self.options.pause),
            _ => return Err(self.clash()),
        };
        let whitespace =
            if self.style & STYLE_PRESERVE == 0 { Whitespace::Strip } else { Whitespace::Preserve };
        let pause = self.options.pause;
        // The caller looks after a result that is no longer wanted, and does not see this error.
        let document = xml::parse_paced(&source, encoding, whitespace, |_| {
            if pause.call() { Ok(()) } else { Err(self.failed()) }
        })?;
        let mut out = String::with_capacity(source.len());
        document.write_pausing(ROOT, &mut out, pause);
        Ok(Value::NVarChar(text::to_utf16_pausing(&out, pause)))
    }

    /// Decodes bytes of a code page, or of UTF-8 if the XML declaration says so.
    fn narrow_text(&self, bytes: &[u8], value: &Value) -> Result<String> {
        let declared = bytes.starts_with(b"<?xml")
            && bytes[..bytes.len().min(DECLARATION_BYTES_MAX)]
                .split(|b| *b == b'>')
                .next()
                .is_some_and(|head| {
                    let head = head.to_ascii_lowercase();
                    head.windows(5).any(|w| w == b"utf-8")
                });
        match std::str::from_utf8(bytes) {
            Ok(utf8) if declared => Ok(utf8.to_owned()),
            _ => self.source_text(value),
        }
    }
}

/// Decodes binary: UTF-16 if it starts with a byte order mark, else UTF-8.
fn binary_text(bytes: &[u8], pause: Pause) -> (String, Encoding) {
    match bytes {
        [0xff, 0xfe, rest @ ..] => (text::from_utf16_pausing(rest, pause), Encoding::Wide),
        [b'<', 0, ..] => (text::from_utf16_pausing(bytes, pause), Encoding::Wide),
        _ => (String::from_utf8_lossy(bytes).into_owned(), Encoding::Narrow),
    }
}
