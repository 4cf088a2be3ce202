//! Parses INSERT, UPDATE, DELETE, TRUNCATE, INSERT BULK, BULK INSERT and READTEXT.

use types::Result;

use super::Parser;
use super::select::assign_op;
use crate::ast::{
    BulkColumn, BulkInsert, BulkOption, Condition, ConditionKind, Delete, Expr, ExprKind, Ident,
    Insert, InsertBulk, InsertSource, Output, ReadText, SetItem, SetItemKind, StatementKind,
    Target, TargetKind, Truncate, Update, With,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses INSERT and INSERT BULK.
    #[inline(never)]
    pub(super) fn insert(&mut self, with: Option<With>) -> Result<StatementKind> {
        self.expect(Kw::Insert)?;
        if with.is_none() && self.eat(Kw::Bulk) {
            return Ok(StatementKind::InsertBulk(Box::new(self.insert_bulk()?)));
        }
        let top = self.top()?;
        self.eat(Kw::Into);
        let target = self.target()?;
        let columns = if self.at_kind(TokenKind::LeftParen) && !self.at_paren_query() {
            self.paren_list(Self::insert_column)?
        } else {
            Vec::new()
        };
        let output = self.output()?;
        let source = self.insert_source()?;
        let options = self.options()?;
        let insert = Insert { with, top, target, columns, output, source, options };
        Ok(StatementKind::Insert(Box::new(insert)))
    }

    /// Parses a column of INSERT's list; a table name in front of it is ignored.
    fn insert_column(&mut self) -> Result<Ident> {
        Ok(self.column_ref()?.column)
    }

    fn insert_source(&mut self) -> Result<InsertSource> {
        match self.keyword() {
            Kw::Values => Ok(InsertSource::Values(self.values_rows()?)),
            Kw::Default => {
                self.advance();
                self.expect(Kw::Values)?;
                Ok(InsertSource::DefaultValues)
            }
            Kw::Exec | Kw::Execute => match self.execute()? {
                StatementKind::Execute(execute) => Ok(InsertSource::Execute(execute)),
                StatementKind::ExecuteString(execute) => Ok(InsertSource::ExecuteString(execute)),
                _ => Err(self.unexpected()),
            },
            Kw::Select => Ok(InsertSource::Query(Box::new(self.query_expression()?))),
            _ if self.at_kind(TokenKind::LeftParen) => {
                let query = self.query_expression()?;
                self.refuse_ordered(&query.body)?;
                Ok(InsertSource::Query(Box::new(query)))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Parses the table that a statement changes, with its hints.
    pub(super) fn target(&mut self) -> Result<Target> {
        let start = self.start();
        let kind = match (self.kind(), self.keyword()) {
            (TokenKind::Variable, _) => TargetKind::Variable(self.variable()?),
            (_, Kw::Openquery | Kw::Openrowset | Kw::Opendatasource) => {
                let mut call = self.plain_call()?;
                self.remote_table(&mut call)?;
                TargetKind::Function(Box::new(call))
            }
            _ => TargetKind::Name(self.object_name()?),
        };
        let hints = self.optional_hints()?;
        Ok(Target { kind, hints, span: self.span_from(start) })
    }

    /// Parses a target whose hints may be written without WITH. INSERT needs WITH, since its column
    /// list is in parentheses too.
    fn hinted_target(&mut self) -> Result<Target> {
        let mut target = self.target()?;
        if self.at_old_hints() {
            target.hints.extend(self.hint_list()?);
        }
        Ok(target)
    }

    /// Parses OUTPUT clauses: one with INTO, one without, or both.
    pub(super) fn output(&mut self) -> Result<Vec<Output>> {
        let mut clauses = Vec::new();
        while self.at(Kw::Output) {
            // Only the first one may have INTO; a second one needs a first one that has.
            let follows = |first: &Output| first.into.is_some();
            if clauses.len() > 1 || !clauses.iter().all(follows) {
                return Err(self.unexpected());
            }
            let start = self.start();
            self.advance();
            let items = self.comma_list(Self::select_item)?;
            let into = if clauses.is_empty() && self.eat(Kw::Into) {
                let target = self.output_target()?;
                let columns = if self.at_paren_query() {
                    Vec::new()
                } else {
                    self.optional_paren_list(Self::ident)?
                };
                Some((target, columns))
            } else {
                None
            };
            clauses.push(Output { items, into, span: self.span_from(start) });
        }
        Ok(clauses)
    }

    fn output_target(&mut self) -> Result<Target> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Variable => TargetKind::Variable(self.variable()?),
            _ => TargetKind::Name(self.object_name()?),
        };
        Ok(Target { kind, hints: Vec::new(), span: self.span_from(start) })
    }

    #[inline(never)]
    pub(super) fn update(&mut self, with: Option<With>) -> Result<Update> {
        self.expect(Kw::Update)?;
        let top = self.top()?;
        let target = self.hinted_target()?;
        self.expect(Kw::Set)?;
        let set = self.comma_list(Self::set_item)?;
        let output = self.output()?;
        let from = if self.eat(Kw::From) { self.table_refs()? } else { Vec::new() };
        let filter = self.dml_filter()?;
        let options = self.options()?;
        Ok(Update { with, top, target, set, output, from, filter, options })
    }

    #[inline(never)]
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Delete> {
        self.expect(Kw::Delete)?;
        let top = self.top()?;
        self.eat(Kw::From);
        let target = self.hinted_target()?;
        let output = self.output()?;
        let from = if self.eat(Kw::From) { self.table_refs()? } else { Vec::new() };
        let filter = self.dml_filter()?;
        let options = self.options()?;
        Ok(Delete { with, top, target, output, from, filter, options })
    }

    /// Parses WHERE, which may be `CURRENT OF cursor`.
    fn dml_filter(&mut self) -> Result<Option<Condition>> {
        if !self.eat(Kw::Where) {
            return Ok(None);
        }
        let start = self.start();
        if !self.eat_all(&[Kw::Current, Kw::Of]) {
            return self.condition().map(Some);
        }
        let kind = ConditionKind::CurrentOf(self.cursor_ref()?);
        Ok(Some(Condition { kind, span: self.span_from(start) }))
    }

    /// Parses an item of UPDATE's SET.
    pub(super) fn set_item(&mut self) -> Result<SetItem> {
        let start = self.start();
        let kind =
            if self.at_variable() { self.set_variable_item()? } else { self.set_column_item()? };
        Ok(SetItem { kind, span: self.span_from(start) })
    }

    fn set_variable_item(&mut self) -> Result<SetItemKind> {
        let variable = self.variable()?;
        let Some(op) = assign_op(self.kind()) else { return Err(self.unexpected()) };
        self.advance();
        if op == crate::ast::AssignOp::Assign && self.at_column_assignment() {
            let column = self.column_ref()?;
            let Some(op) = assign_op(self.kind()) else { return Err(self.unexpected()) };
            self.advance();
            let value = self.expr_or_default()?;
            return Ok(SetItemKind::VariableAndColumn { variable, column, op, value });
        }
        Ok(SetItemKind::Variable { variable, op, value: self.expr()? })
    }

    /// Returns whether `a.b =` follows.
    fn at_column_assignment(&self) -> bool {
        let mut ahead = 0;
        while self.is_ident(self.token_at(ahead)) && self.kind_at(ahead + 1) == TokenKind::Dot {
            ahead += 2;
        }
        self.is_ident(self.token_at(ahead)) && assign_op(self.kind_at(ahead + 1)).is_some()
    }

    fn set_column_item(&mut self) -> Result<SetItemKind> {
        let column = self.column_ref()?;
        if self.at_kind(TokenKind::LeftParen) {
            return self.mutator(column);
        }
        let Some(op) = assign_op(self.kind()) else { return Err(self.unexpected()) };
        self.advance();
        Ok(SetItemKind::Column { column, op, value: self.expr_or_default()? })
    }

    /// Parses `column.WRITE(..)` and other mutators; `path` has the method's name as its column.
    fn mutator(&mut self, path: crate::ast::ColumnRef) -> Result<SetItemKind> {
        let Some(table) = path.table else { return Err(self.unexpected()) };
        let (method, column) = (path.column, super::expr::column_of(table));
        if !method.is("write") {
            let arguments = self.arguments()?;
            return Ok(SetItemKind::Mutate { column, method, arguments });
        }
        let column = column.column;
        self.parens(|parser| {
            let value = parser.expr()?;
            parser.expect_kind(TokenKind::Comma)?;
            let offset = parser.expr()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(SetItemKind::Write { column, value, offset, length: parser.expr()? })
        })
    }

    #[inline(never)]
    pub(super) fn truncate(&mut self) -> Result<Truncate> {
        self.expect_all(&[Kw::Truncate, Kw::Table])?;
        let table = self.local_name()?;
        let mut partitions = Vec::new();
        if self.eat(Kw::With) {
            partitions = self.parens(|parser| {
                parser.expect(Kw::Partitions)?;
                parser.paren_list(Self::partition_range)
            })?;
        }
        Ok(Truncate { table, partitions })
    }

    fn partition_range(&mut self) -> Result<(Expr, Option<Expr>)> {
        let from = self.expr()?;
        let to = if self.eat(Kw::To) { Some(self.expr()?) } else { None };
        Ok((from, to))
    }

    #[inline(never)]
    fn insert_bulk(&mut self) -> Result<InsertBulk> {
        let table = self.local_name()?;
        let columns = self.optional_paren_list(Self::bulk_column)?;
        Ok(InsertBulk { table, columns, options: self.bulk_options()? })
    }

    fn bulk_column(&mut self) -> Result<BulkColumn> {
        let name = self.ident()?;
        let data_type = match self.kind() {
            // jTDS leaves out the type of a timestamp column.
            TokenKind::Comma | TokenKind::RightParen => return Err(self.unexpected()),
            _ => self.type_name()?,
        };
        let collation = if self.eat(Kw::Collate) { Some(self.any_word()?) } else { None };
        let nullable = self.nullability();
        Ok(BulkColumn { name, data_type, collation, nullable })
    }

    /// Takes NULL or NOT NULL; `NULL` is `Some(true)`.
    pub(super) fn nullability(&mut self) -> Option<bool> {
        if self.eat(Kw::Null) {
            return Some(true);
        }
        self.eat_all(&[Kw::Not, Kw::Null]).then_some(false)
    }

    #[inline(never)]
    pub(super) fn bulk_insert(&mut self) -> Result<BulkInsert> {
        self.expect_all(&[Kw::Bulk, Kw::Insert])?;
        let table = self.local_name()?;
        self.expect(Kw::From)?;
        let file = self.string()?;
        Ok(BulkInsert { table, file, options: self.bulk_options()? })
    }

    fn bulk_options(&mut self) -> Result<Vec<BulkOption>> {
        if self.eat(Kw::With) {
            self.parens(|parser| parser.once_list(Self::bulk_option))
        } else {
            Ok(Vec::new())
        }
    }

    pub(super) fn bulk_option(&mut self) -> Result<BulkOption> {
        if self.at(Kw::Order) && self.kind_at(1) == TokenKind::LeftParen {
            self.advance();
            return Ok(BulkOption::Order(self.paren_list(Self::index_column)?));
        }
        let name = self.any_word()?.to_ascii_uppercase().into();
        if !self.eat_kind(TokenKind::Equal) {
            return Ok(BulkOption::Word(name));
        }
        Ok(BulkOption::Value(name, self.word_or_expr()?))
    }

    /// Parses a value; any word, reserved or not, is accepted as one.
    pub(super) fn word_or_expr(&mut self) -> Result<Expr> {
        if !self.at_kind(TokenKind::Word) || self.at(Kw::Null) {
            return self.expr();
        }
        let start = self.start();
        let column = self.any_word()?;
        let kind = ExprKind::Column(Box::new(crate::ast::ColumnRef { column, table: None }));
        Ok(Expr { kind, span: self.span_from(start) })
    }

    #[inline(never)]
    pub(super) fn read_text(&mut self) -> Result<ReadText> {
        self.expect(Kw::Readtext)?;
        let column = self.column_ref()?;
        let pointer = self.primary()?;
        let offset = self.primary()?;
        let size = self.primary()?;
        Ok(ReadText { column, pointer, offset, size, holdlock: self.eat(Kw::Holdlock) })
    }
}
