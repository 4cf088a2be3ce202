//! A reader of JSON text (RFC 8259): a tree of values, each with its place in the text.
//!
//! Values stay text: numbers are not computed with, and JSON_MODIFY combines pieces of text so that
//! unchanged parts keep their form.

use std::ops::Range;

use plan::long::{Growing, push};
use sos::sched::Pace;
use types::{Error, Msg, Result};

/// Maximum nesting: deeper text counts as malformed, as in SQL Server.
const DEPTH_MAX: u32 = 128;

/// A value of a JSON text.
#[derive(Debug)]
pub struct Node {
    /// Type of the value.
    pub kind: Kind,
    /// Byte range in the text.
    pub span: Range<usize>,
}

/// The type of a JSON value.
#[derive(Debug)]
pub enum Kind {
    /// The literal `null`, not SQL's NULL.
    Null,
    /// The literal `true` or `false`.
    Bool,
    /// A number, unparsed; see `span`.
    Number,
    /// A string, without its quotes and with its escapes resolved.
    String(String),
    /// Elements of the array in order.
    Array(Vec<Node>),
    /// Properties of the object in order.
    Object(Vec<Property>),
}

/// A property of an object.
#[derive(Debug)]
pub struct Property {
    /// Name, with its escapes resolved.
    pub name: String,
    /// Byte offset of its name, quote included.
    pub start: usize,
    /// Value of the property.
    pub value: Node,
}

impl Node {
    /// Returns the value of a scalar as text; `None` for null, arrays and objects.
    pub fn scalar<'t>(&'t self, text: &'t str) -> Option<&'t str> {
        match &self.kind {
            Kind::String(value) => Some(value),
            Kind::Number | Kind::Bool => Some(&text[self.span.clone()]),
            Kind::Null | Kind::Array(_) | Kind::Object(_) => None,
        }
    }

    /// Returns whether this is an array or object.
    pub fn is_structure(&self) -> bool {
        matches!(self.kind, Kind::Array(_) | Kind::Object(_))
    }
}

/// Parses a whole text.
///
/// # Errors
/// 701 if the memory limit leaves no room for the tree, 13609 with the unexpected character and its 0-based position in characters.
pub(super) fn parse(text: &str) -> Result<Node> {
    let mut reader =
        Reader { text, at: 0, depth: 0, memory: Growing::default(), pace: Pace::new() };
    reader.skip_blank();
    let node = reader.value()?;
    reader.skip_blank();
    if reader.at < text.len() {
        return Err(reader.unexpected());
    }
    Ok(node)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
    /// The tree's: it is several times as large as the text.
    memory: Growing,
    pace: Pace,
}

/// Places in a growing vector for each element: at most half of it is empty.
const PLACES: usize = 2;

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn unexpected(&self) -> Error {
        let position = self.text[..self.at].encode_utf16().count();
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        // At the end of the text, SQL Server's message has a point as the character.
        let character = self.text[self.at..].chars().next().unwrap_or('.');
        Error::from(Msg::JsonText(character, position)).with_state(4)
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Node> {
        self.pace.tick();
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => {
                let string = self.string()?;
                self.memory.take(string.capacity())?;
                Kind::String(string)
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Kind::Bool)?,
            Some(b'f') => self.word("false", Kind::Bool)?,
            Some(b'n') => self.word("null", Kind::Null)?,
            _ => return Err(self.unexpected()),
        };
        Ok(Node { kind, span: start..self.at })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Kind>) -> Result<Kind> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.unexpected());
        }
        self.at += 1;
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn object(&mut self) -> Result<Kind> {
        let mut properties = Vec::new();
        self.skip_blank();
        if self.eat(b'}') {
            return Ok(Kind::Object(properties));
        }
        loop {
            self.skip_blank();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let name = self.string()?;
            self.skip_blank();
            if !self.eat(b':') {
                return Err(self.unexpected());
            }
            self.skip_blank();
            let value = self.value()?;
            self.memory.take(PLACES * size_of::<Property>() + name.capacity())?;
            push(&mut properties, Property { name, start, value })?;
            self.skip_blank();
            if self.eat(b'}') {
                return Ok(Kind::Object(properties));
            }
            if !self.eat(b',') {
                return Err(self.unexpected());
            }
        }
    }

    fn array(&mut self) -> Result<Kind> {
        let mut elements = Vec::new();
        self.skip_blank();
        if self.eat(b']') {
            return Ok(Kind::Array(elements));
        }
        loop {
            self.skip_blank();
            let element = self.value()?;
            self.memory.take(PLACES * size_of::<Node>())?;
            push(&mut elements, element)?;
            self.skip_blank();
            if self.eat(b']') {
                return Ok(Kind::Array(elements));
            }
            if !self.eat(b',') {
                return Err(self.unexpected());
            }
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind> {
        for byte in word.bytes() {
            if !self.eat(byte) {
                return Err(self.unexpected());
            }
        }
        Ok(kind)
    }

    fn digits(&mut self) -> Result<()> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.unexpected());
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Kind> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        Ok(Kind::Number)
    }

    fn string(&mut self) -> Result<String> {
        self.at += 1;
        let mut units: Vec<u16> = Vec::new();
        let mut buffer = [0; 2];
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(String::from_utf16_lossy(&units));
                }
                Some(b'\\') => {
                    self.at += 1;
                    units.push(self.escape()?);
                }
                None | Some(0..=0x1F) => return Err(self.unexpected()),
                Some(_) => {
                    let Some(c) = self.text[self.at..].chars().next() else {
                        return Err(self.unexpected());
                    };
                    units.extend_from_slice(c.encode_utf16(&mut buffer));
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// Reads what follows a backslash; two `\u` escapes may form one character.
    fn escape(&mut self) -> Result<u16> {
        let unit = match self.peek() {
            Some(b @ (b'"' | b'\\' | b'/')) => u16::from(b),
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => 10,
            Some(b'r') => 13,
            Some(b't') => 9,
            Some(b'u') => {
                let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
                let digits = digits.and_then(|d| std::str::from_utf8(d).ok());
                let hex = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                let Some(unit) = hex.and_then(|d| u16::from_str_radix(d, 16).ok()) else {
                    return Err(self.unexpected());
                };
                self.at += 4;
                unit
            }
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_with_the_places_of_its_values() {
        let text = r#" {"a": [1, "x\u00e9\n"], "b": null} "#;
        let node = parse(text).unwrap();
        let Kind::Object(properties) = &node.kind else { panic!("an object") };
        assert_eq!(&text[properties[0].value.span.clone()], r#"[1, "x\u00e9\n"]"#);
        let Kind::Array(elements) = &properties[0].value.kind else { panic!("an array") };
        assert_eq!(elements[1].scalar(text), Some("x\u{e9}\n"));
        assert_eq!(properties[1].value.scalar(text), None);
    }

    #[test]
    fn malformed_text_is_an_error_with_its_place() {
        for (text, position) in
            [("{a:1}", 1), ("[1,]", 3), ("", 0), ("{\"a\":01}", 6), ("1 2", 2), ("\"a", 2)]
        {
            let error = parse(text).unwrap_err();
            assert_eq!(error.number, 13_609, "{text}");
            assert!(error.message.contains(&format!("position {position}.")), "{}", error.message);
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_err());
    }
}
