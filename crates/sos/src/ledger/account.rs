//! `Account`: the time and the counters of one thread, written by that thread alone.
//!
//! An edge is a change of the thread's state; a stay is the time between two edges.
//!
//! ```text
//!   edge: wall[state] += now - since;  was I off the CPU?;  state = next;  since = now
//! ```
//!
//! `since` is zero while an edge is being written, and different after each edge: a reader that
//! finds the same value before and after has a consistent copy ([`super::whole`]).

use std::mem::MaybeUninit;

use super::Counter;
use super::clear::{Eras, Seen, Statistics};
use super::sample::Ratio;
use super::session::SessionBooks;
use super::spent::Spent;
use super::state::{
    BACKGROUND, CELLS, KERNEL, Label, RUNNING, SCHEDULING, State, TOP_OF, TOPS, TURN,
    yields_to_kernel,
};
use super::switched::Deferred;
use super::watch::{Source, Watch};
use super::whole::Spread;
use crate::clock;
use crate::lock::{LatchClass, SpinCell, SpinClass, SpinLock};
use crate::memory::{MemoryClerk, with_clerk};
use crate::sampler::Recorder;
use crate::sched::QUANTUM;
use crate::sync::{Arc, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use crate::sys::{self, SysCause};
use crate::wait::{WaitCell, WaitType};
use crate::xe::{Emitter, Hub};

/// The same fraction of the parts of a long request is timed as of short requests: one in this
/// many.
const LONG_UNIT_PARTS: u32 = 64;

/// One thread's time in one state, in ticks. The time on a CPU is `wall` minus the other parts. A
/// part may be below zero by a microsecond until the next edge corrects it: they are two's
/// complements.
#[derive(Debug, Default)]
pub(super) struct StateCell {
    pub(super) wall: Counter,
    pub(super) runnable: Counter,
    pub(super) blocked: Counter,
    pub(super) count: Counter,
}

/// The parts of a turn (the time between two requests), as timed requests split it.
pub(super) const TURN_PARTS: usize = 3;
pub(super) const TURN_SCHEDULING: usize = 0;
pub(super) const TURN_RECEIVE: usize = 1;
/// The part from the end of the last send to the end of the request.
pub(super) const TURN_TAIL: usize = 2;

/// An outer window of zero, which itself says that there is none.
const NO_WINDOW: u64 = u64::MAX;

/// What timed requests have measured, the present one included, in ticks on a CPU.
#[derive(Debug, Default)]
pub(super) struct Samples {
    label_now: [Counter; Label::COUNT],
    turn_now: [Counter; TURN_PARTS],
    /// The parts of the running time of requests, by label.
    pub(super) labels: Ratio<{ Label::COUNT }>,
    /// The parts of the turns between requests.
    pub(super) turns: Ratio<TURN_PARTS>,
    /// The time of background work by label, which is always timed.
    pub(super) background: [Counter; Label::COUNT],
    /// The ticks until which the present part of a request is a timed unit; zero: until its end.
    window: Counter,
    /// The value that `window` gets back when a measured stay within a timed unit ends; zero
    /// outside such a stay, [`NO_WINDOW`] for a window of zero.
    outer_window: Counter,
    /// Running time under labels that are always measured, and of long requests under a label that
    /// did not change: not sampled.
    pub(super) long: [Counter; Label::COUNT],
}

/// One thread's time and counters. Aligned so that no other thread writes to its cache lines; the
/// fields that each edge writes come first.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Account {
    pub(super) since: Counter,
    state: AtomicUsize,
    label: AtomicU32,
    /// Whether labels are timed now: in one request of 64, and in background work.
    timed: AtomicU32,
    /// The word that the kernel changes when it takes the thread off its CPU (the sentinel), and
    /// its value until then. Only the thread itself may dereference the pointer.
    pub(super) word: AtomicPtr<AtomicU64>,
    pub(super) armed: Counter,
    /// Whether the last edge was the end of a send.
    sent: AtomicU32,
    /// The number of requests until the next timed one.
    countdown: AtomicU32,
    /// Ticks of the last edge.
    edge: Counter,
    /// Ticks of the present stay that the sampler's signal handler took; written by the handler.
    pub(super) observed: Counter,
    /// The statement that the thread runs; 0 for none.
    pub(super) statement: AtomicU64,
    pub(super) tops: [Counter; TOPS],
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) cells: [StateCell; CELLS],
    /// The session on which waits are booked as well; null for none.
    session: AtomicPtr<SessionBooks>,
    /// The kernel's schedstat at the last look: on a CPU and ready, in ns, and the ticks of the
    /// look.
    pub(super) last: [Counter; 3],
    /// The first two of `last` when the account was opened.
    pub(super) base: [Counter; 2],
    pub(super) watch: Watch,
    /// Short waits since the last look at schedstat.
    pub(super) deferred: Deferred,
    pub(super) samples: Samples,
    random: AtomicU32,
    number: u32,
    thread_id: u32,
    name: Box<str>,
    waits: [WaitCell; WaitType::COUNT],
    spins: [SpinCell; SpinClass::COUNT],
    latches: [WaitCell; LatchClass::COUNT],
    /// For ended threads: schedstat's two numbers and the time in the kernel, in ns.
    pub(super) past: [Counter; 3],
    emitter: Emitter,
    /// How often the machine's statistics were cleared, and how often this account has noticed.
    eras: Option<Arc<Eras>>,
    pub(super) seen: Seen,
    /// For a thread without a sentinel: the time that has been split so far.
    pub(super) spread: SpinLock<Option<Box<Spread>>>,
}

