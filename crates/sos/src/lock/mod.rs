//! Locks on memory: `SpinLock` and `RwSpin` spin and keep the scheduler, `RwLatch` parks,
//! `VersionLatch` has readers that write nothing.
//!
//! The uncontended path of each counts and times nothing. The slow path books collisions, spins,
//! time, backoffs and sleeps on the calling thread's account, by the class of the lock. Locks on
//! rows and tables are not here but in `storage`.

mod class;
mod distributed;
#[cfg(not(loom))]
mod latch_park;
#[cfg(not(loom))]
mod latch_queue;
mod latch_slow_path;
mod latch_word;
#[cfg(not(any(loom, shuttle)))]
mod pause;
mod raw_latch;
mod readers;
mod row;
mod rw_latch;
mod rw_spin;
mod spin;
mod spin_slow_path;
mod try_cell;
mod version;

pub use class::{LatchClass, SpinCell, SpinClass};
pub use distributed::{Hold, RawDistributed};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use pause::spin_for;
#[cfg(not(any(loom, shuttle)))]
pub use pause::{calibrate, pause_ns};
pub use raw_latch::{LatchOrders, LatchVersion, RawRwLatch};
pub use readers::{ReaderOrders, Shown};
pub use row::Row;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use row::asleep;
#[cfg(not(any(loom, shuttle)))]
pub use row::{Blocked, blocked};
pub use rw_latch::{ReadLatchGuard, RwLatch, WriteLatchGuard};
pub use rw_spin::{RawRwSpin, ReadGuard, RwMode, RwSpin, WordMode, WriteGuard};
pub use spin::{RawSpin, SpinGuard, SpinLock, SpinOrders};
pub use try_cell::TryCell;
pub use version::{ObsoleteError, VersionGuard, VersionLatch, VersionOrders};

/// The memory orderings that the code uses and the models prove. Mutants of them exist only in
/// tests.
#[derive(Clone, Copy, Debug)]
pub struct Proven;

#[cfg(not(any(loom, shuttle)))]
thread_local! {
    static THREAD_NUMBER: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[cfg(not(any(loom, shuttle)))]
pub(crate) fn set_thread_number(number: u32) {
    THREAD_NUMBER.set(number);
    row::claim(number);
}

/// The calling thread's number in the ledger, never 0; a lock word holds it while the lock is held.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn thread_number() -> u32 {
    match THREAD_NUMBER.get() {
        0 => crate::ledger::with_current(crate::ledger::Account::number),
        number => number,
    }
}

#[cfg(any(loom, shuttle))]
pub(crate) fn thread_number() -> u32 {
    1
}

/// Ends the process: a panic under a lock leaves data that cannot be trusted.
#[cold]
fn poisoned(lock: &str) -> ! {
    eprintln!("clearway: a thread panicked while it held the lock {lock}; stopping");
    std::process::abort();
}
