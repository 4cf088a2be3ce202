//! BACKUP and RESTORE.

use super::{Expr, Ident, Variable};

/// `BACKUP DATABASE | LOG name TO DISK = .. [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Backup {
    /// LOG and not DATABASE.
    pub is_log: bool,
    /// The database that is copied.
    pub database: BackupName,
    /// The paths behind `DISK =`.
    pub disks: Vec<Expr>,
    /// The options behind WITH, in order.
    pub options: Vec<BackupOption>,
}

/// `RESTORE what [name] [FROM DISK = ..] [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Restore {
    /// What is done with the backup.
    pub kind: RestoreKind,
    /// The database; `None` where a backup is only looked at.
    pub database: Option<BackupName>,
    /// The paths behind `DISK =`; none where a restore is ended.
    pub disks: Vec<Expr>,
    /// The options behind WITH, in order.
    pub options: Vec<BackupOption>,
}

/// What RESTORE does with a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreKind {
    /// `RESTORE DATABASE` makes the database that the backup has.
    Database,
    /// `RESTORE LOG` adds what was committed later.
    Log,
    /// `RESTORE HEADERONLY` shows what the backup is of.
    HeaderOnly,
    /// `RESTORE FILELISTONLY` shows the files of its database.
    FileListOnly,
    /// `RESTORE LABELONLY` shows the medium.
    LabelOnly,
    /// `RESTORE VERIFYONLY` reads it and checks it.
    VerifyOnly,
}

/// The name of a database in BACKUP and RESTORE.
#[derive(Clone, Debug, PartialEq)]
pub enum BackupName {
    /// A name written in the statement.
    Name(Ident),
    /// A variable that holds the name.
    Variable(Variable),
}

/// `NAME [= value]`, or `MOVE value TO to`.
#[derive(Clone, Debug, PartialEq)]
pub struct BackupOption {
    /// Its name in upper case.
    pub name: Box<str>,
    /// The value behind `=` or MOVE.
    pub value: Option<Expr>,
    /// The path behind TO of MOVE.
    pub to: Option<Expr>,
}
