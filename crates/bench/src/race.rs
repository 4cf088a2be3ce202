//! Races: server CPU per request of Clearway compared with that of the bare echo server for
//! messages of the same sizes, on one CPU, in turns, in one run.

use load::{Generator, Idle, Outcome, Result, Script, ServerProcess};

use crate::report::{Failure, Race, Report, Side};
use crate::setup::{self, Schedulers, apart, start_clearway, start_echo};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION, Work};
use crate::{Plan, cache, say, session};

/// Runs every race; one that fails is reported and the others go on.
pub(crate) fn run_all(plan: &Plan, report: &mut Report) {
    let group =
        |report: &mut Report, name: &str, works: Result<(ServerProcess, Vec<Work>)>| match works {
            Ok((server, works)) => run_works(plan, &server, works, report),
            Err(what) => report.fail(Failure { name: name.to_owned(), what }),
        };
    let sessions = ["session read", "session write", "sp_reset_connection"];
    if sessions.iter().any(|name| plan.wants(name)) {
        group(report, "session state", sessions_of(plan));
    }
    if ["cache GET, sliding", "cache GET, absolute"].iter().any(|name| plan.wants(name)) {
        group(report, "cache", caches_of(plan));
    }
}

fn sessions_of(plan: &Plan) -> Result<(ServerProcess, Vec<Work>)> {
    let server = start_clearway(plan, Schedulers::One, apart())?;
    session::prepare(plan, &server)?;
    Ok((server, vec![session::read(), session::save(), session::reset()]))
}

fn caches_of(plan: &Plan) -> Result<(ServerProcess, Vec<Work>)> {
    let server = start_clearway(plan, Schedulers::One, apart())?;
    let works = cache::prepare(plan, &server)?;
    Ok((server, works))
}

fn run_works(plan: &Plan, server: &ServerProcess, works: Vec<Work>, report: &mut Report) {
    for work in works.into_iter().filter(|work| plan.wants(work.name)) {
        say(&format!("racing: {}", work.name));
        match race(plan, server, &work) {
            Ok(race) => report.race(race),
            Err(what) => report.fail(Failure { name: work.name.to_owned(), what }),
        }
    }
}

fn race(plan: &Plan, server: &ServerProcess, work: &Work) -> Result<Race> {
    let mut client = setup::connect(server, work.database)?;
    let answer = work.measured.ask_all(&mut client)?;
    let request_bytes = work.measured.requests[0].len();
    let answer_bytes = u64::try_from(answer.len()).map_err(|error| error.to_string())?;
    let per_connection = REQUESTS_PER_CONNECTION.min(work.measured.requests.len());
    let script = Script::new(work.measured.requests.clone(), per_connection);
    let script = script.with_answer_bytes(answer_bytes);

    let echo = start_echo(request_bytes, &answer, apart())?;
    let login = setup::login(work.database);
    // The echo server keeps up with the client and seldom finds it asleep; a slower server would
    // pay for a wake-up with every answer, which is neither its own work nor a cost with remote
    // clients.
    let ours = Generator::log_in(server.address(), CONNECTIONS, &login)?.idling(Idle::Spin);
    let bare = Generator::open(echo.address(), CONNECTIONS)?.idling(Idle::Spin);
    let mut ours = Lane { server, generator: ours, side: Side::default() };
    let mut bare = Lane { server: &echo, generator: bare, side: Side::default() };
    ours.run(&script, plan)?;
    bare.run(&script, plan)?;
    (ours.side, bare.side) = (Side::default(), Side::default());

    let mut ratios = Vec::new();
    for _ in 0..plan.rounds {
        let mut costs = [0.0; 2];
        costs[0] += ours.run(&script, plan)?;
        costs[1] += bare.run(&script, plan)?;
        costs[1] += bare.run(&script, plan)?;
        costs[0] += ours.run(&script, plan)?;
        ratios.push(costs[0] / costs[1]);
    }
    if let Some(what) = ours.trouble().or_else(|| bare.trouble()) {
        return Err(what);
    }
    // The server still gives the same answers, and what was written is there.
    work.measured.ask_all(&mut client)?;
    if let Some(after) = &work.after {
        after.ask_all(&mut client)?;
    }
    Ok(Race {
        name: work.name,
        ratio_max: work.ratio_max,
        request_bytes,
        answer_bytes,
        ratios,
        server: ours.side,
        echo: bare.side,
    })
}

/// A server, the connections to it, and the results.
struct Lane<'a> {
    server: &'a ServerProcess,
    generator: Generator,
    side: Side,
}

impl Lane<'_> {
    /// Runs one window; returns the server's CPU nanoseconds per request.
    fn run(&mut self, script: &Script, plan: &Plan) -> Result<f64> {
        let before = self.server.cpu_ns()?;
        let outcome = self.generator.run(script, plan.window)?;
        let used = self.server.cpu_ns()?.saturating_sub(before);
        let cost = per_request(used, &outcome);
        self.side.cpu_ns.push(cost);
        self.side.rates.push(outcome.requests_per_second());
        self.side.outcome.add(&outcome);
        Ok(cost)
    }

    fn trouble(&self) -> Option<String> {
        let outcome = &self.side.outcome;
        let first = outcome.first_trouble.as_ref()?;
        let (count, numbers) = (outcome.troubles(), &outcome.errors);
        Some(format!("{count} wrong answers, errors {numbers:?}; the first: {first}"))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a cost is for readers")]
fn per_request(ns: u64, outcome: &Outcome) -> f64 {
    ns as f64 / outcome.requests().max(1) as f64
}
