//! `Pairs`: the cost of a difference between two servers, as server CPU per request, with a
//! confidence interval.
//!
//! Each pair starts both servers again, because the memory layout of a process changes its speed by
//! more than the differences of interest. Within a pair both serve in short turns on one CPU, in
//! blocks of four (with, without, without, with; reversed in the next pair), so that other work on
//! the machine affects both. A pair's result is the median of its blocks' ratios; the interval is
//! that of the mean of the pairs' logarithms, by bootstrap over the pairs.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use load::json::quote;
use load::{Generator, Idle, Result, Script, ServerProcess};

use crate::report::median;
use crate::setup::{apart, clearway, connect, login, run_batches};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION, Work};
use crate::{Plan, keys, machine, session};

/// Time before the first block, in which plans are made and caches filled.
const WARM_UP: Duration = Duration::from_millis(100);
/// Number of bootstrap samples for the interval.
const DRAWS: usize = 10_000;
/// The share of draws below the interval, and above it.
const TAIL: f64 = 0.025;

/// How many pairs, blocks and turns are measured.
#[derive(Args, Clone, Copy)]
pub(crate) struct PairArguments {
    /// Pairs of servers to start
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) pairs: usize,
    /// Blocks of four turns in a pair
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) blocks: usize,
    /// Milliseconds of a turn
    #[arg(long, value_name = "MS", default_value_t = 30)]
    pub(crate) window_ms: u64,
}

/// Which CPU time of a server is divided by its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Booked {
    /// The CPU time of the server's turns only.
    Turns,
    /// All its CPU time during the block: deferred work for its requests counts too.
    Blocks,
}

/// One of the two servers that are compared.
#[derive(Clone, Copy)]
pub(crate) struct Contender<'a> {
    pub(crate) plan: &'a Plan,
    /// More arguments of `serve`.
    pub(crate) arguments: &'a [&'a str],
    /// Batches to run before the measurement.
    pub(crate) batches: &'a [&'a str],
}

/// The measured cost for one work.
pub(crate) struct Cost {
    /// What one server has and the other lacks.
    pub(crate) what: &'static str,
    pub(crate) work: &'static str,
    /// The most that it may cost, as a share of the CPU per request.
    pub(crate) asked_max: f64,
    scale: f64,
    /// CPU per request with, divided by that without, one for each pair.
    ratios: Vec<f64>,
    /// CPU nanoseconds per request, summed over the pairs.
    with_ns: f64,
    without_ns: f64,
}

/// The cost as a share, and its 95 % confidence interval.
pub(crate) struct Interval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Starts both servers, with and without, and adds one ratio to each of the costs. `see` is called
/// with the first server after its turns.
pub(crate) fn run_pair(
    [with, without]: [Contender<'_>; 2],
    arguments: &PairArguments,
    booked: Booked,
    pair: usize,
    costs: &mut [Cost],
    see: &mut dyn FnMut(&ServerProcess) -> Result<()>,
) -> Result<()> {
    // Which server starts first, and which serves first, alternates from pair to pair.
    let (servers, turns) = match pair.is_multiple_of(2) {
        true => ([with.start()?, without.start()?], [0, 1, 1, 0]),
        false => {
            let second = without.start()?;
            ([with.start()?, second], [1, 0, 0, 1])
        }
    };
    if costs.iter().any(|cost| keys::works().iter().any(|work| work.name == cost.work)) {
        servers.iter().try_for_each(keys::prepare)?;
    }
    let window = Duration::from_millis(arguments.window_ms);
    for cost in costs {
        let work = works().into_iter().chain(keys::works()).find(|work| work.name == cost.work);
        let Some(work) = work else { continue };
        let per_connection = REQUESTS_PER_CONNECTION.min(work.measured.requests.len());
        let mut sides = [Side::open(&servers[0], &work)?, Side::open(&servers[1], &work)?];
        let script = Script::new(work.measured.requests, per_connection);
        for side in &mut sides {
            side.run(&script, WARM_UP)?;
        }
        let (mut ratios, mut sums) = (Vec::new(), [0.0; 2]);
        for _ in 0..arguments.blocks.max(1) {
            let block = run_block(&mut sides, turns, &script, window, booked)?;
            ratios.push(block[0] / block[1]);
            sums = [sums[0] + block[0], sums[1] + block[1]];
        }
        let blocks = float(u64::try_from(ratios.len()).unwrap_or(1));
        cost.ratios.push(median(&ratios));
        cost.with_ns += sums[0] / blocks;
        cost.without_ns += sums[1] / blocks;
    }
    see(&servers[0])
}

/// Returns the works of session state.
pub(crate) fn works() -> Vec<Work> {
    vec![session::read(), session::save(), session::reset()]
}

/// Runs four turns; returns the CPU nanoseconds per request of both.
fn run_block(
    sides: &mut [Side<'_>; 2],
    turns: [usize; 4],
    script: &Script,
    window: Duration,
    booked: Booked,
) -> Result<[f64; 2]> {
    let before = [sides[0].clock_ns()?, sides[1].clock_ns()?];
    let (mut used_ns, mut requests) = ([0; 2], [0; 2]);
    for turn in turns {
        let (used, answered) = sides[turn].run(script, window)?;
        used_ns[turn] += used;
        requests[turn] += answered;
    }
    if booked == Booked::Blocks {
        for (at, used) in used_ns.iter_mut().enumerate() {
            *used = sides[at].clock_ns()?.saturating_sub(before[at]);
        }
    }
    Ok([0, 1].map(|at| float(used_ns[at]) / float(requests[at].max(1))))
}

impl Contender<'_> {
    fn start(&self) -> Result<ServerProcess> {
        let mut command = clearway(self.plan);
        command.args(["--schedulers", "1"]).args(self.arguments);
        let server = ServerProcess::start(command, &[], apart())?;
        session::prepare(self.plan, &server)?;
        if !self.batches.is_empty() {
            run_batches(&mut connect(&server, "")?, self.batches.iter().copied())?;
        }
        Ok(server)
    }
}

/// One of the two servers, with its own connections.
struct Side<'a> {
    server: &'a ServerProcess,
    generator: Generator,
}

