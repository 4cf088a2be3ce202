//! `bench locks`: compares the locks of the machine layer with std's and parking_lot's, as measured
//! by the example `locks` of `sos`, against their goals.
//!
//! The measuring program is an example of `sos` because it needs the locks' internals and a lock
//! library that the server must not depend on: `cargo build --release -p sos --example locks`.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use load::Result;

use crate::report::median;
use crate::say;

/// Arguments of `bench locks`.
#[derive(Args)]
pub(crate) struct LocksArguments {
    /// The measuring program; default examples/locks beside this one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Rounds, each of which measures every form once; default the program's own
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Milliseconds of one measurement; default the program's own
    #[arg(long, value_name = "MS")]
    ms: Option<u32>,
    /// Where to write the rows as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The most that a distributed lookup may cost on two threads, as a multiple of one thread.
const DISTRIBUTED_MAX: f64 = 1.15;
/// The least speed of the latch, as a multiple of the better of the two others.
const LATCH_MIN: f64 = 0.9;

/// Runs the measurements, prints goals and results, and writes the rows.
pub(crate) fn run(arguments: &LocksArguments) -> Result<()> {
    let mut rows = String::new();
    for what in ["lookups", "latches"] {
        rows.push_str(&measure(arguments, what)?);
    }
    say(&table(&rows));
    if let Some(path) = &arguments.json {
        let lines = rows.lines().collect::<Vec<_>>().join(",\n");
        std::fs::write(path, format!("[{lines}]\n"))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn measure(arguments: &LocksArguments, what: &str) -> Result<String> {
    let mut command = Command::new(program(arguments.program.as_ref())?);
    command.arg(what);
    for (option, value) in [("--rounds", arguments.rounds), ("--ms", arguments.ms)] {
        if let Some(value) = value {
            command.arg(option).arg(value.to_string());
        }
    }
    rows_of(&mut command)
}

/// Returns the path of the measuring program.
fn program(given: Option<&PathBuf>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path.clone(),
        None => crate::own_path()?.with_file_name("examples").join("locks"),
    };
    if path.exists() {
        return Ok(path);
    }
    let how = "build it with cargo build --release -p sos --example locks";
    Err(format!("there is no {}; {how}", path.display()))
}

/// Returns the rows of the measurement of a contended cache line.
pub(crate) fn line_rows() -> Result<String> {
    rows_of(Command::new(program(None)?).args(["line", "--rounds", "60"]))
}

fn rows_of(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("locks: {error}"))?;
    if !output.status.success() {
        return Err(format!("locks: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("locks: {error}"))
}

/// Returns a field of a row; rows are flat JSON without nested quotes.
pub(crate) fn field<'r>(row: &'r str, name: &str) -> Option<&'r str> {
    let (_, rest) = row.split_once(&format!("\"{name}\":"))?;
    let end = rest.find([',', '}'])?;
    Some(rest[..end].trim_matches('"'))
}

fn number(row: &str, name: &str) -> Option<f64> {
    field(row, name)?.parse().ok()
}

/// Returns the median of the rows of a form and number of threads.
pub(crate) fn median_of(rows: &str, bench: &str, form: &str, threads: &str) -> Option<f64> {
    let is_it = |row: &&str| {
        field(row, "bench") == Some(bench)
            && field(row, "form") == Some(form)
            && field(row, "threads") == Some(threads)
    };
    let medians: Vec<f64> =
        rows.lines().filter(is_it).filter_map(|row| number(row, "median")).collect();
    (!medians.is_empty()).then(|| median(&medians))
}

fn table(rows: &str) -> String {
    let mut text = String::new();
    for row in rows.lines() {
        let get = |name| field(row, name).unwrap_or("");
        let writes = match get("writes_percent") {
            "null" => String::new(),
            writes => format!("{writes}% writes"),
        };
        let _ = writeln!(
            text,
            "{:<8} {:<20} {:>3} threads {writes:<11} {:>10} {} ({} .. {}, {} windows)",
            get("bench"),
            get("form"),
            get("threads"),
            get("median"),
            get("unit"),
            get("min"),
            get("max"),
            get("windows"),
        );
    }
    text.push('\n');
    for (name, measured, is_met) in asked(rows) {
        let verdict = if is_met { "met" } else { "MISSED" };
        let _ = writeln!(text, "{name:<58} {measured:>6.2}  {verdict}");
    }
    text
}

/// Returns the goals: name, measured number, and whether it is met.
fn asked(rows: &str) -> Vec<(String, f64, bool)> {
    let of = |threads| median_of(rows, "lookup", "RwSpin distributed", threads);
    let lookup = of("2").zip(of("1")).map(|(two, one)| {
        let ratio = two / one;
        let name = format!("distributed lookup, 2 threads, at most {DISTRIBUTED_MAX} x 1 thread");
        (name, ratio, ratio <= DISTRIBUTED_MAX)
    });
    let latches = rows.lines().filter(|row| field(row, "unit") == Some("of the best other"));
    let latches = latches.filter_map(|row| {
        let (threads, writes) = (field(row, "threads")?, field(row, "writes_percent")?);
        let ratio = number(row, "median")?;
        let name = format!("latch, {threads} threads, {writes}% writes, least {LATCH_MIN} x best");
        Some((name, ratio, ratio >= LATCH_MIN))
    });
    lookup.into_iter().chain(latches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "\
{\"bench\":\"lookup\",\"form\":\"RwSpin distributed\",\"threads\":1,\"writes_percent\":null,\"unit\":\"ns\",\"median\":8.000,\"windows\":9}
{\"bench\":\"lookup\",\"form\":\"RwSpin distributed\",\"threads\":2,\"writes_percent\":null,\"unit\":\"ns\",\"median\":10.000,\"windows\":9}
{\"bench\":\"latch\",\"form\":\"RwLatch\",\"threads\":8,\"writes_percent\":10,\"unit\":\"of the best other\",\"median\":1.100,\"windows\":1}
";

    #[test]
    fn verdicts_follow_from_the_rows() {
        let asked = asked(ROWS);
        assert_eq!(asked.len(), 2);
        assert!((asked[0].1 - 1.25).abs() < 1e-9 && !asked[0].2);
        assert!((asked[1].1 - 1.1).abs() < 1e-9 && asked[1].2);
    }

    #[test]
    fn missing_rows_give_no_verdict() {
        assert!(asked("{\"bench\":\"lookup\",\"form\":\"no lock\"}").is_empty());
        assert_eq!(median_of(ROWS, "lookup", "no lock", "1"), None);
    }
}
