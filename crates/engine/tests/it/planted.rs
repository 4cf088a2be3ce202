//! Planted bugs of the crate `durable`: a crash test finds each of them within 50 seeds. Those of the crate
//! `log` are in its own crash test; docs/durability.md has the list of all.
//!
//! They take minutes, so `make planted` runs them and the usual tests do not. `PLANTED=RangeMissed` runs
//! one.

#![cfg(debug_assertions)]

use std::panic::catch_unwind;

use durable::{Bug, Planted};
use simdisk::SimDisk;

use super::crash::{SLOW_SYNC, Way, end, must, rows_of, run, start};
use crate::client::login;

/// A crash test with a seed; it panics if it finds a mistake.
type Test = fn(u64, Planted);

/// Seeds within which each bug must be caught.
const SEEDS: u64 = 50;

/// The bugs, and what finds them. `CheckpointBeforeLog` is not among them: it is not found in each run.
const BUGS: [(Bug, Test); 6] = [
    (Bug::AcknowledgedBeforeFlush, usual),
    (Bug::ReaderDoesNotWait, usual),
    (Bug::ValueReused, without_checkpoints),
    (Bug::DefinitionAfterRows, usual),
    (Bug::RangeMissed, usual),
    (Bug::OrderedByTime, drop_after_restart),
];

#[test]
#[ignore = "minutes: make planted"]
fn crash_test_catches_planted_bugs() {
    let only = std::env::var("PLANTED").ok();
    // The last one needs no clients: it must hold without the bug, too.
    drop_after_restart(1, Planted::default());
    for (bug, test) in BUGS {
        let name = format!("{bug:?}");
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let planted = Planted::new(bug);
        let caught = (1..=SEEDS).find(|seed| catch_unwind(|| test(*seed, planted)).is_err());
        assert!(caught.is_some(), "{SEEDS} seeds let {name} pass");
        println!("{name}: caught by seed {caught:?}");
    }
}

fn usual(seed: u64, planted: Planted) {
    run(seed, &Way { sync: Some(SLOW_SYNC), planted, ..Way::default() });
}

fn without_checkpoints(seed: u64, planted: Planted) {
    run(seed, &Way { sync: Some(SLOW_SYNC), planted, is_without_checkpoints: true });
}

/// Drops a table after a restart. The times of definitions begin again with each start, so a replay that
/// goes by them alone makes the table again.
fn drop_after_restart(seed: u64, planted: Planted) {
    let disk = SimDisk::new(seed);
    let way = Way { planted, ..Way::default() };
    let lives = [
        "CREATE TABLE one (a int); CREATE TABLE two (a int); CREATE TABLE three (a int)",
        "DROP TABLE three",
    ];
    for text in lives {
        let instance = start(&disk, &way);
        must(&mut login(&instance), &instance, text);
        disk.crash();
        end(&instance);
        disk.restart();
    }
    let instance = start(&disk, &way);
    let there = "SELECT name FROM sys.tables WHERE name IN ('one', 'two', 'three') ORDER BY name";
    let found = rows_of(&mut login(&instance), &instance, there);
    end(&instance);
    assert_eq!(found, [["one"], ["two"]]);
}
