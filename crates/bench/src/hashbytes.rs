//! `bench hashbytes`: the experiment `hashbytes`. MAX(HASHBYTES(..)) over many rows, compared with
//! a bare loop of the same hash over the same bytes and with DuckDB; two sessions compared with
//! one; and the pages that the statement allocated.
//!
//! All sides must find the same largest hash. Factors are of CPU time, which other work on the
//! machine influences little; the sides take turns, so that other work affects all.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;
use load::process::Place;
use load::{Answer, Generator, Result, ServerProcess};
use sha2::{Digest, Sha256};
use tds::client::{self, ClientSettings};
use types::Value;

use crate::report::median;
use crate::setup::{Schedulers, connect, login, run_batches, start_clearway};
use crate::{Plan, machine, page, say, write};

const DATABASE: &str = "Hashes";
const HEADING: &str = "## HASHBYTES side by side";
const QUERY: &str =
    "SELECT MAX(HASHBYTES('SHA2_256', CAST(id AS varbinary(8)))) FROM dbo.hb OPTION (MAXDOP 1)";
const PAGES: &str = "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Page Allocations/sec'";

#[derive(Args, Clone)]
pub(crate) struct HashArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of hashbytes/, with the program for the other side
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// A Python with duckdb: see tests/setup.sh
    #[arg(long, value_name = "FILE", default_value = ".venv/bin/python")]
    python: PathBuf,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 11_000_000)]
    rows: u32,
    /// Rounds of each side
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on this experiment is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// CPU times in ms, one per round, and the pages that each statement of one session allocated.
#[derive(Default)]
struct Found {
    bare: Vec<f64>,
    alone: Vec<f64>,
    each_of_two: Vec<f64>,
    pages: Vec<f64>,
    peer: f64,
}

/// A goal: its name, its limit, and the measured value.
struct Goal {
    name: &'static str,
    asked_max: f64,
    measured: f64,
}

