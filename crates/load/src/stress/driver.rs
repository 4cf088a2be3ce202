//! `Driver`: keeps the connections of one thread busy, and records the results.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Deref;
use std::time::Duration;

use hdrhistogram::Histogram;

use sos::clock;
use sos::sys::{self, Events, Poller, Timeout};
use tds::client::FinalDone;

use super::random::Random;
use super::tally::{Second, Tally};
use super::work::{Turn, Work};
use crate::Answer;
use crate::link::{Fault, Link, Step, Target, has_failed};

const BUFFER_BYTES: usize = 64 * 1024;
const EVENTS_MAX: usize = 256;
/// Interval at which timeouts and the ends of seconds are checked.
const TICK_NS: u64 = 20_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// How long after a failure a connection is reopened.
const REOPEN_NS: u64 = 200_000_000;
/// Most lengths of answers without errors that are remembered per kind.
const LENGTHS_MAX: usize = 256;
/// Errors after which the same request may be sent again: deadlock victim, version conflicts, and
/// Azure SQL's errors for throttling and failover.
const RETRIED: [i32; 12] =
    [1205, 3960, 41301, 41302, 41305, 41325, 40197, 40501, 40613, 10928, 10929, 49918];

/// When requests are sent: in a closed or an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Closed loop: a connection sends its next request `think` after the previous answer.
    Closed {
        /// Time between an answer and the next request of its connection.
        think: Duration,
    },
    /// Open loop: a fixed number of requests per second, at times that do not depend on the
    /// answers.
    Open {
        /// Requests per second, over all connections.
        rate: f64,
    },
}

/// What happens to a connection between two iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// It is kept as it is.
    Keep,
    /// It is reset with the next request, as a driver's connection pool does; [`Work::with_reset`]
    /// sets the bit.
    Reset,
    /// It is closed and reopened.
    Reconnect,
}

/// The settings of a load.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of concurrent connections.
    pub connections: usize,
    /// When requests are sent.
    pub pace: Pace,
    /// What happens between iterations.
    pub pool: Pool,
    /// Iterations of each connection; `None` repeats until the time is over.
    pub iterations: Option<u64>,
    /// How long a login may take.
    pub login_timeout: Duration,
    /// How long a request may take before it is cancelled; `None` is without limit.
    pub query_timeout: Option<Duration>,
    /// How often a request is repeated after an error that allows it.
    pub retries: u32,
    /// Whether the first error ends the run.
    pub stop_on_error: bool,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Opening,
    /// Logged in, without a request.
    Free,
    Busy,
    /// Waiting for the answer of a cancelled request.
    Cancelled,
    /// Waiting for the time of its next request.
    Thinking,
    /// Failed; it is reopened when its time comes.
    Lost,
    /// All iterations are done.
    Finished,
}

struct Slot {
    link: Option<Link>,
    state: State,
    turn: Turn,
    /// When the current request was due, and when it was sent; or when opening began.
    due_ns: u64,
    sent_ns: u64,
    tries: u32,
    iterations: u64,
    random: Random,
    /// The random state from which the request's values were drawn, so that it can be repeated
    /// unchanged.
    drawn: Random,
}

/// Connections of one thread to one server, and the work that they send, borrowed or shared with
/// other threads.
pub struct Driver<W> {
    target: Target,
    work: W,
    settings: Settings,
    poller: Poller,
    events: Events,
    buffer: Vec<u8>,
    slots: Vec<Slot>,
    /// The index of the first connection in the whole load.
    first: usize,
    /// Free connections, the longest free first.
    free: VecDeque<usize>,
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lengths of answers that were decoded and had no error, by kind.
    lengths: Vec<Vec<u64>>,
    /// When the next request of an open loop is due, and the time between two.
    next_due_ns: f64,
    /// Whether no new requests are begun, and since when.
    is_ending: bool,
    ended_ns: u64,
    tally: Tally,
}

impl<W: Deref<Target = Work>> Driver<W> {
    /// Begins to open the connections.
    ///
    /// # Errors
    /// If the system refuses descriptors.
    pub fn new(target: Target, work: W, settings: Settings) -> Result<Self, String> {
        Self::with_first(target, work, settings, 0)
    }

