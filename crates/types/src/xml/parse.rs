//! Reads XML text: a document, or a fragment of several elements and texts, with name spaces.
//!
//! Text that is not well formed is an error of the 9400 family with line and character. A DOCTYPE
//! is refused, as CONVERT refuses it without the style that allows one.

use std::collections::HashSet;

use super::scope::Scope;
use super::{Builder, DEPTH_MAX, Document, QName, XML_URI};
use crate::text::{PIECE_BYTES, str_pieces};
use crate::{Error, Msg, Result};

/// The kind of string that the text came from; the encoding in its XML declaration must agree with
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-16, from `nchar` or `nvarchar`.
    Wide,
    /// Bytes of a code page or UTF-8.
    Narrow,
}

/// What becomes of white space between tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whitespace {
    /// It is removed, unless `xml:space="preserve"` keeps it.
    Strip,
    /// It is kept: style 1 of CONVERT.
    Preserve,
}

/// Reads a document or fragment.
///
/// # Errors
/// 9400 to 9459 for text that is not well formed, 6335 for too deep nesting, 6359 for a DOCTYPE.
pub fn parse(text: &str, encoding: Encoding, whitespace: Whitespace) -> Result<Document> {
    parse_paced(text, encoding, whitespace, |_| Ok(()))
}

/// As [`parse`]; calls `pace` at each tag and text, and at each piece of a long one, with the bytes of memory that the
/// document takes so far, so that the caller can let others run and stop where memory is short.
///
/// # Errors
/// As [`parse`], and those of `pace`.
pub fn parse_paced(
    text: &str,
    encoding: Encoding,
    whitespace: Whitespace,
    pace: impl FnMut(usize) -> Result<()>,
) -> Result<Document> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser {
        text,
        at: 0,
        builder: Builder::new(),
        open: Vec::new(),
        scope: Scope::default(),
        whitespace,
        pending: String::new(),
        keep: false,
        pace,
    };
    parser.declaration(encoding)?;
    while parser.at < text.len() {
        parser.pause()?;
        parser.item()?;
    }
    if !parser.open.is_empty() {
        return Err(parser.unexpected_end());
    }
    parser.flush_text()?;
    Ok(parser.builder.finish())
}

/// An element whose end tag has not been read.
struct Open<'t> {
    name: &'t str,
    /// Number of declarations in scope before it.
    scope: usize,
    /// Whether `xml:space` says to keep white space.
    preserve: bool,
}

struct Parser<'t, P> {
    text: &'t str,
    at: usize,
    builder: Builder,
    open: Vec<Open<'t>>,
    scope: Scope<'t, String>,
    whitespace: Whitespace,
    /// Text that was read but not yet added.
    pending: String,
    /// Whether the pending text holds more than white space as written: a reference or CDATA.
    keep: bool,
    /// What is called with the memory of the document so far.
    pace: P,
}

/// Attributes of a tag that are compared one by one.
const FEW: usize = 16;

/// A fault: makes its message from line and character.
type Fault = fn(i64, i64) -> Msg<'static>;

