//! The `clearway` binary: reads the command line and runs one verb.
//!
//! Exit codes: 0 after an orderly stop, 1 if the verb failed, 2 if the command line is wrong.

mod agents;
mod diagnose;
mod events;
mod lab;
mod log;
mod notify;
mod profile;
mod race;
mod serve;
mod sql;
mod sqlcmd;
mod stress;
mod top;
mod variables;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Every allocation of the process goes through the machine layer, which accounts for it.
#[global_allocator]
static ALLOCATOR: sos::memory::Allocator = sos::memory::Allocator;

/// The exit code for a wrong command line.
const EXIT_USAGE: u8 = 2;

/// An in-memory SQL engine that speaks SQL Server's wire protocol and T-SQL.
#[derive(Parser)]
#[command(name = "clearway", version, args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    serve: ServeArguments,
}

#[derive(Subcommand)]
enum Verb {
    /// Serves clients until a signal stops it (the default).
    Serve(Box<ServeArguments>),
    /// Runs five experiments in which an engine failed to scale, with the old and the new
    /// implementation.
    Lab(lab::LabArguments),
    /// Races Clearway against the databases and caches installed on this machine, all doing the
    /// same work.
    Race(Box<race::RaceArguments>),
    /// Sends statements to any TDS server, typed, piped or from files, and prints the results.
    Sql(Box<sql::SqlArguments>),
    /// As `sql`, for scripts that call sqlcmd: exactly sqlcmd's options, each of which works or is refused by name.
    #[command(disable_help_flag = true)]
    Sqlcmd(sqlcmd::SqlcmdArguments),
    /// Generates load on any TDS server and reports latencies, rates and errors.
    Stress(Box<stress::StressArguments>),
    /// Prints the events of event files as JSON, one event to a line.
    Events(events::EventsArguments),
    /// Prints the log of a --data folder as JSON, one record to a line, also while a server has it
    /// open.
    Log(log::LogArguments),
    /// Profiles a server: the call stacks in which it runs, waits or allocates memory.
    Profile(Box<profile::ProfileArguments>),
    /// Says what is wrong with a server, how much it costs, and what to do about it.
    Diagnose(Box<diagnose::DiagnoseArguments>),
    /// Shows a server's time, requests, statements and locks in the terminal, refreshed.
    Top(Box<top::TopArguments>),
}

