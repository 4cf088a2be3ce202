//! `Instance`: one engine with everything that it holds. There are no globals, so that two instances
//! live in one process.

use std::sync::Arc;

use crate::catalog::CatalogCell;

/// How an instance is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Password of `sa`.
    pub sa_password: String,
    /// Name that `@@SERVERNAME` gives.
    pub server_name: String,
    /// Limit on memory, in bytes.
    pub memory_max: u64,
}

/// An engine.
pub struct Instance {
    /// How it was set up.
    pub config: Config,
    /// Clock, schedulers, workers, statistics.
    pub machine: Arc<sos::sched::Machine>,
    /// Timestamps and snapshots of all tables.
    pub store: Arc<storage::Store>,
    /// The catalog snapshot and its version.
    pub catalog: CatalogCell,
}
