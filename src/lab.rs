//! The verb `lab`: runs the experiments one after the other, and reports.
//!
//! Exit codes: 0 if all ran, 1 if one could not, 2 if the command line is wrong.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use lab::{EXPERIMENTS, Experiment, Finding, Settings};
use sos::sys::StopSignals;

use crate::wrong_usage;

/// Arguments of the verb `lab`.
#[derive(Args)]
pub(crate) struct LabArguments {
    /// metadata-cache, connection-reset, hashbytes, columnstore-load or row-mode-aggregate; default
    /// all of them
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// Length of a turn, for a load without an end
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = server::options::parse_duration)]
    turn: Duration,
    /// Rounds of turns: old, new, new, old
    #[arg(long, value_name = "N", default_value_t = 2)]
    rounds: usize,
    /// File for the report as HTML, without external resources
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// File for the report as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print no progress messages
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// Runs the verb; returns its exit code.
pub(crate) fn run(arguments: &LabArguments) -> ExitCode {
    let chosen = match chosen(arguments) {
        Ok(chosen) => chosen,
        Err(what) => return wrong_usage(&what),
    };
    match experiment(arguments, &chosen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("clearway: {what}");
            ExitCode::FAILURE
        }
    }
}

fn chosen(arguments: &LabArguments) -> Result<Vec<&'static Experiment>, String> {
    if arguments.rounds == 0 {
        return Err("invalid value '0' for '--rounds': it must be at least 1".to_owned());
    }
    if arguments.experiments.is_empty() {
        return Ok(EXPERIMENTS.iter().collect());
    }
    let find = |name: &String| {
        let names: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        let expected = names.join(", ");
        Experiment::of_name(name)
            .ok_or_else(|| format!("there is no experiment '{name}'; there are {expected}"))
    };
    arguments.experiments.iter().map(find).collect()
}

fn experiment(arguments: &LabArguments, chosen: &[&'static Experiment]) -> Result<(), String> {
    sos::sys::raise_open_files();
    let signals = StopSignals::new().map_err(|error| format!("signals: {error}"))?;
    let is_cut = || signals.came().unwrap_or(false);
    let server = std::env::current_exe().map_err(|error| format!("the binary: {error}"))?;
    let settings = Settings { server, turn: arguments.turn, rounds: arguments.rounds };
    let mut tell = |text: &str| {
        if !arguments.quiet {
            eprintln!("{text}");
        }
    };
    let mut findings: Vec<Finding> = Vec::new();
    let mut failed = Ok(());
    for experiment in chosen {
        match lab::run(experiment, &settings, &mut tell, &is_cut) {
            Ok(finding) => {
                // A closed stdout must not lose the files.
                let _ = std::io::stdout().lock().write_all(lab::text(&finding).as_bytes());
                findings.push(finding);
            }
            Err(why) => {
                failed = Err(why);
                break;
            }
        }
    }
    let write = |path: &Option<PathBuf>, text: String| match path {
        Some(path) => write(path, &text),
        None => Ok(()),
    };
    write(&arguments.html, lab::html(&findings))?;
    write(&arguments.json, lab::json(&findings))?;
    failed
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
