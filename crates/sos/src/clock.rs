//! Time: ticks for measuring, monotonic nanoseconds for deadlines, UTC for users, and timestamps
//! for transactions.
//!
//! Ticks are the CPU's time stamp counter where the machine has one. Their length is not measured
//! at boot, which would cost milliseconds: the first estimate comes from the CPU itself or from a
//! very short comparison, and [`refine`] improves it from the growing distance to the first
//! reading.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::sync::{AtomicU64, CachePadded, OnceLock, Ordering, fence};

/// 100 ns units in a day.
pub const TICKS_100NS_PER_DAY: u64 = 24 * 3600 * 10_000_000;
/// Days from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_DAYS: u64 = 719_162;

/// Reads the tick counter. Costs 16 to 30 ns; not ordered with surrounding memory accesses.
#[inline]
#[must_use]
pub fn now_ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 CPU has RDTSC, and Linux does not disable it for user code.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    monotonic_ns()
}

/// As [`now_ticks`], but ordered after all earlier loads.
#[must_use]
pub(crate) fn now_ticks_ordered() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        ordered_tsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    monotonic_ns()
}

/// Nanoseconds since boot, never going back. For deadlines.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    nanos(now.tv_sec, now.tv_nsec)
}

/// The monotonic time at which `timeout` from now has passed.
#[must_use]
pub fn deadline_ns(timeout: Duration) -> u64 {
    let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    monotonic_ns().saturating_add(timeout)
}

/// UTC in units of 100 ns since 0001-01-01.
#[must_use]
pub fn utc_100ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    UNIX_EPOCH_DAYS * TICKS_100NS_PER_DAY + nanos(now.tv_sec, now.tv_nsec) / 100
}

/// UTC as days since 0001-01-01 and 100 ns units since midnight, the form of `datetime2`.
#[must_use]
pub fn utc_days_and_ticks() -> (u32, u64) {
    let now = utc_100ns();
    let days = u32::try_from(now / TICKS_100NS_PER_DAY).unwrap_or(u32::MAX);
    (days, now % TICKS_100NS_PER_DAY)
}

fn nanos(seconds: i64, nanos: i64) -> u64 {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(nanos).unwrap_or(0)
}

/// The nanosecond length of a tick as a 32.32 fixed-point number, and where it was measured from.
struct Rate {
    nanos_per_tick: AtomicU64,
    first_ticks: u64,
    first_ns: u64,
}

fn rate() -> &'static Rate {
    static RATE: OnceLock<Rate> = OnceLock::new();
    RATE.get_or_init(|| {
        let (first_ticks, first_ns) = pair();
        let estimate = match known_ticks_per_second() {
            Some(hz) => fixed_point(1_000_000_000, hz),
            None => short_estimate(first_ticks, first_ns),
        };
        Rate { nanos_per_tick: AtomicU64::new(estimate), first_ticks, first_ns }
    })
}

/// Turns a number of ticks into nanoseconds.
#[must_use]
pub fn ticks_to_ns(ticks: u64) -> u64 {
    let rate = rate().nanos_per_tick.load(Ordering::Relaxed);
    u64::try_from((u128::from(ticks) * u128::from(rate)) >> 32).unwrap_or(u64::MAX)
}

