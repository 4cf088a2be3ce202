//! `bench ledger-cost`: what the ledger costs, as server CPU per request of a server with the ledger
//! against one that was built without it.
//!
//! Each pair starts both servers anew, because where a process's memory comes to lie moves its speed
//! by more than the ledger costs. Within a pair both serve in short turns on one CPU, in blocks of four
//! (with, without, without, with; the next pair the other way round), so that whatever else the machine
//! does falls on both alike. The median of the blocks' ratios is the pair's; the interval is that of
//! the mean of the pairs' logarithms, by drawing the pairs anew.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use load::{Generator, Idle, Outcome, Result, Script, ServerProcess};

use crate::report::median;
use crate::setup::{Schedulers, apart, login, start_clearway};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION, Work};
use crate::{Plan, machine, page, say, session, write};
use load::json::quote;

/// The most that the ledger may cost, as a share of the CPU per request.
const COST_MAX: f64 = 0.01;
/// What comes before the first block: plans are made, caches filled.
const WARM_UP: Duration = Duration::from_millis(100);
/// Times the pairs are drawn anew for the interval.
const DRAWS: usize = 10_000;
/// The share of draws below the interval, and above it.
const TAIL: f64 = 0.025;
/// Where the section of the page begins.
const HEADING: &str = "## What the ledger costs";

#[derive(Args, Clone)]
pub(crate) struct CostArguments {
    /// The server with the ledger; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// The server that was built without it
    #[arg(long, value_name = "FILE", default_value = "target/ledger-off/release/clearway")]
    without: PathBuf,
    /// Folder of session_state.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Pairs of servers
    #[arg(long, value_name = "N", default_value_t = 40)]
    pairs: usize,
    /// Blocks of four turns in a pair
    #[arg(long, value_name = "N", default_value_t = 8)]
    blocks: usize,
    /// Milliseconds of a turn
    #[arg(long, value_name = "MS", default_value_t = 30)]
    window_ms: u64,
    /// Only works whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page whose section on this is replaced by this run's
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// What was found about one work.
struct Cost {
    name: &'static str,
    /// CPU per request with the ledger in that without it, one for each pair.
    ratios: Vec<f64>,
    /// CPU nanoseconds per request, summed over the pairs.
    with_ns: f64,
    without_ns: f64,
}

/// The cost as a share, and where it lies with 95 % confidence.
struct Interval {
    mean: f64,
    low: f64,
    high: f64,
}

/// Measures. Exit code 1 if the interval reaches past what is promised.
pub(crate) fn run(arguments: &CostArguments) -> Result<ExitCode> {
    let with = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let without = Plan::of_server(Some(&arguments.without), &arguments.workloads)
        .map_err(|what| format!("{what}: make bench-ledger builds it"))?;
    let mut costs: Vec<Cost> = works().into_iter().map(|work| Cost::new(work.name)).collect();
    costs.retain(|cost| cost.name.contains(&arguments.only));
    for pair in 0..arguments.pairs.max(1) {
        say(&format!("pair {} of {}", pair + 1, arguments.pairs));
        run_pair([&with, &without], arguments, pair, &mut costs)?;
    }
    let facts = machine::machine(&with);
    let text = table(&costs);
    say(&text);
    if let Some(path) = &arguments.json {
        write(path, &json(&costs))?;
    }
    if let Some(path) = &arguments.page {
        page::put_section(path, HEADING, &section(arguments, &costs, &facts))?;
    }
    let holds = costs.iter().all(|cost| cost.interval().high <= COST_MAX);
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn works() -> Vec<Work> {
    vec![session::read(), session::save(), session::reset()]
}

/// Starts both servers and gives each work one ratio.
fn run_pair(
    plans: [&Plan; 2],
    arguments: &CostArguments,
    pair: usize,
    costs: &mut [Cost],
) -> Result<()> {
    let start = |plan: &Plan| -> Result<ServerProcess> {
        let server = start_clearway(plan, Schedulers::One, apart())?;
        session::prepare(plan, &server)?;
        Ok(server)
    };
    // Which one starts first, and which serves first, changes from pair to pair.
    let (servers, turns) = match pair.is_multiple_of(2) {
        true => ([start(plans[0])?, start(plans[1])?], [0, 1, 1, 0]),
        false => {
            let second = start(plans[1])?;
            ([start(plans[0])?, second], [1, 0, 0, 1])
        }
    };
    for cost in costs {
        let Some(work) = works().into_iter().find(|work| work.name == cost.name) else { continue };
        let per_connection = REQUESTS_PER_CONNECTION.min(work.measured.requests.len());
        let mut sides = [Side::open(&servers[0], &work)?, Side::open(&servers[1], &work)?];
        let script = Script::new(work.measured.requests, per_connection);
        let window = Duration::from_millis(arguments.window_ms);
        for side in &mut sides {
            side.run(&script, WARM_UP)?;
        }
        let (mut ratios, mut sums) = (Vec::new(), [0.0; 2]);
        for _ in 0..arguments.blocks.max(1) {
            let mut block = [0.0; 2];
            for turn in turns {
                block[turn] += sides[turn].run(&script, window)? / 2.0;
            }
            ratios.push(block[0] / block[1]);
            sums = [sums[0] + block[0], sums[1] + block[1]];
        }
        let blocks = float(u64::try_from(ratios.len()).unwrap_or(1));
        cost.ratios.push(median(&ratios));
        cost.with_ns += sums[0] / blocks;
        cost.without_ns += sums[1] / blocks;
    }
    Ok(())
}

/// One of the two servers, with connections of its own.
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

    /// Serves for a while; returns the CPU nanoseconds per request.
    fn run(&mut self, script: &Script, window: Duration) -> Result<f64> {
        // The process's own clock is up to date even for a thread that has not left its CPU yet.
        let clock = || sos::sys::process_clock_ns(self.server.id()).map_err(|e| e.to_string());
        let before = clock()?;
        let outcome: Outcome = self.generator.run(script, window)?;
        let used = clock()?.saturating_sub(before);
        match &outcome.first_trouble {
            Some(what) => Err(format!("{} wrong answers, the first: {what}", outcome.troubles())),
            None => Ok(float(used) / float(outcome.requests().max(1))),
        }
    }
}

impl Cost {
    fn new(name: &'static str) -> Self {
        Self { name, ratios: Vec::new(), with_ns: 0.0, without_ns: 0.0 }
    }

