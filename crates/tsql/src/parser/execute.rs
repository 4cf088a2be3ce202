//! Parses EXECUTE in all its forms, and ODBC's `{call ..}`.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    Argument, Callee, Execute, ExecuteAs, ExecuteAsWho, ExecuteOption, ExecuteString, Expr,
    ExprKind, Literal, StatementKind, UnaryOp, Variable,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a statement that starts with EXEC or EXECUTE.
    #[inline(never)]
    pub(super) fn execute(&mut self) -> Result<StatementKind> {
        self.advance();
        if self.at_kind(TokenKind::LeftParen) {
            return Ok(StatementKind::ExecuteString(Box::new(self.execute_string()?)));
        }
        if self.at(Kw::As) {
            return self.execute_as();
        }
        let return_status = if self.at_variable() && self.kind_at(1) == TokenKind::Equal {
            let variable = self.variable()?;
            self.advance();
            Some(variable)
        } else {
            None
        };
        self.call(return_status)
    }

    /// Parses a procedure call without EXEC, which only the first statement of a batch may be.
    pub(super) fn bare_call(&mut self) -> Result<StatementKind> {
        self.call(None)
    }

    fn call(&mut self, return_status: Option<Variable>) -> Result<StatementKind> {
        let procedure = self.callee()?;
        let number = self.procedure_number()?;
        let arguments =
            if self.at_argument() { self.comma_list(Self::argument_of_exec)? } else { Vec::new() };
        self.check_names(&arguments)?;
        let options = self.execute_options()?;
        let execute = Execute { return_status, procedure, number, arguments, options };
        Ok(StatementKind::Execute(Box::new(execute)))
    }

    fn callee(&mut self) -> Result<Callee> {
        if self.at_variable() {
            return Ok(Callee::Variable(self.variable()?));
        }
        Ok(Callee::Name(self.object_name()?))
    }

    /// Parses `;number` behind a procedure's name.
    pub(super) fn procedure_number(&mut self) -> Result<Option<u32>> {
        if self.at_kind(TokenKind::Semicolon) && self.kind_at(1) == TokenKind::Integer {
            self.advance();
            return self.small_integer().map(Some);
        }
        Ok(None)
    }

    /// Returns whether an argument follows, and not the next statement.
    fn at_argument(&self) -> bool {
        match self.kind() {
            TokenKind::Variable | TokenKind::Minus | TokenKind::Plus => true,
            _ if self.at_literal() || self.at(Kw::Default) => true,
            // A word is a string constant, unless it is a label.
            _ => self.at_ident() && self.kind_at(1) != TokenKind::Colon,
        }
    }

    /// Refuses an argument without a name behind one with a name.
    fn check_names(&self, arguments: &[Argument]) -> Result<()> {
        let named = arguments.iter().position(|argument| argument.name.is_some());
        let first = named.unwrap_or(arguments.len());
        match arguments[first..].iter().position(|argument| argument.name.is_none()) {
            None => Ok(()),
            Some(behind) => {
                let (at, number) = (&arguments[first + behind], first + behind + 1);
                let number = i64::try_from(number).unwrap_or(i64::MAX);
                Err(self.error_at(Msg::MustNameParameters(number), at.span.start))
            }
        }
    }

    fn argument_of_exec(&mut self) -> Result<Argument> {
        let start = self.start();
        let name = if self.at_variable() && self.kind_at(1) == TokenKind::Equal {
            let name = self.variable()?;
            self.advance();
            Some(name)
        } else {
            None
        };
        let value = self.argument_value()?;
        let output = self.eat(Kw::Output) || self.eat(Kw::Out);
        Ok(Argument { name, value, output, span: self.span_from(start) })
    }

    /// Parses a constant with or without sign, a variable, DEFAULT, or a word as a string.
    fn argument_value(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Variable => ExprKind::Variable(self.variable()?),
            TokenKind::Minus | TokenKind::Plus => {
                let op =
                    if self.at_kind(TokenKind::Minus) { UnaryOp::Minus } else { UnaryOp::Plus };
                self.advance();
                let value_start = self.start();
                let literal = ExprKind::Literal(self.literal()?);
                let operand = Expr { kind: literal, span: self.span_from(value_start) };
                ExprKind::Unary { op, operand: Box::new(operand) }
            }
            _ if self.at(Kw::Default) => return self.expr_or_default(),
            _ if self.at_literal() => ExprKind::Literal(self.literal()?),
            _ => {
                let word = self.ident()?;
                ExprKind::Literal(Literal::String(word.as_str().into()))
            }
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    fn execute_string(&mut self) -> Result<ExecuteString> {
        let (text, arguments) = self.parens(|parser| {
            let mut text = vec![parser.string_or_variable()?];
            while parser.eat_kind(TokenKind::Plus) {
                text.push(parser.string_or_variable()?);
            }
            let mut arguments = Vec::new();
            while parser.eat_kind(TokenKind::Comma) {
                arguments.push(parser.argument_of_exec()?);
            }
            Ok((text, arguments))
        })?;
        let run_as = if self.eat(Kw::As) { Some(self.execute_as_who()?) } else { None };
        let at = if self.eat(Kw::At) {
            if self.at_all(&[Kw::DataSource]) && self.is_ident(self.token_at(1)) {
                return Err(self.not_supported("EXECUTE .. AT DATA_SOURCE", self.start()));
            }
            Some(self.ident()?)
        } else {
            None
        };
        let options = self.execute_options()?;
        Ok(ExecuteString { text, arguments, run_as, at, options })
    }

    fn execute_options(&mut self) -> Result<Vec<ExecuteOption>> {
        let follows = self.at(Kw::With) && matches!(self.keyword_at(1), Kw::Recompile | Kw::Result);
        if !follows {
            return Ok(Vec::new());
        }
        self.advance();
        self.once_list(Self::execute_option)
    }

    fn execute_option(&mut self) -> Result<ExecuteOption> {
        if self.eat(Kw::Recompile) {
            return Ok(ExecuteOption::Recompile);
        }
        self.expect_all(&[Kw::Result, Kw::Sets])?;
        if self.eat(Kw::Undefined) {
            return Ok(ExecuteOption::ResultSetsUndefined);
        }
        if self.eat(Kw::None_) {
            return Ok(ExecuteOption::ResultSetsNone);
        }
        let sets = self.paren_list(|parser| {
            if parser.at(Kw::As) {
                let form = parser.text_of(parser.token_at(1)).to_ascii_uppercase();
                let what = format!("WITH RESULT SETS (AS {form})");
                return Err(parser.not_supported(&what, parser.start()));
            }
            parser.paren_list(Self::column_definition)
        })?;
        Ok(ExecuteOption::ResultSets(sets))
    }

    /// Parses `AS who` behind EXECUTE as a statement.
    fn execute_as(&mut self) -> Result<StatementKind> {
        self.expect(Kw::As)?;
        let who = self.execute_as_who()?;
        let mut no_revert = false;
        let mut cookie = None;
        if self.eat(Kw::With) {
            no_revert = self.eat_all(&[Kw::No, Kw::Revert]);
            if !no_revert {
                self.expect_all(&[Kw::Cookie, Kw::Into])?;
                cookie = Some(self.variable()?);
            }
        }
        Ok(StatementKind::ExecuteAs(Box::new(ExecuteAs { who, no_revert, cookie })))
    }

    /// Parses CALLER, SELF, OWNER, `USER = 'u'`, `LOGIN = 'l'` or `'u'`.
    pub(super) fn execute_as_who(&mut self) -> Result<ExecuteAsWho> {
        let who = match self.keyword() {
            Kw::Caller => ExecuteAsWho::Caller,
            Kw::Self_ => ExecuteAsWho::SelfUser,
            Kw::Owner => ExecuteAsWho::Owner,
            Kw::User => {
                self.advance();
                self.expect_kind(TokenKind::Equal)?;
                return Ok(ExecuteAsWho::User(Box::new(self.primary()?)));
            }
            Kw::Login => {
                self.advance();
                self.expect_kind(TokenKind::Equal)?;
                return Ok(ExecuteAsWho::Login(Box::new(self.primary()?)));
            }
            _ if self.is_string(self.token()) => {
                return Ok(ExecuteAsWho::User(Box::new(self.primary()?)));
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(who)
    }

    pub(super) fn revert(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Revert)?;
        if !self.eat_all(&[Kw::With, Kw::Cookie]) {
            return Ok(StatementKind::Revert(None));
        }
        self.expect_kind(TokenKind::Equal)?;
        Ok(StatementKind::Revert(Some(self.variable()?)))
    }

    /// Parses `{call p(1, 'a')}` and `{? = call p}`.
    pub(super) fn odbc_call(&mut self) -> Result<StatementKind> {
        self.expect_kind(TokenKind::LeftBrace)?;
        self.expect(Kw::Call)?;
        let procedure = Callee::Name(self.object_name()?);
        let number = self.procedure_number()?;
        let mut arguments = Vec::new();
        if self.at_kind(TokenKind::LeftParen) {
            arguments = self.parens(|parser| {
                if parser.at_kind(TokenKind::RightParen) {
                    return Ok(Vec::new());
                }
                parser.comma_list(Self::argument_of_exec)
            })?;
            self.check_names(&arguments)?;
        }
        self.expect_kind(TokenKind::RightBrace)?;
        let execute =
            Execute { return_status: None, procedure, number, arguments, options: Vec::new() };
        Ok(StatementKind::Execute(Box::new(execute)))
    }
}
