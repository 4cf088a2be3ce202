//! The verb `sql`: checks its arguments and runs the console.
//!
//! Exit codes: 0; 1 if -b was given and a batch failed, or if the server cannot be reached; 2 if
//! the command line is wrong; or the value of a script's `exit(query)`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use console::render::Layout;
use console::{Connect, Format, Messages, Settings, Start};

use crate::stress::EncryptName;
use crate::wrong_usage;

/// The environment variable in which sqlcmd looks for a password.
const PASSWORD_VARIABLE: &str = "SQLCMDPASSWORD";

/// Arguments of `sql`. The one-letter switches are sqlcmd's.
#[derive(Args)]
#[command(args_override_self = true, disable_help_flag = true)]
pub(crate) struct SqlArguments {
    /// Server: host, host,port or tcp:host,port
    #[arg(short = 'S', long, value_name = "SERVER", default_value = "127.0.0.1")]
    pub(super) server: String,
    /// Login on the server
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    pub(super) user: String,
    /// The login's password; else SQLCMDPASSWORD
    #[arg(short = 'P', long, value_name = "PASSWORD")]
    pub(super) password: Option<String>,
    /// Database; default the login's
    #[arg(short = 'd', long, value_name = "NAME", default_value = "")]
    pub(super) database: String,
    /// Runs this text, then ends
    #[arg(short = 'Q', value_name = "TEXT", conflicts_with_all = ["query", "input"])]
    pub(super) query_and_exit: Option<String>,
    /// Runs this text, then reads more from stdin
    #[arg(short = 'q', value_name = "TEXT", conflicts_with = "input")]
    pub(super) query: Option<String>,
    /// Files to run, one after the other
    #[arg(short = 'i', long, value_name = "FILE", value_delimiter = ',')]
    pub(super) input: Vec<PathBuf>,
    /// File for the results
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Ends at the first error, with exit code 1
    #[arg(short = 'b', long)]
    pub(super) stop_on_error: bool,
    /// The least severity that is an error for -b
    #[arg(short = 'V', long, value_name = "LEVEL", default_value_t = 11)]
    pub(super) severity: u8,
    /// Prints messages to stderr: 0 for errors, 1 for those of PRINT as well
    #[arg(short = 'r', value_name = "0|1", num_args = 0..=1, default_missing_value = "0")]
    pub(super) redirect: Option<u8>,
    /// Sets scripting variables: name=value
    #[arg(short = 'v', long, value_name = "NAME=VALUE", num_args = 1..)]
    pub(super) variable: Vec<String>,
    /// Does not replace $(name) by variables
    #[arg(short = 'x', long)]
    pub(super) no_variables: bool,
    /// Copies the input to the output
    #[arg(short = 'e', long)]
    pub(super) echo: bool,
    /// Format of results: table, plain, csv or json; default table on a terminal, else plain
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<String>,
    /// Text between two columns of plain results
    #[arg(short = 's', long, value_name = "TEXT", default_value = " ")]
    pub(super) separator: String,
    /// Removes blanks at the ends of plain columns
    #[arg(short = 'W', long)]
    pub(super) trim: bool,
    /// Rows between two lines of names in plain results: 0 for one at the top, -1 for none
    #[arg(short = 'h', long, value_name = "N", default_value_t = 0, allow_hyphen_values = true)]
    pub(super) header_rows: i32,
    /// Width limit of a plain column of variable length, in characters; 0 for none
    #[arg(short = 'y', long, value_name = "N", default_value_t = 256)]
    pub(super) variable_width: usize,
    /// Prints how long each batch took
    #[arg(long)]
    timing: bool,
    /// Encryption: off, on (TLS in TDS) or strict (TDS 8.0); default on, or off to this machine.
    /// Certificates are not checked
    #[arg(short = 'N', long, value_name = "HOW")]
    pub(super) encrypt: Option<EncryptName>,
    /// Trust the server's certificate, as sqlcmd's -C; this is done in any case
    #[arg(short = 'C', long = "trust-server-certificate")]
    _trust: bool,
    /// Seconds that a login may take; 0 for no limit
    #[arg(short = 'l', long, value_name = "SECONDS", default_value_t = 8)]
    pub(super) login_timeout: u64,
    /// Seconds that a batch may take before it is cancelled; 0 for no limit
    #[arg(short = 't', long, value_name = "SECONDS", default_value_t = 0)]
    pub(super) query_timeout: u64,
    /// Prints this help text
    #[arg(short = '?', long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &SqlArguments) -> ExitCode {
    let settings = match settings(arguments) {
        Ok(settings) => settings,
        Err(what) => return wrong_usage(&what),
    };
    match console::run(settings) {
        Ok(code) => ExitCode::from(code),
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::FAILURE
        }
    }
}

fn settings(arguments: &SqlArguments) -> Result<Settings, String> {
    let seconds = |count: u64| (count > 0).then(|| Duration::from_secs(count));
    Ok(Settings {
        connect: Connect {
            server: arguments.server.clone(),
            user: arguments.user.clone(),
            password: password(arguments)?,
            database: arguments.database.clone(),
            encrypt: arguments.encrypt.map(EncryptName::mode),
            timeout: seconds(arguments.login_timeout),
        },
        start: start(arguments),
        output: arguments.output.clone(),
        stop_on_error: arguments.stop_on_error,
        severity_min: arguments.severity,
        messages: match arguments.redirect {
            None => Messages::Output,
            Some(0) => Messages::ErrorsApart,
            Some(1) => Messages::AllApart,
            Some(other) => return Err(format!("invalid value '{other}' for '-r': 0 or 1")),
        },
        query_timeout: seconds(arguments.query_timeout),
        variables: variables(&arguments.variable)?,
        expands: !arguments.no_variables,
        echo: arguments.echo,
        format: format(arguments.format.as_deref())?,
        layout: Layout {
            separator: arguments.separator.clone(),
            trims: arguments.trim,
            header_rows: arguments.header_rows,
            variable_max: arguments.variable_width,
        },
        timing: arguments.timing,
    })
}

fn start(arguments: &SqlArguments) -> Start {
    match (&arguments.query_and_exit, &arguments.query) {
        (Some(text), _) => Start::Query(text.clone()),
        (None, Some(text)) => Start::QueryThenStdin(text.clone()),
        (None, None) if arguments.input.is_empty() => Start::Stdin,
        (None, None) => Start::Files(arguments.input.clone()),
    }
}

fn password(arguments: &SqlArguments) -> Result<String, String> {
    match &arguments.password {
        Some(password) => Ok(password.clone()),
        None => std::env::var(PASSWORD_VARIABLE)
            .map_err(|_| format!("no password: -P or {PASSWORD_VARIABLE}")),
    }
}

fn variables(list: &[String]) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &String| {
        let wrong = || format!("invalid value '{text}' for '-v': expected name=value");
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        if !console::variables::is_name(name) {
            return Err(wrong());
        }
        let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        Ok((name.to_owned(), quoted.unwrap_or(value).to_owned()))
    };
    list.iter().map(pair).collect()
}

fn format(name: Option<&str>) -> Result<Option<Format>, String> {
    let Some(name) = name else { return Ok(None) };
    let expected = "expected table, plain, csv or json";
    let wrong = || format!("invalid value '{name}' for '--format': {expected}");
    Format::of_name(name).ok_or_else(wrong).map(Some)
}
