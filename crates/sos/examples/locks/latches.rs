//! Measures reader/writer latches with few and with many threads, at several shares of writes.
//!
//! A read compares eight words, a write changes them, which takes some 50 ns; between two
//! operations a thread works for 50 ns. The words must be equal at every read, and in the end their
//! value must be the number of writes that the threads have counted.

use sos::clock;
use sos::ledger::{Accounts, State};
use sos::lock::{LatchClass, RwLatch};
use sos::sync::{Arc, AtomicBool, AtomicU64, Ordering};

use crate::Plan;
use crate::gate::{self, Done, Work, repeat};
use crate::row::{Row, median};

/// Numbers of threads, more than there are CPUs; the pinned pair measures two threads.
const THREADS: [usize; 2] = [8, 64];
/// Windows of the pinned pair for each window of many threads.
const PAIR_WINDOWS: usize = 12;
const WRITES: [u32; 4] = [0, 1, 10, 50];
const FORMS: [&str; 3] = ["RwLatch", "std RwLock", "parking_lot RwLock"];

type Words = [u64; 8];

/// A lock around the eight words.
trait Latch: Send + Sync + 'static {
    fn new() -> Self;
    fn read<R>(&self, look: impl FnOnce(&Words) -> R) -> R;
    fn write(&self, change: impl FnOnce(&mut Words));
}

impl Latch for RwLatch<Words> {
    fn new() -> Self {
        Self::new(LatchClass::Other, Words::default())
    }

    #[inline(always)]
    fn read<R>(&self, look: impl FnOnce(&Words) -> R) -> R {
        look(&self.read())
    }

    #[inline(always)]
    fn write(&self, change: impl FnOnce(&mut Words)) {
        change(&mut self.write());
    }
}

#[expect(clippy::disallowed_types, reason = "std's lock is what ours is compared with")]
impl Latch for std::sync::RwLock<Words> {
    fn new() -> Self {
        Self::new(Words::default())
    }

