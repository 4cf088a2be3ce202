//! Compares the ledger with the kernel's accounting: one line per promise, with its tolerance.

use super::inside::{Amounts, Inside, Place};
use super::outside::{Edge, Outside};

/// The most of non-idle thread time, and of CPU, that may be unaccounted.
const DARK_MAX: f64 = 0.01;
/// The largest relative difference between the ledger's CPU and the process CPU clock.
const CPU_TOLERANCE: f64 = 0.005;
/// The largest relative difference between perf and the process CPU clock; perf starts and ends
/// slightly apart.
const PERF_TOLERANCE: f64 = 0.02;
/// The largest relative difference between the ledger's run-queue time and the kernel's.
const RUNNABLE_TOLERANCE: f64 = 0.01;
/// The largest relative difference between the ledger's wall time and threads times time.
const WALL_TOLERANCE: f64 = 0.005;
/// Run-queue time below this share of the window is too little to be compared.
const RUNNABLE_SHARE_MIN: f64 = 0.005;
/// The largest difference between the ledger's kernel time and the kernel's, relative to CPU, in
/// addition to the error of sampling.
const KERNEL_TOLERANCE: f64 = 0.02;

// Names of the promises.
pub(crate) const DARK_OF_TIME: &str = "dark of non-idle time";
pub(crate) const DARK_OF_CPU: &str = "dark of CPU";
pub(crate) const PROCESS_CLOCK: &str = "CPU, process clock";
pub(crate) const SCHEDSTAT: &str = "CPU, schedstat";
pub(crate) const RUNNABLE: &str = "runnable, schedstat";
pub(crate) const WALL: &str = "wall, threads times time";

/// The source of a ledger that only has its clock.
const WALL_ONLY: &str = "wall_only";

/// The readings of one window, from inside and outside.
pub(crate) struct Window<'a> {
    pub(crate) inside: &'a Inside,
    pub(crate) outside: &'a Outside,
    /// Time that was booked during the readings: it widens the tolerances.
    pub(crate) edges: Edge,
    /// `perf stat`'s task-clock, if perf is available, and the process clock over the same time.
    pub(crate) task_clock: Option<(u64, u64)>,
    /// Number of threads without accounts in the ledger.
    pub(crate) foreign_threads: u64,
}

/// A line of the comparison.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) what: &'static str,
    pub(crate) ledger: String,
    pub(crate) kernel: String,
    /// The relative difference that is compared with the tolerance.
    pub(crate) difference: f64,
    /// `None` for a line that is only shown.
    pub(crate) tolerance: Option<f64>,
}

impl Check {
    /// Makes a check that two numbers are equal.
    fn same(what: &'static str, ledger_ns: f64, kernel_ns: f64, tolerance: Option<f64>) -> Self {
        Self {
            what,
            ledger: seconds(ledger_ns),
            kernel: seconds(kernel_ns),
            difference: (ledger_ns - kernel_ns) / kernel_ns.max(1.0),
            tolerance,
        }
    }

    /// Makes a check that a part is small.
    fn small(what: &'static str, part_ns: f64, whole_ns: f64, tolerance: Option<f64>) -> Self {
        Self {
            what,
            ledger: seconds(part_ns),
            kernel: format!("of {}", seconds(whole_ns)),
            difference: part_ns / whole_ns.max(1.0),
            tolerance,
        }
    }

    /// Widens the tolerance by the time that may have been booked between the two readings.
    fn within(mut self, edge_ns: u64, kernel_ns: f64) -> Self {
        self.tolerance = self.tolerance.map(|most| most + unsigned(edge_ns) / kernel_ns.max(1.0));
        self
    }

    /// Returns whether the check passes, with its tolerance multiplied by `slack`.
    pub(crate) fn holds(&self, slack: f64) -> bool {
        // NaN exceeds every tolerance.
        self.tolerance.is_none_or(|tolerance| self.difference.abs() <= tolerance * slack)
    }

    pub(crate) fn verdict(&self, slack: f64) -> &'static str {
        match self.tolerance {
            None => "shown",
            Some(_) if self.holds(slack) => "ok",
            Some(_) => "PAST",
        }
    }
}

/// Compares both sides of a window.
pub(crate) fn compare(window: &Window<'_>) -> Vec<Check> {
    let mut checks = darkness(window);
    checks.extend(cpu(window));
    checks.extend(runnable(window));
    if window.inside.source == WALL_ONLY {
        // Such a ledger declares that it cannot distinguish these: the difference is only shown.
        checks.iter_mut().for_each(|check| check.tolerance = None);
    }
    checks.extend(wall(window));
    checks
}

