//! A race's results as text, as JSON, and as a section of a page.

use std::fmt::Write;

use load::json::{join, quote};

use crate::bulk::{self, Bulk, BulkLap};
use crate::common::{Setting, failures_json, put_heads, put_line, put_verdicts, verdicts_table};
use crate::keeping::verdicts;
use crate::run::{Lap, Race, as_float, median};
use crate::work::Work;

/// The heads of the columns.
const HEADS: [&str; 8] =
    ["work", "peer", "CPU us", "(range)", "requests/s", "p50 us", "p99 us", "p99.9 us"];
/// The heads of the columns for work on many rows.
const BULK_HEADS: [&str; 6] = ["work", "peer", "CPU ms", "(range)", "ms", "Mrows/s"];
/// The text before the figures, which a reader needs to understand them.
const LEGEND: &str = "CPU is the server's per request, all of its processes, median of the turns. A closed loop of 64 \
    connections: latencies follow from the rate. Where a server was not busy all the time, the client or neighbours \
    limited its rate, and not its CPU.";

/// Returns how to install a peer that is missing.
fn absence(name: &str) -> String {
    match name {
        bulk::DUCKDB => format!("{name}: not found: make race-setup installs it into .venv"),
        _ => format!("{name}: not found: make race-setup installs it"),
    }
}

fn cells(lap: &Lap) -> Vec<String> {
    let (cpu, range) = cpu_cells(&lap.cpu_us);
    let micros = |percent: f64| {
        let ns = lap.latencies.value_at_quantile(percent / 100.0);
        format!("{:.0}", as_float(ns) / 1e3)
    };
    vec![
        lap.work.name().to_owned(),
        lap.name.clone(),
        cpu,
        range,
        format!("{:.0}", median(&lap.rates)),
        micros(50.0),
        micros(99.0),
        micros(99.9),
    ]
}

/// Returns the median of CPU times, and their range; a dash if there are none.
fn cpu_cells(values: &[f64]) -> (String, String) {
    match (values.first(), values.last()) {
        (Some(least), Some(most)) => {
            (format!("{:.2}", median(values)), format!("{least:.2} .. {most:.2}"))
        }
        _ => ("-".to_owned(), "-".to_owned()),
    }
}

const NO_CPU: &str = "its CPU can't be read from here";

fn notes(lap: &Lap) -> String {
    match lap.busy_percent {
        None => NO_CPU.to_owned(),
        Some(percent) if lap.is_idle_at_times() => format!("server {percent:.0} % busy"),
        Some(_) => String::new(),
    }
}

fn bulk_cells(lap: &BulkLap) -> Vec<String> {
    let (cpu, range) = cpu_cells(&lap.cpu_ms);
    vec![
        lap.bulk.name().to_owned(),
        lap.name.clone(),
        cpu,
        range,
        format!("{:.2}", median(&lap.wall_ms)),
        format!("{:.2}", lap.rows_per_second() / 1e6),
    ]
}

fn bulk_notes(lap: &BulkLap) -> &'static str {
    if lap.cpu_ms.is_empty() { NO_CPU } else { "" }
}

/// Returns a race's results as text for a terminal.
pub fn text(race: &Race) -> String {
    let mut text = setting(race).text();
    for name in &race.absent {
        let _ = writeln!(text, "{}", absence(name));
    }
    for work in Work::ALL {
        let laps: Vec<_> = race.laps.iter().filter(|lap| lap.work == work).collect();
        if laps.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}: {}", work.name(), work.meaning());
        put_cells(&mut text, &HEADS.map(str::to_owned), "");
        laps.iter().for_each(|lap| put_cells(&mut text, &cells(lap), &notes(lap)));
        for (name, _, why) in race.left_out.iter().filter(|(_, of, _)| *of == work) {
            let _ = writeln!(text, "  {name:<18} left out: {why}");
        }
    }
    for bulk in Bulk::ALL {
        let laps: Vec<_> = race.bulk_laps.iter().filter(|lap| lap.bulk == bulk).collect();
        if laps.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}: {}", bulk.name(), bulk.meaning());
        put_cells(&mut text, &BULK_HEADS.map(str::to_owned), "");
        laps.iter().for_each(|lap| put_cells(&mut text, &bulk_cells(lap), bulk_notes(lap)));
    }
    put_verdicts(&mut text, &verdicts(race));
    let _ = writeln!(text, "\n{LEGEND}");
    for (name, why) in &race.failures {
        let _ = writeln!(text, "FAILED {name}: {why}");
    }
    text
}

/// Writes a line of a table, without its first cell, which is in the heading.
fn put_cells(text: &mut String, cells: &[String], note: &str) {
    let first = format!("  {:<18}", cells[1]);
    put_line(text, &first, &cells[2..], &[9, 18, 11, 9, 9, 9], note);
}

fn setting(race: &Race) -> Setting<'_> {
    Setting { facts: &race.facts, entrants: &race.entrants, plan: &race.plan }
}

