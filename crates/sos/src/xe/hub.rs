//! `Hub`: the event sessions of one instance, and the board where threads find the sessions that
//! want an event.

use std::thread::JoinHandle;

use super::dispatch;
use super::error::XeError;
use super::event::Event;
use super::moment::Moment;
use super::partition::add_totals;
use super::report::{
    CounterData, Drops, EventReport, EventTotals, SessionReport, TargetData, TargetReport,
};
use super::session::{Body, Carried, Outcome, Session, check};
use super::spec::SessionSpec;
use super::value::Value;
use crate::epoch::{Board, Slot};
use crate::ledger::Accounts;
use crate::lock::{LatchClass, Proven, RwLatch};
use crate::park::WakeWord;
use crate::sync::{Arc, AtomicU64, OnceLock, Ordering};
use crate::sys;
use crate::thread;

/// The number of NO_EVENT_LOSS sessions that one firing may wait for; further ones lose the event.
const BLOCKED_MAX: usize = 4;

/// Which sessions want which event. Immutable; replaced as a whole.
#[derive(Debug, Default)]
struct Subscriptions {
    /// By the place of the event: the sessions, and the event's position in each.
    by_place: Vec<Vec<(Arc<Session>, usize)>>,
}

/// The sessions to fire at again, by address.
pub(super) type BlockedSessions = [Option<usize>; BLOCKED_MAX];

/// The event sessions of one instance.
#[derive(Debug)]
pub struct Hub {
    board: Board<Subscriptions, Proven>,
    inner: RwLatch<Inner>,
    bell: WakeWord,
    nested: AtomicU64,
    sequence: AtomicU64,
    identity: OnceLock<[u8; 8]>,
}

#[derive(Debug)]
struct Inner {
    sessions: Vec<Arc<Session>>,
    dispatcher: Option<JoinHandle<()>>,
    /// The slot of the thread that changes the board.
    slot: Arc<Slot>,
}

impl Default for Hub {
    fn default() -> Self {
        let board = Board::new(Subscriptions::default());
        let slot = board.join();
        let inner = Inner { sessions: Vec::new(), dispatcher: None, slot };
        Self {
            board,
            inner: RwLatch::new(LatchClass::Other, inner),
            bell: WakeWord::new(),
            nested: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            identity: OnceLock::new(),
        }
    }
}

/// The part that emitters use.
impl Hub {
    pub(super) fn join(&self) -> Arc<Slot> {
        self.board.join()
    }

    pub(super) fn part(&self, slot: &Arc<Slot>) {
        self.board.part(slot);
    }