/// Memory for the account of a thread that is about to start, from the heap of the thread that
/// starts it: the memory that each heap takes for its first block of this size would hold a dozen
/// accounts.
pub(crate) struct Room {
    account: Arc<MaybeUninit<Account>>,
    recorder: Box<MaybeUninit<Recorder>>,
}

impl Room {
    pub(crate) fn new() -> Self {
        with_clerk(MemoryClerk::SosNode, || Self {
            account: Arc::new_uninit(),
            recorder: Box::new_uninit(),
        })
    }
}

/// The next thread number. 0 means "no thread" and is the value of a free lock word.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

impl Account {
    /// Opens the account of the calling thread.
    pub(super) fn open(
        room: Room,
        name: &str,
        source: Source,
        eras: Option<Arc<Eras>>,
        hub: &Arc<Hub>,
    ) -> Arc<Self> {
        let number = Self::next_number();
        let emitter = Emitter::new(Some(hub), number);
        // Threads of a machine are sampled.
        let recorder = Some(Box::write(room.recorder, Recorder::new(number)));
        let account = Self::with(number, name, Watch::open(source), eras, emitter);
        let account = Self { recorder, ..account };
        let mut shared = room.account;
        let Some(place) = Arc::get_mut(&mut shared) else {
            return Arc::new(account);
        };
        place.write(account);
        // SAFETY: written in the line before.
        unsafe { shared.assume_init() }
    }

