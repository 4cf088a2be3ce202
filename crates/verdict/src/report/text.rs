//! The report as text: one sentence, the bar, the table, what was ruled out, warnings.

use std::fmt::Write;

use super::{facts, lines, number, ruled_out, statements};
use crate::judge::Verdict;

/// Columns of the bar: one for two percent.
const BAR_TENTHS: u32 = 20;
/// How many parts of the time vector are listed.
const PARTS_MAX: usize = 12;

/// Returns the report as text. Writing to a `String` cannot fail.
#[must_use]
pub fn text(verdict: &Verdict) -> String {
    let mut out = format!("{}\n", verdict.sentence);
    if verdict.window.windows > 0 {
        put_time(&mut out, verdict);
    }
    for line in lines(verdict) {
        let _ = write!(
            out,
            "\nPriority     {}\nGroup        {}\nFinding      {}\nImpact       {}\n\
             Evidence     {}\nWhat to do   {}\nHow to check {}\n",
            line.priority,
            line.group,
            line.finding,
            line.impact,
            one_line(line.evidence),
            one_line(line.advice),
            one_line(line.check)
        );
    }
    put_list(&mut out, "Statements that use most CPU time", &dearest(verdict));
    put_list(&mut out, "Ruled out", &ruled_out(verdict));
    put_list(&mut out, "Warnings", &verdict.warnings);
    out
}

fn put_time(out: &mut String, verdict: &Verdict) {
    let server = &verdict.server;
    let _ = writeln!(out, "\n{}: {}", server.name, server.version);
    for fact in facts(verdict) {
        let _ = writeln!(out, "{fact}");
    }
    out.push_str("\nWhere the time goes (sums to 100 %)\n");
    for (group, tenths) in verdict.window.bar() {
        let marks = usize::try_from(tenths.div_ceil(BAR_TENTHS)).unwrap_or(0);
        let (whole, part) = (tenths / 10, tenths % 10);
        let _ = writeln!(out, "  {:<22}{whole:>4}.{part} %  {}", group.name(), "#".repeat(marks));
    }
    if verdict.window.requests.mean <= 0.0 {
        return;
    }
    out.push_str("\nPer request, us (95 % interval)\n");
    for part in verdict.window.parts.iter().take(PARTS_MAX) {
        let us = &part.per_request;
        let _ = writeln!(
            out,
            "  {:<10} {:<24}{:>9} ({} to {})",
            part.category.name(),
            part.name,
            number(us.mean),
            number(us.low),
            number(us.high)
        );
    }
}

fn dearest(verdict: &Verdict) -> Vec<String> {
    let line = |[percent, calls, cpu, reads, rows, place, text]: [String; 7]| {
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        format!(
            "{percent:>5} %  {calls} x {cpu} per second, {reads} reads and {rows} rows each{place}: \
             {text}"
        )
    };
    statements(verdict).into_iter().map(line).collect()
}

fn put_list(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}");
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
