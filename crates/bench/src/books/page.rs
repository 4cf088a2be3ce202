//! The comparison of the ledger as text, as JSON, and as a section of the benchmarks' page.

use std::fmt::Write;

use super::compare::{Check, float, seconds};
use super::{Books, Run, calls, compare, profile};
use load::json::{join, quote};

/// Heading of this run's section of the page.
pub(crate) const HEADING: &str = "## The ledger beside the kernel's books";

const OPENING: &str = "
Written by `make bench-books`, from one run on the machine named below: the differences over a window of
`sys.dm_os_time_ledger`, read by SQL, beside those of the kernel's own books on the server (the process
CPU clock, `schedstat` of every thread, `perf stat`), while one spinning process per CPU competes. Both
are read while the load rests. Thread time is that of all threads of the server. A figure in brackets has
no tolerance: that source of the ledger can't tell it, and says so. `target/books.json` has every check
with both amounts, and the rows of the ledger.
";

/// The checks in the table, and their names in its head.
const SUMMARY: [(&str, &str); 6] = [
    (compare::DARK_OF_TIME, "dark, of time (1 %)"),
    (compare::DARK_OF_CPU, "dark, of CPU (1 %)"),
    (compare::PROCESS_CLOCK, "process clock (0.5 %)"),
    (compare::SCHEDSTAT, "schedstat (0.5 %)"),
    (compare::RUNNABLE, "runnable (1 %)"),
    (compare::WALL, "wall (0.5 %)"),
];

/// Rows of the ledger shown for each run, the largest first.
const ROWS_SHOWN: usize = 12;

/// Returns the whole comparison as text for a terminal.
pub(crate) fn text(books: &Books) -> String {
    let mut text = String::new();
    for (name, value) in &books.facts {
        let _ = writeln!(text, "{name}: {value}");
    }
    for run in &books.runs {
        put_run(&mut text, run, books.slack);
    }
    for calls in &books.calls {
        let _ = writeln!(text, "\nsystem calls of the session state load: ledger beside strace");
        for count in &calls.rows {
            let (ledger, strace) = (count.ledger, count.strace);
            let _ =
                writeln!(text, "  {:<10} {ledger:>10} {strace:>10}  {}", count.cause, apart(count));
        }
        let _ = writeln!(text, "  calls of other names: {}", others(calls));
    }
    for profile in &books.profiles {
        let _ = writeln!(text, "\n{}: share of CPU, ledger beside perf record", profile.load);
        for [name, ledger, perf, verdict] in profile.rows.iter().map(share_cells) {
            let _ = writeln!(text, "  {name:<32} {ledger:>9} {perf:>18}  {verdict}");
        }
    }
    for what in &books.failures {
        let _ = writeln!(text, "FAILED {what}");
    }
    text
}

/// Returns name, the ledger's share, perf's with its error, and whether they agree.
fn share_cells(share: &profile::Share) -> [String; 4] {
    let verdict = if share.agrees() { "" } else { "apart" };
    [
        share.name.clone(),
        format!("{:.1} %", share.ledger * 1e2),
        format!("{:.1} +- {:.1} %", share.perf * 1e2, share.error * 1e2),
        verdict.to_owned(),
    ]
}

fn put_run(text: &mut String, run: &Run, slack: f64) {
    let _ = writeln!(
        text,
        "\n{}, {}: {} requests in {}, {} threads, source '{}', {} CPU at the edges",
        run.load,
        run.setting.name(),
        run.requests,
        seconds(compare::unsigned(run.outside.at_ns)),
        run.outside.threads,
        run.inside.source,
        seconds(compare::unsigned(run.edges_ns)),
    );
    for check in &run.checks {
        let _ = writeln!(
            text,
            "  {:<42} {:>12} {:>24} {:>9} {:>9}  {}",
            check.what,
            check.ledger,
            check.kernel,
            percent(check.difference),
            check.tolerance.map_or_else(String::new, |tolerance| percent(tolerance * slack)),
            check.verdict(slack)
        );
    }
    let mut rows: Vec<_> = run.inside.rows.iter().collect();
    rows.sort_by_key(|(_, amounts)| -amounts.wall_ns);
    for (place, amounts) in rows.into_iter().take(ROWS_SHOWN) {
        let _ = writeln!(
            text,
            "    {:<32} wall {:>11} CPU {:>10} runnable {:>10} blocked {:>11} x {}",
            format!("{}: {}", place.category, place.name),
            seconds(float(amounts.wall_ns)),
            seconds(float(amounts.on_cpu_ns)),
            seconds(float(amounts.runnable_ns)),
            seconds(float(amounts.blocked_ns)),
            amounts.occurrences
        );
    }
    for note in &run.notes {
        let _ = writeln!(text, "  {note}");
    }
}

fn percent(share: f64) -> String {
    format!("{:+.3} %", share * 1e2)
}

fn apart(count: &calls::Count) -> String {
    match count.difference() {
        None => "too few to compare".to_owned(),
        Some(difference) if difference.abs() <= calls::TOLERANCE => percent(difference),
        Some(difference) => format!("{} PAST", percent(difference)),
    }
}

