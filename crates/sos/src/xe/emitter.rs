//! `Emitter`: a thread's state for firing events, part of its account: its slot at the hub's board,
//! its activity (TRACK_CAUSALITY), and the guard against events within events.

use super::event::Event;
use super::hub::Hub;
use super::moment::Moment;
use super::session::Outcome;
use super::value::Value;
use crate::clock;
use crate::epoch::Slot;
use crate::ledger::{self, Account, Counter};
use crate::park;
use crate::stack;
use crate::sync::Arc;
use crate::wait::WaitType;
use std::time::Duration;

/// How long a thread sleeps between two attempts when a session must not lose an event.
const ROOM_PAUSE: Duration = Duration::from_millis(1);

/// A thread's state for firing events. Only the thread itself writes it.
#[derive(Debug, Default)]
pub(crate) struct Emitter {
    at: Option<(Arc<Hub>, Arc<Slot>)>,
    /// 1 while the thread is inside an event, or must not fire one.
    is_inside: Counter,
    /// The number of the thread's activity, and how many events it has fired in it.
    activity: Counter,
    fired: Counter,
    /// The activity that this one continues: 1 until an event has reported it, the two halves of
    /// its GUID, and the number within it.
    is_from: Counter,
    from_activity: [Counter; 2],
    from_sequence: Counter,
    /// Clock ticks when the activity began.
    began: Counter,
}

/// Marks the thread as inside an event until dropped.
struct Inside<'a>(&'a Emitter);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.is_inside.set(0);
    }
}

impl Emitter {
    /// Makes the state of a thread of this hub; `number` is the thread's.
    pub(crate) fn new(hub: Option<&Arc<Hub>>, number: u32) -> Self {
        let mut emitter = Self::default();
        emitter.at = hub.map(|hub| (Arc::clone(hub), hub.join()));
        emitter.activity.set(u64::from(number) << 40);
        emitter
    }

    /// Begins a new activity with a task. `now` is the thread's last edge, so that the clock is not
    /// read.
    #[inline]
    pub(crate) fn begin_activity(&self, now: u64) {
        self.activity.add(1);
        self.fired.set(0);
        self.is_from.set(0);
        self.began.set(now);
    }

    pub(super) fn activity(&self) -> (u64, u32) {
        (self.activity.get(), u32::try_from(self.fired.get()).unwrap_or(u32::MAX))
    }

    /// The activity that this one continues, if no event has reported it yet.
    pub(super) fn came_from(&self) -> Option<Activity> {
        if self.is_from.get() == 0 {
            return None;
        }
        let [first, last] = &self.from_activity;
        let mut guid = [0; 16];
        guid[..8].copy_from_slice(&first.get().to_be_bytes());
        guid[8..].copy_from_slice(&last.get().to_be_bytes());
        Some(Activity {
            guid,
            sequence: u32::try_from(self.from_sequence.get()).unwrap_or(u32::MAX),
        })
    }

    pub(super) fn began(&self) -> u64 {
        self.began.get()
    }