fn darkness(window: &Window<'_>) -> Vec<Check> {
    let Window { inside, outside, .. } = window;
    let dark = inside.category("dark");
    let busy = inside.sum(|place| place.category != "idle");
    let named = inside.sum(|place| place.category != "dark");
    let at_work = inside.sum(|place| place.category != "idle" && !is_rest(place));
    vec![
        Check::small(DARK_OF_TIME, wall_of(&dark), wall_of(&busy), Some(DARK_MAX)),
        Check::small("dark of time at work", wall_of(&dark), wall_of(&at_work), None),
        Check::small(DARK_OF_CPU, float(dark.on_cpu_ns), float(busy.on_cpu_ns), Some(DARK_MAX)),
        Check::small(
            "CPU without a name, by the process clock",
            unsigned(outside.clock_ns) - float(named.on_cpu_ns),
            unsigned(outside.clock_ns),
            Some(DARK_MAX),
        ),
    ]
}

/// Returns whether a row is the wait of an idle thread, whatever its category.
fn is_rest(place: &Place) -> bool {
    let rests = ["SLEEP_TASK", "SOS_WORK_DISPATCHER"];
    place.category == "wait" && rests.iter().any(|rest| place.name.starts_with(rest))
}

fn cpu(window: &Window<'_>) -> Vec<Check> {
    let Window { inside, outside, task_clock, .. } = window;
    let total = float(inside.total().on_cpu_ns);
    let clock = unsigned(outside.clock_ns);
    let mut checks = [
        Check::same(PROCESS_CLOCK, total, clock, Some(CPU_TOLERANCE)),
        Check::same(SCHEDSTAT, total, unsigned(outside.on_cpu_ns), Some(CPU_TOLERANCE)),
    ]
    .map(|check| check.within(window.edges.clock_ns, clock))
    .to_vec();
    if let Some((perf, clock)) = task_clock {
        // Two parts of the kernel measured the same thing, perf over a slightly longer time.
        let mut check = Check::same("", unsigned(*clock), unsigned(*perf), Some(PERF_TOLERANCE));
        check.what = "process clock, perf stat task-clock";
        checks.push(check);
    }
    // The kernel samples user and kernel time at its ticks: the error is that of as many coin
    // tosses.
    let ticks = unsigned(outside.user_ns + outside.kernel_ns)
        / (1e9 / unsigned(sos::sys::kernel_ticks_per_second()));
    let share =
        unsigned(outside.kernel_ns) / unsigned(outside.user_ns + outside.kernel_ns).max(1.0);
    let sigma = (share * (1.0 - share) / ticks.max(1.0)).sqrt();
    let ours = float(inside.category("kernel").on_cpu_ns) / total.max(1.0);
    checks.push(Check {
        what: "kernel's share of CPU, stime",
        ledger: format!("{:.1} %", ours * 1e2),
        kernel: format!("{:.1} +- {:.1} %", share * 1e2, sigma * 1e2),
        difference: ours - share,
        tolerance: Some(KERNEL_TOLERANCE + 3.0 * sigma),
    });
    checks
}

fn runnable(window: &Window<'_>) -> Vec<Check> {
    let Window { inside, outside, .. } = window;
    let kernel = unsigned(outside.runnable_ns);
    // With a short queue the numbers are too small to compare.
    let enough = kernel >= unsigned(outside.at_ns) * RUNNABLE_SHARE_MIN;
    let total = float(inside.total().runnable_ns);
    let tolerance = enough.then_some(RUNNABLE_TOLERANCE);
    let check = Check::same(RUNNABLE, total, kernel, tolerance);
    vec![check.within(window.edges.runnable_ns, kernel)]
}

/// Checks that each row is the sum of on-CPU, runnable and blocked, and that all rows are all
/// threads' time.
fn wall(window: &Window<'_>) -> Vec<Check> {
    let Window { inside, outside, .. } = window;
    let total = inside.sum(|place| place.category != "foreign");
    let parts = float(total.on_cpu_ns) + float(total.runnable_ns) + float(total.blocked_ns);
    let threads = unsigned(outside.threads_ns - window.foreign_threads * outside.at_ns);
    let tolerance = Some(WALL_TOLERANCE);
    vec![
        Check::same(WALL, wall_of(&total), threads, tolerance)
            .within(window.edges.threads_ns, threads),
        Check {
            what: "wall less CPU, runnable and blocked",
            kernel: String::new(),
            ..Check::small("", wall_of(&total) - parts, threads, tolerance)
        },
    ]
}

fn wall_of(amounts: &Amounts) -> f64 {
    float(amounts.wall_ns)
}

/// Formats nanoseconds as seconds.
pub(crate) fn seconds(ns: f64) -> String {
    format!("{:.4} s", ns / 1e9)
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
pub(crate) fn float(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
pub(crate) fn unsigned(number: u64) -> f64 {
    number as f64
}
