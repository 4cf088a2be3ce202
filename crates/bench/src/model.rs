//! `bench model`: predicts throughput on more CPUs than the machine has, from the shared writes of
//! a request. A model, and labelled as one wherever it is shown;
//! docs/decisions/0050-serial-resource-model.md has its assumptions and its errors. The formula is
//! in `load::model`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use load::Result;
use load::model::{
    EXCLUSIVE_USES, HOLD_NS, ONE_WORD_USES, PUBLISHED_LINE_NS, Request, SLOW_LINE_NS, Serial,
    predict,
};

use crate::census::{self, Workload};
use crate::locks::{line_rows, median_of};
use crate::say;

/// Arguments of `bench model`.
#[derive(Args)]
pub(crate) struct ModelArguments {
    /// Shared writes per request: target/census.json of make census; default one lookup per lock
    /// form
    #[arg(long, value_name = "FILE")]
    census: Option<PathBuf>,
    /// CPU nanoseconds of a request when it runs alone
    #[arg(long, value_name = "NS", default_value_t = 12_000.0)]
    cpu_ns: f64,
    /// Metadata lookups per request, if there is no census
    #[arg(long, value_name = "N", default_value_t = 4.0)]
    lookups: f64,
    /// Nanoseconds to transfer a line from another CPU; default 64 and 100, and the one measured
    /// here
    #[arg(long, value_name = "NS")]
    line_ns: Option<f64>,
}

const CPUS: [f64; 4] = [1.0, 2.0, 16.0, 144.0];

/// Predicts, checks the model against published numbers, and prints both.
pub(crate) fn run(arguments: &ModelArguments) -> Result<()> {
    let requests = match &arguments.census {
        Some(path) => census(path, arguments.cpu_ns)?,
        None => lock_forms(arguments.cpu_ns, arguments.lookups),
    };
    let mut lines = match arguments.line_ns {
        Some(ns) => vec![("given", ns)],
        None => vec![("published", PUBLISHED_LINE_NS), ("published, slow", SLOW_LINE_NS)],
    };
    if arguments.line_ns.is_none() {
        match line_rows() {
            Ok(rows) => lines.extend(measured_line(&rows).map(|ns| ("measured here", ns))),
            Err(what) => say(&format!("no measurement of this machine: {what}")),
        }
    }
    say(&predictions(&requests, &lines));
    say(&checks());
    Ok(())
}

/// Returns the transfer time measured on this machine: the time between two operations of both
/// threads together.
fn measured_line(rows: &str) -> Option<f64> {
    Some(median_of(rows, "line", "shared line", "2")? / 2.0)
}

/// Reads a census: the requests of each of its workloads.
fn census(path: &PathBuf, cpu_ns: f64) -> Result<Vec<Request>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let serial = |(name, uses)| Serial { name, uses, hold_ns: 0.0 };
    let request = |workload: Workload| Request {
        name: workload.name,
        cpu_ns,
        serials: workload.owners.into_iter().map(serial).collect(),
    };
    Ok(census::parse(&text)?.into_iter().map(request).collect())
}

/// Returns the lock forms of `--lock-mode`, with `lookups` lookups per request.
fn lock_forms(cpu_ns: f64, lookups: f64) -> Vec<Request> {
    let form = |name: &str, uses: f64, hold_ns: f64| Request {
        name: format!("{name}, {lookups} lookups"),
        cpu_ns,
        serials: match uses > 0.0 {
            true => vec![Serial { name: name.to_owned(), uses: uses * lookups, hold_ns }],
            false => Vec::new(),
        },
    };
    vec![
        form("snapshot", 0.0, 0.0),
        form("distributed", 0.0, 0.0),
        form("rw", ONE_WORD_USES, 0.0),
        form("exclusive", EXCLUSIVE_USES, HOLD_NS / EXCLUSIVE_USES),
    ]
}

fn predictions(requests: &[Request], lines: &[(&str, f64)]) -> String {
    let mut text = "MODEL, not measured: thousands of requests per second\n".to_owned();
    let _ = write!(text, "{:<44} {:<26}", "model of", "a contended line");
    for cpus in CPUS {
        let _ = write!(text, "{:>10}", format!("{cpus} CPUs"));
    }
    text.push('\n');
    for request in requests {
        for (source, line_ns) in lines {
            let line = format!("{line_ns:.0} ns, {source}");
            let _ = write!(text, "model: {:<37} {line:<26}", request.name);
            for cpus in CPUS {
                let _ = write!(text, "{:>10.0}", predict(request, cpus, *line_ns) / 1e3);
            }
            text.push('\n');
        }
    }
    for serial in requests.iter().flat_map(|request| &request.serials) {
        let Serial { name, uses, hold_ns } = serial;
        let _ = writeln!(text, "model: {name}: {uses} uses of a line, each held {hold_ns} ns more");
    }
    text
}

/// A published number and the model's.
struct Check {
    what: &'static str,
    cpus: f64,
    published: f64,
    predicted: f64,
}

/// Returns the request of a lock benchmark: only `uses` uses of one line.
fn lock_only(cpu_ns: f64, uses: f64) -> Request {
    let serials = vec![Serial { name: String::new(), uses, hold_ns: 0.0 }];
    Request { name: String::new(), cpu_ns, serials: if uses > 0.0 { serials } else { Vec::new() } }
}

