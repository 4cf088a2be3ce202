//! `/metrics`: the ledger, waits, spinlocks, memory clerks and counters as OpenMetrics text.
//!
//! A scraper sends Basic credentials of a login with VIEW SERVER STATE, or the token that
//! `--console-token` maps to a login. Names and labels are stable: docs/console.md lists them.

use std::fmt::Write;
use std::net::SocketAddr;

use engine::session::Session;
use types::{Error, Value};

use crate::request::Request;
use crate::response::Response;
use crate::rows::{self, Results};
use crate::{Console, base64, entry};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The credentials that a client without any should send.
const CHALLENGE: &str = "Basic realm=\"clearway\", charset=\"UTF-8\"";

/// The kind of a metric, which OpenMetrics wants to know.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Unknown,
}

/// A metric: one result of [`QUERY`], whose first columns are labels and whose last is the value.
struct Metric {
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    /// The value is divided by this.
    divisor: f64,
    query: &'static str,
}

const METRICS: &[Metric] = &[
    Metric {
        name: "clearway_time_seconds",
        kind: Kind::Counter,
        unit: "seconds",
        help: "Time of all threads by category and part, from sys.dm_os_time_ledger.",
        labels: &["category", "name"],
        divisor: 1e9,
        query: "SELECT category, name, wall_ns FROM sys.dm_os_time_ledger",
    },
    Metric {
        name: "clearway_wait_seconds",
        kind: Kind::Counter,
        unit: "seconds",
        help: "Time in waits, signal time included, from sys.dm_os_wait_stats.",
        labels: &["wait_type"],
        divisor: 1e3,
        query: "SELECT wait_type, wait_time_ms FROM sys.dm_os_wait_stats \
            WHERE waiting_tasks_count > 0",
    },
    Metric {
        name: "clearway_wait_signal_seconds",
        kind: Kind::Counter,
        unit: "seconds",
        help: "Time between the end of a wait and having a scheduler again.",
        labels: &["wait_type"],
        divisor: 1e3,
        query: "SELECT wait_type, signal_wait_time_ms FROM sys.dm_os_wait_stats \
            WHERE waiting_tasks_count > 0",
    },
    Metric {
        name: "clearway_waits",
        kind: Kind::Counter,
        unit: "",
        help: "Number of waits.",
        labels: &["wait_type"],
        divisor: 1.0,
        query: "SELECT wait_type, waiting_tasks_count FROM sys.dm_os_wait_stats \
            WHERE waiting_tasks_count > 0",
    },
    Metric {
        name: "clearway_spin_seconds",
        kind: Kind::Counter,
        unit: "seconds",
        help: "Time spent spinning, from sys.dm_os_spinlock_stats.",
        labels: &["lock"],
        divisor: 1e9,
        query: "SELECT name, spin_ns FROM sys.dm_os_spinlock_stats WHERE collisions > 0",
    },
    Metric {
        name: "clearway_memory_clerk_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Memory of each clerk, from sys.dm_os_memory_clerks.",
        labels: &["clerk"],
        divisor: 1.0 / 1024.0,
        query: "SELECT type, SUM(pages_kb) FROM sys.dm_os_memory_clerks GROUP BY type",
    },
    Metric {
        name: "clearway_memory_resident_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Resident memory of the process.",
        labels: &[],
        divisor: 1.0 / 1024.0,
        query: "SELECT physical_memory_in_use_kb FROM sys.dm_os_process_memory",
    },
    Metric {
        name: "clearway_schedulers",
        kind: Kind::Gauge,
        unit: "",
        help: "Number of schedulers: time on a CPU cannot stay above it.",
        labels: &[],
        divisor: 1.0,
        query: "SELECT scheduler_count FROM sys.dm_os_sys_info",
    },
    Metric {
        name: "clearway_uptime_seconds",
        kind: Kind::Gauge,
        unit: "seconds",
        help: "Time since the server started.",
        labels: &[],
        divisor: 1e3,
        query: "SELECT ms_ticks - sqlserver_start_time_ms_ticks FROM sys.dm_os_sys_info",
    },
    Metric {
        name: "clearway_requests",
        kind: Kind::Gauge,
        unit: "",
        help: "Requests of users by state, from sys.dm_exec_requests.",
        labels: &["status"],
        divisor: 1.0,
        query: "SELECT r.status, COUNT(*) FROM sys.dm_exec_requests AS r \
            JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id \
            WHERE s.is_user_process = 1 GROUP BY r.status",
    },
    Metric {
        name: "clearway_sessions",
        kind: Kind::Gauge,
        unit: "",
        help: "Sessions of users.",
        labels: &[],
        divisor: 1.0,
        query: "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1",
    },
    Metric {
        name: "clearway_performance_counter",
        kind: Kind::Unknown,
        unit: "",
        help: "The raw values of sys.dm_os_performance_counters.",
        labels: &["object", "counter", "instance"],
        divisor: 1.0,
        query: "SELECT RTRIM(object_name), RTRIM(counter_name), RTRIM(instance_name), cntr_value \
            FROM sys.dm_os_performance_counters",
    },
];

