//! Names of objects in strings, as OBJECT_ID, sp_rename and procedure calls take them: `dbo.user`,
//! `[a.b].c`, `dbo.p;1`.

use crate::ast::{self, Ident, Quoting, Span};
use types::{Msg, Result};

/// Maximum number of parts of a name: server, database, schema, object.
const PARTS_MAX: usize = 4;

/// Maximum length of a part, in characters.
const PART_CHARS_MAX: usize = 128;

/// Parses a name of one to four parts from a string, as OBJECT_ID and sp_rename do: `dbo.user`,
/// `Order Details`, `[a.b].c`. Only dots, brackets and double quotes are special; reserved words
/// and blanks are not. A part between two dots may be empty.
///
/// # Errors
/// 203 if it is not a name.
pub fn parse_object_name(text: &str) -> Result<ast::ObjectName> {
    let parts = split_name(text).ok_or(Msg::InvalidIdentifier(text))?;
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let span = Span::new(0, end);
    let mut idents = parts.into_iter().rev().map(|part| {
        let part = part.trim_matches(' ');
        (!part.is_empty()).then(|| Ident::new(part, Quoting::Brackets, span))
    });
    let object = idents.next().flatten().ok_or(Msg::InvalidIdentifier(text))?;
    let mut next = || idents.next().flatten();
    Ok(ast::ObjectName { object, schema: next(), database: next(), server: next(), span })
}

/// Parses the name of a procedure, which may have a number after it: `dbo.p;1` is `dbo.p`.
///
/// # Errors
/// 203 if it is not a name.
pub fn parse_procedure_name(text: &str) -> Result<ast::ObjectName> {
    let is_number = |end: &str| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit());
    let name = text.rsplit_once(';').filter(|(_, end)| is_number(end.trim())).map(|(name, _)| name);
    parse_object_name(name.unwrap_or(text))
}

/// Splits a name into its parts, the object last; `None` if it is malformed. Blanks around unquoted
/// parts are kept, as PARSENAME returns them.
pub fn split_name(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (part, behind) = take_part(rest)?;
        if parts.len() == PARTS_MAX || part.chars().count() > PART_CHARS_MAX {
            return None;
        }
        parts.push(part);
        match behind {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    let is_named = parts.last().is_some_and(|object| !object.trim_matches(' ').is_empty());
    is_named.then_some(parts)
}

/// Returns the first part, and the text after the following dot, if there is one.
fn take_part(text: &str) -> Option<(String, Option<&str>)> {
    let close = match text.trim_start_matches(' ').chars().next() {
        Some('[') => ']',
        Some('"') => '"',
        _ => {
            let end = text.find(['.', '[', ']', '"']).unwrap_or(text.len());
            let (part, behind) = text.split_at(end);
            return Some((part.to_owned(), after_dot(behind)?));
        }
    };
    let mut part = String::new();
    let mut rest = &text.trim_start_matches(' ')[1..];
    loop {
        let end = rest.find(close)?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        // A doubled closing character is one character of the name.
        match rest.strip_prefix(close) {
            Some(behind) => {
                part.push(close);
                rest = behind;
            }
            None => break,
        }
    }
    Some((part, after_dot(rest.trim_start_matches(' '))?))
}

/// Returns the text after a dot; `Some(None)` at the end of the name; `None` if anything else
/// follows a part.
fn after_dot(text: &str) -> Option<Option<&str>> {
    if text.is_empty() { Some(None) } else { text.strip_prefix('.').map(Some) }
}

#[cfg(test)]
mod tests {
    use super::split_name;

    #[test]
    fn names_are_split_at_dots_brackets_and_quotes_only() {
        let split = |text: &str| split_name(text).map(|parts| parts.join("|"));
        let names = [
            ("dbo.user", "dbo|user"),
            ("Order Details", "Order Details"),
            ("a..b", "a||b"),
            ("[a.b].[c]]d]", "a.b|c]d"),
            ("\"x\"\"y\".\"select\"", "x\"y|select"),
            ("1.2.3.4", "1|2|3|4"),
            ("O'Brien.t-1", "O'Brien|t-1"),
            ("[ a ] . [b] ", " a |b"),
            ("x, y", "x, y"),
        ];
        for (text, parts) in names {
            assert_eq!(split(text).as_deref(), Some(parts), "{text}");
        }
        let long = "x".repeat(129);
        for text in ["", " ", "a.", "a.b.c.d.e", "[a", "[a]b", "a[b]", "\"a", "[]", &long] {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
