//! What was sampled, added up by stack and by all that a record carries.

use std::collections::BTreeMap;

use super::recorder::{ALLOCATION, WAIT};
use super::ring::Record;
use crate::clock;
use crate::ledger::{Account, Label, State};
use crate::memory::MemoryClerk;
use crate::stack::{Fill, StackId};
use crate::sync::Arc;
use crate::wait::WaitType;

/// Rows of each kind at most; what comes after is counted.
const ROWS_MAX: usize = 1 << 16;

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
    /// Records that found no room in the books.
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

type Cpu = (StackId, u32, Label, State, u64);
type Waited = (StackId, WaitType, Label, u64);
type Allocated = (StackId, MemoryClerk, Label, u64);

/// The sums. In trees, which grow by some rows at a time: a table that doubles would be filled again under the lock.
#[derive(Debug, Default)]
pub(super) struct Books {
    cpu: BTreeMap<Cpu, u64>,
    waits: BTreeMap<Waited, (u64, u64)>,
    allocations: BTreeMap<Allocated, (u64, u64)>,
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
        let Self { cpu, waits, allocations, counts, .. } = self;
        let mut unkept = 0;
        let tick = |record: Record| {
            counts.cpu += 1;
            counts.periods += record.weight;
            let state = State::of_cell(record.subject);
            let key = (record.stack, thread.number(), label(record), state, record.statement);
            match room(cpu, key) {
                Some(sum) => *sum += record.weight,
                None => unkept += 1,
            }
        };
        let mut unkept_events = 0;
        let event = |record: Record| {
            let at = usize::from(record.subject);
            let sum = match record.kind {
                WAIT => {
                    counts.waits += 1;
                    let wait_type = WaitType::ALL[at % WaitType::COUNT];
                    room(waits, (record.stack, wait_type, label(record), record.statement))
                }
                ALLOCATION => {
                    counts.allocations += 1;
                    let clerk = MemoryClerk::ALL[at % MemoryClerk::COUNT];
                    room(allocations, (record.stack, clerk, label(record), record.statement))
                }
                kind => unreachable!("a record of kind {kind}"),
            };
            match sum {
                Some((count, weight)) => {
                    *count += 1;
                    *weight += record.weight;
                }
                None => unkept_events += 1,
            }
        };
        recorder.drain(tick, event);
        counts.unkept += unkept + unkept_events;
    }

    /// Takes in what a thread has left behind; its rows are those of ended threads from now on.
    pub(super) fn end(&mut self, thread: &Account) {
        self.collect(thread);
        let Some(recorder) = thread.recorder() else { return };
        self.lost += recorder.lost();
        self.handler_ticks += recorder.handler_ticks();
        let own: Vec<_> = self.cpu.extract_if(.., |key, _| key.1 == thread.number()).collect();
        for ((stack, _, label, state, statement), samples) in own {
            *self.cpu.entry((stack, 0, label, state, statement)).or_default() += samples;
        }
    }

    pub(super) fn cpu(&self) -> Vec<CpuSample> {
        let row = |(&(stack, thread, label, state, statement), &samples): (&Cpu, &u64)| CpuSample {
            stack,
            thread,
            label,
            state,
            statement,
            samples,
        };
        self.cpu.iter().map(row).collect()
    }

    pub(super) fn waits(&self) -> Vec<WaitSample> {
        let row =
            |(&(stack, wait_type, label, statement), &(samples, ns)): (&Waited, &(u64, u64))| {
                WaitSample { stack, wait_type, label, statement, samples, ns }
            };
        self.waits.iter().map(row).collect()
    }

    pub(super) fn allocations(&self) -> Vec<AllocationSample> {
        let row = |(&(stack, clerk, label, statement), &(samples, bytes)): (&Allocated, &_)| {
            AllocationSample { stack, clerk, label, statement, samples, bytes }
        };
        self.allocations.iter().map(row).collect()
    }

    /// What the books say of how the sampler works.
    pub(super) fn health(&self, threads: &[Arc<Account>], cpu_ns: u64) -> SamplerHealth {
        let recorders = || threads.iter().filter_map(|thread| thread.recorder());
        let handler_ticks: u64 = recorders().map(|recorder| recorder.handler_ticks()).sum();
        let (from_ns, from_periods) = self.from;
        let seconds = cpu_ns.saturating_sub(from_ns) as f64 / 1e9;
        let periods = self.counts.periods - from_periods;
        SamplerHealth {
            delivered_hz: if seconds > 0.0 { periods as f64 / seconds } else { 0.0 },
            cpu_samples: self.counts.cpu,
            cpu_periods: self.counts.periods,
            wait_samples: self.counts.waits,
            allocation_samples: self.counts.allocations,
            lost: self.lost + recorders().map(|recorder| recorder.lost()).sum::<u64>(),
            unkept: self.counts.unkept,
            timers: recorders().filter(|recorder| recorder.has_timer()).count() as u64,
            handler_ns: clock::ticks_to_ns(self.handler_ticks + handler_ticks),
            ..SamplerHealth::default()
        }
    }
}

fn label(record: Record) -> Label {
    Label::ALL[usize::from(record.label) % Label::COUNT]
}

/// The sum of a key; none if it would be one row too many.
fn room<K: Ord, S: Default>(sums: &mut BTreeMap<K, S>, key: K) -> Option<&mut S> {
    if sums.len() >= ROWS_MAX && !sums.contains_key(&key) {
        return None;
    }
    Some(sums.entry(key).or_default())
}
