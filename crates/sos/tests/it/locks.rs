//! Tests of the locks with real threads: mutual exclusion, and the counters of their slow paths.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use sos::ledger::Accounts;
use sos::lock::{LatchClass, RwLatch, RwMode, RwSpin, SpinClass, SpinLock, VersionLatch, blocked};
use sos::park;
use sos::sync::{Arc, AtomicU64, Ordering};
use sos::thread;
use sos::wait::WaitType;

const THREADS: u64 = 4;
const ROUNDS: u64 = 20_000;

fn on_threads(accounts: &Arc<Accounts>, run: impl Fn(u64) + Send + Sync + 'static) {
    let run = Arc::new(run);
    let start = |number| {
        let run = Arc::clone(&run);
        thread::spawn(accounts, "locker", move || run(number)).expect("spawns")
    };
    let handles: Vec<_> = (0..THREADS).map(start).collect();
    for handle in handles {
        handle.join().expect("runs");
    }
}

#[test]
fn spinlock_excludes() {
    let lock = Arc::new(SpinLock::new(SpinClass::ServerOther, (0_u64, 0_u64)));
    let shared = Arc::clone(&lock);
    on_threads(&Arc::default(), move |_| {
        for _ in 0..ROUNDS {
            let mut pair = shared.lock();
            assert_eq!(pair.0, pair.1);
            pair.0 += 1;
            pair.1 += 1;
        }
    });
    assert_eq!(*lock.lock(), (THREADS * ROUNDS, THREADS * ROUNDS));
}

#[test]
fn held_spinlock_is_booked_by_who_waits() {
    let accounts = Arc::<Accounts>::default();
    let lock = Arc::new(SpinLock::new(SpinClass::CmedHashSet, ()));
    let guard = lock.lock();
    let other = Arc::clone(&lock);
    let waiter = thread::spawn(&accounts, "waiter", move || drop(other.lock())).expect("spawns");
    park::sleep(Duration::from_millis(30), WaitType::WaitFor, None);
    drop(guard);
    waiter.join().expect("runs");
    let row = accounts.spins()[SpinClass::CmedHashSet.index()];
    assert_eq!(row.collisions, 1);
    assert!(row.spin_ns + row.sleep_ns > 10_000_000 && row.backoffs > 0, "{row:?}");
}

fn rw_spin_keeps_writers_alone(mode: RwMode) {
    let lock = Arc::new(RwSpin::new(SpinClass::LockRwCmedHashSet, mode, (0_u64, 0_u64)));
    let shared = Arc::clone(&lock);
    on_threads(&Arc::default(), move |number| {
        for round in 0..ROUNDS {
            if (round + number) % 8 == 0 {
                let mut pair = shared.write();
                pair.0 += 1;
                pair.1 += 1;
            } else {
                let pair = shared.read();
                assert_eq!(pair.0, pair.1);
            }
        }
    });
    assert_eq!(lock.read().0, THREADS * ROUNDS / 8);
}

#[test]
fn one_word_rw_spin_keeps_writers_alone() {
    rw_spin_keeps_writers_alone(RwMode::OneWord);
}

#[test]
fn exclusive_rw_spin_keeps_everybody_alone() {
    rw_spin_keeps_writers_alone(RwMode::Exclusive);
}

#[test]
fn distributed_rw_spin_keeps_writers_alone() {
    rw_spin_keeps_writers_alone(RwMode::Distributed);
}

#[test]
fn latch_keeps_writers_alone_and_everybody_gets_in() {
    let latch = Arc::new(RwLatch::new(LatchClass::Other, (0_u64, 0_u64)));
    let shared = Arc::clone(&latch);
    on_threads(&Arc::default(), move |number| {
        for round in 0..ROUNDS {
            if (round + number) % 4 == 0 {
                let mut pair = shared.write();
                pair.0 += 1;
                if round % 512 == 0 {
                    // Held long enough that the others park.
                    park::sleep(Duration::from_micros(50), WaitType::WaitFor, None);
                }
                pair.1 += 1;
            } else {
                let pair = shared.read();
                assert_eq!(pair.0, pair.1);
            }
        }
    });
    assert_eq!(latch.read().0, THREADS * ROUNDS / 4);
}

#[test]
fn parked_latch_waiters_are_booked_as_latch_waits() {
    let accounts = Arc::<Accounts>::default();
    let latch = Arc::new(RwLatch::new(LatchClass::Other, ()));
    let guard = latch.write();
    let other = Arc::clone(&latch);
    let waiter = thread::spawn(&accounts, "reader", move || drop(other.read())).expect("spawns");
    park::sleep(Duration::from_millis(30), WaitType::WaitFor, None);
    drop(guard);
    waiter.join().expect("runs");
    let row = accounts.waits()[WaitType::LatchShared.index()];
    assert_eq!(row.count, 1);
    assert!(row.wait_ns > 10_000_000);
    assert_eq!(accounts.latches()[LatchClass::Other.index()].count, 1);
}

