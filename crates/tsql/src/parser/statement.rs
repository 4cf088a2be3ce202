//! Parses batches and statements: finds where a statement ends and which kind the next one is.
//!
//! Semicolons are optional. A statement ends where its grammar cannot go on; then the next word
//! decides what follows. That is why every keyword that starts a statement is reserved.

use types::{Msg, Result};

use super::Parser;
use crate::QuotedIdentifier;
use crate::ast::{
    CreateMode, SetOption, Statement, StatementKind, SwitchOption, Transaction, TransactionAction,
    TransactionName,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses the whole text into statements.
    pub(super) fn batch(&mut self) -> Result<Vec<Statement>> {
        let statements = self.statements_to_end()?;
        debug_assert!(self.at_kind(TokenKind::End));
        Ok(statements)
    }

    /// Parses all remaining statements.
    pub(super) fn statements_to_end(&mut self) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            while self.eat_kind(TokenKind::Semicolon) {}
            if self.at_kind(TokenKind::End) {
                return Ok(statements);
            }
            let statement = self.statement()?;
            self.follow_quoted_identifier(&statement);
            statements.push(statement);
        }
    }

    /// Parses statements up to an END, which is not taken.
    pub(super) fn statements_to_keyword_end(&mut self) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            while self.eat_kind(TokenKind::Semicolon) {}
            if self.at(Kw::End) {
                return Ok(statements);
            }
            statements.push(self.statement()?);
        }
    }

    /// Applies a `SET QUOTED_IDENTIFIER`, which acts at parse time, to the text behind it.
    #[inline(never)]
    fn follow_quoted_identifier(&mut self, statement: &Statement) {
        let StatementKind::SetOption(option) = &statement.kind else { return };
        let SetOption::Switch { options, on } = &**option else { return };
        if options.contains(&SwitchOption::QuotedIdentifier)
            || options.contains(&SwitchOption::AnsiDefaults)
        {
            self.quotes = if *on { QuotedIdentifier::On } else { QuotedIdentifier::Off };
        }
    }

    /// Parses one statement with its semicolons.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        self.nested(|parser| {
            let start = parser.start();
            let line = parser.line_of(start);
            let kind = parser.statement_kind()?;
            let mut span = parser.span_from(start);
            // MERGE must end with a semicolon, which is part of its span.
            if parser.eat_kind(TokenKind::Semicolon) && matches!(kind, StatementKind::Merge(_)) {
                span = parser.span_from(start);
            }
            Ok(Statement { kind, span, line })
        })
    }

    fn statement_kind(&mut self) -> Result<StatementKind> {
        match self.kind() {
            TokenKind::Word if self.keyword().is_reserved() => self.reserved_statement(),
            TokenKind::LeftParen if self.at_paren_query() => {
                Ok(StatementKind::Select(Box::new(self.select_statement(None)?)))
            }
            TokenKind::LeftBrace => self.odbc_call(),
            _ => self.named_statement(),
        }
    }

    /// Parses a statement that starts with a reserved word.
    fn reserved_statement(&mut self) -> Result<StatementKind> {
        match self.keyword() {
            Kw::Select => Ok(StatementKind::Select(Box::new(self.select_statement(None)?))),
            Kw::Insert => self.insert(None),
            Kw::Update if self.keyword_at(1) == Kw::Statistics => self.update_statistics(),
            Kw::Update => Ok(StatementKind::Update(Box::new(self.update(None)?))),
            Kw::Delete => Ok(StatementKind::Delete(Box::new(self.delete(None)?))),
            Kw::Merge => Ok(StatementKind::Merge(Box::new(self.merge(None)?))),
            Kw::With => self.with_statement(),
            Kw::Truncate => Ok(StatementKind::Truncate(Box::new(self.truncate()?))),
            Kw::Bulk => Ok(StatementKind::BulkInsert(Box::new(self.bulk_insert()?))),
            Kw::Readtext => Ok(StatementKind::ReadText(Box::new(self.read_text()?))),
            Kw::Declare => self.declare(),
            Kw::Set => self.set(),
            Kw::Exec | Kw::Execute => self.execute(),
            Kw::Create | Kw::Alter => self.definition(),
            Kw::Drop => self.drop(),
            Kw::Grant | Kw::Deny | Kw::Revoke => self.permission(),
            Kw::Begin if self.at_transaction_begin() => self.transaction(),
            Kw::Commit | Kw::Rollback | Kw::Save => self.transaction(),
            Kw::Open | Kw::Fetch | Kw::Close | Kw::Deallocate => self.cursor_statement(),
            Kw::Use => {
                self.advance();
                Ok(StatementKind::Use(self.ident()?))
            }
            Kw::Dbcc | Kw::Kill | Kw::Checkpoint | Kw::Reconfigure | Kw::Shutdown => {
                self.administration()
            }
            Kw::Revert => self.revert(),
            _ => self.control_statement(),
        }
    }

    fn at_transaction_begin(&self) -> bool {
        matches!(self.keyword_at(1), Kw::Tran | Kw::Transaction | Kw::Distributed)
    }

    /// Parses a statement that starts with a word that is not reserved: a label, THROW, ENABLE,
    /// DISABLE, or, first in the batch, the name of a procedure.
    #[inline(never)]
    fn named_statement(&mut self) -> Result<StatementKind> {
        if self.at_ident() && self.kind_at(1) == TokenKind::Colon {
            let label = self.ident()?;
            self.advance();
            return Ok(StatementKind::Label(label));
        }
        match (self.keyword(), self.keyword_at(1)) {
            (Kw::Throw, _) => return self.throw(),
            (Kw::Enable | Kw::Disable, Kw::Trigger) => return self.enable_trigger(),
            _ => {}
        }
        if let Some(unsupported) = self.unsupported()? {
            return Ok(unsupported);
        }
        let first = self.position == 0
            || self.tokens[..self.position].iter().all(|token| token.kind == TokenKind::Semicolon);
        let name = self.at_ident() || self.at_kind(TokenKind::Dot);
        if first && name { self.bare_call() } else { Err(self.unexpected()) }
    }

    /// Parses the statement behind a WITH clause.
    #[inline(never)]
    fn with_statement(&mut self) -> Result<StatementKind> {
        let with = Some(self.with()?);
        match self.keyword() {
            Kw::Insert => self.insert(with),
            Kw::Update => Ok(StatementKind::Update(Box::new(self.update(with)?))),
            Kw::Delete => Ok(StatementKind::Delete(Box::new(self.delete(with)?))),
            Kw::Merge => Ok(StatementKind::Merge(Box::new(self.merge(with)?))),
            _ => Ok(StatementKind::Select(Box::new(self.select_statement(with)?))),
        }
    }

    /// Parses CREATE and ALTER.
    #[inline(never)]
    fn definition(&mut self) -> Result<StatementKind> {
        let start = self.start();
        let mode = self.create_mode();
        match self.keyword() {
            Kw::Proc | Kw::Procedure => self.create_procedure(mode, start),
            Kw::Function => self.create_function(mode, start),
            Kw::Trigger => self.create_trigger(mode, start),
            Kw::View => self.create_view(mode, start),
            _ if mode == CreateMode::CreateOrAlter => Err(self.unexpected()),
            _ if mode == CreateMode::Create => self.create(start),
            _ => self.alter(start),
        }
    }

    fn create_mode(&mut self) -> CreateMode {
        if self.eat(Kw::Alter) {
            return CreateMode::Alter;
        }
        self.advance();
        if self.eat_all(&[Kw::Or, Kw::Alter]) {
            CreateMode::CreateOrAlter
        } else {
            CreateMode::Create
        }
    }

    fn create(&mut self, start: u32) -> Result<StatementKind> {
        match (self.keyword(), self.keyword_at(1)) {
            (Kw::Table, _) => self.create_table(),
            (Kw::Database, _) if self.at_part_of_database() => self.unsupported_here(start),
            (Kw::Database, _) => self.create_database(),
            (Kw::Schema, _) => self.create_schema(start),
            (Kw::Type, _) => self.create_type(),
            (Kw::Sequence, _) => self.create_sequence(CreateMode::Create),
            (Kw::Synonym, _) => self.create_synonym(),
            (Kw::Statistics, _) => self.create_statistics(),
            (Kw::Role | Kw::User | Kw::Login, _) => self.create_principal(),
            (Kw::Server | Kw::Application, Kw::Role) => self.create_principal(),
            (Kw::Event, Kw::Session) => self.create_event_session(),
            (Kw::External, _) => self.create_external(start),
            (Kw::Partition, _) => match self.partition_kind() {
                Some(kind) => self.create_partition(kind),
                None => self.unsupported_here(start),
            },
            (Kw::Unique | Kw::Clustered | Kw::Nonclustered | Kw::Columnstore | Kw::Index, _) => {
                self.create_index()
            }
            _ => self.unsupported_object(start),
        }
    }

    fn alter(&mut self, start: u32) -> Result<StatementKind> {
        match (self.keyword(), self.keyword_at(1)) {
            (Kw::Table, _) => self.alter_table(),
            (Kw::Database, Kw::Audit | Kw::Encryption) => self.unsupported_here(start),
            (Kw::Database, Kw::Scoped) if self.keyword_at(2) == Kw::Credential => {
                self.unsupported_here(start)
            }
            (Kw::Database, _) => self.alter_database(),
            (Kw::Schema, _) => self.alter_schema(),
            (Kw::Index, _) => self.alter_index(),
            (Kw::Sequence, _) => self.create_sequence(CreateMode::Alter),
            (Kw::Role | Kw::User | Kw::Login, _) => self.alter_principal(),
            (Kw::Server, Kw::Role) => self.alter_principal(),
            (Kw::Authorization, _) => self.alter_authorization(),
            (Kw::Partition, _) => match self.partition_kind() {
                Some(kind) => self.alter_partition(kind),
                None => self.unsupported_here(start),
            },
            (Kw::Event, Kw::Session) => self.alter_event_session(),
            _ => self.unsupported_object(start),
        }
    }

    /// Refuses a definition that must be the first statement of its batch and is not.
    pub(super) fn must_be_first(&self, start: u32, what: &str) -> Result<()> {
        let before = self.tokens.iter().take_while(|token| token.start < start);
        if self.nesting == 1 && before.clone().all(|token| token.kind == TokenKind::Semicolon) {
            return Ok(());
        }
        Err(self.error_at(Msg::MustBeFirstInBatch(what), start))
    }

    /// Refuses any statement behind a definition that must be alone in its batch.
    pub(super) fn must_be_last(&mut self) -> Result<()> {
        while self.eat_kind(TokenKind::Semicolon) {}
        if self.at_kind(TokenKind::End) { Ok(()) } else { Err(self.unexpected()) }
    }

    #[inline(never)]
    fn transaction(&mut self) -> Result<StatementKind> {
        let verb = self.advance().keyword;
        let distributed = verb == Kw::Begin && self.eat(Kw::Distributed);
        let word = self.eat(Kw::Tran) || self.eat(Kw::Transaction);
        if !word && verb != Kw::Commit && verb != Kw::Rollback {
            return Err(self.unexpected());
        }
        let work = !word && self.eat(Kw::Work);
        let name = if word && !work { self.transaction_name()? } else { None };
        let action = match verb {
            Kw::Begin => TransactionAction::Begin { distributed, mark: self.transaction_mark()? },
            Kw::Commit => {
                TransactionAction::Commit { delayed_durability: self.delayed_durability()? }
            }
            Kw::Rollback => TransactionAction::Rollback,
            _ if name.is_none() => return Err(self.unexpected()),
            _ => TransactionAction::Save,
        };
        Ok(StatementKind::Transaction(Transaction { action, name }))
    }

    fn transaction_name(&mut self) -> Result<Option<TransactionName>> {
        if self.at_variable() {
            return Ok(Some(TransactionName::Variable(self.variable()?)));
        }
        if self.at_plain_alias() {
            Ok(Some(TransactionName::Name(self.ident()?)))
        } else {
            Ok(None)
        }
    }

    /// Parses `WITH MARK ['description']`.
    fn transaction_mark(&mut self) -> Result<Option<Option<Box<str>>>> {
        if !self.eat_all(&[Kw::With, Kw::Mark]) {
            return Ok(None);
        }
        let description = if self.is_string(self.token()) { Some(self.string()?) } else { None };
        Ok(Some(description))
    }

    /// Parses `WITH (DELAYED_DURABILITY = ON)`.
    fn delayed_durability(&mut self) -> Result<Option<bool>> {
        if !self.at_all(&[Kw::With]) || self.keyword_at(2) != Kw::DelayedDurability {
            return Ok(None);
        }
        self.advance();
        self.parens(|parser| {
            parser.expect(Kw::DelayedDurability)?;
            parser.expect_kind(TokenKind::Equal)?;
            parser.on_off().map(Some)
        })
    }

    /// Parses ON or OFF.
    pub(super) fn on_off(&mut self) -> Result<bool> {
        if self.eat(Kw::On) {
            return Ok(true);
        }
        self.expect(Kw::Off)?;
        Ok(false)
    }
}
