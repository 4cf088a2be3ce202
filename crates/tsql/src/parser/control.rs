//! Parses control of flow: blocks, IF, WHILE, TRY, THROW, RAISERROR, WAITFOR; and DECLARE.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    AtomicBlock, AtomicOption, Declaration, DeclarationKind, Expr, If, IfBranch, IsolationLevel,
    RaisError, RaisErrorOption, Statement, StatementKind, Throw, TryCatch, WaitFor, While,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a control-of-flow statement.
    pub(super) fn control_statement(&mut self) -> Result<StatementKind> {
        match self.keyword() {
            Kw::Begin => self.begin(),
            Kw::If => self.if_statement(),
            Kw::While => self.while_statement(),
            Kw::Break => {
                self.advance();
                Ok(StatementKind::Break)
            }
            Kw::Continue => {
                self.advance();
                Ok(StatementKind::Continue)
            }
            Kw::Return => self.return_statement(),
            Kw::Goto => {
                self.advance();
                Ok(StatementKind::Goto(self.ident()?))
            }
            Kw::Waitfor => self.wait_for(),
            Kw::Raiserror => self.raise_error(),
            Kw::Print => {
                self.advance();
                let first = self.position;
                let text = self.expr()?;
                let is_query = |at: &usize| {
                    self.tokens[*at].kind == TokenKind::LeftParen
                        && self.tokens[at + 1].keyword == Kw::Select
                };
                if let Some(query) = (first..self.position).find(is_query) {
                    let start = self.tokens[query].start;
                    return Err(self.error_at(Msg::SubqueryNotAllowed, start));
                }
                Ok(StatementKind::Print(Box::new(text)))
            }
            _ => match self.unsupported()? {
                Some(unsupported) => Ok(unsupported),
                None => Err(self.unexpected()),
            },
        }
    }

    fn begin(&mut self) -> Result<StatementKind> {
        match self.keyword_at(1) {
            Kw::Try => self.try_catch(),
            Kw::Atomic => self.atomic_block(),
            Kw::Dialog | Kw::Conversation => self.unsupported_here(self.start()),
            _ => {
                self.advance();
                Ok(StatementKind::Block(self.block_body()?))
            }
        }
    }

    /// Parses statements and END; at least one statement.
    fn block_body(&mut self) -> Result<Vec<Statement>> {
        let statements = self.statements_to_keyword_end()?;
        if statements.is_empty() {
            return Err(self.unexpected());
        }
        self.expect(Kw::End)?;
        Ok(statements)
    }

    #[inline(never)]
    fn atomic_block(&mut self) -> Result<StatementKind> {
        self.expect_all(&[Kw::Begin, Kw::Atomic, Kw::With])?;
        let options = self.paren_list(Self::atomic_option)?;
        let body = self.statements_to_keyword_end()?;
        self.expect(Kw::End)?;
        Ok(StatementKind::AtomicBlock(Box::new(AtomicBlock { options, body })))
    }

    fn atomic_option(&mut self) -> Result<AtomicOption> {
        if self.eat(Kw::Transaction) {
            self.expect_all(&[Kw::Isolation, Kw::Level])?;
            self.expect_kind(TokenKind::Equal)?;
            return Ok(AtomicOption::Isolation(self.isolation_level()?));
        }
        let option = self.advance();
        if !matches!(
            option.keyword,
            Kw::Language | Kw::Datefirst | Kw::Dateformat | Kw::DelayedDurability
        ) {
            return Err(self.unexpected_at(self.position - 1));
        }
        self.expect_kind(TokenKind::Equal)?;
        Ok(match option.keyword {
            Kw::Language => AtomicOption::Language(self.string_or_word()?),
            Kw::Datefirst => AtomicOption::DateFirst(self.small_integer()?),
            Kw::Dateformat => AtomicOption::DateFormat(self.any_word()?),
            _ => AtomicOption::DelayedDurability(self.on_off()?),
        })
    }

    fn string_or_word(&mut self) -> Result<Box<str>> {
        if self.is_string(self.token()) {
            return self.string();
        }
        Ok(self.any_word()?.as_str().into())
    }

    /// Parses the name of an isolation level.
    pub(super) fn isolation_level(&mut self) -> Result<IsolationLevel> {
        const LEVELS: [(&[Kw], IsolationLevel); 5] = [
            (&[Kw::Read, Kw::Uncommitted], IsolationLevel::ReadUncommitted),
            (&[Kw::Read, Kw::Committed], IsolationLevel::ReadCommitted),
            (&[Kw::Repeatable, Kw::Read], IsolationLevel::RepeatableRead),
            (&[Kw::Snapshot], IsolationLevel::Snapshot),
            (&[Kw::Serializable], IsolationLevel::Serializable),
        ];
        let found = LEVELS.iter().find(|(words, _)| self.at_all(words));
        let Some((words, level)) = found else { return Err(self.unexpected()) };
        self.position += words.len();
        Ok(*level)
    }

    #[inline(never)]
    fn try_catch(&mut self) -> Result<StatementKind> {
        self.expect_all(&[Kw::Begin, Kw::Try])?;
        let body = self.statements_to_keyword_end()?;
        if body.is_empty() {
            return Err(self.unexpected());
        }
        self.expect_all(&[Kw::End, Kw::Try])?;
        while self.eat_kind(TokenKind::Semicolon) {}
        self.expect_all(&[Kw::Begin, Kw::Catch])?;
        let catch = self.statements_to_keyword_end()?;
        self.expect_all(&[Kw::End, Kw::Catch])?;
        Ok(StatementKind::TryCatch(Box::new(TryCatch { body, catch })))
    }

    /// Parses IF with all ELSE IFs behind it, in a loop and not by recursion.
    #[inline(never)]
    fn if_statement(&mut self) -> Result<StatementKind> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        loop {
            let start = self.start();
            let line = self.line_of(start);
            self.expect(Kw::If)?;
            let condition = self.condition()?;
            let span = self.span_from(start);
            let then = self.statement()?;
            branches.push(IfBranch { condition, then, line, span });
            if !self.eat(Kw::Else) {
                break;
            }
            if !self.at(Kw::If) {
                otherwise = Some(self.statement()?);
                break;
            }
        }
        Ok(StatementKind::If(Box::new(If { branches, otherwise })))
    }

    #[inline(never)]
    fn while_statement(&mut self) -> Result<StatementKind> {
        self.expect(Kw::While)?;
        let condition = self.condition()?;
        let body = self.statement()?;
        Ok(StatementKind::While(Box::new(While { condition, body })))
    }

    fn return_statement(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Return)?;
        let value = if self.at_expr_start() { Some(self.expr()?) } else { None };
        Ok(StatementKind::Return(value))
    }

    /// Returns whether a value can start here. A statement behind a bare RETURN does not start as
    /// one.
    fn at_expr_start(&self) -> bool {
        match self.kind() {
            TokenKind::Word if self.keyword().is_reserved() => matches!(
                self.keyword(),
                Kw::Case
                    | Kw::Null
                    | Kw::Coalesce
                    | Kw::Nullif
                    | Kw::Left
                    | Kw::Right
                    | Kw::Convert
                    | Kw::TryConvert
                    | Kw::CurrentTimestamp
                    | Kw::CurrentDate
                    | Kw::CurrentUser
                    | Kw::SessionUser
                    | Kw::SystemUser
                    | Kw::User
            ),
            // A word with a colon is a label behind a bare RETURN.
            TokenKind::Word => self.kind_at(1) != TokenKind::Colon && !self.at(Kw::Throw),
            TokenKind::Bracketed => self.kind_at(1) != TokenKind::Colon,
            TokenKind::Variable
            | TokenKind::LeftParen
            | TokenKind::LeftBrace
            | TokenKind::Minus
            | TokenKind::Plus
            | TokenKind::Tilde
            | TokenKind::Dollar
            | TokenKind::DoubleQuoted => true,
            _ => self.at_literal(),
        }
    }

    #[inline(never)]
    fn wait_for(&mut self) -> Result<StatementKind> {
        let start = self.start();
        self.expect(Kw::Waitfor)?;
        if self.at_kind(TokenKind::LeftParen) {
            return self.unsupported_here(start);
        }
        if self.eat(Kw::Delay) {
            return Ok(StatementKind::WaitFor(WaitFor::Delay(Box::new(self.primary()?))));
        }
        self.expect(Kw::Time)?;
        Ok(StatementKind::WaitFor(WaitFor::Time(Box::new(self.primary()?))))
    }

    #[inline(never)]
    pub(super) fn throw(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Throw)?;
        if !self.at_variable() && !self.at_kind(TokenKind::Integer) {
            return Ok(StatementKind::Throw(None));
        }
        let number = self.integer_or_variable()?;
        self.expect_kind(TokenKind::Comma)?;
        let message = self.string_or_variable()?;
        self.expect_kind(TokenKind::Comma)?;
        let state = self.integer_or_variable()?;
        Ok(StatementKind::Throw(Some(Box::new(Throw { number, message, state }))))
    }

    #[inline(never)]
    fn raise_error(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Raiserror)?;
        let (message, severity, state, arguments) = self.parens(|parser| {
            let message = match parser.is_string(parser.token()) {
                true => parser.string_or_variable()?,
                false => parser.integer_or_variable()?,
            };
            parser.expect_kind(TokenKind::Comma)?;
            let severity = parser.integer_or_variable()?;
            parser.expect_kind(TokenKind::Comma)?;
            let state = parser.integer_or_variable()?;
            let mut arguments = Vec::new();
            while parser.eat_kind(TokenKind::Comma) {
                arguments.push(parser.constant_or_variable()?);
            }
            Ok((message, severity, state, arguments))
        })?;
        let options = if self.eat(Kw::With) {
            self.comma_list(Self::raise_error_option)?
        } else {
            Vec::new()
        };
        let raise = RaisError { message, severity, state, arguments, options };
        Ok(StatementKind::RaisError(Box::new(raise)))
    }

    fn raise_error_option(&mut self) -> Result<RaisErrorOption> {
        let option = match self.keyword() {
            Kw::Log => RaisErrorOption::Log,
            Kw::Nowait => RaisErrorOption::NoWait,
            Kw::Seterror => RaisErrorOption::SetError,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(option)
    }

    /// Parses DECLARE of variables, or of a cursor.
    #[inline(never)]
    pub(super) fn declare(&mut self) -> Result<StatementKind> {
        if !matches!(self.kind_at(1), TokenKind::Variable) {
            return self.declare_cursor();
        }
        self.expect(Kw::Declare)?;
        Ok(StatementKind::Declare(self.comma_list(Self::declaration)?))
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let start = self.start();
        let variable = self.variable()?;
        self.eat(Kw::As);
        let kind = match self.keyword() {
            Kw::Cursor => {
                self.advance();
                DeclarationKind::Cursor
            }
            Kw::Table => {
                self.advance();
                DeclarationKind::Table(self.table_elements()?)
            }
            _ => {
                let data_type = self.type_name()?;
                let not_null = self.native && self.nullability() == Some(false);
                let value: Option<Expr> =
                    if self.eat_kind(TokenKind::Equal) { Some(self.expr()?) } else { None };
                DeclarationKind::Scalar { data_type, not_null, value }
            }
        };
        Ok(Declaration { variable, kind, span: self.span_from(start) })
    }
}
