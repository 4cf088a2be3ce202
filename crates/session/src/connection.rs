//! `Connection`: the facts of a session's connection, from login to logout.

use std::sync::Arc;

use types::Value;

use crate::cursor::ShownCursors;
use crate::{ClientInfo, Options};

/// What login has decided about a session. It lasts as long as the connection; a reset of the
/// connection changes only `pooled`.
pub struct Connection {
    /// `@@SPID`, the session's id.
    pub id: i16,
    /// Name of the login that logged in; EXECUTE AS does not change it.
    pub original_login: Arc<str>,
    /// Database at login; a reset returns to it.
    pub login_database: Arc<str>,
    /// SET options at login; a reset returns to them.
    pub login_options: Arc<Options>,
    /// Login time, as `datetime`.
    pub login_time: Value,
    /// Time of the last login or reset of a pooled connection.
    pub pooled: Pooled,
    /// Properties of the client.
    pub client: ClientInfo,
    /// Set by an attention: statements stop at their next check.
    pub cancel: Arc<sos::park::Cancel>,
    /// Number of the session's next transaction, for its descriptor.
    pub next_descriptor: u32,
    /// Trace flags that are on for this session. A reset leaves them on.
    pub trace_flags: Vec<i32>,
    /// What other sessions are shown of its cursors.
    pub cursors: ShownCursors,
}

/// The login state of a pooled connection: each reset counts as a login.
#[derive(Clone, Copy, Debug)]
pub struct Pooled {
    /// Time of the login or the last reset, in ticks.
    pub since: u64,
    /// Map key of the reset that came with the current request; 0 without one.
    pub reset: u32,
}

impl Pooled {
    /// Returns the state of a session that logs in now.
    pub fn now() -> Self {
        Self { since: sos::clock::now_ticks(), reset: 0 }
    }
}

impl Connection {
    /// Returns the connection of a helper: its session's id, login and cancellation, without the
    /// client.
    pub(crate) fn of_helper(&self) -> Self {
        Self {
            id: self.id,
            original_login: Arc::clone(&self.original_login),
            login_database: Arc::clone(&self.login_database),
            login_options: Arc::clone(&self.login_options),
            login_time: self.login_time.clone(),
            pooled: self.pooled,
            client: ClientInfo::default(),
            cancel: Arc::clone(&self.cancel),
            next_descriptor: 0,
            trace_flags: Vec::new(),
            cursors: Arc::clone(&self.cursors),
        }
    }
}
