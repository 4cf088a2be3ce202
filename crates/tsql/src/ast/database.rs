//! CREATE DATABASE and ALTER DATABASE, with their files and filegroups.

use super::{Ident, NamedOption, Span};

/// `CREATE DATABASE name [CONTAINMENT = ..] [ON files] [LOG ON files] [COLLATE c] [WITH ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    /// Name of the new database.
    pub name: Ident,
    /// `CONTAINMENT = NONE | PARTIAL`, in upper case.
    pub containment: Option<Box<str>>,
    /// ON: the primary filegroup comes first and has no name.
    pub filegroups: Vec<FileGroup>,
    /// Files of `LOG ON`; empty uses the default.
    pub log: Vec<FileSpec>,
    /// `COLLATE c`; `None` is the server's collation.
    pub collation: Option<Ident>,
    /// The options of `WITH ..`, in order.
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
    /// `DEFAULT`: new tables go to this filegroup.
    pub default: bool,
    /// The data files of the group.
    pub files: Vec<FileSpec>,
}

/// `(NAME = n, FILENAME = 'f', SIZE = 10MB, ..)`
#[derive(Clone, Debug, PartialEq)]
pub struct FileSpec {
    /// Its options, in order.
    pub options: Vec<NamedOption>,
    /// Source range, parentheses included.
    pub span: Span,
}

/// `ALTER DATABASE name action`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    /// Its name; CURRENT if absent.
    pub name: Option<Ident>,
    /// The change that the statement makes.
    pub action: AlterDatabaseAction,
}

/// What ALTER DATABASE changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterDatabaseAction {
    /// `SET option, .. [WITH ROLLBACK IMMEDIATE | ROLLBACK AFTER n | NO_WAIT]`
    Set {
        /// The options: `RECOVERY SIMPLE`, `READ_COMMITTED_SNAPSHOT ON`,
        /// `MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON`, `SINGLE_USER`; the equals sign does not
        /// show.
        options: Vec<NamedOption>,
        /// WITH, in upper case.
        termination: Option<Box<str>>,
    },
    /// `COLLATE c`: changes the default collation.
    Collate(Ident),
    /// `MODIFY NAME = n`
    Rename(Ident),
    /// `ADD FILEGROUP g [CONTAINS ..]`
    AddFileGroup(FileGroup),
    /// `REMOVE FILEGROUP g`, which must be empty.
    RemoveFileGroup(Ident),
    /// `MODIFY FILEGROUP g words`
    ModifyFileGroup(Ident, Vec<NamedOption>),
    /// `ADD FILE (..), .. [TO FILEGROUP g]`, `ADD LOG FILE (..)`
    AddFile {
        /// The files that are added.
        files: Vec<FileSpec>,
        /// `TO FILEGROUP g`; `None` is the default filegroup.
        filegroup: Option<Ident>,
        /// `ADD LOG FILE`: the files belong to the log.
        log: bool,
    },
    /// `REMOVE FILE f`, by its logical name.
    RemoveFile(Ident),
    /// `MODIFY FILE (..)`: changes one file's options.
    ModifyFile(FileSpec),
    /// `SCOPED CONFIGURATION SET name = value`, `.. CLEAR PROCEDURE_CACHE`
    ScopedConfiguration {
        /// SET's option; CLEAR's word has no value.
        option: NamedOption,
        /// CLEAR and not SET.
        clear: bool,
        /// `FOR SECONDARY`: applies to secondary replicas.
        for_secondary: bool,
    },
}
