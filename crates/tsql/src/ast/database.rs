//! CREATE DATABASE and ALTER DATABASE.

use super::{Ident, NamedOption, Span};

/// `CREATE DATABASE name [CONTAINMENT = ..] [ON files] [LOG ON files] [COLLATE c] [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    /// Its name.
    pub name: Ident,
    /// `CONTAINMENT = NONE | PARTIAL`, in upper case.
    pub containment: Option<Box<str>>,
    /// ON: the primary filegroup comes first and has no name.
    pub filegroups: Vec<FileGroup>,
    /// LOG ON.
    pub log: Vec<FileSpec>,
    /// COLLATE.
    pub collation: Option<Ident>,
    /// WITH.
    pub options: Vec<NamedOption>,
    /// FOR ATTACH, FOR ATTACH_REBUILD_LOG, `AS SNAPSHOT OF d`, in upper case.
    pub special: Option<Box<str>>,
}

/// A filegroup with its files.
#[derive(Clone, Debug, PartialEq)]
pub struct FileGroup {
    /// Its name; none for PRIMARY.
    pub name: Option<Ident>,
    /// CONTAINS MEMORY_OPTIMIZED_DATA, CONTAINS FILESTREAM: the word, in upper case.
    pub contains: Option<Box<str>>,
    /// DEFAULT.
    pub default: bool,
    /// Its files.
    pub files: Vec<FileSpec>,
}

/// `(NAME = n, FILENAME = 'f', SIZE = 10MB, ..)`
#[derive(Clone, Debug, PartialEq)]
pub struct FileSpec {
    /// Its options, in order.
    pub options: Vec<NamedOption>,
    /// Where.
    pub span: Span,
}

/// `ALTER DATABASE name action`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    /// Its name; CURRENT if absent.
    pub name: Option<Ident>,
    /// What is changed.
    pub action: AlterDatabaseAction,
}

/// What ALTER DATABASE changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterDatabaseAction {
    /// `SET option, .. [WITH ROLLBACK IMMEDIATE | ROLLBACK AFTER n | NO_WAIT]`
    Set {
        /// The options: `RECOVERY SIMPLE`, `READ_COMMITTED_SNAPSHOT ON`,
        /// `MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON`, `SINGLE_USER`; the equals sign does not show.
        options: Vec<NamedOption>,
        /// WITH, in upper case.
        termination: Option<Box<str>>,
    },
    /// `COLLATE c`
    Collate(Ident),
    /// `MODIFY NAME = n`
    Rename(Ident),
    /// `ADD FILEGROUP g [CONTAINS ..]`
    AddFileGroup(FileGroup),
    /// `REMOVE FILEGROUP g`
    RemoveFileGroup(Ident),
    /// `MODIFY FILEGROUP g words`
    ModifyFileGroup(Ident, Vec<NamedOption>),
    /// `ADD FILE (..), .. [TO FILEGROUP g]`, `ADD LOG FILE (..)`
    AddFile {
        /// The files.
        files: Vec<FileSpec>,
        /// TO FILEGROUP.
        filegroup: Option<Ident>,
        /// LOG.
        log: bool,
    },
    /// `REMOVE FILE f`
    RemoveFile(Ident),
    /// `MODIFY FILE (..)`
    ModifyFile(FileSpec),
    /// `SCOPED CONFIGURATION SET name = value`, `.. CLEAR PROCEDURE_CACHE`
    ScopedConfiguration {
        /// SET's option; CLEAR's word has no value.
        option: NamedOption,
        /// CLEAR and not SET.
        clear: bool,
        /// FOR SECONDARY.
        for_secondary: bool,
    },
}
