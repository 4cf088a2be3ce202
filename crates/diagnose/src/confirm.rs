//! The intervention: a small delay where the suspected cause is, on and off in turns, and what the
//! throughput does.
//!
//! A delay `d` at a place that is passed `p` times a second takes `p d` seconds of each second. If
//! requests queue at that place, one after the other, the rate falls to `1 / (1 + p d)`. If they
//! pass it side by side, `n` at once, only to `1 / (1 + p d / n)`. The measured rate says which.

use std::time::Duration;

use verdict::estimate::Estimate;
use verdict::window::{Group, Window};
use verdict::{Cause, Outcome, Verdict};

use crate::inquiry::Inquiry;

/// Seconds of delay per second that are injected: the rate of a serial place falls by a third.
const LOAD: f64 = 0.5;
/// Length of a turn, with or without the delay.
const TURN: Duration = Duration::from_millis(1_500);
/// Turns: off, on, on, off, and again.
const TURNS: [bool; 12] =
    [false, true, true, false, false, true, true, false, false, true, true, false];
/// How long the intervention may take in all, the answers of a busy server included.
const TIME: Duration = Duration::from_secs(90);
/// The shortest and longest delay in microseconds.
const DELAY_US: (f64, f64) = (20.0, 50_000.0);

/// Where a delay is put for a cause, and how often a second that place is passed.
struct Place {
    point: &'static str,
    class: String,
    passes: f64,
    /// Counts what passes there, not what other requests do beside it.
    count: &'static str,
    /// How many requests pass it at once if it is not what limits them.
    width: f64,
}

/// Counts requests of all sessions.
const REQUESTS: &str = "SELECT cntr_value FROM sys.dm_os_performance_counters \
    WHERE counter_name = N'Batch Requests/sec'";
/// Counts waits for locks: each release wakes all that wait, so their number follows the releases.
const LOCK_WAITS: &str =
    "SELECT SUM(waiting_tasks_count) FROM sys.dm_os_wait_stats WHERE wait_type LIKE N'LCK[_]M%'";
/// Counts waits for the log.
const LOG_WAITS: &str =
    "SELECT SUM(waiting_tasks_count) FROM sys.dm_os_wait_stats WHERE wait_type = N'WRITELOG'";

impl Place {
    fn of(cause: Cause, window: &Window) -> Option<Self> {
        let lock_waits = |prefix: &str| {
            let parts = window.parts.iter().filter(|part| part.name.starts_with(prefix));
            parts.map(|part| part.entries).fold(0.0, f64::max)
        };
        let width = window.active.max(2.0);
        let at = |point, passes, count, width| {
            Some(Self { point, class: String::new(), passes, count, width })
        };
        match cause {
            Cause::HotRow | Cause::ApplicationLock | Cause::Deadlocks => {
                // Each release ends the wait of all that wait.
                let releases = lock_waits("LCK_") / window.of(Group::Locks).max(1.0);
                at("locks", releases, LOCK_WAITS, window.of(Group::Locks).max(1.0) + 1.0)
            }
            Cause::LogDevice => at("log", window.flushes().max(1.0), LOG_WAITS, width),
            Cause::MetadataSpin | Cause::AllocatorSpin | Cause::OtherSpin => {
                let part = window.parts.iter().find(|part| part.group == Group::Spinning)?;
                Some(Self {
                    point: "spin",
                    class: part.name.clone(),
                    passes: part.entries,
                    count: REQUESTS,
                    width,
                })
            }
            // These use CPU time: if the CPUs are the limit, more of it makes requests fewer.
            Cause::PlanCache
            | Cause::MissingIndex
            | Cause::TemporaryTables
            | Cause::EventSession
            | Cause::Definitions
            | Cause::PagePerRow
            | Cause::Logins
            | Cause::BadJoin
            | Cause::IndexMaintenance
            | Cause::OldSnapshot => {
                let schedulers = window.schedulers.max(1.0);
                let width = width.max(2.0 * schedulers);
                at("request", window.requests.mean / schedulers, REQUESTS, width)
            }
            Cause::IdleBlocker
            | Cause::SchemaLock
            | Cause::Decommit
            | Cause::MemoryGrants
            | Cause::MemoryLimit
            | Cause::SlowReader
            | Cause::CpuQuota
            | Cause::Backup
            | Cause::Restore
            | Cause::Checkpoints
            | Cause::WorkloadSpike
            | Cause::WorkerThreads
            | Cause::CpuElsewhere
            | Cause::LateAnswers => None,
        }
    }
}

