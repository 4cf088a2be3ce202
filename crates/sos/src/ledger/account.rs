//! `Account`: one thread's books, written by that thread alone.
//!
//! ```text
//!   edge: wall[state] += now - since;  was I off the CPU?;  state = next;  since = now
//! ```
//!
//! `since` is zero while an edge is being written, and different after each: a reader that finds
//! the same value before and after has read whole books ([`super::whole`]).

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

/// Of each part of a long request one in so many is a timed unit: as of short requests.
const LONG_UNIT_PARTS: u32 = 64;

/// What one thread did in one state, in ticks. The time on a CPU is what is left of `wall`. Parts
/// may be below zero by a microsecond, which the next one makes good: they are two's complements.
#[derive(Debug, Default)]
pub(super) struct StateCell {
    pub(super) wall: Counter,
    pub(super) runnable: Counter,
    pub(super) blocked: Counter,
    pub(super) count: Counter,
}

/// Parts of a turn, as timed requests split it.
pub(super) const TURN_PARTS: usize = 3;
pub(super) const TURN_SCHEDULING: usize = 0;
pub(super) const TURN_RECEIVE: usize = 1;
/// From the end of the last send to the end of the request.
pub(super) const TURN_TAIL: usize = 2;

/// What timed requests have measured, and what the present one has so far. In ticks on a CPU.
#[derive(Debug, Default)]
pub(super) struct Samples {
    label_now: [Counter; Label::COUNT],
    turn_now: [Counter; TURN_PARTS],
    /// Parts of the running time of requests.
    pub(super) labels: Ratio<{ Label::COUNT }>,
    /// Parts of the turns between them.
    pub(super) turns: Ratio<TURN_PARTS>,
    /// Labels of background work, which is always timed.
    pub(super) background: [Counter; Label::COUNT],
    /// Until when the present part of a long request is a timed unit, in ticks; zero outside of
    /// one.
    window: Counter,
    /// Running time of long requests under labels that did not change: known, not sampled.
    pub(super) long: [Counter; Label::COUNT],
}

/// One thread's books. Aligned so that no other thread's writes share its cache lines; what each
/// edge writes comes first.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Account {
    pub(super) since: Counter,
    state: AtomicUsize,
    label: AtomicU32,
    /// Whether labels are timed: in one request of 64, and in background work.
    timed: AtomicU32,
    /// The word that the kernel changes when it takes the thread off its CPU, and its value until
    /// then. The thread's own: nobody else may follow the pointer.
    pub(super) word: AtomicPtr<AtomicU64>,
    pub(super) armed: Counter,
    /// Whether the last edge was the end of a send.
    sent: AtomicU32,
    /// Requests until the next one that is timed.
    countdown: AtomicU32,
    /// When the thread last changed its state.
    edge: Counter,
    /// What the sampler has taken of the present stay, in ticks; written by its handler.
    pub(super) observed: Counter,
    /// The statement that it runs.
    pub(super) statement: AtomicU64,
    pub(super) tops: [Counter; TOPS],
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) cells: [StateCell; CELLS],
    /// Where waits are booked besides.
    session: AtomicPtr<SessionBooks>,
    /// The scheduler's books as of the last switch: on a CPU and ready, in ns, and when, in ticks.
    pub(super) last: [Counter; 3],
    /// The first two when the account was opened.
    pub(super) base: [Counter; 2],
    pub(super) watch: Watch,
    /// Short waits since then.
    pub(super) deferred: Deferred,
    pub(super) samples: Samples,
    random: AtomicU32,
    number: u32,
    thread_id: u32,
    name: Box<str>,
    waits: [WaitCell; WaitType::COUNT],
    spins: [SpinCell; SpinClass::COUNT],
    latches: [WaitCell; LatchClass::COUNT],
    /// Of threads that have ended: the scheduler's books and the time in the kernel, in ns.
    pub(super) past: [Counter; 3],
    emitter: Emitter,
    /// When its machine's statistics were cleared, and up to when this account has noticed.
    eras: Option<Arc<Eras>>,
    pub(super) seen: Seen,
    /// Of a thread without a sentinel: up to where its time has been spread.
    pub(super) spread: SpinLock<Option<Box<Spread>>>,
}