/// Runs the experiment. Exit code 1 if an answer is wrong; a missed goal is printed but is no
/// failure.
pub(crate) fn run(arguments: &HashArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let (peer_ns, largest) = peer(arguments)?;
    let server = start_clearway(&plan, Schedulers::PerCpu, Place::Anywhere)?;
    prepare(&server, arguments.rows)?;
    let mut sessions =
        [1, 2].map(|count| Generator::log_in(server.address(), count, &login(DATABASE)));
    let mut watcher = connect(&server, DATABASE)?;
    let mut found = Found { peer: milliseconds(peer_ns), ..Found::default() };
    // The first round fills memory and caches, and is not counted.
    for round in 0..=arguments.rounds.max(1) {
        let bare = bare_loop(arguments.rows, &largest)?;
        let pages_before = pages(&mut watcher)?;
        let [one, two] = &mut sessions;
        let one = one.as_mut().map_err(|error| error.clone())?;
        let alone = turn(&server, one, 1.0, &largest)?;
        let pages = pages(&mut watcher)? - pages_before;
        let two = two.as_mut().map_err(|error| error.clone())?;
        let each_of_two = turn(&server, two, 2.0, &largest)?;
        if round > 0 {
            found.bare.push(bare);
            found.alone.push(alone);
            found.each_of_two.push(each_of_two);
            found.pages.push(as_float(pages));
        }
    }
    for goal in found.goals() {
        say(&goal.line());
    }
    if let Some(path) = &arguments.json {
        write(path, &found.json(arguments))?;
    }
    if let Some(path) = &arguments.page {
        page::put_section(path, HEADING, &found.section(arguments, &machine::machine(&plan)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the other side; returns its CPU time in ns and the largest hash.
fn peer(arguments: &HashArguments) -> Result<(u64, Vec<u8>)> {
    let mut command = Command::new(&arguments.python);
    command.arg(arguments.workloads.join("hashbytes/peer.py"));
    command.args([arguments.rows.to_string(), arguments.rounds.max(1).to_string()]);
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text)
        .ok_or_else(|| format!("{command:?}: '{text}' {}", String::from_utf8_lossy(&output.stderr)))
}

/// Reads `CPU_NS HEX`, the peer's output.
fn parse(text: &str) -> Option<(u64, Vec<u8>)> {
    let (ns, hex) = text.trim().split_once(' ')?;
    let bytes: Option<Vec<u8>> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect();
    Some((ns.parse().ok()?, bytes.filter(|bytes| bytes.len() == 32)?))
}

fn prepare(server: &ServerProcess, rows: u32) -> Result<()> {
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let table = "CREATE TABLE dbo.hb (id bigint NOT NULL)";
    let fill = format!(
        "INSERT INTO dbo.hb SELECT value FROM GENERATE_SERIES(CAST(0 AS bigint), CAST({} AS bigint))",
        rows.saturating_sub(1)
    );
    run_batches(&mut connect(server, DATABASE)?, [table, fill.as_str()])
}

/// Hashes the bytes of each number in this process, and returns the CPU time in ms.
fn bare_loop(rows: u32, largest: &[u8]) -> Result<f64> {
    let before = own_cpu_ns();
    let hash = |row: u32| Sha256::digest(u64::from(row).to_be_bytes());
    let found = (0..rows).map(hash).max().unwrap_or_default();
    let taken = milliseconds(own_cpu_ns() - before);
    if found.as_slice() != largest {
        return Err(format!("the bare loop found {found:?} instead of {largest:?}"));
    }
    Ok(taken)
}

/// Runs the query in every session at once; returns the CPU time of each in ms.
fn turn(
    server: &ServerProcess,
    generator: &mut Generator,
    sessions: f64,
    largest: &[u8],
) -> Result<f64> {
    let request = client::batch(QUERY, ClientSettings::default());
    let before = cpu_ns(server)?;
    generator.round(
        |_| &request,
        |_, packets| match Answer::decode(packets)?.check()?.rows()[..] {
            [[Value::VarBinary(found)]] if found.as_slice() == largest => Ok(()),
            ref other => Err(format!("{other:?} instead of {largest:?}")),
        },
    )?;
    Ok(milliseconds(cpu_ns(server)? - before) / sessions)
}

/// Returns how often the server has allocated 8 KB or more.
fn pages(watcher: &mut Generator) -> Result<u64> {
    let packets = watcher.ask(&client::batch(PAGES, ClientSettings::default()))?;
    match Answer::decode(&packets)?.check()?.rows()[..] {
        [[Value::BigInt(count)]] => u64::try_from(*count).map_err(|error| error.to_string()),
        ref other => Err(format!("not a count of pages: {other:?}")),
    }
}

impl Found {
    fn goals(&self) -> [Goal; 4] {
        let [bare, alone, two] = [&self.bare, &self.alone, &self.each_of_two].map(|of| median(of));
        [
            Goal { name: "CPU in that of a bare loop", asked_max: 1.3, measured: alone / bare },
            Goal { name: "CPU in DuckDB's", asked_max: 0.5, measured: alone / self.peer },
            Goal {
                name: "CPU of each of two in one alone's",
                asked_max: 1.05,
                measured: two / alone,
            },
            Goal { name: "page allocations", asked_max: 100.0, measured: median(&self.pages) },
        ]
    }

    /// Returns the times behind the goals: names, and ms.
    fn times(&self) -> [(&'static str, f64); 4] {
        [
            ("bare_loop", median(&self.bare)),
            ("alone", median(&self.alone)),
            ("each_of_two", median(&self.each_of_two)),
            ("duckdb", self.peer),
        ]
    }

    fn json(&self, arguments: &HashArguments) -> String {
        let mut json = format!("{{\"rows\":{}", arguments.rows);
        for (name, ms) in self.times() {
            let _ = write!(json, ",\"{name}_cpu_ms\":{ms:.2}");
        }
        let _ = writeln!(json, ",\"page_allocations\":{:.0}}}", median(&self.pages));
        json
    }

    fn section(&self, arguments: &HashArguments, facts: &machine::Facts) -> String {
        let mut page = format!(
            "
Written by `make bench-hashbytes`, the experiment `hashbytes`: SHA2_256 of each of {} rows, all sides in turns,
medians of {} rounds, the same largest hash everywhere.

| what | asked, at most | measured | |
|---|---|---|---|
",
            arguments.rows, arguments.rounds
        );
        for goal in self.goals() {
            let Goal { name, asked_max, measured } = &goal;
            let _ = writeln!(page, "| {name} | {asked_max} | {measured:.3} | {} |", goal.verdict());
        }
        page.push_str("\n| CPU | ms |\n|---|---|\n");
        for (name, ms) in self.times() {
            let _ = writeln!(page, "| {} | {ms:.0} |", name.replace('_', " "));
        }
        page.push_str("\n| | |\n|---|---|\n");
        for (name, value) in facts {
            let _ = writeln!(page, "| {name} | {value} |");
        }
        page
    }
}

impl Goal {
    fn verdict(&self) -> &'static str {
        if self.measured <= self.asked_max { "met" } else { "MISSED" }
    }

    fn line(&self) -> String {
        let Self { name, asked_max, measured } = self;
        format!("{name}: {measured:.3}, at most {asked_max} asked: {}", self.verdict())
    }
}

fn own_cpu_ns() -> u64 {
    let times = sos::sys::cpu_times();
    times.user_ns + times.kernel_ns
}

fn cpu_ns(server: &ServerProcess) -> Result<u64> {
    sos::sys::process_clock_ns(server.id()).map_err(|error| format!("the server has gone: {error}"))
}

fn milliseconds(ns: u64) -> f64 {
    as_float(ns) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn as_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_side_prints_is_read() {
        let hex = "ab".repeat(32);
        assert_eq!(parse(&format!("1200 {hex}\n")), Some((1_200, vec![0xAB; 32])));
        assert_eq!(parse("1200 ab"), None);
        assert_eq!(parse(&format!("x {hex}")), None);
    }

    #[test]
    fn bare_loop_finds_the_largest_hash_or_says_that_it_did_not() {
        let largest = (0..3_u64).map(|row| Sha256::digest(row.to_be_bytes())).max();
        let largest = largest.expect("three hashes");
        assert!(bare_loop(3, &largest).is_ok());
        assert!(bare_loop(3, &[0; 32]).is_err());
    }

    #[test]
    fn goal_is_missed_past_what_was_asked() {
        let goal = |measured| Goal { name: "a", asked_max: 1.3, measured };
        assert_eq!((goal(1.3).verdict(), goal(1.31).verdict()), ("met", "MISSED"));
    }
}
