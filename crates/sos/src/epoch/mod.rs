//! Epoch-based memory reclamation: an unlinked item is freed once no thread can still see it.
//!
//! A worker passes a quiescent point between two requests, which costs one load, and one store to
//! its own line when the epoch has moved on. At the end of a quantum it passes one in the midst of a
//! request, if that holds no [`Pin`]. Inside, [`pin`] is a thread-local increment; it proves
//! that pointers read under it stay valid. Threads that are no workers may pin too: they then take
//! part for the length of the outermost pin. A worker that waits while its request holds a [`Pin`]
//! holds back reclamation until the wait is over; without a pin it does not.
//!
//! The domain of all threads is one per process, like the allocator it serves: an epoch that moves
//! more slowly because of a neighbour only delays freeing.

#[cfg(not(any(loom, shuttle)))]
mod bag;
mod board;
mod domain;
#[cfg(not(any(loom, shuttle)))]
mod local;
#[cfg(not(any(loom, shuttle)))]
mod snapshot;

pub use board::Board;
pub use domain::{Domain, Epoch, EpochOrders, Slot};
#[cfg(not(any(loom, shuttle)))]
pub use local::{Pin, breathe, collect, pending, pin, retire, retire_box, synchronize};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use local::{Suspended, enter, leave, quiescent, step_aside, suspend};
#[cfg(not(any(loom, shuttle)))]
pub use snapshot::Snapshot;
