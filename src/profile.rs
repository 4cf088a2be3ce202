//! The verb `profile`: reads a server's sampler, by SQL alone, and writes the profile in the format
//! that the file's name chooses.
//!
//! Exit codes: 0 if the profile was written, 2 if the arguments are wrong, the server cannot be
//! reached or has no sampler, or the file cannot be written.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use load::Login;
use load::link::Target;
use load::profile::{self, Kind, Profile, Window};
use sos::sys::StopSignals;

use crate::stress::EncryptName;
use crate::{EXIT_USAGE, wrong_usage};

/// The environment variable in which sqlcmd looks for a password.
const PASSWORD_VARIABLE: &str = "SQLCMDPASSWORD";

/// Arguments of the verb `profile`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct ProfileArguments {
    /// Server: host, host,port or tcp:host,port
    #[arg(short = 'S', long, value_name = "SERVER", default_value = "127.0.0.1")]
    server: String,
    /// Login; it needs the permission VIEW SERVER STATE
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    user: String,
    /// The login's password; else SQLCMDPASSWORD
    #[arg(short = 'P', long, value_name = "PASSWORD")]
    password: Option<String>,
    /// How long to record
    #[arg(long, value_name = "TIME", default_value = "10", conflicts_with = "all",
        value_parser = server::options::parse_duration)]
    seconds: Duration,
    /// All samples since the server's start, instead of recording
    #[arg(long)]
    all: bool,
    /// Profile waiting threads, by time, instead of running ones
    #[arg(long, conflicts_with = "allocations")]
    wait: bool,
    /// Profile memory allocations, by bytes, instead
    #[arg(long)]
    allocations: bool,
    /// File; its name chooses the format: .svg (flame graph), .folded, .pb.gz (pprof) or .json
    /// (speedscope)
    #[arg(short = 'o', long, value_name = "FILE")]
    out: PathBuf,
    /// Folded stacks of an earlier profile: the flame graph shows growth since in red, decrease in
    /// blue
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Encryption: off, on (TLS in TDS) or strict (TDS 8.0); default on, or off to this machine.
    /// Certificates are not checked
    #[arg(long, value_name = "HOW")]
    encrypt: Option<EncryptName>,
    /// Seconds that the login and each answer may take
    #[arg(short = 'l', long, value_name = "SECONDS", default_value_t = 30)]
    login_timeout: u64,
    /// Print no summary or progress
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// The format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Svg,
    Folded,
    Pprof,
    Speedscope,
}

impl Form {
    fn of(file: &Path) -> Result<Self, String> {
        let name = file.to_string_lossy().to_ascii_lowercase();
        let forms = [
            (".svg", Self::Svg),
            (".folded", Self::Folded),
            (".pb.gz", Self::Pprof),
            (".json", Self::Speedscope),
        ];
        let found = forms.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|(_, form)| *form).ok_or_else(|| {
            format!(
                "invalid value '{}' for '--out': it ends in .svg, .folded, .pb.gz or .json",
                file.display()
            )
        })
    }
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &ProfileArguments) -> ExitCode {
    let plan = match Plan::of(arguments) {
        Ok(plan) => plan,
        Err(what) => return wrong_usage(&what),
    };
    match plan.record(arguments) {
        Ok(told) => {
            if !arguments.quiet {
                eprintln!("{told}");
            }
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// The arguments after all checks.
struct Plan {
    target: Target,
    window: Window,
    form: Form,
    base: Option<std::collections::BTreeMap<String, u64>>,
}

impl Plan {
    fn of(arguments: &ProfileArguments) -> Result<Self, String> {
        let form = Form::of(&arguments.out)?;
        if arguments.base.is_some() && form != Form::Svg {
            return Err("--base is for a flame graph: --out must end in .svg".to_owned());
        }
        let base = arguments.base.as_deref().map(|file| {
            let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
            let folds = text.and_then(|text| profile::parse_folded(&text));
            folds.map_err(|error| format!("{}: {error}", file.display()))
        });
        Ok(Self {
            target: target(arguments)?,
            window: Window {
                kind: match (arguments.wait, arguments.allocations) {
                    (true, _) => Kind::Wait,
                    (false, true) => Kind::Allocation,
                    (false, false) => Kind::Cpu,
                },
                duration: (!arguments.all).then_some(arguments.seconds),
                patience: Duration::from_secs(arguments.login_timeout.max(1)),
            },
            form,
            base: base.transpose()?,
        })
    }

    /// Records and writes the profile; returns a summary.
    fn record(&self, arguments: &ProfileArguments) -> Result<String, String> {
        let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
        let began = sos::clock::utc_100ns();
        // Ctrl-C ends the recording early; the profile so far is written.
        let wait = |duration| drop(signals.came_within(duration));
        let profile = profile::record(&self.target, &self.window, wait)?;
        let bytes = self.encode(&profile, &arguments.server, began)?;
        let out = arguments.out.display();
        std::fs::write(&arguments.out, bytes).map_err(|error| format!("{out}: {error}"))?;
        Ok(summary(&profile, &out.to_string()))
    }

    fn encode(&self, profile: &Profile, server: &str, began: u64) -> Result<Vec<u8>, String> {
        let seconds = std::time::Duration::from_nanos(profile.duration_ns).as_secs_f64();
        let title = match self.window.duration {
            Some(_) => format!("{} of {server} in {seconds:.1} s", profile.kind.title()),
            None => format!("{} of {server} since its start", profile.kind.title()),
        };
        Ok(match self.form {
            Form::Folded => profile::folded(profile).into_bytes(),
            Form::Pprof => profile::pprof(profile, unix_ns(began))?,
            Form::Speedscope => profile::speedscope(profile, &title).into_bytes(),
            Form::Svg => {
                let folds = profile::parse_folded(&profile::folded(profile))?;
                let unit = profile.kind.unit();
                profile::flame_graph(&title, unit, &folds, self.base.as_ref()).into_bytes()
            }
        })
    }
}

fn target(arguments: &ProfileArguments) -> Result<Target, String> {
    let address = load::address::resolve(&arguments.server)?;
    let password = match &arguments.password {
        Some(password) => password.clone(),
        None => std::env::var(PASSWORD_VARIABLE)
            .map_err(|_| format!("no password: -P or {PASSWORD_VARIABLE}"))?,
    };
    let encrypt = load::address::encryption(arguments.encrypt.map(EncryptName::mode), &address);
    let login = Login { user: arguments.user.clone(), password, database: String::new() };
    Ok(Target { address, login, encrypt })
}

/// Converts a clock reading, 100 ns units since the year 1, to nanoseconds since 1970.
fn unix_ns(utc_100ns: u64) -> u64 {
    const UNIX_EPOCH_100NS: u64 = 719_162 * 24 * 3_600 * 10_000_000;
    utc_100ns.saturating_sub(UNIX_EPOCH_100NS) * 100
}

fn summary(profile: &Profile, out: &str) -> String {
    let count = profile.samples();
    let plural =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let resolved = profile.resolved().map_or(String::new(), |share| {
        format!("; {:.2} % of them with function, file and line throughout", share * 100.0)
    });
    let samples = plural(usize::try_from(count).unwrap_or(usize::MAX), "sample");
    format!(
        "{samples} of {} in {}{resolved}: {out}",
        profile.kind.title(),
        plural(profile.stacks.len(), "stack")
    )
}
