//! The state of a helper thread, which evaluates expressions for a statement of a session.
//!
//! A helper has the session's options, database, catalog and memory grant, and is cancelled with
//! it. It has separate statistics, which the session's thread adds to the session's when the helper
//! ends. It runs no statements, so the state that statements leave behind is empty.

use std::sync::Arc;

use types::Bytes;

use crate::plan_cache::ProgramCache;
use crate::state::{SessionScratch, session_number};
use crate::transaction::TransactionState;
use crate::{ClientInfo, SessionState};
use catalog::security::Copies;
use plan::stats::{Live, Meter};

impl SessionState {
    /// Returns the state for a helper thread.
    pub fn helper(&self) -> Self {
        Self {
            instance: Arc::clone(&self.instance),
            catalog: Arc::clone(&self.catalog),
            id: self.id,
            login: self.login.clone(),
            original_login: Arc::clone(&self.original_login),
            contexts: Default::default(),
            rights: self.rights.clone(),
            database: Arc::clone(&self.database),
            login_database: Arc::clone(&self.login_database),
            options: self.options.clone(),
            login_options: Arc::clone(&self.login_options),
            isolation: self.isolation,
            client: ClientInfo::default(),
            transaction: TransactionState {
                count: self.transaction.count,
                doomed: self.transaction.doomed,
                ..TransactionState::default()
            },
            definitions: None,
            locks: storage::lock::SessionLocks::of_helper(session_number(self.id)),
            next_descriptor: 0,
            temp: Default::default(),
            cursors: Vec::new(),
            fetch_status: self.fetch_status,
            cursor_rows: self.cursor_rows,
            last_error: self.last_error,
            row_count: self.row_count,
            last_identity: self.last_identity.clone(),
            scope_identity: None,
            identity_insert: None,
            context_info: Bytes::new(),
            trace_flags: Vec::new(),
            text_pointers: Default::default(),
            session_context: Vec::new(),
            nest_level: self.nest_level,
            trigger_level: self.trigger_level,
            event_data: None,
            in_rpc: self.in_rpc,
            inserting_call: false,
            saved_options: None,
            try_depth: self.try_depth,
            handled_errors: Vec::new(),
            line: self.line,
            tokens_sent: 0,
            cancel: Arc::clone(&self.cancel),
            login_time: self.login_time.clone(),
            pooled: self.pooled,
            pending_bulk: None,
            api_cursors: Vec::new(),
            documents: Vec::new(),
            prepared: Vec::new(),
            counters: Arc::default(),
            database_counters: Arc::default(),
            programs: ProgramCache::default(),
            compile_ns: 0,
            meter: Meter::new(Arc::new(Live::default())),
            grant: Arc::clone(&self.grant),
            books: Arc::default(),
            scratch: SessionScratch::default(),
            copies: Copies::default(),
        }
    }
}
