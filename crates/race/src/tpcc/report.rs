//! The results of a race of TPC-C's transactions as text, as JSON, and as a section of a page.

use std::fmt::Write;

use ::tpcc::Transaction;
use load::json::{join, quote};

use super::{TpccLap, TpccRace, TpccWork};
use crate::common::{Setting, failures_json, put_heads, put_line, put_verdicts, verdicts_table};
use crate::keeping::Verdict;
use crate::run::{as_float, median};

/// The CPU per New-Order of Clearway beside PostgreSQL's, at most.
const CPU_MAX: f64 = 0.25;
/// The heads of the columns.
const HEADS: [&str; 9] =
    ["work", "peer", "CPU us", "(range)", "of ours", "calls/s", "p50 ms", "p99 ms", "repeated"];
/// The text before the figures, which a reader needs to understand them.
const LEGEND: &str = "CPU is the server's per call, all of its processes, median of the turns; \"of ours\" is its multiple of \
    Clearway's in the same turn, median of the pairs. Derived from TPC-C, without its keying and think times: not an audited \
    TPC-C result, and not comparable to one. A closed loop of ten terminals for each warehouse: rates and latencies follow from \
    the CPU where the server was busy.";

/// Returns the medians and ranges that a line shows; the CPU is divided by `part`.
fn line(race: &TpccRace, lap: &TpccLap, work: &str, part: f64) -> Vec<String> {
    let mut cpu_us: Vec<_> = lap.cpu_us.iter().map(|us| us / part).collect();
    cpu_us.sort_by(f64::total_cmp);
    let mut rates = lap.rates.clone();
    rates.sort_by(f64::total_cmp);
    let least = cpu_us.first().copied().unwrap_or(0.0);
    let most = cpu_us.last().copied().unwrap_or(0.0);
    let ms = |percent: f64| {
        let ns = lap.latencies.value_at_quantile(percent / 100.0);
        format!("{:.2}", as_float(ns) / 1e6)
    };
    let times = pairs(race, lap.work, &lap.name, "clearway");
    vec![
        work.to_owned(),
        lap.name.clone(),
        format!("{:.1}", median(&cpu_us)),
        format!("{least:.1} .. {most:.1}"),
        times.map_or_else(|| "-".to_owned(), |times| format!("{times:.2} x")),
        format!("{:.0}", median(&rates) * part),
        ms(50.0),
        ms(99.0),
        lap.retries.to_string(),
    ]
}

/// Returns the lines of a lap. The mix has another one, per New-Order.
fn lines(race: &TpccRace, lap: &TpccLap) -> Vec<Vec<String>> {
    let mut lines = vec![line(race, lap, lap.work.name(), 1.0)];
    if lap.work == TpccWork::Mix && lap.orders_part > 0.0 {
        lines.push(line(race, lap, "mix, per New-Order", lap.orders_part));
    }
    lines
}

/// Returns the median, over the turns, of the CPU of one server beside another's in the same turn.
fn pairs(race: &TpccRace, work: TpccWork, ours: &str, theirs: &str) -> Option<f64> {
    let lap = |name: &str| race.laps.iter().find(|lap| lap.work == work && lap.name == name);
    let pairs = lap(ours)?.cpu_us.iter().zip(&lap(theirs)?.cpu_us);
    let mut ratios: Vec<_> = pairs.map(|(ours, theirs)| ours / theirs.max(1e-9)).collect();
    ratios.sort_by(f64::total_cmp);
    (!ratios.is_empty()).then(|| median(&ratios))
}

/// Returns the ratios beside what is asked for.
fn verdicts(race: &TpccRace) -> Vec<Verdict> {
    let works = [TpccWork::Only(Transaction::NewOrder), TpccWork::Mix];
    let verdict = |work: TpccWork| {
        let what = match work {
            TpccWork::Mix => "CPU per New-Order of the mix beside PostgreSQL",
            TpccWork::Only(_) => "CPU per New-Order beside PostgreSQL",
        };
        let found = pairs(race, work, "clearway", "postgresql");
        Verdict::new(what, ("at most", CPU_MAX), found, |found| found <= CPU_MAX)
    };
    works.map(verdict).into()
}

fn notes(lap: &TpccLap) -> String {
    const BUSY_PERCENT: f64 = 95.0;
    match lap.busy_percent < BUSY_PERCENT {
        true => format!("server {:.0} % busy", lap.busy_percent),
        false => String::new(),
    }
}

/// Returns a race's results as text for a terminal.
pub fn tpcc_text(race: &TpccRace) -> String {
    let mut text = setting(race).text();
    for name in &race.absent {
        let _ = writeln!(text, "{name}: not found: make race-setup installs it");
    }
    put_cells(&mut text, &HEADS.map(str::to_owned), "");
    for lap in &race.laps {
        lines(race, lap).iter().for_each(|line| put_cells(&mut text, line, &notes(lap)));
    }
    put_verdicts(&mut text, &verdicts(race));
    text.push('\n');
    for proof in &race.proofs {
        let _ = writeln!(text, "{proof}");
    }
    let _ = writeln!(text, "\n{LEGEND}");
    for (name, why) in &race.failures {
        let _ = writeln!(text, "FAILED {name}: {why}");
    }
    text
}

