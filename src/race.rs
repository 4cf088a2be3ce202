//! The verb `race`: races Clearway against the peers on this machine, and reports.
//!
//! Exit codes: 0 if every available peer raced, 1 if one answered wrongly, could not be measured or
//! was interrupted, 2 if the command line is wrong or a report cannot be written.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use load::Login;
use load::link::Target;
use race::{
    Bulk, DUCKDB, Kind, ROWS_MAX, Scale, Settings, TPCC_PEERS, TPCC_WAREHOUSES_MAX, TdsServer,
    TpccSettings, Work,
};
use sos::sys::StopSignals;

use crate::stress::EncryptName;
use crate::wrong_usage;

/// The environment variable in which sqlcmd looks for a password.
const PASSWORD_VARIABLE: &str = "SQLCMDPASSWORD";

/// Arguments of the verb `race`.
#[derive(Args)]
pub(crate) struct RaceArguments {
    /// get, set, session, counter, load or scan; default all of them
    #[arg(value_name = "WORK")]
    works: Vec<String>,
    /// Peers to start, such as clearway,redis; default all that are found
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    peers: Vec<String>,
    /// Another TDS server that is already running, as host,port
    #[arg(long, value_name = "SERVER")]
    tds: Option<String>,
    /// Encryption to that server: off, on (TLS in TDS) or strict (TDS 8.0); default on, or off to
    /// this machine. Certificates are not checked
    #[arg(long, value_name = "HOW", requires = "tds")]
    encrypt: Option<EncryptName>,
    /// Login on that server
    #[arg(long, value_name = "LOGIN", default_value = "sa", requires = "tds")]
    user: String,
    /// The login's password; else SQLCMDPASSWORD
    #[arg(long, value_name = "PASSWORD", requires = "tds")]
    password: Option<String>,
    /// Database on that server, for tables dbo.race_*, which are dropped at the end
    #[arg(long, value_name = "NAME", default_value = "", requires = "tds")]
    database: String,
    /// Length of a turn
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = server::options::parse_duration)]
    turn: Duration,
    /// Rounds; every peer has two turns in each
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Rows of the works load and scan
    #[arg(long, value_name = "N", default_value_t = 1_048_576)]
    rows: u32,
    /// File for the report as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Markdown page in which the section about races is replaced
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Race with durable writes: all peers keep their data in this folder, on the disk to measure.
    /// The works are then set, session and counter
    #[arg(long, value_name = "FOLDER", conflicts_with = "tds")]
    durable: Option<PathBuf>,
    /// Race the transactions of TPC-C instead, on clearway, postgresql and mariadb: in memory, or
    /// durable in this folder on the disk to measure
    #[arg(long, value_name = "FOLDER", num_args = 0..=1,
        conflicts_with_all = ["works", "tds", "durable", "turn", "rows"])]
    tpcc: Option<Option<PathBuf>>,
    /// Warehouses of TPC-C, each with ten terminals; default 4
    #[arg(long, value_name = "N", requires = "tpcc")]
    warehouses: Option<u32>,
    /// Calls of TPC-C's transactions in a turn; default 4000
    #[arg(long, value_name = "N", requires = "tpcc")]
    calls: Option<u32>,
    /// A hundredth of TPC-C's items and a tenth of its customers, to try it
    #[arg(long, requires = "tpcc")]
    small: bool,
    /// Another build of Clearway to race, in place of this one
    #[arg(long, value_name = "FILE")]
    clearway: Option<PathBuf>,
    /// Print no progress messages
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &RaceArguments) -> ExitCode {
    if let Some(folder) = &arguments.tpcc {
        return match tpcc_settings(arguments, folder.clone()) {
            Ok(settings) => ended(race_tpcc(arguments, &settings)),
            Err(what) => wrong_usage(&what),
        };
    }
    let settings = match settings(arguments) {
        Ok(settings) => settings,
        Err(what) => return wrong_usage(&what),
    };
    ended(race(arguments, &settings))
}

