//! The questions that a server is asked, and which of them it can answer.
//!
//! Each topic has one or more texts, best first. The first text that a server runs without an error
//! is used from then on; a topic without any is missing, and the footer says so.

use verdict::question::{
    LOCKS, REQUESTS, REQUESTS_PLAIN, SERVER, SERVER_PLAIN, STATEMENTS, STATEMENTS_PLAIN,
    TIME_LEDGER, TIME_WAITS,
};
pub use verdict::question::{SETUP, kill, plan};

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Who the server is, and what the login may see.
    Server,
    /// Clocks, counts of schedulers, and where the time went.
    Time,
    /// Requests, and sessions that hold a transaction open.
    Requests,
    /// Statements with a cached plan.
    Statements,
    /// Locks, granted and waited for.
    Locks,
}

impl Topic {
    /// The topics that are probed and shown.
    pub const SHOWN: [Self; 4] = [Self::Time, Self::Requests, Self::Statements, Self::Locks];

    /// Returns the texts that answer it, best first.
    #[must_use]
    pub fn texts(self) -> &'static [&'static str] {
        match self {
            Self::Server => &[SERVER, SERVER_PLAIN],
            Self::Time => &[TIME_LEDGER, TIME_WAITS],
            Self::Requests => &[REQUESTS, REQUESTS_PLAIN],
            Self::Statements => &[STATEMENTS, STATEMENTS_PLAIN],
            Self::Locks => &[LOCKS],
        }
    }

    /// Returns what is missing where only the text of this index works, or none (`None`).
    #[must_use]
    pub fn loss(self, index: Option<usize>) -> Option<&'static str> {
        match (self, index) {
            (_, Some(0)) | (Self::Server, _) => None,
            (Self::Time, Some(_)) => Some("time ledger (shown: waits and CPU)"),
            (Self::Time, None) => Some("sys.dm_os_wait_stats"),
            (Self::Requests, Some(_)) => Some("text of requests"),
            (Self::Requests, None) => Some("sys.dm_exec_requests"),
            (Self::Statements, Some(_)) => Some("rows of statements"),
            (Self::Statements, None) => Some("sys.dm_exec_query_stats"),
            (Self::Locks, _) => Some("sys.dm_tran_locks"),
        }
    }
}
