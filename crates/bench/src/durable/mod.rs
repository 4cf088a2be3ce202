//! `bench durable`: what a data folder costs, in phases that each start new servers:
//!
//! | phase        | what is measured                                                                    |
//! |--------------|-------------------------------------------------------------------------------------|
//! | `costs`      | server CPU per request of session state: memory only with `--data` given, durable, delayed |
//! | `flushes`    | commits that share a flush                                                            |
//! | `start`      | time to the ready line with a new folder                                              |
//! | `checkpoint` | what a checkpoint adds to the latency of requests                                     |
//! | `recovery`   | rows and bytes that a start brings back per second                                    |

mod checkpoint;
mod figure;
mod flushes;
mod recovery;
mod start;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use load::process::Place;
use load::{Generator, Outcome, Result, Script, ServerProcess};

use self::figure::Figure;
use crate::pairs::{self, Booked, Contender, Cost, PairArguments};
use crate::setup::{clearway, read_workload};
use crate::work::CONNECTIONS;
use crate::{Plan, machine, page, say, write};

/// Heading of this run's section of the page.
const HEADING: &str = "## What durability costs";
/// The option of the workload's tables that keeps them in memory only.
const IN_MEMORY: &str = "durability = schema_only";
const DURABLE: &str = "durability = schema_and_data";
const SCRIPT: &str = "session_state.sql";
/// Fills the log's first three segments of 64 MB, and lets checkpoints retire them, so that the measured turns
/// write to a file that was a segment before. A log does that for all of its life but the first minutes; in a
/// new file each flush changes the file's metadata as well (docs/decisions/0407).
const USE_LOG: [&str; 5] = [
    "CREATE TABLE WebSessions.dbo.Filler (n int NOT NULL, pad varbinary(8000) NOT NULL)",
    FILL_SEGMENT,
    FILL_SEGMENT,
    FILL_SEGMENT,
    "DROP TABLE WebSessions.dbo.Filler",
];
const FILL_SEGMENT: &str = "DECLARE @n int = 0
    WHILE @n < 10
    BEGIN
        INSERT WebSessions.dbo.Filler
        SELECT value, CAST(REPLICATE(CAST('x' AS varchar(max)), 7000) AS varbinary(7000))
        FROM GENERATE_SERIES(1, 1000)
        SET @n += 1
    END
    CHECKPOINT
    TRUNCATE TABLE WebSessions.dbo.Filler";
const DELAYED: &str = "ALTER DATABASE WebSessions SET DELAYED_DURABILITY = FORCED";
/// Rows of the phases that need many: `checkpoint` and `recovery`.
const SMOKE_ROWS: u64 = 10_000;

type Measure = fn(&Bed<'_>) -> Result<Vec<Figure>>;

/// The phases besides `costs`, by their names in `--only`.
const PHASES: [(&str, Measure); 4] = [
    ("flushes", flushes::measure),
    ("start", start::measure),
    ("checkpoint", checkpoint::measure),
    ("recovery", recovery::measure),
];

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
    /// Only phases whose name contains this: costs, flushes, start, checkpoint, recovery
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Session rows of the phases checkpoint and recovery; each takes about 0.7 kB on the disk
    #[arg(long, value_name = "N", default_value_t = 1_500_000)]
    rows: u64,
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
    /// Whether the tables are durable, and what is run last to set more.
    is_durable: bool,
    last: &'static [&'static str],
}

const COMPARISONS: [Comparison; 3] = [
    Comparison { what: "memory only, --data given", asked_max: 0.01, is_durable: false, last: &[] },
    Comparison { what: "durable", asked_max: 0.10, is_durable: true, last: &[] },
    Comparison { what: "delayed durability", asked_max: 0.03, is_durable: true, last: &[DELAYED] },
];

/// What the phases share: a server whose session tables are durable, and where its folders are.
struct Bed<'a> {
    plan: &'a Plan,
    scratch: &'a Path,
    rows: u64,
    is_smoke: bool,
}

impl Bed<'_> {
    fn folder(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Starts a server on a folder, which may have data.
    fn start(&self, name: &str, arguments: &[&str], place: Place) -> Result<ServerProcess> {
        if place == Place::Anywhere {
            // An earlier phase may have moved this thread to one CPU.
            sos::sys::pin_to_cpus(&crate::machine::cpus())
                .map_err(|error| format!("CPUs: {error}"))?;
        }
        let mut command = clearway(self.plan);
        command.arg("--data").arg(self.folder(name)).args(arguments);
        ServerProcess::start(command, &[], place)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let folder = self.folder(name);
        std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
    }
}

