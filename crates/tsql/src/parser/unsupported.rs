//! Statements that the parser recognises by their first words but does not model.
//!
//! They become a node with their name, so that the engine can refuse them by name. Such a statement
//! ends at a semicolon, at END, or in front of a word that can only start a statement.

use types::{Error, Msg, Result};

use super::Parser;
use crate::ast::{StatementKind, Unsupported};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// Names of what a statement is about that have three words or more. The word that starts the
/// statement is not part of them.
const LONG_NAMES: &[&str] = &[
    "ALL SYMMETRIC KEYS",
    "COLUMN ENCRYPTION KEY",
    "COLUMN MASTER KEY",
    "CONVERSATION GROUP",
    "CONVERSATION TIMER",
    "COUNTER SIGNATURE",
    "DATABASE AUDIT SPECIFICATION",
    "DATABASE ENCRYPTION KEY",
    "DATABASE SCOPED CREDENTIAL",
    "DIALOG CONVERSATION",
    "EXTERNAL DATA SOURCE",
    "EXTERNAL RESOURCE POOL",
    "ON CONVERSATION",
    "PRIMARY XML INDEX",
    "QUERY NOTIFICATION SUBSCRIPTION",
    "REMOTE SERVICE BINDING",
    "SEARCH PROPERTY LIST",
    "SELECTIVE XML INDEX",
    "SENSITIVITY CLASSIFICATION",
    "SERVER AUDIT SPECIFICATION",
    "SERVICE MASTER KEY",
    "STATS JOB",
    "XML SCHEMA COLLECTION",
];

/// First words that name a statement only together with the next one.
const QUALIFIERS: &[&str] = &[
    "ALL",
    "APPLICATION",
    "ASYMMETRIC",
    "AVAILABILITY",
    "BROKER",
    "COLUMN",
    "CRYPTOGRAPHIC",
    "DATABASE",
    "EVENT",
    "EXTERNAL",
    "FULLTEXT",
    "MASTER",
    "MESSAGE",
    "PARTITION",
    "PRIMARY",
    "REMOTE",
    "RESOURCE",
    "SEARCH",
    "SECURITY",
    "SELECTIVE",
    "SERVER",
    "SPATIAL",
    "SYMMETRIC",
    "WORKLOAD",
    "XML",
];

/// First words of what CREATE, ALTER and DROP are about in SQL Server.
const OBJECT_TYPES: &[&str] = &[
    "AGGREGATE",
    "APPLICATION",
    "ASSEMBLY",
    "ASYMMETRIC",
    "AUTHORIZATION",
    "AVAILABILITY",
    "BROKER",
    "CERTIFICATE",
    "CLUSTERED",
    "COLUMN",
    "COLUMNSTORE",
    "CONTRACT",
    "COUNTER",
    "CREDENTIAL",
    "CRYPTOGRAPHIC",
    "DATABASE",
    "DEFAULT",
    "ENDPOINT",
    "EVENT",
    "EXTERNAL",
    "FULLTEXT",
    "FUNCTION",
    "INDEX",
    "JSON",
    "LOGIN",
    "MASTER",
    "MATERIALIZED",
    "MESSAGE",
    "NONCLUSTERED",
    "PARTITION",
    "PRIMARY",
    "PROC",
    "PROCEDURE",
    "QUEUE",
    "REMOTE",
    "RESOURCE",
    "ROLE",
    "ROUTE",
    "RULE",
    "SCHEMA",
    "SEARCH",
    "SECURITY",
    "SELECTIVE",
    "SENSITIVITY",
    "SEQUENCE",
    "SERVER",
    "SERVICE",
    "SIGNATURE",
    "SPATIAL",
    "STATISTICS",
    "SYMMETRIC",
    "SYNONYM",
    "TABLE",
    "TRIGGER",
    "TYPE",
    "UNIQUE",
    "USER",
    "VECTOR",
    "VIEW",
    "WORKLOAD",
    "XML",
];

/// What may follow BACKUP or RESTORE.
const BACKUP_CLASSES: [&str; 15] = [
    "CERTIFICATE",
    "DATABASE",
    "FILELISTONLY",
    "GROUP",
    "HEADERONLY",
    "LABELONLY",
    "LOG",
    "MASTER",
    "REWINDONLY",
    "SERVER",
    "SERVICE",
    "SYMMETRIC",
    "TRAN",
    "TRANSACTION",
    "VERIFYONLY",
];

