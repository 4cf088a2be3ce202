//! The listener thread: accepts connections and gives each to the scheduler with the fewest.

use std::fmt::Display;
use std::io;

use super::{ACCEPT_PAUSE, Machine};
use crate::clock;
use crate::error_log;
use crate::memory::{self, TIDY_NS};
use crate::park;

use crate::sched::scheduler::{Connection, Mail, Phase, Scheduler};
use crate::sched::waiting::{self, Unblocked};
use crate::sync::{Arc, Ordering};
use crate::sys::{self, Direction, Listener, Peer, Polled, Socket};
use crate::thread;
use crate::wait::WaitType;

impl Machine {
    /// Accepts connections from now on: `connect` turns each into a task, or refuses it. It runs on
    /// the listener's own thread.
    pub fn listen(
        &self,
        listener: Listener,
        mut connect: impl FnMut(Socket, Peer) -> Option<Connection> + Send + 'static,
    ) -> io::Result<()> {
        let machine = self.clone();
        self.spawn("listener", move || machine.accept_all(&listener, &mut connect))
    }

    fn accept_all(
        &self,
        listener: &Listener,
        connect: &mut dyn FnMut(Socket, Peer) -> Option<Connection>,
    ) {
        let mut descriptors = Descriptors::new();
        while self.shared.phase() == Phase::Running {
            match listener.accept() {
                Ok((socket, _)) if !descriptors.suffice_with(&socket) => {}
                Ok((socket, peer)) => {
                    let connection = thread::contain(|| connect(socket, peer));
                    if let Ok(Some(connection)) = connection {
                        self.adopt(connection);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait_for_connections(listener);
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    descriptors.complain(&error);
                    park::sleep(ACCEPT_PAUSE, WaitType::Accept, Some(&self.shared.stopping));
                }
            }
        }
    }

    fn wait_for_connections(&self, listener: &Listener) {
        let stop = &self.shared.stop_accepting;
        waiting::blocking(WaitType::Accept, || {
            let wait =
                |until_ns| sys::poll_two(listener, Direction::Readable, Some(stop), until_ns);
            if matches!(wait(Some(clock::monotonic_ns() + TIDY_NS)), Ok(Polled::TimedOut)) {
                memory::tidy();
                // The next attempt to accept reports an error.
                _ = wait(None);
            }
            Unblocked::Now
        });
    }

    /// Gives a connection to the scheduler with the fewest; drops it if the machine is stopping.
    pub fn adopt(&self, connection: Connection) {
        if self.shared.phase() != Phase::Running {
            return;
        }
        // Relaxed: a stale count makes a slightly uneven choice.
        let load = |scheduler: &&Arc<Scheduler>| scheduler.connections.load(Ordering::Relaxed);
        let fewest = self.schedulers.iter().min_by_key(load).expect("a machine has schedulers");
        fewest.connections.fetch_add(1, Ordering::Relaxed);
        fewest.send(Mail::Adopt(connection));
    }
}

/// Keeps file descriptors back from connections: a server whose clients take all of them could not
/// open the next file of its log.
struct Descriptors {
    limit: u64,
    /// When the log last said that a connection was refused.
    complained_ns: Option<u64>,
}

impl Descriptors {
    /// Descriptors that connections leave: for the log, a checkpoint, backups and event files.
    const KEPT: u64 = 16;
    /// The least time between two lines in the log.
    const QUIET_NS: u64 = 60_000_000_000;

    fn new() -> Self {
        Self { limit: sys::open_files_limit(), complained_ns: None }
    }

    /// Whether enough descriptors are left beside this connection. A new one has the lowest free
    /// number, so that all below it are taken.
    fn suffice_with(&mut self, socket: &Socket) -> bool {
        if socket.number() + Self::KEPT < self.limit {
            return true;
        }
        self.complain(&"file descriptors run short");
        false
    }

    /// Says in the log that connections are refused, once a minute.
    fn complain(&mut self, why: &dyn Display) {
        let now_ns = clock::monotonic_ns();
        if self.complained_ns.is_some_and(|last_ns| now_ns - last_ns < Self::QUIET_NS) {
            return;
        }
        self.complained_ns = Some(now_ns);
        error_log::line(&format_args!(
            "Connections are refused: {why}. The process may have {} of them, of which {} are kept for files: \
             raise the limit (ulimit -n, LimitNOFILE=), or lower --max-connections",
            self.limit,
            Self::KEPT
        ));
    }
}

/// Whether an error of accept concerns only the connection it would have returned; see accept(2).
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::Interrupted
            | Kind::NetworkDown
            | Kind::NetworkUnreachable
            | Kind::HostUnreachable
            | Kind::PermissionDenied
    )
}
