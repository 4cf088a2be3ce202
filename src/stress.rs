//! The verb `stress`: checks its arguments, generates the load, and writes the report.
//!
//! Exit codes: 0 if the load ran, 1 if it had errors and -b was given, 2 if the arguments are
//! wrong, the target cannot be reached, an agent is lost, an output cannot be written, or no
//! request succeeded.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use load::Login;
use load::agent::Crew;
use load::ask::Asker;
use load::counters::Counters;
use load::link::{Encrypt, Target};
use load::stress::{
    Fleet, Level, Pace, Pool, Prepared, Report, Second, Settings, Source, Tally, WAREHOUSES_MAX,
    Work, Workload,
};
use sos::sync::Arc;
use sos::sys::StopSignals;

use crate::{EXIT_USAGE, agents, wrong_usage};

/// The environment variable in which sqlcmd looks for a password.
const PASSWORD_VARIABLE: &str = "SQLCMDPASSWORD";
/// The length of a run without `-d` or `-r`.
const DURATION_DEFAULT: Duration = Duration::from_secs(10);
/// Warming up until steady: seconds whose rates must agree, how closely, and how long it may take.
const STEADY_SECONDS: usize = 3;
const STEADY_SHARE: f64 = 0.03;
const STEADY_MAX: Duration = Duration::from_secs(60);
/// Errors for a missing table or procedure.
const MISSING: [i32; 2] = [208, 2812];
/// How long reading the server's counters, and a batch of a setup script, may take.
const BOOKS_PATIENCE: Duration = Duration::from_secs(10);
const SETUP_PATIENCE: Duration = Duration::from_secs(600);

/// Arguments of `stress`. The one-letter switches are ostress's; their values may follow with or
/// without a blank.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct StressArguments {
    /// Server: host, host,port or tcp:host,port
    #[arg(short = 'S', long, value_name = "SERVER", default_value = "127.0.0.1")]
    pub(crate) server: String,
    /// Login on the server
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    pub(crate) user: String,
    /// The login's password; else SQLCMDPASSWORD
    #[arg(short = 'P', long, value_name = "PASSWORD")]
    password: Option<String>,
    /// Database; default the login's
    #[arg(short = 'd', long, value_name = "NAME", default_value = "")]
    pub(crate) database: String,
    /// SQL text, split at GO lines; {call p} is sent as a procedure call
    #[arg(short = 'Q', long, value_name = "TEXT")]
    query: Option<String>,
    /// A .sql file, or a pattern such as dir/*.sql; each file gets its own connections
    #[arg(short = 'i', long, value_name = "FILE")]
    input: Vec<String>,
    /// session-state, cache, counter, queue or tpcc, or a file such as mix.toml (docs/stress.md),
    /// instead of -Q and -i
    #[arg(long, value_name = "NAME", conflicts_with_all = ["query", "input"])]
    workload: Option<String>,
    /// Number of warehouses of tpcc's tables; default 1
    #[arg(long, value_name = "N", requires = "workload")]
    warehouses: Option<u32>,
    /// Recreates the workload's tables in the database first, with its setup script
    #[arg(long, requires = "workload")]
    setup: bool,
    /// Connections for each input
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    connections: usize,
    /// Iterations of each connection; without it the run lasts 10 s
    #[arg(short = 'r', long, value_name = "N")]
    iterations: Option<u64>,
    /// Length of the run: seconds, or with ms, s, m
    #[arg(long, value_name = "TIME", value_parser = server::options::parse_duration)]
    duration: Option<Duration>,
    /// Requests per second at fixed times (an open loop): waiting because the server stalls counts
    /// as latency
    #[arg(long, value_name = "N", conflicts_with_all = ["think", "iterations"])]
    rate: Option<f64>,
    /// One run for each of these numbers of connections, such as 1,2,4,8
    #[arg(long, value_name = "N,N", value_delimiter = ',', conflicts_with = "connections")]
    sweep: Vec<usize>,
    /// Time between an answer and the next request
    #[arg(long, value_name = "TIME", value_parser = server::options::parse_duration)]
    think: Option<Duration>,
    /// What happens to a connection between iterations
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    pool: PoolName,
    /// Load before the measured run: a time, or until-steady
    #[arg(long, value_name = "TIME")]
    warmup: Option<String>,
    /// Encryption: off, on (TLS in TDS) or strict (TDS 8.0); default on, or off to this machine.
    /// Certificates are not checked
    #[arg(long, value_name = "HOW")]
    pub(crate) encrypt: Option<EncryptName>,
    /// Seconds that a login may take
    #[arg(short = 'l', long, value_name = "SECONDS", default_value_t = 15)]
    login_timeout: u64,
    /// Seconds that a request may take before it is cancelled; 0 for no limit
    #[arg(short = 't', long, value_name = "SECONDS", default_value_t = 0)]
    query_timeout: u64,
    /// How often a request is repeated after an error that allows it (1205, 41302 ...); default 0,
    /// and 20 for tpcc
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Stop at the first error
    #[arg(short = 'b', long)]
    stop_on_error: bool,
    /// Print no progress messages
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
    /// Folder for report.txt and report.json
    #[arg(short = 'o', long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Threads of this tool, or of each agent, that share the connections
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) threads: usize,
    /// Other processes that generate the load, such as 10.0.0.5:7433,10.0.0.6:7433: they share the
    /// connections and the rate
    #[arg(long, value_name = "HOST:PORT,..", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Serve as such a process: listen on this address (a port without a host is on this machine
    /// only), and generate the load that a coordinator with the same token asks for
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["server", "user", "database", "query", "input", "workload",
        "setup", "connections", "iterations", "duration", "rate", "sweep", "think", "pool", "warmup", "encrypt",
        "login_timeout", "query_timeout", "retries", "stop_on_error", "output", "threads", "html", "json", "agents"])]
    pub(crate) agent: Option<String>,
    /// File with the agents' token; else CLEARWAY_AGENT_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_token_file: Option<PathBuf>,
    /// File for the report as HTML, with charts and the server's counters, without external
    /// resources
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// File for the report as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PoolName {
    /// Nothing happens to it
    Keep,
    /// It is reset with the next request
    Reset,
    /// It is closed and reopened
    Reconnect,
}

