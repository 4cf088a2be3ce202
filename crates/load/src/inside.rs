//! `Inside`: whether a position in T-SQL text is code, comment or quotes, line by line. Tools need
//! no more of the language to find GO lines, their own commands, and words to complete.

/// The state at the beginning of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inside {
    /// In code, outside comments and quotes.
    #[default]
    Code,
    /// In a block comment; the number is the nesting depth.
    Comment(u32),
    /// In quotes that this character closes.
    Quotes(char),
}

impl Inside {
    /// Returns the state at the beginning of the next line.
    #[must_use]
    pub fn after(self, line: &str) -> Self {
        self.scan(line).unwrap_or(Self::Code)
    }

    /// Returns whether the end of this beginning of a line is code: no comment, no quotes.
    pub fn is_code_after(self, line: &str) -> bool {
        self.scan(line) == Some(Self::Code)
    }

    /// Returns the state at the end of a text; `None` in a comment that ends with the line.
    fn scan(mut self, line: &str) -> Option<Self> {
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            self = match (self, character, next) {
                (Self::Code, '-', Some('-')) => return None,
                (Self::Code, '/', Some('*')) => {
                    characters.next();
                    Self::Comment(1)
                }
                (Self::Comment(depth), '/', Some('*')) => {
                    characters.next();
                    Self::Comment(depth + 1)
                }
                (Self::Comment(depth), '*', Some('/')) => {
                    characters.next();
                    if depth == 1 { Self::Code } else { Self::Comment(depth - 1) }
                }
                (Self::Code, '\'' | '"', _) => Self::Quotes(character),
                (Self::Code, '[', _) => Self::Quotes(']'),
                // A doubled quote closes and opens again, which leaves the same state.
                (Self::Quotes(end), _, _) if character == end => Self::Code,
                _ => self,
            };
        }
        Some(self)
    }
}

/// Returns how often a GO line sends the batch before it, as in sqlcmd: in any case, with an
/// optional count. `None` if it is not a GO line.
pub fn go_count(line: &str) -> Option<usize> {
    let code = line.split_once("--").map_or(line, |(code, _)| code);
    let code = code.trim_end_matches([';', ' ', '\t', '\r']);
    let mut words = code.split_whitespace();
    if !words.next()?.eq_ignore_ascii_case("go") {
        return None;
    }
    match (words.next(), words.next()) {
        (None, _) => Some(1),
        (Some(count), None) => count.parse().ok(),
        (Some(_), Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_go_on_over_lines() {
        let mut inside = Inside::Code;
        for (line, next) in [
            ("select 'a", Inside::Quotes('\'')),
            ("b'' it's", Inside::Code),
            ("/* /* x */", Inside::Comment(1)),
            ("*/ [a'b] -- it's", Inside::Code),
            ("\"x", Inside::Quotes('"')),
        ] {
            inside = inside.after(line);
            assert_eq!(inside, next, "{line}");
        }
        assert!(!Inside::Code.is_code_after("select 1 -- a"));
        assert!(Inside::Code.is_code_after("select [a]"));
    }

    #[test]
    fn go_stands_alone_with_a_count_at_most() {
        for (line, count) in [
            ("go", Some(1)),
            (" GO 3 -- x", Some(3)),
            ("go;", Some(1)),
            ("go x", None),
            ("gone", None),
        ] {
            assert_eq!(go_count(line), count, "{line}");
        }
    }
}