#[test]
fn version_latch_readers_notice_every_writer() {
    let node =
        Arc::new((VersionLatch::<sos::lock::Proven>::new(), AtomicU64::new(0), AtomicU64::new(0)));
    let shared = Arc::clone(&node);
    on_threads(&Arc::default(), move |number| {
        for round in 0..ROUNDS {
            let (latch, left, right) = &*shared;
            if (round + number) % 8 == 0 {
                let _guard = latch.lock().expect("the node stays");
                left.store(left.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                right.store(right.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                continue;
            }
            let version = latch.read().expect("the node stays");
            let pair = (left.load(Ordering::Relaxed), right.load(Ordering::Relaxed));
            if latch.validate(version) {
                assert_eq!(pair.0, pair.1);
            }
        }
    });
    assert_eq!(node.1.load(Ordering::Relaxed), THREADS * ROUNDS / 8);
    node.0.lock().expect("the node stays").retire();
    assert!(node.0.read().is_err());
}

/// Names the lock under which the child of the test below panics.
const PANIC_UNDER: &str = "SOS_TEST_PANIC_UNDER";

#[test]
#[ignore = "run as a child process by the test below"]
fn child_that_panics_under_a_lock() {
    let write = |mode| {
        let lock = RwSpin::new(SpinClass::LockRwSecurityCache, mode, ());
        let _guard = lock.write();
        panic!("on purpose");
    };
    match std::env::var(PANIC_UNDER).as_deref() {
        Ok("SpinLock") => {
            let lock = SpinLock::new(SpinClass::CmedHashSet, ());
            let _guard = lock.lock();
            panic!("on purpose");
        }
        Ok("RwSpin one word") => write(RwMode::OneWord),
        Ok("RwSpin distributed") => write(RwMode::Distributed),
        Ok("RwLatch") => {
            let latch = RwLatch::new(LatchClass::Catalog, ());
            let _guard = latch.write();
            panic!("on purpose");
        }
        Ok("VersionLatch") => {
            let latch = VersionLatch::<sos::lock::Proven>::new();
            let _guard = latch.lock().expect("the node stays");
            panic!("on purpose");
        }
        other => panic!("no such lock: {other:?}"),
    }
}

#[test]
fn panic_under_a_lock_stops_the_process_with_the_name_of_its_class() {
    for (lock, class) in [
        ("SpinLock", "CMED_HASH_SET"),
        ("RwSpin one word", "LOCK_RW_SECURITY_CACHE"),
        ("RwSpin distributed", "LOCK_RW_SECURITY_CACHE"),
        ("RwLatch", "CATALOG"),
        ("VersionLatch", "XTP_INDEX"),
    ] {
        let output = Command::new(std::env::current_exe().expect("runs"))
            .args(["--exact", "locks::child_that_panics_under_a_lock", "--ignored", "--nocapture"])
            .env(PANIC_UNDER, lock)
            .output()
            .expect("starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let expected =
            format!("clearway: a thread panicked while it held the lock {class}; stopping");
        assert!(said.lines().any(|line| line == expected), "{lock}: {said}");
        // SIGABRT is 6 on every Linux.
        assert_eq!(output.status.signal(), Some(6), "{lock}: {}", output.status);
    }
}

#[test]
fn reader_that_panics_costs_nobody_else_anything() {
    let latch = RwLatch::new(LatchClass::Other, 7);
    let contained = thread::contain(|| {
        let _guard = latch.read();
        panic!("on purpose");
    });
    assert!(contained.is_err());
    assert_eq!(*latch.write(), 7);
}

#[test]
fn optimistic_copies_are_whole() {
    let latch = Arc::new(RwLatch::new(LatchClass::Other, [0_u64; 4]));
    let shared = Arc::clone(&latch);
    on_threads(&Arc::default(), move |number| {
        for round in 0..ROUNDS {
            if (round + number) % 16 == 0 {
                shared.write().iter_mut().for_each(|word| *word += 1);
            } else {
                let copy = shared.copy();
                assert!(copy.iter().all(|word| *word == copy[0]), "{copy:?}");
            }
        }
    });
    assert_eq!(latch.copy()[3], THREADS * ROUNDS / 16);
}

#[test]
fn waiting_thread_names_its_blocker() {
    let accounts = Arc::<Accounts>::default();
    let latch = Arc::new(RwLatch::new(LatchClass::Database, ()));
    let me = sos::ledger::with_current(sos::ledger::Account::number);
    let guard = latch.write();
    assert_eq!(latch.owner(), me);
    let other = Arc::clone(&latch);
    let waiter = thread::spawn(&accounts, "waiter", move || drop(other.write())).expect("spawns");
    let blocked = loop {
        let found = blocked().into_iter().find(|wait| wait.class == "DATABASE" && wait.asleep);
        if let Some(found) = found {
            break found;
        }
        park::sleep(Duration::from_millis(1), WaitType::WaitFor, None);
    };
    assert_eq!(blocked.owner, Some(me));
    assert_ne!(blocked.thread, me);
    drop(guard);
    waiter.join().expect("runs");
}

#[test]
fn latch_serves_who_has_waited_too_long() {
    // One thread takes the latch repeatedly without a pause: the other one must get it, although it
    // always comes too late.
    let latch = Arc::new(RwLatch::new(LatchClass::Other, 0_u64));
    let shared = Arc::clone(&latch);
    on_threads(&Arc::default(), move |number| {
        let turns = if number == 0 { 20_000 } else { 5 };
        for _ in 0..turns {
            let mut value = shared.write();
            *value += 1;
            if number != 0 {
                park::sleep(Duration::from_micros(100), WaitType::WaitFor, None);
            }
        }
    });
    assert_eq!(*latch.read(), 20_000 + (THREADS - 1) * 5);
}
