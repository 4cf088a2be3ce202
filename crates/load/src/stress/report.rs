//! A run's report as text, JSON and HTML.

use std::fmt::Write;

use hdrhistogram::Histogram;

use super::tally::{Second, Tally};
use super::tpcc;
use super::usl::Usl;
use super::work::Work;
use crate::counters::Counters;
use crate::json::{join, quote};

/// The percentiles shown in reports.
const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// The result with one number of connections.
pub struct Level {
    /// Number of concurrent connections.
    pub connections: usize,
    /// The client's result at this level.
    pub tally: Tally,
    /// The change of the server's counters during the level, if they were read.
    pub server: Option<Counters>,
}

impl Level {
    /// Returns CPU microseconds per request, of the server and of this tool.
    pub fn cpu_us(&self) -> (Option<f64>, f64) {
        let requests = self.tally.requests().max(1);
        let server = self.server.as_ref().and_then(Counters::cpu_ms);
        let server = server.and_then(|ms| u64::try_from(ms).ok());
        let each = |ns: u64| seconds(ns) * 1e6 / float(requests);
        (server.map(|ms| each(ms * 1_000_000)), each(self.tally.own_cpu_ns))
    }
}

/// A whole run, with all levels.
pub struct Report<'a> {
    /// Server, time and settings of the load: names and values.
    pub facts: Vec<(String, String)>,
    /// The requests that were sent.
    pub work: &'a Work,
    /// Whether the load was an open loop.
    pub is_open: bool,
    /// The levels of the sweep; one if there was no sweep.
    pub levels: Vec<Level>,
}

impl Report<'_> {
    /// Fits the scalability law to the levels; `None` if there are too few.
    pub fn usl(&self) -> Option<Usl> {
        let points: Vec<_> =
            self.levels.iter().map(|level| (users(level), level.tally.rate())).collect();
        Usl::fit(&points)
    }

    /// Returns the report for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.facts {
            let _ = writeln!(text, "{name}: {value}");
        }
        for level in &self.levels {
            self.put_level(&mut text, level);
        }
        if let Some(usl) = self.usl() {
            put_usl(&mut text, &usl, &self.levels);
        }
        text
    }

    fn put_level(&self, text: &mut String, level: &Level) {
        let tally = &level.tally;
        let _ = writeln!(
            text,
            "\n{} connections, {:.1} s: {} requests, {:.0}/s, {} in trouble",
            level.connections,
            seconds(tally.wall_ns),
            tally.requests(),
            tally.rate(),
            tally.troubles()
        );
        let _ = write!(text, "{:<44} {:>10}", "latency, ms", "requests");
        for (name, _) in PERCENTILES {
            let _ = write!(text, " {name:>10}");
        }
        text.push('\n');
        put_latencies(text, "all", &tally.latencies);
        if tally.kinds.len() > 1 {
            for (kind, latencies) in self.work.kinds().iter().zip(&tally.kinds) {
                put_latencies(text, &kind.name, latencies);
            }
        }
        if self.is_open {
            put_latencies(text, "all, as a closed loop would report it", &tally.service);
        }
        put_latencies(text, "logins", &tally.logins);
        if let Some(rate) = self.per_minute(tally) {
            let _ = writeln!(text, "New-Orders per minute: {rate:.1}\n{}", tpcc::NOT_AUDITED);
        }
        put_troubles(text, tally);
        let (server, own) = level.cpu_us();
        let _ = writeln!(
            text,
            "this tool: {:.0} % of a CPU, {own:.2} us a request",
            tally.own_cpu_share() * 1e2
        );
        if let Some(server) = server {
            let _ = writeln!(text, "the server: {server:.2} us of CPU a request");
        }
        if tally.is_bottleneck() {
            text.push_str(
                "WARNING: this tool was the bottleneck: the server can do more than is shown\n",
            );
        }
    }

    /// Returns TPC-C's New-Orders per minute: intended rollbacks count, failures do not.
    pub(super) fn per_minute(&self, tally: &Tally) -> Option<f64> {
        let kind = self.work.new_orders()?;
        let done = tally.kinds[kind].len().saturating_sub(tally.kind_failures[kind]);
        Some(float(done) * 60.0 / seconds(tally.wall_ns).max(f64::MIN_POSITIVE))
    }

    /// Returns the report as one HTML file without external resources.
    pub fn html(&self) -> String {
        super::html::render(self)
    }

    /// Returns the report as JSON.
    pub fn json(&self) -> String {
        let facts =
            self.facts.iter().map(|(name, value)| format!("{}:{}", quote(name), quote(value)));
        let levels = self.levels.iter().map(|level| self.level_json(level));
        let usl = self.usl().map_or_else(
            || "null".to_owned(),
            |usl| {
                format!(
                    "{{\"lambda\":{},\"sigma\":{},\"kappa\":{}}}",
                    usl.lambda, usl.sigma, usl.kappa
                )
            },
        );
        format!("{{\"run\":{{{}}},\n\"levels\":[{}],\n\"usl\":{usl}}}\n", join(facts), join(levels))
    }

    fn level_json(&self, level: &Level) -> String {
        let tally = &level.tally;
        let server_cpu = level.server.as_ref().and_then(Counters::cpu_ms);
        let kinds = self.work.kinds().iter().zip(&tally.kinds);
        let kinds = kinds.map(|(kind, latencies)| {
            format!("{{\"name\":{},{}}}", quote(&kind.name), latencies_json(latencies))
        });
        let errors = tally.errors.iter().map(|(number, count)| {
            let text = tally.error_texts.get(number).map_or("", String::as_str);
            format!("{{\"number\":{number},\"count\":{count},\"example\":{}}}", quote(text))
        });
        let faults = tally.faults.iter();
        let faults =
            faults.map(|(what, count)| format!("{{\"what\":{},\"count\":{count}}}", quote(what)));
        format!(
            "{{\"connections\":{},\"threads\":{},\"server_cpu_ms\":{},\"wall_ns\":{},\"rate\":{:.3},\"own_cpu_ns\":{},\"bytes_sent\":{},\
             \"bytes_received\":{},\"failed\":{},\"timeouts\":{},\"retries\":{},\"never_sent\":{},\
             \"retried\":[{}],\"new_orders_per_minute\":{},\"latency\":{{{}}},\"service\":{{{}}},\"logins\":{{{}}},\"kinds\":[{}],\"errors\":[{}],\
             \"faults\":[{}],\"seconds\":[{}]}}",
            level.connections,
            tally.threads,
            server_cpu.map_or_else(|| "null".to_owned(), |ms| ms.to_string()),
            tally.wall_ns,
            tally.rate(),
            tally.own_cpu_ns,
            tally.bytes.0,
            tally.bytes.1,
            tally.failed,
            tally.timeouts,
            tally.retries_of_all(),
            tally.never_sent,
            join(tally.retries.iter().map(|(number, count)| format!(
                "{{\"number\":{number},\"count\":{count},\"what\":{}}}",
                quote(retried(*number))
            ))),
            self.per_minute(tally).map_or_else(|| "null".to_owned(), |rate| format!("{rate:.1}")),
            latencies_json(&tally.latencies),
            latencies_json(&tally.service),
            latencies_json(&tally.logins),
            join(kinds),
            join(errors),
            join(faults),
            join(tally.seconds.iter().map(second_json))
        )
    }
}