/// Runs a window of requests, none of which may fail.
fn run_script(generator: &mut Generator, script: &Script, window: Duration) -> Result<Outcome> {
    let outcome = generator.run(script, window)?;
    match &outcome.first_trouble {
        Some(what) => Err(format!("{} wrong answers, the first: {what}", outcome.troubles())),
        None => Ok(outcome),
    }
}

/// Runs the measurements. Exit code 1 if one exceeds its limit.
pub(crate) fn run(arguments: &DurableArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let scratch = Scratch::new(&arguments.disk)?;
    let durable = durable_plan(&plan, &scratch)?;
    let amount = match arguments.smoke {
        true => PairArguments { pairs: 1, blocks: 1, ..arguments.pairs },
        false => arguments.pairs,
    };
    let wants = |name: &str| name.contains(&arguments.only);
    let rows = if arguments.smoke { SMOKE_ROWS } else { arguments.rows };
    let bed = Bed { plan: &durable, scratch: &scratch.0, rows, is_smoke: arguments.smoke };
    let mut figures = Vec::new();
    for (name, measure) in PHASES.into_iter().filter(|(name, _)| wants(name)) {
        say(&format!("measuring: {name}"));
        figures.extend(measure(&bed)?);
    }
    say(&figure::table(&figures));
    let costs = match wants("costs") {
        true => costs(&plan, &durable, &scratch, &amount)?,
        false => Vec::new(),
    };
    say(&pairs::table(&costs));
    if let Some(path) = &arguments.json {
        let (costs, figures) = (pairs::json(&costs), figure::json(&figures));
        write(path, &format!("{{\"figures\":{figures},\"costs\":{costs}}}\n"))?;
    }
    if let Some(path) = &arguments.page {
        page::put_section(path, HEADING, &section(&amount, &costs, &figures, &plan))?;
    }
    let holds = costs.iter().all(|cost| cost.interval().high <= cost.asked_max)
        && !figures.iter().any(Figure::is_missed);
    Ok(if holds || arguments.smoke { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures the CPU per request in pairs of servers.
fn costs(
    plan: &Plan,
    durable: &Plan,
    scratch: &Scratch,
    amount: &PairArguments,
) -> Result<Vec<Cost>> {
    let works = pairs::works();
    let mut costs: Vec<Vec<Cost>> = COMPARISONS
        .iter()
        .map(|one| works.iter().map(|it| Cost::new(one.what, it.name, one.asked_max)).collect())
        .collect();
    for pair in 0..amount.pairs.max(1) {
        say(&format!("pair {} of {}", pair + 1, amount.pairs));
        for (at, one) in COMPARISONS.iter().enumerate() {
            let folder = scratch.0.join(format!("data-{pair}-{at}"));
            let name = folder.to_str().ok_or("the folder's path is not UTF-8")?;
            let batches = match one.is_durable {
                true => [&USE_LOG, one.last].concat(),
                false => Vec::new(),
            };
            let with = Contender {
                plan: if one.is_durable { durable } else { plan },
                arguments: &["--data", name],
                batches: &batches,
            };
            let without = Contender { plan, arguments: &[], batches: &[] };
            // All threads of the server count: the log's, too.
            let sides = [with, without];
            let see = &mut |_: &ServerProcess| Ok(());
            pairs::run_pair(sides, amount, Booked::Blocks, pair, &mut costs[at], see)?;
            std::fs::remove_dir_all(&folder).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(costs.into_iter().flatten().collect())
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

fn section(amount: &PairArguments, costs: &[Cost], figures: &[Figure], plan: &Plan) -> String {
    let PairArguments { pairs, blocks, window_ms } = amount;
    let mut text = String::from("\nWritten by `make bench-durable`.\n");
    if !figures.is_empty() {
        let _ = write!(text, "\n{}", figure::page_table(figures));
    }
    if !costs.is_empty() {
        let _ = write!(
            text,
            "
Server CPU per request of session state on {CONNECTIONS} connections, with a data
folder, against that of a server that keeps all in memory, in {pairs} pairs each. *Memory only* has the tables
SCHEMA_ONLY on both sides. *Durable* and *delayed durability* have them SCHEMA_AND_DATA on the side with the folder,
whose log has filled three segments before, so that it writes to a file that it has used.
A pair starts two new server processes and lets them serve in turns of {window_ms} ms on one CPU, in {blocks} blocks of
four; all CPU time of the process counts, that of the log's threads included. The interval is that of the mean over the
pairs, by bootstrap; its upper end must be at most the limit.

{}",
            pairs::page_table(costs)
        );
    }
    text.push_str(&pairs::page_facts(&machine::machine(plan)));
    text
}
