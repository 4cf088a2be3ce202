//! The verb `top`: checks its arguments and runs the terminal program.
//!
//! Exit codes: 0 after an orderly end, 1 if the server cannot be used or the terminal failed, 2 if
//! the arguments are wrong.

use std::process::ExitCode;
use std::time::Duration;

use ::top::{Screen, Settings};
use clap::{Args, ValueEnum};
use load::Login;
use load::link::Target;

use crate::stress::EncryptName;
use crate::wrong_usage;

/// The environment variable in which sqlcmd looks for a password.
const PASSWORD_VARIABLE: &str = "SQLCMDPASSWORD";
/// The shortest interval between two refreshes.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The longest interval between two refreshes.
const INTERVAL_MAX: Duration = Duration::from_secs(3_600);

/// Arguments of the verb `top`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct TopArguments {
    /// Server: host, host,port or tcp:host,port
    #[arg(short = 'S', long, value_name = "SERVER", default_value = "127.0.0.1")]
    server: String,
    /// Login; it needs the permission VIEW SERVER STATE
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    user: String,
    /// The login's password; else SQLCMDPASSWORD
    #[arg(short = 'P', long, value_name = "PASSWORD")]
    password: Option<String>,
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
    /// Time between two refreshes
    #[arg(short = 'i', long, value_name = "TIME", default_value = "1s",
        value_parser = server::options::parse_duration)]
    interval: Duration,
    /// The screen that is shown first
    #[arg(long, value_name = "SCREEN", default_value = "time")]
    screen: ScreenName,
    /// Refreshes this often, prints the screen as text and what it cost the server, and ends
    #[arg(short = 'b', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
    /// Columns and lines of the printed screen
    #[arg(long, value_name = "CxL", default_value = "80x24", requires = "batch",
        value_parser = parse_size)]
    size: (u16, u16),
}

/// A screen by its name.
#[derive(Clone, Copy, ValueEnum)]
enum ScreenName {
    Time,
    Requests,
    Statements,
    Locks,
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &TopArguments) -> ExitCode {
    let settings = match settings(arguments) {
        Ok(settings) => settings,
        Err(what) => return wrong_usage(&what),
    };
    match ::top::run(&settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::FAILURE
        }
    }
}

fn settings(arguments: &TopArguments) -> Result<Settings, String> {
    if !(INTERVAL_MIN..=INTERVAL_MAX).contains(&arguments.interval) {
        return Err("invalid value for '--interval': it takes 100ms to 3600s".to_owned());
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
        interval_ms: u64::try_from(arguments.interval.as_millis()).unwrap_or(u64::MAX),
        screen: match arguments.screen {
            ScreenName::Time => Screen::Time,
            ScreenName::Requests => Screen::Requests,
            ScreenName::Statements => Screen::Statements,
            ScreenName::Locks => Screen::Locks,
        },
        batch: arguments.batch,
        size: arguments.size,
    })
}

/// Parses a size such as 80x24.
fn parse_size(text: &str) -> Result<(u16, u16), String> {
    let parts = text.split_once('x').and_then(|(columns, lines)| {
        Some((columns.parse::<u16>().ok()?, lines.parse::<u16>().ok()?))
    });
    let is_fine = |(columns, lines): &(u16, u16)| {
        (20..=1_000).contains(columns) && (5..=1_000).contains(lines)
    };
    parts
        .filter(is_fine)
        .ok_or_else(|| "expected columns x lines, from 20x5 to 1000x1000".to_owned())
}
