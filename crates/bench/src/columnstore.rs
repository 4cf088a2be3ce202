//! `bench columnstore`: the experiment `columnstore-load`. INSERT..SELECT of many rows of ten
//! BIGINT columns into a clustered columnstore, compared with DuckDB's CREATE TABLE AS of the same
//! rows, and two writers into one table with one alone; then a sum over one column, and the size
//! compared with Parquet with zstd.
//!
//! Sums must equal the other side's. Figures are CPU times; the sides take turns.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;
use load::process::Place;
use load::{Answer, Generator, Result, ServerProcess};
use tds::client::{self, ClientSettings};

use crate::report::median;
use crate::setup::{Schedulers, as_float, ask_number, connect, login, run_batches, start_clearway};
use crate::{Plan, machine, page, say, write};

const DATABASE: &str = "Columns";
const HEADING: &str = "## Columnstore side by side";
const LOAD: &str = "INSERT INTO dbo.cci WITH (TABLOCK) SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM dbo.staging OPTION (MAXDOP 1)";
const SUM: &str = "SELECT SUM(c9) FROM dbo.cci OPTION (MAXDOP 1)";
const SIZE: &str = "SELECT SUM(size_in_bytes) FROM sys.dm_db_column_store_row_group_physical_stats WHERE state = 3";
const RELEASED: &str = "SELECT SUM(occurrences) FROM sys.dm_os_time_ledger WHERE category = 'kernel' AND name = 'decommit'";

#[derive(Args, Clone)]
pub(crate) struct ColumnArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of columnstore/, with the program for the other side
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// A Python with duckdb: see tests/setup.sh
    #[arg(long, value_name = "FILE", default_value = ".venv/bin/python")]
    python: PathBuf,
    /// Rows that are loaded
    #[arg(long, value_name = "N", default_value_t = 10_485_760)]
    rows: u32,
    /// Rounds of each side; in the first few, two writers still allocate memory that one did not
    /// need
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: usize,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on this experiment is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// The results of the other side.
#[derive(Debug, PartialEq)]
struct Peer {
    copy_ms: f64,
    sum_ms: f64,
    sum: i64,
    parquet_bytes: f64,
}

/// CPU times in ms, one per round.
#[derive(Default)]
struct Found {
    alone: Vec<f64>,
    each_of_two: Vec<f64>,
    sum: Vec<f64>,
    bytes: f64,
    released: f64,
}

/// A goal: its name, its limit, the measured value, and whether that is within the limit.
struct Goal {
    name: &'static str,
    asked: &'static str,
    measured: f64,
    is_met: bool,
}

