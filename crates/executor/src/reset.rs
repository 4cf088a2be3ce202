//! Resets a session when a connection pool gives its connection to the next user
//! (sp_reset_connection).

use std::sync::Arc;

use storage::lock::LockScope;

use crate::transactions;
use plan::sink::{ResultSink, Sent};
use session::event::emit;
use session::{Reset, SessionState};

/// Restores the session's state after login. Writes no memory that other sessions read, unless
/// there are temporary tables to drop.
pub fn reset(state: &mut SessionState, reset: Reset, sink: &mut dyn ResultSink) -> Sent {
    if state.has_other_requests() {
        return sink.message(&types::Msg::SessionNotSingleThreaded.into());
    }
    let told = match reset {
        Reset::All => transactions::roll_back_all(state, sink),
        Reset::KeepTransaction => Ok(()),
    };
    emit::lock::released_all(state, LockScope::Session);
    state.locks.end_session(state.instance.store.locks());
    state.identity.end_contexts();
    state.drop_temp_tables();
    state.held.reset();
    state.last.reset();
    if state.options != *state.connection.login_options {
        state.options.clone_from(&state.connection.login_options);
    }
    if !Arc::ptr_eq(&state.identity.database, &state.connection.login_database) {
        state.enter_database(Arc::clone(&state.connection.login_database));
    }
    state.accounting.books.reset();
    state.accounting.meter.live().reset_io();
    state.accounting.trace.clear();
    told
}
