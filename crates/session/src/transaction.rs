//! The session's transaction: `@@TRANCOUNT`, `XACT_STATE()`, savepoints, and the storage
//! transaction that carries the rows.

use crate::definition::{DefinitionMark, Definitions};

/// The session's view of its transaction. It lasts until the transaction ends; a reset of the
/// connection rolls the transaction back, or keeps it.
#[derive(Default)]
pub struct TransactionState {
    /// Storage transaction; created when the first statement needs one.
    pub active: Option<storage::Transaction>,
    /// `@@TRANCOUNT`: number of nested BEGIN TRANSACTION.
    pub count: u32,
    /// `XACT_STATE() = -1`: it can only be rolled back.
    pub doomed: bool,
    /// DELAYED_DURABILITY = ON of its COMMIT or of its atomic block.
    pub is_delayed: bool,
    /// Whether it may have changed rows of more than one database. Outside a transaction: whether
    /// the running statement has.
    pub spans_databases: bool,
    /// Descriptor that the client sends with each request in the transaction; 0 outside one.
    pub descriptor: u64,
    /// Name of the outermost BEGIN TRANSACTION.
    pub name: String,
    /// Start time, for system-versioned tables: read at BEGIN TRANSACTION if the instance has such
    /// tables, otherwise (and for single-statement transactions) when it is first needed.
    pub time: Option<types::date::Moment>,
    /// Number of restarts of the statement because a row version was newer than the start time.
    pub renewals: u32,
    /// Named savepoints, oldest first.
    pub savepoints: Vec<(String, storage::Savepoint, DefinitionMark)>,
    /// Definitions that are neither committed nor undone; outside a transaction those of the
    /// running DDL statement. `None` without any.
    pub definitions: Option<Box<Definitions>>,
}
