//! JSON paths: `[append] [lax | strict] $.name."quoted name"[0]`.

use types::{Error, Msg, Result};

use super::text::{Kind, Node};

/// A parsed JSON path.
#[derive(Debug, PartialEq, Eq)]
pub struct Path {
    /// The effect of a missing value.
    pub mode: PathMode,
    /// `append`: JSON_MODIFY adds an element to the array.
    pub append: bool,
    /// The steps from the root.
    pub steps: Vec<Step>,
}

/// The effect of a missing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// `lax`: the result is NULL.
    Lax,
    /// `strict`: it is an error.
    Strict,
}

/// A step of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A property of an object; names compare exactly.
    Name(String),
    /// An element of an array, from 0.
    Index(usize),
}

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// 13607 with the unexpected character and its 0-based position.
    pub fn parse(text: &str) -> Result<Self> {
        let characters: Vec<char> = text.chars().collect();
        let mut reader = PathReader { characters: &characters, at: 0 };
        reader.skip_blank();
        let append = reader.word("append");
        let mode = if reader.word("strict") {
            PathMode::Strict
        } else {
            reader.word("lax");
            PathMode::Lax
        };
        if !reader.eat('$') {
            return Err(reader.unexpected());
        }
        let mut steps = Vec::new();
        reader.skip_blank();
        while reader.at < characters.len() {
            steps.push(reader.step()?);
            reader.skip_blank();
        }
        Ok(Self { mode, append, steps })
    }

    /// Finds the value at the path.
    pub fn find<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        self.steps.iter().try_fold(root, |node, step| step.find(node))
    }
}

impl Step {
    /// Finds the value one step from a node; of properties with the same name, the first one.
    pub fn find<'n>(&self, node: &'n Node) -> Option<&'n Node> {
        match (self, &node.kind) {
            (Self::Name(name), Kind::Object(properties)) => {
                properties.iter().find(|p| p.name == *name).map(|p| &p.value)
            }
            (Self::Index(index), Kind::Array(elements)) => elements.get(*index),
            _ => None,
        }
    }
}

struct PathReader<'t> {
    characters: &'t [char],
    at: usize,
}

impl PathReader<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn unexpected(&self) -> Error {
        let position = i64::try_from(self.at).unwrap_or(i64::MAX);
        Error::from(Msg::JsonPath(self.peek().unwrap_or('.'), position)).with_state(4)
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    /// Consumes a keyword if a blank or `$` follows it.
    fn word(&mut self, word: &str) -> bool {
        let length = word.chars().count();
        let there = self.characters[self.at..].iter().take(length).copied().eq(word.chars());
        let after = self.characters.get(self.at + length);
        if there && after.is_some_and(|c| c.is_whitespace() || *c == '$') {
            self.at += length;
            self.skip_blank();
            return true;
        }
        false
    }

    fn step(&mut self) -> Result<Step> {
        if self.eat('[') {
            return self.index();
        }
        if !self.eat('.') {
            return Err(self.unexpected());
        }
        if self.eat('"') {
            return self.quoted();
        }
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            self.at += 1;
        }
        if start == self.at || self.characters[start].is_ascii_digit() {
            self.at = start;
            return Err(self.unexpected());
        }
        Ok(Step::Name(self.characters[start..self.at].iter().collect()))
    }

    fn index(&mut self) -> Result<Step> {
        self.skip_blank();
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.at += 1;
        }
        self.skip_blank();
        match digits.parse() {
            Ok(index) if self.eat(']') => Ok(Step::Index(index)),
            _ => Err(self.unexpected()),
        }
    }

    /// Reads a name in quotes. Its escapes are those of JSON: two `\u` may form one character.
    fn quoted(&mut self) -> Result<Step> {
        let mut units: Vec<u16> = Vec::new();
        let mut buffer = [0; 2];
        loop {
            let Some(c) = self.peek() else { return Err(self.unexpected()) };
            self.at += 1;
            match c {
                '"' => return Ok(Step::Name(String::from_utf16_lossy(&units))),
                '\\' => self.escape(&mut units)?,
                c => units.extend_from_slice(c.encode_utf16(&mut buffer)),
            }
        }
    }

    /// Reads what follows a backslash; a character that is no escape is itself.
    fn escape(&mut self, units: &mut Vec<u16>) -> Result<()> {
        let Some(c) = self.peek() else { return Err(self.unexpected()) };
        self.at += 1;
        match c {
            'b' => units.push(8),
            'f' => units.push(12),
            'n' => units.push(10),
            'r' => units.push(13),
            't' => units.push(9),
            'u' => {
                let digits: String = self.characters[self.at..].iter().take(4).collect();
                let hex = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                let unit = u16::from_str_radix(&digits, 16).ok().filter(|_| hex);
                units.push(unit.ok_or_else(|| self.unexpected())?);
                self.at += 4;
            }
            c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_mode_and_steps() {
        let path = Path::parse("append strict $.a.\"b c\"[2].d").unwrap();
        assert_eq!((path.mode, path.append), (PathMode::Strict, true));
        let name = |n: &str| Step::Name(n.to_owned());
        assert_eq!(path.steps, vec![name("a"), name("b c"), Step::Index(2), name("d")]);
        assert_eq!(Path::parse("$").unwrap().steps, vec![]);
    }

    #[test]
    fn a_name_in_quotes_has_the_escapes_of_json() {
        let name = |text: &str| Path::parse(text).unwrap().steps;
        assert_eq!(name(r#"$."a\ud83e\udd21\n""#), vec![Step::Name("a\u{1f921}\n".to_owned())]);
        assert_eq!(name(r#"$."a\"b\\c""#), vec![Step::Name("a\"b\\c".to_owned())]);
        assert_eq!(Path::parse(r#"$."a\u12""#).unwrap_err().number, 13_607);
    }

    #[test]
    fn a_malformed_path_is_an_error_with_its_place() {
        for (text, position) in [("a.b", 0), ("$a", 1), ("$.", 2), ("$[x]", 2), ("$.a b", 4)] {
            let error = Path::parse(text).unwrap_err();
            assert_eq!(error.number, 13_607, "{text}");
            assert!(error.message.contains(&format!("position {position}.")), "{}", error.message);
        }
    }
}