impl<'t, P: FnMut(usize) -> Result<()>> Parser<'t, P> {
    fn pause(&mut self) -> Result<()> {
        (self.pace)(self.builder.bytes())
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn fault(&self, fault: Fault) -> Error {
        self.fault_at(self.at, fault)
    }

    /// Makes an error for the character at a byte position.
    fn fault_at(&self, at: usize, fault: Fault) -> Error {
        let before = &self.text[..at.min(self.text.len())];
        // Bytes are counted, not characters: the text before may be long.
        let count = |text: &str, is: fn(u8) -> bool| text.bytes().filter(|b| is(*b)).count();
        let line = count(before, |byte| byte == b'\n') + 1;
        let last = before.rsplit('\n').next().unwrap_or_default();
        let column = count(last, |byte| byte & 0xC0 != 0x80) + count(last, |byte| byte >= 0xF0) + 1;
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        fault(number(line), number(column)).into()
    }

    /// The end of the text is reported at the last character.
    fn unexpected_end(&self) -> Error {
        let last = self.text.char_indices().next_back().map_or(0, |(at, _)| at);
        self.fault_at(last, Msg::XmlUnexpectedEnd)
    }

    fn expected<T>(&self, fault: Fault) -> Result<T> {
        Err(if self.at >= self.text.len() { self.unexpected_end() } else { self.fault(fault) })
    }

    fn eat(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    fn skip_space(&mut self) -> Result<bool> {
        let spaces = self.span(is_space)?;
        self.at += spaces;
        Ok(spaces > 0)
    }

    /// Returns the bytes of the characters of a kind that come next.
    fn span(&mut self, is: impl Fn(char) -> bool) -> Result<usize> {
        let mut bytes = 0;
        for piece in str_pieces(self.rest()) {
            match piece.find(|c| !is(c)) {
                Some(end) => return Ok(bytes + end),
                None => bytes += piece.len(),
            }
            self.pause()?;
        }
        Ok(bytes)
    }

    /// Returns where a mark of ASCII is first in the rest.
    fn find(&mut self, mark: &str) -> Result<Option<usize>> {
        let (rest, mut from) = (self.rest(), 0);
        for piece in str_pieces(rest) {
            // A mark may begin in a piece and end behind it.
            let to = rest.ceil_char_boundary(from + piece.len() + mark.len());
            if let Some(place) = rest[from..to].find(mark) {
                return Ok(Some(from + place));
            }
            from += piece.len();
            self.pause()?;
        }
        Ok(None)
    }

    /// Returns the text up to one of the marks, or a piece of a longer one. A piece does not end within a line end, nor
    /// within `]]>`.
    fn text_before(&self, marks: &[char]) -> &'t str {
        let rest = self.rest();
        let piece = &rest[..rest.floor_char_boundary(PIECE_BYTES)];
        if let Some(end) = piece.find(marks) {
            return &rest[..end];
        }
        let may_go_on = |c| matches!(c, '\r' | ']');
        let settled = piece.trim_end_matches(may_go_on);
        if piece.len() == rest.len() || settled.len() == piece.len() {
            return piece;
        }
        if !settled.is_empty() {
            return settled;
        }
        let end = rest.find(|c| !may_go_on(c)).unwrap_or(rest.len());
        &rest[..end + usize::from(rest[end..].starts_with(['\n', '>']))]
    }

    /// Reads `<?xml version=".." encoding=".."?>`.
    fn declaration(&mut self, encoding: Encoding) -> Result<()> {
        let Some(rest) = self.text.strip_prefix("<?xml") else { return Ok(()) };
        if !rest.starts_with(is_space) {
            return Ok(());
        }
        let Some(end) = rest.find("?>") else { return Err(self.unexpected_end()) };
        let body = &rest[..end];
        self.at = 5 + end + 2;
        let version = pseudo_attribute(body, "version");
        if !matches!(version, Some("1.0" | "1.1")) {
            return Err(self.fault_at(5, Msg::XmlDeclarationSyntax));
        }
        let Some(name) = pseudo_attribute(body, "encoding") else { return Ok(()) };
        let name = name.to_ascii_lowercase();
        let wide = matches!(name.as_str(), "utf-16" | "ucs-2" | "utf-16le" | "unicode");
        let known = wide
            || name == "utf-8"
            || name == "us-ascii"
            || name.starts_with("windows-")
            || name.starts_with("iso-8859-");
        if !known {
            return Err(self.fault_at(self.at - 1, Msg::XmlEncodingUnknown));
        }
        if wide != (encoding == Encoding::Wide) {
            return Err(self.fault_at(self.at - 1, Msg::XmlEncodingSwitch));
        }
        Ok(())
    }

    /// Reads a tag, text, comment or instruction.
    fn item(&mut self) -> Result<()> {
        if !self.rest().starts_with('<') {
            return self.character_data();
        }
        if self.eat("<![CDATA[") {
            let Some(end) = self.find("]]>")? else { return Err(self.unexpected_end()) };
            let data = &self.rest()[..end];
            self.check_characters(data)?;
            self.pending.push_str(&normal_lines(data));
            self.keep = true;
            self.at += end + 3;
            return Ok(());
        }
        if self.rest().starts_with("</") {
            return self.end_tag();
        }
        if self.rest().starts_with("<!DOCTYPE") {
            return Err(Msg::XmlDtd.into());
        }
        if self.eat("<!--") {
            return self.comment();
        }
        if self.eat("<?") {
            return self.instruction();
        }
        self.start_tag()
    }

    fn comment(&mut self) -> Result<()> {
        let Some(end) = self.find("--")? else { return Err(self.unexpected_end()) };
        let text = &self.rest()[..end];
        self.check_characters(text)?;
        self.at += end + 2;
        if !self.eat(">") {
            return self.expected(Msg::XmlCommentSyntax);
        }
        self.flush_text()?;
        self.builder.comment(&normal_lines(text));
        Ok(())
    }

    fn instruction(&mut self) -> Result<()> {
        let start = self.at;
        let target = self.name()?;
        if target.eq_ignore_ascii_case("xml") {
            return Err(self.fault_at(start + 3, Msg::XmlDeclarationPlace));
        }
        let spaced = self.skip_space()?;
        let Some(end) = self.find("?>")? else { return Err(self.unexpected_end()) };
        if end > 0 && !spaced {
            return Err(self.fault(Msg::XmlSpaceExpected));
        }
        let value = &self.rest()[..end];
        self.check_characters(value)?;
        self.at += end + 2;
        self.flush_text()?;
        self.builder.instruction(target, &normal_lines(value));
        Ok(())
    }

    fn character_data(&mut self) -> Result<()> {
        let data = self.text_before(&['<', '&']);
        if let Some(bad) = data.find("]]>") {
            return Err(self.fault_at(self.at + bad + 2, Msg::XmlCdataSyntax));
        }
        self.check_characters(data)?;
        self.pending.push_str(&normal_lines(data));
        self.at += data.len();
        if self.rest().starts_with('&') {
            let c = self.reference()?;
            self.pending.push(c);
            self.keep = true;
        }
        Ok(())
    }

    fn check_characters(&mut self, text: &str) -> Result<()> {
        for piece in str_pieces(text) {
            if let Some((at, _)) = piece.char_indices().find(|(_, c)| !is_char(*c)) {
                let base = piece.as_ptr().addr() - self.text.as_ptr().addr();
                return Err(self.fault_at(base + at, Msg::XmlIllegalCharacter));
            }
            self.pause()?;
        }
        Ok(())
    }

    /// Reads `&lt;`, `&#60;` or `&#x3C;`.
    fn reference(&mut self) -> Result<char> {
        self.eat("&");
        if self.eat("#") {
            return self.character_reference();
        }
        let name = self.name()?;
        let c = match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => '\0',
        };
        if !self.eat(";") {
            return self.expected(Msg::XmlSemicolonExpected);
        }
        if c == '\0' {
            return Err(self.fault_at(self.at - 1, Msg::XmlUndeclaredEntity));
        }
        Ok(c)
    }

