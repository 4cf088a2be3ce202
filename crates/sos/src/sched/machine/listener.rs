//! The listener thread: accepts connections and gives each to the scheduler with the fewest.

use std::io;

use super::{ACCEPT_PAUSE, Machine};
use crate::clock;
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
        while self.shared.phase() == Phase::Running {
            match listener.accept() {
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
                Err(_) => {
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
