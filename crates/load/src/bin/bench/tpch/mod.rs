//! `bench tpch`: the 22 queries of TPC-H on row tables or columnstores, against DuckDB on one
//! thread in the same run.
//!
//! The answers are compared, so a fast wrong answer does not count. CPU time is that of the whole
//! server process (its threads on one scheduler) and of the whole peer process; of the runs of a
//! query the median counts. This is not a TPC-H result: no refresh, no throughput test, nothing
//! audited.

mod answer;
mod data;
mod peer;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use load::process::Place;
use load::{Generator, Result, ServerProcess};
use tds::client::{self, ClientSettings};

use crate::setup::{Schedulers, connect, run_batches, start_clearway};
use crate::{Plan, machine, say, write};
use answer::{Rows, Verdict};
use peer::Peer;

const DATABASE: &str = "Tpch";

#[derive(Args, Clone)]
pub(crate) struct TpchArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of tpch/, with the tables and the queries
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Folder of the generated data, which is made if absent
    #[arg(long, value_name = "FOLDER", default_value = "target/tpch")]
    data: PathBuf,
    /// A Python with duckdb, beside tpchgen-cli: see tests/setup.sh
    #[arg(long, value_name = "FILE", default_value = ".venv/bin/python")]
    python: PathBuf,
    /// Scale factor; 1 is a gigabyte. Query 11 is written for 0.1
    #[arg(long, value_name = "SF", default_value = "0.1")]
    scale: String,
    /// Store the tables as clustered columnstores, without keys, instead of as rows with primary
    /// keys
    #[arg(long)]
    columnstore: bool,
    /// Runs of each query, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    /// Seconds after which a query is cancelled and counts as not answered
    #[arg(long, value_name = "S", default_value_t = 60)]
    limit_s: u64,
    /// Only queries whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on this benchmark is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// One query with the results of both sides.
struct Line {
    name: String,
    peer_ns: u64,
    own: Own,
}

/// How our server stores the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// As rows, with primary keys.
    Rows,
    /// As clustered columnstores, without keys.
    Columnstore,
}

/// Our server's result for a query.
enum Own {
    Answered { cpu_ns: u64, verdict: Verdict },
    Failed(String),
}

/// The results of all queries.
struct Found {
    facts: machine::Facts,
    scale: String,
    kind: Kind,
    rows: u64,
    load_cpu_ns: u64,
    lines: Vec<Line>,
}

