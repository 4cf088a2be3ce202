//! `bench events`: the cost of Extended Events and of the sampler to the requests that they
//! observe.

mod inside;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use load::{Result, ServerProcess};

use crate::pairs::{self, Booked, Contender, Cost, PairArguments};
use crate::setup::{ask_number, connect};
use crate::work::Work;
use crate::{Plan, machine, page, say, write};

/// Heading of this run's section of the page.
const HEADING: &str = "## What events and samples cost";
/// A sampling rate high enough to show what one sample costs, and the default one.
const RATE_HIGH: u32 = sos::sampler::RATE_HZ_MAX;
const RATE_USUAL: u32 = sos::sampler::RATE_HZ;

/// A session for an investigation of spinlocks and pages.
const BY_STACK: [&str; 2] = [
    "CREATE EVENT SESSION measured ON SERVER
     ADD EVENT sqlos.spinlock_backoff (ACTION (package0.callstack)),
     ADD EVENT sqlos.page_freed (ACTION (package0.callstack))
     ADD TARGET package0.histogram (SET source = 'package0.callstack', source_type = 1, slots = 4096)",
    "ALTER EVENT SESSION measured ON SERVER STATE = START",
];
/// A session that traces every call.
const EACH_CALL: [&str; 2] = [
    "CREATE EVENT SESSION measured ON SERVER
     ADD EVENT sqlserver.rpc_completed
     ADD TARGET package0.ring_buffer",
    "ALTER EVENT SESSION measured ON SERVER STATE = START",
];
const EVENTS_SEEN: &str = "SELECT seen FROM sys.dm_xe_session_counts
    WHERE session_name = 'measured' AND event_name IS NULL";
const EVENTS_DROPPED: &str = "SELECT SUM(dropped) FROM sys.dm_xe_session_counts
    WHERE session_name = 'measured' AND event_name IS NULL";
const SAMPLES: &str = "SELECT cpu_sample_count FROM sys.dm_os_sampler";

#[derive(Args, Clone)]
pub(crate) struct EventArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder that contains session_state.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    #[command(flatten)]
    pairs: PairArguments,
    /// Only comparisons whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
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

/// A session, or the sampler, compared with a server without it.
struct Comparison {
    name: &'static str,
    asked_max: f64,
    /// The share of the difference that is shown: the sampler is measured at a higher rate than its
    /// default.
    scale: f64,
    with: Vec<String>,
    without: Vec<String>,
    batches: &'static [&'static str],
    /// The query that proves that it was active.
    seen: &'static str,
}

/// How much the sessions of all pairs have collected and lost.
#[derive(Default)]
struct Seen {
    events: i64,
    dropped: i64,
}

