//! Scores: the verdict, and two baselines on the same runs: the largest wait, and the part of the
//! time vector that is furthest from healthy runs (largest z-score).

use std::collections::BTreeMap;
use std::fmt::Write;

use verdict::category::Category;
use verdict::{Cause, Outcome, Verdict};

use crate::list::Severity;
use crate::record::Run;

/// From this share on it is true that other processes take the machine's CPUs.
const BUSY: f64 = 0.5;

impl Run {
    /// Whether what was said is right. Beside a healthy load on a busy machine, both "healthy" and
    /// "other processes take the CPUs" are. So it is with a quota that the server could not reach.
    pub(crate) fn is_right(&self, said: &str) -> bool {
        let may_be_starved = self.severity.is_none() || self.fault == "cpu-quota";
        let is_busy = may_be_starved && self.others >= BUSY;
        self.right.iter().any(|right| right == said)
            || is_busy && said == Cause::CpuElsewhere.name()
    }
}

/// A name for what was said: a cause, `healthy`, `limit outside` or `no verdict`.
pub(crate) fn said(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Cause(cause) => cause.name(),
        Outcome::Healthy if verdict.sentence.contains("outside of the server") => "limit outside",
        Outcome::Healthy => "healthy",
        Outcome::Abstained => "no verdict",
    }
}

/// The cause that a reader of a list of waits would name.
pub(crate) fn largest_wait(verdict: &Verdict) -> &'static str {
    let is_wait = |category| matches!(category, Category::Wait | Category::Spin);
    let mut parts = verdict.window.parts.iter().filter(|part| is_wait(part.category));
    parts.next().map_or("healthy", |part| cause_of(part.category, &part.name))
}

/// The cause that the name of a leaf suggests.
fn cause_of(category: Category, name: &str) -> &'static str {
    let cause = match (category, name) {
        (Category::Spin, "CMED_HASH_SET") => Cause::MetadataSpin,
        (Category::Spin, "SOS_LARGEPAGE_ALLOCATOR") => Cause::AllocatorSpin,
        (Category::Spin, _) => Cause::OtherSpin,
        (Category::Wait, name) if name.starts_with("LCK_M_SCH") => Cause::SchemaLock,
        (Category::Wait, name) if name.starts_with("LCK_") => Cause::HotRow,
        (Category::Wait, "WRITELOG" | "LOGBUFFER") => Cause::LogDevice,
        (Category::Wait, "ASYNC_NETWORK_IO") => Cause::SlowReader,
        (Category::Wait, "RESOURCE_SEMAPHORE") => Cause::MemoryGrants,
        (Category::Wait, "MEMORY_ALLOCATION_EXT") => Cause::MemoryLimit,
        (_, "login" | "PREEMPTIVE_OS_CRYPTOPS") => Cause::Logins,
        (_, "page_populate" | "decommit") => Cause::Decommit,
        (Category::User, "parse" | "bind" | "plan") => Cause::PlanCache,
        (Category::User, "scan") => Cause::MissingIndex,
        (Category::User, "events") => Cause::EventSession,
        (Category::User, "versions") => Cause::OldSnapshot,
        (Category::User, "hash functions") => Cause::PagePerRow,
        (Category::Runnable, _) => Cause::CpuElsewhere,
        _ => return "healthy",
    };
    cause.name()
}

/// Means and deviations of each leaf over healthy runs.
struct Normal(BTreeMap<(Category, String), (f64, f64)>);

impl Normal {
    fn new(runs: &[Run]) -> Self {
        let mut sums: BTreeMap<(Category, String), (f64, f64)> = BTreeMap::new();
        let healthy: Vec<&Run> = runs.iter().filter(|run| run.severity.is_none()).collect();
        for (category, name, active) in healthy.iter().flat_map(|run| &run.parts) {
            let sum = sums.entry((*category, name.clone())).or_default();
            sum.0 += active;
            sum.1 += active * active;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of runs")]
        let count = healthy.len().max(1) as f64;
        for sum in sums.values_mut() {
            let mean = sum.0 / count;
            *sum = (mean, (sum.1 / count - mean * mean).max(0.0).sqrt());
        }
        Self(sums)
    }

    /// The cause that the leaf furthest from normal suggests; 3 deviations at least.
    fn furthest(&self, run: &Run) -> &'static str {
        let score = |(category, name, active): &(Category, String, f64)| {
            let key = (*category, name.clone());
            let (mean, deviation) = self.0.get(&key).copied().unwrap_or_default();
            (active - mean) / deviation.max(0.01)
        };
        let scored = run.parts.iter().map(|part| (score(part), part));
        match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((score, (category, name, _))) if score > 3.0 => cause_of(*category, name),
            _ => "healthy",
        }
    }
}

/// Runs that were right, and all.
#[derive(Clone, Copy, Default)]
struct Tally(u32, u32);

impl Tally {
    fn add(&mut self, is_right: bool) {
        self.0 += u32::from(is_right);
        self.1 += 1;
    }

