//! ERROR and INFO: the server's messages ([MS-TDS] 2.2.7.10, 2.2.7.13).

use types::Error;

use super::columns::{put_b_varchar, put_us_varchar};
use super::{ResponseWriter, token};
use crate::sink::Sink;

/// The longest text of a message, in UTF-16 units: the token's length has two bytes.
const TEXT_UNITS_MAX: usize = 30_000;
/// The highest severity that is informational.
const INFO_SEVERITY_MAX: u8 = 10;

impl ResponseWriter {
    /// Writes a message: ERROR from severity 11 on, INFO below. `server` is the server's name.
    /// Severity 10 is sent as 0, as SQL Server documents it: clients take any other for an error.
    pub fn message(&mut self, error: &Error, server: &str) {
        let is_info = error.severity <= INFO_SEVERITY_MAX;
        let code = if is_info { token::INFO } else { token::ERROR };
        let mut content = Vec::with_capacity(64 + error.message.len() * 2);
        content.extend_from_slice(&error.number.to_le_bytes());
        let class = if error.severity == INFO_SEVERITY_MAX { 0 } else { error.severity };
        content.extend_from_slice(&[error.state, class]);
        put_us_varchar(&mut content, cut(&error.message));
        put_b_varchar(&mut content, server, 128);
        put_b_varchar(&mut content, &error.procedure, 128);
        if self.settings().version.has_wide_fields() {
            content.extend_from_slice(&error.line.to_le_bytes());
        } else {
            let line = u16::try_from(error.line).unwrap_or(u16::MAX);
            content.extend_from_slice(&line.to_le_bytes());
        }
        let length = u16::try_from(content.len()).expect("a message's text is cut");
        self.put(&[code]);
        self.put(&length.to_le_bytes());
        self.put(&content);
    }
}

/// Cuts a text that is too long for a token.
fn cut(text: &str) -> &str {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > TEXT_UNITS_MAX {
            return &text[..at];
        }
    }
    text
}
