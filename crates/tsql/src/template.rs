//! `Template`: a statement in which constants are parameters, and the test whether a text is an
//! instance of it.
//!
//! ```text
//!   text ─► Tokens ─► shape: a hash that goes by no constant ─► templates of that shape
//!                                                                    │ the same tokens but for parameters
//!   values of the parameters ◄───────────────────────────────────────┘
//! ```
//!
//! A constant that is no parameter is compared as part of the template. The caller decides which
//! constants may be parameters; a text that cannot match any template is recognised by its words
//! alone.

use types::Result;
use types::pause::Watched;

use crate::QuotedIdentifier;
use crate::ast::{Batch, Literal, Span};
use crate::keyword::Keyword as Kw;
use crate::lexer::{Token, TokenKind, tokenize, tokenize_watched};
use crate::parser;

/// Tokens of the longest statement that may become a template: its text is compared each time a
/// client sends it.
const TOKENS_MAX: usize = 1_000;
/// Most parameters of a template; the limit of SQL Server's simple parameterization.
const PARAMETERS_MAX: usize = 1_000;

/// The tokens of a statement's text.
#[derive(Debug)]
pub struct Tokens {
    tokens: Vec<Token>,
}

impl Tokens {
    /// Cuts a text of less than 4 GB into tokens.
    pub fn of(text: &str) -> Self {
        Self { tokens: tokenize(text) }
    }

    /// As [`Self::of`], for a text that may be long. Once `watched` is over, the tokens mean nothing.
    pub fn watched(text: &str, watched: &Watched<'_>) -> Self {
        Self { tokens: tokenize_watched(text, watched) }
    }

    /// Parses the text that the tokens were cut from; see [`crate::parse_watched`].
    ///
    /// # Errors
    /// Syntax errors of the text.
    pub fn parse(
        self,
        text: &str,
        quotes: QuotedIdentifier,
        watched: &Watched<'_>,
    ) -> Result<Batch> {
        parser::parse_tokens(text, quotes, self.tokens, watched)
    }

    /// Returns a hash that ignores constants, blanks and comments, if the text may be one SELECT,
    /// INSERT, UPDATE or DELETE of one table. Only its words are examined.
    pub fn shape(&self, text: &str) -> Option<u64> {
        let (first, rest) = self.tokens.split_first()?;
        let starts = matches!(first.keyword, Kw::Select | Kw::Insert | Kw::Update | Kw::Delete);
        // Errors report the line on which the statement starts.
        let on_first_line = !text.as_bytes()[..first.start as usize].contains(&b'\n');
        if !starts || !on_first_line || rest.len() > TOKENS_MAX {
            return None;
        }
        let mut hasher = Hasher(u64::from(first.keyword as u16));
        let mut constants = 0;
        for (place, token) in rest.iter().enumerate() {
            match token.kind {
                kind if is_constant(kind) => {
                    constants += 1;
                    hasher.add(u64::from(kind as u8));
                    hasher.add(precision(kind, text_of(text, *token)));
                }
                TokenKind::Word if token.keyword.is_reserved() => {
                    if refuses(token.keyword, first.keyword) {
                        return None;
                    }
                    hasher.add(u64::from(token.keyword as u16));
                }
                TokenKind::Word | TokenKind::Bracketed | TokenKind::DoubleQuoted => {
                    hasher.add_bytes(text_of(text, *token).as_bytes());
                }
                TokenKind::Semicolon if place + 2 < rest.len() => return None,
                TokenKind::Variable
                | TokenKind::Dollar
                | TokenKind::LeftBrace
                | TokenKind::Colon
                | TokenKind::DoubleColon
                | TokenKind::UnclosedQuote
                | TokenKind::UnclosedComment
                | TokenKind::Unknown => return None,
                kind => hasher.add(u64::from(kind as u8)),
            }
        }
        (constants > 0).then_some(hasher.0)
    }
}

/// A statement in which some constants are parameters.
#[derive(Debug)]
pub struct Template {
    text: Box<str>,
    tokens: Box<[Token]>,
    /// Indexes of the tokens that are parameters, in order.
    parameters: Box<[u32]>,
}

