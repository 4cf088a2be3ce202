//! Prepared statements of a session.

use types::Value;

/// A prepared statement with its parameters.
#[derive(Debug)]
pub struct Prepared {
    /// Text of the statement, as sent.
    pub statement: Value,
    /// Declarations of its parameters, as sent; NULL for none.
    pub declared: Value,
    /// A text or a call.
    pub kind: PreparedKind,
}

/// The kind of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedKind {
    /// A text, by sp_prepare.
    Text,
    /// A procedure call without text, by sp_prepexecrpc.
    Call,
}