fn others(calls: &calls::Calls) -> String {
    let each = calls.others.iter().map(|(name, count)| format!("{name} {count}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Returns the section of the page, without its heading.
pub(crate) fn section(books: &Books) -> String {
    let mut page = OPENING.to_owned();
    put_summary(&mut page, books);
    put_past(&mut page, books);
    for calls in &books.calls {
        page.push_str("\n| system calls | ledger | strace | difference |\n|---|---|---|---|\n");
        for count in &calls.rows {
            let (ledger, strace) = (count.ledger, count.strace);
            let _ = writeln!(page, "| {} | {ledger} | {strace} | {} |", count.cause, apart(count));
        }
        let _ = writeln!(page, "\nCalls of other names that strace saw: {}.", others(calls));
    }
    for profile in &books.profiles {
        let _ = writeln!(
            page,
            "\nShare of CPU under {}, by the ledger and by {} stacks that perf took, which a table maps to \
             labels by function: a coarse map, so that this is shown and not judged.\n\n\
             | | ledger | perf record | |\n|---|---|---|---|",
            profile.load, profile.samples
        );
        for cells in profile.rows.iter().map(share_cells) {
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
    }
    page.push_str("\n| | |\n|---|---|\n");
    for (name, value) in &books.facts {
        let _ = writeln!(page, "| {name} | {value} |");
    }
    for what in &books.failures {
        let _ = writeln!(page, "\nNot measured: {what}");
    }
    page
}

/// Writes a line for each run, with the promises only.
fn put_summary(page: &mut String, books: &Books) {
    let _ = write!(page, "\n| load | server run by (source) |");
    for (_, heading) in SUMMARY {
        let _ = write!(page, " {heading} |");
    }
    let _ = writeln!(page, " past |\n|---|---|{}---|", "---|".repeat(SUMMARY.len()));
    for run in &books.runs {
        let _ = write!(page, "| {} | {} ({}) |", run.load, run.setting.name(), run.inside.source);
        for (what, _) in SUMMARY {
            let check = run.checks.iter().find(|check| check.what == what);
            let shown = |check: &Check| match check.tolerance {
                Some(_) => percent(check.difference),
                None => format!("({})", percent(check.difference)),
            };
            let _ = write!(page, " {} |", check.map_or_else(String::new, shown));
        }
        let past = run.checks.iter().filter(|check| !check.holds(books.slack)).count();
        let _ = writeln!(page, " {past} of {} |", run.checks.len());
    }
}

/// Writes every check that exceeds its tolerance.
fn put_past(page: &mut String, books: &Books) {
    let checks = books.runs.iter().flat_map(|run| run.checks.iter().map(move |check| (run, check)));
    let past: Vec<_> = checks.filter(|(_, check)| !check.holds(books.slack)).collect();
    if past.is_empty() {
        page.push_str("\nNothing was past its tolerance.\n");
        return;
    }
    page.push_str(
        "\nPast a tolerance:\n\n| load, server run by | check | ledger | kernel | difference | tolerance |\n\
         |---|---|---|---|---|---|\n",
    );
    for (run, check) in past {
        let _ = writeln!(
            page,
            "| {}, {} ({}) | {} | {} | {} | {} | {} |",
            run.load,
            run.setting.name(),
            run.inside.source,
            check.what,
            check.ledger,
            check.kernel,
            percent(check.difference),
            check.tolerance.map_or_else(String::new, percent),
        );
    }
}

/// Returns the whole comparison as JSON.
pub(crate) fn json(books: &Books) -> String {
    let facts = books.facts.iter().map(|(name, value)| format!("{}:{}", quote(name), quote(value)));
    let runs = books.runs.iter().map(|run| run_json(run, books.slack));
    let calls = books.calls.iter().flat_map(|calls| &calls.rows).map(|count| {
        let (ledger, strace) = (count.ledger, count.strace);
        format!("{{\"cause\":{},\"ledger\":{ledger},\"strace\":{strace}}}", quote(count.cause))
    });
    let shares = books.profiles.iter().flat_map(|profile| &profile.rows).map(|share| {
        let (ledger, perf, error) = (share.ledger, share.perf, share.error);
        let name = quote(&share.name);
        format!(
            "{{\"name\":{name},\"ledger\":{ledger:.5},\"perf\":{perf:.5},\"error\":{error:.5}}}"
        )
    });
    let failures = books.failures.iter().map(|what| quote(what));
    format!(
        "{{\"machine\":{{{}}},\n\"runs\":[{}],\n\"calls\":[{}],\n\"shares\":[{}],\n\"failures\":[{}]}}\n",
        join(facts),
        join(runs),
        join(calls),
        join(shares),
        join(failures)
    )
}

fn run_json(run: &Run, slack: f64) -> String {
    let checks = run.checks.iter().map(|check| {
        format!(
            "{{\"what\":{},\"ledger\":{},\"kernel\":{},\"difference\":{:.6},\"tolerance\":{},\
             \"verdict\":{}}}",
            quote(check.what),
            quote(&check.ledger),
            quote(&check.kernel),
            check.difference,
            check.tolerance.map_or_else(|| "null".to_owned(), |tolerance| tolerance.to_string()),
            quote(check.verdict(slack))
        )
    });
    let rows = run.inside.rows.iter().map(|(place, amounts)| {
        format!(
            "{{\"category\":{},\"name\":{},\"wall_ns\":{},\"on_cpu_ns\":{},\"runnable_ns\":{},\
             \"blocked_ns\":{},\"occurrences\":{},\"sampling_error\":{}}}",
            quote(&place.category),
            quote(&place.name),
            amounts.wall_ns,
            amounts.on_cpu_ns,
            amounts.runnable_ns,
            amounts.blocked_ns,
            amounts.occurrences,
            amounts.sampling_error.map_or_else(|| "null".to_owned(), |error| error.to_string())
        )
    });
    format!(
        "{{\"load\":{},\"setting\":{},\"source\":{},\"requests\":{},\"threads\":{},\"wall_ns\":{},\
         \"checks\":[{}],\"rows\":[{}]}}",
        quote(run.load),
        quote(&run.setting.name()),
        quote(&run.inside.source),
        run.requests,
        run.outside.threads,
        run.outside.at_ns,
        join(checks),
        join(rows)
    )
}
