//! Prepared statements as a session keeps them.

use types::Value;

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    /// The text as sent.
    pub statement: Value,
    /// The declarations of its parameters as sent; NULL for none.
    pub declared: Value,
    /// What it is.
    pub kind: PreparedKind,
}

/// What was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedKind {
    /// A text.
    Text,
    /// The call of a procedure alone: sp_prepexecrpc.
    Call,
}
