//! `History`: the closed books of earlier moments, from which any two can be compared later.
//!
//! A background task remembers once a second. What is older is kept less densely, so that memory is
//! bounded: by the second for two minutes, by ten seconds for an hour, by the minute for four hours.

use std::collections::VecDeque;
use std::sync::Arc;

use sos::ledger::{Ledger, Source};
use sos::lock::{SpinClass, SpinLock};
use sos::sys::MachineCpu;
use types::date::Moment;

use super::packed::PackedRows;

/// How often [`History::remember`] is to be called, in seconds.
pub const PERIOD_SECONDS: u64 = 1;

/// Each density: moments between two that are kept, and how many are kept.
const DENSITIES: [(u64, usize); 3] = [(1, 120), (10, 360), (60, 256)];
/// The density by the minute.
const MINUTES: usize = 2;

/// The closed books of one moment.
#[derive(Debug)]
pub struct Remembered {
    /// When, in UTC.
    pub at: Moment,
    /// When, in ms of the machine's monotonic clock.
    pub ms: u64,
    /// How time off the CPU was told from time on it.
    pub source: Source,
    /// All time of all threads since the start.
    pub rows: PackedRows,
    /// CPU time of the process since its start.
    pub process_cpu_ns: u64,
    /// CPU time of the machine since it started; none if the kernel does not say.
    pub machine_cpu: Option<MachineCpu>,
}

/// Moments kept, oldest first, by density.
#[derive(Default)]
struct Kept {
    count: u64,
    by_density: [VecDeque<Arc<Remembered>>; DENSITIES.len()],
}

/// The closed books of earlier moments.
pub struct History {
    kept: SpinLock<Kept>,
}

impl Default for History {
    fn default() -> Self {
        Self { kept: SpinLock::new(SpinClass::ServerOther, Kept::default()) }
    }
}

impl Remembered {
    /// Makes what there is to remember of just closed books.
    pub fn of(ledger: Ledger) -> Self {
        let cpu = sos::sys::cpu_times();
        Self {
            at: crate::exec::clock(),
            ms: sos::clock::monotonic_ns() / 1_000_000,
            source: ledger.source,
            rows: PackedRows::of(&ledger.rows),
            process_cpu_ns: cpu.user_ns + cpu.kernel_ns,
            machine_cpu: sos::sys::machine_cpu(),
        }
    }
}

impl History {
    /// Keeps a moment.
    pub fn remember(&self, mut moment: Remembered) {
        let last = self.kept.lock().by_density[0].back().map(Arc::clone);
        if let Some(last) = last {
            moment.rows.share_with(&last.rows);
        }
        let moment = Arc::new(moment);
        let mut dropped = Vec::new();
        let mut kept = self.kept.lock();
        let count = kept.count;
        kept.count += 1;
        for ((each, most), ring) in DENSITIES.iter().zip(&mut kept.by_density) {
            if count.is_multiple_of(*each) {
                ring.push_back(Arc::clone(&moment));
                dropped.extend((ring.len() > *most).then(|| ring.pop_front()).flatten());
            }
        }
        drop(kept);
        // Freed behind the lock.
        drop(dropped);
    }

    /// Returns the moment nearest to a time; none if there is none yet.
    pub fn nearest(&self, time: Moment) -> Option<Arc<Remembered>> {
        let distance = |moment: &Arc<Remembered>| instant(moment.at).abs_diff(instant(time));
        let kept = self.kept.lock();
        kept.by_density.iter().flatten().min_by_key(|moment| distance(moment)).map(Arc::clone)
    }

    /// Returns what was kept by the minute, oldest first.
    pub fn minutes(&self) -> Vec<Arc<Remembered>> {
        self.kept.lock().by_density[MINUTES].iter().map(Arc::clone).collect()
    }
}

/// A moment as 100 ns since 0001-01-01.
fn instant(moment: Moment) -> i64 {
    let (days, ticks) = moment.to_utc();
    i64::from(days) * types::date::TICKS_PER_DAY + ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(second: u64) -> Remembered {
        Remembered {
            at: Moment::from_unix(i64::try_from(second).unwrap_or(0), 0),
            ms: second * 1_000,
            source: Source::WallOnly,
            rows: PackedRows::of(&[]),
            process_cpu_ns: 0,
            machine_cpu: None,
        }
    }

    #[test]
    fn old_moments_are_kept_less_densely() {
        let history = History::default();
        for second in 0..30_000 {
            history.remember(moment(second));
        }
        let found = |second| {
            let time = Moment::from_unix(second, 0);
            history.nearest(time).map(|found| found.ms / 1_000)
        };
        assert_eq!(found(29_950), Some(29_950), "by the second");
        assert_eq!(found(28_004), Some(28_000), "by ten seconds");
        assert_eq!(found(20_000), Some(19_980), "by the minute");
        assert_eq!(found(0), Some(30_000 - 256 * 60), "as old as it gets");
        assert_eq!(found(40_000), Some(29_999), "as new as it gets");
        assert_eq!(history.minutes().len(), 256);
    }
}
