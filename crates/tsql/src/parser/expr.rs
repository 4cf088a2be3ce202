//! Parses expressions that have a value.
//!
//! T-SQL's precedence, tightest first: postfix (COLLATE, AT TIME ZONE, methods); `~`; `* / %`; then
//! `+ - & ^ |` on one level from left to right, which the signs `+x` and `-x` belong to as well:
//! `-2 * 3` is `-(2 * 3)` and `a / -b * c` is `a / -(b * c)`.

use types::{Error, Result};

use super::Parser;
use crate::ast::{
    ArithmeticOp, Call, CallSpecial, ColumnRef, Expr, ExprKind, Ident, Method, Niladic, ObjectName,
    QueryExpression, Quoting, UnaryOp,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// How many COLLATEs, AT TIME ZONEs and methods may follow one value; each is a level of the tree.
const POSTFIX_MAX: usize = 4;

impl Parser<'_> {
    /// Parses an expression that has a value.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        let first = self.multiplicative()?;
        self.additive_rest(first)
    }

    /// Parses the operators that may follow a value in parentheses.
    pub(super) fn expr_rest(&mut self, first: Expr) -> Result<Expr> {
        let first = self.postfix(first)?;
        let first = self.multiplicative_rest(first)?;
        self.additive_rest(first)
    }

    fn additive_rest(&mut self, first: Expr) -> Result<Expr> {
        let mut left = self.chain(first, additive_op, Self::multiplicative)?;
        for _ in 0..POSTFIX_MAX {
            let Some(function) = self.shift() else { return Ok(left) };
            left = self.shifted(left, function)?;
            left = self.chain(left, additive_op, Self::multiplicative)?;
        }
        match self.shift() {
            Some(_) => Err(self.error_at(types::Msg::NestedTooDeeply, self.start())),
            None => Ok(left),
        }
    }

    /// Returns the function that the operator `<<` or `>>` is short for, if one follows.
    fn shift(&self) -> Option<&'static str> {
        let function = match self.kind() {
            TokenKind::Less => "LEFT_SHIFT",
            TokenKind::Greater => "RIGHT_SHIFT",
            _ => return None,
        };
        let (first, second) = (self.token(), self.token_at(1));
        (second.kind == first.kind && second.start == first.end()).then_some(function)
    }

    fn shifted(&mut self, left: Expr, function: &str) -> Result<Expr> {
        let start = self.start();
        self.position += 2;
        let sign = self.span_from(start);
        let right = self.multiplicative()?;
        let span = self.span_from(left.span.start);
        let call = Call {
            name: ObjectName::simple(Ident::new(function, Quoting::None, sign)),
            distinct: false,
            arguments: vec![left, right],
            within_group: Vec::new(),
            nulls: None,
            over: None,
            special: CallSpecial::None,
        };
        Ok(Expr { kind: ExprKind::Call(Box::new(call)), span })
    }

    fn multiplicative(&mut self) -> Result<Expr> {
        let first = self.factor()?;
        self.multiplicative_rest(first)
    }

    fn multiplicative_rest(&mut self, first: Expr) -> Result<Expr> {
        self.chain(first, multiplicative_op, Self::factor)
    }

    /// Parses the rest of a chain of operators of one precedence level.
    fn chain(
        &mut self,
        first: Expr,
        op: fn(TokenKind) -> Option<ArithmeticOp>,
        operand: fn(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        if op(self.kind()).is_none() {
            return Ok(first);
        }
        let mut rest = Vec::new();
        while let Some(op) = op(self.kind()) {
            self.advance();
            rest.push((op, operand(self)?));
        }
        let span = self.span_from(first.span.start);
        Ok(Expr { kind: ExprKind::Arithmetic { first: Box::new(first), rest }, span })
    }

    fn factor(&mut self) -> Result<Expr> {
        let (op, operand): (_, fn(&mut Self) -> Result<Expr>) = match self.kind() {
            TokenKind::Minus => (UnaryOp::Minus, Self::multiplicative),
            TokenKind::Plus => (UnaryOp::Plus, Self::multiplicative),
            TokenKind::Tilde => (UnaryOp::BitNot, Self::factor),
            _ => {
                let primary = self.primary()?;
                return self.postfix(primary);
            }
        };
        let start = self.start();
        self.advance();
        let operand = Box::new(self.nested(operand)?);
        Ok(Expr { kind: ExprKind::Unary { op, operand }, span: self.span_from(start) })
    }

    /// Parses the postfix operators of a value, which bind tighter than any other.
    pub(super) fn postfix(&mut self, mut expr: Expr) -> Result<Expr> {
        let mut collated = false;
        for _ in 0..POSTFIX_MAX {
            let start = expr.span.start;
            let kind = if self.at(Kw::Collate) && !collated {
                collated = true;
                self.advance();
                ExprKind::Collate { operand: Box::new(expr), collation: self.any_word()? }
            } else if self.eat_all(&[Kw::At, Kw::Time, Kw::Zone]) {
                let zone = Box::new(self.nested(Self::primary)?);
                ExprKind::AtTimeZone { operand: Box::new(expr), zone }
            } else if self.at_kind(TokenKind::Dot) && self.is_ident(self.token_at(1)) {
                self.advance();
                let name = self.ident()?;
                if !self.at_kind(TokenKind::LeftParen) {
                    return Err(self.refused_property(&name, start));
                }
                let arguments = self.arguments()?;
                ExprKind::Method(Box::new(Method { target: expr, name, arguments }))
            } else {
                return Ok(expr);
            };
            expr = Expr { kind, span: self.span_from(start) };
        }
        let more = self.at(Kw::Collate) || self.at_kind(TokenKind::Dot);
        if more || self.at_all(&[Kw::At, Kw::Time, Kw::Zone]) {
            return Err(self.error_at(types::Msg::NestedTooDeeply, self.start()));
        }
        Ok(expr)
    }

    #[cold]
    #[inline(never)]
    fn refused_property(&self, name: &str, start: u32) -> Error {
        self.not_supported(&format!("the property {name} of a CLR type"), start)
    }

    pub(super) fn primary(&mut self) -> Result<Expr> {
        let start = self.start();
        if self.at_kind(TokenKind::LeftParen) {
            return self.paren_expr();
        }
        let kind = match self.kind() {
            TokenKind::Variable => ExprKind::Variable(self.variable()?),
            TokenKind::LeftBrace if self.keyword_at(1) == Kw::Fn => self.odbc_function()?,
            TokenKind::Percent => return Err(self.pseudo_column()),
            _ if self.at_literal() => ExprKind::Literal(self.literal()?),
            _ => self.word_expr()?,
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// Parses `(expr)` or `(SELECT ..)`.
    fn paren_expr(&mut self) -> Result<Expr> {
        if self.at_paren_query() {
            return self.subquery_expr();
        }
        self.parens(Self::expr)
    }

    pub(super) fn subquery_expr(&mut self) -> Result<Expr> {
        let start = self.start();
        let query = self.paren_query()?;
        Ok(Expr { kind: ExprKind::Subquery(Box::new(query)), span: self.span_from(start) })
    }

    /// Parses a value that starts with a word: CASE, a function, a column.
    fn word_expr(&mut self) -> Result<ExprKind> {
        if let Some(niladic) = niladic(self.keyword()) {
            self.advance();
            return Ok(ExprKind::Niladic(niladic));
        }
        match self.keyword() {
            Kw::Case => self.nested(Self::case),
            Kw::Next if self.at_all(&[Kw::Next, Kw::Value, Kw::For]) => self.next_value(),
            Kw::IdentityCol | Kw::RowGuidCol => {
                let column = self.any_word()?;
                Ok(ExprKind::Column(Box::new(ColumnRef { column, table: None })))
            }
            Kw::Coalesce
            | Kw::Nullif
            | Kw::Left
            | Kw::Right
            | Kw::Identity
            | Kw::Convert
            | Kw::TryConvert
                if self.kind_at(1) == TokenKind::LeftParen =>
            {
                let name = self.any_word()?;
                self.call_by_name(ObjectName::simple(name))
            }
            _ => self.name_expr(),
        }
    }

    /// Parses a column, a function, a method of a column, or a static method.
    #[inline(never)]
    fn name_expr(&mut self) -> Result<ExprKind> {
        if !self.at_ident() && !matches!(self.kind(), TokenKind::Dollar | TokenKind::Dot) {
            return Err(self.unexpected());
        }
        if let Some(column) = self.plain_column()? {
            return Ok(ExprKind::Column(column));
        }
        let name = self.object_name()?;
        match self.kind() {
            TokenKind::LeftParen => self.call_by_name(name),
            TokenKind::DoubleColon => self.static_method(name),
            // `.c` and `t..c` leave out what a column is of.
            _ if name.schema.is_none() && name.span.start < name.object.span.start => {
                Err(self.error_at(types::Msg::NameMissing, name.span.start))
            }
            _ => Ok(ExprKind::Column(Box::new(column_of(name)))),
        }
    }

    /// Parses `c` and `t.c`, the forms of most names in expressions; `None` for any other.
    fn plain_column(&mut self) -> Result<Option<Box<ColumnRef>>> {
        let Some(parts) = self.plain_parts() else { return Ok(None) };
        let behind = self.kind_at(2 * parts - 1);
        if matches!(behind, TokenKind::LeftParen | TokenKind::DoubleColon) {
            return Ok(None);
        }
        let first = self.take_ident()?;
        if parts == 1 {
            return Ok(Some(Box::new(ColumnRef { column: first, table: None })));
        }
        self.position += 1;
        let column = self.take_ident()?;
        Ok(Some(Box::new(ColumnRef { column, table: Some(ObjectName::simple(first)) })))
    }

    /// Parses a column as clauses name it: `c`, `t.c`.
    pub(super) fn column_ref(&mut self) -> Result<ColumnRef> {
        if matches!(self.keyword(), Kw::IdentityCol | Kw::RowGuidCol) {
            return Ok(ColumnRef { column: self.any_word()?, table: None });
        }
        Ok(column_of(self.object_name()?))
    }

    #[inline(never)]
    fn case(&mut self) -> Result<ExprKind> {
        self.expect(Kw::Case)?;
        if self.at(Kw::When) {
            let branches = self.case_branches(Self::condition)?;
            return Ok(ExprKind::SearchedCase { branches, otherwise: self.case_end()? });
        }
        let input = Box::new(self.expr()?);
        let branches = self.case_branches(Self::expr)?;
        Ok(ExprKind::SimpleCase { input, branches, otherwise: self.case_end()? })
    }

    fn case_branches<T>(&mut self, when: fn(&mut Self) -> Result<T>) -> Result<Vec<(T, Expr)>> {
        let mut branches = Vec::new();
        self.expect(Kw::When)?;
        loop {
            let when = when(self)?;
            self.expect(Kw::Then)?;
            branches.push((when, self.expr()?));
            if !self.eat(Kw::When) {
                return Ok(branches);
            }
        }
    }

    fn case_end(&mut self) -> Result<Option<Box<Expr>>> {
        let otherwise = if self.eat(Kw::Else) { Some(Box::new(self.expr()?)) } else { None };
        self.expect(Kw::End)?;
        Ok(otherwise)
    }

    #[inline(never)]
    fn next_value(&mut self) -> Result<ExprKind> {
        self.expect_all(&[Kw::Next, Kw::Value, Kw::For])?;
        let sequence = Box::new(self.object_name()?);
        let over = if self.at(Kw::Over) { Some(Box::new(self.over()?)) } else { None };
        Ok(ExprKind::NextValue { sequence, over })
    }

    /// Parses a value, or DEFAULT where that is allowed.
    pub(super) fn expr_or_default(&mut self) -> Result<Expr> {
        if !self.at(Kw::Default) {
            return self.expr();
        }
        let start = self.start();
        self.advance();
        Ok(Expr { kind: ExprKind::Default, span: self.span_from(start) })
    }

    /// Returns whether `( .. )` holds a query and not a value or a join.
    ///
    /// Behind several parentheses with a SELECT in the last, what follows each of the inner ones
    /// decides: `((SELECT 1) UNION ..)` is a query, `((SELECT 1) + 1)` is not.
    pub(super) fn at_paren_query(&self) -> bool {
        let mut inner = 0;
        while self.kind_at(inner) == TokenKind::LeftParen {
            inner += 1;
        }
        inner > 0
            && self.keyword_at(inner) == Kw::Select
            && (1..inner).all(|ahead| {
                let close = self.token_at(ahead).matching();
                let Some(after) = self.tokens.get(close.saturating_add(1)) else { return true };
                after.kind == TokenKind::RightParen
                    || matches!(
                        after.keyword,
                        Kw::Union | Kw::Except | Kw::Intersect | Kw::Order | Kw::For
                    )
            })
    }

    /// Parses `(SELECT ..)`; the parentheses are not part of the tree.
    pub(super) fn paren_query(&mut self) -> Result<QueryExpression> {
        self.parens(Self::query_expression)
    }
}

/// Turns a name into a column reference: its last part is the column, the others are the table.
pub(super) fn column_of(name: ObjectName) -> ColumnRef {
    let ObjectName { object: column, schema, database, server, span } = name;
    let table = schema.map(|object: Ident| {
        let span = crate::ast::Span::new(span.start, object.span.end);
        ObjectName { object, schema: database, database: server, server: None, span }
    });
    ColumnRef { column, table }
}

fn additive_op(kind: TokenKind) -> Option<ArithmeticOp> {
    match kind {
        TokenKind::Plus => Some(ArithmeticOp::Add),
        TokenKind::Minus => Some(ArithmeticOp::Subtract),
        TokenKind::Ampersand => Some(ArithmeticOp::BitAnd),
        TokenKind::Caret => Some(ArithmeticOp::BitXor),
        TokenKind::Pipe => Some(ArithmeticOp::BitOr),
        TokenKind::PipePipe => Some(ArithmeticOp::Concatenate),
        _ => None,
    }
}

fn multiplicative_op(kind: TokenKind) -> Option<ArithmeticOp> {
    match kind {
        TokenKind::Star => Some(ArithmeticOp::Multiply),
        TokenKind::Slash => Some(ArithmeticOp::Divide),
        TokenKind::Percent => Some(ArithmeticOp::Modulo),
        _ => None,
    }
}

fn niladic(keyword: Kw) -> Option<Niladic> {
    match keyword {
        Kw::CurrentTimestamp => Some(Niladic::CurrentTimestamp),
        Kw::CurrentDate => Some(Niladic::CurrentDate),
        Kw::CurrentUser => Some(Niladic::CurrentUser),
        Kw::SessionUser => Some(Niladic::SessionUser),
        Kw::SystemUser => Some(Niladic::SystemUser),
        Kw::User => Some(Niladic::User),
        _ => None,
    }
}
