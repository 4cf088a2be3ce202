//! The parser: recursive descent over the tokens, without backtracking.
//!
//! This file has what every part of the parser uses: looking at tokens, taking them, syntax errors,
//! and the bound on nesting. Each family of statements has its own file.
//!
//! Functions beside the path of recursion are never inlined: a level of nesting must not spend
//! stack on the locals of every construct that it could have been.

mod alter_table;
mod backup;
mod call;
mod condition;
mod control;
mod cursor;
mod database;
mod ddl;
mod dml;
mod event_session;
mod execute;
mod expr;
mod external;
mod from;
mod hint;
mod index;
mod literal;
mod merge;
mod name;
mod odbc;
mod option;
mod partition;
mod query;
mod routine;
mod security;
mod select;
mod set;
mod statement;
mod table;
mod unsupported;

use types::pause::Watched;
use types::{Error, Msg, Result};

use crate::ast::{Batch, Literal, Span};
use crate::keyword::Keyword;
use crate::lexer::{Token, TokenKind, tokenize_watched};
use crate::{NESTING_MAX, QuotedIdentifier, line_at};

/// Most characters of a token that an error message shows.
const ERROR_TOKEN_CHARS_MAX: usize = 128;

/// Capacity that a list of more than one item starts with.
const LIST_ROOM: usize = 4;

/// Parses a batch; see [`crate::parse_watched`].
pub(crate) fn parse_batch(
    text: &str,
    quotes: QuotedIdentifier,
    watched: &Watched<'_>,
) -> Result<Batch> {
    if u32::try_from(text.len()).is_err() {
        return Err(Msg::OutOfMemory.into());
    }
    parse_tokens(text, quotes, tokenize_watched(text, watched), watched)
}

/// Parses a batch from tokens that are already cut; see [`parse_batch`].
pub(crate) fn parse_tokens(
    text: &str,
    quotes: QuotedIdentifier,
    tokens: Vec<Token>,
    watched: &Watched<'_>,
) -> Result<Batch> {
    let mut parser = Parser::new(text, quotes, tokens, watched);
    Ok(Batch { statements: parser.batch()? })
}

/// Parses the constants at these indexes of the tokens.
pub(crate) fn literals_at(
    text: &str,
    quotes: QuotedIdentifier,
    tokens: &mut Vec<Token>,
    places: &[u32],
) -> Result<Vec<Literal>> {
    let watched = Watched::new(&|| true);
    let mut parser = Parser::new(text, quotes, std::mem::take(tokens), &watched);
    let mut literals = Vec::with_capacity(places.len());
    for place in places {
        parser.position = *place as usize;
        literals.push(parser.literal()?);
    }
    *tokens = parser.tokens;
    Ok(literals)
}

/// The state of parsing one batch.
struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    position: usize,
    nesting: u32,
    quotes: QuotedIdentifier,
    /// Whether the text is the body of a natively compiled module.
    native: bool,
    /// An offset whose line is known; statements come in order, so each line is counted once.
    known_line: (u32, u32),
    /// Pauses, and ends the parse once its result is no longer wanted.
    watched: &'a Watched<'a>,
}

impl<'a> Parser<'a> {
    fn new(
        text: &'a str,
        quotes: QuotedIdentifier,
        tokens: Vec<Token>,
        watched: &'a Watched<'a>,
    ) -> Self {
        let known_line = (0, 1);
        Self { text, tokens, position: 0, nesting: 0, quotes, native: false, known_line, watched }
    }

    // Looking at tokens.

    #[inline]
    fn token(&self) -> Token {
        self.tokens[self.position]
    }

    /// Returns the token `ahead` of the next one, or the end token.
    #[inline]
    fn token_at(&self, ahead: usize) -> Token {
        self.tokens[(self.position + ahead).min(self.tokens.len() - 1)]
    }

    #[inline]
    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    #[inline]
    fn kind_at(&self, ahead: usize) -> TokenKind {
        self.token_at(ahead).kind
    }

    #[inline]
    fn keyword(&self) -> Keyword {
        self.token().keyword
    }

    #[inline]
    fn keyword_at(&self, ahead: usize) -> Keyword {
        self.token_at(ahead).keyword
    }

    #[inline]
    fn at(&self, keyword: Keyword) -> bool {
        self.keyword() == keyword
    }

