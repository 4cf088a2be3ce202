//! `judge`: from a recording to a verdict: the first cause, the others, what was ruled out, or why
//! there is none.

use std::fmt::Write;

use crate::cause::Cause;
use crate::recording::{Recording, Server};
use crate::rules::{
    Candidate, Facts, SCORE_MIN, at_work, candidates, does_own_work, has_full_cpus, late_answers,
    workers,
};
use crate::window::{Broken, Group, Window};

/// More unexplained time than this supports no verdict.
const DARK_MAX: f64 = 0.05;
/// Fewer active threads per scheduler than this is a server that has little to do.
const BUSY_MIN: f64 = 0.02;
/// Fewer requests per second than this are none.
const REQUESTS_MIN: f64 = 0.5;
/// Other processes take the CPUs from here on, if the server itself has no cause.
const ELSEWHERE_MIN: f64 = 0.5;
/// And if at least this number of threads with work wait for them, on average.
const ELSEWHERE_ACTIVE_MIN: f64 = 0.2;
/// More errors per request than this are worth a warning, and more per second.
const ERRORS_MIN: (f64, f64) = (0.05, 1.0);
/// How many causes are named as ruled out.
const RULED_OUT: usize = 3;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// The readings show it, but it explains little, or others explain as much.
    Observed,
    /// It explains more than any other cause.
    Suspected,
    /// An intervention changed the throughput as the suspicion foretold.
    Confirmed,
}

impl Grade {
    /// Returns its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Suspected => "suspected",
            Self::Confirmed => "confirmed",
        }
    }
}

/// A cause in the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How sure it is.
    pub grade: Grade,
    /// The cause with its numbers.
    pub candidate: Candidate,
    /// Share of all time that is not idle.
    pub share: f64,
    /// Microseconds per request that it explains.
    pub us: f64,
    /// What the intervention showed, if there was one.
    pub confirmation: Option<String>,
}

/// What the verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first finding is the cause.
    Cause(Cause),
    /// Nothing is wrong: what limits the throughput is said in the sentence.
    Healthy,
    /// The readings support no verdict; the sentence says why.
    Abstained,
}

/// A verdict with its findings and their numbers.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Who was looked at.
    pub server: Server,
    /// Cause, health or abstention.
    pub outcome: Outcome,
    /// One sentence for people.
    pub sentence: String,
    /// Causes found, the first one first.
    pub findings: Vec<Finding>,
    /// Causes that were looked for and explain little: their shares of the work.
    pub ruled_out: Vec<(Cause, f64)>,
    /// Warnings about the machine, and what the server could not answer.
    pub warnings: Vec<String>,
    /// The differences from which all this was computed.
    pub window: Window,
}

/// Judges a recording by all rules.
#[must_use]
pub fn judge(recording: &Recording) -> Verdict {
    let window = match Window::new(recording) {
        Ok(window) => window,
        Err(broken) => return abstained(recording, Window::default(), broken_because(broken)),
    };
    let facts = Facts::new(&window);
    // Shares of next to nothing are noise: what the server does when it has no work.
    let has_work =
        window.requests.mean >= REQUESTS_MIN || facts.work >= BUSY_MIN * window.schedulers.max(1.0);
    let all = match has_work {
        true => candidates(&facts),
        // Requests that wait for a worker do no work.
        false => workers(&facts).into_iter().chain(late_answers(&facts)).collect(),
    };
    let ruled_out = ruled_out(&all);
    let findings = findings(&window, &all);
    let mut verdict = Verdict {
        server: recording.server.clone(),
        outcome: Outcome::Healthy,
        sentence: String::new(),
        ruled_out,
        warnings: warnings(recording, &window),
        findings,
        window,
    };
    (verdict.outcome, verdict.sentence) = conclusion(&verdict);
    if recording.has_gone_silent {
        // Writing to a String cannot fail.
        let _ = write!(
            verdict.sentence,
            " The server has stopped answering: this is of the {:.1} s before.",
            verdict.window.seconds
        );
    }
    verdict
}