    /// As [`Self::new`], for the connections from index `first` on of a load that is shared with
    /// others.
    pub(super) fn with_first(
        target: Target,
        work: W,
        settings: Settings,
        first: usize,
    ) -> Result<Self, String> {
        let poller = Poller::new().map_err(|error| format!("epoll: {error}"))?;
        let slot = |seed| Slot {
            link: None,
            state: State::Lost,
            turn: Turn::default(),
            due_ns: 0,
            sent_ns: 0,
            tries: 0,
            iterations: 0,
            random: Random::new(seed),
            drawn: Random::new(seed),
        };
        let seeds = u64::try_from(first).unwrap_or(0)..;
        let slots = seeds.take(settings.connections).map(slot).collect();
        let kinds = work.kinds().len();
        Ok(Self {
            target,
            work,
            poller,
            events: Events::with_capacity(EVENTS_MAX),
            buffer: vec![0; BUFFER_BYTES],
            slots,
            first,
            free: VecDeque::new(),
            timers: BinaryHeap::new(),
            lengths: vec![Vec::new(); kinds],
            next_due_ns: 0.0,
            is_ending: true,
            ended_ns: 0,
            tally: Tally::new(kinds),
            settings,
        })
    }

    /// Logs every connection in.
    ///
    /// # Errors
    /// The first reason for a failed login, if none succeeded within the login timeout.
    pub fn connect(&mut self) -> Result<(), String> {
        self.connect_until(&|| false)
    }

    /// As [`Self::connect`]; stops waiting when `is_cut` returns true.
    ///
    /// # Errors
    /// As [`Self::connect`], or that it was cut.
    pub fn connect_until(&mut self, is_cut: &dyn Fn() -> bool) -> Result<(), String> {
        let begin_ns = clock::monotonic_ns();
        for index in 0..self.slots.len() {
            self.open(index, begin_ns);
            // The kernel's queue of unaccepted connections is limited.
            self.turn_over(Timeout::None);
        }
        let patience = u64::try_from(self.settings.login_timeout.as_nanos()).unwrap_or(u64::MAX);
        while self.slots.iter().any(|slot| slot.state == State::Opening) {
            if clock::monotonic_ns().saturating_sub(begin_ns) > patience + SECOND_NS {
                break;
            }
            if is_cut() {
                return Err("stopped before the load began".to_owned());
            }
            self.turn_over(Timeout::After(TICK_NS));
            self.look_at_clocks();
        }
        let is_in = |slot: &Slot| slot.state == State::Free;
        match self.slots.iter().any(is_in) {
            true => Ok(()),
            false => {
                let tally = &self.tally;
                let why = tally.error_texts.values().next().or(tally.faults.keys().next());
                let why = why.map_or("the login took too long", String::as_str);
                Err(format!("no connection could log in: {why}"))
            }
        }
    }

    /// Runs the load for `duration`, or until every connection has done its iterations, then waits
    /// for outstanding answers. Calls `each_second` with each second's result; ends at once when
    /// `is_cut` returns true.
    pub fn run(
        &mut self,
        duration: Option<Duration>,
        mut each_second: impl FnMut(&Second) -> bool,
        is_cut: impl Fn() -> bool,
    ) -> Tally {
        self.run_telling(duration, |second, _| each_second(second), is_cut)
    }