    #[inline]
    fn at_kind(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    /// Returns whether the next tokens are these keywords.
    fn at_all(&self, keywords: &[Keyword]) -> bool {
        keywords.iter().enumerate().all(|(ahead, &keyword)| self.keyword_at(ahead) == keyword)
    }

    /// Returns the text of a token.
    #[inline]
    fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end() as usize]
    }

    // Taking tokens.

    /// Takes the next token; at the end token the position stays.
    #[inline]
    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        if !self.watched.step() {
            self.give_up();
        }
        token
    }

    /// Goes to the end of the text: the statements are no longer wanted.
    #[cold]
    fn give_up(&mut self) {
        self.position = self.tokens.len() - 1;
    }

    #[inline]
    fn eat(&mut self, keyword: Keyword) -> bool {
        let found = self.at(keyword);
        if found {
            self.position += 1;
        }
        found
    }

    #[inline]
    fn eat_kind(&mut self, kind: TokenKind) -> bool {
        let found = self.at_kind(kind);
        if found {
            self.advance();
        }
        found
    }

    /// Takes these keywords if all of them follow.
    fn eat_all(&mut self, keywords: &[Keyword]) -> bool {
        let found = self.at_all(keywords);
        if found {
            self.position += keywords.len();
        }
        found
    }

    fn expect(&mut self, keyword: Keyword) -> Result<()> {
        if self.eat(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_all(&mut self, keywords: &[Keyword]) -> Result<()> {
        keywords.iter().try_for_each(|&keyword| self.expect(keyword))
    }

    fn expect_kind(&mut self, kind: TokenKind) -> Result<Token> {
        if self.at_kind(kind) { Ok(self.advance()) } else { Err(self.unexpected()) }
    }

    // Parsing lists and parentheses.

    /// Parses `item, item, ..`: at least one.
    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let first = item(self)?;
        if !self.at_kind(TokenKind::Comma) {
            return Ok(vec![first]);
        }
        let mut list = Vec::with_capacity(LIST_ROOM);
        list.push(first);
        while self.eat_kind(TokenKind::Comma) {
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// Parses `(item, item, ..)`: at least one.
    fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.parens(|parser| parser.comma_list(item))
    }

    /// Parses `(item, item, ..)` if a parenthesis follows.
    fn optional_paren_list<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        if self.at_kind(TokenKind::LeftParen) { self.paren_list(item) } else { Ok(Vec::new()) }
    }

    /// Parses `( inner )`, one level deeper.
    fn parens<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.expect_kind(TokenKind::LeftParen)?;
        let value = self.nested(inner)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(value)
    }

    /// Runs `inner` one level deeper; every cycle of the grammar goes through here.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= NESTING_MAX {
            return Err(self.error_at(Msg::NestedTooDeeply, self.token().start));
        }
        // After an error the parser is not used again, so the level is restored on success only.
        self.nesting += 1;
        let value = inner(self)?;
        self.nesting -= 1;
        Ok(value)
    }

    // Offsets and lines.

    /// Returns the byte offset of the next token.
    #[inline]
    fn start(&self) -> u32 {
        self.token().start
    }

    /// Returns the byte offset behind the token before the next one.
    #[inline]
    fn end(&self) -> u32 {
        match self.position {
            0 => 0,
            position => self.tokens[position - 1].end(),
        }
    }

    /// Returns the span from `start` to the last token taken.
    #[inline]
    fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.end().max(start))
    }

    /// Returns the line of `offset`; fast if offsets only grow.
    fn line_of(&mut self, offset: u32) -> u32 {
        let (known, line) = self.known_line;
        if offset < known {
            return line_at(self.text, offset);
        }
        let between = &self.text.as_bytes()[known as usize..offset as usize];
        let breaks = between.iter().filter(|&&byte| byte == b'\n').count();
        let line = line + u32::try_from(breaks).unwrap_or(u32::MAX);
        self.known_line = (offset, line);
        line
    }

    // Syntax errors.

    /// Returns `msg` as an error on the line of `offset`.
    #[cold]
    fn error_at(&self, msg: Msg<'_>, offset: u32) -> Error {
        Error::from(msg).at_line(line_at(self.text, offset))
    }

    /// Returns the syntax error at the next token.
    #[cold]
    fn unexpected(&self) -> Error {
        self.unexpected_at(self.position)
    }

    /// Returns the syntax error at the token at `position`.
    #[cold]
    fn unexpected_at(&self, position: usize) -> Error {
        let token = self.tokens[position];
        match token.kind {
            TokenKind::UnclosedQuote => {
                let text = shorten(&self.text[token.start as usize + 1..]);
                self.error_at(Msg::UnclosedQuote(text), token.start)
            }
            TokenKind::UnclosedComment => self.error_at(Msg::MissingEndComment, token.start),
            // If something is missing at the end, SQL Server names the last token.
            TokenKind::End if position > 0 => {
                let last = self.tokens[position - 1];
                self.error_at(Msg::SyntaxNear(&self.shown(last)), last.start)
            }
            TokenKind::Word if token.keyword.is_reserved() => {
                self.error_at(Msg::SyntaxNearKeyword(self.text_of(token)), token.start)
            }
            _ => self.error_at(Msg::SyntaxNear(&self.shown(token)), token.start),
        }
    }

    /// Returns a token as error messages show it: names and strings without their quotes.
    fn shown(&self, token: Token) -> String {
        let text = self.text_of(token);
        let inner = match token.kind {
            TokenKind::String | TokenKind::Bracketed | TokenKind::DoubleQuoted => {
                text.get(1..text.len() - 1)
            }
            TokenKind::NString => text.get(2..text.len() - 1),
            _ => None,
        };
        shorten(inner.unwrap_or(text)).to_owned()
    }
}

/// Returns the beginning of a text, as long as a message shows.
fn shorten(text: &str) -> &str {
    match text.char_indices().nth(ERROR_TOKEN_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
