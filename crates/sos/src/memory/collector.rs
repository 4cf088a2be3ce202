//! Garbage collectors of the process (row versions and the like), and the wait of a request that is
//! refused memory until a collector has freed some: wait type `MEMORY_ALLOCATION_EXT`.
//!
//! A wait ends when there is room, when some passes have freed nothing and left nothing, or when many
//! have freed nothing of what is left, because a transaction can still see it: see [`Patience`].

use std::time::Duration;

use super::budget::{reserve_for, room_for};
use super::patience::{Next, Patience, Progress};
use super::relief::Relief;
use crate::lock::Proven;
use crate::park::{self, Cancel, Wake};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::wait::WaitType;
use crate::{clock, epoch};

/// How often a request that waits looks whether it may go on without an answer.
const LOOK_EACH: Duration = Duration::from_millis(250);
/// How long a request waits at most.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Time between two passes that free nothing.
const PAUSE: Duration = Duration::from_millis(5);
/// How often a pass that a request waits for checks whether unlinked memory can be freed, and the
/// time between two checks.
const LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_micros(100);

static RELIEF: Relief<Proven> = Relief::new();
/// The number of collectors; without one, no request waits.
static COLLECTORS: AtomicU32 = AtomicU32::new(0);
/// The parts of [`Progress`].
static FREED: AtomicU64 = AtomicU64::new(0);
static SETTLED: AtomicU64 = AtomicU64::new(0);
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Why a request gets no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// The memory limit is reached: SQL Server's error 701.
    OverLimit,
    /// The request was cancelled while it waited.
    Cancelled,
}

/// Asks for `bytes` more within the limit; if there is no room, waits for the collectors to free
/// some. The caller holds nothing that a collector waits for.
///
/// # Errors
/// No room was freed, or the request was cancelled.
#[inline]
pub fn wait_for_room(bytes: usize, cancel: Option<&Cancel>) -> Result<(), NoRoom> {
    if room_for(bytes).is_ok() { Ok(()) } else { wait(&|| room_for(bytes).is_ok(), cancel) }
}

/// As [`wait_for_room`], for what may take the reserve: waits only until that has `bytes` again.
///
/// # Errors
/// As [`wait_for_room`].
pub fn wait_for_reserve(bytes: usize, cancel: Option<&Cancel>) -> Result<(), NoRoom> {
    let has_room = || reserve_for(bytes).is_ok();
    if has_room() { Ok(()) } else { wait(&has_room, cancel) }
}

#[cold]
fn wait(has_room: &dyn Fn() -> bool, cancel: Option<&Cancel>) -> Result<(), NoRoom> {
    if COLLECTORS.load(Ordering::Relaxed) == 0 {
        return Err(NoRoom::OverLimit);
    }
    let end_ns = clock::deadline_ns(WAIT_MAX);
    let mut patience = Patience::new(progress());
    loop {
        let ticket = RELIEF.ask();
        park::unpark_all(collectors_key());
        let must_wait = || !RELIEF.is_answered(ticket);
        let wait_type = WaitType::MemoryAllocation;
        if park::park(waiters_key(), wait_type, must_wait, Some(LOOK_EACH), cancel)
            == Wake::Cancelled
        {
            return Err(NoRoom::Cancelled);
        }
        if has_room() {
            return Ok(());
        }
        if RELIEF.is_answered(ticket) {
            match patience.after_pass(progress()) {
                Next::GiveUp => return Err(NoRoom::OverLimit),
                Next::Pause => {
                    park::sleep(PAUSE, wait_type, cancel);
                }
                Next::Ask => {}
            }
        }
        if clock::monotonic_ns() >= end_ns {
            return Err(NoRoom::OverLimit);
        }
    }
}

/// Returns what the collectors have done. Acquire is in the answer to the ticket.
fn progress() -> Progress {
    Progress {
        freed: FREED.load(Ordering::Relaxed),
        settled: SETTLED.load(Ordering::Relaxed),
        left: LEFT.load(Ordering::Relaxed),
    }
}

/// The parking key under which the collectors sleep; a thread that leaves garbage unparks it.
#[must_use]
pub fn collectors_key() -> usize {
    (&raw const RELIEF).addr()
}

fn waiters_key() -> usize {
    (&raw const FREED).addr()
}

/// Returns whether a request waits for the collectors.
#[must_use]
pub fn is_relief_wanted() -> bool {
    RELIEF.is_asked()
}

/// The result of a pass, in pieces of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The number of pieces freed.
    pub freed: u64,
    /// The number of pieces left because a transaction may still see them.
    pub left: u64,
}

/// Registers a collector until it is dropped.
#[derive(Debug)]
pub struct Collector(());

impl Collector {
    /// Registers a collector, so that requests wait for it.
    #[must_use]
    pub fn new() -> Self {
        COLLECTORS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Sleeps between two passes, unless a request waits for one.
    pub fn rest(&self, pause: Duration, stopping: &Cancel) {
        let must_wait = || !RELIEF.is_asked();
        park::park(collectors_key(), WaitType::SleepTask, must_wait, Some(pause), Some(stopping));
    }

    /// Runs a pass, and wakes the requests that wait for its result.
    pub fn pass(&self, collect: impl FnOnce() -> Pass) {
        let is_asked = RELIEF.is_asked();
        RELIEF.pass(|| {
            let mut pass = collect();
            if is_asked {
                let unlinked = free_unlinked();
                pass.freed += unlinked.freed;
                SETTLED.fetch_add(u64::from(unlinked.is_settled), Ordering::Relaxed);
                super::flush();
            }
            pass.left += epoch::pending() as u64;
            FREED.fetch_add(pass.freed, Ordering::Relaxed);
            LEFT.store(pass.left, Ordering::Relaxed);
        });
        if is_asked {
            park::unpark_all(waiters_key());
        }
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        COLLECTORS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What [`free_unlinked`] has done.
struct Unlinked {
    /// The number of items freed.
    freed: u64,
    /// Whether no thread held all of them back.
    is_settled: bool,
}

/// Waits a little until no thread can see what has been unlinked, and frees it.
fn free_unlinked() -> Unlinked {
    let mut freed = 0;
    for _ in 0..LOOKS {
        let before = epoch::pending();
        if before == 0 {
            return Unlinked { freed, is_settled: true };
        }
        epoch::collect();
        let now = before.saturating_sub(epoch::pending()) as u64;
        freed += now;
        if now == 0 {
            park::sleep(LOOK_PAUSE, WaitType::SleepTask, None);
        }
    }
    Unlinked { freed, is_settled: freed > 0 || epoch::pending() == 0 }
}
