//! Splits a script into batches at its GO lines, which client tools understand and the server does
//! not.

/// One batch of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptBatch<'a> {
    /// The batch's text, without the GO line.
    pub text: &'a str,
    /// 1-based line of the script on which it starts.
    pub line: u32,
    /// How many times the batch runs: 5 for `GO 5`.
    pub count: u32,
}

/// Splits a script at its GO lines: lines of `GO`, perhaps with a count or a comment behind it,
/// outside strings, quoted names and comments. Batches that are all blank are left out.
pub fn split_batches(script: &str) -> Vec<ScriptBatch<'_>> {
    let mut splitter = Splitter { script, batches: Vec::new(), start: 0, line: 1 };
    let mut state = State::Code;
    let mut offset = 0;
    while offset < script.len() {
        let length = script[offset..].find('\n').map_or(script.len() - offset, |at| at + 1);
        let line = &script[offset..offset + length];
        match go_count(line) {
            Some(count) if state == State::Code => splitter.cut(offset, offset + length, count),
            _ => state = state.after_line(line.as_bytes()),
        }
        offset += length;
    }
    splitter.cut(script.len(), script.len(), 1);
    splitter.batches
}

struct Splitter<'a> {
    script: &'a str,
    batches: Vec<ScriptBatch<'a>>,
    start: usize,
    line: u32,
}

impl Splitter<'_> {
    /// Ends the batch at `end`; the next one starts at `next`.
    fn cut(&mut self, end: usize, next: usize, count: u32) {
        let text = &self.script[self.start..end];
        if !text.trim().is_empty() {
            self.batches.push(ScriptBatch { text, line: self.line, count });
        }
        let breaks = self.script[self.start..next].bytes().filter(|&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.start = next;
    }
}

/// Returns the count of a GO line, or `None` for any other line.
fn go_count(line: &str) -> Option<u32> {
    let line = line.trim();
    let (head, rest) = line.split_at_checked(2)?;
    if !head.eq_ignore_ascii_case("go") {
        return None;
    }
    let rest = rest.split("--").next().unwrap_or_default();
    if !rest.is_empty() && !rest.starts_with(|c: char| c.is_whitespace() || c == ';') {
        return None;
    }
    match rest.trim_matches(|c: char| c.is_whitespace() || c == ';') {
        "" => Some(1),
        count => count.parse().ok(),
    }
}

/// What surrounds the end of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    /// Inside quotes that this byte closes.
    Quoted(u8),
    /// Inside block comments; the number is the depth of nesting.
    Comment(u32),
}

impl State {
    fn after_line(mut self, line: &[u8]) -> Self {
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            let next = line.get(at + 1).copied();
            at += 1;
            match (self, byte, next) {
                (Self::Code, b'-', Some(b'-')) => return self,
                (Self::Code, b'/', Some(b'*')) => {
                    self = Self::Comment(1);
                    at += 1;
                }
                (Self::Code, b'\'' | b'"', _) => self = Self::Quoted(byte),
                (Self::Code, b'[', _) => self = Self::Quoted(b']'),
                // A doubled quote closes the string and opens it again, which leaves the same
                // state.
                (Self::Quoted(close), _, _) if byte == close => self = Self::Code,
                (Self::Comment(depth), b'/', Some(b'*')) => {
                    self = Self::Comment(depth.saturating_add(1));
                    at += 1;
                }
                (Self::Comment(depth), b'*', Some(b'/')) => {
                    self = if depth == 1 { Self::Code } else { Self::Comment(depth - 1) };
                    at += 1;
                }
                _ => {}
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<&str> {
        split_batches(script).iter().map(|batch| batch.text.trim()).collect()
    }

    #[test]
    fn go_lines_separate_batches() {
        assert_eq!(
            texts("SELECT 1\nGO\nSELECT 2\r\n  go -- done\r\nSELECT 3"),
            ["SELECT 1", "SELECT 2", "SELECT 3"]
        );
        assert_eq!(texts("GO\nGO\n\nSELECT 1\nGO\n"), ["SELECT 1"]);
    }

    #[test]
    fn go_inside_quotes_and_comments_separates_nothing() {
        for script in
            ["SELECT '\nGO\n'", "/* a /* b */\nGO\n*/", "SELECT 1 AS [\nGO\n]", "GOTO x\nx:"]
        {
            assert_eq!(texts(script), [script], "{script}");
        }
        assert_eq!(texts("SELECT 'it''s' -- don't\nGO\nSELECT 2").len(), 2);
    }

    #[test]
    fn batch_knows_its_line_and_count() {
        let batches = split_batches("SELECT 1\nGO 5\n\nSELECT 2\nGO");
        assert_eq!((batches[0].line, batches[0].count), (1, 5));
        assert_eq!((batches[1].line, batches[1].count), (3, 1));
    }

    #[test]
    fn words_that_start_with_go_are_no_separators() {
        assert_eq!(go_count("GO x"), None);
        assert_eq!(go_count("GOING"), None);
        assert_eq!(go_count(" go\t3 "), Some(3));
        assert_eq!(go_count("é"), None);
    }
}
