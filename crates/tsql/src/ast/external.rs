//! External tables, and the data sources and file formats that they name.

use super::{Ident, NamedOption, ObjectName, SelectStatement, TypeName};

/// `CREATE EXTERNAL DATA SOURCE name WITH (..)`, `CREATE EXTERNAL FILE FORMAT name WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateExternal {
    /// Which of them.
    pub kind: ExternalKind,
    /// Its name.
    pub name: Ident,
    /// WITH.
    pub options: Vec<NamedOption>,
}

/// What external tables name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalKind {
    /// EXTERNAL DATA SOURCE
    DataSource,
    /// EXTERNAL FILE FORMAT
    FileFormat,
}

/// `CREATE EXTERNAL TABLE name [(columns)] WITH (..) [AS SELECT ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateExternalTable {
    /// Its name.
    pub name: ObjectName,
    /// Its columns: with types without AS, names alone or nothing with it.
    pub columns: Vec<ExternalColumn>,
    /// WITH.
    pub options: Vec<NamedOption>,
    /// AS: what is exported.
    pub query: Option<Box<SelectStatement>>,
}

/// A column of an external table.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalColumn {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: Option<TypeName>,
    /// COLLATE.
    pub collation: Option<Ident>,
    /// NULL or NOT NULL.
    pub nullable: Option<bool>,
}