/// Runs the measurements. Exit code 1 if a number exceeds its limit.
pub(crate) fn run(arguments: &EventArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let amount = match arguments.smoke {
        true => PairArguments { pairs: 1, blocks: 1, ..arguments.pairs },
        false => arguments.pairs,
    };
    let (mut costs, mut notes) = (Vec::new(), Vec::new());
    for comparison in comparisons().iter().filter(|it| it.name.contains(&arguments.only)) {
        let seen = compare(comparison, &plan, &amount, &mut costs)?;
        notes.push(match comparison.scale < 1.0 {
            true => format!("{}: {} samples were taken", comparison.name, seen.events),
            false => format!(
                "{}: {} events were seen, {} of them dropped",
                comparison.name, seen.events, seen.dropped
            ),
        });
    }
    let inside = inside::measure()?;
    say(&pairs::table(&costs));
    notes.iter().for_each(|note| say(note));
    inside.iter().for_each(|figure| say(&figure.cells().join("  ")));
    if let Some(path) = &arguments.json {
        let figures: Vec<String> = inside.iter().map(inside::Figure::json).collect();
        let text =
            format!("{{\"costs\":{},\"figures\":[{}]}}\n", pairs::json(&costs), figures.join(","));
        write(path, &text)?;
    }
    if let Some(path) = &arguments.page {
        let text = section(&amount, &costs, &notes, &inside, &plan);
        page::put_section(path, HEADING, &text)?;
    }
    let holds = costs.iter().all(|cost| cost.interval().high <= cost.asked_max)
        && inside.iter().all(inside::Figure::holds);
    Ok(if holds || arguments.smoke { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn comparisons() -> Vec<Comparison> {
    let session = |name, asked_max, batches| Comparison {
        name,
        asked_max,
        scale: 1.0,
        with: Vec::new(),
        without: Vec::new(),
        batches,
        seen: EVENTS_SEEN,
    };
    let rate = |hz: u32| vec!["--sampling-rate".to_owned(), hz.to_string()];
    vec![
        session("backoffs and freed pages by stack, histogram", 0.02, &BY_STACK),
        session("rpc_completed, ring_buffer", 0.05, &EACH_CALL),
        Comparison {
            name: "the sampler",
            asked_max: 0.001,
            scale: f64::from(RATE_USUAL) / f64::from(RATE_HIGH),
            with: rate(RATE_HIGH),
            without: rate(0),
            batches: &[],
            seen: SAMPLES,
        },
    ]
}

/// Runs the pairs of one comparison, and adds its costs.
fn compare(
    comparison: &Comparison,
    plan: &Plan,
    arguments: &PairArguments,
    costs: &mut Vec<Cost>,
) -> Result<Seen> {
    let Comparison { name, asked_max, scale, .. } = *comparison;
    let works = pairs::works().into_iter();
    let cost = |work: Work| Cost::new(name, work.name, asked_max).scaled(scale);
    let mut own: Vec<Cost> = works.map(cost).collect();
    let mut seen = Seen::default();
    let mut see = |server: &ServerProcess| -> Result<()> {
        let mut client = connect(server, "")?;
        seen.events += ask_number(&mut client, comparison.seen)?;
        seen.dropped += ask_number(&mut client, EVENTS_DROPPED)?;
        Ok(())
    };
    let with: Vec<&str> = comparison.with.iter().map(String::as_str).collect();
    let without: Vec<&str> = comparison.without.iter().map(String::as_str).collect();
    let sides = [
        Contender { plan, arguments: &with, batches: comparison.batches },
        Contender { plan, arguments: &without, batches: &[] },
    ];
    for pair in 0..arguments.pairs.max(1) {
        say(&format!("{name}: pair {} of {}", pair + 1, arguments.pairs));
        pairs::run_pair(sides, arguments, Booked::Blocks, pair, &mut own, &mut see)?;
    }
    costs.append(&mut own);
    Ok(seen)
}

fn section(
    arguments: &PairArguments,
    costs: &[Cost],
    notes: &[String],
    inside: &[inside::Figure],
    plan: &Plan,
) -> String {
    let PairArguments { pairs, blocks, window_ms } = arguments;
    let mut page = format!(
        "
Written by `make bench-events`: server CPU per request with a session, or the sampler, against that of the
same server without, in {pairs} pairs each. A pair starts two new server processes and lets them serve in turns of
{window_ms} ms on one CPU, in {blocks} blocks of four. All CPU time of a server during a block counts, also
that of its dispatcher after the turn. The interval is that of the mean over the pairs; its upper end must
be at most the limit. The sampler is measured at {RATE_HIGH} Hz, and its cost shown for the
{RATE_USUAL} Hz that servers run with.

{}",
        pairs::page_table(costs)
    );
    page.push('\n');
    for note in notes {
        let _ = writeln!(page, "- {note}");
    }
    page.push_str(
        "\nIn one process, without a server:\n\n| what | asked | measured | |\n|---|---|---|---|\n",
    );
    for figure in inside {
        let _ = writeln!(page, "| {} |", figure.cells().join(" | "));
    }
    page + &pairs::page_facts(&machine::machine(plan))
}