/// Memory for the account of a thread that is about to start, from the heap of the thread that
/// starts it: what each heap has to take for its first block of such a size would do for a dozen
/// threads.
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

/// Numbers given to threads; 0 means "no thread", which is what a free lock word holds.
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

    /// Closes the stay in progress and the sentinel; the owner, as it ends.
    pub(super) fn finish(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.stop();
        }
        let kernel_ns = sys::own_kernel_ns().saturating_sub(self.watch.base_kernel_ns());
        let times = match self.watch.source() {
            Source::Rseq | Source::SwitchRecords => {
                // As if it had been switched, so that what it did since it was is booked as well.
                self.armed.set(!self.armed.get());
                self.deferred.end();
                self.edge(SCHEDULING);
                Some((self.last[0].get(), self.last[1].get()))
            }
            Source::Schedstat | Source::WallOnly => {
                // What it did since the last spreading is spread by who takes it off the books.
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
        // SAFETY: the owner's word lives as long as its thread, and the owner is who asks.
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

    /// Its part in Extended Events.
    #[inline]
    pub(crate) fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operating system's id of the thread.
    #[must_use]
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// The state it is in.
    #[must_use]
    pub fn state(&self) -> State {
        State::of_index(self.at())
    }

    /// The label it last set.
    #[must_use]
    pub fn label(&self) -> Label {
        Label::ALL[self.label.load(Ordering::Relaxed) as usize % Label::COUNT]
    }

    /// The sampler's handler has taken so many ticks of the present stay. The kernel has cleared
    /// the sentinel's word to deliver the signal, or it is made to look so: the next edge sets it
    /// right.
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

    /// How often it entered a state.
    #[must_use]
    pub fn state_count(&self, state: State) -> u64 {
        let turns = if state == State::Scheduling { self.cells[TURN].count.get() } else { 0 };
        self.cells[state.index()].count.get() + turns
    }

    /// How often it made system calls for a cause.
    #[must_use]
    pub fn sys_count(&self, cause: SysCause) -> u64 {
        self.cells[KERNEL + cause.index()].count.get()
    }

    /// Its books on a wait type.
    #[must_use]
    pub fn wait(&self, wait_type: WaitType) -> &WaitCell {
        &self.waits[wait_type.index()]
    }

    /// Its books on a class of spinlocks.
    #[must_use]
    pub fn spin(&self, class: SpinClass) -> &SpinCell {
        &self.spins[class.index()]
    }

    /// Its books on a class of latches.
    #[must_use]
    pub fn latch(&self, class: LatchClass) -> &WaitCell {
        &self.latches[class.index()]
    }

    /// How its time off the CPU is told from time on it.
    #[must_use]
    pub fn source(&self) -> Source {
        self.watch.source()
    }

    /// Books one wait, on the session that the thread serves as well.
    pub(crate) fn book_wait(&self, wait_type: WaitType, ticks: u64, signal_ticks: u64) {
        self.enter_era(Statistics::Waits);
        self.waits[wait_type.index()].book(ticks, signal_ticks);
        // SAFETY: `request` keeps the books alive for as long as they are here.
        if let Some(books) = unsafe { self.session.load(Ordering::Relaxed).as_ref() } {
            books.book_wait(wait_type, ticks, signal_ticks);
        }
    }

    /// Books one wait for a latch.
    pub(crate) fn book_latch(&self, class: LatchClass, ticks: u64) {
        self.enter_era(Statistics::Latches);
        self.latches[class.index()].book(ticks, 0);
    }

    /// Forgets the maxima of statistics that have been cleared since the last time; the owner only.
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

    /// Books the stay in progress up to now and returns that; `since` is zero afterwards.
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

    /// Opens the books for an edge, and adds the time of the stay that it ends.
    #[inline]
    pub(super) fn book(&self, at: usize, wall: u64) {
        self.since.set(0);
        // Release: pairs with the Acquire fence of the reader, so that who sees an edge sees the
        // zero.
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

    /// Books the stay in progress and goes on with an earlier one in the cell `next`.
    #[inline]
    fn back(&self, next: usize) {
        let now = self.settle();
        self.state.store(next % CELLS, Ordering::Relaxed);
        self.edge.set(now);
        self.since.publish(now);
    }

    /// Books a stay of a timed request on its label, or on its part of the turn.
    fn book_label(&self, at: usize, on_cpu: u64, now: u64) {
        let label = self.label().index();
        match at {
            RUNNING => self.book_running(label, on_cpu, now),
            BACKGROUND => self.samples.background[label].add(on_cpu),
            SCHEDULING => self.samples.turn_now[TURN_SCHEDULING].add(on_cpu),
            // Nothing else has labels.
            _ => {}
        }
    }

    /// Books a stay in the running state. That of a long request is a timed unit at first, and
    /// known after that, for as long as its label stays.
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

    /// Runs a system call, in its own state if the present one yields to it.
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

    /// Runs the receive that begins a request. Unless that is timed, the receive belongs to the
    /// turn.
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
            // In the middle of a request.
            _ => self.call(SysCause::Recv, call),
        }
    }

    #[inline]
    fn begin_running(&self) {
        // What follows a receive is the reading of what it has brought, until somebody says
        // otherwise. Before the edge, whose own work, where a thread was preempted, has that label
        // too.
        self.label.store(Label::Decode as u32, Ordering::Relaxed);
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

    #[cold]
    fn split_label(&self) {
        if !matches!(self.at(), RUNNING | BACKGROUND) {
            return;
        }
        let now = self.settle();
        self.since.publish(now);
        let window = self.samples.window.get();
        if window != 0 && now > window {
            // The rest of this part is split by its beginning, and by those of others.
            self.close_unit();
            self.timed.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn is_timed(&self) -> bool {
        self.timed.load(Ordering::Relaxed) != 0
    }

    /// Enters the books of a session; returns the ones before.
    #[inline]
    pub(super) fn set_session(&self, books: *const SessionBooks) -> *const SessionBooks {
        let before = self.session.load(Ordering::Relaxed);
        self.session.store(books.cast_mut(), Ordering::Relaxed);
        before
    }

    /// Whether no session's books are entered.
    pub(super) fn serves_nobody(&self) -> bool {
        self.session.load(Ordering::Relaxed).is_null()
    }

    /// Ends a request: what has run since its last send belongs to the turn, without an edge of its
    /// own; and the next request is timed or not.
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

    /// A request that runs long enters its next part. Each part is timed at its beginning, and on
    /// from there until its label changes: so a scan is known as well as many lookups are.
    pub(super) fn next_part(&self) {
        if self.at() != RUNNING {
            return;
        }
        let now = self.settle();
        self.since.publish(now);
        self.close_unit();
        self.samples.window.set(now + clock::duration_to_ticks(QUANTUM / LONG_UNIT_PARTS));
        self.timed.store(1, Ordering::Relaxed);
    }

    /// Counts down to the next timed request. The gaps are random, 64 on average, so that no
    /// pattern of the load falls in step with them.
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

    /// When the thread last changed its state, in ticks.
    #[inline]
    pub(super) fn last_edge(&self) -> u64 {
        self.edge.get()
    }

    /// The running sums by kind, the stay in progress included.
    #[inline]
    pub(super) fn spent(&self) -> Spent {
        let now = self.settle();
        self.since.publish(now);
        self.booked()
    }

    /// The running sums by kind, the stay in progress included, as another thread sees them: it may
    /// miss an edge.
    #[must_use]
    pub fn spent_so_far(&self) -> Spent {
        let (at, since) = (self.at(), self.since.get());
        let mut stay = [0; TOPS];
        if since != 0 {
            stay[usize::from(TOP_OF[at])] = clock::now_ticks().saturating_sub(since);
        }
        self.booked().plus(&Spent::of(stay))
    }

    /// The running sums by kind, up to the last edge. A correction may have taken more off a sum
    /// than it had, for now: modulo 2^64.
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
        // So that maxima of an era that has passed are not taken over.
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