/// Returns a race's results as JSON.
pub fn json(race: &Race) -> String {
    let setting = setting(race);
    let left_out = race.left_out.iter().map(|(name, work, why)| {
        let work = quote(work.name());
        format!("{{\"name\":{},\"work\":{work},\"why\":{}}}", quote(name), quote(why))
    });
    format!(
        "{{\"machine\":{{{}}},\"run\":{},\"peers\":[{}],\"absent\":[{}],\"failures\":[{}],\"left_out\":[{}],\"results\":[{}],\"bulk\":[{}]}}\n",
        setting.facts_json(),
        quote(&race.plan),
        setting.entrants_json(),
        join(race.absent.iter().map(|name| quote(name))),
        failures_json(&race.failures),
        join(left_out),
        race.laps.iter().map(lap_json).collect::<Vec<_>>().join(",\n"),
        race.bulk_laps.iter().map(bulk_json).collect::<Vec<_>>().join(",\n")
    )
}

/// Returns a number, or `null` if there are no values.
fn or_null(values: &[f64]) -> String {
    if values.is_empty() { "null".to_owned() } else { format!("{:.3}", median(values)) }
}

fn bulk_json(lap: &BulkLap) -> String {
    let list = |values: &[f64]| join(values.iter().map(|value| format!("{value:.3}")));
    format!(
        "{{\"work\":{},\"by\":{},\"rows\":{},\"cpu_ms\":{},\"cpu_ms_turns\":[{}],\"wall_ms\":{:.3},\
         \"wall_ms_turns\":[{}],\"rows_per_second\":{:.0}}}",
        quote(lap.bulk.name()),
        quote(&lap.name),
        lap.rows,
        or_null(&lap.cpu_ms),
        list(&lap.cpu_ms),
        median(&lap.wall_ms),
        list(&lap.wall_ms),
        lap.rows_per_second()
    )
}

fn lap_json(lap: &Lap) -> String {
    let list = |values: &[f64]| join(values.iter().map(|value| format!("{value:.3}")));
    let ns = |percent: f64| lap.latencies.value_at_quantile(percent / 100.0);
    format!(
        "{{\"work\":{},\"peer\":{},\"requests\":{},\"cpu_us\":{},\"cpu_us_turns\":[{}],\"rate\":{:.1},\"rate_turns\":[{}],\
         \"p50_ns\":{},\"p99_ns\":{},\"p999_ns\":{},\"server_busy_percent\":{}}}",
        quote(lap.work.name()),
        quote(&lap.name),
        lap.latencies.len(),
        or_null(&lap.cpu_us),
        list(&lap.cpu_us),
        median(&lap.rates),
        list(&lap.rates),
        ns(50.0),
        ns(99.0),
        ns(99.9),
        lap.busy_percent.map_or_else(|| "null".to_owned(), |percent| format!("{percent:.1}"))
    )
}

/// Returns a race's results as a section of a page, without its heading.
pub fn section(race: &Race) -> String {
    let make = if race.is_durable { "make race-durable" } else { "make race" };
    let mut text = format!(
        "\nWritten by `{make}`; [docs/race.md](race.md) says what is the same for all and what is not. {LEGEND}\n\n"
    );
    put_heads(&mut text, &HEADS);
    for lap in &race.laps {
        let _ = writeln!(text, "| {} | {} |", cells(lap).join(" | "), notes(lap));
    }
    text.push_str(&verdicts_table(&verdicts(race)));
    if !race.bulk_laps.is_empty() {
        text.push('\n');
        put_heads(&mut text, &BULK_HEADS);
    }
    for lap in &race.bulk_laps {
        let _ = writeln!(text, "| {} | {} |", bulk_cells(lap).join(" | "), bulk_notes(lap));
    }
    text.push('\n');
    let raced = |bulk: &Bulk| race.bulk_laps.iter().any(|lap| lap.bulk == *bulk);
    for bulk in Bulk::ALL.iter().filter(|bulk| raced(bulk)) {
        let _ = writeln!(text, "- {}: {}", bulk.name(), bulk.meaning());
    }
    for work in Work::ALL {
        let _ = writeln!(text, "- {}: {}", work.name(), work.meaning());
    }
    for (name, work, why) in &race.left_out {
        let _ = writeln!(text, "- {name}, {}: left out: {why}", work.name());
    }
    for name in &race.absent {
        let _ = writeln!(text, "- {}", absence(name));
    }
    for (name, why) in &race.failures {
        let _ = writeln!(text, "- FAILED {name}: {why}");
    }
    text.push_str(&setting(race).table());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::new_histogram;

    fn race() -> Race {
        let mut latencies = new_histogram();
        latencies.saturating_record(250_000);
        let lap = Lap {
            work: Work::Get,
            name: "redis".to_owned(),
            cpu_us: vec![4.0, 5.0, 9.0],
            rates: vec![100_000.0, 150_000.0, 200_000.0],
            latencies,
            busy_percent: Some(60.0),
        };
        Race {
            laps: vec![lap],
            absent: vec!["memcached"],
            failures: vec![("x".to_owned(), "wrong \"answer\"".to_owned())],
            ..Race::default()
        }
    }

    #[test]
    fn all_that_was_found_is_said() {
        let text = text(&race());
        for part in ["5.00", "4.00 .. 9.00", "150000", "60 % busy"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("memcached: not found: make race-setup installs it"), "{text}");
        assert!(text.contains("FAILED x: wrong \"answer\""), "{text}");
        let section = section(&race());
        assert!(
            section.contains("| get | redis | 5.00 | 4.00 .. 9.00 | 150000 | 250 |"),
            "{section}"
        );
        let json = json(&race());
        assert!(json.contains("\"cpu_us\":5.000,\"cpu_us_turns\":[4.000,5.000,9.000]"), "{json}");
        assert!(json.contains("wrong \\\"answer\\\""), "{json}");
    }
}
