//! Parses CREATE DATABASE and ALTER DATABASE.

use types::Result;

use super::Parser;
use crate::ast::{
    AlterDatabase, AlterDatabaseAction, CreateDatabase, FileGroup, FileSpec, NamedOption,
    OptionValue, StatementKind,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// Options of ALTER DATABASE SET that have no value.
const LONE_OPTIONS: &[&str] = &[
    "SINGLE_USER",
    "RESTRICTED_USER",
    "MULTI_USER",
    "ONLINE",
    "OFFLINE",
    "EMERGENCY",
    "READ_ONLY",
    "READ_WRITE",
    "ENABLE_BROKER",
    "DISABLE_BROKER",
    "NEW_BROKER",
    "ERROR_BROKER_CONVERSATIONS",
];

impl Parser<'_> {
    /// Returns whether DATABASE AUDIT SPECIFICATION, DATABASE ENCRYPTION KEY or DATABASE SCOPED
    /// CREDENTIAL follows, and not a database whose name is one of these words.
    pub(super) fn at_part_of_database(&self) -> bool {
        let second = match self.keyword_at(1) {
            Kw::Audit => "SPECIFICATION",
            Kw::Encryption => "KEY",
            Kw::Scoped => "CREDENTIAL",
            _ => return false,
        };
        self.at(Kw::Database) && self.text_of(self.token_at(2)).eq_ignore_ascii_case(second)
    }

    pub(super) fn create_database(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Database)?;
        let name = self.ident()?;
        let mut database = CreateDatabase {
            name,
            containment: None,
            filegroups: Vec::new(),
            log: Vec::new(),
            collation: None,
            options: Vec::new(),
            special: None,
        };
        if self.eat(Kw::Containment) {
            self.expect_kind(TokenKind::Equal)?;
            database.containment = Some(self.any_word()?.to_ascii_uppercase().into());
        }
        if self.eat(Kw::On) {
            self.database_files(&mut database)?;
        } else if self.eat_all(&[Kw::Log, Kw::On]) {
            database.log = self.comma_list(Self::file_spec)?;
        }
        if self.eat(Kw::Collate) {
            database.collation = Some(self.any_word()?);
        }
        self.database_suffix(&mut database)?;
        Ok(StatementKind::CreateDatabase(Box::new(database)))
    }

    /// Parses the files behind ON and LOG ON.
    fn database_files(&mut self, database: &mut CreateDatabase) -> Result<()> {
        self.eat(Kw::Primary);
        let mut group = FileGroup { name: None, contains: None, default: false, files: Vec::new() };
        loop {
            if self.at(Kw::Filegroup) {
                database.filegroups.push(group);
                group = self.filegroup_head()?;
            }
            group.files.push(self.file_spec()?);
            if !self.eat_kind(TokenKind::Comma) {
                break;
            }
        }
        database.filegroups.push(group);
        if self.eat_all(&[Kw::Log, Kw::On]) {
            database.log = self.comma_list(Self::file_spec)?;
        }
        Ok(())
    }

    fn filegroup_head(&mut self) -> Result<FileGroup> {
        self.expect(Kw::Filegroup)?;
        let name = Some(self.ident()?);
        let contains = if self.eat(Kw::Contains) {
            Some(self.any_word()?.to_ascii_uppercase().into())
        } else {
            None
        };
        Ok(FileGroup { name, contains, default: self.eat(Kw::Default), files: Vec::new() })
    }

    fn file_spec(&mut self) -> Result<FileSpec> {
        let start = self.start();
        let options = self.parens(|parser| parser.once_list(Self::named_option))?;
        Ok(FileSpec { options, span: self.span_from(start) })
    }

    fn database_suffix(&mut self, database: &mut CreateDatabase) -> Result<()> {
        if self.eat(Kw::For) {
            database.special =
                Some(format!("FOR {}", self.any_word()?.to_ascii_uppercase()).into());
        } else if self.eat_all(&[Kw::As, Kw::Snapshot, Kw::Of]) {
            database.special = Some(format!("AS SNAPSHOT OF {}", self.ident()?).into());
        }
        if self.eat(Kw::With) {
            database.options = self.once_list(Self::database_option)?;
        }
        Ok(())
    }

    pub(super) fn alter_database(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Database)?;
        if self.eat_all(&[Kw::Scoped, Kw::Configuration]) {
            let action = self.scoped_configuration()?;
            let alter = AlterDatabase { name: None, action };
            return Ok(StatementKind::AlterDatabase(Box::new(alter)));
        }
        let name = if self.eat(Kw::Current) { None } else { Some(self.ident()?) };
        let action = self.alter_database_action()?;
        Ok(StatementKind::AlterDatabase(Box::new(AlterDatabase { name, action })))
    }

    fn alter_database_action(&mut self) -> Result<AlterDatabaseAction> {
        use AlterDatabaseAction as Action;
        match (self.keyword(), self.keyword_at(1)) {
            (Kw::Set, _) => self.database_set(),
            (Kw::Collate, _) => {
                self.advance();
                Ok(Action::Collate(self.any_word()?))
            }
            (Kw::Modify, Kw::Name) => {
                self.position += 2;
                self.expect_kind(TokenKind::Equal)?;
                Ok(Action::Rename(self.ident()?))
            }
            (Kw::Modify, Kw::File) => {
                self.position += 2;
                Ok(Action::ModifyFile(self.file_spec()?))
            }
            (Kw::Modify, Kw::Filegroup) => {
                self.position += 2;
                let name = self.filegroup()?;
                Ok(Action::ModifyFileGroup(name, vec![self.named_option()?]))
            }
            (Kw::Add, Kw::Filegroup) => {
                self.advance();
                Ok(Action::AddFileGroup(self.filegroup_head()?))
            }
            (Kw::Remove, Kw::Filegroup) => {
                self.position += 2;
                Ok(Action::RemoveFileGroup(self.ident()?))
            }
            (Kw::Remove, Kw::File) => {
                self.position += 2;
                Ok(Action::RemoveFile(self.ident()?))
            }
            (Kw::Add, _) => self.add_file(),
            _ => Err(self.unexpected()),
        }
    }

    fn add_file(&mut self) -> Result<AlterDatabaseAction> {
        self.expect(Kw::Add)?;
        let log = self.eat(Kw::Log);
        self.expect(Kw::File)?;
        let files = self.comma_list(Self::file_spec)?;
        let filegroup =
            if self.eat_all(&[Kw::To, Kw::Filegroup]) { Some(self.filegroup()?) } else { None };
        Ok(AlterDatabaseAction::AddFile { files, filegroup, log })
    }

    fn database_set(&mut self) -> Result<AlterDatabaseAction> {
        self.expect(Kw::Set)?;
        let options = self.comma_list(Self::database_option)?;
        let termination = if self.eat(Kw::With) { Some(self.termination()?) } else { None };
        Ok(AlterDatabaseAction::Set { options, termination })
    }

    /// Parses `NAME`, `NAME value` or `NAME = value`.
    fn database_option(&mut self) -> Result<NamedOption> {
        let start = self.start();
        let written: Box<str> = self.any_word()?.as_str().into();
        let name = written.to_ascii_uppercase();
        if name == "HADR" {
            return Err(self.not_supported("ALTER DATABASE .. SET HADR", start));
        }
        let value = if LONE_OPTIONS.contains(&name.as_str()) {
            OptionValue::None
        } else {
            self.eat_kind(TokenKind::Equal);
            self.option_value()?
        };
        if name == "QUERY_STORE" {
            self.query_store_suffix(&value)?;
        }
        Ok(NamedOption { name: name.into(), written, value, span: self.span_from(start) })
    }

    /// Parses ALL behind QUERY_STORE CLEAR, and (FORCED) behind QUERY_STORE = OFF.
    fn query_store_suffix(&mut self, value: &OptionValue) -> Result<()> {
        if value.word().is_some_and(|word| word.eq_ignore_ascii_case("CLEAR")) {
            self.eat(Kw::All);
        }
        if *value == OptionValue::Off && self.at_kind(TokenKind::LeftParen) {
            let start = self.start();
            let forced = self.parens(Self::any_word)?;
            if !forced.is("FORCED") {
                return Err(self.error_at(types::Msg::SyntaxNear(&forced), start));
            }
        }
        Ok(())
    }

    /// Parses ROLLBACK IMMEDIATE, `ROLLBACK AFTER n [SECONDS]`, NO_WAIT.
    fn termination(&mut self) -> Result<Box<str>> {
        if self.eat(Kw::NoWait) {
            return Ok("NO_WAIT".into());
        }
        self.expect(Kw::Rollback)?;
        if self.eat(Kw::Immediate) {
            return Ok("ROLLBACK IMMEDIATE".into());
        }
        self.expect(Kw::After)?;
        let seconds = self.small_integer()?;
        self.eat(Kw::Seconds);
        Ok(format!("ROLLBACK AFTER {seconds}").into())
    }

    fn scoped_configuration(&mut self) -> Result<AlterDatabaseAction> {
        let for_secondary = self.eat_all(&[Kw::For, Kw::Secondary]);
        let clear = self.eat(Kw::Clear);
        if !clear {
            self.expect(Kw::Set)?;
        }
        let option = self.named_option()?;
        if clear && self.at_literal() {
            let what = "CLEAR PROCEDURE_CACHE of one plan";
            return Err(self.not_supported(what, self.start()));
        }
        Ok(AlterDatabaseAction::ScopedConfiguration { option, clear, for_secondary })
    }
}