/// How much is encrypted, as on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EncryptName {
    Off,
    On,
    Strict,
}

impl EncryptName {
    pub(crate) fn mode(self) -> Encrypt {
        match self {
            Self::Off => Encrypt::Off,
            Self::On => Encrypt::On,
            Self::Strict => Encrypt::Strict,
        }
    }
}

/// Runs the verb. Errors of requests are in the report; an error that prevents the run is a line.
pub(crate) fn run(arguments: &StressArguments) -> ExitCode {
    if let Some(address) = &arguments.agent {
        return agents::serve(arguments, address);
    }
    let plan = match Plan::of(arguments) {
        Ok(plan) => plan,
        Err(what) => return wrong_usage(&what),
    };
    match put_load(arguments, &plan) {
        Ok(has_stopped_on_error) if has_stopped_on_error => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// The arguments after all checks.
pub(crate) struct Plan {
    pub(crate) target: Target,
    pub(crate) source: Source,
    pub(crate) work: Arc<Work>,
    work_name: String,
    /// Batches before and after the run, on one connection.
    setup: Vec<String>,
    teardown: Vec<String>,
    pub(crate) settings: Settings,
    duration: Option<Duration>,
    levels: Vec<usize>,
    warmup: Warmup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warmup {
    None,
    For(Duration),
    UntilSteady,
}

impl Plan {
    fn of(arguments: &StressArguments) -> Result<Self, String> {
        let address = load::address::resolve(&arguments.server)?;
        let (source, name) = source(arguments)?;
        let Prepared { work, setup, teardown, inputs } =
            source.prepare().map_err(|why| match &source {
                Source::File(_) => wrong_workload(&name, &why),
                Source::Scripts(_) | Source::Known(_) => why,
            })?;
        let pool = match arguments.pool {
            PoolName::Keep => Pool::Keep,
            PoolName::Reset => Pool::Reset,
            PoolName::Reconnect => Pool::Reconnect,
        };
        let pace = match arguments.rate {
            Some(rate) if rate > 0.0 && rate.is_finite() => Pace::Open { rate },
            Some(rate) => {
                return Err(format!("invalid value '{rate}' for '--rate': it must be above 0"));
            }
            None => Pace::Closed { think: arguments.think.unwrap_or_default() },
        };
        let levels = match arguments.sweep.as_slice() {
            [] => vec![arguments.connections],
            levels => levels.to_vec(),
        };
        if arguments.threads == 0 {
            return Err("invalid value '0' for '--threads': it must be at least 1".to_owned());
        }
        if levels.contains(&0) {
            return Err("a load has at least one connection".to_owned());
        }
        let seconds = |count| Duration::from_secs(count);
        let timeout = arguments.query_timeout;
        let encrypt = arguments.encrypt.map(EncryptName::mode);
        let encrypt = load::address::encryption(encrypt, &address);
        Ok(Self {
            target: Target { address, login: login(arguments)?, encrypt },
            work: Arc::new(if pool == Pool::Reset { work.with_reset() } else { work }),
            work_name: name,
            setup,
            teardown,
            settings: Settings {
                connections: 0,
                pace,
                pool,
                iterations: arguments.iterations,
                login_timeout: seconds(arguments.login_timeout.max(1)),
                query_timeout: (timeout > 0).then(|| seconds(timeout)),
                retries: arguments.retries.unwrap_or(source.retries()),
                stop_on_error: arguments.stop_on_error,
            },
            duration: match (arguments.duration, arguments.iterations) {
                (None, None) => Some(DURATION_DEFAULT),
                (duration, _) => duration,
            },
            levels: levels.iter().map(|count| count * inputs).collect(),
            warmup: warmup(arguments.warmup.as_deref())?,
            source,
        })
    }
}

fn login(arguments: &StressArguments) -> Result<Login, String> {
    let password = password(arguments)?;
    Ok(Login { user: arguments.user.clone(), password, database: arguments.database.clone() })
}

/// Returns the password for the login.
pub(crate) fn password(arguments: &StressArguments) -> Result<String, String> {
    match &arguments.password {
        Some(password) => Ok(password.clone()),
        None => std::env::var(PASSWORD_VARIABLE)
            .map_err(|_| format!("no password: -P or {PASSWORD_VARIABLE}")),
    }
}

fn warmup(text: Option<&str>) -> Result<Warmup, String> {
    match text {
        None => Ok(Warmup::None),
        Some("until-steady") => Ok(Warmup::UntilSteady),
        Some(text) => server::options::parse_duration(text).map(Warmup::For).map_err(|why| {
            format!("invalid value '{text}' for '--warmup': {why}, or until-steady")
        }),
    }
}

/// Returns the source of the requests, and its name.
fn source(arguments: &StressArguments) -> Result<(Source, String), String> {
    let Some(name) = arguments.workload.clone() else {
        // The parser drops a required argument when that conflicts with another one.
        if arguments.setup || arguments.warehouses.is_some() {
            return Err("--setup and --warehouses are for a --workload".to_owned());
        }
        return Ok((Source::Scripts(scripts(arguments)?), "SQL text".to_owned()));
    };
    if let Some(known) = Workload::ALL.into_iter().find(|known| known.name() == name) {
        let known = match (known, arguments.warehouses) {
            (known, None) => known,
            (Workload::Tpcc { .. }, Some(warehouses @ 1..=WAREHOUSES_MAX)) => {
                Workload::Tpcc { warehouses }
            }
            (Workload::Tpcc { .. }, Some(wrong)) => {
                return Err(format!(
                    "invalid value '{wrong}' for '--warehouses': it takes 1 to {WAREHOUSES_MAX}"
                ));
            }
            (_, Some(_)) => return Err("--warehouses is for the workload tpcc".to_owned()),
        };
        return Ok((Source::Known(known), name));
    }
    if Path::new(&name).extension().is_none_or(|extension| extension != "toml") {
        let known: Vec<_> = Workload::ALL.iter().map(|known| known.name()).collect();
        let why = format!("expected {}, or a .toml file", known.join(", "));
        return Err(wrong_workload(&name, &why));
    }
    if arguments.warehouses.is_some() {
        return Err("--warehouses is for the workload tpcc".to_owned());
    }
    let text = std::fs::read_to_string(&name)
        .map_err(|error| wrong_workload(&name, &error.to_string()))?;
    Ok((Source::File(text), name))
}

fn wrong_workload(name: &str, why: &str) -> String {
    format!("invalid value '{name}' for '--workload': {why}")
}

fn scripts(arguments: &StressArguments) -> Result<Vec<(String, String)>, String> {
    let mut scripts = Vec::new();
    if let Some(text) = &arguments.query {
        scripts.push(("-Q".to_owned(), text.clone()));
    }
    for pattern in &arguments.input {
        for path in files(pattern)? {
            let name = path.display().to_string();
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
            // Editors on Windows put a byte order mark there, which is not part of the script.
            scripts.push((name, text.trim_start_matches('\u{feff}').to_owned()));
        }
    }
    match scripts.is_empty() {
        true => Err("nothing to send: -Q, -i or --workload".to_owned()),
        false => Ok(scripts),
    }
}

/// Returns the files that match a name or a pattern, in order. Only the last part may contain `*`
/// and `?`.
fn files(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let path = Path::new(pattern);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !name.contains(['*', '?']) {
        return Ok(vec![path.to_owned()]);
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
        if entry.file_name().to_str().is_some_and(|file| matches(name.as_bytes(), file.as_bytes()))
        {
            found.push(entry.path());
        }
    }
    found.sort();
    if found.is_empty() { Err(format!("no file matches {pattern}")) } else { Ok(found) }
}

/// Returns whether a name matches a pattern of `*` and `?`.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches(rest, name)
                || name.split_first().is_some_and(|(_, later)| matches(pattern, later))
        }
        (Some((b'?', rest)), Some((_, later))) => matches(rest, later),
        (Some((a, rest)), Some((b, later))) => a == b && matches(rest, later),
        _ => false,
    }
}