/// Tests the first finding, and grades it.
///
/// # Errors
/// A sentence, if the connection is lost.
pub(crate) fn confirm(
    inquiry: &mut Inquiry,
    verdict: &mut Verdict,
    wait: &mut dyn FnMut(Duration) -> bool,
) -> Result<(), String> {
    let Outcome::Cause(cause) = verdict.outcome else { return Ok(()) };
    if !inquiry.is_clearway() {
        verdict.warnings.push("not confirmed: an intervention needs Clearway".to_owned());
        return Ok(());
    }
    let place = Place::of(cause, &verdict.window).filter(|place| place.passes > 0.5);
    let Some(place) = place else {
        let why = format!("not confirmed: no delay can be put where {} is", cause.name());
        verdict.warnings.push(why);
        return Ok(());
    };
    inquiry.extend(TIME);
    let delay_us = (LOAD * 1e6 / place.passes).clamp(DELAY_US.0, DELAY_US.1);
    match measure(inquiry, &place, delay_us, wait)? {
        Ok((off, on)) => grade(verdict, &place, delay_us, (off, on)),
        Err(why) => verdict.warnings.push(format!("not confirmed: {why}")),
    }
    Ok(())
}

/// The rates without and with the delay, or why there are none.
type Measured = Result<(Estimate, Estimate), String>;

fn measure(
    inquiry: &mut Inquiry,
    place: &Place,
    delay_us: f64,
    wait: &mut dyn FnMut(Duration) -> bool,
) -> Result<Measured, String> {
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for is_on in TURNS {
        let microseconds = if is_on { delay_us } else { 0.0 };
        let text = format!(
            "EXEC sys.sp_inject_delay @point = N'{}', @class = N'{}', \
             @microseconds = {microseconds:.0}, @seconds = 5",
            place.point, place.class
        );
        if let Err(refusal) = inquiry.ask(&text)? {
            return Ok(Err(refusal.to_string()));
        }
        let before = inquiry.progress(place.count)?;
        let goes_on = wait(TURN);
        let (before, after) = match (before, inquiry.progress(place.count)?) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        // Its own request is not one of the load.
        let own = if place.count == REQUESTS { 1.0 } else { 0.0 };
        let pair = ((after.0 - before.0 - own).max(0.0), (after.1 - before.1) / 1e3);
        if is_on { &mut on } else { &mut off }.push(pair);
        if !goes_on {
            break;
        }
    }
    // Ends by itself; this is sooner.
    let _ = inquiry.ask("EXEC sys.sp_inject_delay")?;
    if off.len() < 2 || on.len() < 2 {
        return Ok(Err("it was stopped too early".to_owned()));
    }
    Ok(Ok((Estimate::ratio(&off), Estimate::ratio(&on))))
}

/// Confirms if the rate fell as that of a serial place does, and further than beside one.
fn grade(verdict: &mut Verdict, place: &Place, delay_us: f64, (off, on): (Estimate, Estimate)) {
    let load = place.passes * delay_us / 1e6;
    let serial = load / (1.0 + load);
    let beside = load / place.width / (1.0 + load / place.width);
    let loss = 1.0 - on.mean / off.mean.max(1e-9);
    let highest = 1.0 - on.low / off.high.max(1e-9);
    let least = 1.0 - on.high / off.low.max(1e-9);
    let what = format!(
        "intervention: {delay_us:.0} us more at '{}'{} took {:.0} % of the throughput ({:.0} to \
         {:.0} %); {:.0} % were foretold if this is the bottleneck, {:.0} % if it is not",
        place.point,
        if place.class.is_empty() { String::new() } else { format!(" {}", place.class) },
        loss * 100.0,
        least * 100.0,
        highest * 100.0,
        serial * 100.0,
        beside * 100.0
    );
    let is_confirmed = loss >= (serial + beside) / 2.0 && least > beside.min(loss / 2.0) * 0.5;
    verdict.confirm(is_confirmed, what);
}
