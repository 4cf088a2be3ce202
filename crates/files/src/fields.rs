//! Splits the text of a data file into rows and fields at their terminators.
//!
//! Without FORMAT = 'CSV' a quote is an ordinary character. With it, a field may be quoted; it may
//! then contain both terminators, and a quote as two quotes (RFC 4180).

use std::borrow::Cow;

/// How rows and fields are terminated and quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// FIELDTERMINATOR: behind each field except a row's last.
    pub field: Vec<u8>,
    /// ROWTERMINATOR: behind each row; may be missing behind the last one.
    pub row: Vec<u8>,
    /// Whether a carriage return before the row's terminator is part of it.
    pub drops_return: bool,
    /// FIELDQUOTE, with FORMAT = 'CSV'.
    pub quote: Option<u8>,
}

/// Whether a piece of text ends where the file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// It reaches the end of the file.
    Whole,
    /// More text follows: the last row may continue there.
    Cut,
}

/// A field: its bytes, and whether it was quoted.
pub type Field<'a> = (Cow<'a, [u8]>, bool);

/// Iterates over the rows of a text.
pub struct Rows<'a> {
    text: &'a [u8],
    shape: &'a Shape,
    tail: Tail,
    at: usize,
    /// The first row terminator that does not begin before `at`, if that is known;
    /// `usize::MAX` if there is none.
    row_end: Option<usize>,
}

impl<'a> Rows<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a [u8], shape: &'a Shape, tail: Tail) -> Self {
        Self { text, shape, tail, at: 0, row_end: None }
    }

    /// Returns where the rows that were returned end.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Reads one field; returns whether it also ends the row. In a file without quotes a row has as
    /// many fields as the table has columns: only the last field ends at the row's terminator, as
    /// in SQL Server.
    fn field(&mut self, is_last: bool) -> Option<(Field<'a>, bool)> {
        if self.shape.quote.is_some_and(|quote| self.text.get(self.at) == Some(&quote)) {
            return self.quoted();
        }
        let row_end = self.row_end();
        let rest = &self.text[self.at..];
        // The last field of a row without quotes ends only at the row's terminator.
        let takes_rest = is_last && self.shape.quote.is_none();
        let within = row_end.map_or(rest.len(), |end| rest.len().min(end + self.shape.field.len()));
        let field_end = match takes_rest {
            true => None,
            false => find(&rest[..within], &self.shape.field),
        };
        let ends_row = match (field_end, row_end) {
            (Some(field), Some(row)) => row < field,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if !ends_row {
            let end = field_end?;
            self.at += end + self.shape.field.len();
            return Some(((Cow::Borrowed(&rest[..end]), false), false));
        }
        let end = row_end.unwrap_or(rest.len());
        self.at += (end + self.shape.row.len()).min(rest.len());
        let mut value = &rest[..end];
        if self.shape.drops_return {
            value = value.strip_suffix(b"\r").unwrap_or(value);
        }
        Some(((Cow::Borrowed(value), false), true))
    }

    /// Returns the distance to the end of the row, which is searched once for all its fields.
    fn row_end(&mut self) -> Option<usize> {
        let known = self.row_end.filter(|end| *end >= self.at);
        let end = known.unwrap_or_else(|| {
            let found = find(&self.text[self.at..], &self.shape.row);
            found.map_or(usize::MAX, |end| self.at + end)
        });
        self.row_end = Some(end);
        (end != usize::MAX).then(|| end - self.at)
    }

    /// Reads a quoted field.
    fn quoted(&mut self) -> Option<(Field<'a>, bool)> {
        let quote = self.shape.quote?;
        let mut value = Vec::new();
        let mut at = self.at + 1;
        loop {
            match (self.text.get(at), self.text.get(at + 1)) {
                (Some(&byte), Some(&next)) if byte == quote && next == quote => {
                    value.push(quote);
                    at += 2;
                }
                (Some(&byte), _) if byte == quote => break,
                (Some(&byte), _) => {
                    value.push(byte);
                    at += 1;
                }
                (None, _) => return None,
            }
        }
        let rest = &self.text[at + 1..];
        if rest.starts_with(&self.shape.field) {
            self.at = at + 1 + self.shape.field.len();
            return Some(((Cow::Owned(value), true), false));
        }
        let skipped = usize::from(self.shape.drops_return && rest.first() == Some(&b'\r'));
        if rest[skipped..].starts_with(&self.shape.row) {
            self.at = at + 1 + skipped + self.shape.row.len();
            return Some(((Cow::Owned(value), true), true));
        }
        self.at = self.text.len();
        rest[skipped..].is_empty().then_some(((Cow::Owned(value), true), true))
    }

    /// Returns the next row; `None` at the end, and if a row may continue behind the text. Fails if
    /// the file ends within a row or a field.
    pub fn next(&mut self, columns: usize) -> Option<Result<Vec<Field<'a>>, UnexpectedEnd>> {
        let start = self.at;
        let row = self.next_row(columns);
        if self.tail == Tail::Cut && self.at >= self.text.len() {
            self.at = start;
            return None;
        }
        row
    }

    fn next_row(&mut self, columns: usize) -> Option<Result<Vec<Field<'a>>, UnexpectedEnd>> {
        if self.at >= self.text.len() {
            return None;
        }
        let mut fields = Vec::with_capacity(columns);
        loop {
            let is_last = fields.len() + 1 == columns;
            let Some((field, ends)) = self.field(is_last) else {
                self.at = self.text.len();
                return Some(Err(UnexpectedEnd));
            };
            fields.push(field);
            if ends {
                break;
            }
        }
        // A row with too few fields continues in the next line, unless quotes say where it ends.
        if fields.len() < columns && self.at >= self.text.len() {
            return Some(Err(UnexpectedEnd));
        }
        Some(Ok(fields))
    }
}

