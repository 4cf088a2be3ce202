//! Parses BACKUP and RESTORE of a database or its log to and from files. Other forms of the two
//! statements are not modelled.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{Backup, BackupName, BackupOption, Expr, Restore, RestoreKind, StatementKind};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// The options of BACKUP DATABASE and BACKUP LOG that are documented.
const BACKUP_OPTIONS: &[&str] = &[
    "BLOCKSIZE",
    "BUFFERCOUNT",
    "CHECKSUM",
    "COMPRESSION",
    "CONTINUE_AFTER_ERROR",
    "COPY_ONLY",
    "CREDENTIAL",
    "DESCRIPTION",
    "DIFFERENTIAL",
    "ENCRYPTION",
    "EXPIREDATE",
    "FILE_SNAPSHOT",
    "FORMAT",
    "INIT",
    "MAXTRANSFERSIZE",
    "MEDIADESCRIPTION",
    "MEDIANAME",
    "MEDIAPASSWORD",
    "METADATA_ONLY",
    "NAME",
    "NOFORMAT",
    "NOINIT",
    "NORECOVERY",
    "NOREWIND",
    "NOSKIP",
    "NOUNLOAD",
    "NO_CHECKSUM",
    "NO_COMPRESSION",
    "NO_TRUNCATE",
    "PASSWORD",
    "RESTART",
    "RETAINDAYS",
    "REWIND",
    "SKIP",
    "SNAPSHOT",
    "STANDBY",
    "STATS",
    "STOP_ON_ERROR",
    "UNLOAD",
];

/// The options of the forms of RESTORE that are documented.
const RESTORE_OPTIONS: &[&str] = &[
    "BLOCKSIZE",
    "BUFFERCOUNT",
    "CHECKSUM",
    "CONTINUE_AFTER_ERROR",
    "CREDENTIAL",
    "DBNAME",
    "ENABLE_BROKER",
    "ERROR_BROKER_CONVERSATIONS",
    "FILE",
    "FILESTREAM",
    "KEEP_CDC",
    "KEEP_REPLICATION",
    "KEEP_TEMPORAL_RETENTION",
    "LOADHISTORY",
    "MAXTRANSFERSIZE",
    "MEDIANAME",
    "MEDIAPASSWORD",
    "METADATA_ONLY",
    "MOVE",
    "NEW_BROKER",
    "NORECOVERY",
    "NOREWIND",
    "NOUNLOAD",
    "NO_CHECKSUM",
    "PARTIAL",
    "PASSWORD",
    "RECOVERY",
    "REPLACE",
    "RESTART",
    "RESTRICTED_USER",
    "REWIND",
    "SNAPSHOT",
    "STANDBY",
    "STATS",
    "STOPAT",
    "STOPATMARK",
    "STOPBEFOREMARK",
    "STOP_ON_ERROR",
    "UNLOAD",
];

