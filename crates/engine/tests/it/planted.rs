//! Planted bugs of the crate `durable`: a crash test finds each of them within 50 seeds. Those of the crate
//! `log` are in its own crash test; docs/durability.md has the list of all.
//!
//! They take minutes, so `make planted` runs them and the usual tests do not. `PLANTED=RangeMissed` runs
//! one.

#![cfg(debug_assertions)]

use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable::{Bug, DiskCall, Planted};
use engine::instance::Instance;
use simdisk::SimDisk;
use sos::park;
use sos::wait::WaitType;

use super::crash::{SLOW_SYNC, Way, end, must, rows_of, run, start, start_on};
use super::hooked_disk::{Gate, Gates};
use crate::client::{batch, login};

/// A crash test with a seed; it panics if it finds a mistake.
type Test = fn(u64, Planted);

/// Seeds within which each bug must be caught.
const SEEDS: u64 = 50;

/// The bugs, and what finds them.
const BUGS: [(Bug, Test); 7] = [
    (Bug::AcknowledgedBeforeFlush, usual),
    (Bug::CheckpointBeforeLog, transfer_during_scan),
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
    // It needs no clients: it must hold without the bug, too.
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

/// What the script of `CheckpointBeforeLog` does must hold without the bug. It takes no minutes.
#[test]
fn a_checkpoint_waits_for_the_log_of_what_it_has_read() {
    transfer_during_scan(1, Planted::default());
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

/// A checkpoint has read one row of a transfer before it and will read the other one behind it. Then the
/// power fails before the log has the transfer: a checkpoint that was published has a half of it.
fn transfer_during_scan(seed: u64, planted: Planted) {
    let disk = SimDisk::new(seed);
    let (scan, log) = (Gate::new(DiskCall::Write, ".ranges"), Gate::new(DiskCall::Write, "log/"));
    let gates = Gates(vec![Arc::clone(&scan), Arc::clone(&log)]).around(&disk);
    let way = Way { planted, ..Way::default() };
    let instance = start_on(gates, &way);
    let mut session = login(&instance);
    // Long rows: the first of them are written before the last ones are read.
    let made =
        "CREATE TABLE pair (id int PRIMARY KEY, balance int NOT NULL, pad varchar(4000) NOT NULL);
         INSERT pair SELECT value, 10, REPLICATE('x', 4000) FROM GENERATE_SERIES(0, 999)";
    must(&mut session, &instance, made);
    scan.close();
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The power fails while it waits for the log.
            let _ = instance.durable().unwrap().checkpoint(None);
            has_ended.store(true, Ordering::SeqCst);
        });
        wait_until(|| scan.arrived() > 0);
        log.close();
        let transfer = batch(
            &mut session,
            "BEGIN TRANSACTION;
             UPDATE pair SET balance = balance - 1 WHERE id = 0;
             UPDATE pair SET balance = balance + 1 WHERE id = 999;
             COMMIT",
        );
        assert!(transfer.errors.is_empty(), "{:?}", transfer.errors);
        scan.open();
        wait_until(|| has_ended.load(Ordering::SeqCst) || waits_for_log(&instance));
        disk.crash();
        log.open();
    });
    drop(session);
    end(&instance);
    disk.restart();
    let instance = start(&disk, &way);
    let sum = rows_of(&mut login(&instance), &instance, "SELECT COUNT(*), SUM(balance) FROM pair");
    end(&instance);
    assert_eq!(sum, [["1000", "10000"]]);
}

/// Returns whether the thread of checkpoints waits for the log.
fn waits_for_log(instance: &Instance) -> bool {
    let activities = instance.machine.activities();
    activities.iter().any(|one| {
        one.name() == "checkpoint"
            && one.waiting().is_some_and(|it| it.wait_type == WaitType::WriteLog)
    })
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        park::sleep(Duration::from_millis(1), WaitType::SleepTask, None);
    }
}
