//! `bench books`: compares the server's ledger with the kernel's accounting, under four loads,
//! while other processes compete for the CPUs.
//!
//! The comparison does not trust the server: the ledger is read by SQL as any client reads it, and
//! the other side comes from the kernel. Both are read while the load is idle, so that no request
//! in progress is on either side.

mod calls;
mod compare;
mod inside;
mod loads;
mod neighbour;
mod outside;
mod page;
mod profile;
mod tools;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Args, ValueEnum};
use load::process::Place;
use load::{Generator, Outcome, Result, ServerProcess};

use crate::setup::{clearway, connect};
use crate::{Plan, machine, own_path, say, write};
use compare::{Check, Window};
use inside::Inside;
use loads::Load;
use neighbour::Neighbours;
pub(crate) use neighbour::spin;
use outside::{Edge, Outside, Watcher};

/// The numeric user and group of the unprivileged user that every Linux has.
const NOBODY: u32 = 65_534;
/// The calls that a usual container denies, and one that has no restartable sequences.
const FORBIDDEN: &str = "perf_event_open,membarrier,rseq";
/// Interval of looks at the threads, so that little is lost when one ends.
const LOOK: Duration = Duration::from_millis(250);
/// How long a server is idle before the ledger is read.
const REST: Duration = Duration::from_millis(50);

/// The user that runs the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum User {
    /// The user that runs the benchmark
    Own,
    /// An unprivileged user, which only root can switch to
    Nobody,
    /// That user, without the system calls that containers deny
    Confined,
}

#[derive(Args, Clone)]
pub(crate) struct BooksArguments {
    /// The server's binary; default the one beside this
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder that contains session_state.sql
    #[arg(long, value_name = "FOLDER", default_value = "tests/workloads")]
    workloads: PathBuf,
    /// Milliseconds of each load
    #[arg(long, value_name = "MS", default_value_t = 3_000)]
    window_ms: u64,
    /// Rows of the table that is scanned
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    scan_rows: u32,
    /// Processes that compete with the server; default one per CPU
    #[arg(long, value_name = "N")]
    neighbours: Option<usize>,
    /// Only loads whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Users to run the server as
    #[arg(long, value_delimiter = ',', default_value = "own,nobody,confined")]
    users: Vec<User>,
    /// Sources of the ledger to force besides the default, named as in the server's --ledger
    #[arg(long, value_delimiter = ',', default_value = "rseq,switches,schedstat,wall")]
    sources: Vec<String>,
    /// Where to write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page in which the section on the ledger is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Only proves in seconds that everything runs: short windows, tolerances ten times as wide
    #[arg(long)]
    smoke: bool,
}

/// How a server is started.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) user: User,
    /// The value of `--ledger`; `None` lets the server choose.
    pub(crate) source: Option<String>,
}

/// The result of one window.
pub(crate) struct Run {
    pub(crate) setting: Setting,
    pub(crate) load: &'static str,
    pub(crate) inside: Inside,
    pub(crate) outside: Outside,
    pub(crate) requests: u64,
    /// CPU used by the readings themselves, which belongs to neither side.
    pub(crate) edges_ns: u64,
    pub(crate) checks: Vec<Check>,
    pub(crate) notes: Vec<String>,
}

/// The results of all runs.
pub(crate) struct Books {
    pub(crate) facts: machine::Facts,
    pub(crate) runs: Vec<Run>,
    pub(crate) calls: Vec<calls::Calls>,
    pub(crate) profiles: Vec<profile::Profile>,
    pub(crate) failures: Vec<String>,
    /// The factor by which tolerances are widened.
    pub(crate) slack: f64,
}