/// Runs every query on both sides. Exit code 1 if an answer is wrong or missing; slow is no
/// failure.
pub(crate) fn run(arguments: &TpchArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    let folder = arguments.data.join(&arguments.scale);
    let queries = arguments.workloads.join("tpch");
    peer::generate(&arguments.python, &arguments.scale, &folder)?;
    let mut peer = Peer::start(&arguments.python, &folder, &queries)?;
    let server = start_clearway(&plan, Schedulers::One, Place::Anywhere)?;
    let kind = if arguments.columnstore { Kind::Columnstore } else { Kind::Rows };
    let (rows, load_cpu_ns) = load_data(&server, kind, &queries, &folder)?;
    let mut found = Found {
        facts: machine::machine(&plan),
        scale: arguments.scale.clone(),
        kind,
        rows,
        load_cpu_ns,
        lines: Vec::new(),
    };
    let mut client = connect(&server, DATABASE)?;
    for name in peer::names(&queries)?.iter().filter(|name| name.contains(&arguments.only)) {
        let text = read(&queries.join(format!("{name}.sql")))?;
        let line = compare(arguments, (&server, &mut client), &mut peer, (name, &text))?;
        if let Own::Failed(_) = line.own {
            // After a failure, part of an answer may be left on the connection.
            client = connect(&server, DATABASE)?;
        }
        say(&line.cells().join("  "));
        found.lines.push(line);
    }
    say(&found.summary());
    if let Some(path) = &arguments.json {
        write(path, &found.json())?;
    }
    if let Some(path) = &arguments.page {
        crate::page::put_section(path, report::heading(kind), &found.section())?;
    }
    Ok(if found.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Creates and fills the tables. Returns the number of rows, and the server's CPU time.
fn load_data(
    server: &ServerProcess,
    kind: Kind,
    queries: &Path,
    folder: &Path,
) -> Result<(u64, u64)> {
    run_batches(&mut connect(server, "")?, [format!("CREATE DATABASE {DATABASE}").as_str()])?;
    let mut client = connect(server, DATABASE)?;
    let schema = read(&queries.join("schema.sql"))?;
    let schema = match kind {
        Kind::Rows => schema,
        Kind::Columnstore => without_keys(&schema),
    };
    run_batches(&mut client, [schema.as_str()])?;
    let before_ns = cpu_ns(server)?;
    // Table by table: all of them as rows take several times the memory of columns.
    let rows = data::load(&mut client, folder, |client, table| match kind {
        Kind::Rows => Ok(()),
        Kind::Columnstore => {
            let made = format!("CREATE CLUSTERED COLUMNSTORE INDEX columns ON {table}");
            run_batches(client, [made.as_str()])
        }
    })?;
    Ok((rows, cpu_ns(server)? - before_ns))
}

/// Removes the primary keys from the schema: clustered columnstores do not support them yet.
fn without_keys(schema: &str) -> String {
    let is_key = |line: &&str| line.trim_start().starts_with("PRIMARY KEY");
    let lines: Vec<&str> = schema.lines().filter(|line| !is_key(line)).collect();
    lines.join("\n").replace(" PRIMARY KEY", "").replace(",\n);", "\n);")
}

/// Runs a query several times on both sides alternately, so that other work on the machine affects
/// both; checks each answer, and takes the median cost.
fn compare(
    arguments: &TpchArguments,
    (server, client): (&ServerProcess, &mut Generator),
    peer: &mut Peer,
    (name, text): (&str, &str),
) -> Result<Line> {
    let request = client::batch(text, ClientSettings::default());
    let limit = Duration::from_secs(arguments.limit_s);
    let (mut theirs, mut taken) = (Vec::new(), Vec::new());
    let mut verdict = Ok(Verdict::Same);
    for _ in 0..arguments.runs.max(1) {
        let other = peer.answer(name)?;
        theirs.push(other.cpu_ns);
        let Ok(before) = verdict else { continue };
        let before_ns = cpu_ns(server)?;
        let answer = ask(client, &request, limit);
        taken.push(cpu_ns(server)? - before_ns);
        verdict = answer.map(|rows| worst(before, of_rows(&rows, &other.rows)));
    }
    let own = match verdict {
        Ok(verdict) => Own::Answered { cpu_ns: median(taken), verdict },
        Err(what) => Own::Failed(what),
    };
    Ok(Line { name: name.to_owned(), peer_ns: median(theirs), own })
}

fn of_rows(own: &Rows, other: &Rows) -> Verdict {
    let verdict = answer::compare(own, other);
    if verdict == Verdict::Different {
        say(&report::first_difference(own, other));
    }
    verdict
}

fn ask(client: &mut Generator, request: &[u8], limit: Duration) -> Result<Rows> {
    let packets = client.ask_within(request, limit)?;
    let packets = packets.ok_or_else(|| format!("no answer within {} s", limit.as_secs()))?;
    answer::own_rows(&packets)
}

fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

fn worst(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Different, _) | (_, Verdict::Different) => Verdict::Different,
        (Verdict::OtherOrder, _) | (_, Verdict::OtherOrder) => Verdict::OtherOrder,
        (Verdict::Same, Verdict::Same) => Verdict::Same,
    }
}

fn cpu_ns(server: &ServerProcess) -> Result<u64> {
    sos::sys::process_clock_ns(server.id()).map_err(|error| format!("the server has gone: {error}"))
}