impl<'a> Side<'a> {
    fn open(server: &'a ServerProcess, work: &Work) -> Result<Self> {
        let login = login(work.database);
        let generator = Generator::log_in(server.address(), CONNECTIONS, &login)?;
        Ok(Self { server, generator: generator.idling(Idle::Spin) })
    }

    /// The process's clock is exact even for a thread that is still on its CPU.
    fn clock_ns(&self) -> Result<u64> {
        sos::sys::process_clock_ns(self.server.id()).map_err(|error| error.to_string())
    }

    /// Serves for a window; returns the CPU nanoseconds, and the number of requests.
    fn run(&mut self, script: &Script, window: Duration) -> Result<(u64, u64)> {
        let before = self.clock_ns()?;
        let outcome = self.generator.run(script, window)?;
        let used = self.clock_ns()?.saturating_sub(before);
        match &outcome.first_trouble {
            Some(what) => Err(format!("{} wrong answers, the first: {what}", outcome.troubles())),
            None => Ok((used, outcome.requests())),
        }
    }
}

impl Cost {
    pub(crate) fn new(what: &'static str, work: &'static str, asked_max: f64) -> Self {
        let (ratios, scale) = (Vec::new(), 1.0);
        Self { what, work, asked_max, scale, ratios, with_ns: 0.0, without_ns: 0.0 }
    }

    /// Shows this share of the difference as the cost: less than 1 if the measured rate is higher
    /// than the real one.
    pub(crate) fn scaled(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    pub(crate) fn interval(&self) -> Interval {
        let Interval { mean, low, high } = interval(&self.ratios);
        Interval { mean: mean * self.scale, low: low * self.scale, high: high * self.scale }
    }

    pub(crate) fn verdict(&self) -> &'static str {
        let Interval { low, high, .. } = self.interval();
        match (high <= self.asked_max, low > self.asked_max) {
            (true, _) => "met",
            (false, true) => "MISSED",
            (false, false) => "MISSED: too wide to tell",
        }
    }

    /// Returns the cells of a row: what, work, limit, cost, interval, CPU with and without,
    /// verdict.
    fn cells(&self) -> [String; 8] {
        let Interval { mean, low, high } = self.interval();
        let pairs = float(u64::try_from(self.ratios.len()).unwrap_or(1));
        let micros = |ns: f64| format!("{:.3} us", ns / pairs / 1e3);
        [
            self.what.to_owned(),
            self.work.to_owned(),
            format!("{} %", self.asked_max * 1e2),
            format!("{:+.2} %", mean * 1e2),
            format!("{:+.2} .. {:+.2} %", low * 1e2, high * 1e2),
            micros(self.with_ns),
            micros(self.without_ns),
            self.verdict().to_owned(),
        ]
    }
}

