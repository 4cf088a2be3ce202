//! What a scheduler's holder owns: its connections, the events not yet handled, and the timers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::os::fd::RawFd;

use super::task::{Interrupt, Ready, Task, TaskWaker};
use crate::sched::crew::SentItem;
use crate::sync::Arc;
use crate::sys::{Events, SendRing};

/// Events fetched with one system call.
const EVENTS_MAX: usize = if cfg!(test) { 4 } else { 64 };

/// Names a connection of a scheduler; never reused while an event may still carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sched) struct Token(pub(super) u64);

impl Token {
    /// The token of the scheduler's own event descriptor, by which other threads wake the poller.
    pub(super) const KICK: Self = Self(u64::MAX);

    fn new(index: usize, generation: u32) -> Self {
        let index = u64::try_from(index).expect("an index fits into 64 bits");
        Self(u64::from(generation) << 32 | index)
    }

    pub(super) fn index(self) -> usize {
        usize::try_from(self.0 & u64::from(u32::MAX)).expect("32 bits fit into an index")
    }
}

/// A task at rest, with the waker that its `run` receives.
pub(super) struct Resting {
    pub(super) task: Box<dyn Task>,
    pub(super) waker: TaskWaker,
}

/// The place of one connection; reused, under a new generation, after it has gone.
pub(super) struct Slot {
    generation: u32,
    /// The task, unless a worker is running it: then it is on that worker's stack.
    pub(super) resting: Option<Resting>,
    pub(super) interrupt: Option<Arc<dyn Interrupt>>,
    /// Reasons to run that came while the task was running.
    pub(super) pending: Ready,
    pub(super) deadline_ns: Option<u64>,
    /// Whether its answer is held: it does not run until that is released.
    pub(super) is_held: bool,
    /// Whether its task ran for long the last time.
    pub(super) was_long: bool,
    /// Whether its task may be queued to run.
    pub(super) is_queued: bool,
}

impl Slot {
    fn is_free(&self) -> bool {
        self.interrupt.is_none()
    }

    /// Whether its task is at rest, and urgent.
    pub(super) fn is_urgent(&self) -> bool {
        self.resting.as_ref().is_some_and(|one| one.task.is_urgent())
    }

    /// Whether it is the place of this connection, which has not gone.
    pub(super) fn is_of(&self, token: Token) -> bool {
        Token::new(token.index(), self.generation) == token && !self.is_free()
    }
}

/// The answers that are to leave together.
pub(super) struct Sends {
    pub(super) ring: SendRing,
    pub(super) bytes: Vec<u8>,
    /// The descriptor and the place in `bytes` of each.
    pub(super) pieces: Vec<(RawFd, Range<usize>)>,
    /// The connection of each piece.
    pub(super) tokens: Vec<Token>,
}

/// The data that only the scheduler's holder may touch.
pub(super) struct Core {
    pub(super) events: Events,
    pub(super) slots: Vec<Slot>,
    free: Vec<usize>,
    /// Tasks to run after the events, and why.
    pub(super) again: VecDeque<(Token, Ready)>,
    /// How many of `again` belong to the present round.
    pub(super) again_due: usize,
    /// The urgent ones among the tasks to run after the events, apart so that the monitor finds them at
    /// once. They run before the others.
    pub(super) urgent: VecDeque<(Token, Ready)>,
    /// How many of `urgent` belong to the present round.
    pub(super) urgent_due: usize,
    /// Tasks whose answers are held, each with the number that has to be released; lowest first.
    pub(super) held: VecDeque<(u64, Token)>,
    /// Answers that are to leave together; `None` if the system has no io_uring.
    pub(super) sends: Option<Sends>,
    /// What the kernel did not take of them.
    pub(super) unsent: Vec<(Token, Vec<u8>)>,
    /// Work items of requests that run on other schedulers.
    pub(super) work_items: VecDeque<Arc<SentItem>>,
    /// Deadlines; an entry that differs from its slot's deadline is stale.
    timers: BinaryHeap<Reverse<(u64, Token)>>,
}

