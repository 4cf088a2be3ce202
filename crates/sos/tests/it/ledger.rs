//! Tests of the ledger against the kernel: the sums agree for every source, and the time of each
//! injected fault is in its own category.

use std::time::Duration;

use sos::clock;
use sos::ledger::{
    self, Accounts, Category, Closure, Label, Ledger, LedgerRow, Source, SourceChoice, State,
};
use sos::lock::{SpinClass, SpinLock};
use sos::sampler::RATE_HZ_MAX;
use sos::sched::{Unblocked, blocking};
use sos::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use sos::sys;
use sos::thread;
use sos::wait::WaitType;

const MS: u64 = 1_000_000;

/// Runs on a CPU for this elapsed time.
fn burn(duration: Duration) {
    let end = clock::now_ticks() + clock::duration_to_ticks(duration);
    while clock::now_ticks() < end {
        std::hint::spin_loop();
    }
}

/// Spins for some time on a CPU as the kernel counts it: a host that takes the CPU away without a
/// word is not in it.
fn burn_cpu(ns: u64) {
    let end = sys::thread_cpu_ns() + ns;
    while sys::thread_cpu_ns() < end {
        burn(Duration::from_micros(20));
    }
}

/// Sleeps by a system call that the ledger does not see.
#[expect(clippy::disallowed_methods, reason = "the fault that the ledger has to find")]
fn bare_sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// The ledger of `run` on several new threads, read while they live, when all are done.
fn books_of(
    choice: SourceChoice,
    threads: usize,
    run: impl Fn() + Clone + Send + 'static,
) -> Ledger {
    let accounts = Arc::new(Accounts::new(choice));
    // The threads are sampled as in a server, but more often.
    accounts.set_sampling_rate(RATE_HZ_MAX);
    let done = Arc::new(AtomicBool::new(false));
    let (ready, all_ready) = std::sync::mpsc::channel();
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let (run, done, ready) = (run.clone(), Arc::clone(&done), ready.clone());
            let body = move || {
                run();
                ledger::to(State::Idle);
                ready.send(()).expect("the test listens");
                while !done.load(Ordering::Acquire) {
                    bare_sleep(Duration::from_millis(1));
                }
            };
            thread::spawn(&accounts, "worker", body).expect("starts a thread")
        })
        .collect();
    drop(ready);
    (0..threads).for_each(|_| all_ready.recv().expect("a thread is done"));
    accounts.tick();
    let books = accounts.close();
    done.store(true, Ordering::Release);
    handles.into_iter().for_each(|handle| handle.join().expect("ends"));
    books
}

fn row<'a>(books: &'a Ledger, category: Category, name: &str) -> Option<&'a LedgerRow> {
    books.rows.iter().find(|row| row.category == category && row.name == name)
}

fn wall_ms(books: &Ledger, category: Category, name: &str) -> u64 {
    row(books, category, name).map_or(0, |row| row.wall_ns / MS)
}

fn category_ms(books: &Ledger, category: Category) -> u64 {
    let rows = books.rows.iter().filter(|row| row.category == category);
    rows.map(|row| row.wall_ns).sum::<u64>() / MS
}

/// A mix of running, waiting and system calls.
fn mixed() {
    for _ in 0..50 {
        ledger::to(State::Running);
        burn(Duration::from_micros(1500));
        blocking(WaitType::WaitFor, || {
            bare_sleep(Duration::from_micros(500));
            Unblocked::Now
        });
        let _ = sys::resident_bytes();
    }
}

fn assert_closes(books: &Ledger, tolerance: f64) {
    let closure = books.closure;
    let near = |ours: u64, theirs: u64, what: &str| {
        let allowed = tolerance * theirs as f64 + 2e6;
        let off = ours.abs_diff(theirs) as f64;
        assert!(off <= allowed, "{what}: {ours} against the kernel's {theirs}: {books:#?}");
    };
    near(closure.on_cpu_ns, closure.schedstat_on_cpu_ns, "on a CPU");
    near(closure.runnable_ns, closure.schedstat_runnable_ns, "ready");
    let sum: u64 = books.rows.iter().map(|row| row.wall_ns).sum();
    assert_eq!(sum, closure.thread_ns);
}