    fn enter(&self) -> Option<Inside<'_>> {
        if self.is_inside.get() != 0 {
            return None;
        }
        self.is_inside.set(1);
        Some(Inside(self))
    }

    fn fire(
        &self,
        account: &Account,
        event: &'static Event,
        fields: &[Value<'_>],
        (frame, only): (usize, Option<usize>),
    ) {
        let Some((hub, slot)) = &self.at else { return };
        let Some(inside) = self.enter() else {
            hub.count_nested();
            return;
        };
        self.fired.add(1);
        let moment = Moment::new(account, self, hub, frame);
        let blocked = hub.fire(slot, event, fields, (&moment, only));
        let is_reported = moment.has_reported_origin();
        drop(inside);
        for session in blocked.into_iter().flatten() {
            self.wait_for_room(account, event, fields, (session, frame));
        }
        if is_reported {
            self.is_from.set(0);
        }
    }

    /// Fires again at one session until it has room, for NO_EVENT_LOSS.
    #[cold]
    fn wait_for_room(
        &self,
        account: &Account,
        event: &'static Event,
        fields: &[Value<'_>],
        (session, frame): (usize, usize),
    ) {
        let Some((hub, slot)) = &self.at else { return };
        let started = clock::now_ticks();
        loop {
            hub.ring();
            park::sleep(ROOM_PAUSE, WaitType::XeBufferFree, None);
            let waited = clock::ticks_to_ns(clock::now_ticks().saturating_sub(started));
            let Some(_inside) = self.enter() else { return };
            let moment = Moment::new(account, self, hub, frame);
            if hub.fire_again(slot, event, fields, (&moment, session, waited)) == Outcome::Done {
                return;
            }
        }
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        if let Some((hub, slot)) = &self.at {
            hub.part(slot);
        }
    }
}

/// Fires an event with its fields in their order, at all sessions of the calling thread's instance
/// that want it. Neither allocates nor waits, unless a session has NO_EVENT_LOSS and the event
/// allows it. Call [`super::enabled`] before collecting the fields.
#[cold]
#[inline(never)]
pub fn fire(event: &'static Event, fields: &[Value<'_>]) {
    check_fields(event, fields);
    let frame = stack::own_frame();
    let _label = ledger::labelled(ledger::Label::Events);
    ledger::if_open(|account| account.emitter().fire(account, event, fields, (frame, None)));
}

/// As [`fire`], at one session only, by the address that [`Hub::start`] returned: for events that
/// only a session that has just started gets. Does nothing if it has stopped, or does not want the
/// event.
#[cold]
#[inline(never)]
pub fn fire_at(session: usize, event: &'static Event, fields: &[Value<'_>]) {
    check_fields(event, fields);
    let at = (stack::own_frame(), Some(session));
    ledger::if_open(|account| account.emitter().fire(account, event, fields, at));
}

fn check_fields(event: &Event, fields: &[Value<'_>]) {
    debug_assert!(
        fields.len() == event.fields.len()
            && event.fields.iter().zip(fields).all(|(field, value)| field.field_type.fits(value)),
        "{} is fired with the fields it declares: {fields:?}",
        event.name
    );
}

/// Runs a closure without firing its events: for the work of extended events itself.
pub(super) fn silently<R>(run: impl FnOnce() -> R) -> R {
    struct Restore(u64);
    impl Drop for Restore {
        fn drop(&mut self) {
            ledger::if_open(|account| account.emitter().is_inside.set(self.0));
        }
    }
    let mut before = 0;
    ledger::if_open(|account| {
        before = account.emitter().is_inside.get();
        account.emitter().is_inside.set(1);
    });
    let _restore = Restore(before);
    run()
}

/// The activity of another party, such as the client that has sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The activity's GUID, in the order of its text form.
    pub guid: [u8; 16],
    /// The number of the event within the activity.
    pub sequence: u32,
}

/// Returns the present activity of the calling thread, for a thread that helps it: see
/// [`goes_on_with`]. `None` if the thread belongs to no hub.
#[must_use]
pub fn present_activity() -> Option<Activity> {
    ledger::with_current(|account| {
        let emitter = account.emitter();
        let (number, sequence) = emitter.activity();
        let hub = emitter.at.as_ref()?;
        Some(Activity { guid: hub.0.activity_guid(number), sequence })
    })
}

/// Records that the calling thread's present activity continues another one: the first of its
/// events that a session with TRACK_CAUSALITY takes has it as `attach_activity_id_xfer`. To be
/// called when the thread has begun a request.
pub fn goes_on_with(from: Activity) {
    ledger::if_open(|account| {
        let emitter = account.emitter();
        let (first, last) = from.guid.split_at(8);
        for (half, bytes) in emitter.from_activity.iter().zip([first, last]) {
            half.set(u64::from_be_bytes(bytes.try_into().unwrap_or([0; 8])));
        }
        emitter.from_sequence.set(u64::from(from.sequence));
        emitter.is_from.set(1);
    });
}
