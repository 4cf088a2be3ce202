//! The dispatcher: takes filled buffers from the partitions and gives their records to the targets,
//! in the order in which they were fired.
//!
//! It is one thread per instance, which runs as long as there is a session. It drains a session
//! when its latency is over or a buffer is half full. Its time is booked as observation.
//!
//! ```text
//!   the cut ── partition 1 is exchanged ── partition 2 is exchanged ─► records up to the cut are
//!                     records fired since the cut are held until the next time ┘      delivered
//! ```
//!
//! A thread whose partition is full writes to another one. So a buffer that is exchanged late may
//! have an event that came after one in a buffer that will only be exchanged the next time.

use std::time::Duration;

use super::emitter::silently;
use super::filling::Filling;
use super::hub::Hub;
use super::layout::{Layout, Use};
use super::partition::{Partition, table};
use super::record::Record;
use super::session::{Body, Session};
use super::target::RecordTarget;
use crate::clock;
use crate::ledger::{self, State};
use crate::lock::WriteLatchGuard;
use crate::memory::{self, TIDY_NS};
use crate::sched::{self, Unblocked};
use crate::sync::{Arc, Ordering};
use crate::sys;
use crate::wait::WaitType;

/// The buffers that were taken from the partitions, to be exchanged again the next time.
#[derive(Debug)]
pub(super) struct Drain {
    /// For each partition, the one for large events last: the buffer, and its used bytes.
    spares: Vec<(Box<[u8]>, usize)>,
    /// Records that were fired after the cut, while the buffers were exchanged, in order.
    held: Vec<u8>,
    /// The monotonic time of the last drain, in ns.
    last_ns: u64,
}

impl Drain {
    /// Makes the second buffer of each partition.
    pub(super) fn new(layout: &Layout) -> Self {
        let spare = |bytes: usize| (table(bytes), 0);
        let mut spares = Vec::new();
        match layout.becomes {
            Use::Scratch => {}
            // A recorder's contents are copied when a reader asks, into memory allocated then.
            Use::Recorder => spares.extend((0..layout.partitions).map(|_| spare(0))),
            Use::HandedOn => {
                spares.extend((0..layout.partitions).map(|_| spare(layout.buffer_bytes)));
            }
        }
        if layout.large_bytes > 0 {
            spares.push(spare(layout.large_bytes));
        }
        Self { spares, held: Vec::new(), last_ns: clock::monotonic_ns() }
    }
}

impl Session {
    fn all_partitions(&self) -> impl Iterator<Item = &Partition> {
        self.partitions.iter().map(|p| &**p).chain(self.large.as_deref())
    }

    /// The number of buffers with records.
    pub(super) fn pending_buffers(&self) -> u64 {
        let is_used = |partition: &&Partition| {
            partition.filling.try_with(|filling| filling.is_used()).unwrap_or(true)
        };
        self.all_partitions().filter(is_used).count() as u64
    }

