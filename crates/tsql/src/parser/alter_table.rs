//! Parses ALTER TABLE.

use types::Result;

use super::Parser;
use crate::ast::{
    AlterTable, AlterTableAction, DropElement, DropElementKind, Ident, PartitionChoice,
    StatementKind,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn alter_table(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Table)?;
        let name = self.local_name()?;
        let action = self.alter_table_action()?;
        Ok(StatementKind::AlterTable(Box::new(AlterTable { name, action })))
    }

    fn alter_table_action(&mut self) -> Result<AlterTableAction> {
        let check = match (self.keyword(), self.keyword_at(1)) {
            (Kw::With, Kw::Check) => Some(true),
            (Kw::With, Kw::Nocheck) => Some(false),
            _ => None,
        };
        if check.is_some() {
            self.position += 2;
            return match self.keyword() {
                Kw::Add => self.alter_add(check),
                _ => self.check_constraint(check),
            };
        }
        match (self.keyword(), self.keyword_at(1)) {
            (Kw::Add, _) => self.alter_add(None),
            (Kw::Alter, Kw::Column) => self.alter_column(),
            (Kw::Alter, Kw::Index) => self.alter_table_index(),
            (Kw::Drop, _) => self.alter_drop(),
            (Kw::Check | Kw::Nocheck, _) => self.check_constraint(None),
            (Kw::Enable | Kw::Disable, Kw::Trigger) => self.alter_trigger(),
            (Kw::Enable | Kw::Disable, _) => self.alter_feature(),
            (Kw::Rebuild, _) => self.rebuild(),
            (Kw::Set, _) => {
                self.advance();
                Ok(AlterTableAction::Set(self.paren_list(Self::named_option)?))
            }
            (Kw::Switch, _) => self.switch(),
            _ => Err(self.unexpected()),
        }
    }

    /// Refuses ENABLE and DISABLE of CHANGE_TRACKING and FILETABLE_NAMESPACE by their names.
    fn alter_feature(&mut self) -> Result<AlterTableAction> {
        let start = self.start();
        let verb = self.text_of(self.token()).to_ascii_uppercase();
        for feature in ["CHANGE_TRACKING", "FILETABLE_NAMESPACE"] {
            if self.is_word(self.token_at(1), feature) {
                let what = format!("ALTER TABLE .. {verb} {feature}");
                return Err(self.not_supported(&what, start));
            }
        }
        Err(self.unexpected())
    }

    fn alter_add(&mut self, check: Option<bool>) -> Result<AlterTableAction> {
        self.expect(Kw::Add)?;
        // T-SQL has no COLUMN here (`ADD COLUMN c int` is an error), and no column may have that
        // name either.
        let elements = self.comma_list(Self::table_element)?;
        Ok(AlterTableAction::Add { check, elements })
    }

    fn alter_column(&mut self) -> Result<AlterTableAction> {
        self.position += 2;
        let add = matches!(self.keyword_at(1), Kw::Add);
        if !add && self.keyword_at(1) != Kw::Drop {
            let column = Box::new(self.column_definition()?);
            self.online()?;
            return Ok(AlterTableAction::AlterColumn(column));
        }
        let column = self.ident()?;
        self.advance();
        if add && self.at(Kw::Masked) {
            self.masked()?;
            return Ok(AlterTableAction::AlterColumnProperty {
                column,
                add,
                property: "MASKED".into(),
            });
        }
        let mut property = self.any_word()?.to_ascii_uppercase();
        if property == "NOT" {
            self.expect_all(&[Kw::For, Kw::Replication])?;
            property = "NOT FOR REPLICATION".to_owned();
        }
        let property = property.into();
        Ok(AlterTableAction::AlterColumnProperty { column, add, property })
    }

    /// Takes `WITH (ONLINE = ON)`, the only option of ALTER COLUMN. Readers never wait for it.
    fn online(&mut self) -> Result<()> {
        let at = self.position;
        let options = self.index_options()?;
        if options.iter().all(|option| *option.name == *"ONLINE") {
            return Ok(());
        }
        Err(self.unexpected_at(at + 2))
    }

    fn alter_table_index(&mut self) -> Result<AlterTableAction> {
        self.position += 2;
        let index = self.ident()?;
        self.expect(Kw::Rebuild)?;
        // All indexes of a memory-optimized table are.
        self.eat(Kw::Nonclustered);
        Ok(AlterTableAction::AlterIndex { index, options: self.index_options()? })
    }

    /// Parses `DROP CONSTRAINT a, b, COLUMN c`; a class applies until the next one is written.
    fn alter_drop(&mut self) -> Result<AlterTableAction> {
        self.expect(Kw::Drop)?;
        let mut kind = DropElementKind::Constraint;
        let elements = self.comma_list(|parser| {
            let start = parser.position;
            match parser.keyword() {
                Kw::Column => kind = DropElementKind::Column,
                Kw::Constraint => kind = DropElementKind::Constraint,
                Kw::Index => kind = DropElementKind::Index,
                Kw::Period => kind = DropElementKind::Period,
                _ => {}
            }
            if matches!(parser.keyword(), Kw::Column | Kw::Constraint | Kw::Index | Kw::Period) {
                parser.advance();
            }
            if kind == DropElementKind::Period && parser.position > start {
                parser.expect(Kw::For)?;
            }
            let if_exists = parser.eat_all(&[Kw::If, Kw::Exists]);
            let name = parser.ident()?;
            let options = match kind {
                DropElementKind::Constraint => parser.index_options()?,
                _ => Vec::new(),
            };
            Ok(DropElement { kind, if_exists, name, options })
        })?;
        Ok(AlterTableAction::Drop(elements))
    }

    fn check_constraint(&mut self, validate: Option<bool>) -> Result<AlterTableAction> {
        let enable = self.eat(Kw::Check);
        if !enable {
            self.expect(Kw::Nocheck)?;
        }
        self.expect(Kw::Constraint)?;
        Ok(AlterTableAction::CheckConstraint { validate, enable, names: self.all_or_names()? })
    }

    fn alter_trigger(&mut self) -> Result<AlterTableAction> {
        let enable = self.at(Kw::Enable);
        self.position += 2;
        Ok(AlterTableAction::Trigger { enable, names: self.all_or_names()? })
    }

    fn all_or_names(&mut self) -> Result<Vec<Ident>> {
        if self.eat(Kw::All) { Ok(Vec::new()) } else { self.comma_list(Self::ident) }
    }

    fn rebuild(&mut self) -> Result<AlterTableAction> {
        self.expect(Kw::Rebuild)?;
        let partition = self.partition_choice()?;
        Ok(AlterTableAction::Rebuild { partition, options: self.index_options()? })
    }

    /// Parses `PARTITION = ALL | n`, if it follows.
    pub(super) fn partition_choice(&mut self) -> Result<PartitionChoice> {
        if !self.eat(Kw::Partition) {
            return Ok(PartitionChoice::Unsaid);
        }
        self.expect_kind(TokenKind::Equal)?;
        match self.eat(Kw::All) {
            true => Ok(PartitionChoice::All),
            false => self.expr().map(PartitionChoice::One),
        }
    }

    fn switch(&mut self) -> Result<AlterTableAction> {
        self.expect(Kw::Switch)?;
        let source_partition = if self.eat(Kw::Partition) { Some(self.expr()?) } else { None };
        self.expect(Kw::To)?;
        let target = self.local_name()?;
        let target_partition = if self.eat(Kw::Partition) { Some(self.expr()?) } else { None };
        let options = match self.eat(Kw::With) {
            true => self.paren_list(Self::named_option)?,
            false => Vec::new(),
        };
        Ok(AlterTableAction::Switch { source_partition, target, target_partition, options })
    }
}
