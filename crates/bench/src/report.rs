//! `Report`: the goals and the measured numbers, as a table and as JSON.

use std::fmt::Write;

use load::Outcome;
use load::json::{join, quote};

use crate::machine::Facts;

/// Percentiles of every latency report.
const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];

/// Everything measured in a run.
pub(crate) struct Report {
    facts: Facts,
    races: Vec<Race>,
    figures: Vec<Figure>,
    failures: Vec<Failure>,
}

/// A race against the echo server.
pub(crate) struct Race {
    pub(crate) name: &'static str,
    pub(crate) ratio_max: f64,
    pub(crate) request_bytes: usize,
    pub(crate) answer_bytes: u64,
    /// CPU per request divided by that of the echo server, one per round.
    pub(crate) ratios: Vec<f64>,
    pub(crate) server: Side,
    pub(crate) echo: Side,
}

/// One side of a race, with a number per window.
#[derive(Default)]
pub(crate) struct Side {
    pub(crate) cpu_ns: Vec<f64>,
    pub(crate) rates: Vec<f64>,
    pub(crate) outcome: Outcome,
}

/// A measured number with its limit.
pub(crate) struct Figure {
    name: &'static str,
    asked_max: f64,
    unit: &'static str,
    measured: Spread,
    note: String,
}

/// A measurement that failed, or an answer that was wrong.
pub(crate) struct Failure {
    pub(crate) name: String,
    pub(crate) what: String,
}

/// The median of some numbers, and their range.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// A line of the table.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) asked: String,
    pub(crate) measured: String,
    pub(crate) verdict: &'static str,
}

impl Spread {
    pub(crate) fn of(numbers: &[f64]) -> Self {
        let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { median: median(numbers), min, max }
    }

    fn json(self) -> String {
        format!("{{\"median\":{:.3},\"min\":{:.3},\"max\":{:.3}}}", self.median, self.min, self.max)
    }
}

pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.get(sorted.len().saturating_sub(1) / 2), sorted.get(sorted.len() / 2)) {
        (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
        _ => 0.0,
    }
}

impl Figure {
    pub(crate) fn new(
        name: &'static str,
        asked_max: f64,
        unit: &'static str,
        measured: &[f64],
    ) -> Self {
        Self { name, asked_max, unit, measured: Spread::of(measured), note: String::new() }
    }

    pub(crate) fn noting(mut self, note: &str) -> Self {
        note.clone_into(&mut self.note);
        self
    }
}

impl Report {
    pub(crate) fn new(facts: Facts) -> Self {
        Self { facts, races: Vec::new(), figures: Vec::new(), failures: Vec::new() }
    }

    pub(crate) fn race(&mut self, race: Race) {
        self.races.push(race);
    }

    pub(crate) fn figure(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failures.push(failure);
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Returns the goals with the measured numbers.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let races = self.races.iter().map(|race| {
            let ratio = Spread::of(&race.ratios);
            Line {
                name: format!("{}: server CPU", race.name),
                asked: format!("{:.1} x echo", race.ratio_max),
                measured: format!("{:.2} x ({:.2} .. {:.2})", ratio.median, ratio.min, ratio.max),
                verdict: verdict(ratio.median, race.ratio_max),
            }
        });
        let figures = self.figures.iter().map(|figure| {
            let Spread { median, min, max } = figure.measured;
            let range = match min < max {
                true => format!(" ({min:.1} .. {max:.1})"),
                false => String::new(),
            };
            Line {
                name: figure.name.to_owned(),
                asked: format!("{} {}", figure.asked_max, figure.unit),
                measured: format!("{median:.1} {}{range}", figure.unit),
                verdict: verdict(median, figure.asked_max),
            }
        });
        races.chain(figures).collect()
    }

    /// Returns the speeds of both sides of each race: a heading and cells.
    pub(crate) fn speeds(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let heading = vec![
            "work",
            "bytes in/out",
            "side",
            "CPU us",
            "requests/s",
            "p50 us",
            "p99 us",
            "p99.9 us",
        ];
        let rows = self.races.iter().flat_map(|race| {
            [("clearway", &race.server), ("echo", &race.echo)].map(|(name, side)| {
                let mut cells = vec![
                    race.name.to_owned(),
                    format!("{}/{}", race.request_bytes, race.answer_bytes),
                    name.to_owned(),
                    format!("{:.2}", median(&side.cpu_ns) / 1e3),
                    format!("{:.0}", median(&side.rates)),
                ];
                cells.extend(PERCENTS.map(|percent| micros(&side.outcome, percent)));
                cells
            })
        });
        (heading, rows.collect())
    }