impl Core {
    pub(super) fn new() -> Self {
        Self {
            events: Events::with_capacity(EVENTS_MAX),
            slots: Vec::new(),
            free: Vec::new(),
            again: VecDeque::new(),
            again_due: 0,
            urgent: VecDeque::new(),
            urgent_due: 0,
            held: VecDeque::new(),
            sends: Sends::new(),
            unsent: Vec::new(),
            work_items: VecDeque::new(),
            timers: BinaryHeap::new(),
        }
    }

    /// Makes a place for a connection; `make` receives its token.
    pub(super) fn insert(
        &mut self,
        interrupt: Arc<dyn Interrupt>,
        make: impl FnOnce(Token) -> Resting,
    ) -> Token {
        let index = self.free.pop().unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push(Slot {
                generation: 0,
                resting: None,
                interrupt: None,
                pending: Ready::default(),
                deadline_ns: None,
                is_held: false,
                was_long: false,
                is_queued: false,
            });
        }
        let slot = &mut self.slots[index];
        slot.interrupt = Some(interrupt);
        let token = Token::new(index, slot.generation);
        slot.resting = Some(make(token));
        token
    }

    /// The connection of a token; `None` if it has gone.
    #[inline]
    pub(super) fn slot(&mut self, token: Token) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(token.index())?;
        slot.is_of(token).then_some(slot)
    }

    /// Frees a connection's place and returns its task, if that was at rest.
    pub(super) fn remove(&mut self, token: Token) -> Option<Resting> {
        self.unsent.retain(|(of, _)| *of != token);
        let slot = self.slot(token)?;
        slot.generation = slot.generation.wrapping_add(1);
        slot.interrupt = None;
        slot.pending = Ready::default();
        slot.deadline_ns = None;
        slot.is_held = false;
        slot.was_long = false;
        slot.is_queued = false;
        let resting = slot.resting.take();
        self.free.push(token.index());
        resting
    }

    /// The connections whose tasks are at rest; those with a held answer only if `and_held`.
    pub(super) fn resting(&self, and_held: bool) -> Vec<Token> {
        let slots = self.slots.iter().enumerate();
        let rests = |slot: &Slot| slot.resting.is_some() && (and_held || !slot.is_held);
        let resting = slots.filter(|(_, slot)| !slot.is_free() && rests(slot));
        resting.map(|(index, slot)| Token::new(index, slot.generation)).collect()
    }

    /// Whether a task has a held answer.
    pub(super) fn has_held(&self) -> bool {
        self.slots.iter().any(|slot| !slot.is_free() && slot.is_held)
    }

    /// How to reach the connections whose tasks are running.
    pub(super) fn running(&self) -> Vec<Arc<dyn Interrupt>> {
        let running = self.slots.iter().filter(|slot| slot.resting.is_none());
        running.filter_map(|slot| slot.interrupt.clone()).collect()
    }

    /// Sets or clears a connection's deadline.
    #[inline]
    pub(super) fn set_deadline(&mut self, token: Token, deadline_ns: Option<u64>) {
        let Some(slot) = self.slot(token) else { return };
        if slot.deadline_ns == deadline_ns {
            return;
        }
        slot.deadline_ns = deadline_ns;
        self.timers.extend(deadline_ns.map(|deadline| Reverse((deadline, token))));
    }

    /// The next deadline, stale ones dropped.
    pub(super) fn next_deadline(&mut self) -> Option<u64> {
        while let Some(&Reverse((deadline, token))) = self.timers.peek() {
            if self.slot(token).is_some_and(|slot| slot.deadline_ns == Some(deadline)) {
                return Some(deadline);
            }
            self.timers.pop();
        }
        None
    }

    /// Queues the tasks whose deadline has passed.
    pub(super) fn fire_timers(&mut self, now_ns: u64) {
        while self.next_deadline().is_some_and(|deadline| deadline <= now_ns) {
            let Some(Reverse((_, token))) = self.timers.pop() else { return };
            if let Some(slot) = self.slot(token) {
                slot.deadline_ns = None;
            }
            self.queue(token, Ready::TIMED_OUT);
        }
    }

    /// Whether another task is ready, as far as is known without polling.
    pub(super) fn has_ready(&self) -> bool {
        self.events.has_next() || !self.again.is_empty() || !self.urgent.is_empty()
    }
}