#[test]
fn books_of_eight_threads_on_two_cpus_close_with_rseq() {
    let books = books_of(SourceChoice::Auto, 8, mixed);
    assert_eq!(books.source, Source::Rseq, "this kernel has restartable sequences");
    assert_closes(&books, 0.005);
    assert!(wall_ms(&books, Category::Wait, "WAITFOR") >= 8 * 50 / 2, "{books:#?}");
}

#[test]
fn books_close_with_switch_records() {
    let books = books_of(SourceChoice::Switches, 8, mixed);
    if books.source == Source::SwitchRecords {
        assert_closes(&books, 0.005);
        assert!(books.lost.is_empty(), "{:?}", books.lost);
    } else {
        assert!(!books.lost.is_empty(), "what was asked for and is not there is said");
    }
}

#[test]
fn books_close_with_schedstat() {
    let books = books_of(SourceChoice::Schedstat, 8, mixed);
    assert_eq!(books.source, Source::Schedstat);
    assert_closes(&books, 0.02);
    assert!(!books.lost.is_empty());
}

#[test]
fn wall_only_books_split_nothing_and_say_so() {
    let books = books_of(SourceChoice::Wall, 4, mixed);
    assert_eq!(books.source, Source::WallOnly);
    assert!(!books.lost.is_empty());
    assert_eq!(category_ms(&books, Category::Runnable), 0);
    assert!(wall_ms(&books, Category::Wait, "WAITFOR") >= 4 * 50 / 2);
}

#[test]
fn sleep_in_a_running_state_is_unexpected_blocking() {
    for choice in [SourceChoice::Rseq, SourceChoice::Switches, SourceChoice::Schedstat] {
        let books = books_of(choice, 1, || {
            ledger::to(State::Running);
            burn(Duration::from_millis(5));
            bare_sleep(Duration::from_millis(100));
            burn(Duration::from_millis(5));
        });
        let blocked = wall_ms(&books, Category::UnexpectedBlocking, "running");
        assert!((95..300).contains(&blocked), "{choice}: {blocked} ms: {books:#?}");
    }
}

#[test]
fn sleep_in_progress_is_seen_by_a_reader() {
    let accounts = Arc::new(Accounts::default());
    let body = || {
        ledger::to(State::Running);
        bare_sleep(Duration::from_millis(200));
    };
    let handle = thread::spawn(&accounts, "sleeper", body).expect("starts a thread");
    bare_sleep(Duration::from_millis(100));
    let books = accounts.close();
    let blocked = wall_ms(&books, Category::UnexpectedBlocking, "running");
    assert!((50..400).contains(&blocked), "{books:#?}");
    handle.join().expect("ends");
}

#[test]
fn busy_neighbour_shows_as_runnable() {
    let cpu = sys::allowed_cpus()[0];
    let books = books_of(SourceChoice::Auto, 2, move || {
        sys::pin_to_cpu(cpu).expect("pins");
        ledger::to(State::Running);
        burn(Duration::from_millis(200));
    });
    let ready = wall_ms(&books, Category::Runnable, "running");
    assert!(ready >= 50, "two threads shared a CPU for 200 ms: {books:#?}");
    assert!(wall_ms(&books, Category::UnexpectedBlocking, "running") < 20, "{books:#?}");
}