/// Returns the page of metrics for a scraper.
///
/// # Errors
/// The answer that refuses it.
pub(crate) fn answer(
    console: &Console,
    request: &Request,
    peer: SocketAddr,
) -> Result<Response, Response> {
    let mut session = log_in(console, request, peer)?;
    let text: Vec<&str> = METRICS.iter().map(|metric| metric.query).collect();
    let results = rows::run(&mut session, &text.join(";\n"));
    let body = results.map(|results| page(&results)).map_err(|error| failed(&error))?;
    Ok(Response::new(CONTENT_TYPE, body.into_bytes()))
}

fn failed(error: &Error) -> Response {
    Response::error(500, &format!("Error {}: {}", error.number, error.message))
}

fn log_in(console: &Console, request: &Request, peer: SocketAddr) -> Result<Session, Response> {
    let refusal = |sentence| Response::error(401, sentence).with("WWW-Authenticate", CHALLENGE);
    let Some(header) = request.header("authorization") else {
        return Err(refusal("Send Basic credentials, or the token of --console-token."));
    };
    let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
    if scheme.eq_ignore_ascii_case("bearer") {
        let token = console.settings.token.as_ref();
        let known = token.filter(|token| is_same(token.secret.as_bytes(), rest.trim().as_bytes()));
        let known = known.ok_or_else(|| refusal("The token is wrong."))?;
        return entry::reopen(console, &known.login, peer);
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(refusal("Only Basic and Bearer are understood."));
    }
    let decoded = base64::decode(rest.trim()).and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((user, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) else {
        return Err(refusal("The credentials are broken."));
    };
    entry::log_in(console, user, password, peer)
}

/// Compares two secrets in a time that does not depend on where they differ.
fn is_same(known: &[u8], sent: &[u8]) -> bool {
    let differences = known.iter().zip(sent).fold(0, |all, (a, b)| all | (a ^ b));
    known.len() == sent.len() && differences == 0
}

fn page(results: &Results) -> String {
    let mut page = String::with_capacity(32 * 1024);
    for (metric, rows) in METRICS.iter().zip(results) {
        write_metric(metric, rows, &mut page);
    }
    page.push_str("# EOF\n");
    page
}

fn write_metric(metric: &Metric, rows: &[Vec<Value>], page: &mut String) {
    let (kind, suffix) = match metric.kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
        Kind::Unknown => ("unknown", ""),
    };
    let name = metric.name;
    let _ = writeln!(page, "# TYPE {name} {kind}");
    if !metric.unit.is_empty() {
        let _ = writeln!(page, "# UNIT {name} {}", metric.unit);
    }
    let _ = writeln!(page, "# HELP {name} {}", metric.help);
    for row in rows {
        let Some((value, labels)) = row.split_last() else { continue };
        let Some(number) = number(value) else { continue };
        let _ = write!(page, "{name}{suffix}");
        for (place, (label, value)) in metric.labels.iter().zip(labels).enumerate() {
            page.push_str(if place == 0 { "{" } else { "," });
            let _ = write!(page, "{label}=\"{}\"", escaped(value));
        }
        page.push_str(if metric.labels.is_empty() { " " } else { "} " });
        let _ = writeln!(page, "{}", number / metric.divisor);
    }
}

#[expect(clippy::cast_precision_loss, reason = "OpenMetrics has floating-point values")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::TinyInt(number) => Some(f64::from(*number)),
        Value::SmallInt(number) => Some(f64::from(*number)),
        Value::Int(number) => Some(f64::from(*number)),
        Value::BigInt(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        // No metric has a value of another type.
        _ => None,
    }
}

/// Returns a label's value with backslashes, quotes and line breaks escaped.
fn escaped(value: &Value) -> String {
    let text = value.as_text(types::Collation::default()).unwrap_or_default();
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_compared_whole() {
        assert!(is_same(b"abc", b"abc"));
        assert!(!is_same(b"abc", b"abd"));
        assert!(!is_same(b"abc", b"ab"));
        assert!(!is_same(b"abc", b""));
    }

    #[test]
    fn names_are_unique_and_end_with_their_unit() {
        for (place, metric) in METRICS.iter().enumerate() {
            assert!(metric.unit.is_empty() || metric.name.ends_with(metric.unit));
            assert!(METRICS[..place].iter().all(|other| other.name != metric.name));
        }
    }

    /// The dashboard for Grafana may name only metrics that are there.
    #[test]
    fn dashboard_names_metrics_that_exist() {
        let dashboard = include_str!("../../../docs/console-grafana.json");
        let is_of_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let mut named = 0;
        for rest in dashboard.split("clearway_").skip(1) {
            let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            let name = format!("clearway_{}", &rest[..end]);
            let bare = name.strip_suffix("_total").unwrap_or(&name);
            let metric = METRICS.iter().find(|metric| metric.name == bare);
            let metric = metric.unwrap_or_else(|| panic!("{name} is no metric"));
            assert_eq!(name.ends_with("_total"), matches!(metric.kind, Kind::Counter), "{name}");
            named += 1;
        }
        assert!(named >= METRICS.len(), "only {named} are named");
        for metric in METRICS {
            assert!(dashboard.contains(metric.name), "no panel shows {}", metric.name);
        }
    }
}
