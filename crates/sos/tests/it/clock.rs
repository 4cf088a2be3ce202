//! Tests of ticks, wall clock and transaction timestamps.

use std::time::Duration;

use sos::clock::{self, TimestampSource, Timestamps};
use sos::park;
use sos::sync::{Arc, AtomicU64, Ordering};
use sos::thread;
use sos::wait::WaitType;

#[test]
fn ticks_agree_with_the_monotonic_clock() {
    let (ticks, ns) = (clock::now_ticks(), clock::monotonic_ns());
    park::sleep(Duration::from_millis(300), WaitType::WaitFor, None);
    let (ticks, ns) = (clock::now_ticks() - ticks, clock::monotonic_ns() - ns);
    clock::refine();
    let measured = clock::ticks_to_ns(ticks);
    let error = measured.abs_diff(ns);
    assert!(error < ns / 200, "{measured} ns by ticks, {ns} ns by the kernel");
    let back = clock::ticks_to_ns(clock::duration_to_ticks(Duration::from_millis(4)));
    assert!(back.abs_diff(4_000_000) < 10, "{back}");
}

#[test]
fn utc_counts_days_from_year_one() {
    let (days, ticks) = clock::utc_days_and_ticks();
    // 2026-01-01 is day 739,616 from 0001-01-01; 2100-01-01 is day 766,644.
    assert!((739_616..766_644).contains(&days), "{days}");
    assert!(ticks < clock::TICKS_100NS_PER_DAY);
}

/// Two threads take turns, one takes snapshots, the other commits: the timestamps have the order of
/// the calls.
fn turns_are_ordered(source: TimestampSource) {
    const ROUNDS: u64 = 20_000;
    let timestamps = Arc::new(Timestamps::with_source(source));
    let turn = Arc::new(AtomicU64::new(0));
    let last = Arc::new(AtomicU64::new(0));
    let accounts = Arc::default();
    let player = |parity: u64| {
        let (timestamps, turn, last) =
            (Arc::clone(&timestamps), Arc::clone(&turn), Arc::clone(&last));
        move || {
            for round in 0..ROUNDS {
                let mine = 2 * round + parity;
                while turn.load(Ordering::Acquire) != mine {
                    std::thread::yield_now();
                }
                let before = last.load(Ordering::Relaxed);
                let now = if parity == 0 { timestamps.snapshot().0 } else { timestamps.commit().0 };
                if parity == 0 {
                    assert!(now >= before, "snapshot {now} misses commit {before}");
                } else {
                    assert!(now > before, "commit {now} is visible to snapshot {before}");
                }
                last.store(now, Ordering::Relaxed);
                turn.store(mine + 1, Ordering::Release);
            }
        }
    };
    let one = thread::spawn(&accounts, "reader", player(0)).expect("spawns");
    let two = thread::spawn(&accounts, "writer", player(1)).expect("spawns");
    one.join().expect("snapshots");
    two.join().expect("commits");
}

#[test]
fn counter_timestamps_keep_their_promises() {
    turns_are_ordered(TimestampSource::Counter);
}

#[test]
fn tsc_timestamps_keep_their_promises() {
    if Timestamps::new().source() == TimestampSource::TimeStampCounter {
        turns_are_ordered(TimestampSource::TimeStampCounter);
    }
}