#[test]
fn lock_held_long_shows_as_spinning_on_its_class() {
    let lock = Arc::new(SpinLock::new(SpinClass::PlanCache, ()));
    let books = books_of(SourceChoice::Auto, 2, move || {
        ledger::to(State::Running);
        let _guard = lock.lock();
        burn(Duration::from_millis(400));
    });
    let spun = wall_ms(&books, Category::Spin, "SQL_MGR");
    let ready = wall_ms(&books, Category::Runnable, "SQL_MGR");
    // The second thread may have started late.
    assert!(spun + ready >= 100, "{books:#?}");
    let yields = row(&books, Category::Kernel, "yield").map_or(0, |row| row.count);
    assert!(yields > 0, "it offered its CPU between two tries: {books:#?}");
}

#[test]
fn bare_system_calls_show_as_unwrapped_kernel_time() {
    let books = books_of(SourceChoice::Auto, 1, || {
        ledger::to(State::Running);
        ledger::label(Label::Execute);
        let me = sys::thread_id();
        while sys::run_times(me).is_some_and(|times| times.on_cpu_ns < 400 * MS) {
            // 64 KiB of random numbers take nearly all of their time in the kernel.
            let mut bytes = [0_u8; 1 << 16];
            let file = std::fs::File::open("/dev/urandom").expect("opens");
            std::io::Read::read_exact(&mut &file, &mut bytes).expect("reads");
        }
    });
    let unwrapped = row(&books, Category::Kernel, "unwrapped").expect("there is such a row");
    assert!(unwrapped.wall_ns > books.closure.on_cpu_ns / 2, "{books:#?}");
    assert!(unwrapped.error_ns.expect("it is sampled") < unwrapped.wall_ns / 4);
}

#[test]
fn threads_of_others_are_listed_as_foreign() {
    let name = "somebody-else";
    let (started, is_started) = std::sync::mpsc::channel();
    let (end, is_over) = std::sync::mpsc::channel::<()>();
    let body = move || {
        started.send(()).expect("the test waits");
        // An error: the test has dropped the other end.
        is_over.recv().is_err()
    };
    let handle = std::thread::Builder::new().name(name.into()).spawn(body).expect("starts");
    is_started.recv().expect("it starts");
    let accounts = Arc::new(Accounts::default());
    let books = accounts.close();
    drop(end);
    assert!(handle.join().expect("ends"));
    assert!(books.threads.iter().any(|thread| &*thread.name == name), "{books:#?}");
}

#[test]
fn ended_threads_stay_on_the_books() {
    let accounts = Arc::new(Accounts::default());
    for _ in 0..3 {
        let body = || {
            ledger::to(State::Running);
            burn_cpu(20 * MS);
        };
        thread::spawn(&accounts, "short", body).expect("starts").join().expect("ends");
    }
    let books = accounts.close();
    assert!(accounts.threads().is_empty());
    let wall = wall_ms(&books, Category::Dark, "unlabelled")
        + wall_ms(&books, Category::Runnable, "running");
    assert!(wall >= 58, "{books:#?}");
    assert_closes(&books, 0.01);
}

#[test]
fn timed_requests_split_the_running_time_by_label() {
    let books = books_of(SourceChoice::Auto, 1, || {
        ledger::to(State::Scheduling);
        for i in 0..20_000 {
            ledger::to(State::Running);
            ledger::request(None, || {
                let _label = ledger::labelled(Label::Parse);
                burn(Duration::from_micros(2));
                ledger::label(Label::Row);
                burn(Duration::from_micros(6));
                if i % 2 == 0 {
                    ledger::label(Label::Commit);
                    burn(Duration::from_micros(4));
                }
            });
        }
    });
    assert!(books.closure.timed_units > 150, "one in 64 is timed: {}", books.closure.timed_units);
    let of = |name| row(&books, Category::User, name).expect("has time").wall_ns as f64;
    let (parse, rows, commit) = (of("parse"), of("row"), of("commit"));
    let total = parse + rows + commit;
    for (name, part, wanted) in [("parse", parse, 0.2), ("row", rows, 0.6), ("commit", commit, 0.2)]
    {
        // If tests compete for CPUs, a request may be interrupted for long; the error includes
        // that.
        let error = row(&books, Category::User, name).and_then(|row| row.error_ns).unwrap_or(0);
        let allowed = (4.0 * error as f64 / total).max(0.03);
        let share = part / total;
        assert!((share - wanted).abs() < allowed, "{share} {wanted} {allowed}: {books:#?}");
    }
    let error = row(&books, Category::User, "commit").and_then(|row| row.error_ns);
    let error = error.expect("it is sampled") as f64 / total;
    assert!(error > 0.001 && error < 0.05, "half of the requests commit: {error}");
}