    fn interval(&self) -> Interval {
        interval(&self.ratios)
    }

    fn verdict(&self) -> &'static str {
        let Interval { low, high, .. } = self.interval();
        match (high <= COST_MAX, low > COST_MAX) {
            (true, _) => "met",
            (false, true) => "MISSED",
            (false, false) => "MISSED: too wide to tell",
        }
    }

    /// Name, cost, interval, CPU with and without.
    fn cells(&self) -> [String; 6] {
        let Interval { mean, low, high } = self.interval();
        let pairs = float(u64::try_from(self.ratios.len()).unwrap_or(1));
        let micros = |ns: f64| format!("{:.3} us", ns / pairs / 1e3);
        [
            self.name.to_owned(),
            format!("{:+.2} %", mean * 1e2),
            format!("{:+.2} .. {:+.2} %", low * 1e2, high * 1e2),
            micros(self.with_ns),
            micros(self.without_ns),
            self.verdict().to_owned(),
        ]
    }
}

/// The mean of the ratios less one, and its 95 % interval by drawing the pairs anew.
fn interval(ratios: &[f64]) -> Interval {
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

/// Numbers for drawing, the same in every run: a generator by G. Marsaglia (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 32) % u64::try_from(limit).unwrap_or(1)).unwrap_or(0)
    }
}

const COLUMNS: [&str; 6] = ["work", "cost", "95 % interval", "with", "without", ""];

fn table(costs: &[Cost]) -> String {
    let mut text = format!("the most asked for: {:.1} %, with 95 % confidence\n", COST_MAX * 1e2);
    let rows = std::iter::once(COLUMNS.map(str::to_owned)).chain(costs.iter().map(Cost::cells));
    for [name, cost, interval, with, without, verdict] in rows {
        let _ =
            writeln!(text, "{name:<22}{cost:>10}{interval:>22}{with:>12}{without:>12}  {verdict}");
    }
    text
}

fn section(arguments: &CostArguments, costs: &[Cost], facts: &machine::Facts) -> String {
    let CostArguments { pairs, blocks, window_ms, .. } = arguments;
    let mut page = format!(
        "
Written by `make bench-ledger`: server CPU per request with the ledger against that of a server built
without it, in {pairs} pairs. Each pair starts both servers anew and lets them serve in turns of
{window_ms} ms on one CPU, in {blocks} blocks of four (with, without, without, with; the next pair the other
way round); a pair's ratio is the median of its blocks. The interval is that of the mean over the pairs, by
drawing them anew. At most {:.0} % is asked for, by the upper end of the interval.

",
        COST_MAX * 1e2
    );
    let _ = writeln!(page, "| {} |\n|{}", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
    for cost in costs {
        let _ = writeln!(page, "| {} |", cost.cells().join(" | "));
    }
    page.push_str("\n| | |\n|---|---|\n");
    for (name, value) in facts {
        let _ = writeln!(page, "| {name} | {value} |");
    }
    page
}

fn json(costs: &[Cost]) -> String {
    let each = costs.iter().map(|cost| {
        let Interval { mean, low, high } = cost.interval();
        let ratios: Vec<_> = cost.ratios.iter().map(|ratio| format!("{ratio:.5}")).collect();
        format!(
            "{{\"name\":{},\"cost\":{mean:.5},\"low\":{low:.5},\"high\":{high:.5},\"ratios\":[{}]}}",
            quote(cost.name),
            ratios.join(",")
        )
    });
    format!("{{\"asked_max\":{COST_MAX},\"works\":[{}]}}\n", each.collect::<Vec<_>>().join(","))
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn float(number: u64) -> f64 {
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
        let cost = |ratios: &[f64]| Cost { ratios: ratios.to_vec(), ..Cost::new("work") };
        assert_eq!(cost(&[1.001, 1.002, 1.003]).verdict(), "met");
        assert_eq!(cost(&[1.02, 1.03, 1.04]).verdict(), "MISSED");
        assert_eq!(cost(&[0.97, 1.0, 1.03]).verdict(), "MISSED: too wide to tell");
    }
}
