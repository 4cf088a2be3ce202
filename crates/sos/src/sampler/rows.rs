//! What was sampled, as views show it, and how well.

use super::recorder::{ALLOCATION, CPU, WAIT};
use super::ring::Record;
use super::sums::{Kept, Place, Sum, Sums};
use crate::clock;
use crate::ledger::{Account, Label, State};
use crate::memory::MemoryClerk;
use crate::stack::{Fill, StackId};
use crate::sync::Arc;
use crate::wait::WaitType;

/// CPU time seen in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// Where.
    pub stack: StackId,
    /// The thread's number in the ledger; 0 for threads that have ended.
    pub thread: u32,
    /// What the thread was busy with.
    pub label: Label,
    /// The state it was in.
    pub state: State,
    /// The statement that it ran, as [`crate::ledger::set_statement`] was told; 0 for none.
    pub statement: u64,
    /// Periods of the timer.
    pub samples: u64,
}

/// Waits seen in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSample {
    /// Where.
    pub stack: StackId,
    /// What for.
    pub wait_type: WaitType,
    /// What the thread was busy with.
    pub label: Label,
    /// The statement that it ran; 0 for none.
    pub statement: u64,
    /// Waits that were sampled.
    pub samples: u64,
    /// Their time, and that of those they stand for.
    pub ns: u64,
}

/// Allocations seen in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationSample {
    /// Where.
    pub stack: StackId,
    /// On whose books.
    pub clerk: MemoryClerk,
    /// What the thread was busy with.
    pub label: Label,
    /// The statement that it ran; 0 for none.
    pub statement: u64,
    /// Allocations that were sampled.
    pub samples: u64,
    /// Their bytes, and those of the ones they stand for.
    pub bytes: u64,
}

/// How well the sampler works.
#[derive(Clone, Debug, Default)]
pub struct SamplerHealth {
    /// The rate that was asked for, per second of CPU time.
    pub rate_hz: u32,
    /// Periods that were seen, per second of CPU time of the whole process, since the rate was set.
    pub delivered_hz: f64,
    /// Samples of CPU time.
    pub cpu_samples: u64,
    /// Periods that they stand for: more where the kernel came late.
    pub cpu_periods: u64,
    /// Samples of waits.
    pub wait_samples: u64,
    /// Samples of allocations.
    pub allocation_samples: u64,
    /// Records that found no room in their ring.
    pub lost: u64,
    /// Places that the books have: a stack, and all else that samples have in common which are
    /// added up.
    pub places: u64,
    /// Places that they have room for; a sample of another counts at its nearest caller.
    pub places_max: u64,
    /// Samples that were counted so.
    pub coarse: u64,
    /// Samples for whose callers there was no room either.
    pub unkept: u64,
    /// Threads that have a timer.
    pub timers: u64,
    /// Timers that the system has refused to make or set.
    pub refused: u64,
    /// Why the first one was.
    pub refusal: Option<String>,
    /// What the handler has taken, in ns.
    pub handler_ns: u64,
    /// The table of stacks.
    pub stacks: Fill,
}

/// The books: the sums, and what tells how well they were taken.
#[derive(Debug, Default)]
pub(super) struct Books {
    sums: Sums,
    counts: Counts,
    /// Of threads that have ended.
    lost: u64,
    handler_ticks: u64,
    /// The process's CPU time, and the periods, when the rate was set.
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

impl Books {
    /// Measures the delivered rate from now on.
    pub(super) fn begin(&mut self, cpu_ns: u64) {
        self.from = (cpu_ns, self.counts.periods);
    }

    /// Takes in what a thread has recorded.
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

    /// Takes in what a thread has left behind; its rows are those of ended threads from now on.
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

    /// What the books say of how the sampler works.
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
