//! BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION, implicit transactions, and rollback because of an
//! error.

use std::sync::Arc;

use storage::{Scope, TransactionOptions};
use types::{Error, Msg};

use crate::Cx;
use plan::sink::{EnvChange, ResultSink};
use session::SessionState;
use session::instance::SessionCounter;
use session::stop::Stop;

/// Most characters of a transaction's or savepoint's name; longer names are cut.
const NAME_LENGTH_MAX: usize = 32;

/// Begins a transaction, or increments the nesting level of the open one.
///
/// # Errors
/// 3988 while other requests of a MARS connection are pending.
pub fn begin(
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
    name: &str,
) -> Result<(), Stop> {
    if session.transaction.count == 0 {
        if session.has_other_requests() {
            return Err(Msg::NewTransactionNotAllowed.into());
        }
        start(session, name);
        let descriptor = session.transaction.descriptor;
        sink.env_change(&EnvChange::BeginTransaction(descriptor))?;
    }
    session.transaction.count += 1;
    Ok(())
}

fn start(session: &mut SessionState, name: &str) {
    let timeout = u32::try_from(session.options.lock_timeout_ms).ok();
    let options = TransactionOptions {
        scope: Scope::Explicit,
        lock_timeout_ms: timeout,
        cancel: Some(std::sync::Arc::clone(&session.connection.cancel)),
        session: session.tag(),
        // Its commit decides.
        is_lazy: false,
    };
    let active = session.instance.store.begin(options);
    session.accounting.database_counters.transactions.add(1);
    session.connection.next_descriptor += 1;
    let transaction = &mut session.transaction;
    transaction.active = Some(active);
    transaction.doomed = false;
    transaction.name = cut(name).to_owned();
    transaction.savepoints.clear();
    transaction.spans_databases = false;
    // Only if the instance has temporal tables, which use the time.
    transaction.time = session.instance.has_periods().then(catalog::clock::clock);
    // Unique over all sessions: the upper half is the session's id.
    let session_id = u64::from(session.connection.id.unsigned_abs());
    transaction.descriptor = session_id << 32 | u64::from(session.connection.next_descriptor);
    let (number, begun) = (transaction.descriptor, sos::ledger::now_at_edge());
    session.locks.owner().begin_transaction(number, &transaction.name, begun);
}

/// With SET IMPLICIT_TRANSACTIONS ON, begins a transaction before a data statement, if none is
/// open.
pub fn begin_implicit(cx: &mut Cx<'_>) -> Result<(), Stop> {
    if !cx.session.options.implicit_transactions || cx.session.transaction.count > 0 {
        return Ok(());
    }
    begin(cx.session, cx.sink, "")
}

/// Decrements the nesting level, and commits at the outermost.
///
/// # Errors
/// 3902 without a transaction, 3930 in a doomed one, 3981 while other requests of a MARS connection
/// are pending; 41305 and 41325 where validation fails, which
/// rolls back the transaction.
pub fn commit(session: &mut SessionState, sink: &mut dyn ResultSink) -> Result<(), Stop> {
    commit_with(session, sink, None)
}

/// COMMIT WITH (DELAYED_DURABILITY = ..): as [`commit`]. The outermost COMMIT decides.
///
/// # Errors
/// As [`commit`].
pub fn commit_with(
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
    delayed: Option<bool>,
) -> Result<(), Stop> {
    match session.transaction.count {
        0 => return Err(Msg::CommitWithoutBegin.into()),
        _ if session.transaction.doomed => return Err(Msg::TransactionDoomed.into()),
        1 => session.check_alone()?,
        _ => {
            session.transaction.count -= 1;
            return Ok(());
        }
    }
    session.transaction.is_delayed = delayed.unwrap_or(false);
    let outcome = end(session);
    let descriptor = session.transaction.descriptor;
    session.end_transaction();
    if let Err(error) = outcome {
        sink.env_change(&EnvChange::RollbackTransaction(descriptor))?;
        return Err(Stop::Error(error));
    }
    if descriptor != 0 {
        sink.env_change(&EnvChange::CommitTransaction(descriptor))?;
    }
    Ok(())
}

/// What the log admits for the definitions of a transaction; few have more.
const DEFINITIONS_BYTES: u64 = 64 << 10;

/// Commits the open transaction in storage, and its definitions.
fn end(session: &mut SessionState) -> types::Result<()> {
    if session.transaction.definitions.is_none() {
        return end_rows(session);
    }
    // Rows and definitions get into the log together. The reference is counted here only, since the
    // count is a line that all sessions share.
    let instance = Arc::clone(&session.instance);
    let log = instance.durable().map(|database| database.log());
    let rows = session.transaction.active.as_ref();
    let bytes = DEFINITIONS_BYTES + rows.map_or(0, storage::Transaction::logged_bytes);
    if let Some(Err(error)) = log.map(|log| log.admit_definitions(bytes)) {
        if let Some(active) = session.transaction.active.take() {
            active.rollback();
        }
        session.accounting.counters.count_failed_commit(&error);
        return Err(session.storage_error(&error));
    }
    let _together = log.map(|log| log.scope());
    end_rows(session)
}

