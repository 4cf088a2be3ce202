//! The machine of one instance: its schedulers, workers, background threads and their books.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::Connection;
use crate::ledger::Accounts;
use crate::sync::Arc;
use crate::sys::{Listener, Socket};

/// How to build a [`Machine`].
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// Schedulers; 0 for one per CPU that the process may use.
    pub schedulers: usize,
    /// Workers at most; 0 for 512, or 16 per scheduler if that is more.
    pub workers_max: usize,
    /// Whether each scheduler's workers are tied to one CPU.
    pub affinity: Affinity,
}

/// Where workers may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Wherever the kernel puts them.
    Free,
    /// On their scheduler's CPU.
    Pinned,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self { schedulers: 0, workers_max: 0, affinity: Affinity::Free }
    }
}

/// One scheduler, as `sys.dm_os_schedulers` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerRow {
    /// Its number.
    pub id: u32,
    /// Connections assigned to it.
    pub connections: u64,
    /// Its workers, idle ones included.
    pub workers: u64,
    /// Workers that are signalled and wait for it.
    pub runnable: u64,
}

/// How [`Machine::stop`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// Every request finished and every thread ended.
    Clean,
    /// So many requests did not end in time; their threads are left behind.
    Abandoned(usize),
}

/// Schedulers, workers and background threads of one instance.
#[derive(Clone, Debug)]
pub struct Machine {
    accounts: Arc<Accounts>,
}

impl Machine {
    /// Starts the schedulers, each with one worker.
    pub fn start(_config: &MachineConfig) -> io::Result<Self> {
        Ok(Self { accounts: Arc::default() })
    }

    /// The books of its threads.
    #[must_use]
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// Accepts connections from now on: `connect` turns each into a task, or refuses it. It runs on
    /// the listener's own thread.
    pub fn listen(
        &self,
        _listener: Listener,
        _connect: impl FnMut(Socket, SocketAddr) -> Option<Connection> + Send + 'static,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a connection to the scheduler with the fewest.
    pub fn adopt(&self, _connection: Connection) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Runs something once at the start of every period, on a thread of its own.
    pub fn spawn_background(
        &self,
        _name: &str,
        _period: Duration,
        _run: impl FnMut() + Send + 'static,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The schedulers as they are now.
    #[must_use]
    pub fn schedulers(&self) -> Vec<SchedulerRow> {
        Vec::new()
    }

    /// Stops: refuses connections, closes the idle ones, lets requests finish for `grace`, asks the
    /// rest to stop and waits once more as long, then ends all threads.
    pub fn stop(&self, _grace: Duration) -> StopOutcome {
        StopOutcome::Clean
    }
}