/// Arguments of `serve`, as text: `serve.rs` checks them.
#[derive(Args)]
struct ServeArguments {
    /// Address to listen on, such as 127.0.0.1 (the default), 0.0.0.0 or ::1
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Port to listen on, by default 1433; 0 takes a free one and prints it
    #[arg(long, value_name = "N")]
    port: Option<String>,
    /// Port of the dedicated admin connection, on this machine only: it is answered where all workers
    /// wait. 0 takes a free one; default 1434 if --port is 1433, else none
    #[arg(long, value_name = "N")]
    admin_port: Option<String>,
    /// UNIX socket to listen on as well, for clients on this machine: -S unix:PATH
    #[arg(long, value_name = "PATH")]
    socket: Option<std::path::PathBuf>,
    /// Password of sa; else CLEARWAY_SA_PASSWORD, MSSQL_SA_PASSWORD, or a random one
    #[arg(long, value_name = "PASSWORD")]
    sa_password: Option<String>,
    /// Folder to keep the data in; without it, data lives in memory only
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Recover only what was committed up to this UTC time, such as 2026-11-28T14:05:00.5; what is
    /// later is lost
    #[arg(long, value_name = "TIME")]
    recover_until: Option<String>,
    /// Recover what is readable of a damaged folder, and say what is lost
    #[arg(long)]
    salvage: bool,
    /// Keep the rows of SCHEMA_ONLY tables from an orderly stop to the next start; after a kill they
    /// are empty
    #[arg(long)]
    keep_schema_only: bool,
    /// Limit on memory: bytes, or with KB, MB, GB, TB; default three quarters of the machine's or
    /// container's
    #[arg(long, value_name = "BYTES")]
    max_memory: Option<String>,
    /// How memory is allocated: conventional, locked (never paged out), or large (huge pages)
    #[arg(long, value_name = "MODEL", default_value = "conventional")]
    memory_model: String,
    /// Limit on memory for rows that one query keeps (sorts, hash tables); default a quarter of the
    /// limit on memory
    #[arg(long, value_name = "BYTES")]
    max_query_memory: Option<String>,
    /// Number of schedulers; default one per CPU or, in a container, what its quota of CPU time allows
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    schedulers: Option<String>,
    /// How the ledger distinguishes CPU time from waiting: auto, rseq, switches, schedstat or wall
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    ledger: String,
    /// Samples of call stacks per second of each thread's CPU time, up to 249; 0 turns the sampler
    /// off
    #[arg(long, value_name = "HZ", default_value = "97")]
    sampling_rate: String,
    /// Lock around the metadata cache: snapshot (none), exclusive, rw (one word) or distributed
    #[arg(long, value_name = "MODE", default_value = "snapshot")]
    lock_mode: String,
    /// Certificate chain in PEM form; default a self-signed one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<std::path::PathBuf>,
    /// Private key of the certificate in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<std::path::PathBuf>,
    /// Serves a console in the browser, at an address, a port or both; HTTPS beyond this machine
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8433")]
    console: Option<String>,
    /// A name by which browsers may reach the console; may be repeated
    #[arg(long, value_name = "NAME", requires = "console")]
    console_host: Vec<String>,
    /// File with a login and a token: who sends the token to /metrics reads with the login's rights
    #[arg(long, value_name = "FILE", requires = "console")]
    console_token: Option<std::path::PathBuf>,
    /// Encryption: off, on (for clients that ask), required, or strict (TDS 8.0 only)
    #[arg(long, value_name = "POLICY", default_value = "on")]
    encryption: String,
    /// Time limit from accept to the end of the login: seconds, or with ms, s, m
    #[arg(long, value_name = "TIME", default_value = "15s")]
    login_timeout: String,
    /// Time limit without progress within a message; then the connection is closed
    #[arg(long, value_name = "TIME", default_value = "30s")]
    packet_timeout: String,
    /// Time limit for a client that does not read its answer
    #[arg(long, value_name = "TIME", default_value = "60s")]
    send_timeout: String,
    /// Time limit for requests in progress when the server stops
    #[arg(long, value_name = "TIME", default_value = "30s")]
    shutdown_timeout: String,
    /// Takes what no option says from the variables of SQL Server's container image: MSSQL_TCP_PORT, MSSQL_DATA_DIR
    /// and others, also SA_PASSWORD; the log names those that have no effect
    #[arg(long)]
    mssql_variables: bool,
    /// The most concurrent connections
    #[arg(long, value_name = "N", default_value = "32767")]
    max_connections: String,
    /// Restores an implementation that did not scale: page-per-hash, decommit-per-segment or
    /// allocator-lock; may be repeated
    #[arg(long, value_name = "MODE", help_heading = "For experiments only, off by default")]
    experiment: Vec<String>,
}

fn main() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(line) => match line.verb {
            Some(Verb::Serve(arguments)) => serve::run(&arguments),
            Some(Verb::Lab(arguments)) => lab::run(&arguments),
            Some(Verb::Race(arguments)) => race::run(&arguments),
            Some(Verb::Sql(arguments)) => sql::run(&arguments),
            Some(Verb::Sqlcmd(arguments)) => sqlcmd::run(&arguments),
            Some(Verb::Stress(arguments)) => stress::run(&arguments),
            Some(Verb::Events(arguments)) => events::run(&arguments),
            Some(Verb::Log(arguments)) => log::run(&arguments),
            Some(Verb::Profile(arguments)) => profile::run(&arguments),
            Some(Verb::Diagnose(arguments)) => diagnose::run(&arguments),
            Some(Verb::Top(arguments)) => top::run(&arguments),
            None => serve::run(&line.serve),
        },
        Err(error) => answer(&error),
    }
}

/// Prints help if asked for, else one line that says what is wrong.
fn answer(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing can be done about a closed stdout.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    wrong_usage(&tip.map_or(line.to_owned(), |tip| format!("{line}; {tip}")))
}

/// Prints one line that says what is wrong with the command line.
fn wrong_usage(what: &str) -> ExitCode {
    eprintln!("clearway: {what}");
    ExitCode::from(EXIT_USAGE)
}