fn put_cells(text: &mut String, cells: &[String], note: &str) {
    let first = format!("  {:<19}{:<12}", cells[0], cells[1]);
    put_line(text, &first, &cells[2..], &[9, 18, 10, 10, 9, 9, 10], note);
}

fn setting(race: &TpccRace) -> Setting<'_> {
    Setting { facts: &race.facts, entrants: &race.entrants, plan: &race.plan }
}

/// Returns a race's results as JSON.
pub fn tpcc_json(race: &TpccRace) -> String {
    let setting = setting(race);
    format!(
        "{{\"machine\":{{{}}},\"run\":{},\"durable\":{},\"peers\":[{}],\"absent\":[{}],\"failures\":[{}],\"proofs\":[{}],\
         \"results\":[{}]}}\n",
        setting.facts_json(),
        quote(&race.plan),
        race.is_durable,
        setting.entrants_json(),
        join(race.absent.iter().map(|name| quote(name))),
        failures_json(&race.failures),
        join(race.proofs.iter().map(|proof| quote(proof))),
        race.laps.iter().map(lap_json).collect::<Vec<_>>().join(",\n")
    )
}

fn lap_json(lap: &TpccLap) -> String {
    let list = |values: &[f64]| join(values.iter().map(|value| format!("{value:.3}")));
    let ns = |percent: f64| lap.latencies.value_at_quantile(percent / 100.0);
    format!(
        "{{\"work\":{},\"peer\":{},\"calls\":{},\"cpu_us_turns\":[{}],\"rate_turns\":[{}],\"orders_part\":{:.4},\
         \"p50_ns\":{},\"p99_ns\":{},\"repeated\":{},\"server_busy_percent\":{:.1}}}",
        quote(lap.work.name()),
        quote(&lap.name),
        lap.latencies.len(),
        list(&lap.cpu_us),
        list(&lap.rates),
        lap.orders_part,
        ns(50.0),
        ns(99.0),
        lap.retries,
        lap.busy_percent
    )
}

/// Returns a race's results as a section of a page, without its heading.
pub fn tpcc_section(race: &TpccRace) -> String {
    let mut text = format!(
        "\nWritten by `make race-tpcc`; [docs/race.md](race.md) says what is the same for all and what is not. {LEGEND}\n\n"
    );
    put_heads(&mut text, &HEADS);
    for lap in &race.laps {
        for line in lines(race, lap) {
            let _ = writeln!(text, "| {} | {} |", line.join(" | "), notes(lap));
        }
    }
    text.push_str(&verdicts_table(&verdicts(race)));
    text.push('\n');
    for proof in &race.proofs {
        let _ = writeln!(text, "- {proof}");
    }
    for name in &race.absent {
        let _ = writeln!(text, "- {name}: not found: make race-setup installs it");
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

    fn lap(work: TpccWork, name: &str, cpu_us: &[f64]) -> TpccLap {
        TpccLap {
            work,
            name: name.to_owned(),
            cpu_us: cpu_us.to_vec(),
            rates: vec![1_000.0; cpu_us.len()],
            orders_part: 0.45,
            latencies: new_histogram(),
            retries: 0,
            busy_percent: 99.0,
        }
    }

    #[test]
    fn ratios_are_of_turns_of_the_same_place() {
        let new_order = TpccWork::Only(Transaction::NewOrder);
        let laps = vec![
            lap(TpccWork::Mix, "clearway", &[100.0, 90.0, 300.0]),
            lap(TpccWork::Mix, "postgresql", &[500.0, 300.0, 600.0]),
            lap(new_order, "clearway", &[100.0, 100.0]),
            lap(new_order, "postgresql", &[500.0, 800.0]),
        ];
        let race = TpccRace { laps, ..TpccRace::default() };
        let found = pairs(&race, TpccWork::Mix, "clearway", "postgresql");
        assert!(found.is_some_and(|ratio| (ratio - 0.3).abs() < 1e-9), "{found:?}");
        assert_eq!(pairs(&race, TpccWork::Mix, "clearway", "mariadb"), None);
        let verdicts: Vec<_> = verdicts(&race).into_iter().map(|it| it.verdict).collect();
        assert_eq!(verdicts, ["met", "MISSED"]);
        let section = tpcc_section(&race);
        for part in ["| mix, per New-Order | clearway | 222.2 |", "3.33 x", "New-Order | 0.16 x"] {
            let part = part.replace("New-Order | 0.16 x", "at most 0.25 x | 0.16 x");
            assert!(section.contains(&part), "{part}: {section}");
        }
        assert!(tpcc_text(&race).contains("MISSED"));
        assert!(tpcc_json(&race).contains("\"cpu_us_turns\":[100.000,90.000,300.000]"));
    }
}
