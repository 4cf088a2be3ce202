//! Errors that are more than a message for the client: storage's conflicts, cancellation, a lost
//! connection.

use storage::Error as StorageError;
use types::{Error, Msg};

use crate::Cx;
use plan::sink::Sent;
use session::instance::SessionCounter;
use session::stop::{GONE, INTERNAL, cancelled};

/// Why a statement stopped, where the reason is not an error for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The client cancelled the request (attention).
    Cancelled,
    /// The client has disconnected.
    Disconnected,
    /// An error in a trigger has been sent already and has ended the batch.
    Reported,
}

/// Converts an error of storage to one that the executor returns. An error without a message for
/// the client, above all [`StorageError::Restart`], is kept in [`Cx::fault`] for the code that runs
/// the statement.
pub fn raise(cx: &mut Cx<'_>, error: StorageError) -> Error {
    if error == StorageError::Cancelled {
        cx.interrupted = Some(Interruption::Cancelled);
    }
    if error == StorageError::Deadlock {
        cx.session.accounting.counters.count(SessionCounter::Deadlocks);
    }
    cx.fault = Some(error.clone());
    let session = i32::from(cx.session.connection.id);
    if let StorageError::Closed(_) = error {
        return Msg::ModifiedByDefinition(&cx.session.identity.database).into();
    }
    if matches!(error, StorageError::LogFull | StorageError::LogFailed) {
        return cx.session.storage_error(&error);
    }
    if let StorageError::SnapshotConflict(id) = error {
        let databases = cx.session.catalog.databases.values();
        let mut tables = databases.flat_map(|d| d.tables().map(move |table| (d, table)));
        let found = tables.find(|(_, table)| table.rows.data.id() == id);
        return match found {
            Some((database, table)) => {
                Msg::SnapshotConflict(&table.qualified_name(), &database.name).into()
            }
            None => Msg::SnapshotConflict("", &cx.session.identity.database).into(),
        };
    }
    match error.into_message(session) {
        Ok(message) => message,
        Err(other) => Error::custom(INTERNAL, 16, OF_STORAGE, other.to_string()),
    }
}

/// State of the error for which [`Cx::fault`] has the reason; that of a cancelled statement is 1.
const OF_STORAGE: u8 = 2;

/// Rows between two checks for the quantum and for cancellation.
const ROWS_PER_CHECK: u32 = 64;

/// Counts a row that an operator reads or produces; every 64 rows checks for the quantum and for
/// cancellation. The count continues over reopenings of an operator, so even short inner loops are
/// stopped.
#[inline]
pub fn row_passed(cx: &mut Cx<'_>) -> types::Result<()> {
    cx.scratch.rows_passed = cx.scratch.rows_passed.wrapping_add(1);
    match cx.scratch.rows_passed % ROWS_PER_CHECK {
        0 => check_cancel(cx),
        _ => Ok(()),
    }
}

/// Yields the scheduler if the quantum is over, which is also when an attention is received.
/// Returns an error if the client has cancelled the statement.
#[inline]
pub fn check_cancel(cx: &mut Cx<'_>) -> types::Result<()> {
    sos::sched::yield_if_quantum_due();
    if !cx.session.connection.cancel.is_set() {
        return Ok(());
    }
    cx.interrupted = Some(Interruption::Cancelled);
    Err(cancelled())
}

/// As [`check_cancel`], for a batch of rows. Their number says little about the time that they took, so
/// the clock is read for each batch.
#[inline]
pub fn batch_passed(cx: &mut Cx<'_>) -> types::Result<()> {
    sos::sched::check_quantum_soon();
    check_cancel(cx)
}

/// Takes the reason why a statement failed with this error; `None` if the error itself is the
/// reason.
pub fn interruption(error: &Error, cx: &mut Cx<'_>) -> Option<Interruption> {
    let by_client = error.number == INTERNAL && cx.session.connection.cancel.is_set();
    cx.interrupted.take().or_else(|| by_client.then_some(Interruption::Cancelled))
}

/// Returns an error that stops the statement, if a result could not be sent.
#[inline]
pub fn sent(cx: &mut Cx<'_>, sent: Sent) -> types::Result<()> {
    sent.map_err(|_| {
        cx.interrupted = Some(Interruption::Disconnected);
        Error::custom(INTERNAL, GONE, 1, "The client is gone.")
    })
}

/// Returns error 2601 or 2627 for a duplicate key.
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

/// Sends a message; if the client has disconnected, returns an error that stops the statement.
pub fn sent_message(cx: &mut Cx<'_>, message: &Error) -> types::Result<()> {
    let outcome = cx.sink.message(message);
    sent(cx, outcome)
}
