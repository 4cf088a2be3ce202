//! Files and filegroups of a database, as declared: nothing is stored in them.

use crate::name::Name;

/// A file or filegroup as declared; Clearway stores nothing in it, `sys.database_files` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseFile {
    /// Filegroup.
    pub filegroup: String,
    /// Logical name.
    pub name: String,
    /// Path as declared.
    pub path: String,
    /// Whether the filegroup is for memory-optimized data.
    pub memory_optimized: bool,
    /// Whether it is a log file.
    pub log: bool,
    /// SIZE, MAXSIZE and FILEGROWTH.
    pub size: FileSize,
}

/// Sizes of a file as declared: shown, since nothing is stored in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSize {
    /// SIZE in pages of 8 KB; 0 where it was not said.
    pub size: i32,
    /// MAXSIZE in pages; -1 without a limit.
    pub max: i32,
    /// FILEGROWTH in pages, or in percent.
    pub growth: i32,
    /// Whether it grows by a percentage.
    pub is_percent: bool,
}

impl Default for FileSize {
    fn default() -> Self {
        Self { size: 0, max: -1, growth: 0, is_percent: false }
    }
}

/// Checks the name of a filegroup of a database that has these files.
///
/// # Errors
/// 1921 if there is none.
pub fn check_filegroup(files: &[DatabaseFile], name: &str) -> types::Result<()> {
    // "default" is the database's own, which is the primary one.
    let known = Name::same(name, "PRIMARY")
        || Name::same(name, "default")
        || files.iter().any(|file| !file.log && Name::same(&file.filegroup, name));
    if known { Ok(()) } else { Err(types::Msg::InvalidDataSpace("filegroup", name).into()) }
}
