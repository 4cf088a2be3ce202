//! `MemoryHealth`: how well the server has been provided with memory, for
//! `sys.dm_os_memory_health_history`: a snapshot every 15 seconds, the last 256 of them.

use std::collections::VecDeque;

use sos::lock::{SpinClass, SpinLock};
use sos::memory;
use types::date::Moment;

use crate::grant::WorkspaceNow;

/// Seconds between two snapshots, and how many are kept: as in SQL Server.
const EACH_SECONDS: u64 = 15;
const SNAPSHOTS_MAX: usize = 256;
/// Number of clerks that a snapshot names.
const CLERKS_MAX: usize = 5;
/// With less than this share of the limit free, in percent, memory is scarce.
const SCARCE_PERCENT: u64 = 5;

/// How likely it is that memory is insufficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// No problem with memory is seen.
    Low,
    /// Little is free, or a query waits for memory or has waited in vain.
    Medium,
    /// A request has been refused memory since the snapshot before.
    High,
}

/// A snapshot of the server's memory.
#[derive(Clone, Debug)]
pub struct MemorySnapshot {
    /// Time of the snapshot, UTC.
    pub at: Moment,
    /// How likely it is that memory is insufficient.
    pub severity: Severity,
    /// Bytes that may still be taken.
    pub free_bytes: u64,
    /// Bytes of caches that are dropped when memory is needed.
    pub cache_bytes: u64,
    /// The clerks with the most bytes, the largest first.
    pub clerks: Vec<(&'static str, u64)>,
    /// Requests that were refused memory since the snapshot before.
    pub refused: u64,
    /// Queries whose wait for memory has timed out since then.
    pub timed_out: u64,
    /// Queries that wait for memory now.
    pub waiting: u32,
}

/// The snapshots of an instance.
#[derive(Debug)]
pub struct MemoryHealth(SpinLock<Kept>);

#[derive(Debug, Default)]
struct Kept {
    seconds: u64,
    /// Sums since the start at the last snapshot: refusals, and waits that timed out.
    before: [u64; 2],
    snapshots: VecDeque<MemorySnapshot>,
}

impl Default for MemoryHealth {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::ServerOther, Kept::default()))
    }
}

impl MemoryHealth {
    /// Takes a snapshot if one is due; called every second.
    pub fn tick(&self, queries: &WorkspaceNow) {
        let before = {
            let mut kept = self.0.lock();
            kept.seconds += 1;
            if !(kept.seconds - 1).is_multiple_of(EACH_SECONDS) {
                return;
            }
            kept.before
        };
        let sums = [memory::refusals(), queries.timed_out];
        let snapshot = MemorySnapshot::now(queries, sums, before);
        let mut kept = self.0.lock();
        kept.before = sums;
        if kept.snapshots.len() == SNAPSHOTS_MAX {
            kept.snapshots.pop_front();
        }
        kept.snapshots.push_back(snapshot);
    }

    /// Returns the snapshots, oldest first.
    pub fn snapshots(&self) -> Vec<MemorySnapshot> {
        self.0.lock().snapshots.iter().cloned().collect()
    }
}

impl MemorySnapshot {
    fn now(queries: &WorkspaceNow, sums: [u64; 2], before: [u64; 2]) -> Self {
        let mut clerks = memory::clerks();
        clerks.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        let is_cache = |name: &str| name.starts_with("CACHESTORE_");
        let caches = clerks.iter().filter(|row| is_cache(row.clerk.name()));
        let cache_bytes = caches.map(|row| row.bytes).sum();
        let limit = memory::limit_bytes();
        let free_bytes = limit.saturating_sub(memory::used_bytes());
        let [refused, timed_out] = [0, 1].map(|place| sums[place].saturating_sub(before[place]));
        let is_scarce = free_bytes < limit / 100 * SCARCE_PERCENT;
        let severity = match (refused, timed_out, queries.waiting) {
            (1.., ..) => Severity::High,
            (0, 0, 0) if !is_scarce => Severity::Low,
            _ => Severity::Medium,
        };
        let largest = clerks.iter().take(CLERKS_MAX).filter(|row| row.bytes > 0);
        Self {
            at: catalog::clock::clock(),
            severity,
            free_bytes,
            cache_bytes,
            clerks: largest.map(|row| (row.clerk.name(), row.bytes)).collect(),
            refused,
            timed_out,
            waiting: queries.waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(waiting: u32, timed_out: u64) -> WorkspaceNow {
        WorkspaceNow { limit: 0, used: 0, holding: 0, waiting, granted: 0, timed_out, refused: 0 }
    }

    #[test]
    fn a_snapshot_is_taken_every_fifteen_seconds_and_the_last_ones_are_kept() {
        let health = MemoryHealth::default();
        for second in 0..30 {
            health.tick(&queries(0, 0));
            let wanted = if second < 15 { 1 } else { 2 };
            assert_eq!(health.snapshots().len(), wanted, "second {second}");
        }
        for _ in 0..300 * EACH_SECONDS {
            health.tick(&queries(0, 0));
        }
        let kept = health.snapshots();
        assert_eq!(kept.len(), SNAPSHOTS_MAX);
        assert!(kept[0].clerks.is_sorted_by_key(|(_, bytes)| std::cmp::Reverse(*bytes)));
    }

    #[test]
    fn severity_follows_waits_and_refusals_of_the_interval() {
        let severity = |queries: WorkspaceNow, sums, before| {
            MemorySnapshot::now(&queries, sums, before).severity
        };
        assert_eq!(severity(queries(1, 0), [4, 0], [4, 0]), Severity::Medium, "a query waits");
        assert_eq!(severity(queries(0, 3), [4, 3], [4, 2]), Severity::Medium, "one timed out");
        assert_eq!(severity(queries(0, 3), [5, 3], [4, 3]), Severity::High, "one was refused");
    }
}
