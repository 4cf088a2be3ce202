//! Parses FROM: tables, functions, derived tables, joins, PIVOT and UNPIVOT.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    BulkSource, Call, Expr, ExprKind, FunctionSource, Ident, Join, JoinHint, JoinKind, Literal,
    Method, Pivot, SchemaColumn, SystemTime, TableAlias, TableHint, TableRef, TableRefKind,
    TableSample, TableSource, Unpivot, Variable,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// How many PIVOTs may follow one source; each is a level of the tree.
const PIVOTS_MAX: usize = 4;

impl Parser<'_> {
    /// Parses `source, source, ..`.
    pub(super) fn table_refs(&mut self) -> Result<Vec<TableRef>> {
        self.comma_list(Self::table_ref)
    }

    /// Parses a source with its joins.
    pub(super) fn table_ref(&mut self) -> Result<TableRef> {
        let first = self.table_primary()?;
        self.joins_of(first)
    }

    fn joins_of(&mut self, first: TableRef) -> Result<TableRef> {
        let start = first.span.start;
        let mut joins = Vec::new();
        while let Some((kind, hint, join_start)) = self.join_operator()? {
            joins.push(self.join(kind, hint, join_start)?);
        }
        if joins.is_empty() {
            return Ok(first);
        }
        let kind = TableRefKind::Joined { first: Box::new(first), joins };
        Ok(TableRef { kind, span: self.span_from(start) })
    }

    fn join(&mut self, kind: JoinKind, hint: Option<JoinHint>, start: u32) -> Result<Join> {
        let mut right = self.table_primary()?;
        if matches!(kind, JoinKind::Cross | JoinKind::CrossApply | JoinKind::OuterApply) {
            return Ok(Join { kind, hint, right, on: None, span: self.span_from(start) });
        }
        // `a JOIN b JOIN c ON .. ON ..`: joins before this one's ON belong to its right side.
        if !self.at(Kw::On) {
            right = self.nested(|parser| parser.joins_before_on(right))?;
        }
        self.expect(Kw::On)?;
        let on = Some(self.condition()?);
        Ok(Join { kind, hint, right, on, span: self.span_from(start) })
    }

    fn joins_before_on(&mut self, first: TableRef) -> Result<TableRef> {
        let start = first.span.start;
        let mut joins = Vec::new();
        while !self.at(Kw::On) {
            let Some((kind, hint, join_start)) = self.join_operator()? else {
                return Err(self.unexpected());
            };
            joins.push(self.join(kind, hint, join_start)?);
        }
        let kind = TableRefKind::Joined { first: Box::new(first), joins };
        Ok(TableRef { kind, span: self.span_from(start) })
    }

    /// Takes a join operator if one follows; returns it with its hint and its start.
    fn join_operator(&mut self) -> Result<Option<(JoinKind, Option<JoinHint>, u32)>> {
        let start = self.start();
        let kind = match (self.keyword(), self.keyword_at(1)) {
            (Kw::Cross, Kw::Apply) => JoinKind::CrossApply,
            (Kw::Outer, Kw::Apply) => JoinKind::OuterApply,
            (Kw::Cross, Kw::Join) => JoinKind::Cross,
            (Kw::Join, _) => {
                self.advance();
                return Ok(Some((JoinKind::Inner, None, start)));
            }
            (Kw::Inner, _) => return self.hinted_join(JoinKind::Inner).map(Some),
            (Kw::Left, _) => return self.hinted_join(JoinKind::Left).map(Some),
            (Kw::Right, _) => return self.hinted_join(JoinKind::Right).map(Some),
            (Kw::Full, _) => return self.hinted_join(JoinKind::Full).map(Some),
            _ => return Ok(None),
        };
        self.position += 2;
        Ok(Some((kind, None, start)))
    }

    fn hinted_join(&mut self, kind: JoinKind) -> Result<(JoinKind, Option<JoinHint>, u32)> {
        let start = self.start();
        self.advance();
        if kind != JoinKind::Inner {
            self.eat(Kw::Outer);
        }
        let hint = match self.keyword() {
            Kw::Loop => Some(JoinHint::Loop),
            Kw::Hash => Some(JoinHint::Hash),
            Kw::Merge => Some(JoinHint::Merge),
            Kw::Remote => Some(JoinHint::Remote),
            _ => None,
        };
        if hint.is_some() {
            self.advance();
        }
        self.expect(Kw::Join)?;
        Ok((kind, hint, start))
    }

    fn table_primary(&mut self) -> Result<TableRef> {
        let start = self.start();
        // `::fn_helpcollations()` is the older name of a system function.
        if self.at_kind(TokenKind::DoubleColon) && self.kind_at(2) == TokenKind::LeftParen {
            self.advance();
        }
        let kind = match self.kind() {
            TokenKind::LeftParen => self.paren_source()?,
            TokenKind::Variable => self.variable_source()?,
            TokenKind::LeftBrace => self.odbc_join()?,
            _ => self.named_source()?,
        };
        let mut source = TableRef { kind, span: self.span_from(start) };
        for _ in 0..PIVOTS_MAX {
            let kind = match self.keyword() {
                Kw::Pivot => TableRefKind::Pivot(Box::new(self.pivot(source)?)),
                Kw::Unpivot => TableRefKind::Unpivot(Box::new(self.unpivot(source)?)),
                _ => return Ok(source),
            };
            source = TableRef { kind, span: self.span_from(start) };
        }
        Ok(source)
    }

    /// Parses `{oj joins}`, ODBC's outer join escape.
    fn odbc_join(&mut self) -> Result<TableRefKind> {
        self.expect_kind(TokenKind::LeftBrace)?;
        self.expect(Kw::Oj)?;
        let inner = self.nested(Self::table_ref)?;
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(inner.kind)
    }

    /// Parses a derived table, VALUES, nested DML or joins in parentheses.
    #[inline(never)]
    fn paren_source(&mut self) -> Result<TableRefKind> {
        if self.at_paren_query() {
            let query = Box::new(self.paren_query()?);
            return Ok(TableRefKind::Derived { query, alias: self.needed_alias()? });
        }
        match self.keyword_at(1) {
            Kw::Values => {
                let rows = self.parens(Self::values_rows)?;
                Ok(TableRefKind::Values { rows, alias: self.needed_alias()? })
            }
            Kw::Insert | Kw::Update | Kw::Delete | Kw::Merge => {
                let statement = Box::new(self.parens(Self::statement)?);
                Ok(TableRefKind::Dml { statement, alias: self.needed_alias()? })
            }
            _ => match self.parens(Self::table_ref)?.kind {
                joins @ TableRefKind::Joined { .. } => Ok(joins),
                // `FROM (t)`: parentheses are for joins only.
                _ => Err(self.unexpected_at(self.position - 1)),
            },
        }
    }

    /// Parses `VALUES (..), (..)`.
    pub(super) fn values_rows(&mut self) -> Result<Vec<Vec<crate::ast::Expr>>> {
        self.expect(Kw::Values)?;
        self.comma_list(|parser| parser.paren_list(Self::expr_or_default))
    }

    fn variable_source(&mut self) -> Result<TableRefKind> {
        let variable = self.variable()?;
        if self.at_kind(TokenKind::Dot) {
            return self.variable_method(variable);
        }
        let alias = self.simple_alias()?;
        let hints = self.optional_hints()?;
        Ok(TableRefKind::Variable { variable, alias, hints })
    }

    /// Parses `.nodes(..) AS t(c)` behind a variable.
    fn variable_method(&mut self, variable: Variable) -> Result<TableRefKind> {
        self.expect_kind(TokenKind::Dot)?;
        let span = variable.span;
        let target = crate::ast::Expr { kind: ExprKind::Variable(variable), span };
        let name = self.ident()?;
        let call = Box::new(Method { target, name, arguments: self.arguments()? });
        Ok(TableRefKind::Method { call, alias: self.nodes_alias()? })
    }

    #[inline(never)]
    fn named_source(&mut self) -> Result<TableRefKind> {
        let function_word = matches!(
            self.keyword(),
            Kw::Openquery | Kw::Openrowset | Kw::Openxml | Kw::Opendatasource
        );
        self.refuse_rowset_function()?;
        if self.at(Kw::Openrowset)
            && self.kind_at(1) == TokenKind::LeftParen
            && self.keyword_at(2) == Kw::Bulk
        {
            return self.bulk_source();
        }
        if function_word {
            return self.function_source();
        }
        let name_at = self.position;
        let name = self.object_name()?;
        if self.at_kind(TokenKind::LeftParen) && !self.at_old_hints() {
            if name.schema.is_some() && name.object.as_str() == "nodes" {
                let call = Box::new(self.column_method(name)?);
                return Ok(TableRefKind::Method { call, alias: self.nodes_alias()? });
            }
            self.position = name_at;
            return self.function_source();
        }
        if self.at_all(&[Kw::For, Kw::Path]) {
            return Err(self.not_supported("FOR PATH of graph tables", self.start()));
        }
        let system_time = self.system_time()?;
        let (alias, sample, hints) = self.behind_table()?;
        Ok(TableRefKind::Table(Box::new(TableSource { name, alias, hints, system_time, sample })))
    }

    /// Parses what may follow a table's name: `(hints) alias`, or `alias TABLESAMPLE .. hints`.
    fn behind_table(&mut self) -> Result<(Option<Ident>, Option<TableSample>, Vec<TableHint>)> {
        if self.at_kind(TokenKind::LeftParen) {
            let hints = self.hint_list()?;
            return Ok((self.simple_alias()?, None, hints));
        }
        let alias = self.simple_alias()?;
        let sample = self.table_sample()?;
        let hints = if self.at_old_hints() { self.hint_list()? } else { self.optional_hints()? };
        Ok((alias, sample, hints))
    }

    /// Refuses functions of FROM whose arguments are no list of values.
    fn refuse_rowset_function(&self) -> Result<()> {
        const FUNCTIONS: [&str; 11] = [
            "AI_GENERATE_CHUNKS",
            "CHANGETABLE",
            "CONTAINSTABLE",
            "FREETEXTTABLE",
            "PREDICT",
            "REGEXP_MATCHES",
            "REGEXP_SPLIT_TO_TABLE",
            "SEMANTICKEYPHRASETABLE",
            "SEMANTICSIMILARITYDETAILSTABLE",
            "SEMANTICSIMILARITYTABLE",
            "VECTOR_SEARCH",
        ];
        if self.kind_at(1) != TokenKind::LeftParen {
            return Ok(());
        }
        match FUNCTIONS.iter().find(|function| self.is_word(self.token(), function)) {
            Some(function) => Err(self.not_supported(function, self.start())),
            None => Ok(()),
        }
    }

    #[inline(never)]
    fn function_source(&mut self) -> Result<TableRefKind> {
        let mut call = self.plain_call()?;
        if let Some(star) = call.arguments.iter().find(|a| matches!(a.kind, ExprKind::Star)) {
            return Err(self.error_at(Msg::SyntaxNear("*"), star.span.start));
        }
        self.remote_table(&mut call)?;
        let has_schema = call
            .name
            .as_simple()
            .is_some_and(|name| name.is("openjson") || name.is("openxml") || name.is("openrowset"));
        let follows = self.at(Kw::With) && self.kind_at(1) == TokenKind::LeftParen;
        let mut schema = Vec::new();
        if has_schema && follows {
            self.advance();
            schema = self.paren_list(Self::schema_column)?;
        }
        let mut schema_of = None;
        if has_schema && self.at(Kw::With) && self.is_ident(self.token_at(1)) {
            self.advance();
            schema_of = Some(self.object_name()?);
        }
        let mut hints = self.optional_hints()?;
        let alias = self.table_alias()?;
        hints.extend(self.optional_hints()?);
        Ok(TableRefKind::Function(Box::new(FunctionSource {
            call,
            alias,
            schema,
            schema_of,
            hints,
        })))
    }

    /// Parses `OPENROWSET(BULK 'file', ..) [WITH (..)] [AS alias]`.
    #[inline(never)]
    fn bulk_source(&mut self) -> Result<TableRefKind> {
        self.position += 1;
        let (file, options) = self.parens(|parser| {
            parser.expect(Kw::Bulk)?;
            let file = parser.string()?;
            let more = parser.eat_kind(TokenKind::Comma);
            Ok((file, if more { parser.once_list(Self::bulk_option)? } else { Vec::new() }))
        })?;
        let mut schema = Vec::new();
        if self.at(Kw::With) && self.kind_at(1) == TokenKind::LeftParen {
            self.advance();
            schema = self.paren_list(Self::schema_column)?;
        }
        let alias = self.table_alias()?;
        Ok(TableRefKind::Bulk(Box::new(BulkSource { file, options, schema, alias })))
    }

    /// Parses `.database.schema.table` behind OPENDATASOURCE(..) as one more argument. The engine
    /// has no linked servers and never reads it.
    pub(super) fn remote_table(&mut self, call: &mut Call) -> Result<()> {
        let is_source = call.name.as_simple().is_some_and(|name| name.is("opendatasource"));
        if !is_source || !self.eat_kind(TokenKind::Dot) {
            return Ok(());
        }
        let name = self.object_name()?;
        let (span, kind) = (name.span, Literal::String(name.to_string().into()));
        call.arguments.push(Expr { kind: ExprKind::Literal(kind), span });
        Ok(())
    }

    fn schema_column(&mut self) -> Result<SchemaColumn> {
        let name = self.ident()?;
        let data_type = self.type_name()?;
        let collation = if self.eat(Kw::Collate) { Some(self.any_word()?) } else { None };
        let path = if self.is_string(self.token()) { Some(self.string()?) } else { None };
        let as_json = self.eat_all(&[Kw::As, Kw::Json]);
        Ok(SchemaColumn { name, data_type, collation, path, as_json })
    }

    /// Parses `[AS] alias` without columns, if there is one.
    pub(super) fn simple_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat(Kw::As) {
            return self.ident().map(Some);
        }
        if self.at_plain_alias() && !self.at_clause_word() {
            self.ident().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns whether the next word starts a clause although it is not reserved; then it is no
    /// alias.
    fn at_clause_word(&self) -> bool {
        match self.keyword() {
            Kw::Window => self.is_ident(self.token_at(1)) && self.keyword_at(2) == Kw::As,
            Kw::Using => true,
            _ => false,
        }
    }

    /// Parses `[AS] alias [(columns)]`, if there is one.
    fn table_alias(&mut self) -> Result<Option<TableAlias>> {
        let Some(name) = self.simple_alias()? else { return Ok(None) };
        Ok(Some(TableAlias { name, columns: self.optional_paren_list(Self::ident)? }))
    }

    /// Parses `[AS] alias (column)` behind `nodes(..)`, whose column has no other name.
    fn nodes_alias(&mut self) -> Result<Option<TableAlias>> {
        match self.needed_alias()? {
            Some(alias) if alias.columns.is_empty() => Err(self.unexpected()),
            alias => Ok(alias),
        }
    }

    /// Parses `[AS] alias [(columns)]` of a source that must have a name.
    fn needed_alias(&mut self) -> Result<Option<TableAlias>> {
        match self.table_alias()? {
            None => Err(self.unexpected()),
            alias => Ok(alias),
        }
    }

    #[inline(never)]
    fn system_time(&mut self) -> Result<Option<SystemTime>> {
        if !self.eat_all(&[Kw::For, Kw::SystemTime]) {
            return Ok(None);
        }
        if self.eat(Kw::All) {
            return Ok(Some(SystemTime::All));
        }
        if self.eat(Kw::As) {
            self.expect(Kw::Of)?;
            return Ok(Some(SystemTime::AsOf(self.moment()?)));
        }
        if self.eat(Kw::From) {
            let from = self.moment()?;
            self.expect(Kw::To)?;
            return Ok(Some(SystemTime::FromTo(from, self.moment()?)));
        }
        if self.eat(Kw::Between) {
            let low = self.moment()?;
            self.expect(Kw::And)?;
            return Ok(Some(SystemTime::Between(low, self.moment()?)));
        }
        self.expect_all(&[Kw::Contained, Kw::In])?;
        self.parens(|parser| {
            let low = parser.moment()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(Some(SystemTime::ContainedIn(low, parser.moment()?)))
        })
    }

    /// Parses a point in time of FOR SYSTEM_TIME: a literal or a variable, not an expression.
    fn moment(&mut self) -> Result<Expr> {
        if !self.at_literal() && !self.at_kind(TokenKind::Variable) {
            return Err(self.unexpected());
        }
        self.primary()
    }

    #[inline(never)]
    fn table_sample(&mut self) -> Result<Option<TableSample>> {
        if !self.eat(Kw::Tablesample) {
            return Ok(None);
        }
        self.eat(Kw::System);
        let (count, rows) = self.parens(|parser| {
            let count = parser.expr()?;
            let rows = parser.eat(Kw::Rows);
            if !rows {
                parser.eat(Kw::Percent);
            }
            Ok((count, rows))
        })?;
        let seed = if self.eat(Kw::Repeatable) { Some(self.parens(Self::expr)?) } else { None };
        Ok(Some(TableSample { count, rows, seed }))
    }

    #[inline(never)]
    fn pivot(&mut self, source: TableRef) -> Result<Pivot> {
        self.expect(Kw::Pivot)?;
        let (aggregate, column, values) = self.parens(|parser| {
            let aggregate = parser.plain_call()?;
            if aggregate.arguments.is_empty() {
                return Err(parser.unexpected_at(parser.position - 1));
            }
            parser.expect(Kw::For)?;
            let column = parser.column_ref()?;
            parser.expect(Kw::In)?;
            Ok((aggregate, column, parser.paren_list(Self::ident)?))
        })?;
        Ok(Pivot { source, aggregate, column, values, alias: self.needed_alias()? })
    }

    #[inline(never)]
    fn unpivot(&mut self, source: TableRef) -> Result<Unpivot> {
        self.expect(Kw::Unpivot)?;
        let (value, name, columns) = self.parens(|parser| {
            let value = parser.ident()?;
            parser.expect(Kw::For)?;
            let name = parser.ident()?;
            parser.expect(Kw::In)?;
            Ok((value, name, parser.paren_list(Self::column_ref)?))
        })?;
        Ok(Unpivot { source, value, name, columns, alias: self.needed_alias()? })
    }
}
