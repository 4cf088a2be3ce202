//! `Shared`: the state that all connections of a server share. Read-mostly: no request writes to
//! it.

use engine::instance::Instance;
use sos::sync::{Arc, AtomicUsize, Ordering};

use crate::log::ClientLog;
use crate::options::{Encryption, Limits};
use crate::startup::Startup;
use crate::tls::Tls;

/// The state that all connections share.
pub(crate) struct Shared {
    /// The engine that runs requests.
    pub(crate) instance: Arc<Instance>,
    /// Whether the engine has its data.
    pub(crate) startup: Arc<Startup>,
    /// Certificate and TLS configurations.
    pub(crate) tls: Tls,
    /// The server's encryption setting.
    pub(crate) encryption: Encryption,
    /// Limits on time and number.
    pub(crate) limits: Limits,
    /// The server's name in messages.
    pub(crate) server_name: String,
    /// Log lines caused by clients, limited in rate.
    pub(crate) client_log: ClientLog,
    /// The count of connections.
    pub(crate) seats: Seats,
    /// The count of MARS sessions of all connections.
    pub(crate) mars: Seats,
    /// The count of connections to the administrators' port, logged in or not.
    pub(crate) admin_doors: Seats,
    /// The count of administrators that have logged in there.
    pub(crate) admins: Seats,
}

/// Which listener a client has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The port or the socket of all clients.
    Clients,
    /// The port of the dedicated admin connection: its requests do not wait for a worker.
    Admin,
}

/// The number of dedicated admin connections, as in SQL Server.
pub(crate) const ADMINS_MAX: usize = 1;
/// Connections to the administrators' port at once, those included that have not logged in.
pub(crate) const ADMIN_DOORS_MAX: usize = 8;

/// MARS sessions of all connections at once: each takes two file descriptors, all together half of those that
/// the process may have. The others are for connections and files.
pub(crate) fn mars_sessions_max(open_files: u64) -> usize {
    usize::try_from(open_files / 4).unwrap_or(usize::MAX)
}

impl Shared {
    /// Returns the count of connections that have come to a listener.
    pub(crate) fn seats_of(&self, door: Door) -> &Seats {
        match door {
            Door::Clients => &self.seats,
            Door::Admin => &self.admin_doors,
        }
    }
}

/// Counts connections, up to a limit.
#[derive(Debug)]
pub(crate) struct Seats {
    taken: Arc<AtomicUsize>,
    count_max: usize,
}

/// A connection's place in the count, released when dropped.
#[derive(Debug)]
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Seats {
    /// Makes a count with a limit.
    pub(crate) fn new(count_max: usize) -> Self {
        Self { taken: Arc::default(), count_max }
    }

    /// Takes a place; `None` if the limit is reached.
    pub(crate) fn take(&self) -> Option<Seat> {
        // Relaxed: a count, which orders nothing.
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.count_max {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Seat(Arc::clone(&self.taken)))
    }

    /// Returns the number of connections.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_again_when_its_holder_has_gone() {
        let seats = Seats::new(1);
        let seat = seats.take().expect("one is free");
        assert!(seats.take().is_none());
        assert_eq!(seats.taken(), 1);
        drop(seat);
        assert_eq!(seats.taken(), 0);
        assert!(seats.take().is_some());
    }
}