/// The file ends within a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnexpectedEnd;

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    if let [one] = what {
        return text.iter().position(|byte| byte == one);
    }
    if what.is_empty() {
        return None;
    }
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, quote: Option<u8>, columns: usize) -> Vec<Vec<String>> {
        let shape = Shape { field: b",".to_vec(), row: b"\n".to_vec(), drops_return: true, quote };
        let mut rows = Rows::new(text.as_bytes(), &shape, Tail::Whole);
        let text = |field: Field<'_>| String::from_utf8(field.0.into_owned()).unwrap();
        std::iter::from_fn(|| rows.next(columns))
            .map(|row| match row {
                Ok(fields) => fields.into_iter().map(text).collect(),
                Err(UnexpectedEnd) => vec!["<end>".to_owned()],
            })
            .collect()
    }

    #[test]
    fn rows_end_at_their_terminator_and_the_last_may_lack_it() {
        assert_eq!(rows("1,a\r\n2,b\n3,", None, 2), [["1", "a"], ["2", "b"], ["3", ""]]);
    }

    #[test]
    fn the_last_field_takes_what_is_left_of_the_row() {
        assert_eq!(rows("1,a,b\n", None, 2), [["1", "a,b"]]);
    }

    #[test]
    fn terminators_of_several_bytes_are_found_where_they_begin() {
        let shape =
            Shape { field: b"||".to_vec(), row: b"|\n".to_vec(), drops_return: false, quote: None };
        let mut found = Rows::new(b"1||a|b||c|\n2||||d|\n", &shape, Tail::Whole);
        let mut row = || -> Vec<String> {
            let fields = found.next(3).expect("a row").expect("a whole one");
            fields.into_iter().map(|f| String::from_utf8(f.0.into_owned()).expect("text")).collect()
        };
        assert_eq!(row(), ["1", "a|b", "c"]);
        assert_eq!(row(), ["2", "", "d"]);
    }

    #[test]
    fn a_row_that_ends_too_early_has_fewer_fields() {
        let found = rows("1,a\n2\n3,c,d\n", None, 3);
        assert_eq!(found, [vec!["1", "a"], vec!["2"], vec!["3", "c", "d"]]);
        assert_eq!(rows("1\n2,b\n", Some(b'"'), 2), [vec!["1"], vec!["2", "b"]]);
    }

    #[test]
    fn quotes_hold_terminators_and_quotes() {
        assert_eq!(
            rows("1,\"a,\n\"\"b\"\"\"\r\n2,c\n", Some(b'"'), 2),
            [["1", "a,\n\"b\""], ["2", "c"]]
        );
    }

    #[test]
    fn a_file_that_ends_within_a_row_says_so() {
        assert_eq!(rows("1,a\n2", None, 2), [vec!["1", "a"], vec!["<end>"]]);
        assert_eq!(rows("1,\"a", Some(b'"'), 2), [vec!["<end>"]]);
    }
}