/// folly's table: millions of lock and unlock per second, read only, on two sockets of 8 cores.
const FOLLY: [(&str, f64, [f64; 4]); 4] = [
    ("folly RW spinlock, one word", 1.0, [65.9, 22.2, 15.6, 14.3]),
    ("folly ticket RW lock", 2.0, [38.0, 13.6, 8.6, 6.7]),
    ("folly pthread_rwlock", 3.0, [26.1, 7.6, 4.4, 5.0]),
    ("folly SharedMutex, distributed", 0.0, [45.6, 84.3, 342.0, 709.0]),
];
const FOLLY_CPUS: [f64; 4] = [1.0, 2.0, 8.0, 16.0];

/// papaya's curves: millions of operations on 1 and on 16 threads of a 16-core machine.
const MAPS: [(&str, f64, [f64; 2]); 2] =
    [("papaya", 0.0, [24.0, 236.0]), ("DashMap, a lock per shard", 1.0, [21.0, 143.0])];

fn published() -> Vec<Check> {
    let folly = FOLLY.iter().flat_map(|(what, uses, speeds)| {
        let request = lock_only(1e3 / speeds[0], *uses);
        FOLLY_CPUS.iter().zip(speeds).skip(1).map(move |(cpus, published)| {
            let predicted = predict(&request, *cpus, PUBLISHED_LINE_NS) / 1e6;
            Check { what, cpus: *cpus, published: *published, predicted }
        })
    });
    let maps = MAPS.iter().map(|(what, uses, [one, many])| {
        let request = lock_only(1e3 / one, *uses);
        // Spread over enough shards that no line is a bottleneck.
        let way = request.serials.iter().map(|serial| serial.uses).sum::<f64>() * PUBLISHED_LINE_NS;
        let predicted = 16.0 / (request.cpu_ns + way * 15.0 / 16.0) * 1e3;
        Check { what, cpus: 16.0, published: *many, predicted }
    });
    folly.chain(maps).chain(cmed_hash_set()).collect()
}

/// The session-state workload on 144 CPUs: 640,000 batches a second at 85 % CPU, of which 31.8 %
/// spun on an exclusive lock; with a one-word reader/writer lock 720,000 at 72 %, the load's limit.
fn cmed_hash_set() -> [Check; 2] {
    let busy = 144.0 * 0.85;
    let spun_percent = 31.8;
    let cpu_ns = busy / 640e3 * 1e9 * (1.0 - spun_percent / 100.0);
    // The lookups of a batch are not published: they are fitted to the first of the two numbers.
    let lookups = 1e9 / 640e3 / (EXCLUSIVE_USES * PUBLISHED_LINE_NS + HOLD_NS);
    let forms = lock_forms(cpu_ns, lookups);
    let of = |form: &str| {
        let request = forms.iter().find(|request| request.name.starts_with(form));
        request.map_or(0.0, |request| predict(request, busy, PUBLISHED_LINE_NS) / 1e3)
    };
    let check = |what, published, predicted| Check { what, cpus: busy, published, predicted };
    [
        check("CMED_HASH_SET, thousands/s (fitted)", 640.0, of("exclusive")),
        check("one word, thousands/s, 720 at 72 % CPU", 720.0 * 85.0 / 72.0, of("rw")),
    ]
}

fn checks() -> String {
    let mut text = format!(
        "MODEL against what is published, with {PUBLISHED_LINE_NS} ns for a line\n{:<42} {:>6} {:>10} {:>10} {:>8}\n",
        "what", "CPUs", "published", "model", "error"
    );
    let checks = published();
    for Check { what, cpus, published, predicted } in &checks {
        let error = (predicted / published - 1.0) * 100.0;
        let _ = writeln!(
            text,
            "model: {what:<35} {cpus:>6.0} {published:>10.1} {predicted:>10.1} {error:>+7.0}%"
        );
    }
    let logs = checks.iter().map(|check| (check.predicted / check.published).ln().abs());
    let mean = (logs.sum::<f64>() / checks.len() as f64).exp();
    let _ = writeln!(text, "model: off by a factor of {mean:.2} in the geometric mean");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_without_shared_writes_scales_with_the_cpus() {
        let request = lock_only(10_000.0, 0.0);
        let ratio = predict(&request, 144.0, 64.0) / predict(&request, 1.0, 64.0);
        assert!((ratio - 144.0).abs() < 1e-6);
    }

    #[test]
    fn one_shared_line_caps_the_whole_machine() {
        let request = lock_only(10_000.0, 1.0);
        let many = predict(&request, 100_000.0, 64.0);
        assert!((many - 1e9 / 64.0).abs() < 1.0, "{many}");
        assert!(predict(&request, 16.0, 64.0) < many);
    }

    #[test]
    fn model_is_near_what_is_published_for_many_cpus() {
        for check in published().iter().filter(|check| check.cpus >= 8.0) {
            let ratio = check.predicted / check.published;
            assert!((0.55..1.8).contains(&ratio), "{} at {}: {ratio}", check.what, check.cpus);
        }
    }
}
