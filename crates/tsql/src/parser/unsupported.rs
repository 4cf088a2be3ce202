//! Statements that the parser recognises by their first words but does not model.
//!
//! They become a node with their name, so that the engine can refuse them by name. Such a statement
//! ends at a semicolon, at END, or in front of a word that can only start a statement.

use types::Result;

use super::Parser;
use crate::ast::{StatementKind, Unsupported};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

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

impl Parser<'_> {
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
        if known { self.unsupported_here(self.start()).map(Some) } else { Ok(None) }
    }

    /// Makes the statement that starts at `start` an unsupported one and skips the rest of it.
    pub(super) fn unsupported_here(&mut self, start: u32) -> Result<StatementKind> {
        let first = self.tokens.partition_point(|token| token.start < start);
        let name = self.statement_name(first);
        self.position = self.position.max(first + 1);
        let mut depth = 0usize;
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
                TokenKind::Word if depth == 0 && starts_statement(self.keyword()) => break,
                _ => {}
            }
            self.advance();
        }
        Ok(StatementKind::Unsupported(Box::new(Unsupported { name })))
    }

    /// Returns the words that a statement starts with: `BACKUP DATABASE`, `CREATE PARTITION
    /// SCHEME`.
    fn statement_name(&self, first: usize) -> Box<str> {
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
