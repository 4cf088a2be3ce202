//! Errors that are more than a message: storage's conflicts, cancellation, and a client that is gone.

use storage::Error as StorageError;
use types::{Error, Msg};

use crate::Cx;
use plan::sink::Sent;
use session::instance::SessionCounter;
use session::stop::{INTERNAL, cancelled};

/// Why a statement stopped without an error of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The client asked for it.
    Cancelled,
    /// The client is gone.
    Disconnected,
    /// An error in a trigger has been reported and has ended the batch.
    Reported,
}

/// Turns an error of storage into one that travels through the executor. What storage cannot word
/// ([`StorageError::Restart`] above all) is kept in [`Cx::fault`] for the statement's runner.
pub fn raise(cx: &mut Cx<'_>, error: StorageError) -> Error {
    if error == StorageError::Cancelled {
        cx.interrupted = Some(Interruption::Cancelled);
    }
    if error == StorageError::Deadlock {
        cx.session.counters.count(SessionCounter::Deadlocks);
    }
    cx.fault = Some(error.clone());
    let session = i32::from(cx.session.id);
    if let StorageError::Closed(_) = error {
        return Msg::ModifiedByDefinition(&cx.session.database).into();
    }
    if let StorageError::SnapshotConflict(id) = error {
        let databases = cx.session.catalog.databases.values();
        let mut tables = databases.flat_map(|d| d.tables().map(move |table| (d, table)));
        let found = tables.find(|(_, table)| table.rows.data.id() == id);
        return match found {
            Some((database, table)) => {
                Msg::SnapshotConflict(&table.qualified_name(), &database.name).into()
            }
            None => Msg::SnapshotConflict("", &cx.session.database).into(),
        };
    }
    match error.into_message(session) {
        Ok(message) => message,
        Err(other) => Error::custom(INTERNAL, 16, 1, other.to_string()),
    }
}

/// Rows between two looks at whether to go on.
const ROWS_PER_CHECK: u32 = 64;

/// Counts a row that an operator reads or makes, and now and then looks whether to go on. The count goes on
/// from one opening of an operator to the next, so that many short inner loops are stopped as well.
#[inline]
pub fn row_passed(cx: &mut Cx<'_>) -> types::Result<()> {
    cx.scratch.rows_passed = cx.scratch.rows_passed.wrapping_add(1);
    match cx.scratch.rows_passed % ROWS_PER_CHECK {
        0 => check_cancel(cx),
        _ => Ok(()),
    }
}

/// Lets others have the scheduler when the quantum is over, which is also when an attention is received,
/// and stops the statement if the client asked for it.
#[inline]
pub fn check_cancel(cx: &mut Cx<'_>) -> types::Result<()> {
    sos::sched::yield_if_quantum_due();
    if !cx.session.cancel.is_set() {
        return Ok(());
    }
    cx.interrupted = Some(Interruption::Cancelled);
    Err(cancelled())
}

/// Takes why a statement stopped that failed with this error; none if the error says it all.
pub fn interruption(error: &Error, cx: &mut Cx<'_>) -> Option<Interruption> {
    let by_client = error.number == INTERNAL && cx.session.cancel.is_set();
    cx.interrupted.take().or_else(|| by_client.then_some(Interruption::Cancelled))
}

/// Stops the statement if what was sent found no receiver.
#[inline]
pub fn sent(cx: &mut Cx<'_>, sent: Sent) -> types::Result<()> {
    sent.map_err(|_| {
        cx.interrupted = Some(Interruption::Disconnected);
        Error::custom(INTERNAL, 20, 1, "The client is gone.")
    })
}

/// Words a duplicate key as the statement that met it has to.
pub fn duplicate(table: &catalog::TableDef, index: storage::IndexId, key: &str) -> Error {
    let object = table.qualified_name();
    let Some(index) = table.indexes.iter().find(|i| i.storage_id() == index) else {
        return Msg::InternalError.into();
    };
    match index.constraint {
        Some(catalog::IndexConstraint::PrimaryKey) => {
            Msg::UniqueViolation("PRIMARY KEY", &index.name, &object, key).into()
        }
        Some(catalog::IndexConstraint::Unique) => {
            Msg::UniqueViolation("UNIQUE KEY", &index.name, &object, key).into()
        }
        None => Msg::DuplicateKey(&object, &index.name, key).into(),
    }
}

/// Sends a message; a client that is gone stops the statement.
pub fn sent_message(cx: &mut Cx<'_>, message: &Error) -> types::Result<()> {
    let outcome = cx.sink.message(message);
    sent(cx, outcome)
}
