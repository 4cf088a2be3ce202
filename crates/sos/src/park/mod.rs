//! Waiting for something in memory: the parking lot, keyed by address, and cancellation.
//!
//! A lock word or a condition needs no separate wait list: a thread that must wait parks under
//! its address, and a thread that changes it unparks that address. A worker that parks hands its
//! scheduler over; any other thread just sleeps.

#[cfg(not(any(loom, shuttle)))]
mod cancel;
#[cfg(not(loom))]
mod lot;
#[cfg(not(loom))]
mod queue;
#[cfg(not(any(loom, shuttle)))]
mod wait;
#[cfg(not(loom))]
mod wake_word;
#[cfg(not(any(loom, shuttle)))]
mod watch;

#[cfg(not(any(loom, shuttle)))]
pub use cancel::Cancel;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use cancel::Listener;
#[cfg(not(loom))]
pub use lot::{Lot, Waiter};
#[cfg(not(loom))]
pub use queue::{Queue, QueueOrders};
#[cfg(not(any(loom, shuttle)))]
pub use wait::{Wake, park, sleep, unpark_all, unpark_one};
#[cfg(not(loom))]
pub use wake_word::WakeWord;
#[cfg(not(any(loom, shuttle)))]
pub use watch::Watch;