fn end_rows(session: &mut SessionState) -> types::Result<()> {
    let Some(mut active) = session.transaction.active.take() else {
        return session.keep_definitions();
    };
    active.set_lazy(session.is_lazy());
    let wrote = active.has_written();
    match active.commit() {
        Ok(()) => {
            session.accounting.database_counters.writes.add(u64::from(wrote));
            session.keep_definitions()
        }
        Err(error) => {
            session.accounting.counters.count_failed_commit(&error);
            Err(session.storage_error(&error))
        }
    }
}

/// Rolls back the whole transaction, or back to a savepoint.
///
/// # Errors
/// 3903 without a transaction, 6401 for a name that is neither the transaction's nor a savepoint's.
pub fn rollback(
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
    name: &str,
) -> Result<(), Stop> {
    if session.transaction.count == 0 {
        return Err(Msg::RollbackWithoutBegin.into());
    }
    let name = cut(name);
    if !name.is_empty() && !name.eq_ignore_ascii_case(&session.transaction.name) {
        return rollback_to(session, name);
    }
    session.accounting.counters.count(SessionCounter::UserAborts);
    roll_back_all(session, sink)?;
    Ok(())
}

fn rollback_to(session: &mut SessionState, name: &str) -> Result<(), Stop> {
    session.check_alone()?;
    let transaction = &mut session.transaction;
    let found = transaction.savepoints.iter().rposition(|(n, ..)| n.eq_ignore_ascii_case(name));
    let Some(place) = found else {
        return Err(Msg::CannotRollBack(name).into());
    };
    if transaction.doomed {
        return Err(Msg::TransactionDoomedSavepoint.into());
    }
    let savepoint = transaction.savepoints[place].1;
    let mark = std::mem::take(&mut transaction.savepoints[place].2);
    // The savepoint remains: it can be rolled back to again.
    transaction.savepoints.truncate(place + 1);
    if let Some(active) = &mut transaction.active {
        active.rollback_to(savepoint);
        session.accounting.counters.count(SessionCounter::SavepointRollbacks);
    }
    session.undo_definitions_to(&mark);
    session.transaction.savepoints[place].2 = mark;
    Ok(())
}

/// Rolls back the whole transaction, if one is open, and notifies the client.
pub fn roll_back_all(
    session: &mut SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), plan::sink::Disconnected> {
    if session.transaction.count == 0 {
        return Ok(());
    }
    if let Some(active) = session.transaction.active.take() {
        active.rollback();
        session.accounting.counters.count(SessionCounter::Aborts);
    }
    let descriptor = session.transaction.descriptor;
    session.end_transaction();
    // A transaction that the server opened for a trigger: the client does not know it.
    if descriptor == 0 {
        return Ok(());
    }
    sink.env_change(&EnvChange::RollbackTransaction(descriptor))
}

/// Rolls back the transaction because of an error that ends the batch.
pub fn abort(cx: &mut Cx<'_>) -> Result<(), plan::sink::Disconnected> {
    roll_back_all(cx.session, cx.sink)
}

/// Marks a savepoint.
///
/// # Errors
/// 628 without a transaction.
pub fn save(session: &mut SessionState, name: &str) -> Result<(), Stop> {
    if session.transaction.count == 0 {
        return Err(Msg::SaveWithoutTransaction.into());
    }
    if session.transaction.doomed {
        return Err(Msg::TransactionDoomed.into());
    }
    session.check_alone()?;
    let Some(active) = &session.transaction.active else {
        return Err(Stop::Error(Error::from(Msg::SaveWithoutTransaction)));
    };
    let savepoint = active.savepoint();
    session.accounting.counters.count(SessionCounter::Savepoints);
    let mark = session.mark_definitions();
    session.transaction.savepoints.push((cut(name).to_owned(), savepoint, mark));
    Ok(())
}

fn cut(name: &str) -> &str {
    match name.char_indices().nth(NAME_LENGTH_MAX) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

/// Begins the transaction of an atomic block, without notifying the client.
pub fn begin_quiet(session: &mut SessionState, is_delayed: bool) {
    start(session, "");
    session.transaction.count = 1;
    session.transaction.is_delayed = is_delayed;
}

/// Commits the transaction of an atomic block.
///
/// # Errors
/// 41305 and 41325 where validation fails, which rolls back the transaction.
pub fn commit_quiet(session: &mut SessionState) -> Result<(), Stop> {
    let outcome = end(session);
    session.end_transaction();
    outcome.map_err(Stop::Error)
}

/// Rolls back the transaction of an atomic block.
pub fn roll_back_quiet(session: &mut SessionState) {
    if let Some(active) = session.transaction.active.take() {
        active.rollback();
        session.accounting.counters.count(SessionCounter::Aborts);
    }
    session.end_transaction();
}