    /// As [`Self::run`]; `each_second` also gets the latencies of each second.
    pub(super) fn run_telling(
        &mut self,
        duration: Option<Duration>,
        mut each_second: impl FnMut(&Second, &Histogram<u64>) -> bool,
        is_cut: impl Fn() -> bool,
    ) -> Tally {
        let kinds = self.work.kinds().len();
        self.tally = Tally::new(kinds);
        let cpu_before_ns = own_cpu_ns();
        let begin_ns = clock::monotonic_ns();
        let end_ns = duration.map_or(u64::MAX, |time| begin_ns + nanoseconds(time));
        self.next_due_ns = float(begin_ns);
        self.begin(begin_ns);
        let (mut second_ns, mut look_ns) = (begin_ns + SECOND_NS, begin_ns + TICK_NS);
        while !self.is_over() && !is_cut() {
            // Between two checks of the clock only requests are processed.
            loop {
                let now_ns = clock::monotonic_ns();
                let wait = self.dispatch(now_ns, end_ns).min(look_ns).saturating_sub(now_ns);
                self.turn_over(if wait == 0 { Timeout::None } else { Timeout::After(wait) });
                if clock::monotonic_ns() >= look_ns || self.is_ending && self.is_over() {
                    break;
                }
            }
            let now_ns = clock::monotonic_ns();
            look_ns = now_ns + TICK_NS;
            self.look_at_clocks();
            if now_ns >= second_ns {
                second_ns += SECOND_NS;
                let (second, latencies) = self.tally.end_second(now_ns - begin_ns);
                if !each_second(&second, &latencies) {
                    self.end(now_ns);
                }
            }
            if now_ns >= end_ns {
                self.end(end_ns);
            }
        }
        let wall_ns = clock::monotonic_ns() - begin_ns;
        self.tally.wall_ns = wall_ns;
        self.tally.own_cpu_ns = own_cpu_ns().saturating_sub(cpu_before_ns);
        drop(self.tally.end_second(wall_ns));
        clock::refine();
        std::mem::replace(&mut self.tally, Tally::new(kinds))
    }

    /// Stops beginning requests; requests that were due but found no connection are counted.
    fn end(&mut self, at_ns: u64) {
        if std::mem::replace(&mut self.is_ending, true) {
            return;
        }
        self.ended_ns = clock::monotonic_ns();
        if let Pace::Open { rate } = self.settings.pace {
            let late_ns = float(at_ns) - self.next_due_ns;
            self.tally.never_sent = if late_ns > 0.0 { whole(late_ns * rate / 1e9) + 1 } else { 0 };
        }
    }

