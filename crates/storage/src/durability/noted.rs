//! The epoch that the calling thread's reply has to wait for, in a cell of the thread.

use std::cell::Cell;

#[cfg(shuttle)]
use shuttle::thread_local as of_thread;
#[cfg(not(shuttle))]
use std::thread_local as of_thread;

#[cfg(not(shuttle))]
of_thread! {
    /// Without a destructor, so that an access is one load or store.
    static NOTED: Cell<u64> = const { Cell::new(0) };
}

#[cfg(shuttle)]
of_thread! {
    static NOTED: Cell<u64> = Cell::new(0);
}

/// Notes that the reply of the calling thread must wait until this epoch is durable. The highest
/// epoch counts; 0 is none.
#[inline]
pub fn note(epoch: u64) {
    NOTED.with(|noted| noted.set(noted.get().max(epoch)));
}

/// Returns the highest epoch that the calling thread has noted since the last call; 0 if none.
#[inline]
pub fn take() -> u64 {
    NOTED.with(|noted| noted.replace(0))
}
