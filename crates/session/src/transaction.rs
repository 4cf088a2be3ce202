//! The session's transaction: `@@TRANCOUNT`, `XACT_STATE()`, savepoints, and the storage transaction
//! that carries the rows.

use crate::definition::DefinitionMark;

/// What the session knows of its transaction.
#[derive(Default)]
pub struct TransactionState {
    /// The storage transaction; made when the first statement needs one.
    pub active: Option<storage::Transaction>,
    /// `@@TRANCOUNT`
    pub count: u32,
    /// `XACT_STATE() = -1`: it can only be rolled back.
    pub doomed: bool,
    /// Descriptor that the client sends with each request that runs in it; 0 outside.
    pub descriptor: u64,
    /// Name of the outermost BEGIN TRANSACTION.
    pub name: String,
    /// When it began, for system-versioned tables: read with BEGIN TRANSACTION where the instance has such
    /// tables, else, and for a statement's own transaction, when it is first asked for.
    pub time: Option<types::date::Moment>,
    /// How often the statement has begun anew because a row's version was younger than that.
    pub renewals: u32,
    /// Named savepoints, oldest first.
    pub savepoints: Vec<(String, storage::Savepoint, DefinitionMark)>,
}
