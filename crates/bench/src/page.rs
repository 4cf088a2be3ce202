//! The report as a page of the documentation, with the sections that other runs write.

use std::fmt::Write;
use std::path::Path;

use load::Result;
use load::page::OTHERS;
pub(crate) use load::page::put_section;

use crate::report::{Failure, Line, Report};

/// The text before the numbers, which a reader needs to understand them.
const OPENING: &str = "# Benchmarks

Written by `make bench`, from one run on the machine named below. Server CPU per request is the CPU time of
the server's threads (user and kernel) as the kernel counts it, divided by the answers in the same window.
The limit beside it is a bare echo server in the same run: one epoll loop, one recv and one send per
request, messages of the same sizes. Both run on one CPU, in turns (server, echo, echo, server, several
rounds). The client spins on another CPU, so that neither server pays for waking it.
A ratio is the median of the rounds, with the range in brackets. Each answer is checked for its length
and its end, and the first and last of each request in full. Latencies are those of a closed loop with
all connections busy, so they follow from the throughput.
";

/// Writes the benchmark's page, keeping the sections that other runs have added.
pub(crate) fn put_page(path: &Path, page: &str) -> Result<()> {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    let others = before.split_once(OTHERS).map_or("\n", |(_, others)| others);
    crate::write(path, &format!("{page}\n{OTHERS}{others}"))
}

/// Returns the page's Markdown.
pub(crate) fn page(report: &Report) -> String {
    let mut page = OPENING.to_owned();
    page.push_str("\n## Asked for and measured\n\n| what | asked, at most | measured | |\n|---|---|---|---|\n");
    for Line { name, asked, measured, verdict } in report.lines() {
        let _ = writeln!(page, "| {name} | {asked} | {measured} | {verdict} |");
    }
    page.push('\n');
    for note in report.notes() {
        let _ = writeln!(page, "- {note}");
    }
    let (heading, rows) = report.speeds();
    let _ = writeln!(page, "\n## Speed\n\n| {} |", heading.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(heading.len()));
    for row in rows {
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
    page.push_str("\nCPU is the server's, per request.\n");
    page.push_str("\n## Machine and run\n\n| | |\n|---|---|\n");
    for (name, value) in report.facts() {
        let _ = writeln!(page, "| {name} | {value} |");
    }
    if !report.failures().is_empty() {
        page.push_str("\n## Not measured\n\n");
    }
    for Failure { name, what } in report.failures() {
        let _ = writeln!(page, "- {name}: {what}");
    }
    page
}
