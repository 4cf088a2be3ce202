//! `Run`: what came of a run, as a line of a file, so that runs can be made in pieces and scored
//! together.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use verdict::category::Category;

use crate::list::Severity;

/// A run and what was said about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// The fault's name in the table.
    pub(crate) fault: String,
    /// `None` for a healthy run.
    pub(crate) severity: Option<Severity>,
    /// The causes of which each is a right answer.
    pub(crate) right: Vec<String>,
    /// What the tool said.
    pub(crate) said: String,
    /// What a reader of a list of waits would say.
    pub(crate) largest_wait: String,
    /// The share of the machine's CPU time that processes other than the server used.
    pub(crate) others: f64,
    /// The CPU time that the tool's questions took of the server, as a share of its schedulers'.
    pub(crate) cost: f64,
    /// Seconds from the start of the tool to its verdict.
    pub(crate) seconds: f64,
    /// The leaves of the ledger, with thread seconds per second.
    pub(crate) parts: Vec<(Category, String, f64)>,
}

impl Run {
    /// Writes it as a line: fields separated by tabs, elements by semicolons.
    fn to_line(&self) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|(category, name, active)| format!("{}/{name}={active:.9}", category.name()))
            .collect();
        [
            self.fault.clone(),
            self.severity.map_or("-", Severity::name).to_owned(),
            self.right.join(";"),
            self.said.clone(),
            self.largest_wait.clone(),
            format!("{:.4}", self.others),
            format!("{:.6}", self.cost),
            format!("{:.2}", self.seconds),
            parts.join(";"),
        ]
        .join("\t")
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next().map(str::to_owned);
        let (fault, severity, right) = (next()?, next()?, next()?);
        let (said, largest_wait) = (next()?, next()?);
        let [others, cost, seconds] = [next()?, next()?, next()?];
        let parts = next()?;
        let part = |text: &str| {
            let (leaf, active) = text.rsplit_once('=')?;
            let (category, name) = leaf.split_once('/')?;
            Some((Category::from_name(category), name.to_owned(), active.parse().ok()?))
        };
        let parts: Option<Vec<_>> =
            parts.split(';').filter(|text| !text.is_empty()).map(part).collect();
        Some(Self {
            fault,
            severity: Severity::from_name(&severity),
            right: right.split(';').map(str::to_owned).collect(),
            said,
            largest_wait,
            others: others.parse().ok()?,
            cost: cost.parse().ok()?,
            seconds: seconds.parse().ok()?,
            parts: parts?,
        })
    }

    /// Adds it to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn append(&self, file: &Path) -> Result<(), String> {
        let opened = OpenOptions::new().create(true).append(true).open(file);
        opened
            .and_then(|mut file| writeln!(file, "{}", self.to_line()))
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Reads the runs of a file; none if there is no such file.
    ///
    /// # Errors
    /// A line is not a run.
    pub(crate) fn read(file: &Path) -> Result<Vec<Self>, String> {
        let Ok(text) = fs::read_to_string(file) else { return Ok(Vec::new()) };
        let run = |(place, line)| {
            Self::from_line(line)
                .ok_or_else(|| format!("{}: line {} is no run", file.display(), place + 1))
        };
        text.lines().enumerate().map(run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_survives_its_line() {
        let run = Run {
            fault: "hot-row".to_owned(),
            severity: Some(Severity::High),
            right: vec!["hot-row".to_owned(), "deadlocks".to_owned()],
            said: "no verdict".to_owned(),
            largest_wait: "hot-row".to_owned(),
            others: 0.25,
            cost: 0.001,
            seconds: 6.5,
            parts: vec![(Category::Wait, "LCK_M_X".to_owned(), 4.5)],
        };
        assert_eq!(Run::from_line(&run.to_line()), Some(run));
    }
}
