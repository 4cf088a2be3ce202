//! The results of a comparison with DuckDB, as text, as a section of the page and as JSON.

use std::fmt::Write;

use super::answer::{Rows, Verdict};
use super::{Found, Line, Own};
use load::json::quote;

const COLUMNS: [&str; 5] = ["query", "clearway, ms", "DuckDB, ms", "ratio", "answer"];

impl Line {
    pub(crate) fn cells(&self) -> [String; 5] {
        let peer = format!("{:.1}", milliseconds(self.peer_ns));
        match &self.own {
            Own::Answered { cpu_ns, verdict } => [
                self.name.clone(),
                format!("{:.1}", milliseconds(*cpu_ns)),
                peer,
                format!("{:.2}", milliseconds(*cpu_ns) / milliseconds(self.peer_ns)),
                verdict.name().to_owned(),
            ],
            Own::Failed(what) => {
                [self.name.clone(), "-".to_owned(), peer, "-".to_owned(), what.replace('\n', " ")]
            }
        }
    }

    fn is_right(&self) -> bool {
        matches!(self.own, Own::Answered { verdict, .. } if verdict != Verdict::Different)
    }
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::OtherOrder => "same, ties in another order",
            Self::OtherTies => "same, others of equal rank",
            Self::Different => "DIFFERENT",
        }
    }
}

impl Found {
    pub(crate) fn is_right(&self) -> bool {
        self.lines.iter().all(Line::is_right)
    }

    /// Returns the CPU of both sides over the answered queries, in milliseconds.
    fn totals(&self) -> (f64, f64) {
        let both = self.lines.iter().filter_map(|line| match line.own {
            Own::Answered { cpu_ns, .. } => {
                Some((milliseconds(cpu_ns), milliseconds(line.peer_ns)))
            }
            Own::Failed(_) => None,
        });
        both.fold((0.0, 0.0), |sums, each| (sums.0 + each.0, sums.1 + each.1))
    }

    fn verdict(&self) -> String {
        let missing = self.lines.iter().filter(|line| !line.is_right()).count();
        let (own, peer) = self.totals();
        match own / peer {
            _ if missing > 0 => format!("MISSED: {missing} queries have no right answer"),
            ratio if ratio <= self.ratio_max => "met".to_owned(),
            _ => "MISSED".to_owned(),
        }
    }

    pub(crate) fn summary(&self) -> String {
        let (own, peer) = self.totals();
        format!(
            "{}, {} rows loaded in {:.1} s of CPU; {} queries: {own:.0} ms against {peer:.0} ms, \
             ratio {:.2}, at most {} asked: {}",
            self.scale,
            self.rows,
            milliseconds(self.load_cpu_ns) / 1e3,
            self.lines.len(),
            own / peer,
            self.ratio_max,
            self.verdict()
        )
    }

    pub(crate) fn section(&self) -> String {
        let mut page = format!("\n{}\n\n", self.opening);
        let _ = writeln!(page, "{}.\n", self.summary());
        let _ = writeln!(page, "| {} |\n|{}", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
        for line in &self.lines {
            let _ = writeln!(page, "| {} |", line.cells().join(" | "));
        }
        page.push_str("\n| | |\n|---|---|\n");
        for (name, value) in &self.facts {
            let _ = writeln!(page, "| {name} | {value} |");
        }
        page
    }

    pub(crate) fn json(&self) -> String {
        let each = self.lines.iter().map(|line| {
            let own = match &line.own {
                Own::Answered { cpu_ns, verdict } => {
                    format!("\"cpu_ns\":{cpu_ns},\"answer\":{}", quote(verdict.name()))
                }
                Own::Failed(what) => format!("\"cpu_ns\":null,\"answer\":{}", quote(what)),
            };
            format!("{{\"query\":{},\"peer_cpu_ns\":{},{own}}}", quote(&line.name), line.peer_ns)
        });
        let (own, peer) = self.totals();
        format!(
            "{{\"scale\":{},\"rows\":{},\"load_cpu_ns\":{},\"asked_ratio_max\":{:.1},\"ratio\":{:.4},\
             \"verdict\":{},\"queries\":[{}]}}\n",
            quote(&self.scale),
            self.rows,
            self.load_cpu_ns,
            self.ratio_max,
            own / peer,
            quote(&self.verdict()),
            each.collect::<Vec<_>>().join(",")
        )
    }
}

/// Describes the first difference of two answers.
pub(crate) fn first_difference(own: &Rows, other: &Rows) -> String {
    let at = own.iter().zip(other).position(|(own, other)| own != other);
    let at = at.unwrap_or_else(|| own.len().min(other.len()));
    format!(
        "  {} rows here, {} there; row {at}:\n    here  {:?}\n    there {:?}",
        own.len(),
        other.len(),
        own.get(at),
        other.get(at)
    )
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: Own) -> Found {
        let line = Line { name: "q01".to_owned(), peer_ns: 1_000_000, own };
        Found {
            facts: Vec::new(),
            opening: String::new(),
            scale: "scale factor 0.1".to_owned(),
            ratio_max: 3.0,
            rows: 7,
            load_cpu_ns: 1,
            lines: vec![line],
        }
    }

    #[test]
    fn only_a_right_answer_in_time_meets_the_goal() {
        let answered = |cpu_ns, verdict| found(Own::Answered { cpu_ns, verdict }).verdict();
        assert_eq!(answered(2_900_000, Verdict::Same), "met");
        assert_eq!(answered(3_100_000, Verdict::Same), "MISSED");
        assert!(answered(1_000, Verdict::Different).starts_with("MISSED: 1"));
        assert!(found(Own::Failed("error 40517".to_owned())).verdict().starts_with("MISSED: 1"));
    }

    #[test]
    fn json_names_each_query() {
        let json = found(Own::Failed("no \"answer\"".to_owned())).json();
        assert!(json.contains(
            r#"{"query":"q01","peer_cpu_ns":1000000,"cpu_ns":null,"answer":"no \"answer\""}"#
        ));
    }
}