    pub(super) fn next_number() -> u32 {
        // Relaxed: only uniqueness matters.
        NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn with(
        number: u32,
        name: &str,
        watch: Watch,
        eras: Option<Arc<Eras>>,
        emitter: Emitter,
    ) -> Self {
        let account = Self {
            since: Counter::new(),
            state: AtomicUsize::new(SCHEDULING),
            label: AtomicU32::new(0),
            timed: AtomicU32::new(0),
            word: AtomicPtr::new(watch.word()),
            armed: Counter::new(),
            sent: AtomicU32::new(0),
            countdown: AtomicU32::new(1),
            edge: Counter::new(),
            observed: Counter::new(),
            statement: AtomicU64::new(0),
            tops: Default::default(),
            recorder: None,
            cells: std::array::from_fn(|_| StateCell::default()),
            session: AtomicPtr::default(),
            last: Default::default(),
            base: Default::default(),
            deferred: Deferred::default(),
            samples: Samples::default(),
            random: AtomicU32::new(number.wrapping_mul(0x9e37_79b9) | 1),
            number,
            thread_id: sys::thread_id(),
            name: name.into(),
            waits: std::array::from_fn(|_| WaitCell::default()),
            spins: std::array::from_fn(|_| SpinCell::default()),
            latches: std::array::from_fn(|_| WaitCell::default()),
            past: Default::default(),
            emitter,
            seen: Seen::default(),
            eras,
            spread: SpinLock::new(SpinClass::SosThreadList, None),
            watch,
        };
        account.begin();
        account
    }

    fn begin(&self) {
        let (on_cpu_ns, runnable_ns, now) = self.look().unwrap_or((0, 0, clock::now_ticks()));
        for (last, value) in self.last.iter().zip([on_cpu_ns, runnable_ns, now]) {
            last.set(value);
        }
        self.base[0].set(on_cpu_ns);
        self.base[1].set(runnable_ns);
        self.edge.set(now);
        self.since.set(now);
    }

    /// Books the stay in progress and closes the sentinel. The owner calls it as it ends.
    pub(super) fn finish(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.stop();
        }
        let kernel_ns = sys::own_kernel_ns().saturating_sub(self.watch.base_kernel_ns());
        let times = match self.watch.source() {
            Source::Rseq | Source::SwitchRecords => {
                // As if the thread had been switched, so that its time since the last look is
                // booked.
                self.armed.set(!self.armed.get());
                self.deferred.end();
                self.edge(SCHEDULING);
                Some((self.last[0].get(), self.last[1].get()))
            }
            Source::Schedstat | Source::WallOnly => {
                // The thread that removes the account splits the time since the last splitting.
                self.edge(SCHEDULING);
                self.look().map(|(on_cpu_ns, runnable_ns, _)| (on_cpu_ns, runnable_ns))
            }
        };
        if let Some((on_cpu_ns, runnable_ns)) = times {
            self.past[0].set(on_cpu_ns.saturating_sub(self.base[0].get()));
            self.past[1].set(runnable_ns.saturating_sub(self.base[1].get()));
            self.past[2].set(kernel_ns);
        }
        // No stay is in progress any more.
        self.since.set(0);
        // SAFETY: the word lives as long as its thread, which is the calling one.
        self.watch.disarm(unsafe { &*self.word.load(Ordering::Relaxed) });
        let blind = Watch::blind();
        self.word.store(blind.word(), Ordering::Relaxed);
        self.armed.set(0);
    }

    /// The thread's number in this process, never 0 and never reused.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The thread's state for firing extended events.
    #[inline]
    pub(crate) fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    /// The name that the thread was started with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operating system's id of the thread.
    #[must_use]
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// The state that the thread is in now.
    #[must_use]
    pub fn state(&self) -> State {
        State::of_index(self.at())
    }

    /// The label that the thread last set.
    #[must_use]
    pub fn label(&self) -> Label {
        Label::ALL[self.label.load(Ordering::Relaxed) as usize % Label::COUNT]
    }

    /// Records that the sampler's handler took `ticks` of the present stay. To deliver the signal
    /// the kernel has cleared the sentinel's word, or this does: the next edge then corrects the
    /// stay.
    pub(crate) fn observed(&self, ticks: u64) {
        self.observed.add(ticks);
        if self.is_armed() {
            self.armed.set(!self.armed.get());
        }
    }

    /// Nanoseconds spent in a state, the stay in progress included.
    #[must_use]
    pub fn state_ns(&self, state: State) -> u64 {
        let whole = self.read();
        let turns = if state == State::Scheduling { whole.wall[TURN] } else { 0 };
        clock::ticks_to_ns(whole.wall[state.index()] + turns)
    }

