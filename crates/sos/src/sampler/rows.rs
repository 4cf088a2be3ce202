//! The rows that views show of the samples, and the sums and counters they are made from.

use super::recorder::{ALLOCATION, CPU, WAIT};
use super::ring::Record;
use super::sums::{Kept, Place, Sum, Sums};
use crate::clock;
use crate::ledger::{Account, Label, State};
use crate::memory::MemoryClerk;
use crate::stack::{Fill, StackId};
use crate::sync::Arc;
use crate::wait::WaitType;

/// The CPU time sampled at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// The call stack of the samples.
    pub stack: StackId,
    /// The thread's number in the ledger; 0 for threads that have ended.
    pub thread: u32,
    /// The ledger label of the thread.
    pub label: Label,
    /// The ledger state of the thread.
    pub state: State,
    /// The statement that it ran, as given to [`crate::ledger::set_statement`]; 0 for none.
    pub statement: u64,
    /// The number of timer periods.
    pub samples: u64,
}

/// The waits sampled at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSample {
    /// The call stack of the samples.
    pub stack: StackId,
    /// The type of the waits.
    pub wait_type: WaitType,
    /// The ledger label of the thread.
    pub label: Label,
    /// The statement that it ran; 0 for none.
    pub statement: u64,
    /// The number of waits sampled.
    pub samples: u64,
    /// The estimated time (ns) of all waits that they stand for.
    pub ns: u64,
}

/// The allocations sampled at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationSample {
    /// The call stack of the samples.
    pub stack: StackId,
    /// The clerk that they are charged to.
    pub clerk: MemoryClerk,
    /// The ledger label of the thread.
    pub label: Label,
    /// The statement that it ran; 0 for none.
    pub statement: u64,
    /// The number of allocations sampled.
    pub samples: u64,
    /// The estimated bytes of all allocations that they stand for.
    pub bytes: u64,
}

/// The sampler's rates and losses.
#[derive(Clone, Debug, Default)]
pub struct SamplerHealth {
    /// The rate that was set, per second of CPU time.
    pub rate_hz: u32,
    /// Periods recorded per second of CPU time of the whole process, since the rate was set.
    pub delivered_hz: f64,
    /// The number of CPU samples.
    pub cpu_samples: u64,
    /// The periods that they stand for: more than the samples if signals came late.
    pub cpu_periods: u64,
    /// The number of wait samples.
    pub wait_samples: u64,
    /// The number of allocation samples.
    pub allocation_samples: u64,
    /// The number of records that found no room in their ring.
    pub lost: u64,
    /// The number of places in the table: a place is what samples that are added up have in common.
    pub places: u64,
    /// The places that the table has room for; a sample elsewhere counts at its nearest caller.
    pub places_max: u64,
    /// The number of samples counted at a caller.
    pub coarse: u64,
    /// The number of samples dropped, because there was no room for a caller either.
    pub unkept: u64,
    /// The number of threads that have a timer.
    pub timers: u64,
    /// The number of timers that the system has refused to make or set.
    pub refused: u64,
    /// The system's error for the first one.
    pub refusal: Option<String>,
    /// The time that the signal handler has taken, in ns.
    pub handler_ns: u64,
    /// How full the table of stacks is.
    pub stacks: Fill,
}

/// The sums, and the counters of the sampler's health.
#[derive(Debug, Default)]
pub(super) struct SampleSums {
    sums: Sums,
    counts: Counts,
    /// Records lost by threads that have ended.
    lost: u64,
    handler_ticks: u64,
    /// The process's CPU time (ns) and the periods when the rate was set.
    from: (u64, u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    cpu: u64,
    periods: u64,
    waits: u64,
    allocations: u64,
    coarse: u64,
    unkept: u64,
}

impl SampleSums {
    /// Begins a new measurement of the delivered rate.
    pub(super) fn begin(&mut self, cpu_ns: u64) {
        self.from = (cpu_ns, self.counts.periods);
    }

