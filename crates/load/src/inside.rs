//! `Inside`: whether a place of T-SQL text is code, comment or quotes, line by line. All that a tool needs
//! to know of the language in order to find the lines of GO, its own commands, and words to complete.

/// What a line begins in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inside {
    /// Statements.
    #[default]
    Code,
    /// A comment, which nests so deep.
    Comment(u32),
    /// Quotes that end with this character.
    Quotes(char),
}

impl Inside {
    /// What the next line begins in.
    #[must_use]
    pub fn after(self, line: &str) -> Self {
        self.scan(line).unwrap_or(Self::Code)
    }

    /// Whether the end of this beginning of a line is code: no comment, no quotes.
    pub fn is_code_after(self, line: &str) -> bool {
        self.scan(line) == Some(Self::Code)
    }

    /// What the end of a text is in; none in a comment that the line ends.
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
                // A doubled quote ends and begins again, which comes to the same.
                (Self::Quotes(end), _, _) if character == end => Self::Code,
                _ => self,
            };
        }
        Some(self)
    }
}

/// How often a line of GO sends what is before it, as sqlcmd has it: in any case, with an optional count;
/// none if it is no such line.
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
