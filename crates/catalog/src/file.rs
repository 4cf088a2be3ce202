//! Declared files and filegroups of a database. Nothing is stored in them.

use crate::name::Name;

/// A file or filegroup as declared. Clearway stores nothing in it; `sys.database_files` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseFile {
    /// Name of its filegroup.
    pub filegroup: String,
    /// Logical name; empty for a filegroup alone.
    pub name: String,
    /// FILENAME clause as declared.
    pub path: String,
    /// Whether the filegroup is for memory-optimized data.
    pub memory_optimized: bool,
    /// Whether it is a log file.
    pub log: bool,
    /// SIZE, MAXSIZE and FILEGROWTH.
    pub size: FileSize,
}

/// Declared sizes of a file; only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSize {
    /// SIZE in pages of 8 KB; 0 if not declared.
    pub size: i32,
    /// MAXSIZE in pages; -1 without a limit.
    pub max: i32,
    /// FILEGROWTH in pages, or in percent.
    pub growth: i32,
    /// Whether FILEGROWTH is a percentage.
    pub is_percent: bool,
}

impl Default for FileSize {
    fn default() -> Self {
        Self { size: 0, max: -1, growth: 0, is_percent: false }
    }
}

/// Checks that a database with these files has a filegroup of this name.
///
/// # Errors
/// 1921 if it does not exist.
pub fn check_filegroup(files: &[DatabaseFile], name: &str) -> types::Result<()> {
    // "default" is the default filegroup, which is the primary one.
    let known = Name::same(name, "PRIMARY")
        || Name::same(name, "default")
        || files.iter().any(|file| !file.log && Name::same(&file.filegroup, name));
    if known { Ok(()) } else { Err(types::Msg::InvalidDataSpace("filegroup", name).into()) }
}