/// The generator of the load: this process, or agents.
enum Hands {
    Own(Option<Fleet>),
    Agents(Crew),
}

impl Hands {
    fn of(arguments: &StressArguments, plan: &Plan) -> Result<Self, String> {
        match arguments.agents.is_empty() {
            true => Ok(Self::Own(None)),
            false => agents::gather(arguments, plan).map(Self::Agents),
        }
    }

    /// Logs `connections` connections in.
    fn connect(
        &mut self,
        arguments: &StressArguments,
        plan: &Plan,
        connections: usize,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        match self {
            Self::Own(own) => {
                // The connections of the previous level are closed first.
                *own = None;
                let settings = Settings { connections, ..plan.settings.clone() };
                let fleet = Fleet::new(&plan.target, &plan.work, &settings, arguments.threads)?;
                own.insert(fleet).connect(is_cut)
            }
            Self::Agents(crew) => crew.connect(connections, is_cut),
        }
    }

    fn run(
        &mut self,
        duration: Option<Duration>,
        each_second: impl FnMut(&Second) -> bool,
        is_cut: impl Fn() -> bool,
    ) -> Result<Tally, String> {
        match self {
            Self::Own(Some(fleet)) => fleet.run(duration, each_second, is_cut),
            Self::Own(None) => Err("no connection is open".to_owned()),
            Self::Agents(crew) => crew.run(duration, each_second, is_cut),
        }
    }