fn put_latencies(text: &mut String, name: &str, latencies: &Histogram<u64>) {
    if latencies.is_empty() {
        return;
    }
    let _ = write!(text, "{name:<44} {:>10}", latencies.len());
    for (_, share) in PERCENTILES {
        let _ = write!(text, " {:>10.3}", milliseconds(latencies.value_at_quantile(share)));
    }
    text.push('\n');
}

fn put_troubles(text: &mut String, tally: &Tally) {
    for (number, count) in &tally.errors {
        let example = tally.error_texts.get(number).map_or("", String::as_str);
        let _ = writeln!(text, "error {number}: {count} times: {example}");
    }
    for (what, count) in &tally.faults {
        let _ = writeln!(text, "connections: {count} times: {what}");
    }
    for (number, count) in &tally.retries {
        let what = retried(*number);
        let _ = writeln!(text, "{count} requests were sent again after error {number}: {what}");
    }
    let counts = [
        (tally.timeouts, "requests took too long and were cancelled"),
        (tally.never_sent, "requests were due and never sent: every connection was busy"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "{count} {what}");
    }
}

/// Returns a name for an error after which a request is repeated.
fn retried(number: i32) -> &'static str {
    match number {
        1205 => "victim of a deadlock",
        3960 | 41301 | 41302 | 41305 | 41325 => "conflict of versions",
        _ => "the server was busy or moving",
    }
}

fn put_usl(text: &mut String, usl: &Usl, levels: &[Level]) {
    let _ = writeln!(
        text,
        "\nUniversal Scalability Law: one connection {:.0}/s, contention {:.4}, coherency {:.6}{}",
        usl.lambda,
        usl.sigma,
        usl.kappa,
        usl.peak().map_or_else(String::new, |peak| format!(", most at {peak:.0} connections"))
    );
    let _ = writeln!(
        text,
        "{:>12} {:>14} {:>14} {:>10}",
        "connections", "measured/s", "the law/s", "residual"
    );
    for level in levels {
        let (measured, law) = (level.tally.rate(), usl.throughput(users(level)));
        let residual = (measured - law) / law.max(f64::MIN_POSITIVE) * 1e2;
        let _ = writeln!(
            text,
            "{:>12} {measured:>14.0} {law:>14.0} {residual:>8.1} %",
            level.connections
        );
    }
}

fn latencies_json(latencies: &Histogram<u64>) -> String {
    let shares = PERCENTILES.iter().filter(|_| !latencies.is_empty());
    let shares = shares.map(|(name, share)| {
        format!(",\"{}_ns\":{}", name.replace('.', "_"), latencies.value_at_quantile(*share))
    });
    format!("\"count\":{}{}", latencies.len(), shares.collect::<String>())
}

fn second_json(second: &Second) -> String {
    format!(
        "{{\"at_ns\":{},\"wall_ns\":{},\"requests\":{},\"errors\":{},\"p50_ns\":{},\"p99_ns\":{}}}",
        second.at_ns, second.wall_ns, second.requests, second.errors, second.p50_ns, second.p99_ns
    )
}

#[expect(clippy::cast_precision_loss, reason = "connections are few")]
pub(super) fn users(level: &Level) -> f64 {
    level.connections as f64
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