/// Runs every load with every setting. Exit code 1 if a tolerance is exceeded or something failed.
pub(crate) fn run(arguments: &BooksArguments) -> Result<ExitCode> {
    let plan = Plan::of_server(arguments.server.as_ref(), &arguments.workloads)?;
    sos::sys::raise_open_files();
    let slack = if arguments.smoke { 10.0 } else { 1.0 };
    let facts = machine::machine(&plan);
    let mut books =
        Books { facts, runs: vec![], calls: vec![], profiles: vec![], failures: vec![], slack };
    for setting in settings(arguments) {
        if let Err(what) = run_setting(&plan, arguments, &setting, &mut books) {
            books.failures.push(format!("{}: {what}", setting.name()));
        }
    }
    let text = page::text(&books);
    say(&text);
    if let Some(path) = &arguments.json {
        write(path, &page::json(&books))?;
    }
    if let Some(path) = &arguments.page {
        crate::page::put_section(path, page::HEADING, &page::section(&books))?;
    }
    Ok(if books.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Books {
    fn holds(&self) -> bool {
        let mut checks = self.runs.iter().flat_map(|run| &run.checks);
        self.failures.is_empty() && checks.all(|check| check.holds(self.slack))
    }
}

impl Setting {
    pub(crate) fn name(&self) -> String {
        let user = match self.user {
            User::Own => "own user",
            User::Nobody => "user `nobody`",
            User::Confined => "user `nobody` without perf, membarrier and rseq",
        };
        match &self.source {
            Some(source) => format!("{user}, --ledger {source}"),
            None => user.to_owned(),
        }
    }
}

/// Returns every user with the server's default source, then each source.
fn settings(arguments: &BooksArguments) -> Vec<Setting> {
    let users = arguments.users.iter().map(|&user| Setting { user, source: None });
    let of_source = |source: &String| Setting { user: User::Own, source: Some(source.clone()) };
    match arguments.smoke {
        true => users.take(1).collect(),
        false => users
            .chain(arguments.sources.iter().filter(|name| !name.is_empty()).map(of_source))
            .collect(),
    }
}

fn run_setting(
    plan: &Plan,
    arguments: &BooksArguments,
    setting: &Setting,
    books: &mut Books,
) -> Result<()> {
    let server = start(plan, setting)?;
    let scan_rows = if arguments.smoke { 100_000 } else { arguments.scan_rows };
    loads::prepare(plan, &server, scan_rows)?;
    let mut watcher = Watcher::new(server.id());
    let is_wanted = |name: &&&str| name.contains(&arguments.only);
    for name in loads::NAMES.iter().filter(is_wanted) {
        say(&format!("{}: {name}", setting.name()));
        match window(arguments, setting, &server, &mut watcher, name) {
            Ok(run) => books.runs.push(run),
            Err(what) => books.failures.push(format!("{}, {name}: {what}", setting.name())),
        }
    }
    if setting.source.is_none() && setting.user == User::Own && !arguments.smoke {
        match profile::sample(&server) {
            Ok(profile) => books.profiles.push(profile),
            Err(what) => say(&format!("stacks are not compared: {what}")),
        }
        // Last, because under a tracer the server cannot read the scheduler's statistics without a
        // context switch.
        match calls::count(&server) {
            Ok(calls) => books.calls.push(calls),
            Err(what) => say(&format!("system calls are not compared: {what}")),
        }
    }
    Ok(())
}

fn start(plan: &Plan, setting: &Setting) -> Result<ServerProcess> {
    let mut command = clearway(plan);
    if let Some(source) = &setting.source {
        command.args(["--ledger", source]);
    }
    let command = match setting.user {
        User::Own => command,
        User::Nobody => as_nobody(absolute(&command)?),
        User::Confined => as_nobody(confined(&command)?),
    };
    ServerProcess::start(command, &[], Place::Anywhere)
}

/// Only root may do this; for others the start fails with an error.
fn as_nobody(mut command: Command) -> Command {
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    command
}

/// Returns the same command with an absolute path.
fn absolute(command: &Command) -> Result<Command> {
    let program = std::fs::canonicalize(command.get_program());
    let mut absolute = Command::new(program.map_err(|error| format!("{command:?}: {error}"))?);
    absolute.args(command.get_args());
    Ok(absolute)
}

/// Returns the same command behind a filter on system calls.
fn confined(command: &Command) -> Result<Command> {
    let mut outer = Command::new(own_path()?);
    outer.args(["confined", "--forbid", FORBIDDEN, "--"]);
    let inner = absolute(command)?;
    outer.arg(inner.get_program()).args(inner.get_args());
    Ok(outer)
}

/// Runs one load between two readings of both sides.
fn window(
    arguments: &BooksArguments,
    setting: &Setting,
    server: &ServerProcess,
    watcher: &mut Watcher,
    name: &str,
) -> Result<Run> {
    let mut load = Load::open(name, server)?;
    let mut reader = connect(server, "")?;
    let cpus = machine::cpus().len();
    let neighbours = Neighbours::start(arguments.neighbours.unwrap_or(cpus))?;
    // The first requests of a connection make plans and fill caches.
    let mut outcome = load.generator.run(&load.script, LOOK)?;
    let task_clock = TaskClock::start(server.id());
    let before = read_both(watcher, &mut reader)?;
    let window_ms = if arguments.smoke { 500 } else { arguments.window_ms };
    let end_ns = sos::clock::deadline_ns(Duration::from_millis(window_ms));
    let mut counted = Outcome::default();
    while sos::clock::monotonic_ns() < end_ns {
        counted.add(&load.generator.run(&load.script, LOOK)?);
        watcher.look()?;
    }
    let after = read_both(watcher, &mut reader)?;
    let task_clock = task_clock.and_then(TaskClock::stop);
    let foreign_threads = Inside::foreign_threads(&mut reader)?;
    drop(neighbours);
    outcome.add(&counted);
    if let Some(what) = &outcome.first_trouble {
        return Err(format!("{} wrong answers, the first: {what}", outcome.troubles()));
    }
    load.prove(server, outcome.requests())?;
    let mut notes = Vec::new();
    let task_clock = task_clock.map_err(|what| notes.push(format!("perf stat: {what}"))).ok();
    let inside = after.inside.since(&before.inside);
    let outside = after.outside.since(before.outside);
    let edges = before.edge.plus(after.edge);
    let window = Window { inside: &inside, outside: &outside, edges, task_clock, foreign_threads };
    let checks = compare::compare(&window);
    Ok(Run {
        setting: setting.clone(),
        load: load.name,
        requests: counted.requests(),
        edges_ns: edges.clock_ns,
        inside,
        outside,
        checks,
        notes,
    })
}

/// A running `perf stat`, and the process clock when it began.
struct TaskClock {
    tool: tools::Tool,
    process_id: u32,
    clock_ns: u64,
}

impl TaskClock {
    fn start(process_id: u32) -> Result<Self> {
        let tool = tools::Tool::task_clock(process_id)?;
        Ok(Self { tool, process_id, clock_ns: process_clock_ns(process_id)? })
    }

    /// Returns perf's count, and the process clock's difference.
    fn stop(self) -> Result<(u64, u64)> {
        let clock_ns = process_clock_ns(self.process_id)? - self.clock_ns;
        let text = self.tool.stop()?;
        let found = tools::task_clock_ns(&text);
        Ok((found.ok_or_else(|| format!("no task-clock in '{text}'"))?, clock_ns))
    }
}

fn process_clock_ns(process_id: u32) -> Result<u64> {
    sos::sys::process_clock_ns(process_id).map_err(|error| format!("the server has gone: {error}"))
}

/// Both sides at one moment.
struct Both {
    inside: Inside,
    outside: Outside,
    /// The largest difference in time between the kernel's readings and the ledger's.
    edge: Edge,
}

/// Reads the kernel's accounting, the ledger, and the kernel's again; the true value is between the
/// two.
fn read_both(watcher: &mut Watcher, reader: &mut Generator) -> Result<Both> {
    load::pause(REST);
    let earlier = watcher.look()?;
    let inside = Inside::read(reader)?;
    let later = watcher.look()?;
    let edge = Edge::between(earlier, later);
    Ok(Both { inside, outside: earlier.midpoint(later), edge })
}