impl Template {
    /// Makes a template of a text whose constants at these places are parameters. `None` if a place
    /// holds no constant, or there are too many.
    pub fn new(text: &str, places: &[Span]) -> Option<Self> {
        let tokens = tokenize(text);
        let mut parameters = Vec::with_capacity(places.len());
        for span in places {
            let place = tokens.binary_search_by_key(&span.start, |token| token.start).ok()?;
            let token = tokens[place];
            if !is_constant(token.kind) || token.end() != span.end {
                return None;
            }
            parameters.push(u32::try_from(place).ok()?);
        }
        parameters.sort_unstable();
        parameters.dedup();
        let fits = !parameters.is_empty() && parameters.len() <= PARAMETERS_MAX;
        fits.then(|| Self {
            text: text.into(),
            tokens: tokens.into(),
            parameters: parameters.into(),
        })
    }

    /// Returns the text with `@1`, `@2` and so on in place of the parameters.
    pub fn parameterized(&self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut done = 0;
        for (number, place) in (1..).zip(&self.parameters) {
            let token = self.tokens[*place as usize];
            text.push_str(&self.text[done..token.start as usize]);
            text.push_str(&format!("@{number}"));
            done = token.end() as usize;
        }
        text.push_str(&self.text[done..]);
        text
    }

    /// Returns whether a text equals the template but for its parameters, blanks, comments and the
    /// case of reserved words.
    pub fn is_of(&self, tokens: &Tokens, text: &str) -> bool {
        if self.tokens.len() != tokens.tokens.len() {
            return false;
        }
        let mut parameters = self.parameters.iter().copied().peekable();
        (0..).zip(self.tokens.iter().zip(&tokens.tokens)).all(|(place, (mine, other))| {
            let is_parameter = parameters.next_if_eq(&place).is_some();
            mine.kind == other.kind
                && mine.keyword == other.keyword
                && (is_parameter
                    || has_no_text(mine)
                    || text_of(&self.text, *mine) == text_of(text, *other))
        })
    }

    /// Returns the constants that a text has in place of the parameters.
    ///
    /// # Errors
    /// 1007, 168: a number that is too big.
    pub fn values(
        &self,
        tokens: &mut Tokens,
        text: &str,
        quotes: QuotedIdentifier,
    ) -> Result<Vec<Literal>> {
        parser::literals_at(text, quotes, &mut tokens.tokens, &self.parameters)
    }

    /// Returns the constants of the text that the template was made from.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn own_values(&self, quotes: QuotedIdentifier) -> Result<Vec<Literal>> {
        let mut tokens = Tokens { tokens: self.tokens.to_vec() };
        self.values(&mut tokens, &self.text, quotes)
    }
}

fn text_of(text: &str, token: Token) -> &str {
    &text[token.start as usize..token.end() as usize]
}

fn is_constant(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::Money
            | TokenKind::Binary
            | TokenKind::String
            | TokenKind::NString
    )
}

/// Whether tokens of this kind and keyword mean the same however they are written. A word that is
/// not reserved may be a column's name, which has a case.
fn has_no_text(token: &Token) -> bool {
    match token.kind {
        TokenKind::Word => token.keyword.is_reserved(),
        TokenKind::Bracketed | TokenKind::DoubleQuoted => false,
        kind => !is_constant(kind),
    }
}

/// Returns the part of a number that decides its type: digits and scale of a decimal, or whether an
/// integer fits `int`.
fn precision(kind: TokenKind, text: &str) -> u64 {
    match kind {
        TokenKind::Integer => u64::from(text.len() >= "2147483648".len()) * text.len() as u64,
        TokenKind::Decimal => {
            let point = text.bytes().position(|byte| byte == b'.').unwrap_or(0);
            (text.len() * TOKENS_MAX + point) as u64
        }
        _ => 0,
    }
}

