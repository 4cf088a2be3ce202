//! `History`: snapshots of the closed ledger at earlier times, any two of which can be compared
//! later.
//!
//! A background task takes one every second. Older snapshots are kept less densely, so that memory
//! is bounded: each second for two minutes, each ten seconds for an hour, each minute for four
//! hours.

use std::collections::VecDeque;

use sos::ledger::{Ledger, Source};
use sos::lock::{SpinClass, SpinLock};
use sos::sys::MachineCpu;
use types::date::Moment;

use super::packed::{PackedRows, RowKeys};

/// Interval at which [`History::remember`] must be called, in seconds.
pub const PERIOD_SECONDS: u64 = 1;

/// For each density: seconds between two snapshots, and the number of snapshots.
const DENSITIES: [(u64, usize); 3] = [(1, 120), (10, 360), (60, 256)];
/// Index of the density of one minute.
const MINUTES: usize = 2;

/// What is read together with a snapshot of the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Time of the snapshot, UTC.
    pub at: Moment,
    /// Time in ms of the machine's monotonic clock.
    pub ms: u64,
    /// How time off the CPU was distinguished from time on it.
    pub source: Source,
    /// CPU time of the process since its start, in ns.
    pub process_cpu_ns: u64,
    /// CPU time of the machine since its start; `None` if the kernel does not report it.
    pub machine_cpu: Option<MachineCpu>,
}

/// One snapshot of the closed ledger.
#[derive(Debug)]
pub struct Remembered {
    /// What was read together with the ledger.
    pub reading: Reading,
    /// Time of all threads since the start, by category.
    pub rows: PackedRows,
}

/// Snapshots of one density, oldest first. Their rows share one buffer: separate blocks, freed and
/// allocated in turns for hours, would fragment the heap.
#[derive(Default)]
struct Moments {
    readings: VecDeque<(Reading, RowKeys, usize)>,
    /// For each snapshot, as many bytes as its entry in `readings` says.
    numbers: VecDeque<u8>,
}

/// Snapshots of all densities.
#[derive(Default)]
struct Kept {
    count: u64,
    by_density: [Moments; DENSITIES.len()],
}

/// Snapshots of the closed ledger at earlier times.
pub struct History {
    kept: SpinLock<Kept>,
}

impl Default for History {
    fn default() -> Self {
        Self { kept: SpinLock::new(SpinClass::ServerOther, Kept::default()) }
    }
}

impl Remembered {
    /// Returns a snapshot of a ledger that has just been closed.
    pub fn of(ledger: Ledger) -> Self {
        let cpu = sos::sys::cpu_times();
        Self {
            reading: Reading {
                at: catalog::clock::clock(),
                ms: sos::clock::monotonic_ns() / 1_000_000,
                source: ledger.source,
                process_cpu_ns: cpu.user_ns + cpu.kernel_ns,
                machine_cpu: sos::sys::machine_cpu(),
            },
            rows: PackedRows::of(&ledger.rows),
        }
    }
}

impl Moments {
    /// Appends a snapshot; drops the oldest if there are more than `most`.
    fn push(&mut self, Remembered { reading, rows }: &Remembered, most: usize) {
        if self.readings.len() == most
            && let Some((.., oldest)) = self.readings.pop_front()
        {
            self.numbers.drain(..oldest);
        }
        // The row keys seldom change, so equal ones are shared.
        let last = self.readings.back().map(|(_, keys, _)| keys);
        let keys = last.filter(|keys| **keys == rows.keys).unwrap_or(&rows.keys).clone();
        self.readings.push_back((*reading, keys, rows.numbers.len()));
        self.numbers.extend(&rows.numbers);
    }

