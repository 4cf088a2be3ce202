//! Two threads, each pinned to a CPU, that measure the same work at the same time; the kernel's CPU
//! times prove that both really ran.

use std::time::Duration;

use sos::clock;
use sos::ledger::Accounts;
use sos::park;
use sos::sync::{Arc, AtomicU64, Ordering};
use sos::sys;
use sos::wait::WaitType;

use crate::Plan;

/// A window counts only if each thread was on its CPU for at least this part of it.
const ON_CPU_MIN: f64 = 0.95;

/// The work of one thread in one window.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    pub(crate) count: u64,
    /// A checksum of the work.
    pub(crate) sum: u64,
}

/// The work to measure: `run(form, thread, until_ticks)`.
pub(crate) trait Work: Send + Sync + 'static {
    fn forms(&self) -> usize;
    fn run(&self, form: usize, thread: usize, until_ticks: u64) -> Done;

    /// Whether the work itself may sleep: then only time ready without a CPU counts against a
    /// window, otherwise all time without a CPU.
    fn sleeps(&self) -> bool {
        false
    }
}

/// Nanoseconds per operation and thread, by kind of lock and by number of threads (1 and 2).
pub(crate) type Times = Vec<[Vec<f64>; 2]>;

#[derive(Default)]
struct Gate {
    /// The window that begins, and below its end in ticks; written by the first thread.
    window: AtomicU64,
    until: AtomicU64,
    /// The window for which the second thread is ready, and its results.
    ready: AtomicU64,
    finished: AtomicU64,
    count: AtomicU64,
    on_cpu: AtomicU64,
}

/// A window's number, kind of lock and threads follow from each other, so that both threads know
/// them.
fn windows(work: &dyn Work, plan: Plan) -> impl Iterator<Item = (u64, usize, usize)> {
    let forms = work.forms();
    let all =
        (0..plan.rounds).flat_map(move |_| (0..forms).flat_map(|form| [(form, 1), (form, 2)]));
    all.enumerate().map(|(index, (form, threads))| {
        (u64::try_from(index + 1).unwrap_or(u64::MAX), form, threads)
    })
}

/// Measures all kinds of locks in turns, on one thread and on two.
pub(crate) fn measure(work: &Arc<impl Work>, plan: Plan) -> Times {
    let cpus = sys::allowed_cpus();
    let [first, second, ..] = cpus[..] else {
        eprintln!("locks: one CPU only; two threads cannot run at once");
        return vec![Default::default(); work.forms()];
    };
    let gate = Arc::new(Gate::default());
    let other = {
        let (gate, work) = (Arc::clone(&gate), Arc::clone(work));
        let run = move || second_thread(&gate, &*work, plan, second);
        sos::thread::spawn(&Arc::<Accounts>::default(), "second", run).expect("a thread")
    };
    pin(first);
    let mut times: Times = vec![Default::default(); work.forms()];
    for (window, form, threads) in windows(&**work, plan) {
        let both = threads == 2;
        while both && gate.ready.load(Ordering::Acquire) != window {
            sos::sync::spin_hint();
        }
        let until = clock::now_ticks() + clock::duration_to_ticks(plan.window);
        gate.until.store(until, Ordering::Relaxed);
        gate.window.store(window, Ordering::Release);
        let (done, on_cpu, ns) = timed(&**work, form, 0, until);
        while both && gate.finished.load(Ordering::Acquire) != window {
            sos::sync::spin_hint();
        }
        let others_on_cpu =
            if both { f64::from_bits(gate.on_cpu.load(Ordering::Relaxed)) } else { 1.0 };
        // A thread that began late did not run at the same time as the other.
        let whole = ns >= plan.window.as_nanos() as f64 * ON_CPU_MIN;
        if !whole || on_cpu.min(others_on_cpu) < ON_CPU_MIN {
            continue;
        }
        let count = if both { done.count + gate.count.load(Ordering::Relaxed) } else { done.count };
        let per_thread = count as f64 / threads as f64;
        times[form][threads - 1].push(ns / per_thread.max(1.0));
    }
    other.join().expect("the second thread ends");
    times
}

fn second_thread(gate: &Gate, work: &impl Work, plan: Plan, cpu: usize) {
    pin(cpu);
    for (window, form, threads) in windows(work, plan) {
        if threads == 1 {
            // The thread stays idle, because its CPU may share a core with the first thread's.
            while gate.window.load(Ordering::Acquire) < window {
                park::sleep(plan.window / 8, WaitType::WaitFor, None);
            }
            continue;
        }
        gate.ready.store(window, Ordering::Release);
        while gate.window.load(Ordering::Acquire) != window {
            sos::sync::spin_hint();
        }
        let (done, on_cpu, _) = timed(work, form, 1, gate.until.load(Ordering::Relaxed));
        gate.count.store(done.count, Ordering::Relaxed);
        gate.on_cpu.store(on_cpu.to_bits(), Ordering::Relaxed);
        gate.finished.store(window, Ordering::Release);
    }
}

/// Nanoseconds that the calling thread has been on a CPU: the same sum as in schedstat, but up to
/// date, while schedstat is updated at ticks of 4 ms.
fn on_cpu() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)
}

/// Runs a window; returns the work done, the fraction of the window on a CPU, and its length in
/// nanoseconds.
fn timed(work: &impl Work, form: usize, thread: usize, until: u64) -> (Done, f64, f64) {
    let id = sys::thread_id();
    let runnable = || sys::run_times(id).unwrap_or_default().runnable_ns;
    let (cpu_before, runnable_before, before) = (on_cpu(), runnable(), clock::now_ticks());
    let done = work.run(form, thread, until);
    let (after, cpu_after, runnable_after) = (clock::now_ticks(), on_cpu(), runnable());
    let ns = clock::ticks_to_ns(after.saturating_sub(before)) as f64;
    let had = match work.sleeps() {
        true => ns - runnable_after.saturating_sub(runnable_before) as f64,
        false => cpu_after.saturating_sub(cpu_before) as f64,
    };
    (done, had / ns.max(1.0), ns)
}

fn pin(cpu: usize) {
    sys::pin_to_cpu(cpu).expect("an allowed CPU");
}

/// The number of operations between two clock reads.
pub(crate) const BATCH: u64 = 32;

/// Repeats an operation until the given time.
#[inline(always)]
pub(crate) fn repeat(until_ticks: u64, mut operation: impl FnMut() -> u64) -> Done {
    let mut done = Done::default();
    while clock::now_ticks() < until_ticks {
        for _ in 0..BATCH {
            done.sum = done.sum.wrapping_add(operation());
        }
        done.count += BATCH;
    }
    done
}

/// The length of a window that is long enough to be worth the clock reads at its ends.
pub(crate) const fn shortest() -> Duration {
    Duration::from_micros(200)
}
