//! Tests of the sampler: its sums agree with the work done, within the sampling error.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use sos::ledger::{self, Accounts, Category, Label, State};
use sos::memory::{MemoryClerk, with_clerk};
use sos::park;
use sos::sampler::RATE_HZ_MAX;
use sos::stack::StackId;
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::sys;
use sos::wait::WaitType;
use sos::{symbols, thread};

const MS: u64 = 1_000_000;

/// Runs a closure on a sampled thread, and collects its samples while it lives.
fn sampled<R: Send + 'static>(
    run: impl FnOnce() -> R + Send + 'static,
    look: impl FnOnce(&Accounts, R),
) {
    let accounts = Arc::new(Accounts::default());
    accounts.set_sampling_rate(RATE_HZ_MAX);
    let (sender, receiver) = std::sync::mpsc::channel();
    let may_end = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&may_end);
    let body = move || {
        ledger::to(State::Background);
        let result = run();
        ledger::to(State::Idle);
        sender.send(result).expect("the test waits");
        while !end.load(Ordering::Acquire) {
            sos::park::sleep(Duration::from_millis(1), WaitType::SleepTask, None);
        }
    };
    let thread = thread::spawn(&accounts, "sampled", body).expect("starts");
    let result = loop {
        // The rings have room for one second.
        match receiver.recv_timeout(Duration::from_millis(100)) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Timeout) => drop(accounts.cpu_samples()),
            Err(RecvTimeoutError::Disconnected) => panic!("it has ended"),
        }
    };
    look(&accounts, result);
    may_end.store(true, Ordering::Release);
    thread.join().expect("ended");
}

/// Runs until the thread has used `cpu_ns` more CPU time.
#[inline(never)]
fn burn(cpu_ns: u64) {
    let end = sys::thread_cpu_ns() + cpu_ns;
    while sys::thread_cpu_ns() < end {
        spin();
    }
}

/// The hot function: nearly all of the time is in here.
#[inline(never)]
fn spin() {
    let mut sum = 0_u64;
    for i in 0..20_000_u64 {
        sum = std::hint::black_box(sum.wrapping_add(i).rotate_left(7));
    }
}

#[test]
fn shares_of_labels_agree_with_the_ledger_within_the_sampling_error() {
    const PARTS: [(Label, u64); 3] = [(Label::Parse, 1), (Label::Sort, 2), (Label::Hash, 5)];
    let run = || {
        let mut random = 7_u64;
        let mut burnt = [0; PARTS.len()];
        for _ in 0..60 {
            for ((label, parts), burnt) in PARTS.into_iter().zip(&mut burnt) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let _label = ledger::labelled(label);
                let cpu_ns = parts * (MS * 3 + random % (2 * MS));
                burn(cpu_ns);
                *burnt += cpu_ns;
            }
        }
        burnt
    };
    sampled(run, |accounts, burnt| {
        let books = accounts.close();
        let row = |label: Label| {
            let rows = books.rows.iter().filter(|row| row.category == Category::User);
            rows.filter(|row| row.name == label.name()).map(|row| row.on_cpu_ns).sum::<u64>()
        };
        let samples = accounts.cpu_samples();
        let of = |label: Label| {
            let own = samples.iter().filter(|sample| sample.label == label);
            own.map(|sample| sample.samples).sum::<u64>() as f64
        };
        let all: f64 = PARTS.iter().map(|&(label, _)| of(label)).sum();
        assert!(all > 100.0, "{samples:?}");
        let agrees = |label: Label, part_ns: u64, all_ns: u64| {
            let share = part_ns as f64 / all_ns as f64;
            // A late kernel sends one signal for several periods: the error is larger than that of
            // as many single ones.
            let error = (share * (1.0 - share) / all).sqrt() * 1.5;
            let found = of(label) / all;
            assert!((found - share).abs() < 4.5 * error, "{label}: {found} {share} +- {error}");
        };
        let burnt_ns: u64 = burnt.iter().sum();
        for ((label, _), burnt) in PARTS.into_iter().zip(burnt) {
            agrees(label, burnt, burnt_ns);
        }
        let all_ns: u64 = PARTS.iter().map(|&(label, _)| row(label)).sum();
        PARTS.iter().for_each(|&(label, _)| agrees(label, row(label), all_ns));
        // A stay in which the thread was preempted, or interrupted by the sampler, keeps its label.
        let unlabelled_ns: u64 = {
            let rows = books.rows.iter().filter(|row| row.category == Category::User);
            rows.filter(|row| row.name == State::Background.name()).map(|row| row.on_cpu_ns).sum()
        };
        assert!(unlabelled_ns < burnt_ns / 20, "{unlabelled_ns} of {burnt_ns}: {:?}", books.rows);
        let health = accounts.sampler_health();
        let user = books.rows.iter().filter(|row| row.category == Category::User);
        let cpu_s = user.map(|row| row.on_cpu_ns).sum::<u64>() as f64 / 1e9;
        let rate = all / cpu_s;
        assert!((0.7..1.2).contains(&(rate / f64::from(RATE_HZ_MAX))), "{rate} Hz: {health:?}");
        assert_eq!((health.lost, health.unkept, health.refused), (0, 0, 0), "{health:?}");
        assert!(health.timers == 1 && health.handler_ns > 0, "{health:?}");
        // The handler's time is observation, and under no label.
        let observed = books.rows.iter().find(|row| row.category == Category::Observation);
        let observed_ns = observed.expect("there is some").wall_ns;
        assert!(observed_ns >= health.handler_ns * 9 / 10, "{observed_ns} {health:?}");
    });
}

