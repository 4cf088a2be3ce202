//! Parses CREATE and ALTER of partition functions and partition schemes.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{DropKind, PartitionStatement, StatementKind};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Returns whether PARTITION FUNCTION or PARTITION SCHEME follows, and which.
    pub(super) fn partition_kind(&self) -> Option<DropKind> {
        match (self.keyword(), self.keyword_at(1)) {
            (Kw::Partition, Kw::Function) => Some(DropKind::PartitionFunction),
            (Kw::Partition, Kw::Scheme) => Some(DropKind::PartitionScheme),
            _ => None,
        }
    }

    /// Parses CREATE PARTITION .., starting behind CREATE.
    #[inline(never)]
    pub(super) fn create_partition(&mut self, kind: DropKind) -> Result<StatementKind> {
        self.position += 2;
        let statement = match kind {
            DropKind::PartitionFunction => self.create_partition_function()?,
            _ => self.create_partition_scheme()?,
        };
        Ok(StatementKind::Partition(Box::new(statement)))
    }

    fn create_partition_function(&mut self) -> Result<PartitionStatement> {
        let name = self.ident()?;
        if self.at_kind(TokenKind::LeftParen) && self.kind_at(1) == TokenKind::RightParen {
            return Err(self.error_at(Msg::PartitionNoTypes, self.start()));
        }
        let parameters = self.paren_list(|parser| {
            let of = parser.type_name()?;
            let collation = if parser.eat(Kw::Collate) { Some(parser.any_word()?) } else { None };
            Ok((of, collation))
        })?;
        self.expect_all(&[Kw::As, Kw::Range])?;
        let right = self.eat(Kw::Right);
        if !right {
            self.eat(Kw::Left);
        }
        self.expect_all(&[Kw::For, Kw::Values])?;
        let values = self.boundary_values()?;
        Ok(PartitionStatement::CreateFunction { name, parameters, right, values })
    }

    fn boundary_values(&mut self) -> Result<Vec<crate::ast::Expr>> {
        if self.kind_at(1) == TokenKind::RightParen {
            self.expect_kind(TokenKind::LeftParen)?;
            self.advance();
            return Ok(Vec::new());
        }
        self.paren_list(Self::expr)
    }

    fn create_partition_scheme(&mut self) -> Result<PartitionStatement> {
        let name = self.ident()?;
        self.expect_all(&[Kw::As, Kw::Partition])?;
        let function = self.ident()?;
        let all = self.eat(Kw::All);
        self.expect(Kw::To)?;
        let filegroups = self.paren_list(Self::scheme_filegroup)?;
        Ok(PartitionStatement::CreateScheme { name, function, all, filegroups })
    }

    /// Parses a filegroup. PRIMARY is a reserved word, and must be quoted here.
    fn scheme_filegroup(&mut self) -> Result<crate::ast::Ident> {
        if self.is_string(self.token()) { self.filegroup() } else { self.ident() }
    }

    /// Parses ALTER PARTITION .., starting behind ALTER.
    #[inline(never)]
    pub(super) fn alter_partition(&mut self, kind: DropKind) -> Result<StatementKind> {
        self.position += 2;
        let statement = match kind {
            DropKind::PartitionFunction => self.alter_partition_function()?,
            _ => self.alter_partition_scheme()?,
        };
        Ok(StatementKind::Partition(Box::new(statement)))
    }

    fn alter_partition_function(&mut self) -> Result<PartitionStatement> {
        let name = self.ident()?;
        self.expect_kind(TokenKind::LeftParen)?;
        self.expect_kind(TokenKind::RightParen)?;
        let split = self.eat(Kw::Split);
        if !split {
            self.expect(Kw::Merge)?;
        }
        let value = if self.eat(Kw::Range) { Some(self.parens(Self::expr)?) } else { None };
        Ok(PartitionStatement::AlterFunction { name, split, value })
    }

    fn alter_partition_scheme(&mut self) -> Result<PartitionStatement> {
        let name = self.ident()?;
        self.expect_all(&[Kw::Next, Kw::Used])?;
        let named = self.at_ident() || self.is_string(self.token());
        let next = if named { Some(self.scheme_filegroup()?) } else { None };
        Ok(PartitionStatement::AlterScheme { name, next })
    }
}
