//! A verdict as text, as JSON, and as one HTML file.

mod html;
mod json;
mod text;

pub use html::html;
pub use json::json;
pub use text::text;

use crate::cause::Entry;
use crate::judge::{Finding, Verdict};

/// A row of the table of findings: Priority, Group, Finding, Impact, Evidence, What to do, How to
/// check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// 1 for the first cause.
    pub priority: usize,
    /// The group of findings.
    pub group: &'static str,
    /// What was found, its grade and details.
    pub finding: String,
    /// What it costs the requests.
    pub impact: String,
    /// The statement that shows it.
    pub evidence: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// How to see that it has gone.
    pub check: &'static str,
}

/// Returns the table of findings.
#[must_use]
pub fn lines(verdict: &Verdict) -> Vec<Line> {
    let of = |(place, finding): (usize, &Finding)| {
        let entry: &Entry = finding.candidate.cause.entry();
        let mut parts = vec![format!("{} ({})", entry.finding, finding.grade.name())];
        parts.extend(finding.candidate.details.iter().cloned());
        parts.extend(finding.confirmation.clone());
        Line {
            priority: place + 1,
            group: entry.group,
            finding: parts.join("; "),
            impact: impact(verdict, finding),
            evidence: entry.evidence,
            advice: entry.advice,
            check: entry.check,
        }
    };
    verdict.findings.iter().enumerate().map(of).collect()
}

/// What a finding costs: time per request, its share, and what its end could bring at most.
fn impact(verdict: &Verdict, finding: &Finding) -> String {
    if let Some(price) = &finding.candidate.price {
        return price.clone();
    }
    let share = crate::judge::percent(finding.share);
    if verdict.window.requests.mean <= 0.0 {
        return format!(
            "{:.1} threads all the time, {share} of the time",
            finding.candidate.active
        );
    }
    let more = match finding.share < 0.99 {
        true => format!(
            "at most {:.0} % more requests without it",
            100.0 * finding.share / (1.0 - finding.share)
        ),
        false => "without it requests would be answered again".to_owned(),
    };
    format!("{} per request, {share} of the time; {more}", crate::estimate::time(finding.us))
}

/// The lines about what was looked at: rate, length, parts.
fn facts(verdict: &Verdict) -> Vec<String> {
    let window = &verdict.window;
    let requests = &window.requests;
    vec![
        format!(
            "{} requests per second (95 %: {} to {}), {:.1} s in {} sub-windows, {:.0} schedulers",
            number(requests.mean),
            number(requests.low),
            number(requests.high),
            window.seconds,
            window.windows,
            window.schedulers
        ),
        format!("{:.2} threads had something to do on average", window.active),
        format!(
            "the questions took {:.2} % of the schedulers' CPU time",
            100.0 * window.own / window.schedulers.max(1.0)
        ),
    ]
}

/// How many statements are listed.
const STATEMENTS_MAX: usize = 5;

/// The head of the table of statements.
pub const STATEMENT_HEADS: [&str; 7] =
    ["percent_of_cpu", "executions_per_second", "cpu", "reads", "rows", "in", "statement"];

/// Returns the statements that use most CPU time, each with the columns of [`STATEMENT_HEADS`].
#[must_use]
pub fn statements(verdict: &Verdict) -> Vec<[String; 7]> {
    let window = &verdict.window;
    let all = crate::rules::Facts::new(window).cpu;
    let of = |statement: &crate::window::Statement| {
        [
            format!("{:.1}", 100.0 * statement.cpu / all.max(statement.cpu).max(1e-9)),
            number(statement.calls),
            crate::estimate::time(statement.cpu_us),
            number(statement.reads),
            number(statement.rows),
            statement.database.clone(),
            crate::rules::shortened(&statement.text),
        ]
    };
    window.statements.iter().take(STATEMENTS_MAX).map(of).collect()
}

/// The causes ruled out, with their numbers.
fn ruled_out(verdict: &Verdict) -> Vec<String> {
    let of = |(cause, score): &(crate::Cause, f64)| {
        let share = crate::judge::percent(*score);
        let finding = cause.entry().finding;
        format!("{finding}: {share} of the server's work, {} would count", "10 %")
    };
    verdict.ruled_out.iter().map(of).collect()
}

/// A number with as many digits as it deserves.
fn number(value: f64) -> String {
    match value {
        _ if value.is_infinite() => "any".to_owned(),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}
