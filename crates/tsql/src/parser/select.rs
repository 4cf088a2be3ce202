//! Parses SELECT's clauses: the list, TOP, INTO, WHERE, GROUP BY, HAVING, WINDOW.

use types::Result;

use super::Parser;
use crate::ast::ExprKind;
use crate::ast::{
    AssignOp, Expr, GroupBy, GroupingItem, GroupingSuffix, Ident, Into, Literal, ObjectName, Over,
    QuerySpec, Quoting, SelectItem, SelectItemKind, Span, Top,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses `SELECT .. HAVING ..`.
    #[inline(never)]
    pub(super) fn query_spec(&mut self) -> Result<QuerySpec> {
        let start = self.start();
        self.expect(Kw::Select)?;
        let distinct = self.eat(Kw::Distinct);
        if !distinct {
            self.eat(Kw::All);
        }
        let top = self.top()?;
        let items = self.comma_list(Self::select_item)?;
        let into = if self.eat(Kw::Into) { Some(self.select_into()?) } else { None };
        let from = if self.eat(Kw::From) { self.table_refs()? } else { Vec::new() };
        let filter = if self.eat(Kw::Where) { Some(self.condition()?) } else { None };
        let group_by = if self.at(Kw::Group) { Some(self.group_by()?) } else { None };
        let having = if self.eat(Kw::Having) { Some(self.condition()?) } else { None };
        let windows = self.windows()?;
        let span = self.span_from(start);
        Ok(QuerySpec { distinct, top, items, into, from, filter, group_by, having, windows, span })
    }

    /// Parses TOP if it follows.
    #[inline(never)]
    pub(super) fn top(&mut self) -> Result<Option<Top>> {
        if !self.eat(Kw::Top) {
            return Ok(None);
        }
        let count = if self.at_kind(TokenKind::LeftParen) {
            self.primary()?
        } else {
            // Without parentheses TOP takes only a constant or, more than SQL Server, a variable:
            // `TOP 10 * ..`.
            let start = self.start();
            let kind = match self.kind() {
                TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => {
                    ExprKind::Literal(self.literal()?)
                }
                TokenKind::Variable => ExprKind::Variable(self.variable()?),
                _ => return Err(self.unexpected()),
            };
            Expr { kind, span: self.span_from(start) }
        };
        let percent = self.eat(Kw::Percent);
        let with_ties = self.eat_all(&[Kw::With, Kw::Ties]);
        if self.at(Kw::With) && self.is_word(self.token_at(1), "APPROXIMATE") {
            return Err(self.not_supported("TOP .. WITH APPROXIMATE", self.start()));
        }
        Ok(Some(Top { count, percent, with_ties }))
    }

    fn select_into(&mut self) -> Result<Into> {
        let table = self.local_name()?;
        let filegroup = if self.eat(Kw::On) { Some(self.filegroup()?) } else { None };
        Ok(Into { table, filegroup })
    }

    /// Parses one item of a select list or an OUTPUT clause.
    pub(super) fn select_item(&mut self) -> Result<SelectItem> {
        let start = self.start();
        let kind = self.select_item_kind()?;
        Ok(SelectItem { kind, span: self.span_from(start) })
    }

    fn select_item_kind(&mut self) -> Result<SelectItemKind> {
        match self.kind() {
            TokenKind::Star => {
                self.advance();
                return Ok(SelectItemKind::Star);
            }
            TokenKind::Variable => {
                if let Some(op) = assign_op(self.kind_at(1)) {
                    let variable = self.variable()?;
                    self.advance();
                    return Ok(SelectItemKind::Assign { variable, op, value: self.expr()? });
                }
            }
            _ => {}
        }
        let named = self.at_ident() || self.is_string(self.token());
        if named && self.kind_at(1) == TokenKind::Equal {
            let alias = Some(self.alias_name()?);
            self.advance();
            return Ok(SelectItemKind::Expr { expr: self.expr()?, alias });
        }
        if self.at_qualified_star() {
            return self.qualified_star();
        }
        let expr = self.expr()?;
        Ok(SelectItemKind::Expr { expr, alias: self.column_alias()? })
    }

    /// Parses `[AS] alias` of a select item, if there is one.
    fn column_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat(Kw::As) || self.at_plain_alias() || self.is_string(self.token()) {
            return self.alias_name().map(Some);
        }
        Ok(None)
    }

    /// Parses an alias, which is a name or a string.
    fn alias_name(&mut self) -> Result<Ident> {
        if !self.is_string(self.token()) {
            return self.ident();
        }
        let span = Span::new(self.start(), self.token().end());
        Ok(Ident::new(self.string()?, Quoting::Quotes, span))
    }

    /// Returns whether `a.b.*` follows.
    fn at_qualified_star(&self) -> bool {
        let mut ahead = 0;
        while self.is_ident(self.token_at(ahead)) && self.kind_at(ahead + 1) == TokenKind::Dot {
            ahead += 2;
            // `a..b.*` leaves the schema out.
            while self.kind_at(ahead) == TokenKind::Dot {
                ahead += 1;
            }
        }
        ahead > 0 && self.kind_at(ahead) == TokenKind::Star
    }

    fn qualified_star(&mut self) -> Result<SelectItemKind> {
        let start = self.start();
        let mut parts: Vec<Option<Ident>> = Vec::new();
        while !self.at_kind(TokenKind::Star) {
            let part = if self.at_kind(TokenKind::Dot) { None } else { Some(self.ident()?) };
            parts.push(part);
            self.expect_kind(TokenKind::Dot)?;
        }
        let span = self.span_from(start);
        self.advance();
        let Some(Some(object)) = parts.pop() else { return Err(self.unexpected()) };
        let schema = parts.pop().flatten();
        let database = parts.pop().flatten();
        let server = parts.pop().flatten();
        if !parts.is_empty() {
            return Err(self.unexpected());
        }
        Ok(SelectItemKind::QualifiedStar(ObjectName { object, schema, database, server, span }))
    }

    #[inline(never)]
    fn group_by(&mut self) -> Result<GroupBy> {
        self.expect_all(&[Kw::Group, Kw::By])?;
        let all = self.eat(Kw::All);
        let items = self.comma_list(Self::grouping_item)?;
        let suffix = match self.keyword_at(1) {
            Kw::Rollup if self.at(Kw::With) => Some(GroupingSuffix::Rollup),
            Kw::Cube if self.at(Kw::With) => Some(GroupingSuffix::Cube),
            _ => None,
        };
        if suffix.is_some() {
            self.position += 2;
        }
        Ok(GroupBy { all, items, suffix })
    }

    fn grouping_item(&mut self) -> Result<GroupingItem> {
        let parenthesis = self.kind_at(1) == TokenKind::LeftParen;
        match self.keyword() {
            Kw::Rollup if parenthesis => {
                self.advance();
                Ok(GroupingItem::Rollup(self.paren_list(Self::grouping_set)?))
            }
            Kw::Cube if parenthesis => {
                self.advance();
                Ok(GroupingItem::Cube(self.paren_list(Self::grouping_set)?))
            }
            Kw::Grouping if self.keyword_at(1) == Kw::Sets => {
                self.position += 2;
                Ok(GroupingItem::GroupingSets(self.paren_list(Self::grouping_set)?))
            }
            _ if self.at_empty_parens() => self.grouping_set(),
            _ => Ok(GroupingItem::Expr(self.expr()?)),
        }
    }

    fn at_empty_parens(&self) -> bool {
        self.at_kind(TokenKind::LeftParen) && self.kind_at(1) == TokenKind::RightParen
    }

    /// Parses an element of ROLLUP, CUBE and GROUPING SETS: `a`, `(a, b)`, `()`, `ROLLUP (..)`.
    fn grouping_set(&mut self) -> Result<GroupingItem> {
        if self.at_empty_parens() {
            self.position += 2;
            return Ok(GroupingItem::Set(Vec::new()));
        }
        if self.at_column_set() {
            return Ok(GroupingItem::Set(self.paren_list(Self::expr)?));
        }
        self.grouping_item()
    }

    /// Returns whether the next parentheses hold a whole element: `,` or `)` follows them.
    fn at_column_set(&self) -> bool {
        self.at_kind(TokenKind::LeftParen)
            && self
                .tokens
                .get(self.token().matching().saturating_add(1))
                .is_some_and(|after| matches!(after.kind, TokenKind::Comma | TokenKind::RightParen))
    }

    /// Parses `WINDOW name AS (..), ..` if it follows.
    #[inline(never)]
    fn windows(&mut self) -> Result<Vec<(Ident, Over)>> {
        let follows = self.at(Kw::Window) && self.is_ident(self.token_at(1));
        if !follows || self.keyword_at(2) != Kw::As {
            return Ok(Vec::new());
        }
        self.advance();
        self.comma_list(|parser| {
            let name = parser.ident()?;
            parser.expect(Kw::As)?;
            Ok((name, parser.parens(Self::window)?))
        })
    }
}

/// Returns the assignment operator that a token is.
pub(super) fn assign_op(kind: TokenKind) -> Option<AssignOp> {
    match kind {
        TokenKind::Equal => Some(AssignOp::Assign),
        TokenKind::PlusEqual => Some(AssignOp::Add),
        TokenKind::MinusEqual => Some(AssignOp::Subtract),
        TokenKind::StarEqual => Some(AssignOp::Multiply),
        TokenKind::SlashEqual => Some(AssignOp::Divide),
        TokenKind::PercentEqual => Some(AssignOp::Modulo),
        TokenKind::AmpersandEqual => Some(AssignOp::BitAnd),
        TokenKind::CaretEqual => Some(AssignOp::BitXor),
        TokenKind::PipeEqual => Some(AssignOp::BitOr),
        TokenKind::PipePipeEqual => Some(AssignOp::Concatenate),
        _ => None,
    }
}

/// Returns the value of an integer constant, for options.
pub(super) fn whole_number(literal: &Literal) -> Option<u64> {
    match literal {
        Literal::Int(value) => u64::try_from(*value).ok(),
        Literal::Decimal(digits) => digits.parse().ok(),
        _ => None,
    }
}
