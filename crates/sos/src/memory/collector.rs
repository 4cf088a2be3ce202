//! The collectors of the process, who free what nobody needs any more, and the wait of those who
//! are refused memory meanwhile: wait type `MEMORY_ALLOCATION_EXT`.
//!
//! A wait ends with room, or when a pass has freed nothing and nothing is left, or when for
//! [`PATIENCE`] nothing that is left could be freed: somebody still sees it.

use std::time::Duration;

use super::budget::room_for;
use super::relief::Relief;
use crate::lock::Proven;
use crate::park::{self, Cancel, Wake};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::wait::WaitType;
use crate::{clock, epoch};

/// How long one waits while nothing becomes free that is left.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long one waits at most.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Time between two passes that free nothing.
const PAUSE: Duration = Duration::from_millis(5);
/// Looks at whether what was unlinked can be freed, of a pass that somebody waits for, and time
/// between them.
const LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_micros(100);

static RELIEF: Relief<Proven> = Relief::new();
/// Collectors that run; where there is none, nobody waits.
static COLLECTORS: AtomicU32 = AtomicU32::new(0);
/// What they have freed so far, and what the last pass had to leave: in pieces.
static FREED: AtomicU64 = AtomicU64::new(0);
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// SQL Server's error 701.
    OverLimit,
    /// The client has given up.
    Cancelled,
}

/// Asks for so many bytes more within the limit; if there is no room, waits for what the collectors
/// can free. The caller holds nothing that a collector waits for.
///
/// # Errors
/// There is none, or the client gave up.
#[inline]
pub fn wait_for_room(bytes: usize, cancel: Option<&Cancel>) -> Result<(), NoRoom> {
    if room_for(bytes).is_ok() { Ok(()) } else { wait(bytes, cancel) }
}

#[cold]
fn wait(bytes: usize, cancel: Option<&Cancel>) -> Result<(), NoRoom> {
    if COLLECTORS.load(Ordering::Relaxed) == 0 {
        return Err(NoRoom::OverLimit);
    }
    let end_ns = clock::deadline_ns(WAIT_MAX);
    let mut fruitless_ns = clock::deadline_ns(PATIENCE);
    let mut freed = FREED.load(Ordering::Relaxed);
    loop {
        let ticket = RELIEF.ask();
        park::unpark_all(collectors_key());
        let must_wait = || !RELIEF.is_answered(ticket);
        let wait_type = WaitType::MemoryAllocation;
        if park::park(waiters_key(), wait_type, must_wait, Some(PATIENCE), cancel)
            == Wake::Cancelled
        {
            return Err(NoRoom::Cancelled);
        }
        if room_for(bytes).is_ok() {
            return Ok(());
        }
        let (now_ns, freed_now) = (clock::monotonic_ns(), FREED.load(Ordering::Relaxed));
        let is_answered = RELIEF.is_answered(ticket);
        if freed_now != freed || !is_answered {
            freed = freed_now;
            fruitless_ns = clock::deadline_ns(PATIENCE);
        } else if LEFT.load(Ordering::Relaxed) == 0 || now_ns >= fruitless_ns {
            return Err(NoRoom::OverLimit);
        } else {
            park::sleep(PAUSE, wait_type, cancel);
        }
        if now_ns >= end_ns {
            return Err(NoRoom::OverLimit);
        }
    }
}

/// Under which the collectors sleep; who leaves them something to do wakes them there.
#[must_use]
pub fn collectors_key() -> usize {
    (&raw const RELIEF).addr()
}

fn waiters_key() -> usize {
    (&raw const FREED).addr()
}

/// Tells whether somebody waits for what the collectors can free.
#[must_use]
pub fn is_relief_wanted() -> bool {
    RELIEF.is_asked()
}

/// What a pass did: in pieces, of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// What it freed.
    pub freed: u64,
    /// What somebody may still see.
    pub left: u64,
}

/// One that frees what nobody needs any more, as long as this is there.
#[derive(Debug)]
pub struct Collector(());

impl Collector {
    /// Makes one.
    #[must_use]
    pub fn new() -> Self {
        COLLECTORS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Rests between two passes, unless somebody waits.
    pub fn rest(&self, pause: Duration, stopping: &Cancel) {
        let must_wait = || !RELIEF.is_asked();
        park::park(collectors_key(), WaitType::SleepTask, must_wait, Some(pause), Some(stopping));
    }

    /// Runs a pass, and tells those who wait what came of it.
    pub fn pass(&self, collect: impl FnOnce() -> Pass) {
        let is_asked = RELIEF.is_asked();
        RELIEF.pass(|| {
            let mut pass = collect();
            if is_asked {
                pass.freed += free_unlinked();
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

/// Frees what has been unlinked, as soon as nobody can be looking at it; returns how much that was.
fn free_unlinked() -> u64 {
    let mut freed = 0;
    for _ in 0..LOOKS {
        let before = epoch::pending();
        if before == 0 {
            break;
        }
        epoch::collect();
        let now = before.saturating_sub(epoch::pending()) as u64;
        freed += now;
        if now == 0 {
            park::sleep(LOOK_PAUSE, WaitType::SleepTask, None);
        }
    }
    freed
}