    fn character_reference(&mut self) -> Result<char> {
        let (radix, fault): (u32, Fault) =
            if self.eat("x") { (16, Msg::XmlHexExpected) } else { (10, Msg::XmlDigitExpected) };
        let digits = self.span(|c| c.is_digit(radix))?;
        if digits == 0 {
            return self.expected(fault);
        }
        let code = u32::from_str_radix(&self.rest()[..digits], radix).unwrap_or(u32::MAX);
        self.at += digits;
        if !self.rest().starts_with(';') {
            return self.expected(Msg::XmlSemicolonExpected);
        }
        let c = char::from_u32(code).filter(|c| is_char(*c));
        let c = c.ok_or_else(|| self.fault(Msg::XmlIllegalCharacter))?;
        self.at += 1;
        Ok(c)
    }

    fn name(&mut self) -> Result<&'t str> {
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return self.expected(Msg::XmlIllegalName);
        }
        let end = self.span(is_name_part)?;
        self.at += end;
        let name = &rest[..end];
        if name.matches(':').count() > 1 {
            return Err(self.fault(Msg::XmlColons));
        }
        if name.starts_with(':') || name.ends_with(':') {
            return Err(self.fault(Msg::XmlIllegalQualifiedName));
        }
        Ok(name)
    }

    fn start_tag(&mut self) -> Result<()> {
        self.eat("<");
        let name = self.name()?;
        if self.open.len() >= DEPTH_MAX {
            return Err(Msg::XmlTooDeep(i64::try_from(DEPTH_MAX).unwrap_or(i64::MAX)).into());
        }
        let mut attributes: Vec<(&'t str, String, usize)> = Vec::new();
        let mut names = HashSet::new();
        let empty = loop {
            let spaced = self.skip_space()?;
            if self.eat("/>") {
                break true;
            }
            if self.eat(">") {
                break false;
            }
            if self.rest().starts_with('/') {
                self.at += 1;
                return self.expected(Msg::XmlGreaterExpected);
            }
            if !spaced {
                return self.expected(if self.rest().starts_with(is_name_start) {
                    Msg::XmlSpaceExpected
                } else {
                    Msg::XmlIllegalName
                });
            }
            let (attribute, value) = self.attribute()?;
            let is_known = match attributes.len() {
                0..FEW => attributes.iter().any(|(known, ..)| *known == attribute),
                FEW => {
                    names.extend(attributes.iter().map(|(known, ..)| *known));
                    !names.insert(attribute)
                }
                _ => !names.insert(attribute),
            };
            if is_known {
                return Err(self.fault_at(self.at - 1, Msg::XmlDuplicateAttribute));
            }
            attributes.push((attribute, value, self.at));
        };
        self.begin(name, attributes)?;
        if empty {
            self.finish_element();
        }
        Ok(())
    }

    fn attribute(&mut self) -> Result<(&'t str, String)> {
        let name = self.name()?;
        self.skip_space()?;
        if !self.eat("=") {
            return self.expected(Msg::XmlEqualExpected);
        }
        self.skip_space()?;
        let quote = match self.peek() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => return self.expected(Msg::XmlStringExpected),
        };
        self.at += 1;
        let mut value = String::new();
        loop {
            let part = self.text_before(&[quote, '<', '&']);
            self.check_characters(part)?;
            // Line ends and tabs in a value are blanks unless written as references.
            value.extend(normal_lines(part).chars().map(|c| match c {
                '\n' | '\t' => ' ',
                c => c,
            }));
            self.at += part.len();
            match self.peek() {
                Some('<') => return Err(self.fault(Msg::XmlLessInAttribute)),
                Some('&') => value.push(self.reference()?),
                Some(end) if end == quote => break,
                // Only a piece of the value has been read.
                Some(_) => {}
                None => return Err(self.unexpected_end()),
            }
        }
        self.at += 1;
        Ok((name, value))
    }

    /// Adds an element with its attributes: declarations first, for they count for the tag itself.
    fn begin(&mut self, name: &'t str, attributes: Vec<(&'t str, String, usize)>) -> Result<()> {
        self.flush_text()?;
        let scope = self.scope.len();
        let mut preserve = self.open.last().is_some_and(|open| open.preserve);
        for (attribute, value, at) in &attributes {
            let prefix = match attribute.split_once(':') {
                Some(("xmlns", prefix)) => prefix,
                None if *attribute == "xmlns" => "",
                _ => continue,
            };
            if !prefix.is_empty() && value.is_empty() {
                return Err(self.fault_at(*at, Msg::XmlEmptyUri));
            }
            if prefix == "xmlns" || (prefix == "xml") != (value == XML_URI) {
                return Err(self.fault_at(*at, Msg::XmlReservedPrefix));
            }
            self.scope.declare(prefix, value.clone());
        }
        let element = self.qualified(name, self.at, true)?;
        self.builder.start_element(element);
        let mut seen: HashSet<(String, String)> = HashSet::new();
        for (attribute, value, at) in &attributes {
            match attribute.split_once(':') {
                Some(("xmlns", prefix)) => self.builder.namespace(prefix, value),
                None if *attribute == "xmlns" => self.builder.namespace("", value),
                _ => {
                    let name = self.qualified(attribute, *at, false)?;
                    let is_new =
                        name.uri.is_empty() || seen.insert((name.uri.clone(), name.local.clone()));
                    if !is_new {
                        return Err(self.fault_at(*at, Msg::XmlDuplicateAttribute));
                    }
                    if *attribute == "xml:space" {
                        preserve = value == "preserve";
                    }
                    self.builder.attribute(name, value);
                }
            }
        }
        self.open.push(Open { name, scope, preserve });
        Ok(())
    }

    /// Resolves a name; only elements are in the default name space.
    fn qualified(&self, name: &str, at: usize, is_element: bool) -> Result<QName> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let found = self.scope.uri(prefix);
        let uri = match (prefix, found) {
            ("xml", _) => XML_URI.to_owned(),
            ("", _) if !is_element => String::new(),
            (_, Some(uri)) => uri.to_owned(),
            ("", None) => String::new(),
            (_, None) => {
                return Err(self.fault_at(at.saturating_sub(1), Msg::XmlUndeclaredPrefix));
            }
        };
        Ok(QName { prefix: prefix.to_owned(), local: local.to_owned(), uri })
    }

    fn end_tag(&mut self) -> Result<()> {
        self.eat("</");
        let name = self.name()?;
        match self.open.last() {
            Some(open) if open.name == name => {}
            Some(_) => return Err(self.fault(Msg::XmlEndTagMismatch)),
            None => return Err(self.fault(Msg::XmlEndTagMismatch)),
        }
        self.skip_space()?;
        if !self.eat(">") {
            return self.expected(Msg::XmlGreaterExpected);
        }
        self.flush_text()?;
        self.finish_element();
        Ok(())
    }

    fn finish_element(&mut self) {
        self.builder.end_element();
        if let Some(open) = self.open.pop() {
            self.scope.truncate(open.scope);
        }
    }

    /// Adds the text read so far; white space between tags is left out.
    fn flush_text(&mut self) -> Result<()> {
        let preserve = self.whitespace == Whitespace::Preserve
            || self.open.last().is_some_and(|open| open.preserve);
        let pending = std::mem::take(&mut self.pending);
        if preserve || self.keep || !self.is_blank(&pending)? {
            for piece in str_pieces(&pending) {
                self.builder.text(piece);
                if piece.len() < pending.len() {
                    self.pause()?;
                }
            }
        }
        self.pending = pending;
        self.pending.clear();
        self.keep = false;
        Ok(())
    }

    fn is_blank(&mut self, text: &str) -> Result<bool> {
        for piece in str_pieces(text) {
            if !piece.chars().all(is_space) {
                return Ok(false);
            }
            if piece.len() < text.len() {
                self.pause()?;
            }
        }
        Ok(true)
    }
}

/// The value of `name="value"` within an XML declaration.
fn pseudo_attribute<'t>(body: &'t str, name: &str) -> Option<&'t str> {
    let rest = body[body.find(name)? + name.len()..].trim_start_matches(is_space);
    let rest = rest.strip_prefix('=')?.trim_start_matches(is_space);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
}

/// Line ends are line feeds.
fn normal_lines(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_char(c: char) -> bool {
    !matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | ':')
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.' | '\u{b7}')
}
