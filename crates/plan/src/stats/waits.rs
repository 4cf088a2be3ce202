//! Waits of a statement by category, as `sys.query_store_wait_stats` names the categories.
//!
//! A statement's waits are the difference of its session's waits between two ends of statements,
//! taken only where the ledger says that the statement has waited.

use sos::ledger::SessionBooks;
use sos::wait::WaitType;

use super::cell::Tally;
use super::spend::{Part, Spend};

/// Number of wait categories.
pub const CATEGORIES: usize = 24;

/// Names of the categories, in the order of their numbers.
pub const CATEGORY_NAMES: [&str; CATEGORIES] = [
    "Unknown",
    "CPU",
    "Worker Thread",
    "Lock",
    "Latch",
    "Buffer Latch",
    "Buffer IO",
    "Compilation",
    "SQL CLR",
    "Mirroring",
    "Transaction",
    "Idle",
    "Preemptive",
    "Service Broker",
    "Tran Log IO",
    "Network IO",
    "Parallelism",
    "Memory",
    "User Wait",
    "Tracing",
    "Full Text Search",
    "Other Disk IO",
    "Replication",
    "Log Rate Governor",
];

/// The category of a wait for a CPU.
const CPU: usize = 1;

/// Returns the category of a wait type, as the page of the view lists them.
pub(super) const fn category(wait: WaitType) -> usize {
    match wait {
        WaitType::SchedulerYield => CPU,
        WaitType::ThreadPool => 2,
        WaitType::LockIntentShared
        | WaitType::LockIntentExclusive
        | WaitType::LockShared
        | WaitType::LockUpdate
        | WaitType::LockSharedIntentExclusive
        | WaitType::LockUpdateIntentExclusive
        | WaitType::LockExclusive
        | WaitType::LockRangeShared
        | WaitType::LockRangeUpdate
        | WaitType::LockRangeInsert
        | WaitType::LockRangeExclusive
        | WaitType::LockSchemaStability
        | WaitType::LockSchemaModify => 3,
        WaitType::LatchShared | WaitType::LatchExclusive => 4,
        WaitType::ResourceSemaphoreQueryCompile => 7,
        WaitType::SleepTask
        | WaitType::Shutdown
        | WaitType::XeDispatcher
        | WaitType::LogManagerQueue
        | WaitType::CheckpointQueue => 11,
        WaitType::PreemptiveOs | WaitType::PreemptiveFileOps | WaitType::PreemptiveCrypto => 12,
        WaitType::WriteLog | WaitType::LogBuffer => 14,
        WaitType::AsyncNetworkIo => 15,
        WaitType::CxPacket | WaitType::CxConsumer => 16,
        WaitType::ResourceSemaphore | WaitType::MemoryAllocation | WaitType::ReservedMemoryFree => {
            17
        }
        WaitType::WaitFor => 18,
        WaitType::IoCompletion | WaitType::AsyncIoCompletion => 21,
        WaitType::WorkDispatcher
        | WaitType::XtpTransactionDependency
        | WaitType::XtpCheckpoint
        | WaitType::XtpRecovery
        | WaitType::XeBufferFree
        | WaitType::Accept
        | WaitType::LoginDelay
        | WaitType::BulkRead
        | WaitType::ConsoleIdle
        | WaitType::InjectedDelay => 0,
    }
}

/// What a session's meter has seen of the session's waits, in ticks by category.
#[derive(Debug, Default)]
pub(super) struct SeenWaits([u64; CATEGORIES]);

impl SeenWaits {
    /// Returns the waits since the last call, by category: those of a statement whose time is
    /// `spend`. Time in which another process had the CPU counts as waiting for the CPU. `None` if
    /// the session has waited more than the statement has, because earlier statements were not
    /// looked at.
    pub(super) fn since(
        &mut self,
        books: &SessionBooks,
        spend: &Spend,
    ) -> Option<[u64; CATEGORIES]> {
        let mut now = [0; CATEGORIES];
        books.each_wait(|wait, ticks| now[category(wait)] += ticks);
        let before = std::mem::replace(&mut self.0, now);
        // Less than before: the connection was reset.
        let mut new: [u64; CATEGORIES] =
            std::array::from_fn(|at| now[at].checked_sub(before[at]).unwrap_or(now[at]));
        let waited = spend.shown(Part::ResourceWait) + spend.shown(Part::SignalWait);
        if new.iter().sum::<u64>() > waited + waited / 8 + SLACK_TICKS {
            return None;
        }
        new[CPU] += spend.shown(Part::Runnable);
        Some(new)
    }
}