/// Returns the exit code of a race that ended, well or not.
fn ended(raced: Result<bool, String>) -> ExitCode {
    match raced {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => wrong_usage(&what),
    }
}

fn check_rounds(arguments: &RaceArguments) -> Result<(), String> {
    match arguments.rounds {
        0 => Err("invalid value '0' for '--rounds': it must be at least 1".to_owned()),
        _ => Ok(()),
    }
}

fn settings(arguments: &RaceArguments) -> Result<Settings, String> {
    check_rounds(arguments)?;
    if arguments.turn.is_zero() {
        return Err("invalid value '0' for '--turn': it must be longer than zero".to_owned());
    }
    if !(1..=ROWS_MAX).contains(&arguments.rows) {
        return Err(format!(
            "invalid value '{}' for '--rows': it takes 1 to {ROWS_MAX}",
            arguments.rows
        ));
    }
    let (mut works, mut bulks) = (Vec::new(), Vec::new());
    for name in &arguments.works {
        match (Work::of_name(name), Bulk::of_name(name)) {
            (Some(work), _) => works.push(work),
            (None, Some(bulk)) => bulks.push(bulk),
            (None, None) => {
                let names = Work::ALL.map(Work::name).into_iter().chain(Bulk::ALL.map(Bulk::name));
                let names = names.collect::<Vec<_>>().join(", ");
                return Err(format!("there is no work '{name}'; there are {names}"));
            }
        }
    }
    if arguments.works.is_empty() {
        (works, bulks) = match arguments.durable {
            None => (Work::ALL.to_vec(), Bulk::ALL.to_vec()),
            Some(_) => (vec![Work::Set, Work::Session, Work::Counter], Vec::new()),
        };
    }
    if let (Some(_), Some(bulk)) = (&arguments.durable, bulks.first()) {
        return Err(format!("the work '{}' is not raced with '--durable'", bulk.name()));
    }
    let is_all = arguments.peers.is_empty();
    let others = arguments.peers.iter().filter(|name| *name != DUCKDB);
    let peers = others.map(|name| {
        let names = Kind::ALL.map(Kind::name).join(", ");
        Kind::of_name(name)
            .ok_or_else(|| format!("there is no peer '{name}'; there are {names}, {DUCKDB}"))
    });
    let peers = peers.collect::<Result<Vec<_>, _>>()?;
    Ok(Settings {
        clearway: clearway(arguments)?,
        works,
        peers: if is_all { Kind::ALL.to_vec() } else { peers },
        tds: tds_server(arguments)?.into_iter().collect(),
        turn: arguments.turn,
        rounds: arguments.rounds,
        bulks,
        rows: arguments.rows,
        durable: arguments.durable.clone(),
        has_duckdb: is_all || arguments.peers.iter().any(|name| name == DUCKDB),
    })
}

/// Returns the program whose `serve` is raced as Clearway.
fn clearway(arguments: &RaceArguments) -> Result<PathBuf, String> {
    match &arguments.clearway {
        // A server starts in its own folder, so the path must be whole.
        Some(path) => std::fs::canonicalize(path)
            .map_err(|error| format!("--clearway {}: {error}", path.display())),
        None => std::env::current_exe().map_err(|error| format!("the binary: {error}")),
    }
}

