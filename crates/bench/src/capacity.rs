//! Capacity: start-up time of a server, its memory, the memory of a connection, and the number of
//! concurrent connections.

use std::time::Duration;

use load::process::Place;
use load::{Answer, Generator, Result, pause};

use crate::report::{Failure, Figure, Report};
use crate::setup::{self, Schedulers, start_clearway};
use crate::work::ROWS;
use crate::{Plan, say, session};

/// How long a server is idle before its memory is read.
const REST: Duration = Duration::from_millis(300);
/// Requests on each of the concurrent connections.
const ROUNDS_AT_ONCE: usize = 5;

type Measure = fn(&Plan) -> Result<Vec<Figure>>;

/// Runs every measurement; one that fails is reported and the others go on.
pub(crate) fn run_all(plan: &Plan, report: &mut Report) {
    let measures: [(&str, Measure); 3] =
        [("start", start), ("idle connection", idle_connection), ("connections at once", at_once)];
    for (name, measure) in measures.into_iter().filter(|(name, _)| plan.wants(name)) {
        say(&format!("measuring: {name}"));
        match measure(plan) {
            Ok(figures) => figures.into_iter().for_each(|figure| report.figure(figure)),
            Err(what) => report.fail(Failure { name: name.to_owned(), what }),
        }
    }
}

fn start(plan: &Plan) -> Result<Vec<Figure>> {
    free_cpus()?;
    let (mut times, mut weights) = (Vec::new(), Vec::new());
    for _ in 0..plan.starts {
        let server = start_clearway(plan, Schedulers::PerCpu, Place::Anywhere)?;
        times.push(millis(server.ready_ns()));
        pause(REST);
        weights.push(kilobytes(server.resident_bytes()?) / 1_024.0);
    }
    Ok(vec![
        Figure::new("start to ready line", 50.0, "ms", &times),
        Figure::new("resident when idle", 20.0, "MB", &weights),
    ])
}

fn idle_connection(plan: &Plan) -> Result<Vec<Figure>> {
    free_cpus()?;
    let server = start_clearway(plan, Schedulers::PerCpu, Place::Anywhere)?;
    session::prepare(plan, &server)?;
    drop(session::prove(&server)?);
    pause(REST);
    let before = server.resident_bytes()?;
    let login = setup::login(session::DATABASE);
    let mut idle = Generator::log_in(server.address(), plan.connections_idle, &login)?;
    pause(REST);
    let logged_in = server.resident_bytes()?;
    let requests: Vec<_> = (0..ROWS).map(session::read_request).collect();
    idle.round(|index| &requests[index % ROWS], check_read)?;
    pause(REST);
    let worked = server.resident_bytes()?;
    let each = |after: u64| {
        kilobytes(after.saturating_sub(before)) / f64::from(count(plan.connections_idle))
    };
    let note = format!("over {} connections, without TLS", plan.connections_idle);
    Ok(vec![
        Figure::new("idle connection, logged in", 24.0, "KB", &[each(logged_in)]).noting(&note),
        Figure::new("idle connection, after a session read", 24.0, "KB", &[each(worked)])
            .noting(&note),
    ])
}

fn at_once(plan: &Plan) -> Result<Vec<Figure>> {
    free_cpus()?;
    let server = start_clearway(plan, Schedulers::PerCpu, Place::Anywhere)?;
    session::prepare(plan, &server)?;
    let begin_ns = sos::clock::monotonic_ns();
    let login = setup::login(session::DATABASE);
    let mut all = Generator::log_in(server.address(), plan.connections_at_once, &login)?;
    let logged_in_ns = sos::clock::monotonic_ns();
    let requests: Vec<_> = (0..ROWS).map(session::read_request).collect();
    for _ in 0..ROUNDS_AT_ONCE {
        all.round(|index| &requests[index % ROWS], check_read)?;
    }
    let end_ns = sos::clock::monotonic_ns();
    let note = format!(
        "{} connections logged in within {:.1} s, then {ROUNDS_AT_ONCE} requests each, all at once, \
         within {:.1} s",
        plan.connections_at_once,
        millis(logged_in_ns - begin_ns) / 1e3,
        millis(end_ns - logged_in_ns) / 1e3,
    );
    // Any error above would have ended this measurement.
    Ok(vec![
        Figure::new("errors with all connections at once", 0.0, "errors", &[0.0]).noting(&note),
    ])
}

fn check_read(index: usize, packets: &[u8]) -> Result<()> {
    session::check_read(index % ROWS, &Answer::decode(packets)?.check()?)
}

/// Allows this thread, and the servers that it starts, on every CPU again.
fn free_cpus() -> Result<()> {
    sos::sys::pin_to_cpus(&crate::machine::cpus()).map_err(|error| format!("CPUs: {error}"))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a figure is for readers")]
fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1_024.0
}