    /// The monotonic time when its buffers are due; `None` if only when they are full.
    fn due_ns(&self, last_ns: u64) -> Option<u64> {
        let latency = self.spec.options.max_dispatch_latency?;
        (self.keeps_records && latency > Duration::ZERO)
            .then(|| last_ns.saturating_add(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX)))
    }

    fn is_rung(&self) -> bool {
        let is_rung = |filling: &mut Filling| filling.is_rung();
        self.all_partitions().any(|p| p.filling.try_with(is_rung).unwrap_or(false))
    }

    /// Drains the session if it is due; returns when it is due next.
    fn tend(&self, now_ns: u64) -> Option<u64> {
        let last_ns = self.drain.read().last_ns;
        let due_ns = self.due_ns(last_ns);
        if due_ns.is_some_and(|due| due <= now_ns) || self.is_rung() {
            self.drain();
            return self.due_ns(clock::monotonic_ns());
        }
        due_ns
    }

    /// Takes the records from the buffers and gives them to the targets: all that were published
    /// before.
    pub(super) fn drain(&self) {
        self.drain_up_to(clock::now_ticks_ordered());
    }

    /// As [`Self::drain`], including the records held; for a session that gets no more events.
    pub(super) fn drain_all(&self) {
        self.drain_up_to(u64::MAX);
    }

    fn drain_up_to(&self, cut: u64) {
        silently(|| {
            let mut drain = self.drain.write();
            drain.last_ns = clock::monotonic_ns();
            if !self.keeps_records {
                return;
            }
            let anchor = Anchor::now();
            let mut overwritten = 0;
            for (partition, spare) in self.all_partitions().zip(&mut drain.spares) {
                overwritten +=
                    partition.filling.with(sys::yield_cpu, |filling| filling.take(spare));
            }
            self.deliver(&mut drain, anchor, cut, overwritten);
            if self.layout.becomes == Use::Recorder {
                drain
                    .spares
                    .iter_mut()
                    .take(self.partitions.len())
                    .for_each(|spare| *spare = Default::default());
            }
        });
    }

    fn deliver(&self, drain: &mut Drain, anchor: Anchor, cut: u64, overwritten: u64) {
        let held = std::mem::take(&mut drain.held);
        let mut rests: Vec<&[u8]> = drain.spares.iter().map(|(b, used)| &b[..*used]).collect();
        rests.push(&held);
        if rests.iter().all(|rest| rest.is_empty()) {
            return;
        }
        let started = clock::now_ticks();
        let mut open: Vec<(usize, WriteLatchGuard<'_, RecordTarget>)> = Vec::new();
        for (at, target) in self.targets.iter().enumerate() {
            if let Body::Records(records) = &target.body {
                let mut target = records.write();
                target.pass_over(overwritten);
                open.push((at, target));
            }
        }
        while let Some((record, from)) = earliest(&rests) {
            rests[from] = &rests[from][record.bytes().len()..];
            if record.time() > cut {
                drain.held.extend_from_slice(record.bytes());
                continue;
            }
            let Some(event) = self.events.get(record.event()) else { continue };
            let time = anchor.utc_100ns(record.time());
            for (_, target) in &mut open {
                target.receive(&event.shape, record, time);
            }
        }
        for (at, mut target) in open {
            target.finish();
            let ticks = clock::now_ticks().saturating_sub(started);
            let target = &self.targets[at];
            // Relaxed: counts that order nothing.
            target.executions.fetch_add(1, Ordering::Relaxed);
            target.execution_ns.fetch_add(clock::ticks_to_ns(ticks), Ordering::Relaxed);
        }
    }
}

/// The record that was fired first, and the index of its buffer. Each buffer is in order.
fn earliest<'a>(rests: &[&'a [u8]]) -> Option<(Record<'a>, usize)> {
    let mut first: Option<(Record<'a>, usize)> = None;
    for (at, rest) in rests.iter().enumerate() {
        if let Some((record, _)) = Record::take(rest)
            && first.is_none_or(|(other, _)| record.time() < other.time())
        {
            first = Some((record, at));
        }
    }
    first
}

/// The same moment on both clocks.
#[derive(Clone, Copy)]
struct Anchor {
    ticks: u64,
    utc_100ns: u64,
}

impl Anchor {
    fn now() -> Self {
        Self { ticks: clock::now_ticks(), utc_100ns: clock::utc_100ns() }
    }

    fn utc_100ns(self, ticks: u64) -> u64 {
        if ticks <= self.ticks {
            self.utc_100ns.saturating_sub(clock::ticks_to_ns(self.ticks - ticks) / 100)
        } else {
            self.utc_100ns.saturating_add(clock::ticks_to_ns(ticks - self.ticks) / 100)
        }
    }
}

/// The body of the dispatcher thread; returns when the instance has no session.
pub(super) fn run(hub: &Arc<Hub>) {
    ledger::to(State::Observing);
    silently(|| {
        let mut is_tidy = false;
        while let Some(sessions) = hub.sessions_or_leave() {
            let now_ns = clock::monotonic_ns();
            let dues = sessions.iter().filter_map(|session| session.tend(now_ns));
            let due_ns = dues.min().unwrap_or(u64::MAX);
            drop(sessions);
            let quiet_ns = if is_tidy { u64::MAX } else { now_ns + TIDY_NS };
            sched::blocking(WaitType::XeDispatcher, || {
                hub.wait(Some(due_ns.min(quiet_ns)).filter(|&until_ns| until_ns < u64::MAX));
                Unblocked::Now
            });
            is_tidy = quiet_ns < due_ns && clock::monotonic_ns() >= quiet_ns;
            if is_tidy {
                memory::tidy();
            }
        }
    });
}