/// Turns a duration into ticks.
#[must_use]
pub fn duration_to_ticks(duration: Duration) -> u64 {
    ns_to_ticks(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// Turns nanoseconds into ticks.
#[must_use]
pub fn ns_to_ticks(ns: u64) -> u64 {
    let rate = u128::from(rate().nanos_per_tick.load(Ordering::Relaxed).max(1));
    u64::try_from((u128::from(ns) << 32) / rate).unwrap_or(u64::MAX)
}

/// Improves the estimate of a tick's length; a background thread calls it about once a second.
pub fn refine() {
    let rate = rate();
    let (ticks, ns) = pair();
    let (ticks, ns) = (ticks.saturating_sub(rate.first_ticks), ns.saturating_sub(rate.first_ns));
    if ns >= 100_000_000 && ticks > 0 {
        rate.nanos_per_tick.store(fixed_point(ns, ticks), Ordering::Relaxed);
    }
}

fn fixed_point(ns: u64, ticks: u64) -> u64 {
    u64::try_from((u128::from(ns) << 32) / u128::from(ticks.max(1))).unwrap_or(u64::MAX)
}

/// Reads both clocks at the same moment: the closest of five tries.
fn pair() -> (u64, u64) {
    let mut best = (0, 0);
    let mut best_width = u64::MAX;
    for _ in 0..5 {
        let before = now_ticks();
        let ns = monotonic_ns();
        let after = now_ticks();
        let width = after.saturating_sub(before);
        if width < best_width {
            best_width = width;
            best = (before + width / 2, ns);
        }
    }
    best
}

/// Compares the clocks over 200 us: good to about 300 ppm, until [`refine`] has done better.
fn short_estimate(first_ticks: u64, first_ns: u64) -> u64 {
    loop {
        let (ticks, ns) = pair();
        if ns >= first_ns + 200_000 {
            return fixed_point(ns - first_ns, ticks.saturating_sub(first_ticks));
        }
        std::hint::spin_loop();
    }
}

/// The frequency of the counter as the CPU or the hypervisor reports it.
#[cfg(target_arch = "x86_64")]
fn known_ticks_per_second() -> Option<u64> {
    use std::arch::x86_64::__cpuid;
    // Leaf 15H: ratio of the counter to the core crystal, and the crystal's frequency.
    if __cpuid(0).eax >= 0x15 {
        let leaf = __cpuid(0x15);
        if leaf.eax != 0 && leaf.ebx != 0 && leaf.ecx != 0 {
            return Some(u64::from(leaf.ecx) * u64::from(leaf.ebx) / u64::from(leaf.eax));
        }
    }
    // Hypervisor leaf 40000010H (KVM and VMware): kHz in EAX. Only under a hypervisor (ECX bit 31).
    if __cpuid(1).ecx & (1 << 31) != 0 && __cpuid(0x4000_0000).eax >= 0x4000_0010 {
        let khz = __cpuid(0x4000_0010).eax;
        return (khz != 0).then(|| u64::from(khz) * 1000);
    }
    None
}

#[cfg(not(target_arch = "x86_64"))]
fn known_ticks_per_second() -> Option<u64> {
    Some(1_000_000_000)
}

/// A point in the order of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// Where transactions get their timestamps from.
///
/// Two promises, across threads and in program order: a `commit()` begun after a `snapshot()` has
/// returned is greater than that snapshot, and a `snapshot()` begun after a `commit()` has returned
/// is not less than that commit. A version is visible to the snapshots that are not less than its
/// commit.
///
/// Either is free of shared writes when the kernel runs its own clock on the time stamp counter,
/// which it does only after it has verified that the CPUs' counters agree; else one shared counter
/// serves.
#[derive(Debug)]
pub struct Timestamps {
    source: TimestampSource,
    counter: CachePadded<AtomicU64>,
}

/// Where [`Timestamps`] takes its numbers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampSource {
    /// Ordered reads of the time stamp counter.
    TimeStampCounter,
    /// One counter in memory, incremented by every snapshot.
    Counter,
}

impl Timestamps {
    /// Chooses the counter of the CPU if the kernel trusts it.
    #[must_use]
    pub fn new() -> Self {
        Self::with_source(if kernel_trusts_tsc() {
            TimestampSource::TimeStampCounter
        } else {
            TimestampSource::Counter
        })
    }

    /// Uses the given source, for tests and for machines whose kernel is wrong.
    #[must_use]
    pub fn with_source(source: TimestampSource) -> Self {
        Self { source, counter: CachePadded::new(AtomicU64::new(1)) }
    }

    /// Returns the source in use.
    #[must_use]
    pub fn source(&self) -> TimestampSource {
        self.source
    }

    /// A timestamp to read at: what has committed is visible, what commits from now on is not.
    /// Reads that follow in program order happen after it.
    #[inline]
    #[must_use]
    pub fn snapshot(&self) -> Timestamp {
        match self.source {
            TimestampSource::TimeStampCounter => Timestamp(ordered_tsc()),
            // SeqCst: the increment is what separates this snapshot from every later commit.
            TimestampSource::Counter => Timestamp(self.counter.fetch_add(1, Ordering::SeqCst)),
        }
    }

    /// A timestamp to commit at. What the thread wrote before is visible to every thread that
    /// obtains a greater snapshot, so a version marked as committing before this call cannot be
    /// overlooked.
    #[inline]
    #[must_use]
    pub fn commit(&self) -> Timestamp {
        // SeqCst: drains the stores that announce the commit before the timestamp is read; pairs
        // with the load that a reader does after its snapshot.
        fence(Ordering::SeqCst);
        match self.source {
            TimestampSource::TimeStampCounter => Timestamp(ordered_tsc()),
            TimestampSource::Counter => Timestamp(self.counter.load(Ordering::SeqCst)),
        }
    }

    /// Makes every `commit()` begun from now on greater than each that has returned. Commits
    /// without a snapshot in between may be equal otherwise, if the source is the counter.
    #[inline]
    pub fn advance(&self) {
        match self.source {
            TimestampSource::TimeStampCounter => {}
            TimestampSource::Counter => {
                self.counter.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

impl Default for Timestamps {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads the counter after all earlier loads and before all later instructions. Two calls of which
/// one happens before the other differ: passing a cache line between CPUs, and even the fences
/// themselves, take longer than a tick and longer than the skew the kernel tolerates.
#[inline]
fn ordered_tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_lfence, _rdtsc};
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_lfence() };
        // SAFETY: as in `now_ticks`.
        let ticks = unsafe { _rdtsc() };
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_lfence() };
        ticks
    }
    #[cfg(not(target_arch = "x86_64"))]
    unreachable!("only x86-64 uses the time stamp counter as a timestamp")
}

/// Whether the kernel's own clock is the time stamp counter.
fn kernel_trusts_tsc() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string(SOURCE).is_ok_and(|name| name.trim() == "tsc")
}
