//! The state of a helper thread, which evaluates expressions for a statement of a session.
//!
//! A helper has the session's options, database, catalog and memory grant, and is cancelled with
//! it. It has separate statistics, which the session's thread adds to the session's when the helper
//! ends. It runs no statements, so the state that statements leave behind is empty.

use std::sync::Arc;

use crate::SessionState;
use crate::caches::Caches;
use crate::held::{Held, LastResults};
use crate::state::session_number;
use crate::transaction::TransactionState;

impl SessionState {
    /// Returns the state for a helper thread.
    pub fn helper(&self) -> Self {
        Self {
            instance: Arc::clone(&self.instance),
            catalog: Arc::clone(&self.catalog),
            connection: self.connection.of_helper(),
            accounting: self.accounting.of_helper(),
            identity: self.identity.of_helper(),
            options: self.options.clone(),
            isolation: self.isolation,
            transaction: TransactionState {
                count: self.transaction.count,
                doomed: self.transaction.doomed,
                ..TransactionState::default()
            },
            locks: storage::lock::SessionLocks::of_helper(session_number(self.connection.id)),
            temp: Default::default(),
            held: Held::default(),
            last: LastResults { scope_identity: None, ..self.last.clone() },
            request: self.request.of_helper(),
            caches: Caches::default(),
            mars: None,
        }
    }
}
