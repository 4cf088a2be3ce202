//! What a checkpoint does to the latency of requests: session writes on 64 connections while all rows are
//! written, beside the same without. Before both all rows are changed, because the old versions that go
//! then take time as well.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use load::process::Place;
use load::{Generator, Outcome, Result, Script, ServerProcess};
use sos::clock;

use super::figure::Figure;
use super::recovery::{folder_bytes, load_rows};
use super::{Bed, run_script};
use crate::pairs::float;
use crate::report::median;
use crate::setup::{connect, login, run_batches};
use crate::work::{CONNECTIONS, REQUESTS_PER_CONNECTION};
use crate::{say, session};

/// Milliseconds that a request may wait longer at most, at the 99.9th percentile.
const PAUSE_MAX_MS: f64 = 5.0;
const PERCENT: f64 = 99.9;
/// Rounds of a run with a checkpoint and one without.
const ROUNDS: usize = 5;
const WINDOW: Duration = Duration::from_millis(100);

/// Measures the percentile with and without, and the difference in each round.
pub(super) fn measure(bed: &Bed<'_>) -> Result<Vec<Figure>> {
    let server = bed.start("checkpoint", &[], Place::Anywhere)?;
    session::prepare(bed.plan, &server)?;
    load_rows(&server, bed.rows)?;
    let work = session::save();
    let per_connection = REQUESTS_PER_CONNECTION.min(work.measured.requests.len());
    let script = Script::new(work.measured.requests, per_connection);
    let mut generator = Generator::log_in(server.address(), CONNECTIONS, &login(work.database))?;
    run_script(&mut generator, &script, WINDOW)?;
    let (mut with_ms, mut without_ms, mut more_ms) = (Vec::new(), Vec::new(), Vec::new());
    let (mut seconds, mut most_ms) = (Vec::new(), 0.0_f64);
    for round in 0..if bed.is_smoke { 1 } else { ROUNDS } {
        // Every range of rows has changed, so the checkpoint writes all of them.
        change_all(&server)?;
        let began_ns = clock::monotonic_ns();
        let (with, windows) = during_checkpoint(&server, &mut generator, &script)?;
        seconds.push(float(clock::monotonic_ns() - began_ns) / 1e9);
        change_all(&server)?;
        let mut without = Outcome::default();
        for _ in 0..windows {
            without.add(&run_script(&mut generator, &script, WINDOW)?);
        }
        let ms = |outcome: &Outcome| float(outcome.percentile_ns(PERCENT)) / 1e6;
        say(&format!(
            "checkpoint {}: p{PERCENT} {:.2} ms in {windows} windows, {:.2} ms without",
            round + 1,
            ms(&with),
            ms(&without)
        ));
        most_ms = most_ms.max(float(with.latencies.max()) / 1e6);
        with_ms.push(ms(&with));
        without_ms.push(ms(&without));
        more_ms.push(ms(&with) - ms(&without));
    }
    let gb = float(folder_bytes(&bed.folder("checkpoint").join("checkpoint"))) / 1e9;
    drop(server);
    bed.remove("checkpoint")?;
    let what = format!("latency at p{PERCENT} that a checkpoint of {gb:.2} GB adds");
    Ok(vec![Figure::at_most(&what, PAUSE_MAX_MS, "ms", median(&more_ms).max(0.0)).noting(&format!(
        "median of {} rounds; {:.2} ms with and {:.2} ms without; the longest request took {most_ms:.1} ms; a checkpoint took {:.1} s",
        more_ms.len(),
        median(&with_ms),
        median(&without_ms),
        median(&seconds)
    ))])
}

/// Changes all rows, to what they are.
fn change_all(server: &ServerProcess) -> Result<()> {
    let mut client = connect(server, session::DATABASE)?;
    run_batches(&mut client, ["UPDATE dbo.Session WITH (SNAPSHOT) SET Flags = Flags"])
}

/// Runs windows until a checkpoint has ended; returns what they have found, and how many they were.
fn during_checkpoint(
    server: &ServerProcess,
    generator: &mut Generator,
    script: &Script,
) -> Result<(Outcome, u32)> {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let asked = connect(server, "").and_then(|mut it| run_batches(&mut it, ["CHECKPOINT"]));
            is_done.store(true, Ordering::SeqCst);
            asked
        });
        let (mut outcome, mut windows) = (Outcome::default(), 0);
        while windows == 0 || !is_done.load(Ordering::SeqCst) {
            outcome.add(&run_script(generator, script, WINDOW)?);
            windows += 1;
        }
        let asked =
            asking.join().map_err(|_| "the thread of the checkpoint panicked".to_owned())?;
        asked.map(|()| (outcome, windows))
    })
}