/// Returns the mean of the ratios less one, and its 95 % interval by bootstrap over the pairs.
pub(crate) fn interval(ratios: &[f64]) -> Interval {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let pairs = logs.len();
    let share = |sum: f64| (sum / float(u64::try_from(pairs).unwrap_or(1).max(1))).exp_m1();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut draw = || share((0..pairs).map(|_| logs[random.below(pairs)]).sum());
    let mut means: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    means.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small index")]
    let cut = (TAIL * float(u64::try_from(DRAWS).unwrap_or(1))) as usize;
    let (low, high) = (means[cut], means[DRAWS - 1 - cut]);
    Interval { mean: share(logs.iter().sum()), low, high }
}

/// Random numbers for the bootstrap, the same in every run: a generator by G. Marsaglia
/// (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 32) % u64::try_from(limit).unwrap_or(1)).unwrap_or(0)
    }
}

const COLUMNS: [&str; 8] =
    ["what", "work", "asked, at most", "cost", "95 % interval", "with", "without", ""];

/// Returns the costs as a table for a terminal.
pub(crate) fn table(costs: &[Cost]) -> String {
    let mut text = String::new();
    let rows = std::iter::once(COLUMNS.map(str::to_owned)).chain(costs.iter().map(Cost::cells));
    for [what, work, asked, cost, interval, with, without, verdict] in rows {
        let _ = writeln!(
            text,
            "{what:<46}{work:<22}{asked:>16}{cost:>10}{interval:>22}{with:>12}{without:>12}  {verdict}"
        );
    }
    text
}

/// Returns the costs as a table for a page.
pub(crate) fn page_table(costs: &[Cost]) -> String {
    let mut page = format!("| {} |\n|{}\n", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
    for cost in costs {
        let _ = writeln!(page, "| {} |", cost.cells().join(" | "));
    }
    page
}

/// Returns a sentence on how the pairs were measured, and where.
pub(crate) fn page_facts(facts: &machine::Facts) -> String {
    let mut page = "\n| | |\n|---|---|\n".to_owned();
    for (name, value) in facts {
        let _ = writeln!(page, "| {name} | {value} |");
    }
    page
}

/// Returns the costs as a JSON array.
pub(crate) fn json(costs: &[Cost]) -> String {
    let each = costs.iter().map(|cost| {
        let Interval { mean, low, high } = cost.interval();
        let ratios: Vec<_> = cost.ratios.iter().map(|ratio| format!("{ratio:.5}")).collect();
        format!(
            "{{\"what\":{},\"name\":{},\"asked_max\":{},\"cost\":{mean:.5},\"low\":{low:.5},\"high\":{high:.5},\"ratios\":[{}]}}",
            quote(cost.what),
            quote(cost.work),
            cost.asked_max,
            ratios.join(",")
        )
    });
    format!("[{}]", each.collect::<Vec<_>>().join(","))
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_mean_and_narrows_with_pairs() {
        let ratios = |count: usize| -> Vec<f64> {
            (0..count).map(|at| if at % 2 == 0 { 1.02 } else { 1.00 }).collect()
        };
        let (few, many) = (interval(&ratios(8)), interval(&ratios(200)));
        for Interval { mean, low, high } in [&few, &many] {
            assert!((mean - 0.01).abs() < 1e-3, "{mean}");
            assert!(low < mean && mean < high, "{low} {mean} {high}");
        }
        assert!(many.high - many.low < (few.high - few.low) / 3.0);
    }

    #[test]
    fn a_cost_that_may_be_too_high_is_missed() {
        let cost =
            |ratios: &[f64]| Cost { ratios: ratios.to_vec(), ..Cost::new("it", "work", 0.01) };
        assert_eq!(cost(&[1.001, 1.002, 1.003]).verdict(), "met");
        assert_eq!(cost(&[1.02, 1.03, 1.04]).verdict(), "MISSED");
        assert_eq!(cost(&[0.97, 1.0, 1.03]).verdict(), "MISSED: too wide to tell");
        assert_eq!(cost(&[1.02, 1.03, 1.04]).scaled(0.1).verdict(), "met");
    }
}
