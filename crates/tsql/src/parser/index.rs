//! Parses indexes (inline, CREATE, ALTER, DROP INDEX) and statistics.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    AlterIndex, AlterIndexAction, CreateIndex, CreateStatistics, DropIndex, Ident, IndexColumn,
    IndexOption, IndexStructure, InlineIndex, Literal, ObjectName, OptionValue, StatementKind,
    UpdateStatistics,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// Most buckets of a hash index.
const BUCKETS_MAX: i32 = 1 << 30;

impl Parser<'_> {
    /// Takes CLUSTERED, NONCLUSTERED, HASH and COLUMNSTORE in their combinations.
    pub(super) fn index_structure(&mut self) -> Option<IndexStructure> {
        const STRUCTURES: [(&[Kw], IndexStructure); 7] = [
            (&[Kw::Clustered, Kw::Columnstore], IndexStructure::ClusteredColumnstore),
            (&[Kw::Clustered], IndexStructure::Clustered),
            (&[Kw::Nonclustered, Kw::Columnstore], IndexStructure::NonclusteredColumnstore),
            (&[Kw::Nonclustered, Kw::Hash], IndexStructure::Hash),
            (&[Kw::Nonclustered], IndexStructure::Nonclustered),
            (&[Kw::Columnstore], IndexStructure::NonclusteredColumnstore),
            (&[Kw::Hash], IndexStructure::Hash),
        ];
        let (words, structure) = STRUCTURES.iter().find(|(words, _)| self.at_all(words))?;
        self.position += words.len();
        Some(*structure)
    }

    pub(super) fn index_column(&mut self) -> Result<IndexColumn> {
        let name = self.ident()?;
        Ok(IndexColumn { name, descending: self.direction() })
    }

    /// Parses `INDEX name ..` in a table's definition.
    pub(super) fn inline_index(&mut self) -> Result<InlineIndex> {
        let start = self.start();
        self.expect(Kw::Index)?;
        let name = self.ident()?;
        let unique = self.eat(Kw::Unique);
        let structure = self.index_structure();
        self.index_rest(InlineIndex {
            name,
            unique,
            structure,
            columns: Vec::new(),
            include: Vec::new(),
            order: Vec::new(),
            filter: None,
            options: Vec::new(),
            storage: crate::ast::Storage::default(),
            span: self.span_from(start),
        })
    }

    /// Parses the rest of an index, starting at its columns.
    fn index_rest(&mut self, mut index: InlineIndex) -> Result<InlineIndex> {
        index.columns = self.optional_paren_list(Self::index_column)?;
        if self.at(Kw::Include) {
            self.advance();
            index.include = self.paren_list(Self::ident)?;
        }
        if self.at(Kw::Order) && self.kind_at(1) == TokenKind::LeftParen {
            self.advance();
            index.order = self.paren_list(Self::ident)?;
        }
        if self.eat(Kw::Where) {
            index.filter = Some(self.condition()?);
        }
        index.options = self.index_options()?;
        self.check_bucket_count(index.structure, &index.options)?;
        index.storage = self.storage()?;
        index.span = self.span_from(index.span.start);
        Ok(index)
    }

    /// Checks that only a hash index has a BUCKET_COUNT, and that it is in range.
    ///
    /// # Errors
    /// 10790 and 41303.
    pub(super) fn check_bucket_count(
        &self,
        structure: Option<IndexStructure>,
        options: &[IndexOption],
    ) -> Result<()> {
        let Some(option) = options.iter().find(|option| *option.name == *"BUCKET_COUNT") else {
            return Ok(());
        };
        let at = option.span.start;
        if structure != Some(IndexStructure::Hash) {
            let written = &self.text[at as usize..at as usize + option.name.len()];
            return Err(self.error_at(Msg::BucketCountOfRange(written), at));
        }
        match option.value {
            OptionValue::Literal(Literal::Int(count)) if (1..=BUCKETS_MAX).contains(&count) => {
                Ok(())
            }
            _ => Err(self.error_at(Msg::BucketCountRange, at)),
        }
    }

    pub(super) fn create_index(&mut self) -> Result<StatementKind> {
        let start = self.start();
        let unique = self.eat(Kw::Unique);
        let structure = self.index_structure();
        self.expect(Kw::Index)?;
        let name = self.ident()?;
        self.expect(Kw::On)?;
        let table = self.local_name()?;
        let index = self.index_rest(InlineIndex {
            name,
            unique,
            structure,
            columns: Vec::new(),
            include: Vec::new(),
            order: Vec::new(),
            filter: None,
            options: Vec::new(),
            storage: crate::ast::Storage::default(),
            span: self.span_from(start),
        })?;
        let columnless = structure == Some(IndexStructure::ClusteredColumnstore);
        if index.columns.is_empty() && !columnless {
            return Err(self.unexpected());
        }
        Ok(StatementKind::CreateIndex(Box::new(CreateIndex { index, table })))
    }

    pub(super) fn alter_index(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Index)?;
        let index = if self.eat(Kw::All) { None } else { Some(self.ident()?) };
        self.expect(Kw::On)?;
        let table = self.local_name()?;
        let action = match self.keyword() {
            Kw::Rebuild => AlterIndexAction::Rebuild,
            Kw::Reorganize => AlterIndexAction::Reorganize,
            Kw::Disable => AlterIndexAction::Disable,
            Kw::Set => AlterIndexAction::Set,
            Kw::Resume => AlterIndexAction::Resume,
            Kw::Pause => AlterIndexAction::Pause,
            Kw::Abort => AlterIndexAction::Abort,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        let partition = self.partition_choice()?;
        let options = match action {
            AlterIndexAction::Set => self.paren_list(Self::index_option)?,
            _ => self.index_options()?,
        };
        let alter = AlterIndex { index, table, action, partition, options };
        Ok(StatementKind::AlterIndex(Box::new(alter)))
    }

    /// Parses DROP INDEX, starting behind INDEX.
    pub(super) fn drop_index(&mut self) -> Result<StatementKind> {
        let if_exists = self.eat_all(&[Kw::If, Kw::Exists]);
        let indexes = self.comma_list(Self::dropped_index)?;
        Ok(StatementKind::DropIndex(Box::new(DropIndex { if_exists, indexes })))
    }

    /// Parses `index ON table [WITH (..)]` or `table.index`.
    fn dropped_index(&mut self) -> Result<(Ident, ObjectName, Vec<IndexOption>)> {
        let at = self.position;
        let name = self.local_name()?;
        if self.eat(Kw::On) {
            let Some(index) = name.as_simple().cloned() else { return Err(self.unexpected_at(at)) };
            let table = self.local_name()?;
            return Ok((index, table, self.index_options()?));
        }
        let column = super::expr::column_of(name);
        let Some(table) = column.table else {
            return Err(self.error_at(Msg::DropIndexNeedsTable, column.column.span.start));
        };
        Ok((column.column, table, Vec::new()))
    }

    pub(super) fn create_statistics(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Statistics)?;
        let name = self.ident()?;
        self.expect(Kw::On)?;
        let table = self.local_name()?;
        let columns = self.paren_list(Self::ident)?;
        let filter = if self.eat(Kw::Where) { Some(self.condition()?) } else { None };
        let options = self.statistics_options()?;
        let statistics = CreateStatistics { name, table, columns, filter, options };
        Ok(StatementKind::CreateStatistics(Box::new(statistics)))
    }

    pub(super) fn update_statistics(&mut self) -> Result<StatementKind> {
        self.expect_all(&[Kw::Update, Kw::Statistics])?;
        let table = self.local_name()?;
        let names = if self.at_ident() {
            vec![self.ident()?]
        } else {
            self.optional_paren_list(Self::ident)?
        };
        let options = self.statistics_options()?;
        let update = UpdateStatistics { table, names, options };
        Ok(StatementKind::UpdateStatistics(Box::new(update)))
    }

    /// Parses `WITH FULLSCAN, SAMPLE 10 PERCENT, NORECOMPUTE, ..`.
    fn statistics_options(&mut self) -> Result<Vec<IndexOption>> {
        if !self.eat(Kw::With) {
            return Ok(Vec::new());
        }
        self.comma_list(|parser| {
            if !parser.at(Kw::Sample) {
                return parser.index_option();
            }
            let start = parser.start();
            parser.advance();
            let literal = parser.literal()?;
            let Some(count) = super::select::whole_number(&literal) else {
                return Err(parser.unexpected());
            };
            let unit = if parser.eat(Kw::Rows) { "ROWS" } else { "PERCENT" };
            if unit == "PERCENT" {
                parser.expect(Kw::Percent)?;
            }
            let value = crate::ast::OptionValue::Quantity(count, unit.into());
            let span = parser.span_from(start);
            let name: Box<str> = "SAMPLE".into();
            Ok(IndexOption { written: name.clone(), name, value, on_partitions: Vec::new(), span })
        })
    }
}