    /// How often the thread entered a state.
    #[must_use]
    pub fn state_count(&self, state: State) -> u64 {
        let turns = if state == State::Scheduling { self.cells[TURN].count.get() } else { 0 };
        self.cells[state.index()].count.get() + turns
    }

    /// How often the thread made system calls for a cause.
    #[must_use]
    pub fn sys_count(&self, cause: SysCause) -> u64 {
        self.cells[KERNEL + cause.index()].count.get()
    }

    /// The thread's counters of a wait type.
    #[must_use]
    pub fn wait(&self, wait_type: WaitType) -> &WaitCell {
        &self.waits[wait_type.index()]
    }

    /// The thread's counters of a class of spinlocks.
    #[must_use]
    pub fn spin(&self, class: SpinClass) -> &SpinCell {
        &self.spins[class.index()]
    }

    /// The thread's counters of a class of latches.
    #[must_use]
    pub fn latch(&self, class: LatchClass) -> &WaitCell {
        &self.latches[class.index()]
    }

    /// How the thread's time off the CPU is measured.
    #[must_use]
    pub fn source(&self) -> Source {
        self.watch.source()
    }

    /// Counts one wait, also for the session that the thread serves.
    pub(crate) fn book_wait(&self, wait_type: WaitType, ticks: u64, signal_ticks: u64) {
        self.enter_era(Statistics::Waits);
        self.waits[wait_type.index()].book(ticks, signal_ticks);
        // SAFETY: `request` keeps the session's books alive as long as the pointer is set.
        if let Some(books) = unsafe { self.session.load(Ordering::Relaxed).as_ref() } {
            books.book_wait(wait_type, ticks, signal_ticks);
        }
    }

    /// Counts one wait for a latch.
    pub(crate) fn book_latch(&self, class: LatchClass, ticks: u64) {
        self.enter_era(Statistics::Latches);
        self.latches[class.index()].book(ticks, 0);
    }

    /// Resets the maxima of statistics that have been cleared since the last call. Only the owner
    /// may call it.
    pub(super) fn enter_era(&self, of: Statistics) {
        let Some(eras) = &self.eras else { return };
        if !self.seen.enter(of, eras.now(of)) {
            return;
        }
        let cells: &[WaitCell] = match of {
            Statistics::Waits => &self.waits,
            Statistics::Latches => &self.latches,
            Statistics::Spinlocks => &[],
        };
        cells.iter().for_each(|cell| cell.ticks_max.set(0));
    }

    #[inline]
    pub(super) fn at(&self) -> usize {
        self.state.load(Ordering::Relaxed) % CELLS
    }

    /// Books the stay in progress up to now and returns the ticks of now; `since` is zero
    /// afterwards.
    #[inline]
    fn settle(&self) -> u64 {
        let (at, since, now) = (self.at(), self.since.get(), clock::now_ticks());
        let wall = now.saturating_sub(since);
        let (on_cpu, now) = if self.is_armed() {
            self.book(at, wall);
            (wall, now)
        } else {
            self.hit(at, wall, now)
        };
        if self.is_timed() {
            self.book_label(at, on_cpu, now);
        }
        now
    }

    /// Begins an edge: sets `since` to zero and adds the time of the stay that ends.
    #[inline]
    pub(super) fn book(&self, at: usize, wall: u64) {
        self.since.set(0);
        // Release: pairs with the reader's Acquire fence: a reader that sees a part of the edge
        // sees the zero.
        fence(Ordering::Release);
        self.cells[at].wall.add(wall);
        self.tops[usize::from(TOP_OF[at])].add(wall);
    }

    /// Books the stay in progress and begins one in the cell `next`.
    #[inline]
    fn edge(&self, next: usize) {
        self.cells[next % CELLS].count.add(1);
        self.back(next);
    }

