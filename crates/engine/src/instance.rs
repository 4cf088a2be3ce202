//! `Instance`: one engine with everything that it holds. There are no globals, so that two instances
//! live in one process.

mod card;
mod programs;
mod sessions;

use std::sync::Arc;

use types::{Collation, DataType, Value};

use crate::catalog::{Catalog, CatalogCell, Login, password};

pub use card::{Facts, SessionCard};
pub use programs::SharedPrograms;
pub use sessions::{OnKill, SessionTotals, Sessions};

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
    /// How it was set up; the password is not kept.
    pub config: Config,
    /// Clock, schedulers, workers, statistics.
    pub machine: Arc<sos::sched::Machine>,
    /// Timestamps and snapshots of all tables.
    pub store: Arc<storage::Store>,
    /// The catalog snapshot and its version.
    pub catalog: CatalogCell,
    /// Who is connected.
    pub sessions: Sessions,
    /// Programs of all sessions.
    pub programs: SharedPrograms,
    /// Start time, as `datetime`.
    pub started: Value,
}

/// `principal_id` of `sa`.
const SA_PRINCIPAL: i32 = 1;

impl Instance {
    /// Makes an instance with its system databases. The machine's and the store's background work is
    /// the caller's to start.
    pub fn new(
        mut config: Config,
        machine: Arc<sos::sched::Machine>,
        store: Arc<storage::Store>,
    ) -> Arc<Self> {
        let started = crate::exec::clock().to_value(&DataType::DateTime).unwrap_or(Value::Null);
        let sa = Login {
            name: "sa".to_owned(),
            password_hash: password::hash(&config.sa_password),
            sid: vec![1],
            principal_id: SA_PRINCIPAL,
            default_database: "master".to_owned(),
            sysadmin: true,
            created: started.clone(),
        };
        config.sa_password.clear();
        let catalog = Catalog::bootstrap(sa, Collation::default(), &started);
        Arc::new(Self {
            config,
            machine,
            store,
            catalog: CatalogCell::new(catalog),
            sessions: Sessions::default(),
            programs: SharedPrograms::default(),
            started,
        })
    }
}