#[test]
fn measured_label_needs_no_timed_request() {
    let burnt = Arc::new(AtomicU64::new(0));
    let sum = Arc::clone(&burnt);
    let requests = move || {
        ledger::to(State::Scheduling);
        for i in 0..1_000 {
            ledger::to(State::Running);
            ledger::request(None, || {
                ledger::label(Label::Row);
                burn(Duration::from_micros(5));
                if i % 16 == 15 {
                    let _walk = ledger::measured(Label::Versions);
                    let before = sys::thread_cpu_ns();
                    burn_cpu(MS / 3);
                    sum.fetch_add(sys::thread_cpu_ns() - before, Ordering::Relaxed);
                }
                burn(Duration::from_micros(5));
            });
        }
    };
    // Which requests are timed depends on the thread. Mostly one of the 62 that measure is among
    // them, and must not change what is measured.
    for _ in 0..8 {
        let books = books_of(SourceChoice::Auto, 1, requests.clone());
        let versions = row(&books, Category::User, "versions").expect("it was measured");
        let burnt = burnt.swap(0, Ordering::Relaxed);
        assert!(versions.on_cpu_ns.abs_diff(burnt) < burnt / 6 + 2 * MS, "{burnt}: {books:#?}");
        assert_closes(&books, 0.01);
    }
}

/// The gain of each row; checks that no part of any row has shrunk.
fn gained(before: &Ledger, after: &Ledger) -> Vec<LedgerRow> {
    let less = |now: u64, then: u64, row: &LedgerRow| {
        let what = (row.category, row.name);
        now.checked_sub(then).unwrap_or_else(|| panic!("{what:?}: {now} after {then}"))
    };
    for then in &before.rows {
        assert!(row(after, then.category, then.name).is_some(), "{then:?} is gone");
    }
    let gain = |now: &LedgerRow| {
        let Some(then) = row(before, now.category, now.name) else { return now.clone() };
        LedgerRow {
            wall_ns: less(now.wall_ns, then.wall_ns, now),
            on_cpu_ns: less(now.on_cpu_ns, then.on_cpu_ns, now),
            runnable_ns: less(now.runnable_ns, then.runnable_ns, now),
            blocked_ns: less(now.blocked_ns, then.blocked_ns, now),
            count: less(now.count, then.count, now),
            error_ns: now.error_ns.map(|ns| less(ns, then.error_ns.unwrap_or(0), now)),
            ..now.clone()
        }
    };
    after.rows.iter().map(gain).collect()
}

/// Reads the ledger repeatedly until `is_done`, checking that no row shrinks. Returns the last
/// reading.
fn close_until(accounts: &Accounts, is_done: impl Fn() -> bool) -> Ledger {
    let mut books = accounts.close();
    while !is_done() {
        bare_sleep(Duration::from_millis(100));
        accounts.tick();
        let next = accounts.close();
        drop(gained(&books, &next));
        books = next;
    }
    let last = accounts.close();
    drop(gained(&books, &last));
    last
}

/// Runs requests that have these labels, each for a number of microseconds.
fn requests(count: u32, labels: &[(Label, u64)]) {
    for _ in 0..count {
        ledger::to(State::Running);
        ledger::request(None, || {
            for &(label, micros) in labels {
                ledger::label(label);
                burn(Duration::from_micros(micros));
            }
        });
    }
}