    /// Makes every free connection take part again.
    fn begin(&mut self, now_ns: u64) {
        self.is_ending = false;
        self.free.clear();
        self.timers.clear();
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            slot.iterations = 0;
            match slot.state {
                State::Lost => self.timers.push(Reverse((now_ns, index))),
                State::Free | State::Finished | State::Thinking => self.release(index),
                State::Opening | State::Busy | State::Cancelled => {}
            }
        }
    }

    /// Returns whether no request is outstanding and none will follow.
    fn is_over(&self) -> bool {
        let has_work = |slot: &Slot| match slot.state {
            State::Busy | State::Cancelled => true,
            State::Finished => false,
            State::Opening | State::Free | State::Thinking | State::Lost => !self.is_ending,
        };
        !self.slots.iter().any(has_work)
    }

    /// Sends requests that are due; returns when it must be called again.
    fn dispatch(&mut self, now_ns: u64, end_ns: u64) -> u64 {
        while let Some(&Reverse((at_ns, index))) = self.timers.peek()
            && at_ns <= now_ns
        {
            self.timers.pop();
            match self.slots[index].state {
                State::Thinking => self.release(index),
                State::Lost if !self.is_ending => self.open(index, now_ns),
                _ => {}
            }
        }
        let timer_ns = self.timers.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        if self.is_ending {
            return timer_ns;
        }
        match self.settings.pace {
            Pace::Closed { .. } => {
                while let Some(index) = self.free.pop_front() {
                    self.begin_iteration(index, now_ns);
                }
                timer_ns
            }
            Pace::Open { rate } => self.dispatch_open(rate, now_ns, end_ns).min(timer_ns),
        }
    }

    fn dispatch_open(&mut self, rate: f64, now_ns: u64, end_ns: u64) -> u64 {
        let step_ns = 1e9 / rate;
        // A request that was due before the end belongs to the run, however late it is sent.
        let last_ns = float(now_ns.min(end_ns));
        while self.next_due_ns <= last_ns {
            let Some(index) = self.free.pop_front() else {
                // All connections are busy: the next free one takes the request.
                return u64::MAX;
            };
            let due_ns = whole(self.next_due_ns);
            self.next_due_ns += step_ns;
            self.begin_iteration(index, due_ns);
        }
        whole(self.next_due_ns)
    }

    fn open(&mut self, index: usize, now_ns: u64) {
        let opened = Link::open(&self.target).and_then(|mut link| {
            link.leave_in_place();
            let token = u64::try_from(index).unwrap_or(u64::MAX);
            let added = self.poller.add_both_ways(link.socket(), token);
            added.map_err(|error| Fault { number: None, text: format!("epoll_ctl: {error}") })?;
            Ok(link)
        });
        let slot = &mut self.slots[index];
        slot.sent_ns = now_ns;
        match opened {
            Ok(link) => {
                slot.link = Some(link);
                slot.state = State::Opening;
            }
            Err(fault) => self.lose(index, &fault),
        }
    }

    /// Makes a connection free, or finished if it has done its iterations.
    fn release(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let is_done = self.settings.iterations.is_some_and(|most| slot.iterations >= most);
        slot.state = if is_done { State::Finished } else { State::Free };
        if !is_done {
            self.free.push_back(index);
        }
    }

    fn begin_iteration(&mut self, index: usize, due_ns: u64) {
        let slot = &mut self.slots[index];
        slot.iterations += 1;
        slot.turn = self.work.first(self.first + index, &mut slot.random);
        self.ask(index, due_ns);
    }

    /// Sends the request of a connection's turn.
    #[inline]
    fn ask(&mut self, index: usize, due_ns: u64) {
        let slot = &mut self.slots[index];
        slot.due_ns = due_ns;
        slot.tries = 0;
        slot.drawn = slot.random;
        self.send(index);
    }

    #[inline]
    fn send(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.random = slot.drawn;
        let drawn = self.work.drawn(slot.turn, self.first + index, &mut slot.random);
        let request = match &drawn {
            Some(request) => request,
            None => self.work.request(slot.turn),
        };
        slot.state = State::Busy;
        slot.sent_ns = clock::monotonic_ns();
        self.tally.bytes.0 += count(request.len());
        let Some(link) = &mut slot.link else { return };
        if let Err(fault) = link.ask(request) {
            self.lose(index, &fault);
        }
    }

    /// Waits for events and processes them.
    fn turn_over(&mut self, timeout: Timeout) {
        self.poller.wait(&mut self.events, timeout);
        while let Some(event) = self.events.next() {
            let Ok(index) = usize::try_from(event.token) else { continue };
            let Some(link) = &mut self.slots[index].link else { continue };
            match link.advance(&mut self.buffer, event.hangup) {
                Ok(Step::Waiting) => {}
                Ok(Step::LoggedIn) => self.logged_in(index),
                Ok(Step::Answer(end)) => self.answered(index, &end),
                Err(fault) => self.lose(index, &fault),
            }
        }
    }

    fn logged_in(&mut self, index: usize) {
        let now_ns = clock::monotonic_ns();
        let waited_ns = now_ns.saturating_sub(self.slots[index].sent_ns);
        self.tally.logins.saturating_record(waited_ns.max(1));
        self.release(index);
    }

    #[inline]
    fn answered(&mut self, index: usize, end: &FinalDone) {
        let now_ns = clock::monotonic_ns();
        let slot = &mut self.slots[index];
        self.tally.bytes.1 += end.bytes;
        if slot.state == State::Cancelled {
            return self.end_iteration(index, now_ns);
        }
        let kind = slot.turn.kind;
        let is_known = self.lengths[kind].contains(&end.bytes);
        if (!is_known || has_failed(end)) && !self.check(index, end) {
            return;
        }
        let slot = &mut self.slots[index];
        let latency_ns = now_ns.saturating_sub(slot.due_ns);
        self.tally.answered(kind, latency_ns, now_ns.saturating_sub(slot.sent_ns));
        match self.work.next(slot.turn) {
            Some(turn) if !self.is_ending => {
                slot.turn = turn;
                self.ask(index, now_ns);
            }
            _ => self.end_iteration(index, now_ns),
        }
    }

    /// Decodes an answer and counts its errors; returns `false` if the request was repeated.
    #[cold]
    fn check(&mut self, index: usize, end: &FinalDone) -> bool {
        let slot = &mut self.slots[index];
        let Some(link) = &slot.link else { return true };
        let answer = match Answer::decode(link.answer(&self.buffer)) {
            Ok(answer) => answer,
            Err(text) => {
                self.lose(index, &Fault { number: None, text });
                return false;
            }
        };
        let mut errors = answer.errors().map(|e| (e.number, e.message.clone())).peekable();
        if errors.peek().is_none() {
            let lengths = &mut self.lengths[slot.turn.kind];
            if lengths.len() < LENGTHS_MAX && !has_failed(end) {
                lengths.push(end.bytes);
            }
            if has_failed(end) {
                self.tally.failed_of(slot.turn.kind, std::iter::empty());
            }
            return true;
        }
        let kind = slot.turn.kind;
        let helped = answer.errors().find(|error| RETRIED.contains(&error.number));
        if let Some(error) = helped
            && slot.tries < self.settings.retries
        {
            slot.tries += 1;
            *self.tally.retries.entry(error.number).or_default() += 1;
            self.send(index);
            return false;
        }
        self.tally.failed_of(kind, errors);
        self.end_on_error();
        true
    }

    fn end_on_error(&mut self) {
        if self.settings.stop_on_error {
            self.end(clock::monotonic_ns());
        }
    }

    fn end_iteration(&mut self, index: usize, now_ns: u64) {
        match (self.settings.pool, self.settings.pace) {
            (Pool::Reconnect, _) => {
                self.close(index);
                let done = self.settings.iterations;
                match done.is_some_and(|most| self.slots[index].iterations >= most) {
                    true => self.slots[index].state = State::Finished,
                    false if self.is_ending => {
                        self.slots[index].state = State::Lost;
                        self.timers.push(Reverse((now_ns, index)));
                    }
                    false => self.open(index, now_ns),
                }
            }
            (_, Pace::Closed { think }) if !think.is_zero() => {
                self.slots[index].state = State::Thinking;
                self.timers.push(Reverse((now_ns + nanoseconds(think), index)));
            }
            _ => self.release(index),
        }
        if let Pace::Closed { .. } = self.settings.pace
            && self.slots[index].state == State::Free
            && !self.is_ending
        {
            // It is its turn now: it need not wait in the queue.
            self.free.pop_back();
            self.begin_iteration(index, now_ns);
        }
    }

    /// Counts a connection's failure, and closes it.
    #[cold]
    fn lose(&mut self, index: usize, fault: &Fault) {
        match fault.number {
            Some(number) => self.tally.failed(std::iter::once((number, fault.text.clone()))),
            None => self.tally.fault(&fault.text),
        }
        self.end_on_error();
        self.free.retain(|free| *free != index);
        self.close(index);
        self.slots[index].state = State::Lost;
        self.timers.push(Reverse((clock::monotonic_ns() + REOPEN_NS, index)));
    }

    fn close(&mut self, index: usize) {
        if let Some(link) = self.slots[index].link.take() {
            self.poller.remove(link.socket());
        }
    }

    /// Cancels requests that exceed the timeout.
    fn look_at_clocks(&mut self) {
        let now_ns = clock::monotonic_ns();
        let login_ns = nanoseconds(self.settings.login_timeout);
        let query_ns = self.settings.query_timeout.map_or(u64::MAX, nanoseconds);
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            let waited_ns = now_ns.saturating_sub(slot.sent_ns);
            match slot.state {
                State::Opening if waited_ns > login_ns => {
                    self.lose(
                        index,
                        &Fault { number: None, text: "the login took too long".to_owned() },
                    );
                }
                State::Busy if waited_ns > query_ns => {
                    slot.state = State::Cancelled;
                    // From now on it has the time of a login to acknowledge the cancel.
                    slot.sent_ns = now_ns;
                    self.tally.timed_out();
                    let cancelled = slot.link.as_mut().map(Link::cancel);
                    if let Some(Err(fault)) = cancelled {
                        self.lose(index, &fault);
                    }
                }
                State::Busy
                    if self.is_ending && now_ns.saturating_sub(self.ended_ns) > login_ns =>
                {
                    let text = "a request was not answered by the end of the run".to_owned();
                    self.lose(index, &Fault { number: None, text });
                }
                State::Cancelled if waited_ns > login_ns => {
                    let text = "the server does not acknowledge the cancel".to_owned();
                    self.lose(index, &Fault { number: None, text });
                }
                _ => {}
            }
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Returns the CPU time of the calling thread.
fn own_cpu_ns() -> u64 {
    sys::run_times(sys::thread_id()).map_or(0, |times| times.on_cpu_ns)
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds since the start stay below 2^53")]
fn float(ns: u64) -> f64 {
    ns as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time is no negative number"
)]
fn whole(ns: f64) -> u64 {
    ns as u64
}
