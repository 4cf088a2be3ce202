//! `bench ledger-cost`: the cost of the ledger, and of the sampler with it: server CPU per request,
//! compared with a server built without the ledger that does not sample.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use load::Result;

use crate::pairs::{self, Booked, Contender, Cost, PairArguments};
use crate::{Plan, keys, machine, page, say, write};

/// The most that the ledger may cost, as a share of the CPU per request.
const COST_MAX: f64 = 0.01;
/// The most that the ledger and the sampler may cost together.
const BOTH_MAX: f64 = 0.02;
/// Heading of this run's section of the page.
const HEADING: &str = "## What the ledger costs";
/// The option that stops the sampler.
const UNSAMPLED: [&str; 2] = ["--sampling-rate", "0"];

#[derive(Args, Clone)]
pub(crate) struct CostArguments {
    /// The server with the ledger; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// The server that was built without it
    #[arg(long, value_name = "FILE", default_value = "target/ledger-off/release/clearway")]
    without: PathBuf,
    /// Folder that contains session_state.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    #[command(flatten)]
    pairs: PairArguments,
    /// Only workloads whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Also get, set and counter of clearway race
    #[arg(long)]
    keys: bool,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on this measurement is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Runs the measurements. Exit code 1 if an interval exceeds its limit.
pub(crate) fn run(arguments: &CostArguments) -> Result<ExitCode> {
    let with = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let without = Plan::of_server(Some(&arguments.without), &arguments.workloads)
        .map_err(|what| format!("{what}: make bench-ledger builds it"))?;
    let costs_of = |what, asked_max| -> Vec<Cost> {
        let more = if arguments.keys { keys::works() } else { Vec::new() };
        let works = pairs::works()
            .into_iter()
            .chain(more)
            .map(|work| Cost::new(what, work.name, asked_max));
        works.filter(|cost| cost.work.contains(&arguments.only)).collect()
    };
    let mut ledger = costs_of("the ledger", COST_MAX);
    let mut both = costs_of("the ledger and the sampler", BOTH_MAX);
    for pair in 0..arguments.pairs.pairs.max(1) {
        say(&format!("pair {} of {}", pair + 1, arguments.pairs.pairs));
        for (costs, options) in [(&mut ledger, &UNSAMPLED[..]), (&mut both, &[])] {
            let side = |plan, arguments| Contender { plan, arguments, batches: &[] };
            let sides = [side(&with, options), side(&without, &UNSAMPLED)];
            let booked = Booked::Turns;
            pairs::run_pair(sides, &arguments.pairs, booked, pair, costs, &mut |_| Ok(()))?;
        }
    }
    let costs: Vec<Cost> = ledger.into_iter().chain(both).collect();
    say(&pairs::table(&costs));
    if let Some(path) = &arguments.json {
        write(path, &format!("{{\"costs\":{}}}\n", pairs::json(&costs)))?;
    }
    if let Some(path) = &arguments.page {
        page::put_section(path, HEADING, &section(&arguments.pairs, &costs, &with))?;
    }
    let holds = costs.iter().all(|cost| cost.interval().high <= cost.asked_max);
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn section(arguments: &PairArguments, costs: &[Cost], plan: &Plan) -> String {
    let PairArguments { pairs, blocks, window_ms } = arguments;
    format!(
        "
Written by `make bench-ledger`: server CPU per request with the ledger, and with the ledger and the
sampler, against that of a server built without the ledger that does not sample, in {pairs} pairs each. A
pair starts two new server processes and lets them serve in turns of {window_ms} ms on one CPU, in {blocks} blocks of
four (with, without, without, with; the next pair the other way round); a pair's ratio is the median of its
blocks. The interval is that of the mean over the pairs, by bootstrap; its upper end must be at most
the limit.

{}{}",
        pairs::page_table(costs),
        pairs::page_facts(&machine::machine(plan))
    )
}
