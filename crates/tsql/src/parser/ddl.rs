//! Parses definitions of schemas, types, sequences, synonyms and views, and DROP.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{
    AlterSchema, CreateMode, CreateSchema, CreateSequence, CreateSynonym, CreateType, CreateView,
    Drop, DropEventSession, DropKind, Expr, ObjectName, SequenceOption, StatementKind,
    TriggerTarget, TypeKind,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn create_schema(&mut self, start: u32) -> Result<StatementKind> {
        self.must_be_first(start, "CREATE SCHEMA")?;
        self.expect(Kw::Schema)?;
        let name = self.optional_ident()?;
        let owner = if self.eat(Kw::Authorization) { Some(self.ident()?) } else { None };
        if name.is_none() && owner.is_none() {
            return Err(self.unexpected());
        }
        let mut elements = Vec::new();
        while matches!(self.keyword(), Kw::Create | Kw::Grant | Kw::Deny | Kw::Revoke) {
            elements.push(self.statement()?);
        }
        let schema = CreateSchema { name, owner, elements };
        Ok(StatementKind::CreateSchema(Box::new(schema)))
    }

    pub(super) fn alter_schema(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Schema)?;
        let schema = self.ident()?;
        self.expect(Kw::Transfer)?;
        let class = self.securable_class()?;
        let object = self.local_name()?;
        Ok(StatementKind::AlterSchema(Box::new(AlterSchema { schema, class, object })))
    }

    pub(super) fn create_type(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Type)?;
        let name = self.local_name()?;
        let kind = match self.keyword() {
            Kw::From => {
                self.advance();
                let base = self.type_name()?;
                TypeKind::Alias { base, nullable: self.nullability() }
            }
            Kw::As => {
                self.advance();
                self.expect(Kw::Table)?;
                let elements = self.table_elements()?;
                TypeKind::Table { elements, options: self.table_options()? }
            }
            _ => {
                self.expect_all(&[Kw::External, Kw::Name])?;
                TypeKind::External(self.local_name()?)
            }
        };
        Ok(StatementKind::CreateType(Box::new(CreateType { name, kind })))
    }

    pub(super) fn create_sequence(&mut self, mode: CreateMode) -> Result<StatementKind> {
        self.expect(Kw::Sequence)?;
        let name = self.local_name()?;
        let mut options = Vec::new();
        let mut start = self.start();
        while let Some(option) = self.sequence_option()? {
            let name = option_name(&option);
            if options.iter().any(|other| option_name(other) == name) {
                return Err(self.error_at(Msg::SequenceArgumentTwice(name), start));
            }
            options.push(option);
            start = self.start();
        }
        Ok(StatementKind::CreateSequence(Box::new(CreateSequence { mode, name, options })))
    }

    /// Parses MINVALUE's or MAXVALUE's number.
    fn sequence_bound(&mut self) -> Result<Expr> {
        if self.kind() == TokenKind::Word {
            return Err(self.unexpected());
        }
        self.expr()
    }

    fn sequence_option(&mut self) -> Result<Option<SequenceOption>> {
        let option = match (self.keyword(), self.keyword_at(1)) {
            (Kw::As, _) => {
                self.advance();
                SequenceOption::Type(self.type_name()?)
            }
            (Kw::Start, Kw::With) => {
                self.position += 2;
                SequenceOption::Start(self.expr()?)
            }
            (Kw::Restart, _) => {
                self.advance();
                let value = if self.eat(Kw::With) { Some(self.expr()?) } else { None };
                SequenceOption::Restart(value)
            }
            (Kw::Increment, Kw::By) => {
                self.position += 2;
                SequenceOption::Increment(self.expr()?)
            }
            (Kw::Minvalue, _) => {
                self.advance();
                SequenceOption::Min(Some(self.sequence_bound()?))
            }
            (Kw::Maxvalue, _) => {
                self.advance();
                SequenceOption::Max(Some(self.sequence_bound()?))
            }
            (Kw::Cache, _) => {
                self.advance();
                SequenceOption::Cache(self.optional_number()?)
            }
            (Kw::Cycle, _) => {
                self.advance();
                SequenceOption::Cycle(true)
            }
            (Kw::No, word) => {
                self.advance();
                let option = match word {
                    Kw::Minvalue => SequenceOption::Min(None),
                    Kw::Maxvalue => SequenceOption::Max(None),
                    Kw::Cycle => SequenceOption::Cycle(false),
                    Kw::Cache => SequenceOption::NoCache,
                    _ => return Err(self.unexpected()),
                };
                self.advance();
                option
            }
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    fn optional_number(&mut self) -> Result<Option<Expr>> {
        if self.at_kind(TokenKind::Integer) { self.primary().map(Some) } else { Ok(None) }
    }

    pub(super) fn create_synonym(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Synonym)?;
        let name = self.local_name()?;
        self.expect(Kw::For)?;
        let target = self.object_name()?;
        Ok(StatementKind::CreateSynonym(Box::new(CreateSynonym { name, target })))
    }

    pub(super) fn create_view(&mut self, mode: CreateMode, start: u32) -> Result<StatementKind> {
        if self.nesting > 1 && self.in_create_schema() {
            // A view inside CREATE SCHEMA is part of that statement and need not start a batch.
        } else {
            self.must_be_first(start, "CREATE VIEW")?;
        }
        self.expect(Kw::View)?;
        let name = self.local_name()?;
        let columns = self.optional_paren_list(Self::ident)?;
        let options = if self.eat(Kw::With) {
            self.comma_list(|parser| Ok(parser.any_word()?.to_ascii_uppercase().into()))?
        } else {
            Vec::new()
        };
        self.expect(Kw::As)?;
        let with = if self.at(Kw::With) { Some(self.with()?) } else { None };
        let query = self.query_expression()?;
        let check_option = self.eat_all(&[Kw::With, Kw::Check, Kw::Option]);
        let definition = self.span_from(start);
        if self.nesting == 1 {
            self.must_be_last()?;
        }
        let view =
            CreateView { mode, name, columns, options, with, query, check_option, definition };
        Ok(StatementKind::CreateView(Box::new(view)))
    }

    /// Returns whether the batch starts with CREATE SCHEMA.
    fn in_create_schema(&self) -> bool {
        let mut tokens = self.tokens.iter().filter(|token| token.kind != TokenKind::Semicolon);
        tokens.next().is_some_and(|token| token.keyword == Kw::Create)
            && tokens.next().is_some_and(|token| token.keyword == Kw::Schema)
    }

    /// Parses a statement that starts with DROP.
    #[inline(never)]
    pub(super) fn drop(&mut self) -> Result<StatementKind> {
        let start = self.start();
        self.expect(Kw::Drop)?;
        match (self.keyword(), self.keyword_at(1)) {
            (Kw::Index, _) => {
                self.advance();
                return self.drop_index();
            }
            (Kw::Event, Kw::Session) => {
                self.position += 2;
                let if_exists = self.eat_all(&[Kw::If, Kw::Exists]);
                let name = self.ident()?;
                let scope = self.event_scope()?;
                let drop = DropEventSession { if_exists, name, scope };
                return Ok(StatementKind::DropEventSession(Box::new(drop)));
            }
            (Kw::Database, _) if self.at_part_of_database() => {
                return self.unsupported_here(start);
            }
            (Kw::Server, Kw::Role) => {
                self.advance();
            }
            (Kw::Partition, _) => {
                let Some(kind) = self.partition_kind() else { return self.unsupported_here(start) };
                self.position += 2;
                let names = vec![ObjectName::simple(self.ident()?)];
                let drop = Drop { kind, if_exists: false, names, trigger_target: None };
                return Ok(StatementKind::Drop(Box::new(drop)));
            }
            (Kw::External, _) => {
                let Some(kind) = self.external_kind() else { return self.unsupported_here(start) };
                self.position += if kind == DropKind::ExternalTable { 2 } else { 3 };
                return self.drop_names(kind);
            }
            _ => {}
        }
        let server = self.tokens[self.position - 1].keyword == Kw::Server;
        let Some(kind) = drop_kind(self.keyword(), server) else {
            return self.unsupported_object(start);
        };
        self.advance();
        self.drop_names(kind)
    }

    fn drop_names(&mut self, kind: DropKind) -> Result<StatementKind> {
        let if_exists = self.eat_all(&[Kw::If, Kw::Exists]);
        let names = self.comma_list(Self::local_name)?;
        let trigger_target = if kind == DropKind::Trigger && self.eat(Kw::On) {
            Some(self.ddl_trigger_target()?)
        } else {
            None
        };
        Ok(StatementKind::Drop(Box::new(Drop { kind, if_exists, names, trigger_target })))
    }

    /// Parses DATABASE or ALL SERVER.
    pub(super) fn ddl_trigger_target(&mut self) -> Result<TriggerTarget> {
        if self.eat(Kw::Database) {
            return Ok(TriggerTarget::Database);
        }
        self.expect_all(&[Kw::All, Kw::Server])?;
        Ok(TriggerTarget::AllServer)
    }
}

