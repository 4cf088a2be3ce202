//! `Session`: a running event session: its events with their compiled predicates, its partitions,
//! and its targets.

use super::action::{ATTACH_ACTIVITY_ID, ATTACH_ACTIVITY_ID_XFER, Action, Reader};
use super::dispatch::Drain;
use super::error::XeError;
use super::event::{Blocking, Event};
use super::filling::{Enough, Filling};
use super::layout::{Layout, Use};
use super::moment::Moment;
use super::partition::{Partition, count};
use super::program::{Program, Sources};
use super::record::{Encoder, Record};
use super::report::{Drops, EventTotals};
use super::shape::Shape;
use super::spec::{EventSpec, Retention, SessionSpec, TargetSpec};
use super::target::file::EventFile;
use super::target::histogram::{Bucket, Histogram, HistogramPlan};
use super::target::pair::Pairs;
use super::target::ring::Ring;
use super::target::{RecordTarget, Target, TargetKind};
use super::value::Value;
use crate::clock;
use crate::lock::{LatchClass, RwLatch};
use crate::memory;
use crate::sync::{Arc, AtomicU64, CachePadded, Ordering};
use crate::sys;

/// A running event session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) spec: Arc<SessionSpec>,
    pub(super) created_100ns: u64,
    pub(super) events: Vec<SessionEvent>,
    pub(super) layout: Layout,
    pub(super) partitions: Box<[CachePadded<Partition>]>,
    pub(super) large: Option<Box<Partition>>,
    pub(super) targets: Vec<Arc<SessionTarget>>,
    /// Whether a target takes whole records.
    pub(super) keeps_records: bool,
    pub(super) drain: RwLatch<Drain>,
    pub(super) blocked_ns: AtomicU64,
    /// The counts from before the session was altered.
    pub(super) carried: Carried,
}

/// The counts of a session before it was altered.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    pub(super) events: Vec<(&'static Event, EventTotals)>,
    pub(super) drops: Drops,
    pub(super) blocked_ns: u64,
}

/// One event of a session.
#[derive(Debug)]
pub(super) struct SessionEvent {
    pub(super) event: &'static Event,
    pub(super) shape: Arc<Shape>,
    program: Program,
    /// For each field, whether it is written.
    wants_field: Vec<bool>,
    /// Each action, and whether it is written to the record.
    actions: Vec<(&'static Action, bool)>,
    /// The histograms that count the event: the target, and the positions of its values in the
    /// record.
    buckets: Vec<(usize, Bucket)>,
}

/// One target of a session; it is kept when the session is altered.
#[derive(Debug)]
pub(super) struct SessionTarget {
    pub(super) target: &'static Target,
    pub(super) spec: TargetSpec,
    pub(super) body: Body,
    pub(super) executions: AtomicU64,
    pub(super) execution_ns: AtomicU64,
}

/// The implementation of a target.
#[derive(Debug)]
pub(super) enum Body {
    Histogram(Histogram),
    /// Counts events, starting from the counts at its creation.
    Counter(Vec<(&'static Event, u64)>),
    Records(Box<RwLatch<RecordTarget>>),
}

/// What happened to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// There was no room, and the thread must wait for it.
    Blocked,
}

/// How an attempt to write into a partition ended.
enum Written {
    Yes,
    /// The partition had no room.
    NoRoom,
    /// The record, of this size in bytes, is larger than an empty buffer.
    TooLarge(usize),
}

impl Session {
    /// Builds a session; targets that `before` has as well are taken over with their contents.
    pub(super) fn build(spec: Arc<SessionSpec>, before: Option<&Self>) -> Result<Self, XeError> {
        check(&spec)?;
        let plans = histogram_plans(&spec)?;
        let shard_bytes = plans.iter().flatten().map(HistogramPlan::shard_bytes).sum::<usize>();
        let keeps_records = spec.targets.iter().any(|target| !target.target.is_synchronous());
        let cpus = sys::allowed_cpus().len();
        let enough = enough(&spec)?;
        let becomes = match (keeps_records, enough) {
            (false, _) => Use::Scratch,
            (true, None) => Use::HandedOn,
            (true, Some(_)) => Use::Recorder,
        };
        let layout = Layout::of(&spec.options, cpus, shard_bytes as u64, becomes)?;
        memory::check().map_err(|_| XeError::OutOfMemory)?;
        let targets = build_targets(&spec, plans, &layout, before)?;
        let events = build_events(&spec, &targets, keeps_records)?;
        let partition =
            |_| CachePadded::new(Partition::new(layout.buffer_bytes, events.len(), enough));
        let large = (layout.large_bytes > 0)
            .then(|| Box::new(Partition::new(layout.large_bytes, events.len(), None)));
        Ok(Self {
            created_100ns: before.map_or_else(clock::utc_100ns, |s| s.created_100ns),
            partitions: (0..layout.partitions).map(partition).collect(),
            large,
            drain: RwLatch::new(LatchClass::Other, Drain::new(&layout)),
            blocked_ns: AtomicU64::new(0),
            carried: before.map(Self::carry).unwrap_or_default(),
            spec,
            events,
            layout,
            targets,
            keeps_records,
        })
    }