#[test]
fn the_hot_function_is_named_with_its_file_and_line() {
    sampled(
        || {
            ledger::set_statement(77);
            burn(1_000 * MS);
            ledger::set_statement(0);
        },
        |accounts, ()| {
            let samples = accounts.cpu_samples();
            let own: Vec<_> = samples.iter().filter(|sample| sample.statement == 77).collect();
            let count = |test: &dyn Fn(StackId) -> bool| {
                let found = own.iter().filter(|sample| test(sample.stack));
                found.map(|sample| sample.samples).sum::<u64>()
            };
            let all = count(&|_| true);
            let has = |name: &'static str| {
                move |stack| symbols::frames(stack).iter().any(|f| &*f.function.name == name)
            };
            let hot = count(&has("it::sampler::spin"));
            let caller = count(&has("it::sampler::burn"));
            assert!(all > 80 && hot * 100 >= all * 85, "{hot} of {all}");
            assert!(caller * 100 >= all * 95, "{caller} of {all}");
            // This binary's functions have a name, a file and a line on every stack.
            let own_code = |frame: &&symbols::Frame| frame.function.module.starts_with("it-");
            let frames: Vec<_> = own.iter().flat_map(|s| symbols::frames(s.stack)).collect();
            let ours: Vec<_> = frames.iter().filter(own_code).collect();
            let is_known = |frame: &&&symbols::Frame| {
                let function = &frame.function;
                !function.name.is_empty() && function.file.is_some() && function.line.is_some()
            };
            let known = ours.iter().filter(is_known).count();
            assert!(known * 100 >= ours.len() * 99, "{known} of {}", ours.len());
            let text = symbols::text(own[0].stack);
            assert!(text.contains("!it::sampler::burn+0x"), "{text}");
        },
    );
}

#[inline(never)]
fn wait_long() {
    // Without work after the call, this function would have no frame during it.
    std::hint::black_box(park::sleep(Duration::from_millis(30), WaitType::WaitFor, None));
}

#[inline(never)]
fn wait_short() {
    std::hint::black_box(park::sleep(Duration::from_micros(100), WaitType::AsyncNetworkIo, None));
}

#[test]
fn waits_are_sampled_in_proportion_to_their_time() {
    let run = || {
        (0..4).for_each(|_| wait_long());
        (0..2_000).for_each(|_| wait_short());
    };
    sampled(run, |accounts, ()| {
        let samples = accounts.wait_samples();
        let booked = accounts.waits();
        for (wait_type, name) in [(WaitType::WaitFor, "long"), (WaitType::AsyncNetworkIo, "short")]
        {
            let own: Vec<_> = samples.iter().filter(|s| s.wait_type == wait_type).collect();
            let (ns, count) = own.iter().fold((0, 0), |(ns, n), s| (ns + s.ns, n + s.samples));
            let row = booked.iter().find(|row| row.wait_type == wait_type).expect("a row");
            // Each sampled wait represents a millisecond.
            let error = (count as f64).sqrt() * MS as f64;
            let difference = (ns as f64 - row.wait_ns as f64).abs();
            assert!(count > 3 && difference < 5.0 * error, "{wait_type}: {ns} {row:?} {count}");
            let name = format!("it::sampler::wait_{name}");
            let is_there = |stack| symbols::frames(stack).iter().any(|f| *f.function.name == *name);
            assert!(own.iter().all(|sample| is_there(sample.stack)), "{own:?}");
        }
        let long: u64 =
            samples.iter().filter(|s| s.wait_type == WaitType::WaitFor).map(|s| s.samples).sum();
        assert_eq!(long, 4, "each long one is there");
    });
}