    /// Returns what went wrong with an agent, if anything.
    fn trouble(&self) -> Option<String> {
        match self {
            Self::Own(_) => None,
            Self::Agents(crew) => crew.trouble().map(str::to_owned),
        }
    }
}

/// Runs every level and writes the report; returns whether an error has stopped it.
fn put_load(arguments: &StressArguments, plan: &Plan) -> Result<bool, String> {
    sos::sys::raise_open_files();
    // Until there is something to report, Ctrl-C ends the process at once.
    if arguments.setup {
        send_all(plan, &plan.setup, "--setup")?;
    }
    let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    let asked_to_stop = || signals.came().unwrap_or(false);
    let mut hands = Hands::of(arguments, plan)?;
    let mut report = Report {
        facts: facts(arguments, plan),
        work: &plan.work,
        is_open: matches!(plan.settings.pace, Pace::Open { .. }),
        levels: Vec::new(),
    };
    let mut has_stopped = false;
    let mut failed = None;
    for &connections in &plan.levels {
        match put_level(arguments, plan, &mut hands, connections, &asked_to_stop) {
            Ok(level) => {
                has_stopped = arguments.stop_on_error && level.tally.troubles() > 0;
                report.levels.push(level);
                failed = hands.trouble();
            }
            // The results of the levels before are not lost.
            Err(why) => failed = Some(why),
        }
        if failed.is_some() || has_stopped || asked_to_stop() {
            break;
        }
    }
    if report.levels.is_empty()
        && let Some(why) = failed
    {
        return Err(why);
    }
    write_report(arguments, &report)?;
    send_all(plan, &plan.teardown, "teardown")?;
    let is_missing =
        |level: &Level| MISSING.iter().any(|number| level.tally.errors.contains_key(number));
    let mut nothing = nothing_worked(&report).filter(|_| !has_stopped);
    if !arguments.setup && !plan.setup.is_empty() && report.levels.iter().any(is_missing) {
        let hint = format!(
            "the tables or procedures of {} are not in the database: --setup creates them",
            plan.work_name
        );
        match &mut nothing {
            Some(why) => *why = hint,
            None => eprintln!("{hint}"),
        }
    }
    failed.or(nothing).map_or(Ok(has_stopped), Err)
}