/// Returns whether a word rules parameters out: it starts another statement or a nested query,
/// names a second table, or begins a clause that simple parameterization excludes.
fn refuses(keyword: Kw, first: Kw) -> bool {
    match keyword {
        Kw::Into => first != Kw::Insert,
        Kw::Set => first != Kw::Update,
        Kw::From => first == Kw::Update || first == Kw::Insert,
        Kw::Values => first != Kw::Insert,
        Kw::Select
        | Kw::Insert
        | Kw::Update
        | Kw::Delete
        | Kw::Merge
        | Kw::Union
        | Kw::Except
        | Kw::Intersect
        | Kw::Top
        | Kw::Distinct
        | Kw::Join
        | Kw::Cross
        | Kw::Outer
        | Kw::Group
        | Kw::Having
        | Kw::Order
        | Kw::With
        | Kw::Option
        | Kw::For
        | Kw::Or
        | Kw::In
        | Kw::Exists
        | Kw::Over
        | Kw::Exec
        | Kw::Execute
        | Kw::Declare
        | Kw::If
        | Kw::While
        | Kw::Begin
        | Kw::Current
        | Kw::Print => true,
        _ => false,
    }
}

/// A fast hash without protection against collisions: each hit is compared with the template's
/// text.
struct Hasher(u64);

impl Hasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95);
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let last = rest.iter().fold(rest.len() as u64, |all, byte| all << 8 | u64::from(*byte));
        self.add(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<u64> {
        Tokens::of(text).shape(text)
    }

    fn template(text: &str, constants: &[&str]) -> Template {
        let places = constants.iter().map(|constant| {
            let start = u32::try_from(text.find(constant).unwrap()).unwrap();
            Span::new(start, start + u32::try_from(constant.len()).unwrap())
        });
        Template::new(text, &places.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn texts_that_differ_in_constants_blanks_and_comments_have_one_shape() {
        let text = "SELECT a, 'x' FROM t WHERE id = 17 AND b = 'it''s'";
        let template = template(text, &["17", "'it''s'"]);
        assert_eq!(template.parameterized(), "SELECT a, 'x' FROM t WHERE id = @1 AND b = @2");
        let other = "select a,'x' from t /* 5 */ where id=999999999 and b = ''";
        assert_eq!(shape(text), shape(other));
        let mut tokens = Tokens::of(other);
        assert!(template.is_of(&tokens, other));
        let values = template.values(&mut tokens, other, QuotedIdentifier::On).unwrap();
        assert_eq!(values, [Literal::Int(999_999_999), Literal::String("".into())]);
        for other in [
            "SELECT a, 'y' FROM t WHERE id = 17 AND b = 'it''s'",
            "SELECT A, 'x' FROM t WHERE id = 17 AND b = 'it''s'",
            "SELECT a, 'x' FROM t WHERE id = 17 AND b = N'it''s'",
            "SELECT a, 'x' FROM t WHERE id = 17 AND b > 'it''s'",
            "SELECT a, 'x' FROM t WHERE id = 17 AND b = 'it''s';",
        ] {
            assert!(!template.is_of(&Tokens::of(other), other), "{other}");
        }
    }

    #[test]
    fn numbers_of_other_types_have_other_shapes() {
        let shapes = ["1", "1.0", "10.0", "1.00", "1e0", "$1", "'1'", "N'1'", "0x1", "12345678901"];
        let shapes = shapes.map(|n| shape(&format!("DELETE t WHERE id = {n}")).unwrap());
        for (place, one) in shapes.iter().enumerate() {
            assert_eq!(shapes.iter().position(|other| other == one), Some(place));
        }
    }

    #[test]
    fn what_is_not_one_statement_of_one_table_has_no_shape() {
        for text in [
            "SELECT a FROM t",
            "SELECT a FROM t WHERE id = @p AND b = 1",
            "SELECT a FROM t WHERE id = 1; SELECT 2",
            "SELECT a FROM t WHERE id = 1 SELECT 2",
            "SELECT TOP 1 a FROM t WHERE id = 1",
            "SELECT a FROM t JOIN u ON t.id = u.id WHERE t.id = 1",
            "SELECT a FROM t WHERE id = 1 OR id = 2",
            "SELECT a FROM t WHERE id IN (1, 2)",
            "INSERT t SELECT 1",
            "UPDATE t SET a = 1 FROM u WHERE id = 2",
            "EXEC p 1",
            "\nSELECT a FROM t WHERE id = 1",
            "SELECT a FROM t WHERE id = 'x",
        ] {
            assert_eq!(shape(text), None, "{text}");
        }
        assert!(shape("INSERT INTO t (a) VALUES (1);").is_some());
    }
}