/// Asserts the labels' shares of their total time.
fn assert_mix(rows: &[LedgerRow], wanted: &[(&str, f64)]) {
    let on_cpu = |name| {
        let is_it = |row: &&LedgerRow| row.category == Category::User && row.name == name;
        rows.iter().find(is_it).map_or(0.0, |row| row.on_cpu_ns as f64)
    };
    let total: f64 = wanted.iter().map(|&(name, _)| on_cpu(name)).sum();
    assert!(total > 100e6, "{total}: {rows:#?}");
    for &(name, share) in wanted {
        let found = on_cpu(name) / total;
        assert!((found - share).abs() < 0.06, "{name}: {found} for {share}: {rows:#?}");
    }
}

#[test]
fn change_of_the_load_does_not_rewrite_the_past() {
    for choice in [SourceChoice::Auto, SourceChoice::Schedstat] {
        let accounts = Arc::new(Accounts::new(choice));
        let (done, asked) = std::sync::mpsc::channel();
        let (go, may_go) = std::sync::mpsc::channel::<()>();
        let body = move || {
            ledger::to(State::Scheduling);
            requests(40_000, &[(Label::Parse, 8), (Label::Row, 2)]);
            ledger::to(State::Idle);
            done.send(()).expect("the test listens");
            may_go.recv().expect("the test says go");
            requests(40_000, &[(Label::Row, 2), (Label::Commit, 6)]);
            ledger::to(State::Idle);
            done.send(()).expect("the test listens");
            may_go.recv().expect("the test says go");
        };
        let handle = thread::spawn(&accounts, "worker", body).expect("starts a thread");
        let first = close_until(&accounts, || asked.try_recv().is_ok());
        go.send(()).expect("it waits");
        let second = close_until(&accounts, || asked.try_recv().is_ok());
        let rows = gained(&first, &second);
        // Other sources take a timed request that was preempted for a long one.
        if accounts.source() == Source::Rseq {
            assert_mix(&rows, &[("parse", 0.0), ("row", 0.25), ("commit", 0.75)]);
        }
        go.send(()).expect("it waits");
        handle.join().expect("ends");
        drop(gained(&second, &accounts.close()));
    }
}

/// The greatest allowed difference (ns) to schedstat of threads without a sentinel.
fn schedstat_allowance(closure: &Closure) -> u64 {
    closure.schedstat_on_cpu_ns / 500 + MS / 10
}

/// The ledger's and the kernel's number for each kind of time.
fn beside_schedstat(closure: &Closure) -> [(u64, u64); 2] {
    [
        (closure.on_cpu_ns, closure.schedstat_on_cpu_ns),
        (closure.runnable_ns, closure.schedstat_runnable_ns),
    ]
}

/// The kernel reports a wait for a CPU when it is over. A wait in progress when the ledger is read
/// counts as blocked, and no row may shrink: the ledger corrects it with later time. So it is never
/// ahead of the kernel, and agrees with it once the threads have rested as long as they had waited.
#[test]
fn schedstat_books_are_never_ahead_of_the_kernel_and_catch_up_with_it() {
    let accounts = Arc::new(Accounts::new(SourceChoice::Schedstat));
    let running = Arc::new(AtomicBool::new(true));
    let busy = Arc::new(AtomicBool::new(true));
    let handles: Vec<_> = (0..6)
        .map(|i| {
            let (running, busy) = (Arc::clone(&running), Arc::clone(&busy));
            let body = move || {
                while running.load(Ordering::Acquire) {
                    let is_busy = busy.load(Ordering::Acquire);
                    // Half of them do almost nothing.
                    let times = if is_busy && i % 2 == 0 { 10 } else { 0 };
                    requests(times, &[(Label::Execute, 50)]);
                    blocking(WaitType::WaitFor, || {
                        bare_sleep(Duration::from_millis(if is_busy { 2 } else { 20 }));
                        Unblocked::Now
                    });
                    ledger::to(State::Idle);
                    bare_sleep(Duration::from_millis(1));
                }
            };
            thread::spawn(&accounts, "worker", body).expect("starts a thread")
        })
        .collect();
    let mut before = accounts.close();
    let mut close = || {
        bare_sleep(Duration::from_millis(30));
        let books = accounts.close();
        drop(gained(&before, &books));
        let closure = books.closure;
        for (ours, theirs) in beside_schedstat(&closure) {
            let limit = theirs + schedstat_allowance(&closure);
            assert!(ours <= limit, "{ours} for {theirs}: {closure:?}");
        }
        before = books;
        closure
    };
    for _ in 0..3 {
        busy.store(true, Ordering::Release);
        for _ in 0..8 {
            close();
        }
        busy.store(false, Ordering::Release);
        let is_even = |closure: &Closure| {
            let behind =
                beside_schedstat(closure).map(|(ours, theirs)| theirs.saturating_sub(ours));
            behind.iter().all(|ns| *ns <= schedstat_allowance(closure))
        };
        let rested = (0..300).map(|_| close()).find(is_even);
        assert!(rested.is_some(), "the books stay behind: {:?}", close());
    }
    running.store(false, Ordering::Release);
    handles.into_iter().for_each(|handle| handle.join().expect("ends"));
    assert_closes(&accounts.close(), 0.01);
}