/// Takes a cause's finding from the verdict, for an intervention.
impl Verdict {
    /// Notes what an intervention showed about the first finding.
    pub fn confirm(&mut self, has_confirmed: bool, what: String) {
        let Some(first) = self.findings.first_mut() else { return };
        first.grade = if has_confirmed { Grade::Confirmed } else { Grade::Observed };
        first.confirmation = Some(what);
        (self.outcome, self.sentence) = conclusion(self);
    }
}

fn broken_because(broken: Broken) -> &'static str {
    match broken {
        Broken::TooShort => "the recording was too short: two readings are needed",
        Broken::Restarted => "the server was restarted while it was looked at: start again",
        Broken::NoTime => "no time passed between two readings, by the server's clock or by ours",
    }
}

fn abstained(recording: &Recording, window: Window, why: &str) -> Verdict {
    Verdict {
        server: recording.server.clone(),
        outcome: Outcome::Abstained,
        sentence: format!("No verdict: {why}."),
        findings: Vec::new(),
        ruled_out: Vec::new(),
        warnings: warnings(recording, &window),
        window,
    }
}

/// Whether a cause comes after all others: more requests, and CPUs taken by others, make everything
/// slower, late answers too, and are the verdict only where nothing else is.
fn comes_last(cause: Cause) -> bool {
    matches!(cause, Cause::WorkloadSpike | Cause::CpuElsewhere | Cause::LateAnswers)
}

/// Causes above the threshold, those that come last behind the others.
fn findings(window: &Window, all: &[Candidate]) -> Vec<Finding> {
    let is_found = |candidate: &&Candidate| match candidate.cause {
        Cause::CpuElsewhere => {
            candidate.score >= ELSEWHERE_MIN && candidate.active >= ELSEWHERE_ACTIVE_MIN
        }
        _ => candidate.score >= SCORE_MIN,
    };
    let (mut last, own): (Vec<&Candidate>, Vec<&Candidate>) =
        all.iter().filter(is_found).partition(|found| comes_last(found.cause));
    // A spike explains why CPUs are short, and not the other way round.
    last.sort_by_key(|found| found.cause);
    let of = |(place, candidate): (usize, &&Candidate)| Finding {
        grade: if place == 0 { Grade::Suspected } else { Grade::Observed },
        share: window.share(candidate.active),
        us: window.us_per_request(candidate.active),
        candidate: (*candidate).clone(),
        confirmation: None,
    };
    own.iter().chain(&last).enumerate().map(of).collect()
}

/// The causes below the threshold that come nearest, then those of which nothing was seen.
fn ruled_out(all: &[Candidate]) -> Vec<(Cause, f64)> {
    let below = all.iter().filter(|candidate| candidate.score < SCORE_MIN);
    let mut out: Vec<(Cause, f64)> =
        below.map(|candidate| (candidate.cause, candidate.score)).collect();
    // What a reader would ask about first.
    for cause in [
        Cause::HotRow,
        Cause::MissingIndex,
        Cause::PlanCache,
        Cause::LogDevice,
        Cause::SlowReader,
        Cause::MemoryGrants,
    ] {
        let is_known = all.iter().any(|candidate| candidate.cause == cause);
        if !is_known && !out.iter().any(|(known, _)| *known == cause) {
            out.push((cause, 0.0));
        }
    }
    let is_lock = |cause: &Cause| cause.entry().group == "Locks";
    let has_lock = all.iter().any(|c| is_lock(&c.cause) && c.score >= SCORE_MIN);
    out.retain(|(cause, _)| !(has_lock && is_lock(cause)));
    out.truncate(RULED_OUT);
    out
}

fn warnings(recording: &Recording, window: &Window) -> Vec<String> {
    let of_machine = window.environment.iter().filter(|line| !line.3.is_empty());
    let mut warnings: Vec<String> = of_machine
        .map(|(name, value, _, warning)| format!("{name} = {value}: {warning}"))
        .collect();
    let errors = (window.per_request("Errors/sec"), window.rate("Errors/sec"));
    if errors.0 > ERRORS_MIN.0 && errors.1 > ERRORS_MIN.1 {
        warnings.push(format!(
            "{:.1} errors per second are sent to clients, {:.2} per request: the event \
             error_reported says which",
            errors.1, errors.0
        ));
    }
    warnings.extend(recording.missing.iter().map(|what| format!("missing here: {what}")));
    warnings
}