impl Parser<'_> {
    /// Parses BACKUP or RESTORE, if one of the forms with files follows.
    #[inline(never)]
    pub(super) fn backup_or_restore(&mut self) -> Result<Option<StatementKind>> {
        let is_of_database = matches!(self.keyword_at(1), Kw::Database | Kw::Log);
        match self.keyword() {
            Kw::Backup if is_of_database && self.is_disk_behind(Kw::To, 3) => {
                self.backup().map(Some)
            }
            Kw::Restore if is_of_database && self.is_disk_behind(Kw::From, 3) => {
                let log = self.keyword_at(1) == Kw::Log;
                let kind = if log { RestoreKind::Log } else { RestoreKind::Database };
                self.restore(kind).map(Some)
            }
            Kw::Restore if self.keyword_at(1) == Kw::Database && self.is_end_of_restore(3) => {
                self.restore(RestoreKind::Database).map(Some)
            }
            Kw::Restore if self.is_disk_behind(Kw::From, 2) => {
                let word = self.text_of(self.token_at(1)).to_ascii_uppercase();
                let kind = match word.as_str() {
                    "HEADERONLY" => RestoreKind::HeaderOnly,
                    "FILELISTONLY" => RestoreKind::FileListOnly,
                    "LABELONLY" => RestoreKind::LabelOnly,
                    "VERIFYONLY" => RestoreKind::VerifyOnly,
                    _ => return Ok(None),
                };
                self.restore(kind).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether `word DISK` is that number of tokens ahead.
    fn is_disk_behind(&self, word: Kw, ahead: usize) -> bool {
        self.keyword_at(ahead) == word && self.is_word(self.token_at(ahead + 1), "DISK")
    }

    /// Returns whether a RESTORE without FROM goes on that number of tokens ahead: RESTORE DATABASE
    /// name, or RESTORE DATABASE name WITH RECOVERY, which end a restore.
    fn is_end_of_restore(&self, ahead: usize) -> bool {
        let token = self.token_at(ahead);
        let ends = matches!(token.kind, TokenKind::End | TokenKind::Semicolon);
        let with = token.keyword == Kw::With;
        ends || with && self.is_word(self.token_at(ahead + 1), "RECOVERY")
    }

    /// Returns the name of a form of BACKUP DATABASE, BACKUP LOG or RESTORE DATABASE that is not
    /// modelled: `BACKUP DATABASE .. TO URL`.
    pub(super) fn backup_form(&self) -> Option<Box<str>> {
        let is_restore = match self.keyword() {
            Kw::Backup => false,
            Kw::Restore => true,
            _ => return None,
        };
        if !matches!(self.keyword_at(1), Kw::Database | Kw::Log | Kw::Tran | Kw::Transaction) {
            return None;
        }
        let word = |ahead: usize| self.text_of(self.token_at(ahead)).to_ascii_uppercase();
        let (verb, class) = (word(0), word(1));
        let form = match word(3).as_str() {
            part @ ("FILE" | "FILEGROUP" | "PAGE" | "READ_WRITE_FILEGROUPS") => part.to_owned(),
            to @ ("TO" | "FROM") => match word(4).as_str() {
                device @ ("URL" | "TAPE" | "VIRTUAL_DEVICE" | "DATABASE_SNAPSHOT") => {
                    format!("{to} {device}")
                }
                _ => format!("{to} a backup device"),
            },
            _ if is_restore => "without FROM".to_owned(),
            _ => return None,
        };
        Some(format!("{verb} {class} .. {form}").into())
    }

    pub(super) fn is_word(&self, token: crate::lexer::Token, word: &str) -> bool {
        token.kind == TokenKind::Word && self.text_of(token).eq_ignore_ascii_case(word)
    }

    fn backup(&mut self) -> Result<StatementKind> {
        self.advance();
        let is_log = self.advance().keyword == Kw::Log;
        let database = self.backup_name()?;
        self.expect(Kw::To)?;
        let disks = self.backup_disks()?;
        if self.is_word(self.token(), "MIRROR") && self.keyword_at(1) == Kw::To {
            return self.unsupported_as("BACKUP .. MIRROR TO".into());
        }
        let options = self.backup_options("BACKUP", BACKUP_OPTIONS)?;
        Ok(StatementKind::Backup(Box::new(Backup { is_log, database, disks, options })))
    }

    fn restore(&mut self, kind: RestoreKind) -> Result<StatementKind> {
        self.advance();
        self.advance();
        let has_name = matches!(kind, RestoreKind::Database | RestoreKind::Log);
        let database = if has_name { Some(self.backup_name()?) } else { None };
        let disks = match self.eat(Kw::From) {
            true => self.backup_disks()?,
            // WITH RECOVERY follows.
            false => Vec::new(),
        };
        let options = self.backup_options("RESTORE", RESTORE_OPTIONS)?;
        Ok(StatementKind::Restore(Box::new(Restore { kind, database, disks, options })))
    }

    fn backup_name(&mut self) -> Result<BackupName> {
        if self.at_variable() {
            return Ok(BackupName::Variable(self.variable()?));
        }
        Ok(BackupName::Name(self.ident()?))
    }

    fn backup_disks(&mut self) -> Result<Vec<Expr>> {
        self.comma_list(|parser| {
            if !parser.is_word(parser.token(), "DISK") {
                return Err(parser.unexpected());
            }
            parser.advance();
            parser.expect_kind(TokenKind::Equal)?;
            parser.primary()
        })
    }

    /// Parses WITH and the options, if they follow. An option that SQL Server does not have is error
    /// 155; one that is not there yet is refused when the statement runs.
    fn backup_options(&mut self, verb: &str, known: &[&str]) -> Result<Vec<BackupOption>> {
        if !self.eat(Kw::With) {
            return Ok(Vec::new());
        }
        self.comma_list(|parser| {
            let start = parser.start();
            let written = parser.any_word()?;
            let name: Box<str> = written.to_ascii_uppercase().into();
            if !known.contains(&&*name) {
                let has_value = parser.at_kind(TokenKind::Equal);
                let unknown = Msg::UnrecognizedOption(&written, verb);
                return Err(parser.error_at(unknown, start).with_state(if has_value {
                    2
                } else {
                    1
                }));
            }
            if *name == *"MOVE" {
                let value = Some(parser.primary()?);
                parser.expect(Kw::To)?;
                return Ok(BackupOption { name, value, to: Some(parser.primary()?) });
            }
            let has_value = parser.eat_kind(TokenKind::Equal);
            let value = if has_value { Some(parser.primary()?) } else { None };
            Ok(BackupOption { name, value, to: None })
        })
    }
}
