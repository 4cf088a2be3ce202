//! The verb `diagnose`: looks at a server for some seconds, and says what is wrong with it.
//!
//! Exit codes: 0 if there is a verdict (also "nothing is wrong"), 1 if the server cannot be used or
//! a file cannot be written, 2 if the arguments are wrong, 3 if the readings support no verdict.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::diagnose::Settings;
use clap::Args;
use load::Login;
use load::link::Target;
use sos::sys::StopSignals;
use verdict::{Outcome, Verdict, report};

use crate::stress::EncryptName;
use crate::wrong_usage;

/// The environment variable in which sqlcmd looks for a password.
const PASSWORD_VARIABLE: &str = "SQLCMDPASSWORD";
/// The exit code where the readings support no verdict.
const EXIT_ABSTAINED: u8 = 3;
/// The shortest and longest look.
const LENGTH: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(600);

/// Arguments of the verb `diagnose`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct DiagnoseArguments {
    /// Server: host, host,port or tcp:host,port
    #[arg(short = 'S', long, value_name = "SERVER", default_value = "127.0.0.1")]
    server: String,
    /// Login; it needs the permission VIEW SERVER STATE
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    user: String,
    /// The login's password; else SQLCMDPASSWORD
    #[arg(short = 'P', long, value_name = "PASSWORD")]
    password: Option<String>,
    /// How long to look
    #[arg(long, value_name = "TIME", default_value = "10",
        value_parser = server::options::parse_duration)]
    seconds: Duration,
    /// Tests the suspicion: injects small delays for about 20 s; needs ALTER SERVER STATE
    #[arg(long)]
    confirm: bool,
    /// Also writes the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also writes the report as one HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Encryption: off, on (TLS in TDS) or strict (TDS 8.0); default on, or off to this machine.
    /// Certificates are not checked
    #[arg(short = 'N', long, value_name = "HOW")]
    encrypt: Option<EncryptName>,
    /// Trust the server's certificate, as sqlcmd's -C; this is done in any case
    #[arg(short = 'C', long = "trust-server-certificate")]
    _trust: bool,
    /// Seconds that the login and each answer may take
    #[arg(short = 'l', long, value_name = "SECONDS", default_value_t = 15)]
    login_timeout: u64,
    /// Print no report, for the files alone
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &DiagnoseArguments) -> ExitCode {
    let settings = match settings(arguments) {
        Ok(settings) => settings,
        Err(what) => return wrong_usage(&what),
    };
    match look(arguments, &settings) {
        Ok(verdict) if verdict.outcome == Outcome::Abstained => ExitCode::from(EXIT_ABSTAINED),
        Ok(_) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::FAILURE
        }
    }
}

fn look(arguments: &DiagnoseArguments, settings: &Settings) -> Result<Verdict, String> {
    // A file that cannot be written must not cost a look.
    let json = arguments.json.as_ref().map(Output::open).transpose()?;
    let html = arguments.html.as_ref().map(Output::open).transpose()?;
    let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    // Ctrl-C ends the look early; the verdict is of what was seen.
    let verdict = ::diagnose::run(settings, |time| !signals.came_within(time).unwrap_or(false))?;
    if !arguments.quiet {
        // A closed stdout needs no text.
        let _ = std::io::stdout().lock().write_all(report::text(&verdict).as_bytes());
    }
    json.map_or(Ok(()), |file| file.write(&report::json(&verdict)))?;
    html.map_or(Ok(()), |file| file.write(&report::html(&verdict)))?;
    Ok(verdict)
}

/// A report's file, opened before the look. One that was made for it goes if there is no report.
struct Output {
    path: PathBuf,
    file: File,
    /// Whether the file was made just now, and has no report yet.
    is_made: bool,
}

impl Output {
    fn open(path: &PathBuf) -> Result<Self, String> {
        let new = OpenOptions::new().write(true).create_new(true).open(path);
        let is_made = new.is_ok();
        // What a file that is there has is kept until there is a report.
        let file =
            new.or_else(|_| OpenOptions::new().write(true).create(true).truncate(false).open(path));
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path: path.clone(), file, is_made })
    }

    fn write(mut self, report: &str) -> Result<(), String> {
        self.is_made = false;
        let is_device = self.file.metadata().is_ok_and(|data| !data.is_file());
        let emptied = if is_device { Ok(()) } else { self.file.set_len(0) };
        let written = emptied.and_then(|()| self.file.write_all(report.as_bytes()));
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_made {
            // It may have gone already.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn settings(arguments: &DiagnoseArguments) -> Result<Settings, String> {
    if !LENGTH.contains(&arguments.seconds) {
        return Err("invalid value for '--seconds': it takes 1 to 600 s".to_owned());
    }
    let address = load::address::resolve(&arguments.server)?;
    let password = match &arguments.password {
        Some(password) => password.clone(),
        None => std::env::var(PASSWORD_VARIABLE)
            .map_err(|_| format!("no password: -P or {PASSWORD_VARIABLE}"))?,
    };
    let encrypt = load::address::encryption(arguments.encrypt.map(EncryptName::mode), &address);
    let login = Login { user: arguments.user.clone(), password, database: String::new() };
    Ok(Settings {
        server: arguments.server.clone(),
        target: Target { address, login, encrypt },
        patience: Duration::from_secs(arguments.login_timeout.max(1)),
        length: arguments.seconds,
        confirm: arguments.confirm,
    })
}
