//! Scores: the verdict, and two baselines on the same runs: the largest wait, and the part of the
//! time vector that is furthest from healthy runs (largest z-score).

use std::collections::BTreeMap;
use std::fmt::Write;

use verdict::category::Category;
use verdict::{Cause, Outcome, Verdict};

use crate::list::Severity;

/// A run with its verdict.
pub(crate) struct Scored {
    /// The fault's name in the table.
    pub(crate) fault: &'static str,
    /// `None` for a healthy run.
    pub(crate) severity: Option<Severity>,
    /// What a right verdict names.
    pub(crate) cause: Option<Cause>,
    /// What the tool said.
    pub(crate) verdict: Verdict,
    /// The share of the machine's CPU time that other processes used.
    pub(crate) others: f64,
}

/// From this share on it is true that other processes take the machine's CPUs.
const BUSY: f64 = 0.5;

impl Scored {
    /// Whether what was said is right. Beside a healthy load on a busy machine, both "healthy" and
    /// "other processes take the CPUs" are.
    fn is_right(&self, said: &str) -> bool {
        let is_busy = self.cause.is_none() && self.others >= BUSY;
        said == wanted(self) || is_busy && said == Cause::CpuElsewhere.name()
    }
}

/// A name for what was said: a cause, `healthy` or `no verdict`.
pub(crate) fn said(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Cause(cause) => cause.name(),
        Outcome::Healthy => "healthy",
        Outcome::Abstained => "no verdict",
    }
}

fn wanted(run: &Scored) -> &'static str {
    run.cause.map_or("healthy", Cause::name)
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
pub(crate) struct Normal(BTreeMap<(Category, String), (f64, f64)>);

impl Normal {
    pub(crate) fn new(runs: &[Scored]) -> Self {
        let mut sums: BTreeMap<(Category, String), (f64, f64)> = BTreeMap::new();
        let healthy: Vec<&Scored> = runs.iter().filter(|run| run.cause.is_none()).collect();
        for part in healthy.iter().flat_map(|run| &run.verdict.window.parts) {
            let sum = sums.entry((part.category, part.name.clone())).or_default();
            sum.0 += part.active;
            sum.1 += part.active * part.active;
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
    pub(crate) fn furthest(&self, verdict: &Verdict) -> &'static str {
        let score = |part: &verdict::window::Part| {
            let key = (part.category, part.name.clone());
            let (mean, deviation) = self.0.get(&key).copied().unwrap_or_default();
            (part.active - mean) / deviation.max(0.01)
        };
        let scored = verdict.window.parts.iter().map(|part| (score(part), part));
        match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((score, part)) if score > 3.0 => cause_of(part.category, &part.name),
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
pub(crate) fn section(runs: &[Scored], how: &str) -> String {
    let normal = Normal::new(runs);
    let mut out = format!("\n{how}\n\n");
    out += "| fault | low | medium | high | largest wait | largest z-score | said instead |\n";
    out += "|---|---|---|---|---|---|---|\n";
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        if !names.contains(&run.fault) {
            names.push(run.fault);
        }
    }
    let mut sums: [Tally; 3] = Default::default();
    let mut by_severity: BTreeMap<Option<Severity>, Tally> = BTreeMap::new();
    for name in names {
        let of: Vec<&Scored> = runs.iter().filter(|run| run.fault == name).collect();
        let mut severities: BTreeMap<Option<Severity>, Tally> = BTreeMap::new();
        let (mut wait, mut score) = (Tally::default(), Tally::default());
        let mut instead: Vec<String> = Vec::new();
        for run in &of {
            let said = said(run.verdict.outcome);
            let is_right = run.is_right(said);
            severities.entry(run.severity).or_default().add(is_right);
            by_severity.entry(run.severity).or_default().add(is_right);
            wait.add(run.is_right(largest_wait(&run.verdict)));
            score.add(run.is_right(normal.furthest(&run.verdict)));
            if !is_right {
                instead.push(said.to_owned());
            }
            sums[0].add(is_right);
            sums[1].add(run.is_right(largest_wait(&run.verdict)));
            sums[2].add(run.is_right(normal.furthest(&run.verdict)));
        }
        let cell = |severity: Option<Severity>| {
            severities
                .get(&severity)
                .map_or("-".to_owned(), |tally| format!("{}/{}", tally.0, tally.1))
        };
        let [low, medium, high] = Severity::ALL.map(|severity| cell(Some(severity)));
        let low = if severities.contains_key(&None) { cell(None) } else { low };
        instead.sort();
        instead.dedup();
        let _ = writeln!(
            out,
            "| {name} | {low} | {medium} | {high} | {}/{} | {}/{} | {} |",
            wait.0,
            wait.1,
            score.0,
            score.1,
            instead.join(", ")
        );
    }
    let _ = writeln!(
        out,
        "\nNamed right first: {}. Baselines on the same runs: largest wait {}, largest z-score {}.",
        sums[0].text(),
        sums[1].text(),
        sums[2].text()
    );
    for (severity, tally) in by_severity {
        let name = severity.map_or("healthy runs", Severity::name);
        let _ = writeln!(out, "- {name}: {}", tally.text());
    }
    out
}
