//! How long to spin: the length of a PAUSE instruction on this CPU, and whether to spin at all.
//!
//! One PAUSE takes some 10 cycles on old Intel CPUs, 40 on AMD's and 140 since Skylake, so its
//! length is measured once. If more threads want to run than there are CPUs, spinning may keep the
//! owner of the lock off its CPU: then no thread spins.

use super::row;
use crate::clock;
use crate::sync::{AtomicU64, OnceLock, Ordering};

/// The pauses of one measurement, and the number of measurements, of which the shortest counts.
const PAUSES_MEASURED: u32 = 32;
const MEASUREMENTS: u32 = 5;
/// The greatest age of the count of runnable threads, in nanoseconds.
const CROWD_AGE_NS_MAX: u64 = 1_000_000;

/// What is measured once per process.
struct Calibration {
    /// The length of one PAUSE in picoseconds.
    pause_ps: u32,
    cpus: u32,
    crowd_age_ticks_max: u64,
}

fn calibration() -> &'static Calibration {
    static CALIBRATION: OnceLock<Calibration> = OnceLock::new();
    CALIBRATION.get_or_init(|| Calibration {
        pause_ps: measure_pause_ps(),
        cpus: u32::try_from(crate::sys::allowed_cpus().len()).unwrap_or(u32::MAX).max(1),
        crowd_age_ticks_max: clock::duration_to_ticks(std::time::Duration::from_nanos(
            CROWD_AGE_NS_MAX,
        )),
    })
}

/// Measures the PAUSE now, so that the first contention need not, which takes some microseconds.
pub fn calibrate() {
    calibration();
}

fn measure_pause_ps() -> u32 {
    let shortest = (0..MEASUREMENTS).map(|_| {
        let before = clock::now_ticks();
        (0..PAUSES_MEASURED).for_each(|_| std::hint::spin_loop());
        clock::now_ticks().saturating_sub(before)
    });
    // An interruption lengthens one of the measurements, but hardly all.
    let ns = clock::ticks_to_ns(shortest.min().unwrap_or(0));
    u32::try_from(ns * 1_000 / u64::from(PAUSES_MEASURED)).unwrap_or(u32::MAX).max(1_000)
}

/// The length of one PAUSE on this CPU, in nanoseconds.
#[must_use]
pub fn pause_ns() -> f64 {
    f64::from(calibration().pause_ps) / 1e3
}

/// Spins for about `ns` nanoseconds; returns the number of pauses.
pub(crate) fn spin_for(ns: u32) -> u32 {
    let pauses = (u64::from(ns) * 1_000 / u64::from(calibration().pause_ps)).max(1);
    (0..pauses).for_each(|_| std::hint::spin_loop());
    u32::try_from(pauses).unwrap_or(u32::MAX)
}

/// The length of `pauses` pauses, in ticks.
pub(super) fn ticks_of(pauses: u32) -> u64 {
    clock::ns_to_ticks(u64::from(pauses) * u64::from(calibration().pause_ps) / 1_000)
}

/// The number of runnable threads, and when it was counted.
static CROWD: AtomicU64 = AtomicU64::new(0);
static COUNTED_AT: AtomicU64 = AtomicU64::new(0);

/// Whether more threads of this process want to run than it has CPUs. If the last count is a
/// millisecond old, one of the callers counts again.
pub(super) fn is_crowded(now_ticks: u64) -> bool {
    let calibration = calibration();
    let counted_at = COUNTED_AT.load(Ordering::Relaxed);
    if now_ticks.saturating_sub(counted_at) > calibration.crowd_age_ticks_max {
        let relaxed = Ordering::Relaxed;
        // Relaxed: only elects the thread that counts; the count is an estimate.
        if COUNTED_AT.compare_exchange(counted_at, now_ticks, relaxed, relaxed).is_ok() {
            CROWD.store(u64::from(row::awake()), relaxed);
        }
    }
    CROWD.load(Ordering::Relaxed) > u64::from(calibration.cpus)
}
