//! `bench`: measures the numbers that Clearway promises, and prints them beside the goals.
#![forbid(unsafe_code)]

mod aggregate;
mod books;
mod cache;
mod capacity;
mod census;
mod clickbench;
mod columnstore;
mod compile;
mod drive;
mod duckdb;
mod durable;
mod events;
mod hashbytes;
mod keys;
mod ledger_cost;
mod locks;
mod machine;
mod model;
mod page;
mod pairs;
mod race;
mod report;
mod session;
mod setup;
mod soak;
mod tpch;
mod work;

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use load::Result;
use load::echo::EchoServer;

use report::Report;

/// Measures Clearway's promised numbers on this machine.
#[derive(Parser)]
#[command(name = "bench", version, args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    bench: BenchArguments,
}

#[derive(Subcommand)]
enum Verb {
    /// Serves as the bare echo server; the answer is read from stdin.
    Echo {
        /// Length of a request in bytes
        #[arg(long, value_name = "N")]
        request_bytes: usize,
    },
    /// Compares the server's ledger with the kernel's accounting under load
    Books(books::BooksArguments),
    /// Measures what finding or compiling the plan of a statement costs the server
    Compile(compile::CompileArguments),
    /// Sends a fixed number of requests to a server under a counting tool
    Drive(drive::DriveArguments),
    /// Compares a server with a data folder to one that keeps all in memory
    Durable(durable::DurableArguments),
    /// Compares a server with event sessions, and with the sampler, to one without
    Events(events::EventArguments),
    /// Compares a server with the ledger to one that was built without it
    LedgerCost(ledger_cost::CostArguments),
    /// Measures the locks, compared with std's and parking_lot's
    Locks(locks::LocksArguments),
    /// Predicts throughput on more CPUs than the machine has, by a model
    Model(model::ModelArguments),
    /// Compares a GROUP BY in one session with the same in two concurrent ones
    Aggregate(aggregate::AggregateArguments),
    /// Compares loads into a columnstore with DuckDB's, and with two concurrent ones
    Columnstore(columnstore::ColumnArguments),
    /// Loads into columnstores, cancels loads and drops tables for minutes; memory must end as it
    /// began
    Soak(soak::SoakArguments),
    /// Compares MAX(HASHBYTES(..)) with a bare loop, with DuckDB, and with two sessions
    Hashbytes(hashbytes::HashArguments),
    /// Runs the 22 queries of TPC-H here and in DuckDB, and compares answers and CPU time
    Tpch(tpch::TpchArguments),
    /// Runs the 43 queries of ClickBench here and in DuckDB, and compares answers and CPU time
    Clickbench(clickbench::ClickArguments),
    /// Runs another program that is denied some system calls, as in many containers
    Confined {
        /// The names of the denied calls
        #[arg(long, value_delimiter = ',', required = true)]
        forbid: Vec<String>,
        /// The program and its arguments
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Keeps a CPU busy for at most two minutes, to compete with a measured server
    #[command(hide = true)]
    Spin,
}

#[derive(Args, Clone)]
pub(crate) struct BenchArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder of session_state.sql and cache.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where to write the results as a page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Only measurements whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Rounds of server, echo, echo, server
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Milliseconds of each of the four windows
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    window_ms: u64,
    /// Only proves in seconds that everything runs; the numbers mean nothing
    #[arg(long)]
    smoke: bool,
}

/// How much to measure, and where.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) server: PathBuf,
    pub(crate) workloads: PathBuf,
    pub(crate) rounds: usize,
    pub(crate) window: Duration,
    pub(crate) only: String,
    pub(crate) starts: usize,
    pub(crate) connections_idle: usize,
    pub(crate) connections_at_once: usize,
}

impl Plan {
    /// Returns the plan of the other commands: a server and its workloads.
    pub(crate) fn of_server(server: Option<&PathBuf>, workloads: &Path) -> Result<Self> {
        let arguments = BenchArguments {
            server: server.cloned(),
            workloads: workloads.to_owned(),
            json: None,
            page: None,
            only: String::new(),
            rounds: 1,
            window_ms: 1_000,
            smoke: false,
        };
        Self::new(&arguments)
    }