/// Decides between cause, health and abstention, and says it in a sentence.
fn conclusion(verdict: &Verdict) -> (Outcome, String) {
    let window = &verdict.window;
    let dark = window.share(window.of(Group::Dark));
    if let Some(first) = verdict.findings.first().filter(|_| dark <= DARK_MAX) {
        if let Some(second) = rival(verdict) {
            let sentence = format!(
                "No verdict: two causes explain as much as each other: {} ({}), and {} ({}). \
                 Look for longer, or mend one and look again.",
                lower(first.candidate.cause.entry().finding),
                percent(first.share),
                lower(second.candidate.cause.entry().finding),
                percent(second.share)
            );
            return (Outcome::Abstained, sentence);
        }
        return (Outcome::Cause(first.candidate.cause), accusation(window, first));
    }
    if dark > DARK_MAX {
        let sentence = format!(
            "No verdict: {} of the time is dark, which is more than the ledger may lack.",
            percent(dark)
        );
        return (Outcome::Abstained, sentence);
    }
    (Outcome::Healthy, health(window))
}

/// Returns the second finding if it cannot be told from the first: scores within a tenth of each
/// other, and intervals of their times that overlap.
fn rival(verdict: &Verdict) -> Option<&crate::judge::Finding> {
    let [first, second, ..] = verdict.findings.as_slice() else { return None };
    let is_last = comes_last(second.candidate.cause);
    let is_near = second.candidate.score > 0.95 * first.candidate.score;
    let is_decided = first.grade == Grade::Confirmed || is_last || !is_near;
    let of = |finding: &Finding| {
        let wide = verdict.window.requests.half_width() / verdict.window.requests.mean.max(1e-9);
        crate::estimate::Estimate {
            mean: finding.share,
            low: finding.share * (1.0 - wide),
            high: finding.share * (1.0 + wide),
        }
    };
    (!is_decided && of(first).overlaps(&of(second))).then_some(second)
}

fn accusation(window: &Window, first: &Finding) -> String {
    let entry = first.candidate.cause.entry();
    let price = match window.requests.mean > 0.0 {
        true => format!(
            "{} per request, {} of the time that is not idle",
            crate::estimate::time(first.us),
            percent(first.share)
        ),
        false => format!("{:.1} threads all the time, and no request ends", first.candidate.active),
    };
    let price = first.candidate.price.clone().unwrap_or(price);
    format!("{}: {price} ({}).", entry.finding, first.grade.name())
}

/// What limits the throughput where nothing is wrong.
fn health(window: &Window) -> String {
    let requests = window.requests.mean;
    if requests < REQUESTS_MIN {
        // Looking itself takes time, and on a busy machine it waits for a CPU.
        let work = Facts::new(window).work;
        let what = match work < BUSY_MIN * window.schedulers.max(1.0) {
            true => "the server has no work",
            false => "no request ended while the server was looked at, and nothing holds one up",
        };
        return format!("Nothing to diagnose: {what}. Run this while it is slow, or for longer.");
    }
    let facts = Facts::new(window);
    let limit = if has_full_cpus(&facts) {
        "its CPUs are the limit, and they do the statements' own work".to_owned()
    } else if does_own_work(&facts) {
        // Requests that run all the time are not waited for.
        let at_once = at_work(&facts);
        format!(
            "{at_once:.1} of them are at work at a time, on {:.0} schedulers: their own work is \
             what they take",
            window.schedulers
        )
    } else {
        "it waits for its clients to send more: the limit is outside of the server".to_owned()
    };
    let dearest = window.statements.first().map_or(String::new(), |statement| {
        format!(
            " The dearest statement takes {} of the CPU time, {} per execution: {}",
            percent(statement.cpu / facts.cpu.max(statement.cpu).max(1e-9)),
            crate::estimate::time(statement.cpu_us),
            crate::rules::shortened(&statement.text)
        )
    });
    format!(
        "No cause found: the server answers {requests:.0} requests per second, and {limit}.{dearest}"
    )
}

/// Returns a share as a percentage.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
