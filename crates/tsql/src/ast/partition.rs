//! CREATE, ALTER PARTITION FUNCTION and PARTITION SCHEME. DROP is in [`super::Drop`].

use super::{Expr, Ident, TypeName};

/// A statement that defines a partition function or a partition scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionStatement {
    /// `CREATE PARTITION FUNCTION f (type) AS RANGE [LEFT | RIGHT] FOR VALUES (..)`
    CreateFunction {
        /// Name of the new function.
        name: Ident,
        /// Types of the parameters, each with its COLLATE; SQL Server allows exactly one.
        parameters: Vec<(TypeName, Option<Ident>)>,
        /// RANGE RIGHT; LEFT is the default.
        right: bool,
        /// The boundary values, in any order; none makes one partition.
        values: Vec<Expr>,
    },
    /// `ALTER PARTITION FUNCTION f() SPLIT RANGE (v)`, `.. MERGE RANGE (v)`
    AlterFunction {
        /// Name of the function.
        name: Ident,
        /// SPLIT; false is MERGE.
        split: bool,
        /// The boundary value of RANGE that is added or removed.
        value: Option<Expr>,
    },
    /// `CREATE PARTITION SCHEME s AS PARTITION f [ALL] TO (filegroups)`
    CreateScheme {
        /// Name of the new scheme.
        name: Ident,
        /// The partition function whose partitions are mapped.
        function: Ident,
        /// ALL: one filegroup for every partition.
        all: bool,
        /// The filegroups, one for each partition, and those beyond.
        filegroups: Vec<Ident>,
    },
    /// `ALTER PARTITION SCHEME s NEXT USED [filegroup]`
    AlterScheme {
        /// Name of the scheme.
        name: Ident,
        /// The filegroup; `None` clears the mark.
        next: Option<Ident>,
    },
}

impl PartitionStatement {
    /// Returns the name of the function or scheme that is defined.
    pub fn name(&self) -> &Ident {
        match self {
            Self::CreateFunction { name, .. }
            | Self::AlterFunction { name, .. }
            | Self::CreateScheme { name, .. }
            | Self::AlterScheme { name, .. } => name,
        }
    }
}
