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
    let told = match reset {
        Reset::All => transactions::roll_back_all(state, sink),
        Reset::KeepTransaction => Ok(()),
    };
    emit::lock::released_all(state, LockScope::Session);
    state.locks.end_session(state.instance.store.locks());
    state.end_contexts();
    state.drop_temp_tables();
    state.cursors.clear();
    state.api_cursors.clear();
    state.documents.clear();
    state.prepared.clear();
    if state.options != *state.login_options {
        state.options.clone_from(&state.login_options);
    }
    if !Arc::ptr_eq(&state.database, &state.login_database) {
        state.enter_database(Arc::clone(&state.login_database));
    }
    state.books.reset();
    state.fetch_status = -1;
    state.last_error = 0;
    state.row_count = 0;
    state.last_identity = None;
    state.scope_identity = None;
    state.identity_insert = None;
    state.context_info = types::Bytes::new();
    state.session_context.clear();
    state.text_pointers.clear();
    state.pending_bulk = None;
    told
}