/// Ticks by which the session's waits may exceed the statement's: their edges are not the same.
const SLACK_TICKS: u64 = 1 << 20;

/// Waits of one category.
#[derive(Debug, Default)]
struct WaitSum {
    executions: Tally,
    total: Tally,
    last: Tally,
    epoch: Tally,
    distance: Tally,
    most: Tally,
    /// Sum of squares, as the bits of a floating point number.
    squares: Tally,
}

/// What one worker has counted of the waits of one statement.
#[derive(Debug, Default)]
pub(super) struct WaitCells([WaitSum; CATEGORIES]);

impl WaitCells {
    #[expect(clippy::cast_precision_loss, reason = "a standard deviation needs no 64 bits")]
    pub(super) fn book(&self, epoch: u64, ticks: &[u64; CATEGORIES]) {
        for (sum, &ticks) in self.0.iter().zip(ticks).filter(|(_, ticks)| **ticks > 0) {
            if sum.epoch.get() != epoch {
                sum.epoch.set(epoch);
                sum.distance.set(0);
                sum.most.set(0);
            }
            sum.executions.add(1);
            sum.total.add(ticks);
            sum.last.set(ticks);
            sum.distance.set(sum.distance.get().max(u64::MAX - ticks));
            sum.most.set(sum.most.get().max(ticks));
            let squares = f64::from_bits(sum.squares.get()) + ticks as f64 * ticks as f64;
            sum.squares.set(squares.to_bits());
        }
    }

    /// Adds the counts to the sums over all workers; extremes only of one epoch.
    pub(super) fn add_to(&self, epoch: u64, totals: &mut WaitTotals) {
        for (sum, total) in self.0.iter().zip(&mut totals.0) {
            let executions = sum.executions.get();
            if executions == 0 {
                continue;
            }
            total.executions += executions;
            total.ticks += sum.total.get();
            total.squares += f64::from_bits(sum.squares.get());
            total.last = sum.last.get();
            if sum.epoch.get() == epoch {
                let least = u64::MAX - sum.distance.get();
                let known = total.extremes.unwrap_or((least, 0));
                total.extremes = Some((known.0.min(least), known.1.max(sum.most.get())));
            }
        }
    }

    pub(super) fn clear(&self) {
        for sum in &self.0 {
            let counts = [&sum.executions, &sum.total, &sum.last, &sum.epoch];
            counts
                .into_iter()
                .chain([&sum.distance, &sum.most, &sum.squares])
                .for_each(|t| t.set(0));
        }
    }
}

/// Waits of a statement by category, over all workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitTotals(pub [WaitTotal; CATEGORIES]);

/// Waits of a statement in one category, over all workers. Times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitTotal {
    /// Executions that have waited.
    pub executions: u64,
    /// Time that they have waited.
    pub ticks: u64,
    /// Time that the last one of a worker has waited.
    pub last: u64,
    /// Shortest and longest wait of an execution in the epoch that was asked for.
    pub extremes: Option<(u64, u64)>,
    /// The sum of the squares of the times.
    pub squares: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_those_of_the_page() {
        let of = |name: &str| {
            let wait = WaitType::ALL.iter().find(|wait| wait.name() == name);
            CATEGORY_NAMES[category(*wait.expect("a wait type"))]
        };
        for (name, expected) in [
            ("LCK_M_X", "Lock"),
            ("LCK_M_RS_U", "Lock"),
            ("WAITFOR", "User Wait"),
            ("ASYNC_NETWORK_IO", "Network IO"),
            ("SOS_SCHEDULER_YIELD", "CPU"),
            ("RESOURCE_SEMAPHORE", "Memory"),
            ("WRITELOG", "Tran Log IO"),
            ("CXPACKET", "Parallelism"),
            ("LATCH_EX", "Latch"),
            ("SLEEP_TASK", "Idle"),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }

    #[test]
    fn extremes_are_of_the_epoch_and_sums_of_all() {
        let cells = WaitCells::default();
        let lock = |ticks| {
            let mut waits = [0; CATEGORIES];
            waits[3] = ticks;
            waits
        };
        for (epoch, ticks) in [(1, 9), (2, 3), (2, 5)] {
            cells.book(epoch, &lock(ticks));
        }
        let mut totals = WaitTotals::default();
        cells.add_to(2, &mut totals);
        let of = totals.0[3];
        assert_eq!((of.executions, of.ticks, of.last, of.extremes), (3, 17, 5, Some((3, 5))));
        assert_eq!(totals.0[0], WaitTotal::default());
    }
}