/// Returns what went wrong first, if no request succeeded.
fn nothing_worked(report: &Report<'_>) -> Option<String> {
    let tallies = || report.levels.iter().map(|level| &level.tally);
    let troubles = tallies().map(Tally::troubles).sum::<u64>();
    let is_good = |tally: &Tally| tally.requests() > tally.failed;
    if troubles == 0 || tallies().any(is_good) {
        return None;
    }
    let errors = tallies().flat_map(|tally| &tally.error_texts);
    let mut whys = errors.map(|(number, text)| format!("error {number}: {text}"));
    let faults = tallies().flat_map(|tally| tally.faults.keys().cloned());
    let why = whys.next().or_else(|| faults.into_iter().next());
    Some(format!(
        "no request succeeded: {}",
        why.as_deref().unwrap_or("every request took too long")
    ))
}

/// Runs one level; returns its result.
fn put_level(
    arguments: &StressArguments,
    plan: &Plan,
    hands: &mut Hands,
    connections: usize,
    asked_to_stop: &dyn Fn() -> bool,
) -> Result<Level, String> {
    hands.connect(arguments, plan, connections, asked_to_stop)?;
    warm_up(hands, plan.warmup, asked_to_stop)?;
    if let Some(why) = hands.trouble() {
        return Err(why);
    }
    let tell = |second: &Second| {
        if !arguments.quiet {
            progress(connections, second);
        }
        true
    };
    // Without permission to read the server's counters, the load still runs.
    let mut books = Asker::connect(&plan.target, BOOKS_PATIENCE).ok();
    let before = books.as_mut().map(Counters::read);
    let tally = hands.run(plan.duration, tell, asked_to_stop)?;
    let after = books.as_mut().map(Counters::read);
    let server = before.zip(after).map(|(before, after)| after.since(&before));
    Ok(Level { connections, tally, server })
}

/// Sends batches on one connection, one after the other.
fn send_all(plan: &Plan, batches: &[String], what: &str) -> Result<(), String> {
    if batches.is_empty() {
        return Ok(());
    }
    let named = |why: String| format!("{what}: {why}");
    let mut asker = Asker::connect(&plan.target, SETUP_PATIENCE).map_err(named)?;
    batches.iter().try_for_each(|text| asker.ask(text).map(drop).map_err(named))
}

