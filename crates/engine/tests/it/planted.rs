//! Planted bugs of the crate `durable`: the crash test finds each of them within 50 seeds. Those of the
//! crate `log` are in its own crash test; docs/durability.md has the list of all.
//!
//! They take minutes, so `make planted` runs them and the usual tests do not. `PLANTED=RangeMissed` runs
//! one.

#![cfg(debug_assertions)]

use std::panic::catch_unwind;

use durable::{Bug, Planted};

use super::crash::{SLOW_SYNC, Way, run};

/// Seeds within which each bug must be caught.
const SEEDS: u64 = 50;

/// The bugs, and whether a checkpoint would hide them: it leaves nothing to replay.
const BUGS: [(Bug, bool); 7] = [
    (Bug::AcknowledgedBeforeFlush, false),
    (Bug::CheckpointBeforeLog, false),
    (Bug::ReaderDoesNotWait, false),
    (Bug::ValueReused, true),
    (Bug::DefinitionAfterRows, false),
    (Bug::RangeMissed, false),
    (Bug::OrderedByTime, true),
];

#[test]
#[ignore = "minutes: make planted"]
#[expect(clippy::print_stdout, reason = "the seeds are what `make planted` is for")]
fn crash_test_catches_planted_bugs() {
    let only = std::env::var("PLANTED").ok();
    for (bug, is_without_checkpoints) in BUGS {
        let name = format!("{bug:?}");
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let (sync, planted) = (Some(SLOW_SYNC), Planted::new(bug));
        let way = Way { sync, planted, is_without_checkpoints };
        let caught = (1..=SEEDS).find(|seed| catch_unwind(|| run(*seed, &way)).is_err());
        assert!(caught.is_some(), "{SEEDS} seeds let {name} pass");
        println!("{name}: caught by seed {caught:?}");
    }
}