#[inline(never)]
fn take_small() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(2_000)));
}

#[inline(never)]
fn take_large() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(3 << 20)));
}

#[test]
fn allocations_are_sampled_in_proportion_to_their_bytes() {
    const SMALL: u64 = 60_000;
    const LARGE: u64 = 40;
    let run = || {
        with_clerk(MemoryClerk::QueryExec, || {
            for i in 0..SMALL {
                take_small();
                if i % (SMALL / LARGE) == 0 {
                    take_large();
                }
            }
        });
    };
    sampled(run, |accounts, ()| {
        let samples = accounts.allocation_samples();
        let of = |name: &str| {
            let own = samples.iter().filter(|sample| {
                let frames = symbols::frames(sample.stack);
                let is_there = frames.iter().any(|frame| *frame.function.name == *name);
                is_there && sample.clerk == MemoryClerk::QueryExec
            });
            own.fold((0, 0), |(bytes, count), s| (bytes + s.bytes, count + s.samples))
        };
        let (small, drawn) = of("it::sampler::take_small");
        let expected = (SMALL * 2_000) as f64;
        let error = (expected / f64::from(sos::sampler::MEAN_BYTES)).sqrt();
        let error = error * f64::from(sos::sampler::MEAN_BYTES);
        assert!(drawn > 100 && (small as f64 - expected).abs() < 5.0 * error, "{small} {drawn}");
        // Six times the mean, so hardly one is missed.
        let (large, drawn) = of("it::sampler::take_large");
        let expected = (LARGE * (3 << 20)) as f64;
        assert!(
            drawn >= LARGE - 3 && (large as f64 / expected - 1.0).abs() < 0.1,
            "{large} {drawn}"
        );
    });
}

#[test]
fn at_rate_zero_nothing_is_sampled_and_a_thread_that_ended_stays_in_the_sums() {
    let accounts = Arc::new(Accounts::default());
    let run = |ns: u64| {
        let body = move || {
            ledger::to(State::Background);
            burn(ns);
            park::sleep(Duration::from_millis(2), WaitType::WaitFor, None);
        };
        thread::spawn(&accounts, "brief", body).expect("starts").join().expect("ended");
        accounts.cpu_samples()
    };
    assert_eq!(run(100 * MS), []);
    assert_eq!(accounts.wait_samples(), []);
    accounts.set_sampling_rate(RATE_HZ_MAX);
    let samples = run(300 * MS);
    let all: u64 = samples.iter().map(|sample| sample.samples).sum();
    assert!((40..=90).contains(&all), "{all}");
    assert!(samples.iter().all(|sample| sample.thread == 0), "{samples:?}");
    assert!(accounts.sampler_health().delivered_hz > 0.0);
    accounts.set_sampling_rate(0);
    assert_eq!(run(100 * MS), samples);
}

#[test]
fn where_timers_are_refused_threads_run_and_the_sampler_says_why() {
    let accounts = Arc::new(Accounts::default());
    accounts.set_sampling_rate(97);
    let outer = Arc::clone(&accounts);
    let body = move || {
        sys::forbid_calls(&["timer_create"]).expect("a filter");
        let inner = thread::spawn(&outer, "refused", || burn(20 * MS)).expect("starts");
        inner.join().expect("ended");
    };
    thread::spawn(&accounts, "confined", body).expect("starts").join().expect("ended");
    let health = accounts.sampler_health();
    assert_eq!(health.refused, 1, "{health:?}");
    assert!(health.refusal.is_some_and(|why| why.contains("not permitted")));
}
