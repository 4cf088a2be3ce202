//! External tables, and the data sources and file formats that they name.

use super::{Ident, NamedOption, ObjectName, SelectStatement, TypeName};

/// `CREATE EXTERNAL DATA SOURCE name WITH (..)`, `CREATE EXTERNAL FILE FORMAT name WITH (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateExternal {
    /// Data source or file format.
    pub kind: ExternalKind,
    /// Name of the new object.
    pub name: Ident,
    /// The options of `WITH (..)`, in order.
    pub options: Vec<NamedOption>,
}

/// An object that external tables refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalKind {
    /// `CREATE EXTERNAL DATA SOURCE`: where files are.
    DataSource,
    /// `CREATE EXTERNAL FILE FORMAT`: how files are encoded.
    FileFormat,
}

/// `CREATE EXTERNAL TABLE name [(columns)] WITH (..) [AS SELECT ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateExternalTable {
    /// Name of the external table.
    pub name: ObjectName,
    /// The columns: with types if there is no AS; with AS, names alone or nothing.
    pub columns: Vec<ExternalColumn>,
    /// The options of `WITH (..)`, in order.
    pub options: Vec<NamedOption>,
    /// The query behind AS, whose rows are exported; `None` without AS.
    pub query: Option<Box<SelectStatement>>,
}

/// A column of an external table.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalColumn {
    /// Name of the column.
    pub name: Ident,
    /// The type; `None` in a table with AS SELECT.
    pub data_type: Option<TypeName>,
    /// COLLATE behind the type; `None` is the database's default.
    pub collation: Option<Ident>,
    /// `NULL` is `Some(true)`, `NOT NULL` is `Some(false)`.
    pub nullable: Option<bool>,
}