    fn text(self) -> String {
        let percent = if self.1 == 0 { 0.0 } else { 100.0 * f64::from(self.0) / f64::from(self.1) };
        format!("{} of {} ({percent:.0} %)", self.0, self.1)
    }
}

/// Returns the page's section: the matrix, the sums, and what was said instead.
pub(crate) fn section(runs: &[Run], how: &str) -> String {
    let normal = Normal::new(runs);
    let mut out = format!("\n{how}\n\n");
    out += "| fault | low | medium | high | largest wait | largest z-score | said instead |\n";
    out += "|---|---|---|---|---|---|---|\n";
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        if !names.contains(&run.fault.as_str()) {
            names.push(&run.fault);
        }
    }
    let mut sums: [Tally; 3] = Default::default();
    let mut by_severity: BTreeMap<Option<Severity>, Tally> = BTreeMap::new();
    for name in names {
        let mut line = Line::default();
        for run in runs.iter().filter(|run| run.fault == name) {
            line.add(run, &normal);
            by_severity.entry(run.severity).or_default().add(run.is_right(&run.said));
        }
        for (sum, tally) in sums.iter_mut().zip(line.judges) {
            sum.0 += tally.0;
            sum.1 += tally.1;
        }
        out += &line.text(name);
    }
    let [own, wait, score] = sums.map(Tally::text);
    let _ = writeln!(
        out,
        "\nNamed right first: {own}. Baselines on the same runs: largest wait {wait}, largest \
         z-score {score}."
    );
    for (severity, tally) in &by_severity {
        let _ = writeln!(out, "- {}: {}", group(*severity), tally.text());
    }
    out + &prices(runs) + &goal(&by_severity)
}

/// The name of a severity in the sums.
fn group(severity: Option<Severity>) -> &'static str {
    severity.map_or("healthy runs", Severity::name)
}

/// Which of the goals are missed.
fn goal(by_severity: &BTreeMap<Option<Severity>, Tally>) -> String {
    let missed = by_severity.iter().filter(|(severity, tally)| {
        let percent = match severity {
            None => 97,
            Some(Severity::Low) => 80,
            Some(Severity::Medium | Severity::High) => 95,
        };
        tally.0 * 100 < tally.1 * percent
    });
    let missed: Vec<&str> = missed.map(|(severity, _)| group(*severity)).collect();
    let result = match missed.as_slice() {
        [] => "met".to_owned(),
        missed => format!("missed by {}", missed.join(", ")),
    };
    format!(
        "- the goal is 80 % at low, 95 % at medium and high, and 97 % of healthy runs: {result}\n"
    )
}

/// What the tool itself cost, and how long it took.
fn prices(runs: &[Run]) -> String {
    let sorted = |of: fn(&Run) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        let median = all.get(all.len() / 2).copied().unwrap_or(0.0);
        (median, all.last().copied().unwrap_or(0.0))
    };
    let (cost, seconds) = (sorted(|run| run.cost * 100.0), sorted(|run| run.seconds));
    format!(
        "- what the questions cost the server, in CPU time of its schedulers: {:.2} % in the \
         median, {:.2} % at most\n- time to the verdict: {:.1} s in the median, {:.1} s at most\n",
        cost.0, cost.1, seconds.0, seconds.1
    )
}

/// A line of the matrix.
#[derive(Default)]
struct Line<'r> {
    severities: BTreeMap<Option<Severity>, Tally>,
    /// The tool, the largest wait, the largest z-score.
    judges: [Tally; 3],
    /// What was said instead, and how often.
    instead: BTreeMap<&'r str, u32>,
}

impl<'r> Line<'r> {
    fn add(&mut self, run: &'r Run, normal: &Normal) {
        let is_right = run.is_right(&run.said);
        self.severities.entry(run.severity).or_default().add(is_right);
        let said = [run.said.as_str(), run.largest_wait.as_str(), normal.furthest(run)];
        for (judge, said) in self.judges.iter_mut().zip(said) {
            judge.add(run.is_right(said));
        }
        if !is_right {
            *self.instead.entry(&run.said).or_default() += 1;
        }
    }

    fn text(&self, name: &str) -> String {
        let cell = |severity: Option<Severity>| {
            let tally = self.severities.get(&severity);
            tally.map_or("-".to_owned(), |tally| format!("{}/{}", tally.0, tally.1))
        };
        let [low, medium, high] = Severity::ALL.map(|severity| cell(Some(severity)));
        let low = if self.severities.contains_key(&None) { cell(None) } else { low };
        let [_, wait, score] = self.judges;
        let instead: Vec<String> =
            self.instead.iter().map(|(said, count)| format!("{said} {count}")).collect();
        let mut line = String::new();
        let _ = writeln!(
            line,
            "| {name} | {low} | {medium} | {high} | {}/{} | {}/{} | {} |",
            wait.0,
            wait.1,
            score.0,
            score.1,
            instead.join(", ")
        );
        line
    }
}