/// Runs the experiment. Exit code 1 if an answer is wrong; a missed goal is printed but is no
/// failure.
pub(crate) fn run(arguments: &ColumnArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let peer = ask_peer(arguments)?;
    let server = start_clearway(&plan, Schedulers::PerCpu, Place::Anywhere)?;
    prepare(&server, arguments.rows)?;
    let mut found = Found::default();
    // The first round fills memory and caches, and is not counted.
    for round in 0..=arguments.rounds.max(1) {
        let mut client = connect(&server, DATABASE)?;
        let alone = load_rows(&server, &mut client, 1)?;
        let before = cpu_ns(&server)?;
        let sum = ask_number(&mut client, SUM)?;
        let sum_ms = milliseconds(cpu_ns(&server)? - before);
        if sum != peer.sum {
            return Err(format!("the sum is {sum} instead of {}", peer.sum));
        }
        found.bytes = as_float(ask_number(&mut client, SIZE)?);
        let both = load_rows(&server, &mut client, 2)?;
        if ask_number(&mut client, SUM)? != 2 * peer.sum {
            return Err("two writers did not load twice as much as one".to_owned());
        }
        if round > 0 {
            found.alone.push(alone.cpu_ms);
            found.sum.push(sum_ms);
            found.each_of_two.push(both.cpu_ms / 2.0);
            found.released += as_float(alone.released + both.released);
        }
    }
    for goal in found.goals(&peer, arguments) {
        say(&goal.line());
    }
    if let Some(path) = &arguments.json {
        write(path, &found.json(&peer, arguments))?;
    }
    if let Some(path) = &arguments.page {
        let facts = machine::machine(&plan);
        page::put_section(path, HEADING, &found.section(&peer, arguments, &facts))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the other side.
fn ask_peer(arguments: &ColumnArguments) -> Result<Peer> {
    let folder = std::env::temp_dir();
    let mut command = Command::new(&arguments.python);
    command.arg(arguments.workloads.join("columnstore/peer.py"));
    command.args([arguments.rows.to_string(), arguments.rounds.max(1).to_string()]);
    command.arg(&folder);
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    // The file is only needed for its size.
    let _ = std::fs::remove_file(folder.join("columnstore.parquet"));
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text)
        .ok_or_else(|| format!("{command:?}: '{text}' {}", String::from_utf8_lossy(&output.stderr)))
}

/// Reads `COPY_NS SUM_NS SUM BYTES`.
fn parse(text: &str) -> Option<Peer> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [copy, sum_ns, sum, bytes] = fields[..] else { return None };
    Some(Peer {
        copy_ms: milliseconds(copy.parse().ok()?),
        sum_ms: milliseconds(sum_ns.parse().ok()?),
        sum: sum.parse().ok()?,
        parquet_bytes: bytes.parse().ok()?,
    })
}

fn prepare(server: &ServerProcess, rows: u32) -> Result<()> {
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let column = |place: u32| format!("c{place} bigint NOT NULL");
    let columns = (0..10).map(column).collect::<Vec<_>>().join(", ");
    let value = |place: u32| format!("value % {} + {place}", 1_000 * place + 7);
    let values = (1..10).map(value).collect::<Vec<_>>().join(", ");
    let fill = format!(
        "INSERT INTO dbo.staging SELECT value, {values} FROM GENERATE_SERIES(CAST(0 AS bigint), CAST({} AS bigint))",
        rows.saturating_sub(1)
    );
    let batches = [
        format!("CREATE TABLE dbo.staging ({columns})"),
        format!("CREATE TABLE dbo.cci ({columns}, INDEX cci CLUSTERED COLUMNSTORE)"),
        fill,
    ];
    run_batches(&mut connect(server, DATABASE)?, batches.iter().map(String::as_str))
}

/// The cost of a load: the CPU time of all its sessions, and how often memory was returned to the
/// system.
struct Load {
    cpu_ms: f64,
    released: i64,
}

/// Loads the empty table in `sessions` concurrent sessions.
fn load_rows(server: &ServerProcess, client: &mut Generator, sessions: usize) -> Result<Load> {
    run_batches(client, ["TRUNCATE TABLE dbo.cci"])?;
    let released = ask_number(client, RELEASED)?;
    let mut generator = Generator::log_in(server.address(), sessions, &login(DATABASE))?;
    let request = client::batch(LOAD, ClientSettings::default());
    let before = cpu_ns(server)?;
    generator.round(|_| &request, |_, packets| Answer::decode(packets)?.check().map(|_| ()))?;
    let cpu_ms = milliseconds(cpu_ns(server)? - before);
    Ok(Load { cpu_ms, released: ask_number(client, RELEASED)? - released })
}

impl Found {
    fn goals(&self, peer: &Peer, arguments: &ColumnArguments) -> [Goal; 5] {
        let [alone, two, sum] = [&self.alone, &self.each_of_two, &self.sum].map(|of| median(of));
        let at_most = |name, asked, most: f64, measured: f64| Goal {
            name,
            asked,
            measured,
            is_met: measured <= most,
        };
        let rate = f64::from(arguments.rows) / sum / 1e6;
        [
            at_most("CPU of a load in DuckDB's", "at most 1.5", 1.5, alone / peer.copy_ms),
            at_most("CPU of each of two writers in one alone's", "at most 1.1", 1.1, two / alone),
            at_most(
                "pieces of memory given back to the system during loads",
                "at most 0",
                0.0,
                self.released,
            ),
            Goal {
                name: "billion rows a second summed, a core",
                asked: "at least 2",
                measured: rate,
                is_met: rate >= 2.0,
            },
            at_most(
                "size in that of Parquet with zstd",
                "reported",
                f64::MAX,
                self.bytes / peer.parquet_bytes,
            ),
        ]
    }

