//! Parses CREATE EXTERNAL DATA SOURCE, FILE FORMAT and TABLE.

use types::Result;

use super::Parser;
use crate::ast::{
    CreateExternal, CreateExternalTable, DropKind, ExternalColumn, ExternalKind, NamedOption,
    StatementKind,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Returns the class of external object that follows EXTERNAL; `None` for any other word.
    pub(super) fn external_kind(&self) -> Option<DropKind> {
        Some(match (self.keyword_at(1), self.keyword_at(2)) {
            (Kw::Table, _) => DropKind::ExternalTable,
            (Kw::Data, Kw::Source) => DropKind::ExternalDataSource,
            (Kw::File, Kw::Format) => DropKind::ExternalFileFormat,
            _ => return None,
        })
    }

    /// Parses CREATE EXTERNAL .., starting behind CREATE.
    #[inline(never)]
    pub(super) fn create_external(&mut self, start: u32) -> Result<StatementKind> {
        let kind = match self.external_kind() {
            Some(DropKind::ExternalTable) => return self.create_external_table(),
            Some(DropKind::ExternalDataSource) => ExternalKind::DataSource,
            Some(DropKind::ExternalFileFormat) => ExternalKind::FileFormat,
            _ => return self.unsupported_here(start),
        };
        self.position += 3;
        let name = self.ident()?;
        let options = self.external_options()?;
        Ok(StatementKind::CreateExternal(Box::new(CreateExternal { kind, name, options })))
    }

    fn external_options(&mut self) -> Result<Vec<NamedOption>> {
        self.expect(Kw::With)?;
        self.paren_list(Self::named_option)
    }

    fn create_external_table(&mut self) -> Result<StatementKind> {
        self.position += 2;
        let name = self.object_name()?;
        let columns = self.optional_paren_list(Self::external_column)?;
        let options = self.external_options()?;
        let query = match self.eat(Kw::As) {
            true => {
                let with = if self.at(Kw::With) { Some(self.with()?) } else { None };
                Some(Box::new(self.select_statement(with)?))
            }
            false => None,
        };
        let create = CreateExternalTable { name, columns, options, query };
        Ok(StatementKind::CreateExternalTable(Box::new(create)))
    }

    fn external_column(&mut self) -> Result<ExternalColumn> {
        let name = self.ident()?;
        let is_name_alone = self.at_kind(TokenKind::Comma) || self.at_kind(TokenKind::RightParen);
        let data_type = if is_name_alone { None } else { Some(self.type_name()?) };
        let collation = if self.eat(Kw::Collate) { Some(self.any_word()?) } else { None };
        let nullable = self.nullability();
        Ok(ExternalColumn { name, data_type, collation, nullable })
    }
}
