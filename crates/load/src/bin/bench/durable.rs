//! `bench durable`: what a data folder costs, as server CPU per request: the requests of session
//! state that touch memory only, with `--data` given and without; and the same requests with the
//! tables durable, and with delayed durability, compared with memory only.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use load::{Answer, Result, ServerProcess};
use tds::client::{ClientSettings, batch};
use types::Value;

use crate::pairs::{self, Booked, Contender, Cost, PairArguments};
use crate::setup::{connect, read_workload};
use crate::work::CONNECTIONS;
use crate::{Plan, machine, page, say, write};

/// Heading of this run's section of the page.
const HEADING: &str = "## What durability costs";
/// The option of the workload's tables that keeps them in memory only.
const IN_MEMORY: &str = "durability = schema_only";
const DURABLE: &str = "durability = schema_and_data";
const SCRIPT: &str = "session_state.sql";
const DELAYED: [&str; 1] = ["ALTER DATABASE WebSessions SET DELAYED_DURABILITY = FORCED"];
/// The histogram of commits per flush.
const FLUSHES: &str =
    "SELECT low, flush_count FROM sys.dm_os_log_flushes WHERE measure = 'commits per flush'";

#[derive(Args, Clone)]
pub(crate) struct DurableArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder that contains session_state.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Folder on the disk to measure, in which data folders are made and removed
    #[arg(long, value_name = "FOLDER", default_value = "target")]
    disk: PathBuf,
    #[command(flatten)]
    pairs: PairArguments,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on this measurement is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Only proves in seconds that everything runs; the numbers mean nothing
    #[arg(long)]
    smoke: bool,
}

/// Folders of one run, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(disk: &Path) -> Result<Self> {
        let path = disk.join(format!("bench-durable-{}", std::process::id()));
        let made = std::fs::create_dir_all(path.join("workloads"));
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is in a folder of build results.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server with a data folder, compared with one without.
struct Comparison {
    what: &'static str,
    asked_max: f64,
    /// Whether the tables are durable, and the batches that set more.
    is_durable: bool,
    batches: &'static [&'static str],
}

const COMPARISONS: [Comparison; 3] = [
    Comparison {
        what: "memory only, --data given",
        asked_max: 0.01,
        is_durable: false,
        batches: &[],
    },
    Comparison { what: "durable", asked_max: 0.10, is_durable: true, batches: &[] },
    Comparison { what: "delayed durability", asked_max: 0.03, is_durable: true, batches: &DELAYED },
];

/// Runs the measurements. Exit code 1 if an interval exceeds its limit.
pub(crate) fn run(arguments: &DurableArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let scratch = Scratch::new(&arguments.disk)?;
    let durable = durable_plan(&plan, &scratch)?;
    let amount = match arguments.smoke {
        true => PairArguments { pairs: 1, blocks: 1, ..arguments.pairs },
        false => arguments.pairs,
    };
    let works = pairs::works();
    let mut costs: Vec<Vec<Cost>> = COMPARISONS
        .iter()
        .map(|one| works.iter().map(|it| Cost::new(one.what, it.name, one.asked_max)).collect())
        .collect();
    let mut flushes = vec![Flushes::default(); COMPARISONS.len()];
    for pair in 0..amount.pairs.max(1) {
        say(&format!("pair {} of {}", pair + 1, amount.pairs));
        for (at, one) in COMPARISONS.iter().enumerate() {
            let folder = scratch.0.join(format!("data-{pair}-{at}"));
            let name = folder.to_str().ok_or("the folder's path is not UTF-8")?;
            let with = Contender {
                plan: if one.is_durable { &durable } else { &plan },
                arguments: &["--data", name],
                batches: one.batches,
            };
            let without = Contender { plan: &plan, arguments: &[], batches: &[] };
            // All threads of the server count: the log's, too.
            let mut see = |server: &ServerProcess| flushes[at].add(server);
            let sides = [with, without];
            pairs::run_pair(sides, &amount, Booked::Blocks, pair, &mut costs[at], &mut see)?;
            std::fs::remove_dir_all(&folder).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    let costs: Vec<Cost> = costs.into_iter().flatten().collect();
    let notes: Vec<String> = COMPARISONS
        .iter()
        .zip(&flushes)
        .filter(|(one, _)| one.is_durable)
        .map(|(one, flushes)| format!("{}: {}", one.what, flushes.describe()))
        .collect();
    say(&pairs::table(&costs));
    notes.iter().for_each(|note| say(note));
    if let Some(path) = &arguments.json {
        write(path, &format!("{{\"costs\":{}}}\n", pairs::json(&costs)))?;
    }
    if let Some(path) = &arguments.page {
        page::put_section(path, HEADING, &section(&amount, &costs, &notes, &plan))?;
    }
    let holds = costs.iter().all(|cost| cost.interval().high <= cost.asked_max);
    Ok(if holds || arguments.smoke { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns a plan whose tables of sessions are durable.
fn durable_plan(plan: &Plan, scratch: &Scratch) -> Result<Plan> {
    let script = read_workload(plan, SCRIPT)?;
    if !script.contains(IN_MEMORY) {
        return Err(format!("{SCRIPT} has no table with '{IN_MEMORY}'"));
    }
    let workloads = scratch.0.join("workloads");
    write(&workloads.join(SCRIPT), &script.replace(IN_MEMORY, DURABLE))?;
    Ok(Plan { workloads, ..plan.clone() })
}

/// Flushes of the log by the number of their commits, as powers of two.
#[derive(Clone, Default)]
struct Flushes(BTreeMap<i64, i64>);

impl Flushes {
    fn add(&mut self, server: &ServerProcess) -> Result<()> {
        let packets = connect(server, "")?.ask(&batch(FLUSHES, ClientSettings::default()))?;
        for row in Answer::decode(&packets)?.check()?.rows() {
            match row {
                [Value::BigInt(low), Value::BigInt(count)] => {
                    *self.0.entry(*low).or_default() += count;
                }
                other => return Err(format!("not two numbers: {other:?}")),
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let classes: Vec<String> =
            self.0.iter().map(|(low, count)| format!("{count} of {low} or more")).collect();
        match classes.is_empty() {
            true => "no flush".to_owned(),
            false => format!("flushes by commits, in powers of two: {}", classes.join(", ")),
        }
    }
}

fn section(amount: &PairArguments, costs: &[Cost], notes: &[String], plan: &Plan) -> String {
    let PairArguments { pairs, blocks, window_ms } = amount;
    let mut text = format!(
        "
Written by `make bench-durable`: server CPU per request of session state on {CONNECTIONS} connections, with a data
folder, against that of a server that keeps all in memory, in {pairs} pairs each. *Memory only* has the tables
SCHEMA_ONLY on both sides. *Durable* and *delayed durability* have them SCHEMA_AND_DATA on the side with the folder.
A pair starts two new server processes and lets them serve in turns of {window_ms} ms on one CPU, in {blocks} blocks of
four; all CPU time of the process counts, that of the log's threads included. The interval is that of the mean over the
pairs, by bootstrap; its upper end must be at most the limit.

{}",
        pairs::page_table(costs)
    );
    text.push('\n');
    for note in notes {
        let _ = writeln!(text, "- {note}");
    }
    text.push_str(&pairs::page_facts(&machine::machine(plan)));
    text
}