    /// Returns the times behind the goals: names, and ms.
    fn times(&self, peer: &Peer) -> [(&'static str, f64); 5] {
        [
            ("load_alone", median(&self.alone)),
            ("load_each_of_two", median(&self.each_of_two)),
            ("load_duckdb", peer.copy_ms),
            ("sum", median(&self.sum)),
            ("sum_duckdb", peer.sum_ms),
        ]
    }

    fn json(&self, peer: &Peer, arguments: &ColumnArguments) -> String {
        let mut json = format!("{{\"rows\":{}", arguments.rows);
        for (name, ms) in self.times(peer) {
            let _ = write!(json, ",\"{name}_cpu_ms\":{ms:.2}");
        }
        let (own, parquet) = (self.bytes, peer.parquet_bytes);
        let _ = writeln!(json, ",\"bytes\":{own:.0},\"parquet_zstd_bytes\":{parquet:.0}}}");
        json
    }

    fn section(&self, peer: &Peer, arguments: &ColumnArguments, facts: &machine::Facts) -> String {
        let mut page = format!(
            "
Written by `make bench-columnstore`, the experiment `columnstore-load`: INSERT..SELECT of {} rows of ten BIGINT columns
into a clustered columnstore, DuckDB's CREATE TABLE AS of the same rows beside it; medians of {} rounds.

| what | asked | measured | |
|---|---|---|---|
",
            arguments.rows, arguments.rounds
        );
        for goal in self.goals(peer, arguments) {
            let Goal { name, asked, measured, .. } = &goal;
            let _ = writeln!(page, "| {name} | {asked} | {measured:.3} | {} |", goal.verdict());
        }
        page.push_str("\n| CPU | ms |\n|---|---|\n");
        for (name, ms) in self.times(peer) {
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
        if self.is_met { "met" } else { "MISSED" }
    }

    fn line(&self) -> String {
        let Self { name, asked, measured, .. } = self;
        format!("{name}: {measured:.3}, asked {asked}: {}", self.verdict())
    }
}

fn cpu_ns(server: &ServerProcess) -> Result<u64> {
    sos::sys::process_clock_ns(server.id()).map_err(|error| format!("the server has gone: {error}"))
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_side_prints_is_read() {
        let peer = Peer { copy_ms: 2.0, sum_ms: 1.0, sum: -5, parquet_bytes: 7.0 };
        assert_eq!(parse("2000000 1000000 -5 7\n"), Some(peer));
        assert_eq!(parse("2000000 1000000 -5"), None);
    }

    #[test]
    fn goals_are_missed_on_the_right_side() {
        let arguments = ColumnArguments {
            server: None,
            workloads: PathBuf::new(),
            python: PathBuf::new(),
            rows: 1_000_000,
            rounds: 1,
            json: None,
            page: None,
        };
        let peer = Peer { copy_ms: 10.0, sum_ms: 1.0, sum: 0, parquet_bytes: 10.0 };
        let verdicts = |load: f64, sum_ms: f64| {
            let found = Found {
                alone: vec![load],
                each_of_two: vec![load],
                sum: vec![sum_ms],
                bytes: 1.0,
                released: 0.0,
            };
            found.goals(&peer, &arguments).map(|goal| goal.verdict())
        };
        assert_eq!(verdicts(15.0, 0.5), ["met"; 5]);
        assert_eq!(verdicts(15.1, 0.6), ["MISSED", "met", "met", "MISSED", "met"]);
    }
}