    /// Adds a thread's records.
    pub(super) fn collect(&mut self, thread: &Account) {
        let Some(recorder) = thread.recorder() else { return };
        recorder.drain(|record| self.take_in(record, thread.number()));
    }

    fn take_in(&mut self, record: Record, thread: u32) {
        let Record { stack, kind, subject, label, statement, weight } = record;
        match kind {
            CPU => {
                self.counts.cpu += 1;
                self.counts.periods += weight;
            }
            WAIT => self.counts.waits += 1,
            ALLOCATION => self.counts.allocations += 1,
            kind => unreachable!("a record of kind {kind}"),
        }
        let thread = if kind == CPU { thread } else { 0 };
        let place = Place { stack, thread, statement, kind, subject, label };
        match self.sums.add(&Sum { place, samples: 1, weight }) {
            Kept::InPlace => {}
            Kept::AtCaller => self.counts.coarse += 1,
            Kept::Not => self.counts.unkept += 1,
        }
    }

    /// Adds the last records of a thread that ends; its rows then count for thread 0.
    pub(super) fn end(&mut self, thread: &Account) {
        self.collect(thread);
        let Some(recorder) = thread.recorder() else { return };
        self.lost += recorder.lost();
        self.handler_ticks += recorder.handler_ticks();
        self.sums.end_thread(thread.number());
    }

    pub(super) fn cpu(&self) -> Vec<CpuSample> {
        let row = |&Sum { place, weight, .. }: &Sum| CpuSample {
            stack: place.stack,
            thread: place.thread,
            label: label(&place),
            state: State::of_cell(place.subject),
            statement: place.statement,
            samples: weight,
        };
        self.sums.of_kind(CPU).map(row).collect()
    }

    pub(super) fn waits(&self) -> Vec<WaitSample> {
        let row = |&Sum { place, samples, weight }: &Sum| WaitSample {
            stack: place.stack,
            wait_type: WaitType::ALL[usize::from(place.subject) % WaitType::COUNT],
            label: label(&place),
            statement: place.statement,
            samples,
            ns: weight,
        };
        self.sums.of_kind(WAIT).map(row).collect()
    }

    pub(super) fn allocations(&self) -> Vec<AllocationSample> {
        let row = |&Sum { place, samples, weight }: &Sum| AllocationSample {
            stack: place.stack,
            clerk: MemoryClerk::ALL[usize::from(place.subject) % MemoryClerk::COUNT],
            label: label(&place),
            statement: place.statement,
            samples,
            bytes: weight,
        };
        self.sums.of_kind(ALLOCATION).map(row).collect()
    }

    /// Returns the sampler's rates and losses.
    pub(super) fn health(&self, threads: &[Arc<Account>], cpu_ns: u64) -> SamplerHealth {
        let recorders = || threads.iter().filter_map(|thread| thread.recorder());
        let handler_ticks: u64 = recorders().map(|recorder| recorder.handler_ticks()).sum();
        let (from_ns, from_periods) = self.from;
        let seconds = cpu_ns.saturating_sub(from_ns) as f64 / 1e9;
        let periods = self.counts.periods - from_periods;
        let (places, places_max) = self.sums.fill();
        SamplerHealth {
            delivered_hz: if seconds > 0.0 { periods as f64 / seconds } else { 0.0 },
            cpu_samples: self.counts.cpu,
            cpu_periods: self.counts.periods,
            wait_samples: self.counts.waits,
            allocation_samples: self.counts.allocations,
            lost: self.lost + recorders().map(|recorder| recorder.lost()).sum::<u64>(),
            places,
            places_max,
            coarse: self.counts.coarse,
            unkept: self.counts.unkept,
            timers: recorders().filter(|recorder| recorder.has_timer()).count() as u64,
            handler_ns: clock::ticks_to_ns(self.handler_ticks + handler_ticks),
            ..SamplerHealth::default()
        }
    }
}

fn label(place: &Place) -> Label {
    Label::ALL[usize::from(place.label) % Label::COUNT]
}
