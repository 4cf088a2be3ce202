//! Tests of reading accounts and of splitting the time of threads without a sentinel.

use super::super::state::{BACKGROUND, IDLE};
use super::super::watch::Watch;
use super::*;
use crate::xe::Emitter;

#[test]
fn what_becomes_part_of_the_turn_is_not_spread_twice() {
    let mut before = Spread::default();
    before.wall[RUNNING] = 5_000_000;
    before.wall[TURN] = 1_000_000;
    let mut wall = before.wall;
    (wall[RUNNING], wall[TURN]) = (2_000_000, 4_500_000);
    before.continue_running(&mut wall);
    assert_eq!((wall[RUNNING], wall[TURN]), (5_000_000, 1_500_000));
    // Only the turn may take over time: the reader has missed a stay.
    (wall[RUNNING], wall[TURN]) = (2_000_000, 1_500_000);
    before.continue_running(&mut wall);
    assert_eq!((wall[RUNNING], wall[TURN]), (2_500_000, 1_000_000));
}

#[test]
fn a_reader_that_comes_late_spreads_nothing_twice() {
    let at = |running: u64, idle: u64| {
        let mut wall = [0; CELLS];
        (wall[RUNNING], wall[IDLE]) = (running, idle);
        wall
    };
    let times = |on_cpu: u64| RunTimes {
        on_cpu_ns: clock::ticks_to_ns(on_cpu),
        runnable_ns: 0,
        timeslices: 0,
    };
    let (earlier, later) = (at(1_000_000, 5_000_000), at(2_000_000, 9_000_000));
    let first = Spread::default().share(&later, times(2_000_000), [0, 0]);
    assert!(first[IDLE].1.abs_diff(9_000_000) < 100, "{:?}", first[IDLE]);
    let spread = Spread::default().up_to(&later);
    let late = spread.share(&earlier, times(1_000_000), [0, 9_000_000]);
    assert!(late.iter().all(|&parts| parts == (0, 0)));
    let last =
        spread.up_to(&earlier).share(&at(2_500_000, 9_500_000), times(2_500_000), [0, 9_000_000]);
    assert!(last[RUNNING].1 < 100, "{:?}", last[RUNNING]);
    assert!(last[IDLE].1.abs_diff(500_000) < 100, "{:?}", last[IDLE]);
}

#[test]
fn a_sleep_whose_end_came_between_is_no_work() {
    let account = Account::with(7, "sleeps", Watch::blind(), None, Emitter::new(None, 7));
    for (at, blocked) in [(IDLE, 3_000_000), (RUNNING, 0)] {
        let mut whole = Whole { at, since: 1, ..account.read_once() };
        let before = whole.blocked[at];
        whole.add_stay(3_000_001);
        whole.guess_stay();
        assert_eq!(whole.blocked[at] - before, blocked);
        assert_eq!(whole.stay_on_cpu, 3_000_000 - blocked);
    }
}

#[test]
fn waiting_for_a_cpu_is_spread_over_what_runs_first() {
    let mut wall = [0; CELLS];
    (wall[RUNNING], wall[BACKGROUND], wall[IDLE]) = (3_000_000, 1_000_000, 6_000_000);
    let ns = |ticks| clock::ticks_to_ns(ticks);
    let times = RunTimes { on_cpu_ns: ns(2_000_000), runnable_ns: ns(2_500_000), timeslices: 0 };
    let share = Spread::default().share(&wall, times, [0, 0]);
    let near = |(runnable, blocked): (u64, u64), wanted: (u64, u64)| {
        // Conversion to whole nanoseconds loses some ticks of a faster clock.
        runnable.abs_diff(wanted.0) < 100 && blocked.abs_diff(wanted.1) < 100
    };
    assert!(near(share[RUNNING], (1_500_000, 0)), "{:?}", share[RUNNING]);
    assert!(near(share[BACKGROUND], (500_000, 0)), "{:?}", share[BACKGROUND]);
    assert!(near(share[IDLE], (500_000, 5_500_000)), "{:?}", share[IDLE]);
}
