//! Parses cursor statements: DECLARE, OPEN, FETCH, CLOSE, DEALLOCATE.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    CursorAccess, CursorName, CursorOption, CursorRef, DeclareCursor, Fetch, FetchDirection, Ident,
    Statement, StatementKind,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses OPEN, FETCH, CLOSE and DEALLOCATE.
    #[inline(never)]
    pub(super) fn cursor_statement(&mut self) -> Result<StatementKind> {
        let start = self.start();
        let verb = self.keyword();
        let keys = matches!(self.keyword_at(1), Kw::Symmetric | Kw::Master | Kw::All);
        if keys && matches!(verb, Kw::Open | Kw::Close) && self.is_ident_or_key(2) {
            return self.unsupported_here(start);
        }
        self.advance();
        match verb {
            Kw::Open => Ok(StatementKind::OpenCursor(self.cursor_ref()?)),
            Kw::Close => Ok(StatementKind::CloseCursor(self.cursor_ref()?)),
            Kw::Deallocate => Ok(StatementKind::DeallocateCursor(self.cursor_ref()?)),
            _ => Ok(StatementKind::Fetch(Box::new(self.fetch()?))),
        }
    }

    fn is_ident_or_key(&self, ahead: usize) -> bool {
        matches!(self.keyword_at(ahead), Kw::Key | Kw::Symmetric)
    }

    /// Parses `[GLOBAL] name` or a variable.
    pub(super) fn cursor_ref(&mut self) -> Result<CursorRef> {
        if self.at_variable() {
            return Ok(CursorRef { global: false, name: CursorName::Variable(self.variable()?) });
        }
        // `global` may also be the cursor's name.
        let global = self.at(Kw::Global) && (self.is_ident(self.token_at(1)));
        if global {
            self.advance();
        }
        Ok(CursorRef { global, name: CursorName::Name(self.ident()?) })
    }

    fn fetch(&mut self) -> Result<Fetch> {
        let direction = self.fetch_direction()?;
        let cursor = self.cursor_ref()?;
        let into = if self.eat(Kw::Into) { self.comma_list(Self::variable)? } else { Vec::new() };
        Ok(Fetch { direction, cursor, into })
    }

    /// Parses `[direction] FROM`. A direction needs FROM: `FETCH NEXT` reads a cursor of that name.
    fn fetch_direction(&mut self) -> Result<FetchDirection> {
        let direction = match (self.keyword(), self.keyword_at(1)) {
            (Kw::Absolute, _) if self.at_fetch_offset() => {
                self.advance();
                FetchDirection::Absolute(self.integer_or_variable()?)
            }
            (Kw::Relative, _) if self.at_fetch_offset() => {
                self.advance();
                FetchDirection::Relative(self.integer_or_variable()?)
            }
            (word, Kw::From) => {
                let direction = match word {
                    Kw::Next => FetchDirection::Next,
                    Kw::Prior => FetchDirection::Prior,
                    Kw::First => FetchDirection::First,
                    Kw::Last => FetchDirection::Last,
                    _ => return Err(self.unexpected_at(self.position + 1)),
                };
                self.advance();
                direction
            }
            _ => {
                self.eat(Kw::From);
                return Ok(FetchDirection::Next);
            }
        };
        self.expect(Kw::From)?;
        Ok(direction)
    }

    fn at_fetch_offset(&self) -> bool {
        matches!(self.kind_at(1), TokenKind::Variable | TokenKind::Integer | TokenKind::Minus)
    }

    /// Parses `DECLARE name [INSENSITIVE] [SCROLL] CURSOR ..`.
    pub(super) fn declare_cursor(&mut self) -> Result<StatementKind> {
        let start = self.start();
        self.expect(Kw::Declare)?;
        let name = self.ident()?;
        let mut options = Vec::new();
        while !self.at(Kw::Cursor) {
            match self.cursor_option() {
                Some(option @ (CursorOption::Insensitive | CursorOption::Scroll)) => {
                    options.push(option)
                }
                _ => return Err(self.unexpected()),
            }
        }
        let cursor = self.cursor_definition(Some(name), options, start)?;
        Ok(StatementKind::DeclareCursor(Box::new(cursor)))
    }

    /// Parses a cursor's definition, starting at CURSOR.
    pub(super) fn cursor_definition(
        &mut self,
        name: Option<Ident>,
        mut options: Vec<CursorOption>,
        start: u32,
    ) -> Result<DeclareCursor> {
        self.expect(Kw::Cursor)?;
        let of_iso = options.len();
        while !self.at(Kw::For) {
            let at = self.start();
            let Some(option) = self.cursor_option() else { return Err(self.unexpected()) };
            if of_iso > 0 || option == CursorOption::Insensitive {
                return Err(self.error_at(Msg::MixedCursorSyntax, at));
            }
            let other = options.iter().find(|other| conflict(**other, option));
            if let Some(other) = other {
                let msg = Msg::ConflictingCursorOptions(other.word(), option.word());
                return Err(self.error_at(msg, at));
            }
            options.push(option);
        }
        self.expect(Kw::For)?;
        let query = Box::new(self.cursor_query()?);
        let access = self.cursor_access()?;
        Ok(DeclareCursor { name, options, query, access, span: self.span_from(start) })
    }

    fn cursor_query(&mut self) -> Result<Statement> {
        self.nested(|parser| {
            let start = parser.start();
            let line = parser.line_of(start);
            let with = if parser.at(Kw::With) { Some(parser.with()?) } else { None };
            if !parser.at(Kw::Select) && !parser.at_kind(TokenKind::LeftParen) {
                return Err(parser.unexpected());
            }
            let select = parser.select_statement(with)?;
            let span = parser.span_from(start);
            Ok(Statement { kind: StatementKind::Select(Box::new(select)), span, line })
        })
    }

    fn cursor_access(&mut self) -> Result<Option<CursorAccess>> {
        if !self.eat(Kw::For) {
            return Ok(None);
        }
        if self.eat_all(&[Kw::Read, Kw::Only]) {
            return Ok(Some(CursorAccess::ReadOnly));
        }
        self.expect(Kw::Update)?;
        let columns = if self.eat(Kw::Of) {
            self.comma_list(|p| Ok(p.column_ref()?.column))?
        } else {
            Vec::new()
        };
        Ok(Some(CursorAccess::Update(columns)))
    }

    fn cursor_option(&mut self) -> Option<CursorOption> {
        let option = match self.keyword() {
            Kw::Insensitive => CursorOption::Insensitive,
            Kw::Scroll => CursorOption::Scroll,
            Kw::Local => CursorOption::Local,
            Kw::Global => CursorOption::Global,
            Kw::ForwardOnly => CursorOption::ForwardOnly,
            Kw::Static => CursorOption::Static,
            Kw::Keyset => CursorOption::Keyset,
            Kw::Dynamic => CursorOption::Dynamic,
            Kw::FastForward => CursorOption::FastForward,
            Kw::ReadOnly => CursorOption::ReadOnly,
            Kw::ScrollLocks => CursorOption::ScrollLocks,
            Kw::Optimistic => CursorOption::Optimistic,
            Kw::TypeWarning => CursorOption::TypeWarning,
            _ => return None,
        };
        self.advance();
        Some(option)
    }
}

/// Returns whether two options of DECLARE CURSOR are the same or exclude each other.
fn conflict(one: CursorOption, other: CursorOption) -> bool {
    use CursorOption as Is;
    /// At most one option of each line may be written.
    const CHOICES: &[&[CursorOption]] = &[
        &[Is::Local, Is::Global],
        &[Is::ForwardOnly, Is::Scroll],
        &[Is::Static, Is::Keyset, Is::Dynamic, Is::FastForward],
        &[Is::ReadOnly, Is::ScrollLocks, Is::Optimistic],
        &[Is::FastForward, Is::Scroll],
        &[Is::FastForward, Is::ScrollLocks],
        &[Is::FastForward, Is::Optimistic],
        &[Is::Static, Is::ScrollLocks],
    ];
    one == other || CHOICES.iter().any(|choice| choice.contains(&one) && choice.contains(&other))
}