#[test]
fn long_request_is_known_by_its_parts() {
    let books = books_of(SourceChoice::Auto, 1, || {
        ledger::to(State::Running);
        burn(Duration::from_millis(1));
    });
    // Without a scheduler no parts begin: all the time has no label, and is dark.
    assert!(books.closure.unlabelled_ns > MS / 2);
    assert_eq!(books.closure.timed_units, 0);
}

#[test]
fn spent_adds_up_to_the_time_that_has_passed() {
    let books = books_of(SourceChoice::Auto, 1, || {
        ledger::to(State::Running);
        let before = ledger::spent();
        let began = clock::now_ticks();
        burn_cpu(20 * MS);
        bare_sleep(Duration::from_millis(10));
        blocking(WaitType::WaitFor, || {
            bare_sleep(Duration::from_millis(30));
            Unblocked::Now
        });
        let spent = ledger::spent().since(&before);
        let passed = clock::ticks_to_ns(clock::now_ticks() - began);
        // On a busy machine each step takes longer, but never shorter.
        let near = |ns: u64, ms: u64| ns >= ms * MS * 9 / 10 && ns < passed - ms * MS / 2;
        assert!(passed.abs_diff(spent.elapsed_ns()) < MS, "{spent:?} in {passed}");
        assert!(near(spent.user_ns() + spent.runnable_ns(), 20), "{spent:?}");
        assert!(near(spent.blocked_ns(), 10), "{spent:?}");
        assert!(near(spent.resource_wait_ns(), 30), "{spent:?}");
    });
    drop(books);
}

#[test]
fn cleared_statistics_begin_at_zero_and_forget_their_maxima() {
    use sos::ledger::Statistics;
    let accounts = Arc::new(Accounts::default());
    let wait = |ms| {
        let body = move || {
            blocking(WaitType::WaitFor, || {
                bare_sleep(Duration::from_millis(ms));
                Unblocked::Now
            });
        };
        thread::spawn(&accounts, "waiter", body).expect("starts").join().expect("ends");
        let rows = accounts.waits();
        *rows.iter().find(|row| row.wait_type == WaitType::WaitFor).expect("every type has a row")
    };
    let before = wait(60);
    assert_eq!(before.count, 1);
    assert!(before.max_wait_ns >= 60 * MS);
    accounts.clear(Statistics::Waits);
    let cleared = accounts.waits();
    assert!(cleared.iter().all(|row| row.count == 0 && row.wait_ns == 0 && row.max_wait_ns == 0));
    let after = wait(5);
    assert_eq!(after.count, 1);
    assert!(
        after.wait_ns >= 5 * MS && after.max_wait_ns.abs_diff(after.wait_ns) < 100,
        "{after:?}"
    );
}
