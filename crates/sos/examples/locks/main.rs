//! Measures the locks of this crate in comparison with others; `bench locks` and `bench model`
//! start it.
//!
//! `locks lookups|latches|line [--rounds N] [--ms MS]` prints one JSON object per row and line.
//! Everything is interleaved: each round measures every lock once, so that other load on the
//! machine affects all of them; rows have the median of the rounds.

mod gate;
mod latches;
mod line;
mod lookups;
mod row;

use std::process::ExitCode;
use std::time::Duration;

/// How much to measure.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// The length of one measurement.
    pub(crate) window: Duration,
}

const USAGE: &str = "usage: locks lookups|latches|line [--rounds N] [--ms MS]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((what, options)) = arguments.split_first() else {
        return usage("nothing to measure");
    };
    let measure: fn(Plan) = match what.as_str() {
        "lookups" => lookups::run,
        "latches" => latches::run,
        "line" => line::run,
        other => return usage(other),
    };
    let default = match what.as_str() {
        "latches" => Plan { rounds: 7, window: Duration::from_millis(60) },
        _ => Plan { rounds: 150, window: Duration::from_millis(1) },
    };
    match plan(default, options) {
        Some(plan) => measure(plan),
        None => return usage(&options.join(" ")),
    }
    ExitCode::SUCCESS
}

fn plan(default: Plan, options: &[String]) -> Option<Plan> {
    let mut plan = default;
    for pair in options.chunks(2) {
        let number: u32 = pair.get(1)?.parse().ok().filter(|number| *number > 0)?;
        match pair[0].as_str() {
            "--rounds" => plan.rounds = usize::try_from(number).ok()?,
            "--ms" => plan.window = Duration::from_millis(u64::from(number)),
            _ => return None,
        }
    }
    Some(plan)
}

fn usage(what: &str) -> ExitCode {
    eprintln!("locks: {what}; {USAGE}");
    ExitCode::from(2)
}