    /// Books the stay in progress and returns to the cell `next` without counting an entry.
    #[inline]
    fn back(&self, next: usize) {
        let now = self.settle();
        self.state.store(next % CELLS, Ordering::Relaxed);
        self.edge.set(now);
        self.since.publish(now);
    }

    /// Books a stay of a timed request under its label, or as its part of the turn.
    fn book_label(&self, at: usize, on_cpu: u64, now: u64) {
        let label = self.label().index();
        match at {
            RUNNING => self.book_running(label, on_cpu, now),
            BACKGROUND => self.samples.background[label].add(on_cpu),
            SCHEDULING => self.samples.turn_now[TURN_SCHEDULING].add(on_cpu),
            // Other states have no labels.
            _ => {}
        }
    }

    /// Books a stay in the running state. In a long request it first counts as a timed unit, and
    /// afterwards as measured time as long as the label does not change.
    fn book_running(&self, label: usize, on_cpu: u64, now: u64) {
        let window = self.samples.window.get();
        if window == 0 || now <= window {
            self.samples.label_now[label].add(on_cpu);
            return;
        }
        let known = on_cpu.min(now - window);
        self.samples.label_now[label].add(on_cpu - known);
        self.samples.long[label].add(known);
    }

    /// Moves to a state and returns the one before.
    #[inline]
    pub(super) fn to(&self, state: State) -> State {
        let before = self.state();
        self.sent.store(0, Ordering::Relaxed);
        match state {
            State::Scheduling if !self.is_timed() => self.edge(TURN),
            State::Background => {
                self.edge(BACKGROUND);
                self.timed.store(1, Ordering::Relaxed);
            }
            state => self.edge(state.index()),
        }
        before
    }

    /// Runs a system call, in the state of its cause if the present state yields to it.
    #[inline]
    pub(super) fn call<R>(&self, cause: SysCause, call: impl FnOnce() -> R) -> R {
        let before = self.at();
        if !yields_to_kernel(before) {
            self.cells[KERNEL + cause.index()].count.add(1);
            return call();
        }
        self.edge(KERNEL + cause.index());
        let result = call();
        self.back(before);
        self.sent.store(u32::from(cause == SysCause::Send), Ordering::Relaxed);
        result
    }

    /// Runs the receive that begins a request. If the request is not timed, the receive is part of
    /// the turn.
    #[inline]
    pub(super) fn receive<R>(&self, call: impl FnOnce() -> R) -> R {
        match self.at() {
            TURN => {
                self.cells[KERNEL + SysCause::Recv.index()].count.add(1);
                let result = call();
                self.begin_running();
                result
            }
            SCHEDULING => {
                self.edge(KERNEL + SysCause::Recv.index());
                let begin = self.edge.get();
                let result = call();
                self.begin_running();
                let received = self.edge.get().saturating_sub(begin);
                self.samples.turn_now[TURN_RECEIVE].add(received);
                result
            }
            // A receive in the middle of a request is an ordinary system call.
            _ => self.call(SysCause::Recv, call),
        }
    }

    #[inline]
    fn begin_running(&self) {
        // After a receive the thread decodes what has arrived, until it sets another label. Set
        // before the edge, so that the work of the edge itself, if the thread was preempted, has
        // that label too.
        self.label.store(Label::Decode as u32, Ordering::Relaxed);
        // A send before the request, or between two, is not the request's.
        self.sent.store(0, Ordering::Relaxed);
        self.edge(RUNNING);
    }

    #[inline]
    pub(super) fn set_label(&self, label: u32) -> u32 {
        let before = self.label.load(Ordering::Relaxed);
        if self.is_timed() && before != label {
            self.split_label();
        }
        self.label.store(label, Ordering::Relaxed);
        before
    }

