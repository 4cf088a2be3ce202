//! `Shared`: what all connections of a server have in common. Read-mostly: no request writes to it.

use engine::instance::Instance;
use sos::sync::{Arc, AtomicUsize, Ordering};

use crate::log::ClientLog;
use crate::options::{Encryption, Limits};
use crate::tls::Tls;

/// What all connections have in common.
pub(crate) struct Shared {
    /// The engine.
    pub(crate) instance: Arc<Instance>,
    /// The certificate.
    pub(crate) tls: Tls,
    /// What to do about encryption.
    pub(crate) encryption: Encryption,
    /// Limits.
    pub(crate) limits: Limits,
    /// The name that messages tell.
    pub(crate) server_name: String,
    /// Lines that clients cause.
    pub(crate) client_log: ClientLog,
    /// Who is connected.
    pub(crate) seats: Seats,
}

/// Counts connections, so that there are never too many.
#[derive(Debug)]
pub(crate) struct Seats {
    taken: Arc<AtomicUsize>,
    count_max: usize,
}

/// A connection's place in the count, given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Seats {
    /// Returns so many free seats.
    pub(crate) fn new(count_max: usize) -> Self {
        Self { taken: Arc::default(), count_max }
    }

    /// Takes a seat; `None` if all are taken.
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