    /// Fires at all sessions that want the event, or at one of them by its address.
    pub(super) fn fire(
        &self,
        slot: &Slot,
        event: &'static Event,
        fields: &[Value<'_>],
        (moment, only): (&Moment<'_>, Option<usize>),
    ) -> BlockedSessions {
        let mut blocked = [None; BLOCKED_MAX];
        self.board.look(slot, |subscriptions| {
            let wanted = event.place().and_then(|place| subscriptions.by_place.get(place));
            for (session, at) in wanted.into_iter().flatten() {
                if only.is_some_and(|only| only != session.address()) {
                    continue;
                }
                if session.receive(*at, fields, moment) == Outcome::Blocked {
                    match blocked.iter_mut().find(|place| place.is_none()) {
                        Some(place) => *place = Some(session.address()),
                        None => session.lose(*at, moment),
                    }
                }
            }
        });
        blocked
    }

    /// Fires at one session only, whose predicate has accepted the event; does nothing if the
    /// session is gone.
    pub(super) fn fire_again(
        &self,
        slot: &Slot,
        event: &'static Event,
        fields: &[Value<'_>],
        (moment, address, waited_ns): (&Moment<'_>, usize, u64),
    ) -> Outcome {
        self.board.look(slot, |subscriptions| {
            let wanted = event.place().and_then(|place| subscriptions.by_place.get(place));
            let mut all = wanted.into_iter().flatten();
            let Some((session, at)) = all.find(|(session, _)| session.address() == address) else {
                return Outcome::Done;
            };
            let outcome = session.publish(*at, fields, moment);
            if outcome == Outcome::Done {
                session.blocked_ns.fetch_add(waited_ns, Ordering::Relaxed);
            }
            outcome
        })
    }

    /// Wakes the dispatcher thread.
    pub(super) fn ring(&self) {
        self.bell.set(1);
    }

    /// The dispatcher sleeps until it is called, or until `due_ns` (monotonic).
    pub(super) fn wait(&self, due_ns: Option<u64>) {
        self.bell.wait(due_ns);
        // A call between the two lines is not lost: the dispatcher checks all sessions after this.
        self.bell.reset();
    }

    pub(super) fn count_nested(&self) {
        self.nested.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn activity_guid(&self, activity: u64) -> [u8; 16] {
        let mut guid = [0; 16];
        guid[..8].copy_from_slice(self.identity.get_or_init(sys::random_bytes));
        guid[8..].copy_from_slice(&activity.to_be_bytes());
        guid
    }

    /// The sessions for the dispatcher; `None` if there are none, and then it must end.
    pub(super) fn sessions_or_leave(&self) -> Option<Vec<Arc<Session>>> {
        let mut inner = self.inner.write();
        if inner.sessions.is_empty() {
            inner.dispatcher = None;
            return None;
        }
        Some(inner.sessions.clone())
    }
}

/// The part that the server uses.
impl Hub {
    /// Checks a specification as far as it can be without starting it: for CREATE EVENT SESSION.
    ///
    /// # Errors
    /// What [`Self::start`] would refuse, except for errors of memory, files and threads.
    pub fn check(spec: &SessionSpec) -> Result<(), XeError> {
        check(spec)
    }

    /// Starts a session; its dispatcher is a thread of `accounts`, to which this hub belongs.
    /// Returns its address, as [`SessionReport`] has it and [`super::fire_at`] takes it.
    ///
    /// # Errors
    /// If the specification is wrong, the session is there already, or memory, a file or a thread
    /// is refused.
    pub fn start(accounts: &Arc<Accounts>, spec: SessionSpec) -> Result<usize, XeError> {
        let hub = accounts.events();
        let mut inner = hub.inner.write();
        if inner.position(&spec.name).is_some() {
            return Err(XeError::AlreadyStarted(spec.name));
        }
        let session = Arc::new(Session::build(Arc::new(spec), None)?);
        hub.employ(&mut inner, accounts)?;
        session.want();
        let address = session.address();
        inner.sessions.push(session);
        drop(hub.publish(&inner));
        drop(inner);
        hub.ring();
        Ok(address)
    }

    /// Gives a running session other events or targets; targets that it keeps also keep their
    /// contents.
    ///
    /// # Errors
    /// As [`Self::start`]; the session then continues unchanged.
    pub fn alter(&self, spec: SessionSpec) -> Result<(), XeError> {
        let mut inner = self.inner.write();
        let at = inner.position(&spec.name);
        let at = at.ok_or_else(|| XeError::NotStarted(spec.name.clone()))?;
        let before = Arc::clone(&inner.sessions[at]);
        // The records in its buffers go to the old targets.
        before.drain();
        let session = Arc::new(Session::build(Arc::new(spec), Some(&before))?);
        session.want();
        inner.sessions[at] = session;
        drop(self.publish(&inner));
        drop(inner);
        before.unwant();
        before.drain_all();
        self.ring();
        Ok(())
    }

    /// Stops a session. Afterwards no thread is inside it, and its targets have all published
    /// events.
    ///
    /// # Errors
    /// If no session has this name.
    pub fn stop(&self, name: &str) -> Result<(), XeError> {
        let mut inner = self.inner.write();
        let at = inner.position(name).ok_or_else(|| XeError::NotStarted(name.to_owned()))?;
        let session = inner.sessions.remove(at);
        drop(self.publish(&inner));
        drop(inner);
        session.unwant();
        session.drain_all();
        self.ring();
        Ok(())
    }

    /// Stops all sessions, and waits until the dispatcher has ended; when the instance stops.
    pub fn stop_all(&self) {
        let names: Vec<String> = {
            let inner = self.inner.read();
            inner.sessions.iter().map(|session| session.spec.name.clone()).collect()
        };
        let dispatcher = self.inner.write().dispatcher.take();
        for name in names {
            // Another thread may have stopped it in between.
            let _ = self.stop(&name);
        }
        self.ring();
        if let Some(dispatcher) = dispatcher {
            thread::join(dispatcher);
        }
    }

    /// Reports of the running sessions.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionReport> {
        let sessions = self.inner.read().sessions.clone();
        sessions.iter().map(|session| session.report()).collect()
    }

    /// The contents of a target of a running session, with all events published before the call.
    ///
    /// # Errors
    /// If there is no such session or target.
    pub fn target_data(&self, session: &str, target: usize) -> Result<TargetData, XeError> {
        let none = || XeError::NotStarted(session.to_owned());
        let found = {
            let inner = self.inner.read();
            inner.position(session).map(|at| Arc::clone(&inner.sessions[at]))
        };
        let found = found.ok_or_else(none)?;
        found.drain();
        found.target_data(target).ok_or_else(none)
    }

    /// The number of events that were not fired because their thread was inside another one, such
    /// as an allocation for a target.
    #[must_use]
    pub fn nested_events(&self) -> u64 {
        self.nested.load(Ordering::Relaxed)
    }

    /// Starts the dispatcher, if there is none.
    fn employ(
        self: &Arc<Self>,
        inner: &mut Inner,
        accounts: &Arc<Accounts>,
    ) -> Result<(), XeError> {
        if inner.dispatcher.is_some() {
            return Ok(());
        }
        let hub = Arc::clone(self);
        let spawned = thread::spawn(accounts, "events", move || dispatch::run(&hub));
        inner.dispatcher = Some(spawned.map_err(|error| XeError::NoThread(error.to_string()))?);
        Ok(())
    }

    /// Publishes the subscriptions of the present sessions, and waits until no thread reads the old
    /// ones, which it returns.
    fn publish(&self, inner: &Inner) -> Box<Subscriptions> {
        let mut next = Subscriptions::default();
        for session in &inner.sessions {
            for (at, event) in session.events.iter().enumerate() {
                let place = event.event.assign_place();
                if next.by_place.len() <= place {
                    next.by_place.resize_with(place + 1, Vec::new);
                }
                next.by_place[place].push((Arc::clone(session), at));
            }
        }
        self.board.replace(&inner.slot, next, sys::yield_cpu)
    }
}

impl Inner {
    fn position(&self, name: &str) -> Option<usize> {
        self.sessions.iter().position(|session| session.spec.name.eq_ignore_ascii_case(name))
    }
}

impl Session {
    fn want(&self) {
        self.events.iter().for_each(|event| event.event.want());
    }

    fn unwant(&self) {
        self.events.iter().for_each(|event| event.event.unwant());
    }

    /// The totals of one of its events since it was started.
    fn totals(&self, at: usize) -> EventTotals {
        let mut totals = EventTotals::default();
        for partition in &self.partitions {
            partition.add_totals(at, &mut totals);
        }
        let before = self.carried.events.iter().find(|(event, _)| *event == self.events[at].event);
        if let Some((_, before)) = before {
            add_totals(&mut totals, before);
        }
        totals
    }

    fn drops(&self) -> Drops {
        let mut drops = self.carried.drops;
        for partition in &self.partitions {
            partition.add_drops(&mut drops);
        }
        drops
    }

    fn blocked(&self) -> u64 {
        self.carried.blocked_ns + self.blocked_ns.load(Ordering::Relaxed)
    }

    /// The counts that the altered session continues.
    pub(super) fn carry(&self) -> Carried {
        let totals = |at: usize| (self.events[at].event, self.totals(at));
        Carried {
            events: (0..self.events.len()).map(totals).collect(),
            drops: self.drops(),
            blocked_ns: self.blocked(),
        }
    }

    /// How often each event was published.
    pub(super) fn published(&self) -> Vec<(&'static Event, u64)> {
        let published = |at: usize| (self.events[at].event, self.totals(at).published);
        (0..self.events.len()).map(published).collect()
    }

    fn report(&self) -> SessionReport {
        let event =
            |at: usize| EventReport { event: self.events[at].event, totals: self.totals(at) };
        let events: Vec<EventReport> = (0..self.events.len()).map(event).collect();
        let mut totals = EventTotals::default();
        events.iter().for_each(|event| add_totals(&mut totals, &event.totals));
        let drops = self.drops();
        totals.dropped += drops.in_buffers;
        totals.published = totals.published.saturating_sub(drops.in_buffers);
        let target = |target: &Arc<super::session::SessionTarget>| TargetReport {
            target: target.target,
            executions: target.executions.load(Ordering::Relaxed),
            execution_ns: target.execution_ns.load(Ordering::Relaxed),
        };
        let tables: u64 = self.targets.iter().map(|target| target.table_bytes()).sum();
        let large = if self.layout.large_bytes > 0 { 2 } else { 0 };
        SessionReport {
            address: self.address(),
            spec: Arc::clone(&self.spec),
            created_100ns: self.created_100ns,
            regular_buffers: (self.layout.partitions * self.layout.buffers_each) as u64,
            regular_buffer_bytes: self.layout.buffer_bytes as u64,
            large_buffers: large,
            large_buffer_bytes: self.layout.large_bytes as u64,
            pending_buffers: self.pending_buffers(),
            memory_bytes: self.layout.bytes() + tables,
            totals,
            drops,
            blocked_ns: self.blocked(),
            events,
            targets: self.targets.iter().map(target).collect(),
        }
    }

    fn target_data(&self, at: usize) -> Option<TargetData> {
        let target = self.targets.get(at)?;
        Some(match &target.body {
            Body::Histogram(histogram) => TargetData::Histogram(histogram.data()),
            Body::Counter(since) => {
                let count = |(event, published): (&'static Event, u64)| {
                    let before = since.iter().find(|(other, _)| *other == event);
                    (event, published.saturating_sub(before.map_or(0, |(_, count)| *count)))
                };
                let events = self.published().into_iter().map(count).collect();
                TargetData::Counter(CounterData { events })
            }
            Body::Records(records) => {
                let mut data = records.read().data();
                if let TargetData::Ring(ring) = &mut data {
                    let drops = self.drops();
                    ring.dropped = drops.events();
                    ring.processing_ns = target.execution_ns.load(Ordering::Relaxed);
                }
                data
            }
        })
    }
}