    /// The address that identifies the session.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Handles an event that was fired: rejects, writes or drops it.
    pub(super) fn receive(&self, at: usize, fields: &[Value<'_>], moment: &Moment<'_>) -> Outcome {
        let Some(event) = self.events.get(at) else { return Outcome::Done };
        let own = &self.partitions[moment.thread() % self.partitions.len()];
        count(&own.tallies[at].seen);
        if !event.program.accepts(fields, moment) {
            count(&own.tallies[at].rejected);
            return Outcome::Done;
        }
        self.publish(at, fields, moment)
    }

    /// Writes an event that the predicate has accepted.
    pub(super) fn publish(&self, at: usize, fields: &[Value<'_>], moment: &Moment<'_>) -> Outcome {
        let Some(event) = self.events.get(at) else { return Outcome::Done };
        let partitions = self.partitions.len();
        let own = moment.thread() % partitions;
        let mut full = false;
        let mut too_large = 0;
        for step in 0..partitions {
            let partition = &self.partitions[(own + step) % partitions];
            let write =
                |filling: &mut Filling| self.write(event, at, own, filling, (fields, moment));
            match partition.filling.try_with(write) {
                None => continue,
                Some(Written::Yes) => return Outcome::Done,
                Some(Written::NoRoom) => {
                    full = true;
                    if self.spec.options.retention == Retention::MultipleEventLoss {
                        self.give_up_buffer(partition);
                        let again = partition.filling.try_with(write);
                        if matches!(again, Some(Written::Yes)) {
                            return Outcome::Done;
                        }
                    }
                }
                Some(Written::TooLarge(bytes)) => {
                    too_large = bytes;
                    break;
                }
            }
        }
        if too_large > 0 {
            return self.publish_large(event, at, too_large, (fields, moment));
        }
        if self.may_block(event) {
            return Outcome::Blocked;
        }
        let drops = &self.partitions[own].drops;
        count(if full { &drops.full } else { &drops.busy });
        count(&self.partitions[own].tallies[at].dropped);
        Outcome::Done
    }

    /// Counts an event as lost, instead of waiting for room.
    pub(super) fn lose(&self, at: usize, moment: &Moment<'_>) {
        let own = &self.partitions[moment.thread() % self.partitions.len()];
        count(&own.drops.full);
        count(&own.tallies[at].dropped);
    }

    fn may_block(&self, event: &SessionEvent) -> bool {
        self.spec.options.retention == Retention::NoEventLoss
            && event.event.blocking == Blocking::Allowed
    }

    /// Writes an event that is larger than a regular buffer.
    #[cold]
    fn publish_large(
        &self,
        event: &SessionEvent,
        at: usize,
        bytes: usize,
        what: (&[Value<'_>], &Moment<'_>),
    ) -> Outcome {
        let own = &self.partitions[what.1.thread() % self.partitions.len()];
        if let Some(large) = &self.large {
            let shard = what.1.thread() % self.partitions.len();
            let write = |filling: &mut Filling| self.write(event, at, shard, filling, what);
            match large.filling.try_with(write) {
                Some(Written::Yes) => return Outcome::Done,
                Some(Written::TooLarge(_)) => {}
                Some(Written::NoRoom) | None if self.may_block(event) => return Outcome::Blocked,
                Some(Written::NoRoom) => {
                    count(&own.drops.full);
                    count(&own.tallies[at].dropped);
                    return Outcome::Done;
                }
                None => {
                    count(&own.drops.busy);
                    count(&own.tallies[at].dropped);
                    return Outcome::Done;
                }
            }
        }
        count(&own.drops.too_large);
        count(&own.tallies[at].dropped);
        own.drops.largest.fetch_max(bytes as u64, Ordering::Relaxed);
        Outcome::Done
    }

    /// Drops the records of a full buffer, for newer events.
    #[cold]
    fn give_up_buffer(&self, partition: &Partition) {
        partition.filling.try_with(|filling| {
            count(&partition.drops.buffers);
            partition.drops.in_buffers.fetch_add(filling.give_up(), Ordering::Relaxed);
        });
    }

    fn write(
        &self,
        event: &SessionEvent,
        at: usize,
        shard: usize,
        filling: &mut Filling,
        (fields, moment): (&[Value<'_>], &Moment<'_>),
    ) -> Written {
        let bytes = match self.encode(event, at, filling.room(), (fields, moment)) {
            Ok(bytes) => bytes,
            Err(bytes) if bytes > filling.record_max() => return Written::TooLarge(bytes),
            Err(_) if filling.go_on() => {
                return self.write(event, at, shard, filling, (fields, moment));
            }
            Err(_) => return Written::NoRoom,
        };
        self.aggregate(event, shard, &filling.room()[..bytes]);
        if self.keeps_records && filling.keep(bytes) {
            moment.ring();
        }
        Written::Yes
    }

    /// Writes a record; returns its size, or as an error the size that it would have had.
    fn encode(
        &self,
        event: &SessionEvent,
        at: usize,
        room: &mut [u8],
        (fields, moment): (&[Value<'_>], &Moment<'_>),
    ) -> Result<usize, usize> {
        let mut encoder = Encoder::new(room);
        for (field, wanted) in fields.iter().zip(&event.wants_field) {
            encoder.value(if *wanted { *field } else { Value::Null });
        }
        for (action, wanted) in &event.actions {
            if *wanted {
                gather(action, moment, &mut encoder);
            } else {
                encoder.value(Value::Null);
            }
        }
        // The clock is read while the partition is claimed, so that times rise along the buffer.
        let time = if self.keeps_records { clock::now_ticks() } else { 0 };
        let id = u16::try_from(at).unwrap_or(u16::MAX);
        encoder.finish(id, time)
    }

    /// Adds a record to the histograms that count it.
    #[inline]
    fn aggregate(&self, event: &SessionEvent, shard: usize, bytes: &[u8]) {
        if event.buckets.is_empty() {
            return;
        }
        let Some((record, _)) = Record::take(bytes) else { return };
        for (target, bucket) in &event.buckets {
            if let Body::Histogram(histogram) = &self.targets[*target].body {
                histogram.add(shard, record, *bucket);
            }
        }
    }
}

fn gather(action: &'static Action, moment: &Moment<'_>, encoder: &mut Encoder<'_>) {
    match action.reader {
        Reader::Machine(fact) => encoder.value(moment.machine(fact)),
        Reader::Caller(number) => {
            let mut is_given = false;
            moment.caller(number, &mut |value| {
                if !is_given {
                    is_given = true;
                    encoder.value(value);
                }
            });
            if !is_given {
                encoder.value(Value::Null);
            }
        }
    }
}

/// Checks a specification as far as possible without a running server.
pub(super) fn check(spec: &SessionSpec) -> Result<(), XeError> {
    if spec.events.is_empty() {
        return Err(XeError::NoEvent);
    }
    for (at, event) in spec.events.iter().enumerate() {
        if spec.events[..at].iter().any(|other| other.event == event.event) {
            return Err(XeError::DuplicateEvent(event.event.name));
        }
        let no_loss = spec.options.retention == Retention::NoEventLoss;
        if no_loss && event.event.blocking == Blocking::Never {
            return Err(XeError::CannotBlock { event: event.event.name });
        }
        compile(event)?;
    }
    for (at, target) in spec.targets.iter().enumerate() {
        if spec.targets[..at].iter().any(|other| other.target == target.target) {
            return Err(XeError::DuplicateTarget(target.target.name));
        }
        match target.target.kind {
            TargetKind::Histogram => HistogramPlan::of(target)?.check(spec, target)?,
            TargetKind::Counter => super::target::Parameters::of(target).map(drop)?,
            TargetKind::Ring => Ring::new(target, 0).map(drop)?,
            TargetKind::File => EventFile::new(target).map(drop)?,
            TargetKind::Pair => Pairs::new(spec, target).map(drop)?,
        }
    }
    Ok(())
}

/// How much to remember if a ring buffer is the only target of the records.
fn enough(spec: &SessionSpec) -> Result<Option<Enough>, XeError> {
    let mut enough = None;
    for target in &spec.targets {
        match target.target.kind {
            TargetKind::Ring => enough = Ring::new(target, spec.options.memory())?.enough(),
            TargetKind::File | TargetKind::Pair => return Ok(None),
            TargetKind::Histogram | TargetKind::Counter => {}
        }
    }
    Ok(enough)
}

fn compile(event: &EventSpec) -> Result<Program, XeError> {
    let compile = |predicate| Program::compile(event.event, predicate);
    event.predicate.as_ref().map_or(Ok(Program::always()), compile)
}

fn histogram_plans(spec: &SessionSpec) -> Result<Vec<Option<HistogramPlan>>, XeError> {
    let plan = |target: &TargetSpec| match target.target.kind {
        TargetKind::Histogram => HistogramPlan::of(target).map(Some),
        _ => Ok(None),
    };
    spec.targets.iter().map(plan).collect()
}

fn build_targets(
    spec: &SessionSpec,
    plans: Vec<Option<HistogramPlan>>,
    layout: &Layout,
    before: Option<&Session>,
) -> Result<Vec<Arc<SessionTarget>>, XeError> {
    let build = |(target, plan): (&TargetSpec, Option<HistogramPlan>)| {
        if let Some(old) = before.and_then(|s| s.targets.iter().find(|t| t.spec == *target)) {
            return Ok(Arc::clone(old));
        }
        let records = |target| Body::Records(Box::new(RwLatch::new(LatchClass::Other, target)));
        let body = match (target.target.kind, plan) {
            (TargetKind::Histogram, Some(plan)) => {
                Body::Histogram(Histogram::new(plan, layout.partitions, spec))
            }
            (TargetKind::Histogram | TargetKind::Counter, _) => {
                Body::Counter(before.map(Session::published).unwrap_or_default())
            }
            (TargetKind::Ring, _) => {
                records(RecordTarget::Ring(Ring::new(target, spec.options.memory())?))
            }
            (TargetKind::Pair, _) => records(RecordTarget::Pairs(Pairs::new(spec, target)?)),
            (TargetKind::File, _) => {
                let mut file = EventFile::new(target)?;
                file.begin()?;
                records(RecordTarget::File(file))
            }
        };
        Ok(Arc::new(SessionTarget {
            target: target.target,
            spec: target.clone(),
            body,
            executions: AtomicU64::new(0),
            execution_ns: AtomicU64::new(0),
        }))
    };
    spec.targets.iter().zip(plans).map(build).collect()
}

impl SessionTarget {
    /// The bytes of its tables that count towards MAX_MEMORY.
    pub(super) fn table_bytes(&self) -> u64 {
        match &self.body {
            Body::Histogram(histogram) => histogram.bytes(),
            Body::Counter(_) | Body::Records(_) => 0,
        }
    }
}

fn build_events(
    spec: &SessionSpec,
    targets: &[Arc<SessionTarget>],
    keeps_records: bool,
) -> Result<Vec<SessionEvent>, XeError> {
    spec.events.iter().map(|e| build_event(spec, e, targets, keeps_records)).collect()
}

fn build_event(
    spec: &SessionSpec,
    event: &EventSpec,
    targets: &[Arc<SessionTarget>],
    keeps_records: bool,
) -> Result<SessionEvent, XeError> {
    let mut actions = event.actions.clone();
    if spec.options.track_causality {
        for action in [&ATTACH_ACTIVITY_ID, &ATTACH_ACTIVITY_ID_XFER] {
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
    }
    let bucket = |(at, target): (usize, &Arc<SessionTarget>)| match &target.body {
        Body::Histogram(histogram) => histogram.plan.bucket(event).map(|bucket| (at, bucket)),
        Body::Counter(_) | Body::Records(_) => None,
    };
    let buckets: Vec<_> = targets.iter().enumerate().filter_map(bucket).collect();
    // A record that only histograms see has only the values that they need.
    let is_needed = |at: usize| {
        keeps_records || buckets.iter().any(|(_, b)| b.source == at || b.weight == Some(at))
    };
    let is_collected = |field: &str| {
        let setting = event.event.settings.iter().position(|setting| setting.field == field);
        setting.is_none_or(|at| {
            let set = event.settings.iter().find(|(other, _)| *other == at);
            set.map_or(event.event.settings[at].default, |(_, value)| *value)
        })
    };
    let fields = event.event.fields.iter().enumerate();
    let wants_field = fields.map(|(at, f)| is_needed(at) && is_collected(f.name)).collect();
    let first = event.event.fields.len();
    let shape = Arc::new(Shape::new(event.event, &actions));
    let wanted = |(at, action)| (action, is_needed(first + at));
    Ok(SessionEvent {
        event: event.event,
        shape,
        program: compile(event)?,
        wants_field,
        actions: actions.into_iter().enumerate().map(wanted).collect(),
        buckets,
    })
}
