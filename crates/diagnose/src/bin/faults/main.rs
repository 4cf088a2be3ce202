//! The harness of faults: makes each fault beside a healthy load, asks `clearway diagnose` what is
//! wrong, and scores the answers. `make faults` runs it and writes the table of docs/diagnose.md.
//!
//! ```text
//! faults [--binary FILE] [--runs N] [--healthy N] [--seconds N] [--only NAME] [--severity NAME]
//!        [--confirm] [--records FILE] [--page FILE] [--reports FOLDER]
//! ```
//!
//! With `--records` each run is added to a file, and all runs of the file are scored: so a machine
//! can be used in pieces.

#![expect(clippy::print_stdout, reason = "a program whose output is its report")]

mod classes;
mod control_group;
mod list;
mod proxy;
mod record;
mod run;
mod score;
mod stuck;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use list::{Fault, HEALTHY, NAMES, Severity};
use record::Run;
use run::{Bench, Load, Seen};

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
    severities: Vec<Severity>,
    confirm: bool,
    records: Option<PathBuf>,
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
        healthy: 0,
        seconds: 6,
        only: Vec::new(),
        severities: Vec::new(),
        confirm: false,
        records: None,
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
            "--only" if value != HEALTHY && !NAMES.contains(&value.as_str()) => {
                return Err(format!("there is no fault {value}; there are {}", NAMES.join(", ")));
            }
            "--only" => arguments.only.push(value),
            "--severity" => {
                let severity = Severity::from_name(&value);
                arguments.severities.push(severity.ok_or("a severity is low, medium or high")?);
            }
            "--records" => arguments.records = Some(value.into()),
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
    let mut runs = match &arguments.records {
        Some(file) => Run::read(file)?,
        None => Vec::new(),
    };
    let mut not_made = Vec::new();
    for (fault, severity) in plan(arguments) {
        let load = fault.load.unwrap_or_else(|| load_of(&fault, severity, &runs));
        match bench.run(&fault, load) {
            Ok(seen) => {
                let run = report(arguments, &fault, severity, (load, &seen))?;
                if let Some(file) = &arguments.records {
                    run.append(file)?;
                }
                runs.push(run);
            }
            Err(why) => {
                println!("{} {}: no run: {why}", fault.name, label(severity));
                not_made.push(format!("{} {} ({why})", fault.name, label(severity)));
            }
        }
    }
    // Nothing depends on the scripts any more.
    let _ = std::fs::remove_dir_all(&folder);
    let mut how = format!(
        "{} runs of {} s each, {} CPUs, load average {} at the end; {} build of the server.",
        runs.len(),
        arguments.seconds,
        sos::sys::allowed_cpus().len(),
        load_average(),
        build(&arguments.binary)
    );
    if !not_made.is_empty() {
        how += &format!(" Not made: {}.", not_made.join("; "));
    }
    let section = score::section(&runs, &how);
    println!("{section}");
    match &arguments.page {
        Some(page) => load::page::put_section(page, "## How often it is right", &section),
        None => Ok(()),
    }
}

/// The name of a build, which is that of its folder: `target/release/clearway`.
fn build(binary: &Path) -> &str {
    let folder = binary.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    folder.unwrap_or("unknown")
}

/// Another load for each run of a fault of a severity, and for faults that follow each other.
fn load_of(fault: &Fault, severity: Option<Severity>, runs: &[Run]) -> Load {
    let is_same = |run: &&Run| run.fault == fault.name && run.severity == severity;
    let earlier = runs.iter().filter(is_same).count();
    let place = NAMES.iter().position(|name| *name == fault.name).unwrap_or(0);
    match severity {
        // Setting tpcc up takes longer than a run: healthy runs are enough for it.
        Some(severity) => LOADS[(place + earlier + severity as usize) % 4],
        None => LOADS[earlier % LOADS.len()],
    }
}

/// The runs, healthy ones first.
fn plan(arguments: &Arguments) -> Vec<(Fault, Option<Severity>)> {
    let mut plan: Vec<_> = (0..arguments.healthy).map(|_| (Fault::default(), None)).collect();
    let is_wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let severities = match arguments.severities.as_slice() {
        [] => &Severity::ALL[..],
        some => some,
    };
    for _ in 0..arguments.runs {
        for severity in severities {
            let faults = NAMES.iter().filter(|name| is_wanted(name));
            plan.extend(
                faults.filter_map(|name| Some((list::make(name, *severity)?, Some(*severity)))),
            );
        }
    }
    plan
}

/// Prints a line for a run, keeps its report, and returns what is scored.
fn report(
    arguments: &Arguments,
    fault: &Fault,
    severity: Option<Severity>,
    (load, seen): (Load, &Seen),
) -> Result<Run, String> {
    let Seen { verdict, others, seconds } = seen;
    let said = score::said(verdict);
    let window = &verdict.window;
    let parts = window.parts.iter();
    let run = Run {
        fault: fault.name.to_owned(),
        severity,
        right: fault.right.iter().map(|right| (*right).to_owned()).collect(),
        said: said.to_owned(),
        largest_wait: score::largest_wait(verdict).to_owned(),
        others: *others,
        cost: window.own / window.schedulers.max(1.0),
        seconds: *seconds,
        parts: parts.map(|part| (part.category, part.name.clone(), part.active)).collect(),
    };
    println!(
        "{}: {} {} beside {}, other processes {:.0} %, {seconds:.1} s: {said}: {}",
        if run.is_right(said) { "right" } else { "WRONG" },
        fault.name,
        label(severity),
        load.workload,
        others * 100.0,
        verdict.sentence
    );
    if let Some(folder) = &arguments.reports {
        let name = format!("{}-{}-{}.txt", fault.name, label(severity), load.workload);
        let text = verdict::report::text(verdict);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(folder.join(name), text))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(run)
}

fn label(severity: Option<Severity>) -> &'static str {
    severity.map_or("run", Severity::name)
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("").to_owned()
}