impl Parser<'_> {
    /// Makes CREATE, ALTER or DROP of an object type that is not modelled an unsupported statement;
    /// the parser is at the type.
    ///
    /// # Errors
    /// 343 for a type that SQL Server does not have either, which is most often a typo.
    pub(super) fn unsupported_object(&mut self, start: u32) -> Result<StatementKind> {
        let token = self.tokens[self.position];
        if token.kind != TokenKind::Word || token.keyword.is_reserved() && !self.at_object_type() {
            return Err(self.unexpected());
        }
        if !self.at_object_type() {
            let word = self.text_of(token).to_owned();
            return Err(self.error_at(Msg::UnknownObjectType(&word), start));
        }
        self.unsupported_here(start)
    }

    fn at_object_type(&self) -> bool {
        self.is_object_type(self.position)
    }

    fn is_object_type(&self, position: usize) -> bool {
        let token = self.tokens.get(position);
        token.is_some_and(|&token| OBJECT_TYPES.iter().any(|word| self.is_word(token, word)))
    }

    /// Whether the parser is at a DROP that is part of an ALTER: `ALTER COLUMN ENCRYPTION KEY k DROP
    /// VALUE (..)`.
    fn at_own_drop(&self) -> bool {
        self.at(Kw::Drop) && !self.is_object_type(self.position + 1)
    }

    /// Parses a statement that starts with a word of this file, if one follows.
    #[inline(never)]
    pub(super) fn unsupported(&mut self) -> Result<Option<StatementKind>> {
        if let Some(statement) = self.backup_or_restore()? {
            return Ok(Some(statement));
        }
        let known = matches!(
            (self.keyword(), self.keyword_at(1)),
            (Kw::Backup | Kw::Restore | Kw::Dump | Kw::Load | Kw::Setuser, _)
                | (Kw::Writetext | Kw::Updatetext | Kw::Lineno | Kw::Receive, _)
                | (Kw::Add, Kw::Signature | Kw::Counter | Kw::Sensitivity)
                | (Kw::Send, Kw::On)
                | (Kw::Move | Kw::Get | Kw::End, Kw::Conversation)
        );
        if !known {
            return Ok(None);
        }
        if matches!(self.keyword(), Kw::Backup | Kw::Restore)
            && !BACKUP_CLASSES.iter().any(|class| self.is_word(self.token_at(1), class))
        {
            return Err(self.unexpected_at(self.position + 1));
        }
        match self.backup_form() {
            Some(name) => {
                self.advance();
                self.unsupported_as(name).map(Some)
            }
            None => self.unsupported_here(self.start()).map(Some),
        }
    }

    /// Returns the error 40517 of a construct that has no place in the tree.
    #[cold]
    pub(super) fn not_supported(&self, what: &str, start: u32) -> Error {
        self.error_at(Msg::NotSupported(what), start)
    }

    /// Makes the statement that starts at `start` an unsupported one and skips the rest of it.
    pub(super) fn unsupported_here(&mut self, start: u32) -> Result<StatementKind> {
        let first = self.tokens.partition_point(|token| token.start < start);
        let name = self.statement_name(first);
        self.position = self.position.max(first + 1);
        self.unsupported_as(name)
    }

    /// Makes an unsupported statement of this name and skips what is left of it. Its first word has
    /// been taken.
    pub(super) fn unsupported_as(&mut self, name: Box<str>) -> Result<StatementKind> {
        let mut depth = 0usize;
        // `ALTER AVAILABILITY GROUP ag GRANT CREATE ANY DATABASE` is one statement.
        let grants = name.starts_with("ALTER AVAILABILITY GROUP");
        let alters = name.starts_with("ALTER ");
        let is_own = |word: Kw| grants && matches!(word, Kw::Grant | Kw::Deny | Kw::Create);
        loop {
            match self.kind() {
                TokenKind::End => break,
                TokenKind::UnclosedComment | TokenKind::UnclosedQuote | TokenKind::Unknown => {
                    return Err(self.unexpected());
                }
                TokenKind::Semicolon if depth == 0 => break,
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen if depth == 0 => return Err(self.unexpected()),
                TokenKind::RightParen => depth -= 1,
                TokenKind::Word
                    if depth == 0
                        && starts_statement(self.keyword())
                        && !is_own(self.keyword())
                        && !(alters && self.at_own_drop()) =>
                {
                    break;
                }
                _ => {}
            }
            self.advance();
        }
        Ok(StatementKind::Unsupported(Box::new(Unsupported { name })))
    }

    /// Returns the words that a statement starts with: `BACKUP DATABASE`, `CREATE PARTITION
    /// SCHEME`.
    fn statement_name(&self, first: usize) -> Box<str> {
        let verb = self.text_of(self.tokens[first]).to_ascii_uppercase();
        for long in LONG_NAMES {
            let mut words = long.split(' ').zip(&self.tokens[first + 1..]);
            if words.all(|(word, &token)| self.is_word(token, word)) {
                return format!("{verb} {long}").into();
            }
        }
        let mut name = self.text_of(self.tokens[first]).to_ascii_uppercase();
        for &token in self.tokens[first + 1..].iter().take(2) {
            let word = self.text_of(token).to_ascii_uppercase();
            let last = !QUALIFIERS.contains(&word.as_str());
            if token.kind != TokenKind::Word {
                break;
            }
            name.push(' ');
            name.push_str(&word);
            if last {
                break;
            }
        }
        name.into()
    }
}

/// Returns whether a word starts a statement wherever it appears.
fn starts_statement(word: Kw) -> bool {
    matches!(
        word,
        Kw::Select
            | Kw::Insert
            | Kw::Delete
            | Kw::Declare
            | Kw::If
            | Kw::Else
            | Kw::While
            | Kw::Begin
            | Kw::End
            | Kw::Exec
            | Kw::Execute
            | Kw::Print
            | Kw::Return
            | Kw::Create
            | Kw::Alter
            | Kw::Drop
            | Kw::Backup
            | Kw::Restore
            | Kw::Goto
            | Kw::Commit
            | Kw::Rollback
            | Kw::Dbcc
            | Kw::Raiserror
            | Kw::Truncate
            | Kw::Grant
            | Kw::Deny
            | Kw::Revoke
    )
}
