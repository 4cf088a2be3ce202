//! Parses CREATE TABLE: columns, constraints, inline indexes, options.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    ColumnDefinition, ColumnKind, ColumnOption, Constraint, ConstraintKind, CreateTable,
    Durability, Ident, KeyKind, ObjectName, OptionValue, ReferentialAction, StatementKind, Storage,
    TableElement, TableOption, TypeArguments, TypeName,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn create_table(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Table)?;
        let name = self.local_name()?;
        let as_kind = if self.eat(Kw::As) {
            Some(self.any_word()?.to_ascii_uppercase().into())
        } else {
            None
        };
        let elements = if self.at_kind(TokenKind::LeftParen) || as_kind.is_none() {
            self.table_elements()?
        } else {
            Vec::new()
        };
        let as_kind = match as_kind {
            None if self.eat(Kw::As) => Some(self.any_word()?.to_ascii_uppercase().into()),
            as_kind => as_kind,
        };
        let storage = self.storage()?;
        let options = self.table_options()?;
        let table = CreateTable { name, elements, storage, options, as_kind };
        Ok(StatementKind::CreateTable(Box::new(table)))
    }

    /// Parses `(element, ..)`; a comma behind the last one is accepted.
    pub(super) fn table_elements(&mut self) -> Result<Vec<TableElement>> {
        self.parens(|parser| {
            let mut elements = vec![parser.new_table_element()?];
            loop {
                let comma = parser.eat_kind(TokenKind::Comma);
                if parser.at_kind(TokenKind::RightParen) {
                    return Ok(elements);
                }
                // SQL Server also accepts a constraint without a comma in front.
                if !comma && !parser.at_constraint() {
                    return Err(parser.unexpected());
                }
                elements.push(parser.new_table_element()?);
            }
        })
    }

    /// Parses an element of a new table, whose defaults are in its columns.
    fn new_table_element(&mut self) -> Result<TableElement> {
        let start = self.start();
        let element = self.table_element()?;
        match &element {
            TableElement::Constraint(constraint) => match constraint.kind {
                ConstraintKind::Default { .. } => {
                    Err(self.error_at(Msg::ConstraintSyntax("TABLE"), start))
                }
                _ => Ok(element),
            },
            _ => Ok(element),
        }
    }

    fn at_constraint(&self) -> bool {
        matches!(
            self.keyword(),
            Kw::Constraint | Kw::Primary | Kw::Unique | Kw::Foreign | Kw::Check
        ) || self.at_all(&[Kw::Connection]) && self.kind_at(1) == TokenKind::LeftParen
    }

    pub(super) fn table_element(&mut self) -> Result<TableElement> {
        if self.at_constraint() || self.at(Kw::Default) {
            let constraint = self.constraint()?;
            if matches!(constraint.kind, ConstraintKind::Default { column: None, .. }) {
                return Err(self.unexpected());
            }
            return Ok(TableElement::Constraint(Box::new(constraint)));
        }
        if self.at(Kw::Index) {
            return Ok(TableElement::Index(Box::new(self.inline_index()?)));
        }
        if self.at_all(&[Kw::Period, Kw::For, Kw::SystemTime]) {
            self.position += 3;
            return self.parens(|parser| {
                let start = parser.ident()?;
                parser.expect_kind(TokenKind::Comma)?;
                Ok(TableElement::Period(start, parser.ident()?))
            });
        }
        Ok(TableElement::Column(Box::new(self.column_definition()?)))
    }

    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        let start = self.start();
        let name = self.ident()?;
        let kind = self.column_kind(&name)?;
        let mut options = Vec::new();
        let mut at = self.position;
        while let Some(option) = self.column_option()? {
            if is_once(&option) && options.contains(&option) {
                return Err(self.unexpected_at(at));
            }
            let is_identity = |option: &ColumnOption| matches!(option, ColumnOption::Identity(_));
            let needs_identity = option == ColumnOption::NotForReplication;
            if needs_identity && !options.iter().any(is_identity) {
                return Err(self.unexpected_at(at + 1));
            }
            if is_identity(&option) && matches!(kind, ColumnKind::Computed { .. }) {
                return Err(self.unexpected_at(at));
            }
            options.push(option);
            at = self.position;
        }
        Ok(ColumnDefinition { name, kind, options, span: self.span_from(start) })
    }

    fn column_kind(&mut self, name: &Ident) -> Result<ColumnKind> {
        if self.eat(Kw::As) {
            let expr = self.expr()?;
            return Ok(ColumnKind::Computed { expr, persisted: self.eat(Kw::Persisted) });
        }
        let bare = matches!(self.kind(), TokenKind::Comma | TokenKind::RightParen)
            || matches!(self.keyword(), Kw::Null | Kw::Not);
        if bare && name.is("timestamp") {
            let type_name = ObjectName::simple(name.clone());
            let (arguments, span) = (TypeArguments::None, name.span);
            return Ok(ColumnKind::Typed(TypeName { name: type_name, arguments, span }));
        }
        let data_type = self.type_name()?;
        if self.eat_all(&[Kw::ColumnSet, Kw::For, Kw::AllSparseColumns]) {
            return Ok(ColumnKind::ColumnSet);
        }
        Ok(ColumnKind::Typed(data_type))
    }

    fn column_option(&mut self) -> Result<Option<ColumnOption>> {
        let option = match (self.keyword(), self.keyword_at(1)) {
            (Kw::Collate, _) => {
                self.advance();
                let collation = self.any_word()?;
                if self.at(Kw::Collate) {
                    return Err(self.unexpected());
                }
                ColumnOption::Collate(collation)
            }
            (Kw::Null, _) => {
                self.advance();
                ColumnOption::Null
            }
            (Kw::Not, Kw::Null) => {
                self.position += 2;
                ColumnOption::NotNull
            }
            (Kw::Not, Kw::For) => {
                self.advance();
                self.expect_all(&[Kw::For, Kw::Replication])?;
                ColumnOption::NotForReplication
            }
            (Kw::Identity, _) => self.identity()?,
            (Kw::Index, _) => {
                let index = self.inline_index()?;
                // A columnstore is an index of the table.
                let columnstore = self.before(index.span.end, Kw::Columnstore);
                if self.tokens[columnstore].start >= index.span.start && columnstore < self.position
                {
                    return Err(self.unexpected_at(columnstore));
                }
                ColumnOption::Index(Box::new(index))
            }
            (Kw::Generated, _) => self.generated()?,
            (Kw::Masked, _) => self.masked()?,
            (Kw::Default | Kw::References, _) => {
                ColumnOption::Constraint(Box::new(self.column_constraint()?))
            }
            (_, Kw::With) if self.is_word(self.token(), "ENCRYPTED") => {
                return Err(self.not_supported("ENCRYPTED WITH", self.start()));
            }
            // `CONSTRAINT name NOT NULL`: SQL Server forgets the name.
            (Kw::Constraint, _) if matches!(self.keyword_at(2), Kw::Null | Kw::Not) => {
                self.advance();
                self.ident()?;
                if self.eat(Kw::Null) {
                    return Ok(Some(ColumnOption::Null));
                }
                self.expect_all(&[Kw::Not, Kw::Null])?;
                ColumnOption::NotNull
            }
            _ if self.at_constraint() => {
                ColumnOption::Constraint(Box::new(self.column_constraint()?))
            }
            (word, _) => {
                let Some(option) = plain_column_option(word) else { return Ok(None) };
                self.advance();
                option
            }
        };
        Ok(Some(option))
    }

    fn identity(&mut self) -> Result<ColumnOption> {
        self.expect(Kw::Identity)?;
        if !self.at_kind(TokenKind::LeftParen) {
            return Ok(ColumnOption::Identity(None));
        }
        self.parens(|parser| {
            let seed = parser.signed_literal()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(ColumnOption::Identity(Some((seed, parser.signed_literal()?))))
        })
    }

    fn generated(&mut self) -> Result<ColumnOption> {
        self.expect_all(&[Kw::Generated, Kw::Always, Kw::As])?;
        for of_ledger in ["TRANSACTION_ID", "SEQUENCE_NUMBER"] {
            if self.is_word(self.token(), of_ledger) {
                let what = format!("GENERATED ALWAYS AS {of_ledger}");
                return Err(self.not_supported(&what, self.start()));
            }
        }
        self.expect(Kw::Row)?;
        if self.eat(Kw::Start) {
            return Ok(ColumnOption::GeneratedRowStart);
        }
        self.expect(Kw::End)?;
        Ok(ColumnOption::GeneratedRowEnd)
    }

    pub(super) fn masked(&mut self) -> Result<ColumnOption> {
        self.expect_all(&[Kw::Masked, Kw::With])?;
        self.parens(|parser| {
            parser.expect(Kw::Function)?;
            parser.expect_kind(TokenKind::Equal)?;
            Ok(ColumnOption::Masked(parser.string()?))
        })
    }

    /// Parses a constraint of a column, whose default is for no other.
    fn column_constraint(&mut self) -> Result<Constraint> {
        let constraint = self.constraint()?;
        match &constraint.kind {
            ConstraintKind::Default { column: Some(column), .. } => {
                Err(self.unexpected_at(self.before(column.span.start, Kw::For)))
            }
            _ => Ok(constraint),
        }
    }

    /// Parses a constraint of a column or a table.
    pub(super) fn constraint(&mut self) -> Result<Constraint> {
        let start = self.start();
        let name = if self.eat(Kw::Constraint) { Some(self.ident()?) } else { None };
        let kind = match self.keyword() {
            Kw::Primary => {
                self.advance();
                self.expect(Kw::Key)?;
                self.key(KeyKind::Primary)?
            }
            Kw::Unique => {
                self.advance();
                self.key(KeyKind::Unique)?
            }
            Kw::Foreign | Kw::References => self.foreign_key()?,
            Kw::Check => self.check()?,
            Kw::Default => self.default_constraint()?,
            Kw::Connection => self.connection()?,
            _ => return Err(self.unexpected()),
        };
        Ok(Constraint { name, kind, span: self.span_from(start) })
    }

    fn key(&mut self, kind: KeyKind) -> Result<ConstraintKind> {
        let structure = self.index_structure();
        let columns = self.optional_paren_list(Self::index_column)?;
        let options = self.index_options()?;
        self.check_bucket_count(structure, &options)?;
        let storage = self.storage()?;
        let not_enforced = self.eat_all(&[Kw::Not, Kw::Enforced]);
        Ok(ConstraintKind::Key { kind, structure, columns, options, storage, not_enforced })
    }

    fn foreign_key(&mut self) -> Result<ConstraintKind> {
        let mut columns = Vec::new();
        if self.eat(Kw::Foreign) {
            self.expect(Kw::Key)?;
            columns = self.optional_paren_list(Self::ident)?;
        }
        self.expect(Kw::References)?;
        let table = self.local_name()?;
        let referenced = self.optional_paren_list(Self::ident)?;
        let (mut on_delete, mut on_update) = (None, None);
        loop {
            if on_delete.is_none() && self.eat_all(&[Kw::On, Kw::Delete]) {
                on_delete = Some(self.referential_action()?);
            } else if on_update.is_none() && self.eat_all(&[Kw::On, Kw::Update]) {
                on_update = Some(self.referential_action()?);
            } else {
                break;
            }
        }
        let not_for_replication = self.eat_all(&[Kw::Not, Kw::For, Kw::Replication]);
        Ok(ConstraintKind::ForeignKey {
            columns,
            table,
            referenced,
            on_delete,
            on_update,
            not_for_replication,
        })
    }

    fn referential_action(&mut self) -> Result<ReferentialAction> {
        if self.eat_all(&[Kw::No, Kw::Action]) {
            return Ok(ReferentialAction::NoAction);
        }
        if self.eat(Kw::Cascade) {
            return Ok(ReferentialAction::Cascade);
        }
        self.expect(Kw::Set)?;
        if self.eat(Kw::Null) {
            return Ok(ReferentialAction::SetNull);
        }
        self.expect(Kw::Default)?;
        Ok(ReferentialAction::SetDefault)
    }

    fn check(&mut self) -> Result<ConstraintKind> {
        self.expect(Kw::Check)?;
        let not_for_replication = self.eat_all(&[Kw::Not, Kw::For, Kw::Replication]);
        let condition = self.parens(Self::condition)?;
        Ok(ConstraintKind::Check { condition, not_for_replication })
    }

    fn default_constraint(&mut self) -> Result<ConstraintKind> {
        self.expect(Kw::Default)?;
        let value = self.expr()?;
        let column = if self.eat(Kw::For) { Some(self.ident()?) } else { None };
        let with_values = self.eat_all(&[Kw::With, Kw::Values]);
        Ok(ConstraintKind::Default { value, column, with_values })
    }

    fn connection(&mut self) -> Result<ConstraintKind> {
        self.expect(Kw::Connection)?;
        let pairs = self.paren_list(|parser| {
            let from = parser.object_name()?;
            parser.expect(Kw::To)?;
            Ok((from, parser.object_name()?))
        })?;
        if self.at(Kw::On) {
            return Err(self.not_supported("CONNECTION .. ON DELETE", self.start()));
        }
        Ok(ConstraintKind::Connection(pairs))
    }

    /// Parses ON, TEXTIMAGE_ON and FILESTREAM_ON.
    pub(super) fn storage(&mut self) -> Result<Storage> {
        let mut storage = Storage::default();
        loop {
            if self.at(Kw::On) && storage.on.is_none() {
                self.advance();
                let name = self.filegroup()?;
                storage.on = Some((name, self.optional_paren_list(Self::ident)?));
            } else if self.at(Kw::TextimageOn) {
                self.placed_once("TEXTIMAGE_ON", storage.textimage_on.is_some())?;
                storage.textimage_on = Some(self.filegroup()?);
            } else if self.at(Kw::FilestreamOn) {
                self.placed_once("FILESTREAM_ON", storage.filestream_on.is_some())?;
                storage.filestream_on = Some(self.filegroup()?);
            } else {
                return Ok(storage);
            }
        }
    }

    /// Takes the word of a placement option; refuses a second one.
    fn placed_once(&mut self, option: &str, again: bool) -> Result<()> {
        if again {
            return Err(self.error_at(Msg::PlacementTwice(option), self.start()));
        }
        self.advance();
        Ok(())
    }

    /// Parses a filegroup's name. PRIMARY and DEFAULT need no quotes, and a string is a name.
    pub(super) fn filegroup(&mut self) -> Result<Ident> {
        if self.is_string(self.token()) {
            let span = crate::ast::Span::new(self.start(), self.token().end());
            return Ok(Ident::new(self.string()?, crate::ast::Quoting::Quotes, span));
        }
        self.any_word()
    }

    /// Parses the WITH clause of a table.
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        if self.at(Kw::With) && self.kind_at(1) == TokenKind::LeftParen {
            self.advance();
            return self.paren_list(Self::table_option);
        }
        Ok(Vec::new())
    }

    fn table_option(&mut self) -> Result<TableOption> {
        let position = self.position;
        let option = self.named_option()?;
        match (&*option.name, &option.value) {
            ("MEMORY_OPTIMIZED", OptionValue::On) => Ok(TableOption::MemoryOptimized(true)),
            ("MEMORY_OPTIMIZED", OptionValue::Off) => Ok(TableOption::MemoryOptimized(false)),
            ("DURABILITY", value) => match value.word() {
                Some(word) if word.eq_ignore_ascii_case("SCHEMA_ONLY") => {
                    Ok(TableOption::Durability(Durability::SchemaOnly))
                }
                Some(word) if word.eq_ignore_ascii_case("SCHEMA_AND_DATA") => {
                    Ok(TableOption::Durability(Durability::SchemaAndData))
                }
                _ => Err(self.unexpected_at(position)),
            },
            ("MEMORY_OPTIMIZED", _) => Err(self.unexpected_at(position)),
            _ if self.at_all(&[Kw::On, Kw::Partitions]) => {
                self.position = position;
                Ok(TableOption::OnPartitions(self.index_option()?))
            }
            _ => Ok(TableOption::Other(option)),
        }
    }
}

/// Returns whether the grammar has one place for an option. SQL Server counts others later, and
/// names the column.
fn is_once(option: &ColumnOption) -> bool {
    matches!(option, ColumnOption::Sparse | ColumnOption::FileStream | ColumnOption::Hidden)
}

fn plain_column_option(word: Kw) -> Option<ColumnOption> {
    Some(match word {
        Kw::RowGuidCol => ColumnOption::RowGuidCol,
        Kw::Sparse => ColumnOption::Sparse,
        Kw::Filestream => ColumnOption::FileStream,
        Kw::Hidden => ColumnOption::Hidden,
        _ => return None,
    })
}