fn drop_kind(word: Kw, server: bool) -> Option<DropKind> {
    Some(match word {
        Kw::Database => DropKind::Database,
        Kw::Default => DropKind::Default,
        Kw::Function => DropKind::Function,
        Kw::Login => DropKind::Login,
        Kw::Proc | Kw::Procedure => DropKind::Procedure,
        Kw::Role if server => DropKind::ServerRole,
        Kw::Role => DropKind::Role,
        Kw::Rule => DropKind::Rule,
        Kw::Schema => DropKind::Schema,
        Kw::Sequence => DropKind::Sequence,
        Kw::Statistics => DropKind::Statistics,
        Kw::Synonym => DropKind::Synonym,
        Kw::Table => DropKind::Table,
        Kw::Trigger => DropKind::Trigger,
        Kw::Type => DropKind::Type,
        Kw::User => DropKind::User,
        Kw::View => DropKind::View,
        _ => return None,
    })
}

/// Returns what messages call an option of a sequence.
fn option_name(option: &SequenceOption) -> &'static str {
    match option {
        SequenceOption::Type(_) => "AS",
        SequenceOption::Start(_) => "START WITH",
        SequenceOption::Restart(_) => "RESTART WITH",
        SequenceOption::Increment(_) => "INCREMENT BY",
        SequenceOption::Min(_) => "MINVALUE",
        SequenceOption::Max(_) => "MAXVALUE",
        SequenceOption::Cycle(_) => "CYCLE",
        SequenceOption::Cache(_) | SequenceOption::NoCache => "CACHE",
    }
}