    /// Returns the snapshot nearest to a time, and its distance.
    fn nearest(&self, time: Moment) -> Option<(u64, Remembered)> {
        let mut begin = 0;
        let places = self.readings.iter().map(|(reading, keys, bytes)| {
            begin += bytes;
            (instant(reading.at).abs_diff(instant(time)), reading, keys, begin - bytes..begin)
        });
        let (distance, &reading, keys, place) = places.min_by_key(|(distance, ..)| *distance)?;
        let numbers = self.numbers.range(place).copied().collect();
        let rows = PackedRows { keys: keys.clone(), numbers };
        Some((distance, Remembered { reading, rows }))
    }
}

impl History {
    /// Adds a snapshot to each density that is due.
    pub fn remember(&self, moment: &Remembered) {
        let mut kept = self.kept.lock();
        let count = kept.count;
        kept.count += 1;
        for ((each, most), moments) in DENSITIES.iter().zip(&mut kept.by_density) {
            if count.is_multiple_of(*each) {
                moments.push(moment, *most);
            }
        }
    }

    /// Returns the snapshot nearest to a time; `None` if there is none yet.
    pub fn nearest(&self, time: Moment) -> Option<Remembered> {
        let kept = self.kept.lock();
        let nearest = kept.by_density.iter().filter_map(|moments| moments.nearest(time));
        nearest.min_by_key(|(distance, _)| *distance).map(|(_, moment)| moment)
    }

    /// Returns the readings of the density of one minute, oldest first.
    pub fn minutes(&self) -> Vec<Reading> {
        let kept = self.kept.lock();
        kept.by_density[MINUTES].readings.iter().map(|(reading, ..)| *reading).collect()
    }
}

/// Converts a time to 100 ns since 0001-01-01.
fn instant(moment: Moment) -> i64 {
    let (days, ticks) = moment.to_utc();
    i64::from(days) * types::date::TICKS_PER_DAY + ticks
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sos::ledger::{Category, LedgerRow};

    use super::*;

    fn moment(second: u64) -> Remembered {
        let reading = Reading {
            at: Moment::from_unix(i64::try_from(second).unwrap_or(0), 0),
            ms: second * 1_000,
            source: Source::WallOnly,
            process_cpu_ns: 0,
            machine_cpu: None,
        };
        // Rows with other names, and another number of rows, from time to time.
        let names =
            ["one", "two"].into_iter().take(1 + usize::from((second / 7).is_multiple_of(3)));
        let row = |name| LedgerRow {
            category: Category::User,
            name,
            wall_ns: second,
            on_cpu_ns: second,
            runnable_ns: 0,
            blocked_ns: 0,
            count: 1,
            error_ns: None,
        };
        Remembered { reading, rows: PackedRows::of(&names.map(row).collect::<Vec<_>>()) }
    }

    #[test]
    fn old_moments_are_kept_less_densely_and_with_their_own_rows() {
        let history = History::default();
        for second in 0..30_000 {
            history.remember(&moment(second));
        }
        let found = |second| {
            let time = Moment::from_unix(second, 0);
            let found = history.nearest(time)?;
            let second = found.reading.ms / 1_000;
            assert_eq!(found.rows.unpack(), moment(second).rows.unpack());
            Some(second)
        };
        assert_eq!(found(29_950), Some(29_950), "by the second");
        assert_eq!(found(28_004), Some(28_000), "by ten seconds");
        assert_eq!(found(20_000), Some(19_980), "by the minute");
        assert_eq!(found(0), Some(30_000 - 256 * 60), "as old as it gets");
        assert_eq!(found(40_000), Some(29_999), "as new as it gets");
        let minutes = history.minutes();
        assert!(minutes.is_sorted_by_key(|reading| reading.ms) && minutes.len() == 256);
        for moments in &history.kept.lock().by_density {
            let bytes: usize = moments.readings.iter().map(|(.., bytes)| bytes).sum();
            assert_eq!(moments.numbers.len(), bytes, "what is dropped leaves nothing behind");
            let neighbours = moments.readings.iter().zip(moments.readings.iter().skip(1));
            for ((_, before, _), (_, after, _)) in neighbours {
                assert_eq!(Arc::ptr_eq(before, after), before == after, "shared if it is the same");
            }
        }
    }
}
