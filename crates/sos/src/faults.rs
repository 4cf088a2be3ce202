//! Faults on demand: time spent outside the machine's wrappers, so that tests can prove that the
//! ledger still attributes it. Only builds with debug assertions have them.

use std::time::Duration;

use crate::clock;
use crate::lock::{SpinClass, SpinLock};

/// Bytes of one bare call for randomness: long enough to be in the kernel nearly all the time.
const RANDOM_BYTES: usize = 64 * 1024;

/// What [`hold`] holds and [`contend`] wants.
static LOCK: SpinLock<()> = SpinLock::new(SpinClass::ServerOther, ());

/// Sleeps in the running state, as a page fault or an unwrapped system call would make a thread do.
pub fn sleep(duration: Duration) {
    let time = libc::timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    };
    // SAFETY: `time` is a valid timespec; what is left of it is not asked for.
    let result = unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
    // A signal may end the sleep early, which serves the test as well.
    debug_assert!(result == 0 || result == -1, "nanosleep returns nothing else");
}

/// Makes bare system calls, one after the other.
pub fn call_kernel(duration: Duration) {
    let mut bytes = vec![0_u8; RANDOM_BYTES];
    let end = clock::now_ticks() + clock::duration_to_ticks(duration);
    while clock::now_ticks() < end {
        // SAFETY: the buffer is writable and as long as it says.
        let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        assert!(count > 0, "getrandom never fails once the system has started");
    }
}

/// Holds a spinlock of class `SERVER_OTHER` for this long, running all the time.
pub fn hold(duration: Duration) {
    let _held = LOCK.lock();
    let end = clock::now_ticks() + clock::duration_to_ticks(duration);
    while clock::now_ticks() < end {
        std::hint::spin_loop();
    }
}

/// Takes the spinlock that [`hold`] holds, and releases it.
pub fn contend() {
    drop(LOCK.lock());
}

/// Computes for this long, so that the thread waits for a CPU where others compete for it.
pub fn compute(duration: Duration) {
    let end = clock::now_ticks() + clock::duration_to_ticks(duration);
    while clock::now_ticks() < end {
        std::hint::spin_loop();
    }
}
