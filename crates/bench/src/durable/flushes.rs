//! How many commits share one flush of the log, while 64 connections write sessions and do nothing
//! else.

use std::time::Duration;

use load::{Generator, Idle, Result, Script, ServerProcess};

use super::figure::Figure;
use super::{Bed, run_script};
use crate::pairs::float;
use crate::report::median;
use crate::session;
use crate::setup::{apart, ask_number, connect, login};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION};

/// The fewest commits per flush that are asked for.
const COMMITS_MIN: f64 = 20.0;
/// How long a window lasts, and how many there are.
const WINDOW: Duration = Duration::from_millis(1_000);
const WINDOWS: usize = 7;

/// All flushes since the start.
const FLUSHES: &str =
    "SELECT SUM(flush_count) FROM sys.dm_os_log_flushes WHERE measure = 'commits per flush'";
/// Measures commits per flush, and the rate of commits.
pub(super) fn measure(bed: &Bed<'_>) -> Result<Vec<Figure>> {
    let server = bed.start("flushes", &["--schedulers", "1"], apart())?;
    session::prepare(bed.plan, &server)?;
    let work = session::save();
    let per_connection = REQUESTS_PER_CONNECTION.min(work.measured.requests.len());
    let script = Script::new(work.measured.requests, per_connection);
    let generator = Generator::log_in(server.address(), CONNECTIONS, &login(work.database))?;
    let mut generator = generator.idling(Idle::Spin);
    let (window, windows) = if bed.is_smoke { (WINDOW / 10, 1) } else { (WINDOW, WINDOWS) };
    run_script(&mut generator, &script, window / 4)?;
    let (mut per_flush, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..windows {
        let before = flushes(&server)?;
        let outcome = run_script(&mut generator, &script, window)?;
        let flushed = flushes(&server)?.saturating_sub(before);
        // Each request is one commit.
        per_flush.push(float(outcome.requests()) / float(flushed.max(1)));
        rates.push(outcome.requests_per_second());
    }
    let what = format!("commits per flush, {CONNECTIONS} connections");
    Ok(vec![
        Figure::at_least(&what, COMMITS_MIN, "commits", median(&per_flush))
            .noting(&format!("median of {windows} windows; {:.0} commits/s", median(&rates))),
    ])
}

fn flushes(server: &ServerProcess) -> Result<u64> {
    let count = ask_number(&mut connect(server, "")?, FLUSHES)?;
    Ok(u64::try_from(count).unwrap_or(0))
}