    fn new(arguments: &BenchArguments) -> Result<Self> {
        let server = match &arguments.server {
            Some(path) => path.clone(),
            None => own_path()?.with_file_name("clearway"),
        };
        if !server.exists() {
            return Err(format!("there is no server at {}", server.display()));
        }
        let full = Self {
            server,
            workloads: arguments.workloads.clone(),
            rounds: arguments.rounds.max(1),
            window: Duration::from_millis(arguments.window_ms),
            only: arguments.only.clone(),
            starts: 20,
            connections_idle: 5_000,
            connections_at_once: 10_000,
        };
        Ok(match arguments.smoke {
            false => full,
            true => Self {
                rounds: 1,
                window: Duration::from_millis(100),
                starts: 3,
                connections_idle: 500,
                connections_at_once: 1_000,
                ..full
            },
        })
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let result = match line.verb {
        Some(Verb::Echo { request_bytes }) => echo(request_bytes).map(|()| ExitCode::SUCCESS),
        Some(Verb::Books(arguments)) => books::run(&arguments),
        Some(Verb::Compile(arguments)) => compile::run(&arguments).map(|()| ExitCode::SUCCESS),
        Some(Verb::Drive(arguments)) => drive::run(&arguments).map(|()| ExitCode::SUCCESS),
        Some(Verb::Durable(arguments)) => durable::run(&arguments),
        Some(Verb::Events(arguments)) => events::run(&arguments),
        Some(Verb::LedgerCost(arguments)) => ledger_cost::run(&arguments),
        Some(Verb::Locks(arguments)) => locks::run(&arguments).map(|()| ExitCode::SUCCESS),
        Some(Verb::Model(arguments)) => model::run(&arguments).map(|()| ExitCode::SUCCESS),
        Some(Verb::Aggregate(arguments)) => aggregate::run(&arguments),
        Some(Verb::Columnstore(arguments)) => columnstore::run(&arguments),
        Some(Verb::Soak(arguments)) => soak::run(&arguments),
        Some(Verb::Hashbytes(arguments)) => hashbytes::run(&arguments),
        Some(Verb::Tpch(arguments)) => tpch::run(&arguments),
        Some(Verb::Clickbench(arguments)) => clickbench::run(&arguments),
        Some(Verb::Confined { forbid, command }) => confined(&forbid, &command),
        Some(Verb::Spin) => {
            books::spin();
            Ok(ExitCode::SUCCESS)
        }
        None => bench(&line.bench),
    };
    result.unwrap_or_else(|what| {
        eprintln!("bench: {what}");
        ExitCode::FAILURE
    })
}

pub(crate) fn own_path() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| format!("own path: {error}"))
}

/// Writes a line to stdout; measuring goes on if stdout is closed.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

fn echo(request_bytes: usize) -> Result<()> {
    let mut answer = Vec::new();
    std::io::stdin().read_to_end(&mut answer).map_err(|error| format!("stdin: {error}"))?;
    let server = EchoServer::bind(request_bytes, answer)?;
    say(&format!("The echo is ready: {}", server.address()));
    server.run()
}

/// Returns only if it could not exec the other program.
fn confined(forbid: &[String], command: &[std::ffi::OsString]) -> Result<ExitCode> {
    let names: Vec<_> = forbid.iter().map(String::as_str).collect();
    sos::sys::forbid_calls(&names).map_err(|error| format!("a filter: {error}"))?;
    let (program, arguments) = command.split_first().ok_or("there is no program")?;
    Err(format!("{}", std::process::Command::new(program).args(arguments).exec()))
}

fn bench(arguments: &BenchArguments) -> Result<ExitCode> {
    let plan = Plan::new(arguments)?;
    sos::sys::raise_open_files();
    let mut report = Report::new(machine::facts(&plan));
    race::run_all(&plan, &mut report);
    capacity::run_all(&plan, &mut report);
    say(&report.table());
    if let Some(path) = &arguments.json {
        write(path, &report.json())?;
    }
    if let Some(path) = &arguments.page {
        page::put_page(path, &page::page(&report))?;
    }
    Ok(if report.failures().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