    #[inline(always)]
    fn read<R>(&self, look: impl FnOnce(&Words) -> R) -> R {
        look(&self.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    #[inline(always)]
    fn write(&self, change: impl FnOnce(&mut Words)) {
        change(&mut self.write().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl Latch for parking_lot::RwLock<Words> {
    fn new() -> Self {
        Self::new(Words::default())
    }

    #[inline(always)]
    fn read<R>(&self, look: impl FnOnce(&Words) -> R) -> R {
        look(&self.read())
    }

    #[inline(always)]
    fn write(&self, change: impl FnOnce(&mut Words)) {
        change(&mut self.write());
    }
}

/// Some nanoseconds of work that the compiler cannot drop.
#[inline(always)]
fn work(state: &mut u64, rounds: u32) {
    for _ in 0..rounds {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
    }
    *state = std::hint::black_box(*state);
}

/// Rounds of [`work`] that take about 50 ns.
const ROUNDS_50_NS: u32 = 25;
const OPERATIONS_BEFORE_STOP: u32 = 16;

#[derive(Default)]
struct Totals {
    operations: AtomicU64,
    writes: AtomicU64,
    torn: AtomicU64,
}

/// Does one read or write.
#[inline(always)]
fn operate<L: Latch>(latch: &L, state: &mut u64, writes: u32) -> Outcome {
    work(state, ROUNDS_50_NS);
    if *state % 100 < u64::from(writes) {
        latch.write(|words| {
            words[0] += 1;
            work(state, ROUNDS_50_NS);
            *words = [words[0]; 8];
        });
        return Outcome::Wrote;
    }
    match latch.read(|words| words.iter().all(|word| *word == words[0])) {
        true => Outcome::ReadWhole,
        false => Outcome::ReadTorn,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Wrote,
    ReadWhole,
    ReadTorn,
}

/// Aligned to its own cache lines, so that no lock's result depends on its placement.
#[repr(align(128))]
struct Apart<L>(L);

/// Two threads pinned to a CPU each, so that a disturbance by other processes is noticed.
#[expect(clippy::disallowed_types, reason = "std's lock is what ours is compared with")]
struct Pair {
    ours: [Apart<RwLatch<Words>>; WRITES.len()],
    std: [Apart<std::sync::RwLock<Words>>; WRITES.len()],
    parking_lot: [Apart<parking_lot::RwLock<Words>>; WRITES.len()],
    totals: Totals,
}

impl Pair {
    fn new() -> Self {
        Self {
            ours: std::array::from_fn(|_| Apart(Latch::new())),
            std: std::array::from_fn(|_| Apart(Latch::new())),
            parking_lot: std::array::from_fn(|_| Apart(Latch::new())),
            totals: Totals::default(),
        }
    }

    fn repeat<L: Latch>(&self, latch: &L, writes: u32, thread: usize, until: u64) -> Done {
        let mut state = u64::try_from(thread + 1).unwrap_or(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut torn = 0;
        let done = repeat(until, || {
            let outcome = operate(latch, &mut state, writes);
            torn += u64::from(outcome == Outcome::ReadTorn);
            u64::from(outcome == Outcome::Wrote)
        });
        self.totals.writes.fetch_add(done.sum, Ordering::Relaxed);
        self.totals.torn.fetch_add(torn, Ordering::Relaxed);
        done
    }

    fn check(&self) {
        let count = |latch: &Words| latch[0];
        let ours = self.ours.iter().map(|latch| latch.0.read()[0]).sum::<u64>();
        let std = self.std.iter().map(|latch| Latch::read(&latch.0, count)).sum::<u64>();
        let lot = self.parking_lot.iter().map(|latch| latch.0.read()[0]).sum::<u64>();
        let written = self.totals.writes.load(Ordering::Relaxed);
        assert_eq!(ours + std + lot, written, "writes were lost");
        assert_eq!(self.totals.torn.load(Ordering::Relaxed), 0, "a reader saw half a write");
    }
}

impl Work for Pair {
    fn forms(&self) -> usize {
        FORMS.len() * WRITES.len()
    }

    fn run(&self, form: usize, thread: usize, until: u64) -> Done {
        let (share, form) = (form / FORMS.len(), form % FORMS.len());
        let writes = WRITES[share];
        match FORMS[form] {
            "RwLatch" => self.repeat(&self.ours[share].0, writes, thread, until),
            "std RwLock" => self.repeat(&self.std[share].0, writes, thread, until),
            _ => self.repeat(&self.parking_lot[share].0, writes, thread, until),
        }
    }

    fn sleeps(&self) -> bool {
        true
    }
}

/// Measures the pinned pair and prints it.
fn run_pair(plan: Plan) {
    let plan = Plan { rounds: plan.rounds * PAIR_WINDOWS, window: gate::shortest() * 5 };
    let pair = Arc::new(Pair::new());
    let times = gate::measure(&pair, plan);
    pair.check();
    for (share, of_share) in times.chunks(FORMS.len()).enumerate() {
        let writes = Some(WRITES[share]);
        for (form, both) in FORMS.into_iter().zip(of_share) {
            for (threads, values) in (1..).zip(both) {
                let (bench, unit) = ("latch, pinned", "ns per operation and thread");
                Row { bench, form, threads, writes, unit, values: values.clone() }.print();
            }
        }
        let [ours, std, lot] = [0, 1, 2].map(|form: usize| median(&of_share[form][1]));
        let (bench, unit, values) =
            ("latch, pinned", "of the best other", vec![std.min(lot) / ours]);
        Row { bench, form: FORMS[0], threads: 2, writes, unit, values }.print();
    }
}

fn one_thread<L: Latch>(latch: &L, seed: u64, writes: u32, stop: &AtomicBool, totals: &Totals) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let (mut operations, mut written, mut torn) = (0, 0, 0);
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..OPERATIONS_BEFORE_STOP {
            match operate(latch, &mut state, writes) {
                Outcome::Wrote => written += 1,
                Outcome::ReadTorn => torn += 1,
                Outcome::ReadWhole => {}
            }
        }
        operations += u64::from(OPERATIONS_BEFORE_STOP);
    }
    totals.operations.fetch_add(operations, Ordering::Relaxed);
    totals.writes.fetch_add(written, Ordering::Relaxed);
    totals.torn.fetch_add(torn, Ordering::Relaxed);
}

/// The result of a window: millions of operations per second of elapsed time, and of CPU time.
struct Speed {
    per_second: f64,
    per_cpu_second: f64,
}

fn window<L: Latch>(threads: usize, writes: u32, plan: Plan) -> Speed {
    let shared = Arc::new((Apart(L::new()), AtomicBool::new(false), Totals::default()));
    let start = |seed: usize| {
        let shared = Arc::clone(&shared);
        let run = move || {
            sos::ledger::to(State::Background);
            let (latch, stop, totals) = &*shared;
            one_thread(&latch.0, u64::try_from(seed + 1).unwrap_or(1), writes, stop, totals);
        };
        sos::thread::spawn(&Arc::<Accounts>::default(), "worker", run).expect("a thread")
    };
    let cpu = || {
        let times = sos::sys::cpu_times();
        times.user_ns + times.kernel_ns
    };
    let (before, cpu_before) = (clock::now_ticks(), cpu());
    let handles: Vec<_> = (0..threads).map(start).collect();
    sos::park::sleep(plan.window, sos::wait::WaitType::WaitFor, None);
    shared.1.store(true, Ordering::Relaxed);
    handles.into_iter().for_each(|handle| handle.join().expect("no thread panics"));
    let ns = clock::ticks_to_ns(clock::now_ticks().saturating_sub(before)) as f64;
    let cpu_ns = cpu().saturating_sub(cpu_before) as f64;
    let (latch, _, totals) = &*shared;
    let written = latch.0.read(|words| words[0]);
    assert_eq!(written, totals.writes.load(Ordering::Relaxed), "writes were lost");
    assert_eq!(totals.torn.load(Ordering::Relaxed), 0, "a reader saw half a write");
    let operations = totals.operations.load(Ordering::Relaxed) as f64;
    Speed { per_second: operations * 1e3 / ns, per_cpu_second: operations * 1e3 / cpu_ns.max(1.0) }
}

fn measure(form: usize, threads: usize, writes: u32, plan: Plan) -> Speed {
    #[expect(clippy::disallowed_types, reason = "std's lock is what ours is compared with")]
    match FORMS[form] {
        "RwLatch" => window::<RwLatch<Words>>(threads, writes, plan),
        "std RwLock" => window::<std::sync::RwLock<Words>>(threads, writes, plan),
        _ => window::<parking_lot::RwLock<Words>>(threads, writes, plan),
    }
}

/// Measures all latches and prints the results.
pub(crate) fn run(plan: Plan) {
    run_pair(plan);
    for threads in THREADS {
        for writes in WRITES {
            let mut speeds: [Vec<Speed>; FORMS.len()] = Default::default();
            for round in 0..plan.rounds {
                for turn in 0..FORMS.len() {
                    // Each lock follows each other one equally often.
                    let form = (turn + round) % FORMS.len();
                    speeds[form].push(measure(form, threads, writes, plan));
                }
            }
            print(threads, writes, &speeds);
        }
    }
}

fn print(threads: usize, writes: u32, speeds: &[Vec<Speed>; FORMS.len()]) {
    let rates = |form: usize| speeds[form].iter().map(|speed| speed.per_second).collect::<Vec<_>>();
    for (form, name) in FORMS.into_iter().enumerate() {
        let writes = Some(writes);
        let row = |unit, values| Row { bench: "latch", form: name, threads, writes, unit, values };
        row("million operations per second", rates(form)).print();
        let per_cpu = speeds[form].iter().map(|speed| speed.per_cpu_second).collect();
        row("million operations per CPU second", per_cpu).print();
    }
    // By CPU time, because with more threads than CPUs no CPU is idle, and other processes may take
    // any part of the elapsed time. Compared in pairs by round and with one other lock at a time,
    // because the better of two varying numbers is better than either.
    let of = |other: usize| -> Vec<f64> {
        let pairs = speeds[0].iter().zip(&speeds[other]);
        pairs.map(|(ours, other)| ours.per_cpu_second / other.per_cpu_second).collect()
    };
    let row = |unit, values| Row {
        bench: "latch",
        form: FORMS[0],
        threads,
        writes: Some(writes),
        unit,
        values,
    };
    let least = median(&of(1)).min(median(&of(2)));
    row("of std RwLock, paired", of(1)).print();
    row("of parking_lot RwLock, paired", of(2)).print();
    row("of the best other", vec![least]).print();
}