fn warm_up(
    hands: &mut Hands,
    warmup: Warmup,
    asked_to_stop: impl Fn() -> bool,
) -> Result<(), String> {
    let mut rates: Vec<f64> = Vec::new();
    match warmup {
        Warmup::None => {}
        Warmup::For(duration) => drop(hands.run(Some(duration), |_| true, asked_to_stop)?),
        Warmup::UntilSteady => {
            let is_unsteady = |second: &Second| {
                rates.push(second.rate());
                !is_steady(&rates)
            };
            drop(hands.run(Some(STEADY_MAX), is_unsteady, asked_to_stop)?);
        }
    }
    Ok(())
}

/// Returns whether the last seconds had nearly the same rate.
fn is_steady(rates: &[f64]) -> bool {
    let Some(last) = rates.len().checked_sub(STEADY_SECONDS).map(|from| &rates[from..]) else {
        return false;
    };
    let low = last.iter().copied().fold(f64::INFINITY, f64::min);
    let high = last.iter().copied().fold(0.0, f64::max);
    high - low <= high * STEADY_SHARE
}

fn progress(connections: usize, second: &Second) {
    let ms = |ns| f64::from(u32::try_from(ns / 1_000).unwrap_or(u32::MAX)) / 1e3;
    // A closed stderr does not end a run.
    let _ = writeln!(
        std::io::stderr(),
        "{:>6.0} s  {connections} connections  {:>9.0}/s  p50 {:.3} ms  p99 {:.3} ms  errors {}",
        Duration::from_nanos(second.at_ns).as_secs_f64(),
        second.rate(),
        ms(second.p50_ns),
        ms(second.p99_ns),
        second.errors
    );
}

fn facts(arguments: &StressArguments, plan: &Plan) -> Vec<(String, String)> {
    let pace = match plan.settings.pace {
        Pace::Closed { think } => format!("closed loop, {} ms between", think.as_millis()),
        Pace::Open { rate } => format!("open loop, {rate} requests/s"),
    };
    let encrypt = match plan.target.encrypt {
        Encrypt::Off => "none",
        Encrypt::On => "TLS in TDS",
        Encrypt::Strict => "TDS 8.0",
    };
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let work = match plan.source {
        Source::Known(Workload::Tpcc { warehouses }) => {
            format!("{}, {warehouses} warehouses", plan.work_name)
        }
        Source::Known(_) | Source::Scripts(_) | Source::File(_) => plan.work_name.clone(),
    };
    let mut facts = vec![
        fact("server", format!("{} ({})", arguments.server, plan.target.address)),
        fact("work", work),
        fact("threads", arguments.threads.to_string()),
        fact("pace", pace),
        fact("pool", format!("{:?}", arguments.pool).to_lowercase()),
        fact("encryption", encrypt.to_owned()),
    ];
    if !arguments.agents.is_empty() {
        facts.push(fact("agents", arguments.agents.join(", ")));
    }
    facts
}

/// Writes the report to stdout and to the files asked for.
fn write_report(arguments: &StressArguments, report: &Report<'_>) -> Result<(), String> {
    let (text, json) = (report.text(), report.json());
    // A closed stdout must not lose the files.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    if let Some(folder) = &arguments.output {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        write(&folder.join("report.txt"), &text)?;
        write(&folder.join("report.json"), &json)?;
    }
    if let Some(path) = &arguments.html {
        write(path, &report.html())?;
    }
    arguments.json.as_deref().map_or(Ok(()), |path| write(path, &json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        for (pattern, name, fits) in [
            ("*.sql", "a.sql", true),
            ("*.sql", "a.sqlx", false),
            ("q?.sql", "q1.sql", true),
            ("q?.sql", "q12.sql", false),
            ("*a*b*", "xaxbx", true),
            ("*a*b*", "xbxax", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn steady_is_three_seconds_alike() {
        assert!(!is_steady(&[100.0, 100.0]));
        assert!(!is_steady(&[50.0, 100.0, 101.0]));
        assert!(is_steady(&[50.0, 100.0, 101.0, 99.0]));
    }
}