/// Returns the settings of a race of TPC-C, durable in this folder.
fn tpcc_settings(
    arguments: &RaceArguments,
    durable: Option<PathBuf>,
) -> Result<TpccSettings, String> {
    check_rounds(arguments)?;
    let warehouses = arguments.warehouses.unwrap_or(4);
    if !(1..=TPCC_WAREHOUSES_MAX).contains(&warehouses) {
        return Err(format!(
            "invalid value '{warehouses}' for '--warehouses': a race takes 1 to {TPCC_WAREHOUSES_MAX}"
        ));
    }
    let calls = arguments.calls.unwrap_or(4_000);
    if calls == 0 {
        return Err("invalid value '0' for '--calls': it must be at least 1".to_owned());
    }
    let peer = |name: &String| {
        let names = TPCC_PEERS.map(Kind::name).join(", ");
        let kind = TPCC_PEERS.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| format!("the peer '{name}' does not race with '--tpcc'; {names} do"))
    };
    let peers = arguments.peers.iter().map(peer).collect::<Result<Vec<_>, _>>()?;
    let full = Scale::full(warehouses);
    let small = Scale { items: full.items / 100, customers: full.customers / 10, ..full };
    Ok(TpccSettings {
        clearway: clearway(arguments)?,
        peers: if peers.is_empty() { TPCC_PEERS.to_vec() } else { peers },
        scale: if arguments.small { small } else { full },
        calls,
        rounds: arguments.rounds,
        durable,
    })
}

fn tds_server(arguments: &RaceArguments) -> Result<Option<TdsServer>, String> {
    let Some(name) = &arguments.tds else { return Ok(None) };
    let address = load::address::resolve(name).map_err(|why| why.replace("'-S'", "'--tds'"))?;
    let password = arguments.password.clone().or_else(|| std::env::var(PASSWORD_VARIABLE).ok());
    let login = Login {
        user: arguments.user.clone(),
        password: password.ok_or("--tds needs --password, or SQLCMDPASSWORD")?,
        database: arguments.database.clone(),
    };
    let encrypt = arguments.encrypt.map(EncryptName::mode);
    let encrypt = load::address::encryption(encrypt, &address);
    Ok(Some(TdsServer { target: Target { address, login, encrypt } }))
}

/// Runs the race and writes the reports; returns whether every available peer raced.
fn race(arguments: &RaceArguments, settings: &Settings) -> Result<bool, String> {
    let found = watched(arguments, |tell, is_cut| race::run(settings, tell, is_cut))?;
    let heading = if found.is_durable { race::DURABLE_HEADING } else { race::HEADING };
    let reports = Reports {
        text: race::text(&found),
        json: race::json(&found),
        section: race::section(&found),
    };
    write_all(arguments, heading, &reports).map(|()| found.failures.is_empty())
}

/// As [`race()`], of the transactions of TPC-C.
fn race_tpcc(arguments: &RaceArguments, settings: &TpccSettings) -> Result<bool, String> {
    let found = watched(arguments, |tell, is_cut| race::run_tpcc(settings, tell, is_cut))?;
    let heading = if found.is_durable { race::TPCC_DURABLE_HEADING } else { race::TPCC_HEADING };
    let reports = Reports {
        text: race::tpcc_text(&found),
        json: race::tpcc_json(&found),
        section: race::tpcc_section(&found),
    };
    write_all(arguments, heading, &reports).map(|()| found.failures.is_empty())
}

/// A race's results in its three forms.
struct Reports {
    text: String,
    json: String,
    section: String,
}

/// Runs a race that prints its progress and ends at Ctrl-C.
fn watched<T>(
    arguments: &RaceArguments,
    run: impl FnOnce(&mut dyn FnMut(&str), &dyn Fn() -> bool) -> T,
) -> Result<T, String> {
    sos::sys::raise_open_files();
    let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    let mut tell = |text: &str| {
        if !arguments.quiet {
            eprintln!("{text}");
        }
    };
    Ok(run(&mut tell, &|| signals.came().unwrap_or(false)))
}

/// Prints the report and writes those that are asked for.
fn write_all(arguments: &RaceArguments, heading: &str, reports: &Reports) -> Result<(), String> {
    // A closed stdout must not lose the files.
    let _ = std::io::stdout().lock().write_all(reports.text.as_bytes());
    let json = arguments.json.as_ref().map_or(Ok(()), |path| write(path, &reports.json));
    let page = arguments
        .page
        .as_ref()
        .map_or(Ok(()), |path| load::page::put_section(path, heading, &reports.section));
    json.and(page)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