    /// Returns the notes of the figures that have one.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let noted = self.figures.iter().filter(|figure| !figure.note.is_empty());
        noted.map(|figure| format!("{}: {}", figure.name, figure.note))
    }

    /// Returns the report as text.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.facts {
            let _ = writeln!(text, "{name}: {value}");
        }
        let _ = writeln!(text, "\n{:<42} {:>12}  {:<28}", "what", "asked, max", "measured");
        for line in self.lines() {
            let Line { name, asked, measured, verdict } = line;
            let _ = writeln!(text, "{name:<42} {asked:>12}  {measured:<28} {verdict}");
        }
        let (heading, rows) = self.speeds();
        text.push('\n');
        put_row(&mut text, &heading);
        for row in &rows {
            put_row(&mut text, &row.iter().map(String::as_str).collect::<Vec<_>>());
        }
        text.push('\n');
        for note in self.notes() {
            let _ = writeln!(text, "{note}");
        }
        for Failure { name, what } in &self.failures {
            let _ = writeln!(text, "FAILED {name}: {what}");
        }
        text
    }

    /// Returns the report as JSON.
    pub(crate) fn json(&self) -> String {
        let facts =
            self.facts.iter().map(|(name, value)| format!("{}:{}", quote(name), quote(value)));
        let figures = self.figures.iter().map(|figure| {
            format!(
                "{{\"name\":{},\"asked_max\":{},\"unit\":{},\"measured\":{},\"note\":{}}}",
                quote(figure.name),
                figure.asked_max,
                quote(figure.unit),
                figure.measured.json(),
                quote(&figure.note)
            )
        });
        let failures = self.failures.iter().map(|failure| {
            format!("{{\"name\":{},\"what\":{}}}", quote(&failure.name), quote(&failure.what))
        });
        format!(
            "{{\"machine\":{{{}}},\n\"races\":[{}],\n\"figures\":[{}],\n\"failures\":[{}]}}\n",
            join(facts),
            join(self.races.iter().map(race_json)),
            join(figures),
            join(failures)
        )
    }
}

fn verdict(measured: f64, asked_max: f64) -> &'static str {
    if measured <= asked_max { "met" } else { "MISSED" }
}

fn micros(outcome: &Outcome, percent: f64) -> String {
    let ns = outcome.percentile_ns(percent);
    format!("{}.{:01}", ns / 1_000, ns % 1_000 / 100)
}

fn put_row(text: &mut String, cells: &[&str]) {
    for (column, cell) in cells.iter().enumerate() {
        let _ = match column {
            0 => write!(text, "{cell:<22}"),
            1 | 2 => write!(text, "{cell:<14}"),
            _ => write!(text, "{cell:>11}"),
        };
    }
    text.push('\n');
}

fn race_json(race: &Race) -> String {
    format!(
        "{{\"name\":{},\"request_bytes\":{},\"answer_bytes\":{},\"ratio_max\":{},\"ratio\":{},\
         \"server\":{},\"echo\":{}}}",
        quote(race.name),
        race.request_bytes,
        race.answer_bytes,
        race.ratio_max,
        Spread::of(&race.ratios).json(),
        side_json(&race.server),
        side_json(&race.echo)
    )
}

fn side_json(side: &Side) -> String {
    let percentiles = PERCENTS
        .map(|percent| format!("\"p{percent}_ns\":{}", side.outcome.percentile_ns(percent)));
    format!(
        "{{\"cpu_ns_per_request\":{},\"requests_per_second\":{},\
         \"requests\":{},{}}}",
        Spread::of(&side.cpu_ns).json(),
        Spread::of(&side.rates).json(),
        side.outcome.requests(),
        percentiles.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0]) - 2.5).abs() < 1e-9);
    }

    #[test]
    fn a_miss_is_named() {
        let mut report = Report::new(Vec::new());
        report.figure(Figure::new("start", 50.0, "ms", &[40.0, 60.0, 70.0]));
        report.figure(Figure::new("memory", 30.0, "MB", &[20.0]));
        let verdicts: Vec<_> = report.lines().iter().map(|line| line.verdict).collect();
        assert_eq!(verdicts, ["MISSED", "met"]);
    }
}
