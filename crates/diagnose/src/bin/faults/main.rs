//! The harness of faults: makes each fault beside a healthy load, asks `clearway diagnose` what is
//! wrong, and scores the answers. `make faults` runs it and writes the table of docs/diagnose.md.
//!
//! ```text
//! faults [--binary FILE] [--runs N] [--healthy N] [--seconds N] [--only NAME] [--confirm]
//!        [--page FILE] [--reports FOLDER]
//! ```

#![expect(clippy::print_stdout, reason = "a program whose output is its report")]

mod list;
mod run;
mod score;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use list::{Fault, NAMES, Severity};
use run::{Bench, Load, Seen};
use score::Scored;

/// The five workloads, and how they are driven: with pauses, so that the server is not at its
/// limit, and as fast as it goes.
const LOADS: [Load; 6] = [
    Load { workload: "cache", connections: 4, think: Some("4ms") },
    Load { workload: "session-state", connections: 4, think: Some("4ms") },
    Load { workload: "counter", connections: 4, think: Some("4ms") },
    Load { workload: "queue", connections: 4, think: Some("4ms") },
    Load { workload: "cache", connections: 3, think: None },
    Load { workload: "tpcc", connections: 3, think: Some("10ms") },
];

/// What the command line asks for.
struct Arguments {
    binary: PathBuf,
    runs: usize,
    healthy: usize,
    seconds: u64,
    only: Vec<String>,
    confirm: bool,
    page: Option<PathBuf>,
    reports: Option<PathBuf>,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| measure(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("faults: {what}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Arguments, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut arguments = Arguments {
        binary: own.with_file_name("clearway"),
        runs: 1,
        healthy: 6,
        seconds: 6,
        only: Vec::new(),
        confirm: false,
        page: None,
        reports: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--confirm" {
            arguments.confirm = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} takes a value"))?;
        let number = || value.parse().map_err(|_| format!("{word} takes a number"));
        match word.as_str() {
            "--binary" => arguments.binary = value.into(),
            "--runs" => arguments.runs = number()?,
            "--healthy" => arguments.healthy = number()?,
            "--seconds" => arguments.seconds = number()? as u64,
            "--only" => arguments.only.push(value),
            "--page" => arguments.page = Some(value.into()),
            "--reports" => arguments.reports = Some(value.into()),
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    Ok(arguments)
}

fn measure(arguments: &Arguments) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("clearway-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bench = Bench {
        binary: arguments.binary.clone(),
        folder: folder.clone(),
        length: Duration::from_secs(arguments.seconds),
        confirm: arguments.confirm,
    };
    let mut scored = Vec::new();
    for (place, (fault, severity)) in plan(arguments).into_iter().enumerate() {
        let load = match severity {
            // Setting tpcc up takes longer than a run: healthy runs are enough for it.
            Some(_) => LOADS[place % 4],
            None => LOADS[place % LOADS.len()],
        };
        match bench.run(&fault, load) {
            Ok(seen) => scored.push(report(arguments, fault, severity, (load, seen))?),
            Err(why) => eprintln!("{} {}: no run: {why}", fault.name, label(severity)),
        }
    }
    // Nothing depends on the scripts any more.
    let _ = std::fs::remove_dir_all(&folder);
    let how = format!(
        "{} runs of {} s each, {} CPUs, load average {} at the end; {} build.",
        scored.len(),
        arguments.seconds,
        sos::sys::allowed_cpus().len(),
        load_average(),
        if cfg!(debug_assertions) { "debug" } else { "release" }
    );
    let section = score::section(&scored, &how);
    println!("{section}");
    match &arguments.page {
        Some(page) => load::page::put_section(page, "## How often it is right", &section),
        None => Ok(()),
    }
}

/// The runs, healthy ones first.
fn plan(arguments: &Arguments) -> Vec<(Fault, Option<Severity>)> {
    let mut plan: Vec<_> = (0..arguments.healthy).map(|_| (list::healthy(), None)).collect();
    let is_wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    for _ in 0..arguments.runs {
        for severity in Severity::ALL {
            let faults = NAMES.iter().filter(|name| is_wanted(name));
            plan.extend(
                faults.filter_map(|name| Some((list::make(name, severity)?, Some(severity)))),
            );
        }
    }
    plan
}

/// Prints a line for a run, and keeps its report.
fn report(
    arguments: &Arguments,
    fault: Fault,
    severity: Option<Severity>,
    (load, Seen { verdict, others }): (Load, Seen),
) -> Result<Scored, String> {
    println!(
        "{} {} beside {}, other processes {:.0} %: {}: {}",
        fault.name,
        label(severity),
        load.workload,
        others * 100.0,
        score::said(verdict.outcome),
        verdict.sentence
    );
    if let Some(folder) = &arguments.reports {
        let name = format!("{}-{}-{}.txt", fault.name, label(severity), load.workload);
        let text = verdict::report::text(&verdict);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(folder.join(name), text))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(Scored { fault: fault.name, severity, cause: fault.cause, verdict, others })
}

fn label(severity: Option<Severity>) -> &'static str {
    severity.map_or("run", Severity::name)
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("").to_owned()
}
