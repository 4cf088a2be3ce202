//! Parses search conditions.
//!
//! At a left parenthesis the parser cannot know whether a value or a condition follows: `(a) = 1`
//! or `(a = 1)`. So parentheses give an [`Either`], and a caller that needs one of the two checks
//! which one it got.

use types::{Error, Msg, Result};

use super::Parser;
use crate::ast::{CompareOp, Condition, ConditionKind, Expr, Quantifier};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// A value or a condition.
enum Either {
    Expr(Expr),
    Condition(Condition),
}

impl Parser<'_> {
    /// Parses a condition; a mere value is error 4145.
    pub(super) fn condition(&mut self) -> Result<Condition> {
        let either = self.or_either()?;
        self.want_condition(either)
    }

    fn want_condition(&self, either: Either) -> Result<Condition> {
        match either {
            Either::Condition(condition) => Ok(condition),
            Either::Expr(_) => {
                // SQL Server names what follows the value; at the end it names the last token.
                let token = match self.kind() {
                    TokenKind::End if self.position > 0 => self.tokens[self.position - 1],
                    _ => self.token(),
                };
                Err(self.error_at(Msg::NonBoolean(&self.shown(token)), token.start))
            }
        }
    }

    fn or_either(&mut self) -> Result<Either> {
        self.logic_chain(Kw::Or, Self::and_either, ConditionKind::Or)
    }

    fn and_either(&mut self) -> Result<Either> {
        self.logic_chain(Kw::And, Self::not_either, ConditionKind::And)
    }

    /// Parses operands with one logical operator between them.
    fn logic_chain(
        &mut self,
        operator: Kw,
        operand: fn(&mut Self) -> Result<Either>,
        join: fn(Vec<Condition>) -> ConditionKind,
    ) -> Result<Either> {
        let first = operand(self)?;
        if !self.at(operator) {
            return Ok(first);
        }
        let mut operands = Vec::with_capacity(super::LIST_ROOM);
        operands.push(self.want_condition(first)?);
        let start = operands[0].span.start;
        while self.eat(operator) {
            let next = operand(self)?;
            operands.push(self.want_condition(next)?);
        }
        Ok(Either::Condition(Condition { kind: join(operands), span: self.span_from(start) }))
    }

    fn not_either(&mut self) -> Result<Either> {
        if !self.at(Kw::Not) {
            return self.predicate();
        }
        let start = self.start();
        self.advance();
        let operand = self.nested(Self::not_either)?;
        let operand = Box::new(self.want_condition(operand)?);
        let kind = ConditionKind::Not(operand);
        Ok(Either::Condition(Condition { kind, span: self.span_from(start) }))
    }

    fn predicate(&mut self) -> Result<Either> {
        let start = self.start();
        let kind = match self.keyword() {
            Kw::Exists => {
                self.advance();
                ConditionKind::Exists(Box::new(self.paren_query()?))
            }
            Kw::Update if self.kind_at(1) == TokenKind::LeftParen => {
                self.advance();
                ConditionKind::ColumnUpdated(self.parens(Self::ident)?)
            }
            Kw::Contains | Kw::Freetext if self.full_text_is_special() => {
                return Err(self.refused_predicate());
            }
            Kw::Contains | Kw::Freetext => {
                let name = crate::ast::ObjectName::simple(self.any_word()?);
                let crate::ast::ExprKind::Call(call) = self.call_by_name(name)? else {
                    return Err(self.unexpected());
                };
                ConditionKind::FullText(call)
            }
            _ if self.at_call_of("MATCH") || self.at_call_of("REGEXP_LIKE") => {
                return Err(self.refused_predicate());
            }
            _ => return self.comparison(start),
        };
        Ok(Either::Condition(Condition { kind, span: self.span_from(start) }))
    }

    /// Returns the error of a predicate that is known by its name only.
    #[cold]
    #[inline(never)]
    fn refused_predicate(&self) -> Error {
        let name = self.text_of(self.token()).to_ascii_uppercase();
        let what = match name.as_str() {
            "MATCH" => "MATCH of graph tables".to_owned(),
            "CONTAINS" | "FREETEXT" => format!("{name} (full-text search)"),
            _ => name,
        };
        self.not_supported(&what, self.start())
    }

    fn at_call_of(&self, function: &str) -> bool {
        self.kind_at(1) == TokenKind::LeftParen && self.is_word(self.token(), function)
    }

    /// Returns whether the arguments of CONTAINS or FREETEXT are more than values: a list of
    /// columns in parentheses, or LANGUAGE.
    fn full_text_is_special(&self) -> bool {
        if self.kind_at(1) != TokenKind::LeftParen {
            return false;
        }
        let arguments = self.tokens.get(self.position..self.token_at(1).matching());
        self.kind_at(2) == TokenKind::LeftParen
            || arguments.unwrap_or_default().iter().any(|token| token.keyword == Kw::Language)
    }

    /// Parses a value with a comparison behind it, or a condition in parentheses.
    fn comparison(&mut self, start: u32) -> Result<Either> {
        let left = if self.at_kind(TokenKind::LeftParen) && !self.at_paren_query() {
            match self.parens(Self::or_either)? {
                Either::Condition(condition) => return Ok(Either::Condition(condition)),
                Either::Expr(expr) => self.expr_rest(expr)?,
            }
        } else {
            self.expr()?
        };
        if let Some(op) = self.compare_op() {
            let kind = self.compare(left, op)?;
            return Ok(Either::Condition(Condition { kind, span: self.span_from(start) }));
        }
        if self.at(Kw::Is) {
            let kind = self.is_test(left)?;
            return Ok(Either::Condition(Condition { kind, span: self.span_from(start) }));
        }
        let negated = self.at(Kw::Not);
        let word = if negated { self.keyword_at(1) } else { self.keyword() };
        if !matches!(word, Kw::Between | Kw::In | Kw::Like) {
            return Ok(Either::Expr(left));
        }
        self.position += if negated { 2 } else { 1 };
        let kind = match word {
            Kw::Between => self.between(left, negated)?,
            Kw::In => self.in_test(left, negated)?,
            _ => self.like(left, negated)?,
        };
        Ok(Either::Condition(Condition { kind, span: self.span_from(start) }))
    }

    /// Takes a comparison operator if one follows; there may be blanks inside it: `< =`.
    pub(super) fn compare_op(&mut self) -> Option<CompareOp> {
        use TokenKind as T;
        let (op, tokens) = match (self.kind(), self.kind_at(1)) {
            (T::Less, T::Equal) => (CompareOp::LessOrEqual, 2),
            (T::Less, T::Greater) | (T::Bang, T::Equal) => (CompareOp::NotEqual, 2),
            (T::Greater, T::Equal) | (T::Bang, T::Less) => (CompareOp::GreaterOrEqual, 2),
            (T::Bang, T::Greater) => (CompareOp::LessOrEqual, 2),
            (T::Equal, _) => (CompareOp::Equal, 1),
            (T::NotEqual, _) => (CompareOp::NotEqual, 1),
            (T::Less, _) => (CompareOp::Less, 1),
            (T::LessOrEqual, _) => (CompareOp::LessOrEqual, 1),
            (T::Greater, _) => (CompareOp::Greater, 1),
            (T::GreaterOrEqual, _) => (CompareOp::GreaterOrEqual, 1),
            _ => return None,
        };
        self.position += tokens;
        Some(op)
    }

    fn compare(&mut self, left: Expr, op: CompareOp) -> Result<ConditionKind> {
        let left = Box::new(left);
        let quantifier = match self.keyword() {
            Kw::Any | Kw::Some => Quantifier::Any,
            Kw::All => Quantifier::All,
            _ => return Ok(ConditionKind::Compare { op, left, right: Box::new(self.expr()?) }),
        };
        self.advance();
        let query = Box::new(self.paren_query()?);
        Ok(ConditionKind::CompareQuantified { op, left, quantifier, query })
    }

    #[inline(never)]
    fn is_test(&mut self, left: Expr) -> Result<ConditionKind> {
        self.expect(Kw::Is)?;
        let negated = self.eat(Kw::Not);
        if self.eat(Kw::Null) {
            return Ok(ConditionKind::IsNull { negated, operand: Box::new(left) });
        }
        self.expect_all(&[Kw::Distinct, Kw::From])?;
        let right = Box::new(self.expr()?);
        Ok(ConditionKind::IsDistinct { negated, left: Box::new(left), right })
    }

    #[inline(never)]
    fn between(&mut self, operand: Expr, negated: bool) -> Result<ConditionKind> {
        let low = Box::new(self.expr()?);
        self.expect(Kw::And)?;
        let high = Box::new(self.expr()?);
        Ok(ConditionKind::Between { negated, operand: Box::new(operand), low, high })
    }

    #[inline(never)]
    fn in_test(&mut self, operand: Expr, negated: bool) -> Result<ConditionKind> {
        let operand = Box::new(operand);
        if self.at_paren_query() {
            let query = Box::new(self.paren_query()?);
            return Ok(ConditionKind::InQuery { negated, operand, query });
        }
        let list = self.paren_list(Self::expr)?;
        Ok(ConditionKind::InList { negated, operand, list })
    }

    #[inline(never)]
    fn like(&mut self, operand: Expr, negated: bool) -> Result<ConditionKind> {
        let operand = Box::new(operand);
        let pattern = Box::new(self.expr()?);
        let escape = self.like_escape()?;
        Ok(ConditionKind::Like { negated, operand, pattern, escape })
    }

    /// Parses `ESCAPE c`, also in ODBC's form `{escape c}`.
    fn like_escape(&mut self) -> Result<Option<Box<Expr>>> {
        let braces = self.at_kind(TokenKind::LeftBrace) && self.keyword_at(1) == Kw::Escape;
        if braces {
            self.advance();
        }
        if !self.eat(Kw::Escape) {
            return Ok(None);
        }
        let escape = Box::new(self.expr()?);
        if braces {
            self.expect_kind(TokenKind::RightBrace)?;
        }
        Ok(Some(escape))
    }
}