    /// Sets a label whose time is measured until the label changes, in each request. A timed unit
    /// goes on after it, without that time: else one timed stay would stand for 64 that were
    /// measured.
    pub(super) fn measure_label(&self, label: u32) -> u32 {
        if self.at() != RUNNING {
            return self.set_label(label);
        }
        let now = self.settle();
        self.since.publish(now);
        let (window, outer) = (self.samples.window.get(), self.samples.outer_window.get());
        if self.is_timed() && outer == 0 && (window == 0 || now <= window) {
            self.samples.outer_window.set(if window == 0 { NO_WINDOW } else { window });
        }
        // In a request that is not timed, this is a part of a long one whose timed unit is empty.
        self.samples.window.set(now);
        self.timed.store(1, Ordering::Relaxed);
        let before = self.label.load(Ordering::Relaxed);
        self.label.store(label, Ordering::Relaxed);
        before
    }

    #[cold]
    fn split_label(&self) {
        if !matches!(self.at(), RUNNING | BACKGROUND) {
            return;
        }
        let now = self.settle();
        self.since.publish(now);
        let outer = self.samples.outer_window.get();
        if outer != 0 {
            self.samples.outer_window.set(0);
            self.samples.window.set(if outer == NO_WINDOW { 0 } else { outer });
            return;
        }
        let window = self.samples.window.get();
        if window != 0 && now > window {
            // The rest of this part is split by the shares of timed units.
            self.close_unit();
            self.timed.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn is_timed(&self) -> bool {
        self.timed.load(Ordering::Relaxed) != 0
    }

    /// Sets the session on which waits are booked; returns the one before.
    #[inline]
    pub(super) fn set_session(&self, books: *const SessionBooks) -> *const SessionBooks {
        let before = self.session.load(Ordering::Relaxed);
        self.session.store(books.cast_mut(), Ordering::Relaxed);
        before
    }

    /// Whether no session is set.
    pub(super) fn serves_nobody(&self) -> bool {
        self.session.load(Ordering::Relaxed).is_null()
    }

    /// Ends a request: the running time since its last send becomes part of the turn, without an
    /// edge, and it is decided whether the next request is timed.
    #[inline]
    pub(super) fn end_request(&self) {
        if self.at() == BACKGROUND {
            return;
        }
        let next_is_timed = self.next_is_timed();
        if next_is_timed || self.is_timed() {
            self.change_timing(next_is_timed);
        } else {
            self.leave_running();
        }
    }

    /// Begins the next part of a long request. Each part is timed from its beginning until its
    /// label changes: so a scan is measured as well as many lookups are.
    pub(super) fn next_part(&self) {
        if self.at() != RUNNING {
            return;
        }
        let now = self.settle();
        self.since.publish(now);
        self.close_unit();
        self.samples.window.set(now + clock::duration_to_ticks(QUANTUM / LONG_UNIT_PARTS));
        self.samples.outer_window.set(0);
        self.timed.store(1, Ordering::Relaxed);
    }

    /// Counts down to the next timed request. The gaps are random, 64 on average, so that they do
    /// not fall in step with a pattern of the load.
    #[inline]
    fn next_is_timed(&self) -> bool {
        let left = self.countdown.load(Ordering::Relaxed).wrapping_sub(1);
        if left == 0 {
            return self.draw();
        }
        self.countdown.store(left, Ordering::Relaxed);
        false
    }

    #[cold]
    fn draw(&self) -> bool {
        // Marsaglia's xorshift.
        let mut random = self.random.load(Ordering::Relaxed);
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.random.store(random, Ordering::Relaxed);
        self.countdown.store(1 + random % 127, Ordering::Relaxed);
        true
    }

    #[cold]
    fn change_timing(&self, next_is_timed: bool) {
        let (was_timed, sent) = (self.is_timed(), self.sent.load(Ordering::Relaxed) != 0);
        let begin = self.edge.get();
        if self.at() == RUNNING {
            self.edge(if next_is_timed { SCHEDULING } else { TURN });
        }
        self.timed.store(u32::from(next_is_timed), Ordering::Relaxed);
        self.samples.window.set(0);
        self.samples.outer_window.set(0);
        self.sent.store(0, Ordering::Relaxed);
        if !was_timed {
            return;
        }
        self.close_unit();
        let mut turn = take(&self.samples.turn_now);
        // Only a request that was timed from its receive on has a turn before it.
        if turn[TURN_RECEIVE] > 0 {
            let tail = self.edge.get().saturating_sub(begin);
            turn[TURN_TAIL] = if sent { tail } else { 0 };
            self.samples.turns.add(turn);
        }
    }

    fn close_unit(&self) {
        self.samples.labels.add(take(&self.samples.label_now));
    }

    /// Leaves the running state, if it is in it, after a task has returned or a request has ended.
    #[inline]
    pub(super) fn leave_running(&self) {
        if self.at() != RUNNING {
            return;
        }
        if self.sent.load(Ordering::Relaxed) == 0 || self.is_timed() {
            self.to(State::Scheduling);
            return;
        }
        self.cells[TURN].count.add(1);
        self.state.store(TURN, Ordering::Relaxed);
    }

    /// The ticks of the thread's last edge.
    #[inline]
    pub(super) fn last_edge(&self) -> u64 {
        self.edge.get()
    }

    /// The sums by kind, including the stay in progress. Reads the clock.
    #[inline]
    pub(super) fn spent(&self) -> Spent {
        let now = self.settle();
        self.since.publish(now);
        self.booked()
    }

    /// The sums by kind, including the stay in progress, read from another thread, which may miss
    /// an edge.
    #[must_use]
    pub fn spent_so_far(&self) -> Spent {
        let (at, since) = (self.at(), self.since.get());
        let mut stay = [0; TOPS];
        if since != 0 {
            stay[usize::from(TOP_OF[at])] = clock::now_ticks().saturating_sub(since);
        }
        self.booked().plus(&Spent::of(stay))
    }

    /// The sums by kind up to the last edge. A correction may have lowered a sum below zero for
    /// now, so they are modulo 2^64.
    #[inline]
    pub(super) fn booked(&self) -> Spent {
        Spent::of(std::array::from_fn(|top| self.tops[top].get()))
    }

    /// Adds another account's sums to this one; for the totals of threads that ended.
    pub(super) fn absorb(&self, other: &Self) {
        let is_split = other.watch.source() != Source::WallOnly;
        for (at, (mine, theirs)) in self.cells.iter().zip(&other.cells).enumerate() {
            let waits = !is_split && State::of_index(at).waits();
            mine.wall.add(theirs.wall.get());
            mine.runnable.add(theirs.runnable.get());
            mine.blocked.add(if waits { theirs.wall.get() } else { theirs.blocked.get() });
            mine.count.add(theirs.count.get());
        }
        for (mine, theirs) in self.past.iter().zip(&other.past) {
            mine.add(theirs.get());
        }
        // Maxima from before the last clearing must not be added.
        other.enter_era(Statistics::Waits);
        other.enter_era(Statistics::Latches);
        for (mine, theirs) in self.waits.iter().zip(&other.waits) {
            mine.absorb(theirs);
        }
        for (mine, theirs) in self.latches.iter().zip(&other.latches) {
            mine.absorb(theirs);
        }
        for (mine, theirs) in self.spins.iter().zip(&other.spins) {
            mine.absorb(theirs);
        }
        self.samples.labels.absorb(&other.samples.labels);
        self.samples.turns.absorb(&other.samples.turns);
        for (mine, theirs) in self.samples.background.iter().zip(&other.samples.background) {
            mine.add(theirs.get());
        }
        for (mine, theirs) in self.samples.long.iter().zip(&other.samples.long) {
            mine.add(theirs.get());
        }
    }
}

fn take<const N: usize>(cells: &[Counter; N]) -> [u64; N] {
    std::array::from_fn(|i| {
        let value = cells[i].get();
        cells[i].set(0);
        value
    })
}
