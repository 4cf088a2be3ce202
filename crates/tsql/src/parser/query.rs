//! Parses query expressions: set operations, ORDER BY, OFFSET, FOR, WITH and OPTION around SELECT.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    Cte, ForClause, ForDirective, ForMode, Offset, OrderBy, QueryBody, QueryExpression,
    SelectStatement, SetOp, With,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a SELECT statement, starting behind its WITH clause.
    #[inline(never)]
    pub(super) fn select_statement(&mut self, with: Option<With>) -> Result<SelectStatement> {
        let mut query = self.query_expression()?;
        self.refuse_ordered(&query.body)?;
        let options = self.options()?;
        // `OPTION (..) FOR XML ..` is accepted as well as the documented order.
        if !options.is_empty() && query.for_clause.is_none() {
            query.for_clause = self.for_clause()?;
            query.span = self.span_from(query.span.start);
        }
        Ok(SelectStatement { with, query, options })
    }

    /// Parses `WITH name AS (..), ..`.
    #[inline(never)]
    pub(super) fn with(&mut self) -> Result<With> {
        let start = self.start();
        self.expect(Kw::With)?;
        let mut xml_namespaces = Vec::new();
        if self.eat(Kw::Xmlnamespaces) {
            xml_namespaces = self.paren_list(Self::xml_namespace)?;
            if !self.eat_kind(TokenKind::Comma) {
                let span = self.span_from(start);
                return Ok(With { xml_namespaces, ctes: Vec::new(), span });
            }
        }
        let is_context = self.is_word(self.token(), "CHANGE_TRACKING_CONTEXT");
        if is_context && !self.is_ident(self.token_at(2)) {
            return Err(self.not_supported("WITH CHANGE_TRACKING_CONTEXT", start));
        }
        let ctes = self.comma_list(Self::cte)?;
        Ok(With { xml_namespaces, ctes, span: self.span_from(start) })
    }

    fn xml_namespace(&mut self) -> Result<(Box<str>, Option<crate::ast::Ident>)> {
        if self.eat(Kw::Default) {
            return Ok((self.string()?, None));
        }
        let uri = self.string()?;
        self.expect(Kw::As)?;
        Ok((uri, Some(self.ident()?)))
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.ident()?;
        let columns = self.optional_paren_list(Self::ident)?;
        self.expect(Kw::As)?;
        Ok(Cte { name, columns, query: self.paren_query()? })
    }

    /// Parses a query with everything that may follow its set operations.
    pub(super) fn query_expression(&mut self) -> Result<QueryExpression> {
        self.nested(|parser| {
            let start = parser.start();
            let body = parser.query_body()?;
            let order_by = if parser.at(Kw::Order) { parser.order_by()? } else { Vec::new() };
            let offset = if order_by.is_empty() { None } else { parser.offset()? };
            let for_clause = parser.for_clause()?;
            Ok(QueryExpression {
                body,
                order_by,
                offset,
                for_clause,
                span: parser.span_from(start),
            })
        })
    }

    fn query_body(&mut self) -> Result<QueryBody> {
        self.set_chain(Self::intersect_chain, |parser| {
            let op = match parser.keyword() {
                Kw::Union if parser.keyword_at(1) == Kw::All => SetOp::UnionAll,
                Kw::Union => SetOp::Union,
                Kw::Except => SetOp::Except,
                _ => return None,
            };
            parser.position += if op == SetOp::UnionAll { 2 } else { 1 };
            Some(op)
        })
    }

    fn intersect_chain(&mut self) -> Result<QueryBody> {
        self.set_chain(Self::query_term, |parser| {
            parser.eat(Kw::Intersect).then_some(SetOp::Intersect)
        })
    }

    fn set_chain(
        &mut self,
        operand: fn(&mut Self) -> Result<QueryBody>,
        op: fn(&mut Self) -> Option<SetOp>,
    ) -> Result<QueryBody> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(op) = op(self) {
            if self.at(Kw::All) {
                let operator = if op == SetOp::Except { "EXCEPT" } else { "INTERSECT" };
                return Err(self.error_at(Msg::SetAllNotSupported(operator), self.start()));
            }
            rest.push((op, operand(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(QueryBody::SetOperation { first: Box::new(first), rest })
    }

    /// Refuses `(SELECT .. ORDER BY ..)` as a statement, as the source of INSERT, and as an operand
    /// of a set operation there. In a subquery such parentheses are accepted.
    pub(super) fn refuse_ordered(&self, body: &QueryBody) -> Result<()> {
        let query = match body {
            QueryBody::Select(_) => return Ok(()),
            QueryBody::SetOperation { first, rest } => {
                self.refuse_ordered(first)?;
                return rest.iter().try_for_each(|(_, operand)| self.refuse_ordered(operand));
            }
            QueryBody::Parenthesized(query) => query,
        };
        let clause = match (query.order_by.first(), &query.for_clause) {
            (Some(first), _) => self.before(first.expr.span.start, Kw::Order),
            (None, Some(_)) => self.before(query.span.end, Kw::For),
            (None, None) => return self.refuse_ordered(&query.body),
        };
        Err(self.unexpected_at(clause))
    }

    /// Returns the position of the last such word before `offset`.
    pub(super) fn before(&self, offset: u32, word: Kw) -> usize {
        let behind = self.tokens.partition_point(|token| token.start < offset);
        let is_word = |token: &crate::lexer::Token| token.keyword == word;
        self.tokens[..behind].iter().rposition(is_word).unwrap_or(self.position)
    }

    fn query_term(&mut self) -> Result<QueryBody> {
        if self.at_kind(TokenKind::LeftParen) {
            let query = self.paren_query()?;
            return Ok(QueryBody::Parenthesized(Box::new(query)));
        }
        Ok(QueryBody::Select(Box::new(self.query_spec()?)))
    }

    /// Parses `ORDER BY ..`.
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderBy>> {
        self.expect_all(&[Kw::Order, Kw::By])?;
        self.comma_list(|parser| {
            let expr = parser.expr()?;
            Ok(OrderBy { expr, descending: parser.direction() })
        })
    }

    /// Takes ASC or DESC; returns whether it was DESC.
    pub(super) fn direction(&mut self) -> bool {
        !self.eat(Kw::Asc) && self.eat(Kw::Desc)
    }

    #[inline(never)]
    fn offset(&mut self) -> Result<Option<Offset>> {
        if !self.eat(Kw::Offset) {
            return Ok(None);
        }
        let offset = self.expr()?;
        self.rows_word()?;
        if !self.eat(Kw::Fetch) {
            return Ok(Some(Offset { offset, fetch: None }));
        }
        if !self.eat(Kw::Next) {
            self.expect(Kw::First)?;
        }
        let fetch = self.expr()?;
        self.rows_word()?;
        self.expect(Kw::Only)?;
        Ok(Some(Offset { offset, fetch: Some(fetch) }))
    }

    fn rows_word(&mut self) -> Result<()> {
        if self.eat(Kw::Row) { Ok(()) } else { self.expect(Kw::Rows) }
    }

    /// Parses FOR XML, FOR JSON and FOR BROWSE; any other FOR belongs to a cursor.
    #[inline(never)]
    fn for_clause(&mut self) -> Result<Option<ForClause>> {
        let start = self.start();
        if !self.at(Kw::For) {
            return Ok(None);
        }
        let mode = match self.keyword_at(1) {
            Kw::Browse => {
                self.position += 2;
                ForMode::Browse
            }
            Kw::Xml => {
                self.position += 2;
                self.xml_mode()?
            }
            Kw::Json => {
                self.position += 2;
                if self.eat(Kw::Auto) {
                    ForMode::JsonAuto
                } else {
                    self.expect(Kw::Path)?;
                    ForMode::JsonPath
                }
            }
            _ => return Ok(None),
        };
        let mut directives = Vec::new();
        while mode != ForMode::Browse && self.eat_kind(TokenKind::Comma) {
            let at = self.position;
            let directive = self.for_directive(&mode)?;
            let is_same =
                |other| std::mem::discriminant(other) == std::mem::discriminant(&directive);
            if directives.iter().any(is_same) {
                return Err(self.unexpected_at(at));
            }
            directives.push(directive);
        }
        Ok(Some(ForClause { mode, directives, span: self.span_from(start) }))
    }

    fn xml_mode(&mut self) -> Result<ForMode> {
        if self.eat(Kw::Raw) {
            return Ok(ForMode::XmlRaw(self.optional_paren_string()?));
        }
        if self.eat(Kw::Path) {
            return Ok(ForMode::XmlPath(self.optional_paren_string()?));
        }
        if self.eat(Kw::Auto) {
            return Ok(ForMode::XmlAuto);
        }
        self.expect(Kw::Explicit)?;
        Ok(ForMode::XmlExplicit)
    }

    fn optional_paren_string(&mut self) -> Result<Option<Box<str>>> {
        if self.at_kind(TokenKind::LeftParen) {
            self.parens(Self::string).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Parses a directive; FOR XML and FOR JSON accept different ones.
    fn for_directive(&mut self, mode: &ForMode) -> Result<ForDirective> {
        let of_json = matches!(self.keyword(), Kw::IncludeNullValues | Kw::WithoutArrayWrapper);
        let is_json = matches!(mode, ForMode::JsonAuto | ForMode::JsonPath);
        if of_json != is_json && !self.at(Kw::Root) {
            return Err(self.unexpected());
        }
        let directive = match self.keyword() {
            Kw::Type => ForDirective::Type,
            Kw::Root => {
                self.advance();
                return Ok(ForDirective::Root(self.optional_paren_string()?));
            }
            Kw::Xmlschema => {
                self.advance();
                return Ok(ForDirective::XmlSchema(self.optional_paren_string()?));
            }
            Kw::Elements if self.keyword_at(1) == Kw::Xsinil => {
                self.advance();
                ForDirective::ElementsXsinil
            }
            Kw::Elements => {
                self.advance();
                self.eat(Kw::Absent);
                return Ok(ForDirective::Elements);
            }
            Kw::Binary if self.keyword_at(1) == Kw::Base64 => {
                self.advance();
                ForDirective::BinaryBase64
            }
            Kw::Xmldata => ForDirective::XmlData,
            Kw::IncludeNullValues => ForDirective::IncludeNullValues,
            Kw::WithoutArrayWrapper => ForDirective::WithoutArrayWrapper,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(directive)
    }
}
